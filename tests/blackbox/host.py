"""What can be seen of a run from outside: its processes, mounts, cgroups, files. Nothing here knows pinfold's inside."""

import os
import signal
import stat
import threading
import time

# How many times slower than a usual machine this one is, an emulated one for instance. All patience is multiplied by it,
# and what took long is divided by it before a case judges it.
SLOWNESS = float(os.environ.get("PINFOLD_TEST_SLOWNESS", "1"))


def read(path):
    """The bytes of a kernel file; empty where it is gone or not ours to read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def marked(mark):
    """Every process whose arguments or environment hold the mark, as [(pid, command line)]."""
    needle, found = mark.encode(), []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        command = read(f"/proc/{name}/cmdline")
        if needle in command or needle in read(f"/proc/{name}/environ"):
            if state(int(name)) not in ("Z", "X", ""):
                found.append((int(name), command.replace(b"\0", b" ").decode("utf-8", "replace").strip()))
    return found


def state(pid):
    """The letter of a process's state, '' where there is none."""
    text = read(f"/proc/{pid}/stat")
    return text.rpartition(b")")[2].split()[0].decode() if b")" in text else ""


def wait_until(true, seconds=5.0, step=0.01):
    """Whether `true()` became so within the time."""
    end = time.monotonic() + seconds * SLOWNESS
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def none_left(mark, seconds=1.0):
    return wait_until(lambda: not marked(mark), seconds, 0.05)


def end_marked(mark):
    """Kills what a broken boundary left, by its id."""
    for _ in range(50):
        left = marked(mark)
        if not left:
            return
        for pid, _command in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.02)


def mounts():
    """The mounts of this namespace without their ids, which the kernel reuses."""
    lines = read("/proc/self/mountinfo").decode("utf-8", "replace").splitlines()
    return sorted(line.split(" ", 3)[3] for line in lines)


def cgroups_of(pid):
    """Directories of cgroup trees named after a supervisor that is dead or ending."""
    found = []
    for root, names, _files in os.walk("/sys/fs/cgroup"):
        found += [os.path.join(root, name) for name in names if name.startswith(f"pinfold-{pid}-")]
    return found


def set_id_files(top):
    """Files below `top` that carry a set-id bit; directories count where they did not have it before."""
    found = []
    for root, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(root, name)
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                found.append(f"{path} {stat.filemode(mode)}")
    return found


def remove_tree(top):
    """Removes what a hostile program may have left: unreadable directories, odd names, devices."""
    for root, names, _files in os.walk(top):
        for name in names:
            path = os.path.join(root, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    for root, names, files in os.walk(top, topdown=False):
        for name in files:
            os.unlink(os.path.join(root, name))
        for name in names:
            path = os.path.join(root, name)
            os.unlink(path) if os.path.islink(path) else os.rmdir(path)
    os.rmdir(top)


class Guard(threading.Thread):
    """The outermost safety: ends the marked tree where the machine itself is about to suffer."""

    def __init__(self, mark, tasks_max=6000, available_min=0.2):
        super().__init__(daemon=True)
        self.mark, self.tasks_max, self.available_min = mark, tasks_max, available_min
        self.over, self.stopped = None, threading.Event()

    def run(self):
        while not self.stopped.wait(0.1):
            self.over = self.over or self.trouble()
            if self.over:
                end_marked(self.mark)

    def trouble(self):
        figures = {line.split(b":")[0]: int(line.split()[1]) for line in read("/proc/meminfo").splitlines()}
        if figures[b"MemAvailable"] < self.available_min * figures[b"MemTotal"]:
            return "the machine ran short of memory"
        tasks = int(read("/proc/loadavg").split()[3].split(b"/")[1])
        return f"{tasks} tasks on the machine" if tasks > self.tasks_max else None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_unused):
        self.stopped.set()
        self.join()
