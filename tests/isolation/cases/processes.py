"""Processes: pid 1, reaping, exit statuses, threads."""

from blackbox.box import PYTHON, Skip
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


def linked_for(box, name, loader):
    """A program of the host's that wants another loader, of a name that is as long."""
    usual = b"/lib64/ld-linux-x86-64.so.2"
    with open("/bin/true", "rb") as file:
        program = file.read()
    if usual not in program:
        raise Skip("/bin/true is not linked with the usual loader")
    with open(box.file(name, mode=0o755), "wb") as file:
        file.write(program.replace(usual, loader))


@case("what an execution failed for is named: an interpreter, a loader, the end of a line")
def needed(box):
    scripts = {
        "crlf": "#!/bin/sh\r\necho x\n",
        "missing": "#!/no/such/interpreter -x\n",
        "chained": f"#! {box.inside('missing')}\n",
        "closed": f"#!{box.inside('plain')}\n",
        "directory": f"#!{box.workspace}\n",
        "not-a-program": f"#!{box.inside('text')}\n",
        "endless": f"#!{box.inside('endless')}\n",
        "too-long": f"#!/{'x' * 300}\n",
        "nameless": "#! \n",
        "text": "echo x\n",
        "empty": "",
    }
    for name, text in scripts.items():
        box.file(name, text, 0o755)
    box.file("plain", "#!/bin/sh\n", 0o644)
    linked_for(box, "foreign", b"/lib64/no-such-loader.so.1\0")
    for name, status, code, said in (
        ("crlf", 127, "not_found", ('interpreter "/bin/sh\\x0d" is missing', "carriage return")),
        ("missing", 127, "not_found", ('interpreter "/no/such/interpreter" is missing', "No such file")),
        ("chained", 127, "not_found", ('interpreter "/no/such/interpreter" is missing',)),
        ("closed", 126, "permission_denied", (f'interpreter "{box.inside("plain")}" cannot', "Permission denied", "x bit")),
        ("directory", 126, "permission_denied", (f'interpreter "{box.workspace}" cannot', "Permission denied")),
        ("not-a-program", 126, "permission_denied", (f'interpreter "{box.inside("text")}" cannot', "Exec format error")),
        ("endless", 126, "permission_denied", (f'interpreter "{box.inside("endless")}" cannot', "a script itself")),
        ("too-long", 126, "permission_denied", ("Exec format error", "a first line such as")),
        ("nameless", 126, "permission_denied", ("Exec format error", "a first line such as")),
        ("text", 126, "permission_denied", ("Exec format error", "a first line such as")),
        ("empty", 126, "permission_denied", ("Exec format error",)),
        ("plain", 126, "permission_denied", ("Permission denied", "x bit")),
        ("foreign", 127, "not_found", ('loader "/lib64/no-such-loader.so.1"', "is missing", "C library")),
    ):
        for words in ([f"./{name}"], [box.inside(name)]):
            result = box.run(*words)
            error = result.doc.get("error") or {"code": None, "message": ""}
            check((result.status, result.code, error["code"]) == ("setup_failed", status, code), f"{name}: {result.brief()}")
            check(f'cannot execute "{words[0]}"' in error["message"], f"{name}: {result.brief()}")
            check(all(part in error["message"] for part in said), f"{name}: {result.brief()}")


@case("a program that may not be executed is passed over where the PATH has another")
def passed_over(box):
    for place, text, mode in (("a", "x", 0o644), ("b", f"#!{box.inside('a/tool')}\n", 0o755), ("c", "#!/bin/sh\necho c\n", 0o755)):
        box.file(f"{place}/tool", text, mode)
    places = [box.inside(place) for place in "abc"]
    result = box.run("tool", options=["-e", "PATH=" + ":".join(places)])
    check(result.out == "c\n", result.brief())
    result = box.run("tool", options=["-e", "PATH=" + ":".join(places[:2])])
    check(result.code == 126 and result.doc["error"]["code"] == "permission_denied", result.brief())
    check("interpreter" in result.doc["error"]["message"], result.brief())


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
