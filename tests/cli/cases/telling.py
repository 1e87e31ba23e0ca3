"""Results and events beside the streams: --result-file, --result-fd, --events, -v."""

import json
import os
import stat

from blackbox.suite import case, check


def lines(data):
    return [json.loads(line) for line in data.decode().splitlines()]


@case("--result-file: the whole document, private, in place of an older one")
def result_file(box):
    path = os.path.join(box.home, "result.json")
    for n in (3, 4):
        code, out, err, _seconds = box.pinfold("run", "--result-file", path, "-c", f"echo out; exit {n}")
        check((code, out, err) == (n, b"out\n", b""), f"exit {code} {out!r} {err!r}")
        with open(path, "rb") as file:
            doc = json.loads(file.read())
        check(doc["schema"] == "pinfold.result/1" and doc["exit_code"] == n, f"{doc['exit_code']}")
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "not private")
    check(os.listdir(box.home) == ["result.json"], f"left over: {os.listdir(box.home)}")


@case("--result-file replaces files only, and follows nothing")
def result_places(box):
    target = box.file("target", "precious")
    os.symlink(target, box.inside("link"))
    os.mkfifo(box.inside("fifo"))
    for path in ("link", "fifo", ".", "/dev/null", "/dev/stdout", box.workspace):
        code, _out, err, _seconds = box.pinfold("run", "--result-file", path, "--", "true")
        check(code == 2, f"{path}: exit {code} {err!r}")
    with open(target, encoding="utf-8") as file:
        check(file.read() == "precious", "the link was followed")


@case("a command that meddles with the place of the result")
def meddled(box):
    secret = os.path.join(box.home, "secret")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("precious")
    script = f"ln -sf {secret} r.json; mkdir -p d"
    code, _out, err, _seconds = box.pinfold("run", "-p", ":workspace-write", "--result-file", "r.json", "-c", script)
    check(code == 0 and not os.path.islink(box.inside("r.json")), f"exit {code} {err!r}")
    with open(box.inside("r.json"), encoding="utf-8") as file:
        check(json.load(file)["status"] == "exited", "no result")
    with open(secret, encoding="utf-8") as file:
        check(file.read() == "precious", "written through a planted link")


@case("--result-fd, and --json beside it")
def result_fd(box):
    read, write = os.pipe()
    code, out, _err, _seconds = box.pinfold("run", "--result-fd", str(write), "--json", "-c", "exit 5", pass_fds=[write])
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        doc = json.loads(pipe.read())
    check(code == 5 and doc == json.loads(out), f"exit {code}")


@case("the result descriptor is not the command's")
def not_inherited(box):
    read, write = os.pipe()
    code, out, err, _seconds = box.pinfold("run", "--result-fd", str(write), "--", "ls", f"/proc/self/fd/{write}", pass_fds=[write])
    os.close(read)
    os.close(write)
    check(code != 0, f"exit {code} {out!r} {err!r}")


@case("--events: one JSON object a line, from started to exited")
def events(box):
    path = os.path.join(box.home, "events")
    code, _out, err, _seconds = box.pinfold("run", "--capture", "--events", path, "-c", "echo out; exit 3")
    check((code, err) == (3, b""), f"exit {code} {err!r}")
    with open(path, "rb") as file:
        told = lines(file.read())
    check([told[0]["event"], told[-1]["event"]] == ["started", "exited"], f"{told}")
    check(any(one["event"] == "output" and "out" in json.dumps(one) for one in told), f"{told}")


@case("--events to a descriptor, and to one that nobody reads")
def events_fd(box):
    read, write = os.pipe()
    code, _out, _err, _seconds = box.pinfold("run", "--events", f"fd:{write}", "--", "true", pass_fds=[write])
    check(code == 0, f"exit {code}")
    flood = ["run", "--capture", "--timeout", "2s", "--events", f"fd:{write}", "-c", "while :; do echo line; done"]
    code, _out, err, seconds = box.pinfold(*flood, pass_fds=[write])
    check(code == 124 and seconds < 12, f"held up by its reader: exit {code} after {seconds} s {err[-300:]!r}")
    check(b"events are lost" in err, f"{err[-300:]!r}")
    os.close(write)
    os.close(read)


@case("--events does not follow what was planted")
def events_planted(box):
    target = box.file("target", "precious")
    os.symlink(target, box.inside("link"))
    for path in ("link", "/dev/null", box.workspace):
        code, _out, err, _seconds = box.pinfold("run", "--events", path, "--", "true")
        check(code in (2, 125), f"{path}: exit {code} {err!r}")
    with open(target, encoding="utf-8") as file:
        check(file.read() == "precious", "the link was followed")


@case("-v says beforehand what is not enforced")
def verbose(box):
    code, out, err, _seconds = box.pinfold("run", "-v", "--net", "host", "--", "echo", "x")
    check((code, out) == (0, b"x\n"), f"exit {code} {err!r}")
    check(b"pinfold: note: network is off" in err, f"{err!r}")
    check(all(line.startswith(b"pinfold: ") for line in err.splitlines()), f"{err!r}")


@case("no terminal, no colours; NO_COLOR, no colours")
def plain(box):
    for env in ({**box.env, "TERM": "xterm-256color"}, {**box.env, "NO_COLOR": "1"}):
        for words in (["check"], ["help"], ["help", "run"], ["policy", "list"], ["policy", "show"], ["nonsense"]):
            _code, out, err, _seconds = box.pinfold(*words, env=env)
            check(b"\033" not in out + err, f"{words}: {out!r} {err!r}")


@case("help: every verb, every form, on stdout")
def helps(box):
    code, out, err, _seconds = box.pinfold("help")
    check(code == 0 and err == b"" and b"pinfold run" in out, f"exit {code} {err!r}")
    for verb in ("run", "check", "wrap", "policy", "gc", "version", "help"):
        check(f"  {verb} ".encode() in out, f"{verb} is not in the help")
        texts = {box.pinfold(*words)[:2] for words in (["help", verb], [verb, "--help"], [verb, "-h"])}
        check(len(texts) == 1, f"{verb}: the forms differ")
        check(texts.pop()[0] == 0, f"{verb}: not 0")
    check(box.pinfold("--help")[1] == out and box.pinfold("-h")[1] == out, "the forms differ")
    code, text, _err, _seconds = box.pinfold("run", "--timeout", "5s", "--help", "--", "true")
    check(code == 0 and b"--timeout T" in text, f"exit {code}")


@case("the examples of the help are understood")
def examples(box):
    _code, out, _err, _seconds = box.pinfold("help", "run")
    found = [line.strip() for line in out.decode().splitlines() if line.startswith("    pinfold run ")]
    check(len(found) >= 4, f"{found}")
    for line in found:
        words = line.replace("pinfold run ", f"{box.suite.pinfold} run --dry-run ", 1).replace("/src/project", ".").replace("./solution", ".")
        live = box.begin(["/bin/sh", "-c", words])
        code, _out, err, _seconds = live.wait(20)
        check(code != 2, f"{line}: exit {code} {err!r}")


@case("--trace-setup: the steps of parent and child, in order, and nothing on stdout")
def traced(box):
    for policy in (":read-only", ":unconfined"):
        code, out, err, _seconds = box.pinfold("run", "-p", policy, "--trace-setup", "-q", "-c", "echo out; exit 3")
        check((code, out) == (3, b"out\n"), f"exit {code} {out!r} {err!r}")
        rows = [line.split(None, 2) for line in err.decode().splitlines()[1:]]
        steps = [name for _at, _took, name in rows]
        times = [int(at) for at, _took, _name in rows]
        check(times == sorted(times), f"{times}")
        took = sum(int(took) for _at, took, _name in rows)
        check(abs(took - times[-1]) <= len(rows), f"the steps took {took} of {times[-1]} microseconds")
        for name in ("planned", "child: begins", "boundary stands", "command started", "tree dead", "result told"):
            check(steps.count(name) == 1, f"{policy}: {name} in {steps}")
        check(("child: root built" in steps) == (policy == ":read-only"), f"{policy}: {steps}")
        check(steps.index("child: begins") < steps.index("boundary stands") < steps.index("tree dead"), f"{steps}")
    code, _out, err, _seconds = box.pinfold("run", "-q", "--", "true")
    check((code, err) == (0, b""), f"told unasked: {err!r}")
