"""The second fence: what the mounts and namespaces alone would let through. Each case has a control that shows it does."""

import os
import socket
import subprocess
import uuid

from blackbox import host
from blackbox.box import held
from blackbox.suite import Skip, case, check

# Connects to the abstract sockets named; stream and datagram.
CONNECT = r"""
import socket, sys
for name in sys.argv[2:]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_UNIX, kind)
        try:
            s.connect("\0" + name)
            print("ESCAPED: connected to", name)
        except PermissionError as e:
            print("held:", name, e)
        except OSError:
            pass  # the other kind of socket
"""


def fence(box, what, policy=None):
    """Skips where the report does not claim this part of the fence."""
    row = box.run("/bin/true", policy=policy).row("landlock")
    if what not in (row["reason"] or ""):
        raise Skip(f"not here: {row['reason']}")


@case("with the host's network, its abstract sockets stay out of reach")
def abstract_sockets(box):
    fence(box, "abstract sockets")
    name = "pinfold-" + uuid.uuid4().hex
    stream, datagram = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with stream, datagram:
        stream.bind("\0" + name)
        stream.listen(5)
        datagram.bind("\0" + name + "d")
        words = ["/usr/bin/python3", "-c", CONNECT, box.mark, name, name + "d"]
        free = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        check(free.count("ESCAPED") == 2, f"without a fence they are not reached either: {free}")
        result = held(box.run(*words, options=["--net", "host"]))
        check(result.out.count("held:") == 2, result.brief())


@case("with the host's network, an abstract socket of the command's own still works")
def own_abstract_socket(box):
    result = box.python(
        "import os, socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0own')\ns.listen(1)\n"
        "if os.fork() == 0:\n    socket.socket(socket.AF_UNIX).connect('\\0own')\n    os._exit(0)\n"
        "s.accept()\nprint('reached', os.wait()[1])",
        options=["--net", "host"],
    )
    check(result.out == "reached 0\n", result.brief())


@case("no signal of the command's reaches its init, and every signal its own processes")
def signals(box):
    fence(box, "signals")
    result = box.sh(
        "sleep 60 & kill -0 1 2>/dev/null && echo ESCAPED: init can be signalled; echo held: init; "
        "kill -0 $! && kill $! && wait $!; echo own $?"
    )
    held(result)
    check("own 143" in result.out, result.brief())


@case("nothing of init's shows but what everybody's does")
def init_in_proc(box):
    fence(box, "signals")
    held(
        box.sh(
            "for f in environ maps mem fd/0 root/etc cwd ns/mnt; do "
            "ls -d /proc/1/$f/. >/dev/null 2>&1 && echo ESCAPED: $f; (: </proc/1/$f) 2>/dev/null && echo ESCAPED: $f; done; "
            "echo held: looked"
        )
    )


# Waits until somebody has mounted something, then tries to change what is in it.
CHANGE = r"""
until [ -e "$1/there" ]; do sleep 0.05; done
(: >"$1/new") 2>/dev/null && echo "ESCAPED: made a file"
mkdir "$1/d" 2>/dev/null && echo "ESCAPED: made a directory"
(: >>"$1/there") 2>/dev/null && echo "ESCAPED: opened for writing"
rm -f "$1/gone" 2>/dev/null; [ -e "$1/gone" ] || echo "ESCAPED: removed a file"
cat "$1/there" && echo held: tried
"""


def behind_the_plan(box, policy=None):
    """What the command does to a file system, writable for all, that somebody mounts into its tree at /mnt."""
    live = box.start("/bin/sh", "-c", CHANGE, box.mark, "/mnt", policy=policy, options=["--timeout", "20"])
    # It has the mark in its environment, and so has pinfold in its arguments.
    check(host.wait_until(lambda: any(line.startswith("sleep") for _pid, line in host.marked(box.mark))), "no command")
    inside = [pid for pid, line in host.marked(box.mark) if line.startswith("/bin/sh -c")]
    script = "mount -t tmpfs -o mode=777 t /mnt && cd /mnt && umask 0 && true >gone && echo content >there"
    subprocess.run(["nsenter", "-t", str(inside[0]), "-m", "/bin/sh", "-c", script], check=True)
    return live.result()


@case("a writable mount that the plan knows nothing of cannot be written to", only="root")
def unplanned_mount(box):
    fence(box, "beneath the writable paths")
    result = held(behind_the_plan(box))
    check("content\n" in result.out, f"it cannot be read: {result.brief()}")
    nested = {"version": 1, "extends": ":workspace-write", "process": {"nested_namespaces": True}}
    unfenced = behind_the_plan(box, box.policy_file(nested))
    check(unfenced.out.count("ESCAPED") == 4, f"without a fence it is not written to either: {unfenced.brief()}")


@case("a file or terminal that the caller gave as output can still be opened by its name")
def streams_by_name(box):
    for stream in ("stdout", "stderr"):
        target = box.file("../said", "", mode=0o666)
        with open(target, "ab") as file:
            live = box.start(
                "/bin/sh", "-c", f"echo said >>/dev/{stream}", box.mark, json_out=False, **{stream: file}
            )
            code, _out, err, _seconds = live.wait()
        check(code == 0 and open(target).read() == "said\n", f"{stream}: exit {code}, {err!r}")


@case("what the fence must not stop works: devices, terminals, moves between directories, unnamed files")
def daily_work(box):
    result = box.sh(
        "set -e; mkdir -p a b /tmp/a /tmp/b; echo x >a/f; mv a/f b/f; ln b/f a/g; mv a b/a; rm -r b; "
        "echo x >/tmp/a/f; mv /tmp/a/f /tmp/b; mv /tmp/b/f .; : >/dev/null; mkfifo p; rm p; "
        "echo 500 >/proc/self/oom_score_adj; printf name >/proc/self/comm; : >/dev/shm/x; "
        "python3 -c 'import socket, tempfile, pty; tempfile.TemporaryFile(dir=\".\").write(b\"x\"); "
        "socket.socket(socket.AF_UNIX).bind(\"s\"); pty.openpty()'; truncate -s 5 f; git init -q r 2>&1; echo done"
    )
    check(result.out.endswith("done\n") and result.code == 0, result.brief())


# Puts itself behind as many fences as the kernel allows, then becomes the words that follow.
FENCED_OFTEN = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
scopes = (ctypes.c_uint64 * 3)(0, 0, 3)
for _ in range(16):
    fd = libc.syscall(444, scopes, 24, 0)
    if fd < 0 or libc.syscall(446, fd, 0) < 0:
        sys.exit("no fence")
    os.close(fd)
os.execv(sys.argv[1], sys.argv[1:])
"""


@case("where the kernel takes no further fence, nothing runs, and it says why")
def no_further_fence(box):
    fence(box, "signals")
    words = box.words(["/usr/bin/touch", box.inside("RAN")])
    live = box.begin(["/usr/bin/python3", "-c", FENCED_OFTEN, *words])
    code, out, err, _seconds = live.wait()
    check(code == 125 and not os.path.exists(box.inside("RAN")), f"exit {code}: {out!r} {err!r}")
    check(b"landlock_restrict_self" in out and b"16 Landlock fences" in out, f"{out[-900:]!r}")
