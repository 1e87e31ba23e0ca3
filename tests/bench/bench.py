#!/usr/bin/env python3
"""pinfold beside its peers, interleaved in one run.

    bench.py PINFOLD [--rounds N] [--only NAME,...] [--peers NAME,...] [--programs DIR] [--json FILE]
    bench.py PINFOLD [--programs DIR] --smoke

Prints a table for each thing that is measured, and which of the goals are met. As root it measures root and an ordinary
user, else the caller alone. --smoke shows that the benchmark itself works: one short round beside bubblewrap, in which
everything must be measured; skipped (77) where that does not run. docs/performance.md tells what is compared with what.
"""

import argparse
import importlib
import json
import os
import platform
import shutil
import signal
import sys

import goals
import mounts
import peers
import place
import race

BENCHES = ["launch", "throughput", "memory", "ending", "output", "filter", "copying", "archive"]
SMOKE_PEERS = ["plain", "pinfold", "bubblewrap"]
SKIPPED = 77


class Stage:
    """What every bench is given: who starts what, where, how often."""

    def __init__(self, options, base):
        names = options.peers.split(",") if options.peers else None
        self.base, self.rounds, self.small, self.private_mounts = base, options.rounds, options.smoke, os.geteuid() == 0
        self.found, self.missing = peers.found(names)
        self.places = place.places(options.pinfold, programs_of(options), base)

    def some_rounds(self, part):
        """Fewer rounds, for what takes that many times longer than a launch."""
        return max(1 if self.small else 2, self.rounds // part)


def programs_of(options):
    """Where the benchmark's own programs are built: beside that pinfold, unless it is said."""
    return os.path.abspath(options.programs or os.path.join(os.path.dirname(options.pinfold), "../../tests/bench"))


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("pinfold")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", default=",".join(BENCHES))
    parser.add_argument("--peers")
    parser.add_argument("--programs")
    parser.add_argument("--json")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.smoke:
        options.rounds, options.only, options.peers = 1, ",".join(BENCHES), ",".join(SMOKE_PEERS)
    options.only = options.only.split(",")
    unknown = [name for name in options.only if name not in BENCHES]
    if unknown:
        parser.error(f"no such bench: {unknown[0]}. There are: {', '.join(BENCHES)}")
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    return options


def tell_of_load(when):
    """What else runs is in every figure: a reader has to know."""
    load = os.getloadavg()[0]
    if load > 1:
        print(f"{when} the load is {load:.1f} on {os.cpu_count()} processors: other programs are in these figures", flush=True)
    return load


def measure(options, base):
    stage, tables = Stage(options, base), []
    for name, why in stage.missing.items():
        print(f"{name} takes no part: {why}", flush=True)
    for name in options.only:
        for table in importlib.import_module(name).run(stage):
            race.clear()
            if table.rows or table.troubles or table.why_skipped:  # else none of its contenders takes part
                table.show()
                tables.append(table)
    return stage.missing, tables


def document(options, load, missing, tables, verdicts):
    return {"schema": "pinfold.bench/1", "rounds": options.rounds, "kernel": platform.release(),
            "cpus": os.cpu_count(), "load_before": load,
            "missing": [{"peer": name, "error": why} for name, why in missing.items()],
            "tables": [table.document() for table in tables], "goals": verdicts}


def smoke_status(tables):
    """What is wrong is told in the tables. A bubblewrap that cannot run on this machine tells nothing of the benchmark."""
    troubled = {name.split(",")[0] for table in tables for name in table.troubles}
    if not tables or troubled - {"bubblewrap"}:
        return 1
    return SKIPPED if troubled else 0


def main():
    signal.signal(signal.SIGTERM, lambda *_unused: sys.exit("ended by SIGTERM"))  # so that what was made is removed
    options = arguments()
    file = os.path.abspath(options.json) if options.json else None
    if options.smoke and peers.found(SMOKE_PEERS)[1]:
        print("bubblewrap is not installed")
        sys.exit(SKIPPED)
    load = tell_of_load("at the start")
    base = place.base_directory()
    try:
        if os.geteuid() == 0:
            mounts.own_namespace()
        missing, tables = measure(options, base)
    finally:
        race.clear()
        shutil.rmtree(base)
    verdicts = goals.judged(tables)
    goals.show(verdicts)
    if file:
        with open(file, "w", encoding="utf-8") as out:
            json.dump(document(options, load, missing, tables, verdicts), out, indent=2)
            out.write("\n")
        print(f"\n{file}")
    if options.smoke:
        sys.exit(smoke_status(tables))


try:
    main()
except KeyboardInterrupt:
    sys.exit("interrupted: no figures are kept")
