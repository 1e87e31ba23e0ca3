"""Whole launches of /bin/true, from before the start of the contender until it is reaped: on this machine's mounts, and on 1 000."""

import contextlib
import os
import resource  # noqa: F401: wait4() looks for it, where the user may not be able to read this interpreter's library
import time

import mounts
import peers
import race
import table

MANY_MOUNTS = 1000
COMMAND = ["/bin/true"]
PR_SET_CHILD_SUBREAPER = 36


def cpu_ms(usage):
    return (usage.ru_utime + usage.ru_stime) * 1e3


def left_over():
    """What some contenders leave behind when they end dies now: it is in their CPU time, and in nobody's way in the next launch."""
    spent = 0
    while True:
        try:
            spent += cpu_ms(os.wait4(-1, 0)[2])
        except ChildProcessError:
            return spent


def launcher(peer, place, errors):
    """A function that launches once and returns milliseconds: those that passed, and those of processors."""

    def launch():
        words = peers.absolute(peer.words(place, COMMAND))
        started = time.perf_counter_ns()
        pid = race.start(words, place.environment, errors)
        _pid, status, usage = os.wait4(pid, 0)
        took = time.perf_counter_ns() - started
        race.require(status, errors)
        return took / 1e6, cpu_ms(usage) + left_over()

    return launch


def run_one(place, found, rounds, title):
    def measured():
        mounts.call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        errors = os.path.join(place.top, "errors")
        return race.race({peer.name: launcher(peer, place, errors) for peer in found}, rounds, race.progress(title))

    return place.do(measured)


def run(stage):
    """A table for each user and number of mounts."""
    for many in (False, True):
        if many and not stage.private_mounts:
            yield table.skipped("launch", f"/bin/true with {MANY_MOUNTS} mounts", "mounts are made by root only")
            continue
        with mounts.crowded(f"{stage.base}/mounts", MANY_MOUNTS) if many else contextlib.nullcontext():
            for place in stage.places:
                n = mounts.count()
                title = f"/bin/true as {place.who}, {n} host mounts"
                figures, troubles = run_one(place, stage.found, stage.rounds, title)
                about = {"who": place.who, "host_mounts": n, "many_mounts": many}
                for i, (bench, unit) in enumerate((("launch", "ms"), ("launch_cpu", "ms of CPU time"))):
                    part = {name: [launch[i] for launch in launches] for name, launches in figures.items()}
                    yield table.Table(bench, title, unit, part, troubles, about)
