"""What a system call costs under the filters: one that the kernel knows to be always allowed, one of the highest numbers, one whose
arguments are looked at, one that is refused."""

import os

import peers
import race
import table

LOOPS = 200000
FEW_LOOPS = 2000  # where nothing but the benchmark itself is looked at
CALLS = {
    "getppid": "always allowed",
    "cachestat": "always allowed, of a high number",
    "ioctl": "allowed by its arguments",
    "set_mempolicy_home_node": "refused",
}
STRICT = ["--policy", ":strict"]


def costs(peer, place, errors, loops, more=()):
    """{call: nanoseconds}"""
    read, write = os.pipe2(os.O_CLOEXEC)
    try:
        words = peers.absolute(peer.words(place, [place.program("calls"), str(loops)], more))
        pid = race.start(words, place.environment, errors, write)
    finally:
        os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        lines = pipe.read().splitlines()
    _pid, status = os.waitpid(pid, 0)
    race.require(status, errors)
    return {name: float(cost) for name, cost in (line.split() for line in lines)}


def contenders(stage, place, errors):
    table, loops = {}, FEW_LOOPS if stage.small else LOOPS
    for peer in stage.found:
        table[peer.name] = lambda peer=peer: costs(peer, place, errors, loops)
        if peer.name == "pinfold":
            table["pinfold :strict"] = lambda peer=peer: costs(peer, place, errors, loops, STRICT)
    return table


def run(stage):
    for place in stage.places:

        def measured(place=place):
            errors = os.path.join(place.top, "errors")
            progress = race.progress(f"system calls under the filters, as {place.who}")
            return race.race(contenders(stage, place, errors), stage.some_rounds(10), progress)

        figures, troubles = place.do(measured)
        for call, kind in CALLS.items():
            of_call = {name: [one[call] for one in values] for name, values in figures.items()}
            yield table.Table("filter", f"one {call}, {kind} under pinfold's filter, as {place.who}", "ns", of_call,
                              troubles, {"who": place.who, "call": call})
