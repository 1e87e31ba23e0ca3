"""Living longer than the run. A run is over when nothing of it lives, however it ended."""

import os
import random
import signal
import subprocess
import time

from blackbox import host
from blackbox.suite import case, check

LONG = "while :; do sleep 1; done"


def nothing_lives(box, seconds=0.0):
    check(host.none_left(box.mark, seconds), f"still alive: {host.marked(box.mark)}")


def daemon_case(streams):
    @case(f"a double-forked daemon in a session of its own dies with the command: {streams}")
    def outlive(box):
        result = box.run(box.program("daemon"), streams, box.mark, options=["--timeout", "20"])
        nothing_lives(box)
        check(result.status == "exited" and result.code == 0 and result.seconds < 5, result.brief())
        check(result.doc["survivors_killed"] >= 1, result.brief())
        check(os.path.exists(box.inside("daemon-lives")), "there was no daemon")


daemon_case("close")
daemon_case("hold")


@case("a daemon dies at the deadline and at a cancellation too")
def daemon_at_other_ends(box):
    script = f"{box.program('daemon')} close; {LONG}"
    result = box.sh(script, options=["--timeout", "1"])
    nothing_lives(box)
    check(result.status == "timed_out" and result.code == 124 and result.seconds < 3, result.brief())
    live = box.start("/bin/sh", "-c", f"{script}", box.mark, options=["--timeout", "20"])
    time.sleep(0.5 * host.SLOWNESS)
    live.process.send_signal(signal.SIGTERM)
    result = live.result()
    nothing_lives(box)
    check(result.status == "cancelled" and result.code == 128 + signal.SIGTERM, result.brief())


@case("a helper that keeps the streams open does not keep the run")
def helper_holds_streams(box):
    result = box.sh("sleep 300 & echo started", options=["--timeout", "20"])
    check(result.code == 0 and result.out == "started\n" and result.seconds < 5, result.brief())
    result = box.sh("sleep 300 & wait", options=["--timeout", "1"])
    check(result.status == "timed_out" and result.seconds < 3, result.brief())
    nothing_lives(box)


@case("signals that ask do not save a command that ignores them")
def ignores_signals(box):
    result = box.sh(
        f"trap '' TERM INT HUP QUIT; echo ready; {LONG}", options=["--timeout", "1", "--kill-after", "500ms"]
    )
    check(result.status == "timed_out" and 1.3 < result.seconds * host.SLOWNESS and result.seconds < 4, result.brief())
    check(result.out == "ready\n", "what was written before the deadline is lost")
    check(b"SIGKILL because SIGTERM did not end it" in result.noise, f"it is not said: {result.noise!r}")
    deaf = f"sh -c \"trap '' TERM; {LONG}\" {box.mark} & {LONG}"
    result = box.sh(deaf, options=["--timeout", "1", "--kill-after", "500ms"])
    nothing_lives(box)
    check(result.status == "timed_out" and result.seconds < 4, result.brief())


@case("an end at the very deadline is an end or a time-out, and never holds")
def at_the_deadline(box):
    for options, command, n in ((["--timeout", "50ms"], ["true"], 40), (["--timeout", "300ms"], ["sleep", "0.3"], 15)):
        for _ in range(n):
            result = box.run(*command, options=options)
            ended = (result.status, result.code, result.doc["limit_hit"])
            late = result.status == "timed_out" and result.code == 124 and result.doc["limit_hit"]["name"] == "wall_time"
            check(ended == ("exited", 0, None) or late, result.brief())
            check(result.seconds < 3, result.brief())


@case("a stopped command ends at the deadline")
def stopped_command(box):
    for script in ("kill -STOP $$", "sleep 9 & kill -STOP $!; wait"):
        result = box.sh(script, options=["--timeout", "1"])
        check(result.status == "timed_out" and result.seconds < 3, result.brief())


def moments(n, most):
    fixed = [most * i / n for i in range(n)]
    return [moment * host.SLOWNESS for moment in fixed + [random.uniform(0, most) for _ in range(10)]]


@case("nothing survives a supervisor that is killed, at any moment")
def supervisor_killed(box):
    box.suite.killed_supervisors = True
    for delay in moments(25, 0.15):
        live = box.start("/bin/sh", "-c", f"setsid sh -c ': {box.mark}; {LONG}' & true >ran; {LONG}", box.mark)
        time.sleep(delay)
        live.kill()
        check(host.none_left(box.mark), f"killed after {delay * 1000:.0f} ms, still alive: {host.marked(box.mark)}")
        check(not os.listdir(box.tmp), f"left in TMPDIR: {os.listdir(box.tmp)}")
    check(os.path.exists(box.inside("ran")), "it was never killed late enough for the command to run")
    code, _out, err, _ = box.pinfold("gc")
    left = [group for live in box.lives for group in host.cgroups_of(live.process.pid)]
    check(code == 0 and not left, f"gc: exit {code}, {err!r}, left {left}")


@case("nothing survives pinfold's death under a fork bomb")
def supervisor_killed_under_load(box):
    box.suite.killed_supervisors = True
    for kind in ("double", "ring"):
        live = box.start(box.program("fork_bomb"), kind, box.mark, options=["--pids", "200"])
        time.sleep(0.5 * host.SLOWNESS)
        live.kill()
        check(host.none_left(box.mark, 2), f"{kind}: {len(host.marked(box.mark))} are still alive")
    box.pinfold("gc")


@case("a stopped supervisor does not stop the deadline")
def supervisor_stopped(box):
    live = box.start("/bin/sh", "-c", f"true >started; {LONG}", box.mark, options=["--timeout", "1"])
    box.wait_for("started")
    live.process.send_signal(signal.SIGSTOP)

    def only_the_supervisor():
        return all(pid == live.process.pid for pid, _command in host.marked(box.mark))

    held = host.wait_until(only_the_supervisor, 4)
    left = host.marked(box.mark)
    live.process.send_signal(signal.SIGCONT)
    result = live.result()
    check(held, f"alive long after the deadline: {left}")
    check(result.status == "timed_out", result.brief())


@case("a cancellation at any moment leaves mounts, cgroups and files as they were")
def cancelled_at_any_moment(box):
    before = host.mounts()
    for delay in moments(20, 0.1):
        signo = random.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        live = box.start("/bin/sh", "-c", LONG, box.mark, json_out=False)
        time.sleep(delay)
        live.process.send_signal(signo)
        code, _out, err, _ = live.wait()
        when = f"signal {signo} after {delay * 1000:.0f} ms"
        check(code in (128 + signo, -signo), f"{when}: exit {code} {err!r}")
        nothing_lives(box, 0.2 if code < 0 else 0)
        check(host.mounts() == before, f"{when}: mounts changed")
        check(not host.cgroups_of(live.process.pid), f"{when}: {host.cgroups_of(live.process.pid)}")
        check(not os.listdir(box.tmp) and not os.listdir(box.workspace), f"{when}: files left")


@case("a reader that goes away ends the tree")
def reader_goes_away(box):
    live = box.start("/bin/sh", "-c", "exec yes", box.mark, json_out=False, options=["--timeout", "20"])
    live.process.stdout.read(2)
    live.process.stdout.close()
    live.process.stderr.close()
    check(host.wait_until(lambda: live.process.poll() is not None, 3), "pinfold goes on")
    nothing_lives(box, 1)
    live.process.wait()


@case("a child that the caller had before is not taken for the command")
def foreign_child(box):
    words = [box.suite.pinfold, "run", "-w", box.workspace, "--", "/bin/sh", "-c", "sleep 1; exit 3"]
    done = subprocess.run(
        ["/bin/sh", "-c", 'sleep 0.2 & exec "$@"', "sh", *words],
        env=box.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    check(done.returncode == 3, f"exit {done.returncode} {done.stderr!r}")
