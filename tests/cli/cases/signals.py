"""Cancellation: the tree dies first, then pinfold ends with 128+n."""

import json
import os
import signal
import time

from blackbox import host
from blackbox.suite import case, check


def begun(box, *options, script="setsid sleep 300 & touch started; sleep 300", json_out=False, **how):
    """A run that is under way, in the box's workspace."""
    live = box.start("/bin/sh", "-c", script, options=["--timeout", "60s", *options], policy=":workspace-write",
                     json_out=json_out, **how)
    box.wait_for("started")
    return live


@case("SIGINT, SIGTERM, SIGHUP and SIGQUIT")
def cancelled(box):
    for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        live = begun(box)
        live.process.send_signal(signo)
        code, _out, err, _seconds = live.wait(5)
        check(code == 128 + signo, f"{signo}: exit {code} {err!r}")
        check(not host.marked(box.mark), f"left: {host.marked(box.mark)}")
        os.unlink(box.inside("started"))


@case("a cancellation prints its result")
def result(box):
    live = begun(box, json_out=True, script="echo so far; touch started; sleep 300")
    live.process.send_signal(signal.SIGTERM)
    run = live.result(5)
    check((run.code, run.status, run.out) == (143, "cancelled", "so far\n"), run.brief())


@case("a second signal changes nothing")
def twice(box):
    live = begun(box, "--kill-after", "500ms", json_out=True, script="trap '' TERM; touch started; while :; do sleep 1; done")
    for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        live.process.send_signal(signo)
        time.sleep(0.05)
    run = live.result(6)
    check((run.code, run.status) == (143, "cancelled"), run.brief())


@case("--kill-after gives the command time to clean up")
def grace(box):
    live = begun(box, "--kill-after", "5s", script="trap 'echo cleaned; exit 0' TERM; touch started; while :; do sleep 0.05; done")
    live.process.send_signal(signal.SIGTERM)
    code, out, err, seconds = live.wait(8)
    check(out == b"cleaned\n" and seconds < 6, f"exit {code} {out!r} {err!r} after {seconds} s")
    check(code == 143, f"exit {code}")


@case("at any moment of the start")
def any_moment(box):
    for delay in [n / 400 for n in range(0, 40, 2)]:
        live = box.start("sleep", "60", json_out=False)
        time.sleep(delay)
        live.process.send_signal(signal.SIGTERM)
        code, _out, err, _seconds = live.wait(5)
        check(code in (143, -15), f"after {delay} s: exit {code} {err!r}")
        check(host.none_left(box.mark), f"after {delay} s: left {host.marked(box.mark)}")


@case("signals that the caller blocked are let through")
def blocked(box):
    live = begun(box, outer=["--block", str(int(signal.SIGTERM))])
    live.process.send_signal(signal.SIGTERM)
    code, _out, err, _seconds = live.wait(5)
    check(code == 143, f"exit {code} {err!r}")


@case("SIGHUP ignored by the caller stays ignored, for pinfold but not for the command")
def nohup(box):
    live = begun(box, script="touch started; sleep 1; exit 9", outer=["--ignore", str(int(signal.SIGHUP))])
    live.process.send_signal(signal.SIGHUP)
    code, _out, err, _seconds = live.wait(10)
    check(code == 9, f"exit {code} {err!r}")
    words = [box.suite.pinfold, "run", "-c", "kill -HUP $$; echo survived"]
    code, out, _err, _seconds = box.begin(words, outer=["--ignore", str(int(signal.SIGHUP))]).wait(10)
    check((code, out) == (129, b""), f"exit {code} {out!r}")


@case("SIGCHLD and SIGPIPE ignored by the caller")
def ignored(box):
    outer = [word for signo in (signal.SIGCHLD, signal.SIGPIPE) for word in ("--ignore", str(int(signo)))]
    code, out, err, _seconds = box.begin([box.suite.pinfold, "run", "-c", "yes | head -1; exit 6"], outer=outer).wait(10)
    check((code, out, err) == (6, b"y\n", b""), f"exit {code} {out!r} {err!r}")


@case("a stopped pinfold is killed in time by nobody but the boundary")
def stopped(box):
    live = box.start("sh", "-c", "touch started; sleep 300", options=["--timeout", "1s"], policy=":workspace-write", json_out=False)
    box.wait_for("started")
    live.process.send_signal(signal.SIGSTOP)
    dead = host.wait_until(lambda: not [pid for pid, _ in host.marked(box.mark) if pid != live.process.pid], 4)
    live.process.send_signal(signal.SIGCONT)
    code, _out, err, _seconds = live.wait(5)
    check(dead, "the tree outlived its limit while pinfold was stopped")
    check(code == 124, f"exit {code} {err!r}")


@case("pinfold killed outright: nothing is left")
def killed(box):
    box.suite.killed_supervisors = True
    for delay in (0.0, 0.01, 0.03, 0.1):
        live = box.start("sh", "-c", "setsid sleep 300 & sleep 300", json_out=False)
        time.sleep(delay)
        live.process.kill()
        live.wait(5)
        check(host.none_left(box.mark), f"after {delay} s: left {host.marked(box.mark)}")
    code, out, err, _seconds = box.pinfold("gc", "--json")
    check(code == 0 and json.loads(out)["removed"] >= 0, f"exit {code} {err!r}")
