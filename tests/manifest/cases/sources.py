"""Where a manifest may take from, and what sources may do while they are read."""

import ctypes
import json
import os
import shutil
import threading
import time

from blackbox.suite import case, check
from manifest.scene import FAILED, OK, REFUSED, Scene, local_dir, local_file, tree

SECRET = b"outside content"
EXCHANGES = 1000


def outside_file(box, name="outside/secret"):
    path = os.path.join(box.dir, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(SECRET)
    return path


def holds_secret(root):
    for directory, _names, files in os.walk(root):
        for name in files:
            with open(os.path.join(directory, name), "rb") as file:
                if SECRET in file.read():
                    return True
    return False


@case("symlinks anywhere in a source are refused by name, before anything is read")
def links(box):
    scene = Scene(box)
    secret = outside_file(box)
    scene.source("real/f", b"f")
    scene.source("tree/ok", b"ok")
    os.makedirs(os.path.join(scene.base, "tree2/sub"))
    os.symlink(secret, os.path.join(scene.base, "link"))
    os.symlink("real", os.path.join(scene.base, "dirlink"))
    os.symlink(secret, os.path.join(scene.base, "tree", "inner"))
    os.symlink("/etc", os.path.join(scene.base, "tree2/sub/etc"))
    os.symlink("nothing", os.path.join(scene.base, "dangling"))
    rows = [(local_file("link"), "local_file_read_error", "link"), (local_file("dirlink/f"), "local_file_read_error", "dirlink"),
            (local_file("dangling"), "local_file_read_error", "dangling"), (local_dir("dirlink"), "local_dir_read_error", "dirlink"),
            (local_dir("tree"), "local_dir_read_error", "inner"), (local_dir("tree2"), "local_dir_read_error", "sub/etc"),
            (local_dir("."), "local_dir_read_error", "d")]
    for entry, code, name in rows:
        scene.refuse({"x": entry}, code, reason="symlink_not_supported", names=["entries.x", name])
    scene.make({"x": local_dir("tree", exclude=["inner"])})


@case("sources outside of the base directory")
def outside(box):
    scene = Scene(box)
    secret = outside_file(box)
    outside_file(box, "base-evil/x")
    scene.source("sub/in", b"in")
    rows = ["/etc/passwd", "../outside/secret", "../../x", "sub/../../outside/secret", scene.base + "-evil/x", "../base-evil/x", secret, "/"]
    for src in rows:
        error = scene.refuse({"x": local_file(src)}, "local_file_read_error", reason="outside_base_dir", names=["entries.x"])
        check(error["context"]["base_dir"].rstrip("/") == scene.base and "grants" not in error["context"], f"{error}")
    scene.refuse({"x": local_dir("../outside")}, "local_dir_read_error", reason="outside_base_dir")
    for src in ("sub/in", f"{scene.base}/sub/in", "sub/../sub/in", f"{scene.base}/../base/sub/in", f"//{scene.base}//sub/./in"):
        scene.make({"x": local_file(src)})
        check(scene.read("x") == b"in", src)
    scene.make({"x": local_file("in")}, "--base", os.path.join(scene.base, "sub"))


@case("what the caller granted, by flags and by policies")
def grants(box):
    scene = Scene(box)
    secret = outside_file(box)
    outside = os.path.dirname(secret)
    for option in (outside, outside + ":ro", secret, outside + "/"):
        for src in (secret, "../outside/secret"):
            scene.make({"x": local_file(src)}, "--grant", option)
            check(scene.read("x") == SECRET, f"{option} {src}")
    error = scene.refuse({"x": local_file("/etc/passwd")}, "local_file_read_error", "--grant", outside, reason="outside_base_dir")
    check(error["context"]["grants"] == outside, f"{error}")
    scene.refuse({"x": local_file(secret + "x")}, "local_file_read_error", "--grant", secret)
    # The caller's own link is followed when it is granted, and what lies below it is not.
    os.symlink(outside, os.path.join(box.dir, "alias"))
    scene.make({"x": local_file(os.path.join(box.dir, "alias/secret"))}, "--grant", os.path.join(box.dir, "alias"))
    scene.make({"x": local_file(secret)}, "--grant", os.path.join(box.dir, "alias"))
    scene.refuse({"x": local_file(os.path.join(box.dir, "alias/secret"))}, "local_file_read_error", "--grant", outside)
    for field in ("read", "write"):
        policy = box.policy_file({"filesystem": {field: [outside]}})
        scene.make({"x": local_file(secret)}, "-p", policy)
        scene.refuse({"x": local_file("/etc/passwd")}, "local_file_read_error", "-p", policy, reason="outside_base_dir")
    scene.refuse({"x": local_file("/etc/passwd")}, "local_file_read_error", "-p", box.policy_file({"filesystem": {"read": ["/"]}}),
                 reason="outside_base_dir")


@case("what the policy denies is not taken, nor a directory that holds it")
def denied(box):
    scene = Scene(box)
    outside = os.path.dirname(outside_file(box))
    outside_file(box, "outside/private/key")
    outside_file(box, "outside/public/page")
    os.makedirs(os.path.join(box.home, ".ssh"))
    outside_file(box, "home/.ssh/id")
    policy = box.policy_file({"filesystem": {"read": [outside, box.home], "deny": [outside + "/private"]}})
    scene.make({"a": local_file(outside + "/secret"), "b": local_dir(outside + "/public")}, "-p", policy)
    for entry, code in ((local_file(outside + "/private/key"), "local_file_read_error"), (local_dir(outside + "/private"), "local_dir_read_error"),
                        (local_dir(outside), "local_dir_read_error"), (local_file(box.home + "/.ssh/id"), "local_file_read_error"),
                        (local_dir(box.home), "local_dir_read_error"), ({"type": "git_repo", "repo": outside}, "git_clone_error")):
        scene.refuse({"x": entry}, code, "-p", policy, reason="denied")
    scene.make({"x": local_file(outside + "/private/key")}, "-p", policy, "--grant", outside + "/private:ro")


@case("the root of the host is never granted, whatever it is called")
def root(box):
    scene = Scene(box)
    scene.manifest({"x": local_file("/etc/hostname")})
    os.symlink("/", os.path.join(box.dir, "slash"))
    for option in ("/", "//", "/:ro", "/usr/..", os.path.join(box.dir, "slash"), "/proc/self/root"):
        code, document, _err = scene.call("--grant", option)
        check(code == 2 and document["code"] == "usage" and not os.path.exists(scene.workspace), f"{option}: {document}")


@case("a source that cannot be read stops everything, and is named", only="user")
def unreadable(box):
    scene = Scene(box)
    scene.source("d/fine", b"")
    scene.source("d/closed", b"", 0)
    scene.refuse({"a": local_dir("d")}, "local_dir_read_error", names=["closed", "Permission denied"])
    scene.refuse({"a": local_file("d/closed")}, "local_file_read_error", names=["closed", "Permission denied"])


@case("a file that grows is copied as long as it was; one that is nearly all hole stays so")
def growing(box):
    scene = Scene(box)
    path, over = scene.source("log", b"x" * 1000000), threading.Event()

    def grow():
        with open(path, "ab", buffering=0) as file:
            while not over.is_set():
                file.write(b"y" * 65536)
                time.sleep(0.0005)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        scene.make({"x": local_file("log")})
    finally:
        over.set()
        thread.join()
    check(1000000 <= os.path.getsize(os.path.join(scene.workspace, "x")) < 200000000, "it went on growing")
    hole = scene.source("hole", b"")
    os.truncate(hole, 1 << 40)
    scene.refuse({"h": local_file("hole")}, "limit", names=["entries.h", "17179869184 bytes"])
    scene.refuse({"h": local_dir(".", exclude=["log", "manifest.json"])}, "limit", names=["hole"])
    os.truncate(hole, 1 << 28)
    receipt = scene.make({"h": local_file("hole")})
    status = os.stat(os.path.join(scene.workspace, "h"))
    check(status.st_size == 1 << 28 and status.st_blocks * 512 < 1 << 20 and receipt["bytes"] == 1 << 28, f"{status}")


def exchange(left, right):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, left.encode(), -100, right.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


class Swapper:
    """Exchanges two names, over and over, while something else runs."""

    def __init__(self, left, right):
        self.left, self.right, self.over, self.n = left, right, threading.Event(), 0
        self.thread = threading.Thread(target=self.swap)

    def swap(self):
        while not self.over.is_set():
            exchange(self.left, self.right)
            self.n += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_unused):
        self.over.set()
        self.thread.join()


def rounds(swapper, least=10):
    """For as long as it takes to have been exchanged often, on a slow machine too."""
    begin, n = time.monotonic(), 0
    while n < least or swapper.n < EXCHANGES or time.monotonic() < begin + 4:
        check(time.monotonic() < begin + 120, f"only {swapper.n} exchanges and {n} rounds")
        yield n
        n += 1


def race(box, scene, entries, left, right, codes):
    """Materializes while two names are exchanged; what comes out is the good content or a refusal, and never the other."""
    scene.manifest(entries)
    seen = {OK: 0, REFUSED: 0}
    with Swapper(left, right) as swapper:
        for _round in rounds(swapper):
            code, document, _err = scene.call()
            check(code in seen, f"exit {code}: {document}")
            check(code == OK or document["code"] in codes, f"{document}")
            check(not holds_secret(scene.workspace), f"outside content in the workspace after {seen}")
            check(code == OK or not os.path.exists(scene.workspace), f"left: {tree(scene.workspace)}")
            seen[code] += 1
            if code == OK:
                shutil.rmtree(scene.workspace)
    return seen


@case("a file and a symlink that change places while it is copied")
def swapped_file(box):
    scene = Scene(box)
    secret = outside_file(box)
    good = scene.source("dir/f", b"good")
    os.symlink(secret, os.path.join(scene.base, "spare"))
    race(box, scene, {"x": local_file("dir/f"), "d": local_dir("dir")}, good, os.path.join(scene.base, "spare"),
         ("local_file_read_error", "local_dir_read_error"))


@case("a parent directory and a symlink that change places")
def swapped_parent(box):
    scene = Scene(box)
    outside_file(box, "outside/sub/f")
    scene.source("dir/sub/f", b"good")
    os.symlink(os.path.join(box.dir, "outside"), os.path.join(scene.base, "spare"))
    race(box, scene, {"x": local_file("dir/sub/f"), "d": local_dir("dir/sub"), "r": local_dir("dir")}, os.path.join(scene.base, "dir"), os.path.join(scene.base, "spare"),
         ("local_file_read_error", "local_dir_read_error"))


@case("a directory of the workspace and a symlink that change places")
def swapped_destination(box):
    scene = Scene(box)
    target, seen = box.make("target"), set()
    box.make("made/a/b")
    os.symlink(target, os.path.join(scene.workspace, "spare"))
    scene.source("lib/f", b"x")
    scene.manifest({"a/b/c": {"type": "file", "content": "x"}, "a/lib": local_dir("lib"), "a/new/deep": {"type": "dir"}})
    with Swapper(os.path.join(scene.workspace, "a"), os.path.join(scene.workspace, "spare")) as swapper:
        for _round in rounds(swapper):
            code, document, _err = scene.call()
            seen.add(json.dumps(document.get("code")))
            check(code in (OK, REFUSED, 125), f"exit {code}: {document}")
            check(os.listdir(target) == [], f"something was made outside: {os.listdir(target)}")


@case("the workspace may lie in its own source")
def in_itself(box):
    scene = Scene(box)
    scene.workspace = os.path.join(scene.base, "made")
    scene.source("a/b", b"x")
    scene.make({"copy": local_dir(".", exclude=["manifest.json"])})
    check(sorted(tree(scene.workspace)) == ["copy", "copy/a", "copy/a/b", "copy/made"], f"{sorted(tree(scene.workspace))}")


@case("a process that may open no more files fails by itself: no source is blamed for it")
def exhausted(box):
    scene = Scene(box)
    scene.source("f", b"f")
    scene.source("d/e/g", b"g")
    manifest = scene.manifest({"f": local_file("f"), "d": local_dir("d")})
    codes = []
    for number in range(3, 20):
        words = ["sh", "-c", f'ulimit -n {number}; exec "$@"', "-", box.suite.pinfold, "materialize", "--jobs", "1", manifest,
                 scene.workspace]
        code, _out, err, _ = box.begin(words).wait(30)
        codes.append(code)
        check(code in (OK, FAILED, 127), f"{number} files: exit {code}: {err}")
        check(code == OK or not os.path.exists(scene.workspace), f"{number} files: something is left: {err}")
        shutil.rmtree(scene.workspace, ignore_errors=True)
    check(FAILED in codes and codes[-1] == OK, codes)
