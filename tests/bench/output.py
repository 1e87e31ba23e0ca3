"""Bytes that a command writes to stdout and that reach a `cat >/dev/null`: directly, or through pinfold's supervisor."""

import os
import time

import peers
import race
import table

MIB = 1024
WAYS = {  # of pinfold to treat stdout, beside that of handing it on as it is
    "pinfold, passed on": ["--max-output", "100G"],
    "pinfold, beyond the cap": ["--max-output", "1M"],
    "pinfold, captured": ["--capture", "--max-output", "1M"],
}


def flow(peer, place, errors, mib, more=()):
    """MiB a second, the launch included."""
    read, write = os.pipe2(os.O_CLOEXEC)
    cat = 0
    try:
        started = time.perf_counter_ns()
        cat = os.posix_spawn("/bin/cat", ["cat"], place.environment,
                             file_actions=[(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
        words = peers.absolute(peer.words(place, [place.program("flood"), str(mib)], more))
        pid = race.start(words, place.environment, errors, write)
        _pid, status = os.waitpid(pid, 0)
        took = time.perf_counter_ns() - started
    finally:
        os.close(read)
        os.close(write)
        if cat:
            os.waitpid(cat, 0)
    race.require(status, errors)
    return mib / (took / 1e9)


def contenders(stage, place, errors, mib):
    table = {peer.name: lambda peer=peer: flow(peer, place, errors, mib) for peer in stage.found}
    for peer in stage.found:
        if peer.name == "pinfold":
            table |= {name: lambda peer=peer, more=more: flow(peer, place, errors, mib, more) for name, more in WAYS.items()}
    return table


def run(stage):
    mib = 1 if stage.small else MIB
    for place in stage.places:
        title = f"{mib} MiB of stdout to a reader that drops them, as {place.who}"

        def measured(place=place, title=title):
            errors = os.path.join(place.top, "errors")
            return race.race(contenders(stage, place, errors, mib), stage.some_rounds(10), race.progress(title))

        figures, troubles = place.do(measured)
        yield table.Table("output", title, "MiB a second; more is better", figures, troubles, {"who": place.who})
