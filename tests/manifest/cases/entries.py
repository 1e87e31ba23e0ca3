"""What each entry becomes, and what the receipt says of it."""

import json
import os
import shutil
import stat
import subprocess

from blackbox.suite import case, check
from manifest.scene import OK, Scene, directory, file, local_dir, local_file, sha256, tree


def mode_of(scene, name):
    return stat.S_IMODE(os.lstat(os.path.join(scene.workspace, name)).st_mode)


@case("files and directories, whatever the umask")
def files(box):
    scene = Scene(box)
    scene.manifest({
        "README.md": file("text"), "raw": file("AAH/", encoding="base64"), "own": file("", mode="0600"),
        "src": directory({"a.py": file("a"), "deep/er/b": file("b")}), "closed": directory({"c": file("c")}, mode="0500"),
        "up/and/away": file("d", mode="0755")})
    for umask in (0o077, 0o777):
        shutil.rmtree(scene.workspace, ignore_errors=True)
        code, receipt, err = scene.call(umask=umask)
        check(code == OK, f"umask {umask:o}: exit {code}: {receipt} {err}")
        check_files(scene, receipt)


def check_files(scene, receipt):
    check(scene.read("README.md") == b"text" and scene.read("raw") == b"\0\1\xff" and scene.read("src/deep/er/b") == b"b", "contents")
    modes = {name: mode_of(scene, name) for name in ("README.md", "own", "src", "src/a.py", "src/deep", "closed", "up", "up/and/away")}
    check(modes == {"README.md": 0o644, "own": 0o600, "src": 0o755, "src/a.py": 0o644, "src/deep": 0o755, "closed": 0o500, "up": 0o755,
                    "up/and/away": 0o755}, f"{modes}")
    rows = {row["path"]: row for row in receipt["entries"]}
    check(rows["README.md"]["sha256"] == sha256(b"text") and rows["README.md"]["bytes"] == 4, f"{rows['README.md']}")
    check(rows["src"]["sha256"] is None and rows["src"]["bytes"] == 2 and rows["src"]["files"] == 2, f"{rows['src']}")
    check(receipt["files"] == 7 and receipt["bytes"] == 4 + 3 + 0 + 1 + 1 + 1 + 1, f"{receipt['files']} {receipt['bytes']}")
    os.chmod(os.path.join(scene.workspace, "closed"), 0o700)


@case("copies have the content of their sources, and nothing else in common")
def copies(box):
    scene = Scene(box)
    data = os.urandom(300000)
    source = scene.source("data.csv", data)
    os.link(source, os.path.join(scene.base, "twin"))
    scene.source("lib/a.c", b"a")
    scene.source("lib/sub/run.sh", b"#!/bin/sh\n", 0o755)
    scene.source("lib/sub/x.o", b"o")
    receipt = scene.make({"data.csv": local_file("data.csv"), "lib": local_dir("lib", exclude=["*.o"]),
                          "abs": local_file(source), "tool": local_file("lib/sub/run.sh"), "asked": local_file("lib/sub/run.sh", mode="0640")})
    rows = {row["path"]: row for row in receipt["entries"]}
    check(scene.read("data.csv") == data and rows["data.csv"]["sha256"] == sha256(data), "the copy differs")
    made, there = os.stat(os.path.join(scene.workspace, "data.csv")), os.stat(source)
    check(made.st_ino != there.st_ino and made.st_nlink == 1, "a link, not a copy")
    with open(os.path.join(scene.workspace, "data.csv"), "ab") as file_:
        file_.write(b"more")
    with open(source, "rb") as file_:
        check(file_.read() == data, "the source was changed through its copy")
    check(sorted(tree(scene.workspace)) == ["abs", "asked", "data.csv", "lib", "lib/a.c", "lib/sub", "lib/sub/run.sh", "tool"], f"{tree(scene.workspace)}")
    check((mode_of(scene, "lib/sub/run.sh"), mode_of(scene, "tool"), mode_of(scene, "asked")) == (0o755, 0o755, 0o640), "modes")
    check((rows["lib"]["files"], rows["lib"]["bytes"], rows["tool"]["mode"]) == (2, 11, "0755"), f"{rows['lib']}")


@case("the digest of a tree is that of its content")
def digests(box):
    scene = Scene(box)
    scene.source("one/a", b"1")
    scene.source("one/b/c", b"2")
    scene.source("two/b/c", b"2")
    scene.source("two/a", b"1")
    scene.source("three/a", b"1")
    scene.source("three/b/c", b"3")
    rows = {row["path"]: row["tree_sha256"] for row in scene.make({name: local_dir(name) for name in ("one", "two", "three")})["entries"]}
    check(rows["one"] == rows["two"] != rows["three"] and len(rows["one"]) == 64, f"{rows}")
    lines = [b"f 0644 " + sha256(b"1").encode() + b" a\0", b"d 0755 - b\0", b"f 0644 " + sha256(b"2").encode() + b" b/c\0"]
    check(rows["one"] == sha256(b"".join(lines)), f"not as documented: {rows['one']}")


@case("receipts are in the order of the manifest, however many are made at a time")
def order(box):
    scene = Scene(box)
    for n in range(40):
        scene.source(f"s{n}/f", os.urandom(1000 * (40 - n)))
    entries = {f"d{n:02}": local_dir(f"s{n}") if n % 2 else local_file(f"s{n}/f") for n in range(40)}
    receipts = [scene.make(entries, "--jobs", jobs) for jobs in ("1", "2", "7", "none")]
    for receipt in receipts:
        check([row["path"] for row in receipt["entries"]] == list(entries), f"{[row['path'] for row in receipt['entries']]}")
    digests_ = [[row["sha256"] or row["tree_sha256"] for row in receipt["entries"]] for receipt in receipts]
    check(all(one == digests_[0] for one in digests_), "they differ")


@case("overlaps are applied in the order of the manifest")
def overlaps(box):
    scene = Scene(box)
    for name in ("a", "b"):
        scene.source(f"{name}/same", name.encode())
        scene.source(f"{name}/only-{name}", b"")
    scene.make({"t": local_dir("a"), "t/more": local_dir("b"), "t/same": file("last"), "u/same": file("first"), "u": local_dir("b")})
    check(scene.read("t/same") == b"last" and scene.read("u/same") == b"b" and scene.read("t/more/same") == b"b", "the wrong one is on top")
    check(sorted(tree(scene.workspace)) == ["t", "t/more", "t/more/only-b", "t/more/same", "t/only-a", "t/same", "u", "u/only-b", "u/same"],
          f"{sorted(tree(scene.workspace))}")


@case("a workspace that is there is added to")
def merges(box):
    scene = Scene(box)
    scene.source("lib/new", b"new")
    scene.source("lib/old", b"newer")
    box.make("made/lib/mine")
    for name in ("lib/old", "lib/mine/x", "note"):
        with open(os.path.join(scene.workspace, name), "w", encoding="ascii") as out:
            out.write("old")
    os.chmod(os.path.join(scene.workspace, "lib"), 0o700)
    receipt = scene.make({"lib": local_dir("lib"), "note": file("n"), "d": directory()})
    check([row["action"] for row in receipt["entries"]] == ["merged", "replaced", "created"], f"{receipt['entries']}")
    check(scene.read("lib/old") == b"newer" and scene.read("lib/mine/x") == b"old" and scene.read("note") == b"n", "contents")
    check(mode_of(scene, "lib") == 0o700 and receipt["entries"][0]["mode"] == "0700", "the mode of what was there is its own")
    again = scene.make({"lib": local_dir("lib"), "note": file("n"), "d": directory()})
    check([row["action"] for row in again["entries"]] == ["merged", "replaced", "merged"], f"{again['entries']}")


@case("what is ephemeral is made anew, the rest stays")
def ephemeral(box):
    scene = Scene(box)
    scene.source("seed/s", b"seed")
    entries = {"keep": file("kept"), "src": directory({"tmp": directory({"in": file("i")}, ephemeral=True), "a": file("a")}),
               "scratch": local_dir("seed", ephemeral=True), "pid": file("0", ephemeral=True)}
    scene.make(entries)
    for name in ("keep", "src/a", "src/tmp/in", "src/tmp/litter", "scratch/s", "scratch/litter", "pid", "src/mine"):
        with open(os.path.join(scene.workspace, name), "w", encoding="ascii") as out:
            out.write("changed")
    receipt = scene.make(entries, "--ephemeral-only")
    actions = {row["path"]: row["action"] for row in receipt["entries"]}
    check(actions == {"keep": "kept", "src": "kept", "src/tmp": "replaced", "src/tmp/in": "created", "src/a": "kept", "scratch": "replaced",
                      "pid": "replaced"}, f"{actions}")
    check([scene.read(name) for name in ("keep", "src/a", "src/mine")] == [b"changed"] * 3, "what is durable was touched")
    check([scene.read(name) for name in ("src/tmp/in", "scratch/s", "pid")] == [b"i", b"seed", b"0"], "what is ephemeral is not new")
    check(sorted(os.listdir(os.path.join(scene.workspace, "scratch"))) == ["s"], "litter is left")
    check(sorted(os.listdir(os.path.join(scene.workspace, "src/tmp"))) == ["in"], "litter is left")


@case("directories that their owner may not change are filled, replaced and left as they were")
def closed(box):
    scene = Scene(box)
    scene.source("lib/sub/f", b"f")
    entries = {"closed": directory({"c": file("c")}, mode="0500"), "scratch": directory({"s": file("s")}, mode="0555", ephemeral=True), "lib": local_dir("lib")}
    scene.make(entries)
    for name in ("lib/sub", "lib"):
        os.chmod(os.path.join(scene.workspace, name), 0o511)
    before = tree(scene.workspace)
    for options in ((), ("--ephemeral-only",), ()):
        receipt = scene.make(entries, *options)
        check(tree(scene.workspace) == before, f"{before} -> {tree(scene.workspace)}")
        check(options or receipt["entries"][-1]["mode"] == "0511", f"{receipt['entries'][-1]}")
    os.mkfifo(os.path.join(scene.workspace, "zz"))
    scene.refuse({**entries, "zz": file("")}, "invalid_manifest_path", reason="special_file")
    for name in ("lib", "lib/sub", "closed", "scratch"):
        os.chmod(os.path.join(scene.workspace, name), 0o755)


@case("a dry run says what would be, and touches nothing")
def dry(box):
    scene = Scene(box)
    scene.source("lib/new", b"new")
    entries = {"lib": local_dir("lib"), "a/b": file("text", mode="0600")}
    receipt = scene.make(entries, "--dry-run")
    check(receipt["dry_run"] and not os.path.exists(scene.workspace), "something was made")
    check([row["action"] for row in receipt["entries"]] == ["created", "created"], f"{receipt['entries']}")
    check(receipt["entries"][1]["sha256"] == sha256(b"text") and receipt["entries"][0]["tree_sha256"] is None, f"{receipt['entries']}")
    box.make("made/lib")
    before = tree(scene.workspace)
    receipt = scene.make(entries, "--dry-run")
    check(receipt["entries"][0]["action"] == "merged" and tree(scene.workspace) == before, f"{receipt}")
    scene.refuse({"x": local_file("absent")}, "local_file_read_error", "--dry-run")
    scene.refuse({"lib": file("")}, "invalid_manifest_path", "--dry-run", reason="is_a_directory")


@case("for people: a line for each entry")
def lines(box):
    scene = Scene(box)
    path = scene.manifest({"a": file("123"), "odd\nname": file(""), "d": directory()})
    code, out, err, _seconds = box.pinfold("materialize", path, scene.workspace)
    check((code, err) == (0, b""), f"exit {code} {err!r}")
    rows = [line.split(maxsplit=3) for line in out.decode().splitlines()]
    check(rows == [["created", "0644", "3", "a"], ["created", "0644", "0", "odd\\nname"], ["created", "0755", "0", "d"]], f"{out!r}")
    code, out, err, _seconds = box.pinfold("materialize", "-q", path, scene.workspace)
    check((code, out, err) == (0, b"", b""), f"exit {code} {out!r} {err!r}")


@case("a manifest from standard input takes the current directory as its base")
def from_stdin(box):
    scene = Scene(box)
    scene.source("here", b"data")
    with open(scene.manifest({"x": local_file("here")}), "rb") as stdin:
        code, _out, err, _seconds = box.pinfold("materialize", "-", scene.workspace, cwd=scene.base, stdin=stdin)
    check(code == 0 and scene.read("x") == b"data", f"exit {code} {err!r}")


@case("values of the environment are in no receipt and no message")
def secrets(box):
    scene = Scene(box)
    scene.source("token", b"hunter2")
    environment = {"CI": "hunter2", "A": {"from": "file:token"}, "B": {"from": "env:SECRET"}, "C": {"from": "fd:0"}}
    with open(os.path.join(scene.base, "token"), "rb") as stdin:
        scene.manifest({"a": file("")}, environment=environment)
        code, document, err = scene.call(env={**box.env, "SECRET": "hunter2"}, stdin=stdin)
        check(stdin.read() == b"hunter2", "the descriptor was read")
    check(code == 0 and "hunter2" not in json.dumps(document) + err, f"{document} {err}")
    check(document["environment"] == [{"name": "CI", "from": None}, {"name": "A", "from": "file"}, {"name": "B", "from": "env"},
                                      {"name": "C", "from": "fd"}], f"{document['environment']}")
    check(b"hunter2" not in subprocess.run(["grep", "-r", "hunter2", scene.workspace], capture_output=True, check=False).stdout, "in the workspace")
    document = scene.refuse({"a": file("")}, "sandbox_config_invalid", environment={**environment, "D": {"from": "hunter2"}})
    check("hunter2" not in json.dumps(document), f"{document}")
