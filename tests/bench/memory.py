"""Memory that is resident while a command sleeps, of everything that was started but the command: supervisor, init, monitor."""

import os
import time

import race
import table
from tree import Tree, read

COMMAND = ["sleep", "600"]
SETTLE_SECONDS = 0.3


def figure(pid, name):
    """KiB. What is not dumpable shows an ordinary user its Rss alone, as a number of pages."""
    for line in read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(name.encode() + b":"):
            return int(line.split()[1])
    pages = read(f"/proc/{pid}/statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGESIZE") // 1024 if pages and name == "Rss" else None


def helpers_of(tree):
    """The processes that are not the command, once the command runs."""
    deadline = time.monotonic() + race.PATIENCE_SECONDS
    while time.monotonic() < deadline and tree.process.poll() is None:
        members = tree.members()
        commands = [pid for pid in members if read(f"/proc/{pid}/cmdline") == b"\0".join(map(os.fsencode, COMMAND)) + b"\0"]
        if commands:
            return [pid for pid in members if pid not in commands]
        time.sleep(0.02)
    raise race.Trouble(f"the command did not start: {tree.complaint()}")


def resident(peer, place, name):
    with Tree(peer, place, COMMAND) as tree:
        helpers_of(tree)
        time.sleep(SETTLE_SECONDS)  # what is freed after the launch
        figures = [figure(pid, name) for pid in helpers_of(tree)]
        if None in figures:
            raise race.Trouble("its processes ended, or are not to be looked into")
        return sum(figures)


def run(stage):
    for name, what in (("Rss", "resident"), ("Pss", "resident, shared pages in parts")):
        if name == "Pss" and os.geteuid() != 0:
            yield table.skipped("memory", f"memory of the helpers of one sleeping command, {what}", "only root may look")
            continue
        for place in stage.places:
            title = f"memory of the helpers of one sleeping command, {what}, as {place.who}"
            started = [peer for peer in stage.found if peer.name != "plain"]  # which has no helper
            contenders = {peer.name: lambda peer=peer, place=place: resident(peer, place, name) for peer in started}
            figures, troubles = race.race(contenders, stage.some_rounds(20), race.progress(title))
            yield table.Table("memory", title, "KiB", figures, troubles, {"who": place.who, "kind": name.lower()})
