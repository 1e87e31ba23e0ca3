"""Parts of the kernel that a confined command has no use for."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import tty

from blackbox.box import PYTHON, held
from blackbox.suite import case, check


@case("calls that a command has no use for are answered by the filter")
def refused_calls(box):
    box.attack("refused_calls")


@case("the strict profile refuses them too")
def refused_calls_strict(box):
    box.attack(
        "refused_calls",
        policy=box.policy_file({"version": 1, "extends": ":workspace-write", "seccomp": {"profile": ":strict"}}),
    )


@case("a set-id bit is refused under the strict profile, under nested namespaces and to root that keeps its identity")
def set_id_under_other_profiles(box):
    for change in (
        {"seccomp": {"profile": ":strict"}},
        {"process": {"nested_namespaces": True}},
        {"process": {"identity": "caller"}},
        {"seccomp": {"allow": ["chmod", "fchmod", "fchmodat", "openat", "mkdir"]}},
    ):
        held(
            box.run(
                box.program("setid"), policy=box.policy_file({"version": 1, "extends": ":workspace-write", **change})
            )
        )


@case("no namespace can be made or joined, and threads still start")
def namespaces(box):
    box.attack("namespaces")


@case("int 0x80 and x32 numbers do not pass the filter")
def foreign_abi(box):
    box.attack("foreign_abi")


@case("socket families that reach past the network namespace are refused")
def socket_families(box):
    box.attack("families")


def on_a_terminal(box, *options):
    """The hostile program on a terminal that it shares with its caller: (what it printed, bytes waiting as input)."""
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        live = box.start(
            box.program("terminal"),
            options=list(options),
            json_out=False,
            outer=["--session"],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
        )
        code, _out, err, _seconds = live.wait()
        waiting = struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4))[0]
        os.set_blocking(master, False)
        return code, os.read(master, 65536).decode(), err, waiting
    finally:
        os.close(master)
        os.close(slave)


@case("no character can be pushed into the caller's terminal")
def terminal_injection(box):
    code, out, err, waiting = on_a_terminal(box)
    check("ESCAPED" not in out and "held" in out and code == 0, f"exit {code}: {out} {err!r}")
    check(waiting == 0, f"{waiting} bytes wait as input of the caller's shell")


@case("no character can be pushed into a private terminal either")
def private_terminal_injection(box):
    code, out, err, waiting = on_a_terminal(box, "--tty")
    check("ESCAPED" not in out and "held" in out and code == 0, f"exit {code}: {out} {err!r}")
    check(waiting == 0, f"{waiting} bytes wait as input of the caller's shell")


@case("a terminal that is shared with the caller is not stopped, closed or made dumb, and pinfold ends in time")
def terminal_stopped(box):
    script = (
        "import fcntl, os, signal, struct, termios\n"
        "for request, argument in ((termios.TIOCEXCL, 0), (termios.TCXONC, termios.TCOOFF), (termios.TIOCSETD, struct.pack('i', 27))):\n"
        "    try:\n        fcntl.ioctl(1, request, argument)\n"
        "    except OSError:\n        pass\n"
        "signal.pause()"
    )
    master, slave = pty.openpty()
    try:
        live = box.start(PYTHON, "-c", script, options=["--timeout", "1"], json_out=False, stdout=slave, stderr=slave)
        code, _out, _err, seconds = live.wait(20)
        check(code == 124 and seconds < 5, f"exit {code} after {seconds:.1f} s")
        check(os.write(slave, b"after") == 5 and b"after" in os.read(master, 65536), "the terminal is dead")
    finally:
        os.close(master)
        os.close(slave)


@case("keyrings of the caller are out of reach")
def keyrings(box):
    held(box.sh("cat /proc/keys 2>/dev/null | grep -q keyring && echo ESCAPED: /proc/keys; echo held: keys"))


@case("set-id programs of the host give nothing")
def set_id_programs(box):
    result = box.sh(
        "grep -E '^(NoNewPrivs|CapEff|CapPrm|CapBnd|CapInh|CapAmb)' /proc/self/status; "
        "su -c id </dev/null; passwd -S root; mount --bind / /mnt && echo ESCAPED; echo held: tried"
    )
    held(result)
    check("NoNewPrivs:\t1" in result.out and "uid=0" not in result.out, result.brief())
    sets = [line for line in result.out.splitlines() if line.startswith("Cap")]
    check(len(sets) == 5 and all(line.endswith("0" * 16) for line in sets), str(sets))
