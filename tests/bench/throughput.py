"""Launches of /bin/true per second: one at a time, and eight at once, by one parent that starts the next as soon as one has ended."""

import os
import time

import peers
import race
import table

LAUNCHES = 40  # in a round
COMMAND = ["/bin/true"]


def burst(peer, place, errors, at_once, launches):
    """Launches a second of a number of them, `at_once` at each time."""
    running, begun, started = set(), 0, time.perf_counter_ns()
    try:
        while begun < launches or running:
            while begun < launches and len(running) < at_once:
                running.add(race.start(peers.absolute(peer.words(place, COMMAND)), place.environment, errors))
                begun += 1
            pid, status = os.waitpid(-1, 0)
            running.discard(pid)
            race.require(status, errors)
    finally:
        for pid in running:
            os.waitpid(pid, 0)
    return launches / ((time.perf_counter_ns() - started) / 1e9)


def run_one(stage, place, at_once, title):
    def measured():
        errors = os.path.join(place.top, "errors")
        launches = at_once if stage.small else LAUNCHES
        contenders = {peer.name: lambda peer=peer: burst(peer, place, errors, at_once, launches) for peer in stage.found}
        return race.race(contenders, stage.some_rounds(5), race.progress(title))

    return place.do(measured)


def run(stage):
    for at_once in (1, 8):
        for place in stage.places:
            title = f"launches of /bin/true, {'one at a time' if at_once == 1 else f'{at_once} at once'}, as {place.who}"
            figures, troubles = run_one(stage, place, at_once, title)
            yield table.Table("throughput", title, "a second; more is better", figures, troubles,
                              {"who": place.who, "at_once": at_once})
