"""From the decision to kill until the last process of a command is gone, for 1, 100 and 2 000 processes.

All of them hold a fifo open for reading whose writing end is here: the kernel reports an error on that end in the moment in
which the last reader is gone, whatever the supervisor does afterwards.
"""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import time

import peers
import race
import table
from tree import Tree

CROWDS = {1: 0.5, 100: 1, 2000: 3}  # processes: seconds until pinfold's time-out, in which all must have been started
SPARE = 50  # processes that a limit allows beside the crowd


class Crowd:
    """N processes that run in a contender; a context manager that leaves none of them."""

    def __init__(self, peer, place, n, more=(), pass_fds=()):
        fifo = os.path.join(place.top, "fifo")
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
            os.chmod(fifo, 0o644)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)  # else there is nothing to open the other end to
        self.writer = os.open(fifo, os.O_WRONLY)
        os.close(reader)
        self.tree = Tree(peer, place, [place.program("crowd"), str(n), fifo], more, subprocess.PIPE, pass_fds)

    def wait_ready(self):
        """Returns once all its processes are there."""
        out = self.tree.process.stdout
        line = out.readline() if select.select([out], [], [], race.PATIENCE_SECONDS)[0] else b""
        if line != b"ready\n":
            raise race.Trouble(f"the processes did not start: {self.tree.complaint()}")

    def wait_dead(self, since):
        """Milliseconds from a second of the clock until nobody reads any more."""
        poll = select.poll()
        poll.register(self.writer, 0)  # errors are always told
        if not poll.poll(race.PATIENCE_SECONDS * 1000):
            raise race.Trouble(f"some processes were still there after {race.PATIENCE_SECONDS} s")
        return (time.time() - since) * 1000

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.tree.end()
        self.tree.process.stdout.close()
        os.close(self.writer)


def limits(peer, n, timeout):
    return ["--timeout", timeout, "--pids", str(n + SPARE)] if peer.name == "pinfold" else []


def by_kill(peer, place, n):
    """SIGTERM to the process that was started, or the peer's own command to kill."""
    with Crowd(peer, place, n, limits(peer, n, "none")) as crowd:
        crowd.wait_ready()
        since = time.time()
        if peer.ender:
            pid = race.start(peers.absolute(peer.ender(place)), place.environment, crowd.tree.errors)
            os.waitpid(pid, 0)
        else:
            crowd.tree.process.send_signal(signal.SIGTERM)
        return crowd.wait_dead(since)


class Events:
    """A descriptor for pinfold's events, stamped by the kernel as they are written: on a busy machine they are read late."""

    SO_TIMESTAMPNS = 35  # of asm-generic/socket.h; the control message has the same number

    def __init__(self):
        self.reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.writer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.reader.bind(("127.0.0.1", 0))
        self.reader.setsockopt(socket.SOL_SOCKET, self.SO_TIMESTAMPNS, 1)
        self.reader.settimeout(race.PATIENCE_SECONDS)
        self.writer.connect(self.reader.getsockname())

    def limit(self):
        """The event that tells of the time-out, and the second in which it was written."""
        try:
            while True:
                text, control, _flags, _from = self.reader.recvmsg(65536, 256)
                for event in map(json.loads, text.splitlines()):
                    if event["event"] == "limit":
                        seconds, nanoseconds = struct.unpack("qq", control[0][2])
                        return event, seconds + nanoseconds / 1e9
        except TimeoutError as error:
            raise race.Trouble("no event told of the time-out") from error

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.reader.close()
        self.writer.close()


def by_timeout(peer, place, n):
    """From the time-out itself: what the decision was late, and what followed after it."""
    with Events() as events:
        fd = events.writer.fileno()
        more = [*limits(peer, n, f"{CROWDS[n] * 1000:.0f}ms"), "--events", f"fd:{fd}"]
        with Crowd(peer, place, n, more, (fd,)) as crowd:
            crowd.wait_ready()
            limit, when = events.limit()
            return crowd.wait_dead(when) + limit["actual"] - limit["limit"]


def contenders(stage, place, by, n):
    measure = by_timeout if by == "time-out" else by_kill
    names = ("pinfold",) if by == "time-out" else None
    return {peer.name: lambda peer=peer: measure(peer, place, n) for peer in stage.found
            if peer.name != "plain" and (names is None or peer.name in names)}


def run(stage):
    for by in ("time-out", "kill"):
        for n in [1] if stage.small else CROWDS:
            for place in stage.places:
                title = f"{by} until the whole tree is dead, {n} {'process' if n == 1 else 'processes'}, as {place.who}"
                figures, troubles = race.race(contenders(stage, place, by, n), stage.some_rounds(10), race.progress(title))
                yield table.Table("ending", title, "ms", figures, troubles,
                                  {"who": place.who, "by": by, "processes": n})
