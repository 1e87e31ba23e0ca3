"""Where the launches of the long run happen, and what could be left of them there and on the host."""

import ctypes
import json
import os
import signal
import time
import traceback
import uuid

from blackbox import cgroups, host
from blackbox.box import PATH, Skip

WORKSPACES = 4  # for eight launches at once: often shared
PR_SET_CHILD_SUBREAPER = 36
NETNS_SLACK = 200  # of the whole machine: what others have, what is not freed yet, what slabs of processors hold back
PATIENCE = 10.0
POLICY = {
    "version": 1,
    "extends": ":workspace-write",
    "filesystem": {"deny": ["secret"], "protect": ["kept", "absent", "deep/absent/name"]},
}


class Ground:
    def __init__(self, base):
        self.mark, self.dir = "mark-" + uuid.uuid4().hex, base
        self.home, self.tmp, self.runtime = (self.folder(name) for name in ("home", "tmp", "runtime"))
        self.workspaces = [self.workspace(f"workspace-{n}") for n in range(WORKSPACES)]
        self.policy = self.file("policy.json", json.dumps(POLICY))
        self.input_data = b"a line of a file\n" * 5000
        self.input = self.file("input", self.input_data.decode())
        self.env = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": self.home}
        self.env |= {"TMPDIR": self.tmp, "XDG_RUNTIME_DIR": self.runtime}

    def folder(self, name):
        path = os.path.join(self.dir, name)
        os.makedirs(path, mode=0o755)
        return path

    def file(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def workspace(self, name):
        path = self.folder(name)
        self.folder(f"{name}/.git")
        self.folder(f"{name}/deep/absent")
        for part in (".git/HEAD", "kept", "secret", "plain"):
            self.file(f"{name}/{part}", "ref: refs/heads/main\n")
        return path

    def files(self):
        """Every file and folder, with the text of what is small."""
        found = {}
        for root, names, files in os.walk(self.dir):
            found.update({os.path.join(root, name): None for name in names})
            found.update({os.path.join(root, name): host.read(os.path.join(root, name)) for name in files})
        return found


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def maker(pid):
    """By what pinfold's groups name their makers: the pid and the time of the start. None where it has gone."""
    fields = host.read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return f"{pid}-{fields[19].decode()}" if fields else None


def groups():
    """{maker: directory} of every cgroup of pinfold's on this machine, of others', too."""
    top, found = cgroups.mount_point(), {}
    for root, names, _files in os.walk(top) if top else ():
        for name in (name for name in names if name.startswith("pinfold-")):
            found[name[len("pinfold-") :].rpartition("-")[0]] = os.path.join(root, name)
    return found


def network_namespaces():
    """How many the kernel keeps, those too that no process is in; None where it does not say, as to ordinary users."""
    for line in host.read("/proc/slabinfo").splitlines():
        if line.startswith(b"net_namespace "):
            return int(line.split()[1])
    return None


class Before:
    """The host and the ground before the first launch, and what is different afterwards."""

    def __init__(self, ground):
        self.ground = ground
        self.mounts, self.files, self.shm = host.mounts(), ground.files(), set(os.listdir("/dev/shm"))
        self.namespaces = network_namespaces()

    def waited_for(self, left):
        """What `left()` still names after some patience: others on this machine come and go."""
        host.wait_until(lambda: not left(), PATIENCE, 0.1)
        return left()

    def changed_files(self):
        now = self.ground.files()
        return sorted(path for path in now.keys() | self.files.keys() if now.get(path, 0) != self.files.get(path, 0))

    def more_namespaces(self):
        now = network_namespaces()
        return [] if now <= self.namespaces + NETNS_SLACK else [f"{now} network namespaces, {self.namespaces} before"]

    def left_namespaces(self):
        if self.namespaces is None:
            return Skip("the kernel tells root alone how many there are")
        return self.waited_for(self.more_namespaces)

    def left(self):
        """[(what must be so, what is not)]"""
        return [
            ("no marked process is left", self.waited_for(lambda: host.marked(self.ground.mark))),
            ("the mounts are what they were", self.waited_for(lambda: set(host.mounts()) ^ set(self.mounts))),
            ("no file is left or changed in workspaces, TMPDIR, XDG_RUNTIME_DIR and HOME", self.changed_files()),
            ("no file is left in /dev/shm", self.waited_for(lambda: set(os.listdir("/dev/shm")) - self.shm)),
            ("the kernel keeps no network namespace", self.left_namespaces()),
        ]


def under_a_subreaper(work):
    """Does the work in a child, and takes in whatever becomes an orphan below it. (its exit status, what lives on)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    worker = os.fork()
    if worker == 0:
        end_with(work)
    try:
        return wait_for(worker), orphans()
    except BaseException:  # ^C
        os.kill(worker, signal.SIGKILL)
        orphans()
        raise


def end_with(work):
    """Ends this child with the status of the work, without what its parent has to clean up."""
    status = 1
    try:
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait_for(worker):
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == worker:
            return os.waitstatus_to_exitcode(status)


def orphans():
    """Children that live on after some patience, and are ended then."""
    end = time.monotonic() + PATIENCE * host.SLOWNESS
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
        except ChildProcessError:
            return []
    children = [int(pid) for pid in host.read(f"/proc/self/task/{os.getpid()}/children").split()]
    told = [f"{pid}: {host.read(f'/proc/{pid}/cmdline')!r}" for pid in children]
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return told
