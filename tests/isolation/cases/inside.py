"""What a command sees: namespaces, rights, devices, environment, streams."""

import os
import re
import signal

from blackbox.box import PYTHON
from blackbox.suite import case, check


@case("every namespace is a new one")
def namespaces_are_new(box):
    names = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
    result = box.sh(f"for n in {' '.join(names)}; do readlink /proc/self/ns/$n; done")
    seen = result.out.split()
    check(len(seen) == len(names), result.brief())
    same = [name for name, link in zip(names, seen) if os.readlink(f"/proc/self/ns/{name}") == link]
    check(not same, f"shared with the host: {same}")


@case("no capability, no new privileges, a filter")
def rights(box):
    result = box.sh("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; ulimit -c")
    found = dict(re.findall(r"(\w+):\s+(\w+)", result.out))
    check(all(int(found[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")), result.brief())
    check(found["NoNewPrivs"] == "1" and found["Seccomp"] == "2", result.brief())


LOOPBACK = r"""
import socket
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.socket(family); server.bind((address, 0)); server.listen()
    client = socket.socket(family); client.connect(server.getsockname()[:2])
    peer, _ = server.accept(); client.sendall(b"x"); assert peer.recv(1) == b"x"
    print(address)
"""


@case("the loopback works for both families, each run has its own")
def loopback(box):
    result = box.python(LOOPBACK)
    check(result.out.split() == ["127.0.0.1", "::1"], result.brief())
    result = box.sh("grep -c : /proc/net/dev; grep -o ' *lo:' /proc/net/dev")
    check("lo:" in result.out, result.brief())


@case("a name that cannot be looked up fails at once")
def name_lookup(box):
    result = box.sh("getent hosts example.com; echo $?; getent hosts localhost >/dev/null; echo $?")
    check(result.seconds < 5 and result.out.split() == ["2", "0"], result.brief())


DEVICES = r"""
import os, pty, stat
for name in ("null", "zero", "full", "random", "urandom", "tty"):
    found = os.stat("/dev/" + name)
    assert stat.S_ISCHR(found.st_mode), name
assert open("/dev/null", "rb").read() == b"" and open("/dev/zero", "rb").read(3) == b"\0\0\0"
open("/dev/null", "w").write("x")
try: os.write(os.open("/dev/full", os.O_WRONLY), b"x"); raise SystemExit("full took it")
except OSError as e: assert e.errno == 28
assert len(open("/dev/urandom", "rb").read(8)) == 8 and len(open("/dev/random", "rb").read(1)) == 1
for name, target in (("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
    assert os.readlink("/dev/" + name).endswith(target), name
assert os.path.isdir("/dev/fd/") and os.path.isdir("/dev/pts") and os.stat("/dev/shm").st_mode & 0o7777 == 0o1777
master, slave = pty.openpty(); assert os.ttyname(slave).startswith("/dev/pts/")
open("/dev/shm/x", "w").write("x")
extra = set(os.listdir("/dev")) - set("null zero full random urandom tty ptmx pts shm fd stdin stdout stderr console mqueue core".split())
assert not extra, extra
print("usable")
"""


@case("/dev holds what programs need and nothing else")
def devices(box):
    result = box.python(DEVICES)
    check(result.out == "usable\n", result.brief())


@case("semaphores, pools and shared memory of Python work")
def multiprocessing(box):
    script = (
        "import multiprocessing as m\nfrom multiprocessing import shared_memory as s\n"
        "def f(x): return x * x\n"
        "if __name__ == '__main__':\n"
        " with m.Pool(3) as p: print(sum(p.map(f, range(10))))\n"
        " b = s.SharedMemory(create=True, size=4096); b.buf[0] = 7; print(b.buf[0]); b.close(); b.unlink()\n"
    )
    box.file("pool.py", script)
    result = box.run(PYTHON, "pool.py")
    check(result.out.split() == ["285", "7"], result.brief())


@case("HOME, USER, PWD, TMPDIR, PATH and PINFOLD are set and usable")
def environment(box):
    script = (
        'echo "$HOME|$USER|$PWD|$TMPDIR|$PATH|$PINFOLD"; true >"$HOME/x" && true >"$TMPDIR/y" && mktemp >/dev/null && '
        'command -v ls >/dev/null && echo ok; [ "$(pwd -P)" = "$PWD" ] && echo same'
    )
    for env in (
        box.env,
        {},
        {"HOME": "", "PATH": ""},
        {**box.env, "TMPDIR": "/nonexistent", "PWD": "/nonexistent", "USER": "x=y"},
    ):
        result = box.sh(script, env=env)
        first = result.out.split("\n")[0].split("|")
        check(
            len(first) == 6 and all(first) and first[3] == "/tmp" and first[5] == "1" and first[2] == box.workspace,
            result.brief(),
        )
        check(result.out.split("\n")[1:3] == ["ok", "same"], f"{env}: {result.brief()}")


@case("TERM, LANG and the like pass, other names do not")
def passed_environment(box):
    env = {**box.env, "TERM": "xterm", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OTHER": "x"}
    result = box.sh("env", env=env, options=["-e", "EXTRA=a=b", "-e", "OTHER2"])
    names = {line.split("=")[0] for line in result.out.splitlines()}
    check({"TERM", "LC_ALL", "TZ", "EXTRA"} <= names and "OTHER" not in names, result.brief())
    check("EXTRA=a=b\n" in result.out, result.brief())


@case("/tmp is private, empty, sticky and of the size asked for")
def private_tmp(box):
    result = box.sh(
        "ls /tmp | grep -v ^pinfold-tests; stat -c %a /tmp; df -k --output=size /tmp | tail -1",
        options=["--tmp-size", "8M"],
    )
    mode, size = result.out.split()  # of the host's files there is only the way to the workspace
    check(mode == "1777" and int(size) <= (8 << 10) + 256, result.brief())


@case("the caller's umask changes nothing inside and breaks nothing")
def umask(box):
    seen = set()
    for mask in ("0", "022", "077", "777"):
        result = box.sh(
            "umask; stat -c %a /tmp /dev/shm; true >file; stat -c %a file; rm -f file", outer=["--umask", mask]
        )
        seen.add(result.out)
        check(result.out.split()[1:3] == ["1777", "1777"], f"umask {mask}: {result.brief()}")
    check(len(seen) <= 4, f"{seen}")


@case("signals that the caller ignores or blocks are as they should be inside")
def signals(box):
    for signo in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD):
        for how in ("--ignore", "--block"):
            result = box.sh("grep -E '^Sig(Blk|Ign)' /proc/self/status", outer=[how, str(int(signo))])
            masks = [int(line.split()[1], 16) for line in result.out.splitlines()]
            check(len(masks) == 2 and not any(masks), f"{how} {signo.name}: {result.brief()}")
    result = box.sh("kill -INT $$; echo STILL-ALIVE", outer=["--ignore", "2"])
    check("STILL" not in result.out and result.doc["signal"] == "SIGINT", result.brief())
    result = box.sh("yes | head -1", outer=["--ignore", "13"])
    check(result.out == "y\n" and result.code == 0, result.brief())


@case("stdin is empty unless it is given")
def no_stdin(box):
    result = box.sh("cat; echo done", options=["--timeout", "5"], stdin=None)
    check(result.out == "done\n", result.brief())


@case("a stdin that is given arrives byte for byte")
def given_stdin(box):
    import hashlib

    data = os.urandom(1 << 20) + b"\0\xff"
    path = os.path.join(box.dir, "data")
    with open(path, "wb") as file:
        file.write(data)
    with open(path, "rb") as file:
        result = box.run("/usr/bin/sha256sum", options=["--stdin", "-"], stdin=file)
    check(result.out.split()[0] == hashlib.sha256(data).hexdigest(), result.brief())
    result = box.run("/usr/bin/sha256sum", options=["--stdin", path])
    check(result.out.split()[0] == hashlib.sha256(data).hexdigest(), result.brief())


@case("arguments arrive byte for byte")
def arguments(box):
    words = ["", "a b", "*", "\n", "--", "-p", "\u20ac", "$HOME", "'\""]
    result = box.run("/usr/bin/printf", "[%s]", *words)
    check(result.out == "".join(f"[{word}]" for word in words), result.brief())


@case("the host name is pinfold's and the clock is the host's")
def host_name(box):
    result = box.sh("uname -n; cat /proc/sys/kernel/hostname")
    check(result.out.split() == ["pinfold", "pinfold"], result.brief())
