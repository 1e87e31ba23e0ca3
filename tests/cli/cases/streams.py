"""stdin, stdout and stderr: connected, kept, passed on; floods and readers that leave."""

import hashlib
import json
import os
import resource
import subprocess
import tempfile

from blackbox import host
from blackbox.suite import case, check

MIB = 1 << 20


def feed(box, data, words, **how):
    """pinfold with `data` on its stdin through a pipe that is closed at the end."""
    with tempfile.TemporaryFile(dir=box.dir) as file:
        file.write(data)
        file.seek(0)
        cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            return box.pinfold(*words, stdin=cat.stdout, **how)
        finally:
            cat.stdout.close()
            cat.wait(10)


@case("the three streams are the caller's own")
def connected(box):
    code, out, err, _seconds = feed(box, b"to cat\n", ["run", "-c", "cat; echo side >&2; exit 4"])
    check((code, out, err) == (4, b"to cat\n", b"side\n"), f"exit {code} {out!r} {err!r}")


@case("20 MB of input while output comes early and large")
def both_ways(box):
    script = f"head -c {5 * MIB} /dev/zero; cat >/dev/null; echo done >&2"
    code, out, err, _seconds = feed(box, bytes(20 * MIB), ["run", "--timeout", "30s", "-c", script])
    check((code, len(out), err) == (0, 5 * MIB, b"done\n"), f"exit {code} {len(out)} {err!r}")
    code, out, err, _seconds = feed(box, bytes(20 * MIB), ["run", "--json", "--stdin", "-", "--timeout", "30s", "-c", script])
    check(code == 0 and b"done" in out, f"exit {code} {err!r}")


@case("a command that does not read its input")
def unread(box):
    for words in (["run"], ["run", "--json", "--stdin", "-"], ["run", "--max-output", "1K"]):
        code, _out, err, _seconds = feed(box, bytes(20 * MIB), [*words, "--", "true"])
        check(code == 0, f"{words}: exit {code} {err!r}")


@case("binary input arrives whole, empty input is an end of file")
def exact(box):
    data = os.urandom(MIB)
    digest = hashlib.sha256(data).hexdigest().encode()
    for words in (["run"], ["run", "--capture", "--stdin", "-"]):
        code, out, err, _seconds = feed(box, data, [*words, "--", "sha256sum"])
        check(code == 0 and out.split()[0] == digest, f"{words}: exit {code} {out!r} {err!r}")
    code, out, _err, _seconds = feed(box, b"", ["run", "--", "wc", "-c"])
    check((code, out.strip()) == (0, b"0"), f"exit {code} {out!r}")


@case("captured runs have no input unless one is given")
def no_input(box):
    read, write = os.pipe()
    try:
        for words in (["--json"], ["--capture"], ["--stdin", "none"]):
            code, _out, err, seconds = box.pinfold("run", "--timeout", "5s", *words, "--", "cat", stdin=read)
            check(code == 0 and seconds < 4, f"{words}: exit {code} after {seconds} s {err!r}")
    finally:
        os.close(read)
        os.close(write)


@case("--stdin FILE")
def from_file(box):
    path = os.path.join(box.home, "input")  # out of the command's sight
    with open(path, "wb") as file:
        file.write(b"from a file\n")
    for words in (["run"], ["run", "--capture"]):
        code, out, err, _seconds = box.pinfold(*words, "--stdin", path, "--", "cat")
        check((code, out) == (0, b"from a file\n"), f"{words}: exit {code} {out!r} {err!r}")


@case("without --max-output nothing is cut")
def uncut(box):
    code, out, _err, _seconds = box.pinfold("run", "-c", f"head -c {3 * MIB} /dev/zero")
    check((code, len(out)) == (0, 3 * MIB), f"exit {code} {len(out)}")


@case("--max-output passes on up to the cap, drains the rest, and says so")
def relayed(box):
    code, out, err, _seconds = box.pinfold("run", "--max-output", "64K", "-c", f"head -c {3 * MIB} /dev/zero; echo end >&2")
    check(code == 0 and len(out) == 65536 and b"end\n" in err, f"exit {code} {len(out)} {err!r}")
    check(b"pinfold: " in err, f"nothing is said: {err!r}")
    code, out, err, _seconds = box.pinfold("run", "--max-output", "64K", "-c", "printf small")
    check((code, out, err) == (0, b"small", b""), f"exit {code} {out!r} {err!r}")


@case("--capture prints head, marker and tail")
def captured(box):
    code, out, err, _seconds = box.pinfold("run", "--capture", "-c", "echo out; echo err >&2; exit 3")
    check((code, out, err) == (3, b"out\n", b"err\n"), f"exit {code} {out!r} {err!r}")
    code, out, _err, _seconds = box.pinfold("run", "--capture", "--max-output", "20", "-c", "seq 1000 1999")
    check(code == 0, f"exit {code}")
    check(out == b"1000\n1001\n[... 4980 bytes omitted ...]\n1998\n1999\n", f"{out!r}")


@case("a flood on both streams ends at the time limit with little kept")
def flood(box):
    run = box.run("sh", "-c", "yes & yes >&2", options=["--timeout", "1s", "--max-output", "64K"])
    check(run.status in ("timed_out", "exited") and run.seconds < 5, run.brief()[:400])
    run = box.run("sh", "-c", "yes & exec yes >&2", options=["--timeout", "1s", "--max-output", "64K"])
    for name in ("stdout", "stderr"):
        stream = run.doc[name]
        check(stream["kept"] <= 65536 and stream["truncated"] and stream["bytes"] > 65536, f"{name}: {stream['kept']} {stream['bytes']}")
    check(run.status == "timed_out" and run.seconds < 5, f"{run.status} {run.seconds}")


@case("a reader that leaves early ends the tree")
def left_early(box):
    for options in ([], ["--max-output", "none"]):
        line = " ".join([box.suite.pinfold, "run", "-e", f"MARK={box.mark}", "--timeout", "30s", *options, "--", "yes", "|", "head", "-1"])
        live = box.begin(["/bin/sh", "-c", line])
        code, out, _err, seconds = live.wait(20)
        check((code, out) == (0, b"y\n") and seconds < 10, f"exit {code} {out!r} after {seconds} s")
        check(host.none_left(box.mark), f"left: {host.marked(box.mark)}")


@case("what is left running does not hold the end up")
def background(box):
    run = box.sh("sleep 300 & echo started", options=["--timeout", "20s"])
    check((run.code, run.out) == (0, "started\n") and run.seconds < 5, run.brief())
    check(run.doc["survivors_killed"] >= 1, run.brief())
    code, out, _err, seconds = box.pinfold("run", "-c", "sleep 300 & echo started")
    check((code, out) == (0, b"started\n") and seconds < 5, f"exit {code} {out!r} after {seconds} s")


@case("descriptors 0, 1 and 2 closed by the caller")
def closed(box):
    for redirect in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        live = box.begin(["/bin/sh", "-c", f"{box.suite.pinfold} run -- true {redirect}"])
        code, _out, err, _seconds = live.wait(20)
        check(code == 0, f"{redirect}: exit {code} {err!r}")


@case("a full disk under stdout is an error where a document was wanted")
def full(box):
    for words in (["run", "--json", "--", "true"], ["check", "--json"], ["help"]):
        code, _out, err, _seconds = box.begin(["/bin/sh", "-c", f"{box.suite.pinfold} {' '.join(words)} >/dev/full"]).wait(20)
        check(code == 125 and b"No space left" in err, f"{words}: exit {code} {err!r}")


@case("a limit of file size is named when it is met, and cuts nothing that pinfold writes itself")
def file_size(box):
    script = "seq 3000; exec head -c 100000 /dev/zero >f"
    options = ["--file-size", "4K", "--result-file", f"{box.home}/result", "--events", f"{box.home}/events"]
    words = ["run", "-p", box.policy, *options, "--max-output", "1M", "-c", script]
    with open(f"{box.home}/out", "wb") as out:
        code, _out, err, _seconds = box.begin([box.suite.pinfold, *words], stdout=out).wait(20)
    result = json.load(open(f"{box.home}/result", encoding="utf-8"))
    check(code == 153 and b"--file-size" in err, f"exit {code} {err!r}")
    check((result["signal"], result["limit_hit"]) == ("SIGXFSZ", {"name": "file_size", "limit": 4096, "actual": 4096}), f"{result}")
    for name in ("out", "result", "events"):
        check(os.path.getsize(f"{box.home}/{name}") > 4096, f"{name} was cut")
    run = box.sh(script, options=["--file-size", "4K"])
    check(run.out == "".join(f"{n}\n" for n in range(1, 3001)), f"{len(run.out)} bytes were kept")


@case("a file that is the command's own stream counts as a file that it writes")
def file_size_of_a_stream(box):
    with open(f"{box.home}/out", "wb") as out:
        code, _out, err, _seconds = box.begin([box.suite.pinfold, "run", "--file-size", "4K", "--", "seq", "3000"], stdout=out).wait(20)
    check(code == 153 and os.path.getsize(f"{box.home}/out") == 4096 and b"--file-size" in err, f"exit {code} {err!r}")


@case("a limit of the caller's own on the size of files is an error to be told, and kills nobody")
def callers_file_size(box):
    def within(kib, *words):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, resource.RLIM_INFINITY))

        with open(f"{box.home}/out", "wb") as out:
            return box.begin([box.suite.pinfold, *words], stdout=out, preexec_fn=limit).wait(20)

    much = ["--", "seq", "100000"]
    for words, said in (
        (["run", "--json", "--max-output", "none", *much], b"standard output"),
        (["run", "--capture", "--max-output", "none", *much], b"stdout"),
        (["run", "--max-output", "none", *much], b"stream 1"),
        (["run", "--json", "--max-output", "none", "--result-file", f"{box.home}/result", *much], b"--result-file"),
    ):
        code, _out, err, _seconds = within(200, *words)
        check(code == 125 and said in err and b"File too large" in err, f"{words}: exit {code} {err!r}")
    code, _out, err, _seconds = within(1, "run", "--", "true")
    check(code == 125 and b"ulimit -f" in err, f"exit {code} {err!r}")
    code, _out, err, _seconds = within(200, "run", *much)
    check(code == 153 and b"SIGXFSZ" in err, f"exit {code} {err!r}")


@case("a directory is no stream: through it the command would see more than its boundary shows")
def directory(box):
    for options, redirect in (("", "</"), ("--stdin /", ""), ("--json --stdin -", "</"), ("--max-output 1M", "</"), ("", "2</")):
        line = f"{box.suite.pinfold} run {options} -- ls /proc/self/fd/0/ /proc/self/fd/2/ {redirect}"
        code, out, err, _seconds = box.begin(["/bin/sh", "-c", line]).wait(20)
        check(code in (2, 125) and b"etc" not in out, f"{line}: exit {code} {out!r} {err!r}")
