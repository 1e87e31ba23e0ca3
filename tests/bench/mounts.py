"""A mount namespace of the benchmark's own, and a host with a thousand mounts in it. It ends with this process."""

import contextlib
import ctypes
import os

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def count():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return sum(1 for _line in file)


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def own_namespace():
    """Leaves the host's mount namespace; what is mounted from now on is seen by nobody else.

    The hierarchies of cgroup v1 become read-only in it: the container runtimes would make directories there, under the names
    of other programs, and are told to do without.
    """
    call("unshare", CLONE_NEWNS)
    call("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        rows = [line.split() for line in file]
    for row in rows:
        if row[row.index("-") + 1] == "cgroup" and os.path.ismount(row[4]):  # else it is covered: nobody reaches it
            call("mount", b"none", os.fsencode(row[4]), None, MS_REMOUNT | MS_BIND | MS_RDONLY, None)


@contextlib.contextmanager
def crowded(folder, wanted):
    """Mounts tmpfs below the folder until this namespace has `wanted` mounts; all go at once."""
    os.makedirs(folder, exist_ok=True)
    call("mount", b"bench", os.fsencode(folder), b"tmpfs", 0, b"mode=755")
    try:
        for number in range(wanted - count()):
            path = os.fsencode(f"{folder}/{number}")
            os.mkdir(path)
            call("mount", b"bench", path, b"tmpfs", 0, b"mode=755")
        yield
    finally:
        call("umount2", os.fsencode(folder), MNT_DETACH)
