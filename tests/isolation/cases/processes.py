"""Processes: pid 1, reaping, exit statuses, threads."""

from blackbox.box import PYTHON
from blackbox.suite import case, check


@case("signals a command sends itself end it as they would outside")
def not_pid_1(box):
    for name, number in (("TERM", 15), ("SEGV", 11), ("ABRT", 6), ("KILL", 9), ("INT", 2), ("USR1", 10)):
        result = box.sh(f"kill -{name} $$; echo survived", options=["--timeout", "10"])
        check(result.doc["signal"] == f"SIG{name}" and result.doc["exit_code"] is None, result.brief())
        check("survived" not in result.out and result.code == 128 + number, result.brief())


@case("exit statuses arrive as they are")
def exit_statuses(box):
    for status in (0, 1, 2, 124, 125, 126, 127, 137, 255):
        result = box.sh(f"exit {status}")
        check((result.status, result.doc["exit_code"], result.code) == ("exited", status, status), result.brief())


@case("what cannot be executed is told from what failed")
def not_executable(box):
    box.file("crlf", "#!/bin/sh\r\necho x\n", 0o755)
    box.file("no-interpreter", "#!/nonexistent/interpreter\n", 0o755)
    box.file("text", "echo x\n", 0o755)
    box.file("plain", "echo x\n", 0o644)
    expected = {
        "/nonexistent": 127,
        "nonexistent-name": 127,
        "/etc/passwd": 126,
        "./plain": 126,
        "/etc": 126,
        "./crlf": (126, 127),
        "./no-interpreter": (126, 127),
        "./text": (126, 0),
    }
    for name, codes in expected.items():
        result = box.run(name)
        check(result.code in (codes if isinstance(codes, tuple) else (codes,)), f"{name}: {result.brief()}")
        if result.code:
            check(
                result.status == "setup_failed"
                and result.doc["error"]["code"] in ("not_found", "permission_denied", "io", "unsupported"),
                f"{name}: {result.brief()}",
            )
    check("interpreter" in str(box.run("./no-interpreter").doc["error"]["message"]), "the interpreter is not named")


DOUBLE_FORKS = r"""
import os, time
for i in range(500):
    while True:
        try: pid = os.fork(); break
        except OSError: time.sleep(0.005)
    if pid == 0:
        while True:
            try: child = os.fork(); break
            except OSError: time.sleep(0.005)
        if child == 0:
            os.setsid()
        os._exit(0)
    os.waitpid(pid, 0)
time.sleep(0.2)
states = []
for name in os.listdir("/proc"):
    if name.isdigit():
        try: states.append(open(f"/proc/{name}/stat").read().rpartition(")")[2].split()[0])
        except OSError: pass
print("defunct", states.count("Z"))
"""


@case("500 orphans are reaped while only 64 processes are allowed")
def reaping(box):
    result = box.python(DOUBLE_FORKS, options=["--pids", "64", "--timeout", "30"])
    check(result.out == "defunct 0\n", result.brief())


@case("threads start, by Python and by node")
def threads(box):
    result = box.python(
        "import threading as t\nr = []\nx = [t.Thread(target=r.append, args=(i,)) for i in range(20)]\n"
        "[i.start() for i in x]; [i.join() for i in x]; print(len(r))"
    )
    check(result.out == "20\n", result.brief())


@case("node runs, with workers and with a child of its own", needs=["node"])
def node(box):
    script = (
        "const {Worker,isMainThread,parentPort}=require('worker_threads');"
        "if(isMainThread){new Worker(__filename).on('message',m=>{console.log(m,"
        "require('child_process').execSync('echo child').toString().trim())})}else parentPort.postMessage('worker')"
    )
    box.file("w.js", script)
    result = box.run("node", "w.js", options=["--memory", "1G", "--timeout", "30"])
    check(result.out == "worker child\n", result.brief())


@case("reserved but untouched memory is not counted")
def reservations(box):
    reserve = "import mmap; mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0); print(1)"
    result = box.run(PYTHON, "-c", reserve, options=["--memory", "256M"])
    check(result.out == "1\n", result.brief())


@case("the main command's exit is the run's, whatever its children do")
def main_command(box):
    result = box.sh("(sleep 0.2; exit 9) & exit 4")
    check(result.code == 4 and result.seconds < 5, result.brief())


@case("the environment of a shell's job control is there with a private terminal")
def private_terminal(box):
    code, out, err, _ = box.pinfold(
        "run", "-p", box.policy, "-w", box.workspace, "--tty", "--", "/bin/sh", "-c", "tty; echo x >/dev/tty; exit 4"
    )
    check(code == 4 and out.replace(b"\r", b"").split() == [b"/dev/pts/0", b"x"], f"exit {code} {out!r} {err!r}")
