"""What is refused, and that nothing is left of it."""

import json
import os
import signal
import socket
import time

from blackbox import host
from blackbox.suite import Skip, case, check
from manifest.scene import FAILED, USAGE, Scene, directory, file, local_dir, local_file, tree


@case("places outside of the workspace")
def outside(box):
    scene = Scene(box)
    rows = [("/etc/x", "absolute"), ("../x", "escape_root"), ("a/../../b", "escape_root"), ("", "empty"), (".", "dot_part"), ("a/", "empty_part"),
            ("C:\\x", "absolute"), ("a\\b", "windows_path"), ("x" * 256, "too_long"), ("/".join(["d" * 200] * 25), "too_long")]
    for path, reason in rows:
        for entries in ({"good": file("g"), path: file("")}, {"good": file("g"), "d": directory({path: file("")})}):
            error = scene.refuse(entries, "invalid_manifest_path", reason=reason, names=["manifest.json:1:"])
            check(error["context"]["path"] == path or len(path) > 190, f"{error}")


@case("places that clash")
def clashes(box):
    scene = Scene(box)
    for entries in ({"a": file(""), "a/b": file("")}, {"a/b": file(""), "a": file("")}, {"a": directory({"b": file("")}), "a/b": directory()}):
        scene.refuse(entries, "invalid_manifest_path", reason="overlap", names=["a"])
    scene.make({"a": file("1"), "A": file("2"), "a-b/c": file("3")})  # two names, here


@case("texts that are no manifest, with line and column")
def texts(box):
    scene = Scene(box)
    rows = {b"": "1:1", b"\0": "1:1", b"{": "1:", b'{"version": 1} x': "1:16", b'{"version": 1, "version": 1}': "1:16: duplicate key", b"[" * 100000: "1:",
            b'{"version": 1e400}': "1:13", b'{"version": 9223372036854775808}': "1:13", b'{"version": 1, "a\xff": 1}': "1:",
            b'{"version": 1,\n  "entires": {}}': '2:3: entires: unknown key; did you mean "entries"?', b'{"version": 1, "entries": {"a\\u0000": {}}}': "1:"}
    for text, place in rows.items():
        scene.refuse(None, "sandbox_config_invalid", text=text, names=[f"manifest.json:{place}"])
    scene.manifest(text=b'\xef\xbb\xbf{"version": 1, /* so */ "entries": {"a": {"type": "dir",},},}')
    code, document, _err = scene.call()
    check(code == 0, f"{document}")


@case("all mistakes are told at once")
def at_once(box):
    scene = Scene(box)
    error = scene.refuse({"a": {"type": "fiel"}, "b": {"type": "file"}, "/c": file("")}, "sandbox_config_invalid", names=["(and 2 more)"])
    check(len(error["details"]) == 3, f"{error}")


@case("types that are known and not supported, and others")
def types(box):
    scene = Scene(box)
    for name in ("mount", "s3_mount", "gcs_mount", "r2_mount", "azure_blob_mount"):
        scene.refuse({"m": {"type": name}}, "sandbox_config_invalid", names=[f'"{name}"', "not supported"])
    scene.refuse({"m": {"type": "tarball"}}, "sandbox_config_invalid", names=["file, dir, local_file, local_dir, git_repo, archive"])
    for mode in ("644", 420, 644, 33188, "4755", -1, 1e3):
        scene.refuse({"f": file("", mode=mode)}, "sandbox_config_invalid", names=['"0644"'])


@case("a manifest grants itself nothing")
def grants(box):
    scene = Scene(box)
    for more in ({"extra_path_grants": ["/etc"]}, {"extra_path_grants": [{"path": "/etc", "read_only": True}]}, {"extra_path_grants": {}},
                 {"users": ["me"]}, {"groups": [{"name": "g"}]}):
        scene.refuse({"a": file("")}, "sandbox_config_invalid", names=list(more), **more)
    scene.make({"a": file("")}, extra_path_grants=[], users=[], groups=[])


@case("links and special files in a workspace that is there")
def existing(box):
    scene = Scene(box)
    target = box.make("outside")
    box.make("made/real")
    os.symlink(target, os.path.join(scene.workspace, "away"))
    os.symlink("real", os.path.join(scene.workspace, "inside"))
    os.symlink(os.path.join(target, "file"), os.path.join(scene.workspace, "leaf"))
    os.mkfifo(os.path.join(scene.workspace, "fifo"))
    scene.source("lib/x", b"x")
    for place in ("away/x", "inside/x", "leaf", "away"):
        for entry in (file("x"), local_dir("lib"), file("x", ephemeral=True)):
            scene.refuse({"first": file("1"), place: entry}, "invalid_manifest_path", reason="symlink_not_supported", names=[place.split("/")[0]])
    for entry in (file("x"), local_dir("lib"), directory({"x": file("")})):
        scene.refuse({"first": file("1"), "fifo": entry}, "invalid_manifest_path", names=["fifo"])
    scene.refuse({"real": file("")}, "invalid_manifest_path", reason="is_a_directory")
    scene.make({"note": file("")})
    scene.refuse({"note": directory()}, "invalid_manifest_path", reason="not_a_directory")
    scene.refuse({"note/x": file("")}, "invalid_manifest_path", reason="not_a_directory")
    check(os.listdir(target) == [], "something went through a link")
    # Below a directory that is merged, too.
    os.symlink(target, os.path.join(scene.workspace, "real", "x"))
    scene.refuse({"new": file("1"), "real": local_dir("lib")}, "invalid_manifest_path", reason="symlink_not_supported", names=["real/x"])


@case("what was put before a failure is taken back")
def taken_back(box):
    scene = Scene(box)
    for name in ("lib/sub/new", "lib/sub/old", "lib/other", "seed/s"):
        scene.source(name, b"new")
    box.make("made/lib/sub")
    box.make("made/scratch/deep")
    for name in ("lib/sub/old", "note", "lib/mine", "scratch/deep/mine"):
        with open(os.path.join(scene.workspace, name), "w", encoding="ascii") as out:
            out.write("old")
    os.chmod(os.path.join(scene.workspace, "lib"), 0o711)
    os.mkfifo(os.path.join(scene.workspace, "zz"))
    entries = {"lib": local_dir("lib", mode="0700"), "note": file("n"), "new/and/deep": file("d"), "scratch": local_dir("seed", ephemeral=True),
               "scratch/more": file("m"), "zz": file("")}
    scene.refuse(entries, "invalid_manifest_path", reason="special_file", names=["zz"])
    check(scene.read("scratch/deep/mine") == b"old", "lost")
    os.unlink(os.path.join(scene.workspace, "zz"))
    scene.make(entries)


@case("a workspace that cannot be")
def roots(box):
    scene = Scene(box)
    path = scene.manifest({"a": file("")})
    box.file("plain")
    for root in (os.path.join(box.dir, "no", "such"), box.inside("plain"), box.inside("plain/x")):
        code, out, _err, _seconds = box.pinfold("materialize", "--json", path, root)
        check((code, json.loads(out)["code"]) == (FAILED, "workspace_root_not_found"), f"{root}: exit {code} {out!r}")
    code, out, _err, _seconds = box.pinfold("materialize", "--json", path + "x", scene.workspace)
    check((code, json.loads(out)["code"]) == (FAILED, "not_found") and not os.path.exists(scene.workspace), f"exit {code} {out!r}")
    # The caller's own link is followed.
    os.symlink(box.make("elsewhere"), os.path.join(box.dir, "alias"))
    code, out, _err, _seconds = box.pinfold("materialize", path, os.path.join(box.dir, "alias"))
    check(code == 0 and os.listdir(os.path.join(box.dir, "elsewhere")) == ["a"], f"exit {code} {out!r}")


@case("unusable words")
def words(box):
    scene = Scene(box)
    path = scene.manifest({"a": file("")})
    for line in (["--jobs", "0"], ["--jobs", "-1"], ["--jobs", "x"], ["--grant", ""], ["--grant", "relative"], ["--grant", "/"], ["--grant", "//"],
                 ["--grant", "/tmp/.."], ["--grant", "/:ro"], ["--base", ""], ["--base", "/"], ["--schema"], ["--memory", "1G"]):
        code, _out, err, _seconds = box.pinfold("materialize", *line, path, scene.workspace)
        check(code == USAGE and not os.path.exists(scene.workspace), f"{line}: exit {code} {err!r}")
    for line in ([], [path], [path, "a", "b"]):
        code, _out, err, _seconds = box.pinfold("materialize", *line)
        check(code == USAGE, f"{line}: exit {code} {err!r}")


def many_sources(scene, n):
    for i in range(n):
        scene.source(f"many/{i % 100}/{i}", b"x" * 2000)


@case("a signal ends it early, and takes back what was done")
def signals(box):
    scene = Scene(box)
    many_sources(scene, 3000)
    big = scene.source("big")
    os.truncate(big, 0)
    with open(big, "wb") as out:
        for _ in range(64):
            out.write(os.urandom(1 << 20))
    box.make("made/lib")
    with open(os.path.join(scene.workspace, "note"), "w", encoding="ascii") as out:
        out.write("old")
    before = tree(scene.workspace)
    path = scene.manifest({"note": file("new"), **{f"lib{n}": local_dir("many") for n in range(4)}, **{f"b{n}": local_file("big") for n in range(4)}})
    ended = 0
    for signo, delay in [(signal.SIGINT, 0.0), (signal.SIGTERM, 0.02), (signal.SIGHUP, 0.05), (signal.SIGINT, 0.1), (signal.SIGTERM, 0.2)]:
        live = box.begin([box.suite.pinfold, "materialize", "--json", path, scene.workspace])
        host.wait_until(lambda: any(name.startswith(".pinfold-") for name in os.listdir(scene.workspace)), 10)
        time.sleep(delay * host.SLOWNESS)
        live.process.send_signal(signo)
        code, out, err, _seconds = live.wait(30)
        check(code == 128 + signo, f"{signo} after {delay} s: exit {code} {out!r} {err!r}")
        check(json.loads(out)["code"] == "cancelled", f"{out!r}")
        check(tree(scene.workspace) == before, f"changed: {tree(scene.workspace)}")
        ended += 1
    check(ended == 5, "not all were tried")


def told_on_terminal(box, *words):
    """What goes to a stderr that is a terminal, and how long it took."""
    outer, inner = os.openpty()
    live = box.begin([box.suite.pinfold, "materialize", *words], stderr=inner)
    os.close(inner)
    told = b""
    try:
        while piece := os.read(outer, 4096):
            told += piece
    except OSError:  # the last writer is gone
        pass
    os.close(outer)
    code, _out, _err, seconds = live.wait(60)
    check(code == 0, f"exit {code}: {told!r}")
    return told, seconds * host.SLOWNESS


@case("long work is told on a terminal, on one line that goes away")
def progress(box):
    scene = Scene(box)
    many_sources(scene, 3000)
    path, n = scene.manifest({f"lib{n}": local_dir("many") for n in range(8)}), 0
    while n < 4:
        told, seconds = told_on_terminal(box, path, f"{scene.workspace}{n}")
        check(told == b"" or (b" files, " in told and b" MiB" in told and b"\n" not in told and told.endswith(b"\r\x1b[K")), f"{told[-300:]!r}")
        check(told or seconds < 1.5, f"nothing was told for {seconds} s")
        n += 1
        if told:
            break
    if not told:
        raise Skip("this machine is too fast for anything to be told")
    told, _seconds = told_on_terminal(box, "-q", path, f"{scene.workspace}{n}")
    check(told == b"", f"{told!r}")


@case("one entry that fails ends the others")
def siblings(box):
    scene = Scene(box)
    many_sources(scene, 500)
    os.mkfifo(os.path.join(scene.base, "fifo"))
    for jobs in ("1", "4", "none"):
        entries = {**{f"lib{n}": local_dir("many") for n in range(6)}, "bad": local_file("fifo"), **{f"more{n}": local_dir("many") for n in range(6)}}
        scene.refuse(entries, "local_file_read_error", "--jobs", jobs, reason="special_file", names=["entries.bad", "fifo"])


@case("a full disk, as far as a limit on files can play one")
def full(box):
    scene = Scene(box)
    scene.source("big", b"x" * 200000)
    path = scene.manifest({"small": file("s"), "big": local_file("big")})
    words_ = [box.suite.pinfold, "materialize", "--json", path, scene.workspace]
    code, out, err, _seconds = box.begin(["/usr/bin/prlimit", "--fsize=100000", *words_]).wait()
    check(code == FAILED and json.loads(out)["code"] == "io", f"exit {code} {out!r} {err!r}")
    check("entries.big" in json.loads(out)["message"] and not os.path.exists(scene.workspace), f"{out!r}")


@case("more files or bytes than the caller lets it make")
def limits(box):
    scene = Scene(box)
    many_sources(scene, 30)
    for option, name in (("--max-files=60", "files"), ("--max-bytes=59999", "bytes")):
        error = scene.refuse({"a": local_dir("many")}, "limit", *option.split("="), names=["entries.a", name])
        check(error["context"]["limit"] == option.split("=")[1], f"{error}")
        scene.refuse({"b": file("x" * 60000 if name == "bytes" else ""), **{f"d{n}": file("") for n in range(60)}}, "limit", *option.split("="))
    scene.make({"a": local_dir("many")}, "--max-files", "61", "--max-bytes", "60000")
    scene.make({"a": local_dir("many")}, "--max-files", "none", "--max-bytes", "none")
    for line in (["--max-files", "0"], ["--max-bytes", "0"], ["--max-bytes", "-1"]):
        code, _document, err = scene.call(*line)
        check(code == USAGE, f"{line}: exit {code} {err}")


@case("a socket, a device and a file of /proc are no sources")
def specials(box):
    scene = Scene(box)
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.join(scene.base, "sock"))
    os.makedirs(os.path.join(scene.base, "d/sub"))
    os.mkfifo(os.path.join(scene.base, "d/sub/pipe"))
    if os.geteuid() == 0:
        os.mknod(os.path.join(scene.base, "zero"), 0o020666, os.makedev(1, 5))
        scene.refuse({"x": local_file("zero")}, "local_file_read_error", reason="special_file", names=["zero"])
    scene.refuse({"x": local_file("sock")}, "local_file_read_error", reason="special_file", names=["sock"])
    scene.refuse({"x": local_dir("d")}, "local_dir_read_error", reason="special_file", names=["sub/pipe"])
    scene.refuse({"x": local_dir(".")}, "local_dir_read_error", reason="special_file")
    scene.refuse({"x": local_file("/proc/version")}, "local_file_read_error", "--grant", "/proc:ro", names=["version"])
    server.close()
