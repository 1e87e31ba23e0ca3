"""Whole launches of /bin/true, from before the start of the contender until it is reaped: on this machine's mounts, and on 1 000."""

import contextlib
import os
import time

import mounts
import peers
import race
import table

MANY_MOUNTS = 1000
COMMAND = ["/bin/true"]


def launcher(peer, place, errors):
    """A function that launches once and returns milliseconds."""

    def launch():
        words = peers.absolute(peer.words(place, COMMAND))
        started = time.perf_counter_ns()
        pid = race.start(words, place.environment, errors)
        _pid, status = os.waitpid(pid, 0)
        took = time.perf_counter_ns() - started
        race.require(status, errors)
        return took / 1e6

    return launch


def run_one(place, found, rounds, title):
    def measured():
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
                yield table.Table("launch", title, "ms", figures, troubles,
                                  {"who": place.who, "host_mounts": n, "many_mounts": many})
