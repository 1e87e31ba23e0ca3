"""--tty: a private terminal for the command, the caller's raw meanwhile and given back as it was."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time

from blackbox import host
from blackbox.suite import case, check

ROWS, COLUMNS = 37, 91


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Screen:
    """pinfold with a terminal of its own as stdin, stdout and stderr."""

    def __init__(self, box, *words, stdin=True, stdout=True):
        self.box, self.seen = box, b""
        self.master, self.slave = os.openpty()
        set_size(self.slave, ROWS, COLUMNS)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [os.path.join(box.suite.programs, "outer"), *(["--session"] if stdin else []), "--", box.suite.pinfold, *words],
            stdin=self.slave if stdin else subprocess.DEVNULL, stdout=self.slave if stdout else subprocess.PIPE,
            stderr=self.slave, cwd=box.workspace, env={**box.env, "TERM": "xterm"})

    def __enter__(self):
        return self

    def __exit__(self, *_unused):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.seen += os.read(self.master, 65536)

    def expect(self, part, seconds=10):
        end = time.monotonic() + seconds * host.SLOWNESS
        while part not in self.seen:
            check(time.monotonic() < end, f"{part!r} did not come: {self.seen!r}")
            self.read(0.05)

    def type(self, data):
        os.write(self.master, data)

    def end(self, seconds=10):
        end = time.monotonic() + seconds * host.SLOWNESS
        while self.process.poll() is None:
            check(time.monotonic() < end, f"it did not end: {self.seen!r}")
            self.read(0.02)
        while select.select([self.master], [], [], 0.05)[0]:
            self.seen += os.read(self.master, 65536)
        check(termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was")
        return self.process.returncode


@case("all three streams are a terminal of the caller's size")
def terminal(box):
    with Screen(box, "run", "--tty", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size; exit 4") as screen:
        code = screen.end()
        check(code == 4 and f"{ROWS} {COLUMNS}\r\n".encode() in screen.seen, f"exit {code} {screen.seen!r}")


@case("lines end as on any terminal, and the end of the terminal is no error")
def lines(box):
    with Screen(box, "run", "--tty", "-c", "echo hi; exit 4") as screen:
        check((screen.end(), screen.seen) == (4, b"hi\r\n"), f"{screen.seen!r}")


@case("what is typed arrives, once echoed")
def typed(box):
    with Screen(box, "run", "--tty", "-c", "echo ready; read line; echo \"<$line>\"") as screen:
        screen.expect(b"ready")
        screen.type(b"hello\r")
        check(screen.end() == 0, f"{screen.seen!r}")
        check(b"<hello>\r\n" in screen.seen and screen.seen.count(b"hello") == 2, f"{screen.seen!r}")


@case("^C is the command's")
def interrupt(box):
    with Screen(box, "run", "--tty", "-c", "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done") as screen:
        screen.expect(b"ready")
        screen.type(b"\x03")
        check(screen.end() == 7 and b"caught" in screen.seen, f"{screen.seen!r}")


@case("a change of size arrives")
def resized(box):
    script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done"
    with Screen(box, "run", "--tty", "-c", script) as screen:
        screen.expect(b"ready")
        set_size(screen.slave, 11, 55)
        check(screen.end() == 0 and b"11 55" in screen.seen, f"{screen.seen!r}")


@case("the terminal is given back after a signal, a time-out and a failed start")
def given_back(box):
    for signo in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        with Screen(box, "run", "--tty", "-e", f"M={box.mark}", "-c", "echo ready; sleep 60") as screen:
            screen.expect(b"ready")
            check(termios.tcgetattr(screen.slave) != screen.before, "the terminal was never raw")
            screen.process.send_signal(signo)
            code = screen.end()
            check(code == 128 + signo and host.none_left(box.mark), f"exit {code} {screen.seen!r}")
    with Screen(box, "run", "--tty", "--timeout", "300ms", "--", "sleep", "60") as screen:
        check(screen.end() == 124, f"{screen.seen!r}")
    with Screen(box, "run", "--tty", "--", "/no/such/command") as screen:
        check(screen.end() == 127 and b"/no/such/command" in screen.seen, f"{screen.seen!r}")


@case("stopped from outside, the terminal is the shell's; continued, it is raw again")
def stopped(box):
    with Screen(box, "run", "--tty", "-c", "echo ready; read line; echo \"<$line>\"") as screen:
        screen.expect(b"ready")
        screen.process.send_signal(signal.SIGTSTP)
        check(host.wait_until(lambda: host.state(screen.process.pid) == "T"), "it did not stop")
        check(termios.tcgetattr(screen.slave) == screen.before, "stopped with the terminal raw")
        screen.process.send_signal(signal.SIGCONT)
        check(host.wait_until(lambda: termios.tcgetattr(screen.slave) != screen.before), "not raw again")
        screen.type(b"on\r")
        check(screen.end() == 0 and b"<on>" in screen.seen, f"{screen.seen!r}")


@case("stdin that is no terminal, and stdout that is none")
def partly(box):
    with Screen(box, "run", "--tty", "-c", "test -t 0 && stty size && cat", stdin=False) as screen:
        check(screen.end() == 0 and f"{ROWS} {COLUMNS}".encode() in screen.seen, f"{screen.seen!r}")
    with Screen(box, "run", "--tty", "-c", "tty >/dev/null && echo yes", stdout=False) as screen:
        code = screen.end()
        check(code == 0 and screen.process.stdout.read() == b"yes\r\n", f"exit {code} {screen.seen!r}")
    code, out, err, _seconds = box.pinfold("run", "--tty", "-c", "test -t 1 && echo yes")
    check((code, out) == (0, b"yes\r\n"), f"exit {code} {out!r} {err!r}")


@case("NO_COLOR on a terminal")
def colours(box):
    with Screen(box, "check") as screen:
        code = screen.end()
        check(code in (0, 1), f"exit {code} {screen.seen!r}")
        coloured = b"\033[" in screen.seen
    box.env["NO_COLOR"] = "1"
    with Screen(box, "check") as screen:
        screen.end()
        check(coloured and b"\033[" not in screen.seen, f"{coloured} {screen.seen[:200]!r}")
