"""A contender that goes on running, and the processes below it as they are seen from outside."""

import os
import signal
import subprocess

import peers

PATIENCE_SECONDS = 10


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # it has ended meanwhile, or is not ours to look at
        return b""


def parents():
    """{pid: pid of its parent} of everything on the machine."""
    table = {}
    for name in os.listdir("/proc"):
        stat = read(f"/proc/{name}/stat").rpartition(b")")[2].split() if name.isdigit() else []
        if stat:
            table[int(name)] = int(stat[1])
    return table


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # gone, or a set-uid peer's own, which ends after its command
        pass


class Tree:
    """Started in its place as the place's user, from this process, which may look into what is not dumpable where it is root."""

    def __init__(self, peer, place, command, more=(), stdout=subprocess.DEVNULL, pass_fds=()):
        self.peer, self.place = peer, place
        self.errors = os.path.join(place.top, "errors")
        someone_else = {"user": place.uid, "group": place.uid, "extra_groups": []} if os.geteuid() != place.uid else {}
        with open(self.errors, "wb") as errors:
            words = peers.absolute(peer.words(place, command, more))
            self.process = subprocess.Popen(words, cwd=place.top, env=place.environment, stdin=subprocess.DEVNULL, stdout=stdout,
                                            stderr=errors, pass_fds=pass_fds, **someone_else)

    def members(self):
        """The process that was started and all that descend from it."""
        table, found = parents(), [self.process.pid]
        for pid in found:
            found += [child for child, parent in table.items() if parent == pid]
        return found

    def complaint(self):
        lines = read(self.errors).decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return said[-1] if said else "nothing was said"

    def end(self):
        """Leaves no process of the tree, and lets the peer tidy up where it can: asked first, then by the ids of the others."""
        if self.process.poll() is not None:
            return
        below = self.members()[1:]
        if self.peer.ender:
            subprocess.run(peers.absolute(self.peer.ender(self.place)), env=self.place.environment, stderr=subprocess.DEVNULL, check=False)
        else:
            self.process.terminate()
        if not self.ended_within(2):
            for pid in reversed(below):
                kill(pid)
            if not self.ended_within(PATIENCE_SECONDS):
                self.process.kill()
                self.process.wait()

    def ended_within(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.end()
