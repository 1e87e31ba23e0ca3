"""Who starts the contenders, and where: root and an ordinary user, each in a directory of his own.

What is timed is started by a process that has already become that user, so that no set-uid program, and no fork of a
large interpreter, is in the figures.
"""

import json
import os
import shutil
import tempfile
import traceback

import race

ORDINARY_USER = 65534
PASSED = ("PATH", "LANG", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


class Place:
    """A directory `top` for one user, reachable by everybody: /tmp is hidden by most peers, so it lies elsewhere."""

    def __init__(self, who, uid, base, pinfold, programs):
        self.who, self.uid, self.pinfold, self.programs, self.number = who, uid, pinfold, programs, 0
        self.top = os.path.join(base, "root" if uid == 0 else "user")
        os.mkdir(self.top, 0o755)
        self.give(self.top)
        self.environment = {name: os.environ[name] for name in PASSED if name in os.environ}
        if os.geteuid() != uid:  # the caller's session is not this user's
            self.environment = {name: value for name, value in self.environment.items() if name in ("PATH", "LANG")}
        self.environment["HOME"] = self.top

    def folder(self, name):
        """A directory of this user in the place, made where it is not there."""
        path = os.path.join(self.top, name)
        if not os.path.isdir(path):
            os.mkdir(path, 0o755)
            self.give(path)
        return path

    def give(self, path):
        if os.geteuid() != self.uid:
            os.chown(path, self.uid, self.uid)

    def program(self, name):
        """A program of the benchmark, where the command can see it."""
        path = os.path.join(self.top, f"bench-{name}")
        if not os.path.exists(path):
            source = os.path.join(self.programs, f"bench-{name}")
            if not os.path.exists(source):
                raise race.Trouble(f"{source} is not there: it is built with pinfold; --programs says where")
            shutil.copy(source, path)
        return path

    def new_id(self):
        """A name of a container that no other has at this time."""
        self.number += 1
        return self.last_id()

    def last_id(self):
        return f"bench-{os.getpid()}-{self.number}"

    def do(self, function):
        """What `function()` returns, from a child that is this user and stands in this place."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os._exit(self.in_child(function, write))
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read()
        _pid, status = os.waitpid(pid, 0)
        if status != 0:
            raise RuntimeError(f"as {self.who}: {text.decode(errors='replace')}")
        return json.loads(text)

    def in_child(self, function, write):
        status = 0
        try:
            if os.geteuid() != self.uid:
                os.setgroups([])
                os.setresgid(self.uid, self.uid, self.uid)
                os.setresuid(self.uid, self.uid, self.uid)
            os.chdir(self.top)
            answer = json.dumps(function())
        except BaseException:  # told by the parent, whatever it was
            status, answer = 1, traceback.format_exc()
        with os.fdopen(write, "wb") as pipe:
            pipe.write(answer.encode())
        return status


def base_directory():
    base = tempfile.mkdtemp(prefix="pinfold-bench-", dir="/var/tmp" if os.access("/var/tmp", os.W_OK) else None)
    os.chmod(base, 0o755)
    return base


def places(pinfold, programs, base):
    """Root and an ordinary user where the caller is root, else the caller alone."""
    pinfold = shutil.copy(pinfold, os.path.join(base, "pinfold"))  # a build meanwhile changes nothing, and everybody reaches it
    if os.geteuid() != 0:
        return [Place("an ordinary user", os.geteuid(), base, pinfold, programs)]
    return [Place("root", 0, base, pinfold, programs), Place("an ordinary user", ORDINARY_USER, base, pinfold, programs)]
