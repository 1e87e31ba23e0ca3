#!/usr/bin/env python3
"""Launches of /bin/true, interleaved in one run: pinfold beside bubblewrap and a plain fork+exec.

    launch.py PINFOLD [--rounds N] [--json FILE]

Only ratios taken in one run mean anything on a shared machine: each round runs every contender once, in an order that
moves from round to round, and what is printed is the median of each and its ratio to bubblewrap's. pinfold runs with all
that its default policy has (a filter, no capabilities, its init and supervisor, a network of its own, limits), bubblewrap
with the namespaces and mounts nearest to that and without a filter.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
         "--tmpfs", "/tmp", "--tmpfs", "/run"]
USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def contenders(pinfold, have_bwrap):
    table = {"plain": ["/bin/true"], "pinfold": [pinfold, "run", "--", "/bin/true"]}
    if have_bwrap:
        table["bubblewrap"] = BWRAP + ["/bin/true"]
    return table


def measure(table, rounds, prefix):
    times = {name: [] for name in table}
    names = list(table)
    for i in range(rounds):
        for name in names[i % len(names):] + names[:i % len(names)]:
            start = time.perf_counter_ns()
            done = subprocess.run(prefix + table[name], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
            times[name].append((time.perf_counter_ns() - start) / 1e6)
            if done.returncode != 0:
                sys.exit(f"launch.py: {' '.join(table[name])}: {done.stderr.decode(errors='replace')}")
    return times


def summary(times):
    rows = {}
    for name, values in times.items():
        values.sort()
        rows[name] = {"p10_ms": values[len(values) // 10], "p50_ms": statistics.median(values),
                      "p90_ms": values[len(values) * 9 // 10]}
    for row in rows.values():
        row["to_bubblewrap"] = row["p50_ms"] / rows["bubblewrap"]["p50_ms"] if "bubblewrap" in rows else None
    return rows


def show(who, rows):
    print(f"\n/bin/true as {who}, milliseconds, process start included")
    print(f"{'':12} {'p10':>8} {'p50':>8} {'p90':>8}  to bubblewrap")
    for name, row in rows.items():
        ratio = f"{row['to_bubblewrap']:.2f} x" if row["to_bubblewrap"] is not None else "-"
        print(f"{name:12} {row['p10_ms']:8.2f} {row['p50_ms']:8.2f} {row['p90_ms']:8.2f}  {ratio}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pinfold")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", default=None)
    options = parser.parse_args()
    have_bwrap = subprocess.run(["sh", "-c", "command -v bwrap"], stdout=subprocess.DEVNULL).returncode == 0
    if not have_bwrap:
        print("bubblewrap is not installed: no ratios")
    table = contenders(os.path.abspath(options.pinfold), have_bwrap)
    worlds = {"root": [], "an ordinary user": USER} if os.geteuid() == 0 else {"an ordinary user": []}
    results = {}
    with tempfile.TemporaryDirectory() as workspace:
        os.chmod(workspace, 0o755)
        os.chdir(workspace)
        for who, prefix in worlds.items():
            results[who] = summary(measure(table, options.rounds, prefix))
            show(who, results[who])
        os.chdir("/")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"schema": "pinfold.bench/1", "rounds": options.rounds, "launch": results}, file, indent=2)
        print(f"\n{options.json}")


main()
