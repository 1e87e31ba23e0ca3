"""What the command shares with its caller by the streams that it is given."""

import fcntl
import json
import os

from blackbox.box import PYTHON
from blackbox.suite import case, check

WRITES_BACK = """
import fcntl, os
first = b''
while not first.endswith(b'\\n'):
    first += os.read(0, 1)
for name in ('/proc/self/fd/0', '/dev/stdin', '/proc/thread-self/fd/0'):
    try:
        fd = os.open(name, os.O_WRONLY | os.O_NONBLOCK)
        fcntl.fcntl(fd, 1031, 1 << 16)  # F_SETPIPE_SZ
        os.write(fd, b'echo ESCAPED\\n')
    except OSError:
        pass
print('held: read', first)
"""


def on_a_pipe(box, code, data, **how):
    """What the command printed, and what its caller finds in the pipe afterwards."""
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
        result = box.python(code, options=["--stdin", "-"], stdin=reading, **how)
        os.close(writing)
        writing = -1
        with open(reading, "rb", closefd=False) as pipe:
            return result, pipe.read()
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def as_uid_of_the_caller(box):
    document = {"version": 1, "extends": ":workspace-write", "process": {"identity": "caller"}}
    return box.file(os.path.join(box.dir, "caller.json"), json.dumps(document))


@case("what the command writes into its standard input is not what its caller's shell reads there")
def write_to_stdin(box):
    for policy in (None, as_uid_of_the_caller(box)):
        result, left = on_a_pipe(box, WRITES_BACK, b"first\nsecond\nthird\n", policy=policy)
        check("held: read b'first" in result.out, result.brief())
        # By filling its own pipe it can seem to have read less, and that is all.
        check(b"first\nsecond\nthird\n".endswith(left) and left, f"the caller finds {left!r} in its pipe")


@case("a command takes from its caller's pipe what it reads, and no more")
def reads_some(box):
    result, left = on_a_pipe(box, "import os; print('held:', os.read(0, 6))", b"first\nsecond\nthird\n")
    check("held: b'first" in result.out and left == b"second\nthird\n", f"{left!r} is left: {result.brief()}")


@case("a command that reads nothing takes nothing from its caller's pipe, however it ends")
def reads_nothing(box):
    for code in ("pass", "import os; os.close(0)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"):
        result, left = on_a_pipe(box, code, b"line\n" * 5000)
        check(result.ran and left == b"line\n" * 5000, f"{len(left)} bytes are left after {code}: {result.brief()}")


@case("streams that are given have the flags afterwards that they had before")
def flags_stay(box):
    script = "import fcntl, os\nfor fd in 0, 1, 2:\n    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)"
    log = os.open(os.path.join(box.dir, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    reading, writing = os.pipe()
    try:
        before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (reading, writing, log)]
        live = box.start(
            PYTHON, "-c", script, options=["--stdin", "-"], json_out=False, stdin=reading, stdout=writing, stderr=log
        )
        code, _out, _err, _seconds = live.wait()
        after = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (reading, writing, log)]
        check(code == 0 and after == before, f"exit {code}: {before} became {after}")
    finally:
        for fd in (reading, writing, log):
            os.close(fd)
