"""A cgroup v2 directory of a case's own, with the controllers that limits need, where this machine has them."""

import os
import time
import uuid

from blackbox import host
from blackbox.box import Skip

WANTED = ("memory", "pids", "cpu")


def mount_point():
    """Where cgroup v2 is mounted, or None."""
    for line in host.read("/proc/self/mountinfo").decode().splitlines():
        if " - cgroup2 " in line:
            return line.split()[4]
    return None


def own():
    """This process's own directory in it."""
    for line in host.read("/proc/self/cgroup").decode().splitlines():
        if line.startswith("0::/"):
            return os.path.normpath(mount_point() + "/" + line[len("0::/") :])
    return None


def words(path):
    return host.read(path).decode().split()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


class Place:
    """A directory below the nearest one that may have groups with all wanted controllers."""

    def __init__(self):
        self.path = None
        if mount_point() is None or own() is None:
            raise Skip("no cgroup version 2 file system is mounted here")
        for base in (own(), os.path.dirname(own())):
            if self.make_below(base):
                return
        raise Skip("there is no cgroup here below which groups could have the memory, pids and cpu controllers")

    def make_below(self, base):
        if not base.startswith(mount_point()) or not set(WANTED) <= set(words(base + "/cgroup.controllers")):
            return False
        # Those with processes of their own can have no controllers on below; the root of the hierarchy alone can.
        if words(base + "/cgroup.procs") and os.path.exists(base + "/cgroup.type"):
            return False
        try:
            for name in WANTED:
                write(base + "/cgroup.subtree_control", f"+{name}")
            self.path = f"{base}/case-{uuid.uuid4().hex[:8]}"
            os.mkdir(self.path)
        except OSError:
            return False
        return True

    def groups(self):
        """The groups below, without the place itself."""
        return sorted(root for root, _names, _files in os.walk(self.path) if root != self.path)

    def controllers(self):
        return words(self.path + "/cgroup.subtree_control")

    def enter(self):
        """For a child between fork and exec."""
        write(self.path + "/cgroup.procs", "0")

    def remove(self):
        for _ in range(200):
            try:
                for group in reversed(self.groups()):
                    os.rmdir(group)
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        self.remove()
