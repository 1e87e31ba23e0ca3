"""The archive's reader, taken over by its archive: a program of the case's own stands in its place in an installation."""

import json
import os
import shutil
import time

from archive import make
from archive.place import check_clean, extract, listing, write
from blackbox.suite import case, check

HELLO = '{"pinfold-archive":"VERSION"}'


def done(**totals):
    totals = {"format": "tar", "compression": "none", "members": 1, "files": 1, "directories": 0, "links": 0, "bytes": 2,
              "skipped": 0, **totals}
    return json.dumps({"done": totals})


def installation(box):
    """The path of a pinfold with room for a reader of our own, and the version that it wants to hear."""
    program = os.path.join(box.make("inst", "bin"), "pinfold")
    box.make("inst", "libexec", "pinfold")
    if not os.path.exists(program):
        shutil.copy(box.suite.pinfold, program)
    return program, box.pinfold("version")[1].decode().split()[1]


def with_reader(box, script, *options, seconds=60):
    """What the extraction says whose reader is this shell script."""
    program, version = installation(box)
    reader = os.path.join(box.dir, "inst", "libexec", "pinfold", "pinfold-archive")
    with open(reader, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + script.replace("VERSION", version))
    os.chmod(reader, 0o755)
    before, real = listing(box.workspace), box.suite.pinfold
    box.suite.pinfold = program
    try:
        outcome = extract(box, write(box, make.tar("a")), *options, seconds=seconds)
    finally:
        box.suite.pinfold = real
    check_clean(box)
    if outcome.code != 0:
        check(listing(box.workspace) == before, f"something is left: {listing(box.workspace)}")
    return outcome


def says(*lines):
    return "".join(f"echo '{line}'\n" for line in lines)


@case("an honest reader of the case's own: so that what follows shows something")
def honest(box):
    outcome = with_reader(box, says(HELLO) + "umask 077; echo x >a\n" + says(done()))
    check(outcome.code == 0 and listing(box.inside("out"))["a"][2] == b"x\n", outcome.brief())


@case("it crashes, hangs, balloons, or just stops: a refusal")
def ends(box):
    for script, code, word in (
        ("kill -SEGV $$", "workspace_archive_write_error", "SEGV"),
        ("exit 3", "workspace_archive_write_error", "3"),
        ("exit 0", "workspace_archive_write_error", ""),
        ("sleep 100", "limit", "timeout"),
        ("while :; do :; done", "limit", "timeout"),
        ("sleep 100 & sleep 100 & exit 0", "workspace_archive_write_error", ""),
        ("exec python3 -c 'l = []\nwhile True: l.append(b\"x\" * (1 << 20))'", ("limit", "workspace_archive_write_error"), ""),
        (says('{"error":{"code":"no_memory","text":"x","errno":12}}') + "exit 1", "limit", "memory"),
    ):
        outcome = with_reader(box, says(HELLO) + "echo x >a\n" + script + "\n", "--timeout", "2s")
        check(outcome.code == 1 and outcome.doc["code"] in (code if isinstance(code, tuple) else (code,)) and word in outcome.doc["message"],
              f"{script}: {outcome.brief()}")


@case("it says what it never should: a refusal, and text is only text")
def talks(box):
    for lines in (["no JSON"], ["[]"], [HELLO, HELLO], [HELLO, '{"done":{}}'], [HELLO, '{"done":[]}'], [HELLO, done(files=-1)],
                  [HELLO, done(bytes=10**30)], [HELLO, done(members=10**9)], [HELLO, done(), done()], [HELLO, "x" * 5000],
                  [HELLO, '{"progress":5,"bytes":5}', '{"progress":4,"bytes":5}'], [HELLO, '{"progress":-1,"bytes":0}'],
                  [HELLO, '{"error":{"code":"io","text":7,"errno":0}}'], [HELLO, '{"error":"x"}'],
                  [HELLO, '{"error":{"code":"limit","text":"x","errno":99999}}'], [HELLO, done(format="x" * 4000), "}"]):
        outcome = with_reader(box, "echo x >a\n" + says(*lines))
        # Before it has said which version it is, it has not begun to read: a failure of pinfold's own.
        check(outcome.code == (1 if lines[0] == HELLO else 125), f"{lines}: {outcome.brief()}")
    outcome = with_reader(box, says(HELLO, '{"error":{"code":"policy_invalid","text":"\\\\u001b]0;x\\\\u0007\\\\nforged","errno":0,'
                                           '"context":{"member":"\\\\u001b[2J"}}}'))
    check(outcome.code == 1 and "\033" not in outcome.err and outcome.err.count("\n") == 1, outcome.brief())
    flood = with_reader(box, says(HELLO) + "yes '{\"progress\":1,\"bytes\":1}'\n", "--timeout", "3s")
    check(flood.code == 1, flood.brief())


@case("it does not start, or is of another version: a failure of pinfold's own")
def starts(box):
    for script in ("exit 1\n", "exec /nothing/there\n", says('{"pinfold-archive":"0.0.0"}'), "echo broken >&2; exit 127\n"):
        outcome = with_reader(box, script)
        check(outcome.code == 125, f"{script}: {outcome.brief()}")
    program, _ = installation(box)
    os.unlink(os.path.join(box.dir, "inst", "libexec", "pinfold", "pinfold-archive"))
    code, _out, err, _ = box.begin([program, "extract", write(box, make.tar("a")), box.inside("out")]).wait(30)
    check(code in (0, 125) and (code == 0 or b"not_found" in err), (code, err))


@case("what it leaves is looked at: nothing but what the rules allow gets a name")
def leaves(box):
    for script, totals in (
        ("ln -s /etc/passwd a", {"files": 0, "links": 1}),
        ("ln -s /etc/passwd a", {}),
        ("mkfifo a", {}),
        ("echo x >a; chmod 666 a", {}),
        ("echo x >a; chmod 200 a", {}),
        ("umask 077; echo x >a; ln a b", {"files": 2, "bytes": 4}),
        ("umask 077; echo x >a; echo y >b", {}),
        ("umask 077; echo x >a; mkdir -m 777 d", {"directories": 1}),
        ("umask 077; echo x >a; mkdir d; chmod 0 d", {"directories": 1}),
        ("true", {}),
        ("umask 077; echo x >a", {"bytes": 3}),
        ("umask 077; for i in 1 2 3 4 5; do echo x >$i; done", {"files": 5, "bytes": 10, "members": 4}),
        ("umask 077; truncate -s 3000 a", {"bytes": 3000}),
        ("umask 077; echo x >a; chmod 777 .", {}),
        ("umask 077; echo x >a; chmod 700 .", {}),
        ("umask 077; echo x >a; chmod 0 .", {}),
        ("umask 077; echo x >'..\\x'", {}),
        ("umask 077; echo x >c:", {}),
    ):
        outcome = with_reader(box, says(HELLO) + script + "\n" + says(done(**totals)), "--max-extracted", "2000",
                              "--max-members", "4")
        check(outcome.code == 1, f"{script}: {outcome.brief()}")
    script = "umask 077; mkdir d; ln -s ../d d/up; ln -s d/../../x out; echo x >a\n"
    outcome = with_reader(box, says(HELLO) + script + says(done(links=2, directories=1)), "--links", "inside")
    check(outcome.code == 1 and "link" in outcome.doc["message"], outcome.brief())


@case("it writes more than it may, in many files or directories: it is ended, long before its time is up")
def fills(box):
    for script in ("for i in $(seq 60); do head -c 100000 /dev/zero | tr '\\0' x >$i; done", "for i in $(seq 300); do mkdir d; cd d; done",
                   "for i in $(seq 50); do mkdir $i; done"):
        begin = time.monotonic()
        outcome = with_reader(box, says(HELLO) + script + "\nsleep 100\n", "--max-extracted", "1M", "--max-members",
                              "1000" if "cd d" in script else "40")
        check(outcome.code == 1 and outcome.doc["code"] == "limit" and "timeout" not in outcome.doc["message"], outcome.brief())
        check(time.monotonic() - begin < 40, "it was not ended")


@case("it fills no disk beside the lengths that are counted: a file gets no blocks behind its end")
def hoards(box):
    script = says(HELLO) + "umask 077; echo x >a; fallocate -n -l 64M a && exit 3\n" + says(done())
    outcome = with_reader(box, script)
    check(outcome.code == 0, outcome.brief())
    check(os.stat(os.path.join(box.inside("out"), "a")).st_blocks < 1000, "there are blocks behind the end")


@case("it holds the boundary: nothing is written, read or reached but its own directory")
def boundary(box):
    secret, outside = write(box, b"secret", "secret"), os.path.join(box.dir, "escaped")
    script = says(HELLO) + f"""umask 077
cat {secret} >a 2>/dev/null; echo x >{outside}; echo x >../escaped; echo x >../archive; echo x >>/run/archive
echo x >/run/pinfold-archive; ls /root /home >>a 2>/dev/null; (echo x >/dev/tcp/127.0.0.1/1) 2>/dev/null
"""
    outcome = with_reader(box, script + "size=$(cat a | wc -c)\n" + says(done()).replace('"bytes": 2', '"bytes": \'$size\''))
    check(outcome.code == 0 and listing(box.inside("out")) .keys() == {"a"}, outcome.brief())
    check(b"secret" not in listing(box.inside("out"))["a"][2] and not os.path.exists(outside), "it got out")
    check(not [name for name in os.listdir(box.workspace) if name != "out"], os.listdir(box.workspace))
