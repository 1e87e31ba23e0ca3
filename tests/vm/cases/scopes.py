"""Limits on a machine whose cgroups belong to systemd: a scope is asked of it, or the report says what is in the way."""

import os
import subprocess

from blackbox import cgroups, host
from blackbox.suite import Skip, case, check

LIMITS = ["--memory", "64M", "--pids", "50", "--cpus", "0.5", "--timeout", "120"]
HOG = "b = bytearray(300 << 20)"


def unit():
    """The kind of unit that this process is in."""
    return os.path.basename(cgroups.own()).rpartition(".")[2]


def in_a_session():
    if unit() != "scope":
        raise Skip("this process is in a service, not in a session")


def in_a_service():
    if unit() != "service":
        raise Skip("this process is in a session, not in a service")


def units(*words):
    """The transient scopes of ours that the manager has."""
    bus = [] if os.geteuid() == 0 else ["--user"]
    line = ["systemctl", *bus, "list-units", "--all", "--plain", "--no-legend", *words, "pinfold-*.scope"]
    return subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False).stdout.split("\n")[:-1]


def session(box):
    """What a login sets, for pinfold to reach the manager by."""
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    return {**box.env, **{name: os.environ[name] for name in names if name in os.environ}}


@case("in a session every limit is held by the kernel, and the run that met one says so")
def limits(box):
    in_a_session()
    before = cgroups.own()
    result = box.sh(f"cat /proc/self/cgroup; python3 -c '{HOG}'; echo went on", options=LIMITS, env=session(box))
    for name in ("memory", "swap", "processes", "cpus"):
        row = result.row(name, "limits")
        check((row["state"], row["mechanism"]) == ("enforced", "cgroup"), str(row))
    check(result.status == "out_of_memory" and result.doc["limit_hit"]["name"] == "memory", result.brief())
    check("went on" not in result.out and "0::/\n" in result.out, result.brief())
    check(cgroups.own() == before, "the caller was moved")
    check(host.wait_until(lambda: not units(), 10), f"scopes are left: {units()}")


@case("check asks as run does, and leaves nothing")
def check_asks(box):
    in_a_session()
    code, out, err, _ = box.pinfold("check", *LIMITS, env=session(box))
    memory = [line for line in out.decode().splitlines() if line.split()[:1] == ["memory"]]
    check(code == 0 and memory and memory[0].split()[2:4] == ["enforced", "cgroup"], f"{code} {out!r} {err!r}")
    check(host.wait_until(lambda: not units(), 10), f"scopes are left: {units()}")


@case("a run without a limit that needs it is started without a scope")
def no_need(box):
    in_a_session()
    options = ["--memory", "none", "--timeout", "60"]
    live = box.start("/bin/sleep", "30", options=options, env=session(box))
    check(host.wait_until(lambda: host.marked(box.mark), 30), "it did not start")
    check(not units(), f"there is one: {units()}")
    live.process.terminate()
    live.wait()


@case("without a way to the user's manager the row says so, with the remedy")
def no_bus(box):
    in_a_session()
    if os.geteuid() == 0:
        raise Skip("root asks the system's manager, which is always there")
    env = {**box.env, "XDG_RUNTIME_DIR": box.tmp, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={box.tmp}/none"}
    result = box.sh("true", options=LIMITS, env=env)
    row = result.row("memory", "limits")
    check(row["mechanism"] == "watchdog" and row["state"] == "degraded", str(row))
    check("manager" in row["reason"] and "linger" in row["fix"], str(row))
    check(result.code == 0, result.brief())


@case("a login without XDG_RUNTIME_DIR finds the manager all the same")
def no_runtime_directory(box):
    in_a_session()
    result = box.sh("true", options=LIMITS, env=box.env)
    row = result.row("memory", "limits")
    check((row["state"], row["mechanism"]) == ("enforced", "cgroup"), str(row))


@case("several runs at once have a scope each, and none is left")
def many(box):
    in_a_session()
    lives = [box.start("/bin/sh", "-c", "sleep 1", box.mark, options=LIMITS, env=session(box)) for _ in range(6)]
    for live in lives:
        result = live.result(300)
        row = result.row("memory", "limits")
        # Under emulation a manager that is asked by many may take longer than is waited for; then the row must say so.
        too_slow = host.SLOWNESS > 1 and "does not end in time" in (row["reason"] or "")
        check(result.status == "exited" and (row["mechanism"] == "cgroup" or too_slow), f"{result.brief()} {row}")
    check(host.wait_until(lambda: not units(), 20), f"scopes are left: {units()}")


@case("a supervisor that is killed takes its tree and its scope with it")
def killed(box):
    in_a_session()
    box.suite.killed_supervisors = True
    live = box.start("/bin/sh", "-c", "setsid sleep 100 & sleep 100", box.mark, options=LIMITS, env=session(box))
    check(host.wait_until(lambda: units() and len(host.marked(box.mark)) > 1, 60), "it did not start")
    live.kill()
    check(host.none_left(box.mark, 20), f"alive: {host.marked(box.mark)}")
    check(host.wait_until(lambda: not units(), 20), f"scopes are left: {units()}")


@case("in a delegated unit limits hold, and no scope is asked where the manager marks what it delegated")
def delegated(box):
    in_a_session()
    bus = [] if os.geteuid() == 0 else ["--user"]
    line = ["systemd-run", *bus, "--scope", "--quiet", "-p", "Delegate=yes"]
    words = [*line, *box.words(["/bin/sh", "-c", "sleep 3"], LIMITS)]
    live = box.begin(words, env=session(box))
    seen = host.wait_until(units, 4) and os.geteuid() == 0  # a user's manager can mark nothing before its version 253
    result = live.result(120)
    row = result.row("memory", "limits")
    check((row["state"], row["mechanism"]) == ("enforced", "cgroup"), str(row))
    check(not seen, "a scope was asked all the same")


@case("in a service that is not delegated root has limits, and a user is told what to change")
def service(box):
    in_a_service()
    result = box.sh(f"python3 -c '{HOG}'; echo went on", options=LIMITS)
    row = result.row("memory", "limits")
    if os.geteuid() == 0:
        check((row["state"], row["mechanism"]) == ("enforced", "cgroup"), str(row))
    else:
        check(row["state"] == "degraded" and "not delegated" in row["reason"] and "Delegate=yes" in row["fix"], str(row))
    check(result.status == "out_of_memory" and "went on" not in result.out, result.brief())
