"""The backend none: no boundary, and in everything else a run like any other."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time

from blackbox import host
from blackbox.box import PYTHON, Result
from blackbox.suite import Skip, case, check

NONE = ":unconfined"
LONG = "while :; do sleep 1; done"


def sh(box, script, *options, **how):
    return box.sh(script, policy=NONE, options=["--timeout", "20", *options], **how)


def nothing_lives(box, seconds=0.0):
    check(host.none_left(box.mark, seconds), f"still alive: {host.marked(box.mark)}")


class Bystander:
    """A process of the same user that is none of the command's: nothing that pinfold does may reach it."""

    def __enter__(self):
        self.process = subprocess.Popen(["sleep", "300"], start_new_session=True)
        return self

    def __exit__(self, *_unused):
        lived = self.process.poll() is None and host.state(self.process.pid) == "S"
        self.process.kill()
        self.process.wait()
        check(lived, "a process that is not the command's was signaled")


@case("the backend none is never chosen by itself, and is told")
def named(box):
    result = sh(box, "echo ran")
    check(result.out == "ran\n" and result.doc["isolated"] is False and result.doc["backend"] == "none", result.brief())
    check(any("nothing confines" in text for text in result.doc["enforcement"]["warnings"]), result.brief())
    check(b"nothing confines" in result.noise, f"nothing on stderr: {result.noise!r}")
    quiet = sh(box, "true", "-q")
    check(quiet.noise == b"", f"-q says {quiet.noise!r}")
    code, out, _err, _ = box.pinfold("check", "-p", NONE, "-w", box.workspace)
    check(code == 0 and b"not isolated" in out and b"but nothing is isolated" in out, f"exit {code}: {out!r}")
    for row in result.doc["enforcement"]["features"]:
        check(row["state"] == ("degraded" if row["name"] == "tree_kill" else "off") and row["reason"], f"{row}")


@case("a policy of any kind runs with --backend none, and its rules are said to be off")
def any_policy(box):
    secret = box.file("secret", "s")
    for policy in (":read-only", ":workspace-write", ":strict", ":eval"):
        result = box.sh(
            f"cat {secret}; echo w >{box.inside('written')} && echo wrote; id -u",
            policy=policy,
            options=["--backend", "none", "--deny", secret],
        )
        check(result.out.split() == ["swrote", str(os.geteuid())], f"{policy}: {result.brief()}")
        check(result.row("protected_paths")["state"] == "off" and not result.doc["isolated"], f"{policy}")


@case("what is required and off refuses the run")
def required(box):
    for feature in ("network", "seccomp", "tree_kill", "pid_namespace", "limits.tmp_size"):
        result = sh(box, "echo ran >ran", "--require", feature)
        check(result.code == 125 and result.doc["code"] == "unenforceable", f"{feature}: {result.doc}")
        check(not os.path.exists(box.inside("ran")), f"{feature}: it ran")
    mechanism = sh(box, "true").row("tree_kill")["mechanism"]
    check(sh(box, "true", "--require", f"tree_kill={mechanism}").code == 0, "who names the mechanism knows it")


@case("the command has the caller's uid, host name, files and processes")
def the_callers(box):
    result = sh(box, f"id -u; id -G; uname -n; ls -d {box.home}; readlink /proc/self/ns/pid /proc/self/ns/net; echo $$")
    out = result.out.splitlines()
    groups = [str(group) for group in os.getgroups() or [os.getegid()]]
    check(out[0] == str(os.geteuid()) and out[1].split() == groups, result.brief())
    check(out[2] == socket.gethostname() and out[3] == box.home, result.brief())
    check(out[4:6] == [os.readlink("/proc/self/ns/pid"), os.readlink("/proc/self/ns/net")], result.brief())


@case("the environment is that of any run, but for a HOME of the caller's")
def environment(box):
    env = {**box.env, "SECRET": "x", "TERM": "xterm"}
    result = sh(box, "env; pwd", "-e", "EXTRA=1", env=env)
    found = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
    check("SECRET" not in found and found["EXTRA"] == "1" and found["TERM"] == "xterm", result.brief())
    check(found["HOME"] == box.home and found["TMPDIR"] == "/tmp" and found["PINFOLD"] == "1", result.brief())
    check(found["PWD"] == box.workspace and found["USER"] and found["PATH"] == env["PATH"], result.brief())
    check(sh(box, 'echo "$HOME"', "-e", "HOME=/set").out == "/set\n", "the policy's HOME does not win")
    check(not os.path.exists("/tmp/.home"), "a scratch home in the host's /tmp")
    sub = box.make("workspace", "sub")
    check(sh(box, "pwd", "--cd", "sub").out == f"{sub}\n", "--cd within the workspace")
    check(sh(box, "pwd", "--cd", box.home).out == f"{box.home}\n", "--cd elsewhere")


@case("nothing but three descriptors is inherited, without a boundary too")
def descriptors(box):
    outer = []
    for number in (3, 4, 6, 7, 8, 9, 200):
        outer += ["--give", str(number), box.file("given", "x")]
    result = box.run(
        PYTHON, "-c", "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])", policy=NONE, outer=outer
    )
    check(result.out == "['0', '1', '2']\n", result.brief())


@case("streams, without a boundary too")
def streams(box):
    code, out, err, _ = box.pinfold("run", "-q", "-p", NONE, "--", "/bin/sh", "-c", "echo o; echo e >&2; exit 7")
    check((code, out, err) == (7, b"o\n", b"e\n"), f"direct: exit {code} {out!r} {err!r}")
    path = box.file("input", "from a file\n")
    result = sh(box, "cat", "--stdin", path)
    check(result.out == "from a file\n", result.brief())
    result = sh(box, "yes | head -c 5000", "--max-output", "1K")
    check(result.doc["stdout"]["bytes"] == 5000 and result.doc["stdout"]["kept"] <= 1024, result.brief())
    script = "tty; echo x >/dev/tty; exit 4"
    code, out, err, _ = box.pinfold("run", "-q", "-p", NONE, "--tty", "--", "/bin/sh", "-c", script)
    out = out.replace(b"\r", b"").split()
    check(code == 4 and out[0].startswith(b"/dev/pts/") and out[1] == b"x", f"tty: exit {code} {out!r} {err!r}")


@case("exit statuses and failures to execute, without a boundary too")
def endings(box):
    for status in (0, 1, 125, 126, 127, 255):
        check(sh(box, f"exit {status}").code == status, f"exit {status}")
    for name, number in (("TERM", 15), ("KILL", 9), ("SEGV", 11)):
        result = sh(box, f"kill -{name} $$")
        check(result.doc["signal"] == f"SIG{name}" and result.code == 128 + number, result.brief())
    box.file("plain", "echo x\n", 0o644)
    for name, code in (("/nonexistent", 127), ("nonexistent-name", 127), ("./plain", 126), ("/etc", 126)):
        result = box.run(name, policy=NONE)
        check(result.code == code and result.status == "setup_failed", f"{name}: {result.brief()}")


@case("limits hold, without a boundary too")
def limits(box):
    hog = f"{PYTHON} -c 'b = bytearray(400 << 20); import time; time.sleep(9)'"
    for options, script, status, name in (
        (["--timeout", "1"], LONG, "timed_out", "wall_time"),
        (["--cpu-time", "1"], "while :; do :; done", "cpu_time_exceeded", "cpu_time"),
        (["--memory", "64M"], hog, "out_of_memory", "memory"),
        (["--file-size", "4K"], "head -c 9000 /dev/zero >f", "exited", None),
        (["--open-files", "32"], "[ $(ulimit -n) = 32 ] || kill $$", "exited", None),
    ):
        result = sh(box, script, *options)
        hit = result.doc["limit_hit"] and result.doc["limit_hit"]["name"]
        check(result.status == status and hit == name, f"{options}: {result.brief()}")
        check(result.seconds < 15, f"{options}: {result.seconds} s")
    check(os.path.getsize(box.inside("f")) <= 4096, "the file is too long")
    nothing_lives(box)


@case("more processes than allowed are refused or end the run, and only the command's count")
def processes(box):
    others = [subprocess.Popen(["sleep", "60"]) for _ in range(40)]
    try:
        result = sh(box, "sleep 1 & sleep 1 & wait; echo done", "--pids", "20")
        check(result.out == "done\n", result.brief())
        started = time.monotonic()
        result = sh(box, "i=0; while [ $i -lt 60 ]; do sleep 9 & i=$((i+1)); done; wait", "--pids", "20")
        hit = result.doc["limit_hit"] and result.doc["limit_hit"]["name"] == "processes"
        check(hit or "processes" in result.doc["limits_touched"], result.brief())
        check(time.monotonic() - started < 15, "it went on")
        check(all(other.poll() is None for other in others), "others were killed")
        nothing_lives(box)
    finally:
        for other in others:
            other.kill()
            other.wait()


@case("usage is that of the command's tree, not of the machine")
def usage(box):
    script = (
        "b = bytearray(80 << 20); import time; time.sleep(1); s = time.process_time()\n"
        "while time.process_time() < s + .5: pass"
    )
    hog = subprocess.Popen([PYTHON, "-c", "b = bytearray(300 << 20); import time; time.sleep(30)"])
    try:
        found = box.run(PYTHON, "-c", script, policy=NONE).doc["usage"]
    finally:
        hog.kill()
        hog.wait()
    check(80 << 20 < found["memory_peak_bytes"] < 150 << 20, f"{found}")
    check(450 < found["cpu_user_ms"] + found["cpu_system_ms"] < 3000 * host.SLOWNESS and found["processes_peak"] <= 3, f"{found}")


def daemon_case(streams_are):
    @case(f"without a boundary a double-forked daemon dies with the command: {streams_are}")
    def outlive(box):
        result = box.run(box.program("daemon"), streams_are, box.mark, policy=NONE, options=["--timeout", "20"])
        nothing_lives(box)
        check(result.status == "exited" and result.code == 0 and result.seconds < 5, result.brief())
        check(result.doc["survivors_killed"] >= 1, result.brief())


daemon_case("close")
daemon_case("hold")

CHAIN = """
import os, sys, time
for i in range(%d):
    if os.fork(): break
    if i %% 3 == 0: os.setsid()
open('deep', 'a').write('x')
time.sleep(300)
"""


@case("without a boundary a tree of 300 generations dies with the command")
def deep_tree(box):
    script = (
        f'{PYTHON} -c "$SCRIPT" {box.mark} & '
        "while [ $(cat deep 2>/dev/null | wc -c) -lt 300 ]; do sleep 0.05; done; exit 3"
    )
    result = sh(box, script, "-e", f"SCRIPT={CHAIN % 300}", "--timeout", "30")
    nothing_lives(box)
    check(result.code == 3 and result.doc["survivors_killed"] >= 300, f"{result.doc['survivors_killed']}: {result.brief()}")


@case("without a boundary nothing but the command's tree is signaled, however the run ends")
def bystanders(box):
    with Bystander():
        sh(box, "setsid sleep 300 & exit 3")
        result = sh(box, f"trap '' TERM; setsid sleep 300 & {LONG}", "--timeout", "1", "--kill-after", "300ms")
        check(result.status == "timed_out" and result.seconds < 4, result.brief())
        live = box.start("/bin/sh", "-c", f": >first; {LONG}", box.mark, policy=NONE, options=["--kill-after", "300ms"])
        box.wait_for("first")
        live.process.send_signal(signal.SIGTERM)
        check(live.result().status == "cancelled", "not cancelled")
        box.suite.killed_supervisors = True
        live = box.start("/bin/sh", "-c", f": >second; {LONG}", box.mark, policy=NONE)
        box.wait_for("second")
        live.kill()
        nothing_lives(box, 1)
        box.pinfold("gc")


@case("without a boundary SIGTERM comes first where it is asked for, and to the whole tree")
def grace(box):
    wait = "while :; do sleep 0.1; done"
    script = (
        f"(trap 'echo child >>ended; exit' TERM; {wait}) & trap 'echo main >>ended; wait; exit 5' TERM; {wait}"
    )
    result = sh(box, script, "--timeout", "1", "--kill-after", "5s")
    check(result.status == "timed_out" and result.seconds < 4, result.brief())
    with open(box.inside("ended"), encoding="utf-8") as file:
        check(sorted(file.read().split()) == ["child", "main"], "not both were asked to end")


@case("without a boundary nothing survives a supervisor that is killed, at any moment")
def supervisor_killed(box):
    box.suite.killed_supervisors = True
    for delay in [i * 0.006 for i in range(20)] + [random.uniform(0, 0.15) for _ in range(10)]:
        script = f"setsid sh -c ': {box.mark}; {LONG}' & true >ran; {LONG}"
        live = box.start("/bin/sh", "-c", script, box.mark, policy=NONE)
        time.sleep(delay * host.SLOWNESS)
        live.kill()
        check(host.none_left(box.mark), f"killed after {delay * 1000:.0f} ms, still alive: {host.marked(box.mark)}")
    check(os.path.exists(box.inside("ran")), "it was never killed late enough for the command to run")
    code, _out, err, _ = box.pinfold("gc")

    def left():
        return [group for live in box.lives for group in host.cgroups_of(live.process.pid)]

    # Another run beside this one sweeps too, and may be about to remove what gc found locked.
    check(code == 0 and host.wait_until(lambda: not left()), f"gc: exit {code}, {err!r}, left {left()}")


@case("without a boundary a stopped supervisor does not stop the deadline")
def supervisor_stopped(box):
    live = box.start("/bin/sh", "-c", f"true >started; {LONG}", box.mark, policy=NONE, options=["--timeout", "1"])
    box.wait_for("started")
    live.process.send_signal(signal.SIGSTOP)
    held = host.wait_until(lambda: all(pid == live.process.pid for pid, _ in host.marked(box.mark)), 4)
    live.process.send_signal(signal.SIGCONT)
    result = live.result()
    check(held and result.status == "timed_out", result.brief())


@case("a command that stops its init does not escape the deadline")
def init_stopped(box):
    result = sh(box, f"setsid sh -c '{LONG}' {box.mark} & kill -STOP $PPID; {LONG}", "--timeout", "1")
    nothing_lives(box)
    check(result.status == "timed_out" and result.seconds < 3, result.brief())


@case("a command that kills its init is ended, and that is told")
def init_killed(box):
    script = f"(setsid sh -c '{LONG}' {box.mark} &); sleep 0.3; kill -KILL $PPID; {LONG}"
    result = sh(box, script)
    check(result.seconds < 3 and result.doc["error"]["code"] == "unenforceable", result.brief())
    check("init was killed" in result.doc["error"]["message"], result.brief())
    nothing_lives(box)


@case("without a boundary a fork bomb is ended", only="user", needs=["unshare", "prlimit"])
def fork_bomb(box):
    # The safety around it is a pid namespace of its own: the bomb does not come out of it whatever pinfold does.
    around = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]
    bomb = box.program("fork_bomb")
    probe = subprocess.run([*around, "true"], capture_output=True, check=False)
    if probe.returncode:
        raise Skip(f"no pid namespace to hold it: {probe.stderr.decode().strip()[:100]}")
    for kind, timeout in (("double", "10"), ("ring", "1")):
        words = box.words([bomb, kind, box.mark], ["--pids", "200", "--timeout", timeout], NONE)
        live = box.begin([*around, "prlimit", "--nproc=1500", "--", *words])
        result = Result(*live.wait())
        ends = ("processes",) if kind == "double" else ("processes", "wall_time")  # a ring is few, and many are dying
        check(result.doc["limit_hit"]["name"] in ends, result.brief())
        check(result.seconds < float(timeout) + 2 and "unkillable" not in json.dumps(result.doc), result.brief())


@case("what has become another user and cannot be killed is named, and does not hold the result", only="root")
def another_user(box):
    # A set-id interpreter, which exists only in this case, for an ordinary user who runs pinfold without a cgroup.
    become = "import os, time; os.setresuid(0, 0, 0); open('became', 'w').close(); time.sleep(300)"
    python = box.inside("set-id-python")
    shutil.copy(os.path.realpath(PYTHON), python)
    os.chmod(python, 0o4755)
    os.chmod(box.workspace, 0o777)
    script = f'setsid {python} -c "$BECOME" {box.mark} & while [ ! -e became ]; do sleep 0.05; done'
    words = box.words(["/bin/sh", "-c", script], ["-e", f"BECOME={become}", "--timeout", "20"], NONE)
    try:
        live = box.begin(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words])
        result = live.result()
        left = host.marked(box.mark)
    finally:
        os.unlink(python)
        host.end_marked(box.mark)
    if not os.path.exists(box.inside("became")):
        raise Skip("set-id programs do not work here")
    mechanism = result.row("tree_kill")["mechanism"]
    check(mechanism == "cgroup" or "set-id-python" in str(result.doc.get("unkillable")), result.brief())
    check(bool(left) == bool(result.doc.get("unkillable")), f"{left} against {result.doc.get('unkillable')}")
    check(result.seconds < 4, f"{result.seconds} s")
