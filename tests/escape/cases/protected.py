"""Protected and denied paths, attacked from inside and moved from outside."""

import os
import tempfile
import time

from blackbox.box import PYTHON, held
from blackbox.suite import case, check

MOVE = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
here = os.getcwd()
os.makedirs("mine/deep", exist_ok=True)
def exchange(a, b):
    return libc.renameat2(-100, a.encode(), -100, b.encode(), 2) == 0
done = []
for path in ("a", "a/b", "a/b/secret", "a/b/kept", "a/b/kept/file"):
    for act in (
        lambda: os.rename(path, "mine/x"),
        lambda: os.rename(path, path + ".old"),
        lambda: os.link(path, "mine/link"),
        lambda: os.rmdir(path),
        lambda: os.unlink(path),
        lambda: os.rename("mine/deep", path),
        lambda: open(path, "a").close(),
        lambda: os.truncate(path, 0),
        lambda: os.chmod(path if path.count("/") > 1 else "", 0o777),  # those above them are the command's own
        lambda: exchange("mine/deep", path) or os.stat(""),
    ):
        try:
            act()
            done.append((path, act.__code__.co_firstlineno))
        except OSError:
            pass
for path in ("a/b/secret", f"/proc/self/cwd/a/b/secret", f"/proc/self/root{here}/a/b/secret", f"/proc/1/cwd/a/b/secret",
             f"/proc/thread-self/root{here}/a/b/secret", "mine/link", "a/b/../b/secret"):
    try:
        if "SENTINEL" in open(path).read():
            print("ESCAPED:", path)
    except OSError:
        pass
place = os.open("a/b/secret", os.O_PATH)
for flags in (os.O_RDONLY, os.O_RDWR):
    try:
        os.open(f"/proc/self/fd/{place}", flags)
        print("ESCAPED: opened anew by its descriptor")
    except OSError:
        pass
place = os.open("a/b/kept", os.O_PATH)
for name in (f"/proc/self/fd/{place}/new", f"{here}/a/b/kept/new", f"/proc/self/root{here}/a/b/kept/new", "a/b/kept/new"):
    try:
        open(name, "w").close()
        print("ESCAPED: made", name)
    except OSError:
        pass
print("held: moved", done)
"""


@case("denied and protected paths cannot be moved, replaced or reached by another way from inside")
def from_inside(box):
    box.file("a/b/secret", "SENTINEL")
    box.file("a/b/kept/file", "before")
    policy = box.policy_file(
        {"version": 1, "extends": ":workspace-write", "filesystem": {"deny": ["a/b/secret"], "protect": ["a/b/kept"]}}
    )
    result = held(box.python(MOVE, policy=policy))
    check("held: moved []" in result.out, f"something could be done: {result.out}")
    check(open(box.inside("a/b/secret"), encoding="utf-8").read() == "SENTINEL", "the secret was changed")
    check(os.listdir(box.inside("a/b/kept")) == ["file"], "the protected directory was changed")
    check(not result.violations(), result.brief())


PLANT = r"""
import os, socket, sys
how = sys.argv[2]
open("source", "w").write("evil")
os.makedirs("tree/sub", exist_ok=True)
open("tree/sub/file", "w").write("evil")
acts = {
    "file": lambda name: open(name, "w").write("evil"),
    "directory": lambda name: os.mkdir(name),
    "tree": lambda name: os.rename("tree", name),
    "symlink": lambda name: os.symlink("source", name),
    "dangling": lambda name: os.symlink("/nowhere", name),
    "hardlink": lambda name: os.link("source", name),
    "fifo": lambda name: os.mkfifo(name),
    "socket": lambda name: socket.socket(socket.AF_UNIX).bind(name),
    "without-rights": lambda name: os.mkdir(name, 0),
    "ancestor-link": lambda name: os.symlink("tree", os.path.dirname(name)),
    "ancestor-file": lambda name: open(os.path.dirname(name), "w").write("evil"),
}
for name in sys.argv[3:]:
    if not how.startswith("ancestor"):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    acts[how](name)
print("held: planted")
"""


@case("an absent protected or denied name is removed whatever is planted there")
def plant_everything(box):
    policy = box.policy_file(
        {"version": 1, "extends": ":workspace-write", "filesystem": {"protect": ["p/q"], "deny": ["d/e"]}}
    )
    for how in ("file", "directory", "tree", "symlink", "dangling", "hardlink", "fifo", "socket", "without-rights"):
        names = [".mcp.json"] if how == "tree" else [".mcp.json", "p/q", "d/e"]
        result = held(box.run(PYTHON, "-c", PLANT, box.mark, how, *names, policy=policy))
        left = [name for name in names if os.path.lexists(box.inside(name))]
        check(not left, f"{how}: still there: {left}")
        told = {v["path"] for v in result.violations("planted")}
        check(set(names) <= told, f"{how}: told only {told}")
    for how in ("ancestor-link", "ancestor-file"):
        for name in ("p", "d"):
            os.rmdir(box.inside(name))
        result = held(box.run(PYTHON, "-c", PLANT, box.mark, how, "p/q", "d/e", policy=policy))
        left = [name for name in ("p", "d") if os.path.lexists(box.inside(name))]
        check(not left and len(result.violations("planted")) == 2, f"{how}: left {left}; {result.brief()}")
        for name in ("p", "d"):
            os.mkdir(box.inside(name))


WATCH = r"""
import sys, time
open("started", "w").close()
end = time.time() + 4
while time.time() < end:
    try:
        text = open("a/b/secret").read()
    except OSError:
        text = ""
    if "NEW" in text:
        time.sleep(0.5)
        try:
            if "NEW" in open("a/b/secret").read():
                print("ESCAPED: readable half a second later")
        except OSError:
            pass
        break
    time.sleep(0.001)
print("held")
"""


@case("a directory above a denied file that the host moves away and makes anew hides the new file, again and again")
def ancestor_of_a_mask_moved(box):
    box.file("a/b/secret", "OLD")
    live = box.start("/bin/sh", "-c", "true >started; sleep 3; cat a/b/secret z*/b/secret; true", box.mark,
                     options=["--deny", "a/b/secret"])  # fmt: skip
    box.wait_for("started")
    for i in range(3):
        time.sleep(0.3)
        box.file(f"new{i}/b/secret", "NEW")
        os.rename(box.inside("a"), box.inside(f"z{i}"))
        os.rename(box.inside(f"new{i}"), box.inside("a"))
    result = live.result()
    check("NEW" not in result.out and "OLD" not in result.out, result.brief())
    told = {(v["path"], v["action"]) for v in result.violations("mask_replaced")}
    check(told == {(box.inside("a/b/secret"), "masked_again")}, f"it is not reported: {result.brief()}")


@case("a directory above a denied file that the host moves away while the command reads on is masked in time")
def ancestor_moved_while_reading(box):
    box.file("a/b/secret", "OLD")
    live = box.start(PYTHON, "-c", WATCH, box.mark, options=["--deny", "a/b/secret"])
    box.wait_for("started")
    time.sleep(0.2)
    box.file("new/b/secret", "NEW")
    os.rename(box.inside("a"), box.inside("z"))
    os.rename(box.inside("new"), box.inside("a"))
    result = live.result()
    check("ESCAPED" not in result.out and "OLD" not in result.out, result.brief())
    check(result.violations("mask_replaced"), f"it is not reported: {result.brief()}")


@case("a repository that the host moves away and clones anew ends the run, for its hooks are not protected")
def ancestor_of_a_protection_moved(box):
    box.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    script = "true >started; sleep 3; echo evil >.git/hooks/post-commit; echo GOT THROUGH"
    live = box.start("/bin/sh", "-c", script, box.mark)
    box.wait_for("started")
    time.sleep(0.3)
    box.file("new/hooks/pre-commit", "#!/bin/sh\n")
    os.rename(box.inside(".git"), box.inside("old"))
    os.rename(box.inside("new"), box.inside(".git"))
    result = live.result()
    check("GOT THROUGH" not in result.out and result.status == "signaled", result.brief())
    check(result.doc["error"]["code"] == "unenforceable", result.brief())
    check(os.listdir(box.inside(".git/hooks")) == ["pre-commit"], "a hook was planted")


@case("a workspace may be moved while a run is in it")
def workspace_moved(box):
    box.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    live = box.start("/bin/sh", "-c", "true >started; sleep 1; echo evil >.git/hooks/x; echo held", box.mark)
    box.wait_for("started")
    moved = box.workspace + ".moved"
    os.rename(box.workspace, moved)
    result = live.result()
    check(result.code == 0 and "held" in result.out, result.brief())
    check(os.listdir(f"{moved}/.git/hooks") == ["pre-commit"], "a hook was planted")


@case("a denied name outside of the workspace that the host makes later is hidden, too")
def made_later(box):
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="pinfold-tests-") as outside:
        os.chmod(outside, 0o755)
        secret = os.path.join(outside, "deep/er/secret")
        script = f"true >started; sleep 2; cat {secret}; cat {outside}/deep/er/other; true"
        live = box.start("/bin/sh", "-c", script, box.mark, options=["--deny", secret])
        box.wait_for("started")
        time.sleep(0.2)
        box.file(os.path.join(outside, "deep/er/other"), "ORDINARY")
        box.file(secret, "NEW")
        result = live.result()
    check(result.ran and "NEW" not in result.out and "ORDINARY" in result.out, result.brief())
    told = [(v["path"], v["action"]) for v in result.violations("denied_appeared")]
    check(told == [(secret, "masked")], f"it is not reported: {result.brief()}")


@case("a denied name that the host makes in a private directory does not end the run, and is hidden when that opens")
def made_privately(box):
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="pinfold-tests-") as outside:
        os.chmod(outside, 0o755)
        secret = os.path.join(outside, "private/secret")
        script = f"true >started; sleep 2; cat {secret}; echo went on"
        live = box.start("/bin/sh", "-c", script, box.mark, options=["--deny", secret])
        box.wait_for("started")
        os.mkdir(os.path.dirname(secret), 0o700)
        box.file(secret, "NEW")
        time.sleep(0.3)
        os.chmod(os.path.dirname(secret), 0o755)
        result = live.result()
    check(result.code == 0 and "NEW" not in result.out and "went on" in result.out, result.brief())
    check(result.violations("denied_appeared"), f"it is not reported: {result.brief()}")


@case("that a denied or protected file has other names is told")
def other_names(box):
    for name in ("secret", "kept"):
        os.link(box.file(name, "x"), box.inside(f"{name}-too"))
    box.file("alone", "x")
    policy = box.policy_file(
        {"version": 1, "extends": ":workspace-write", "filesystem": {"deny": ["secret", "alone"], "protect": ["kept"]}}
    )
    told = [w for w in box.sh("true", policy=policy).doc["enforcement"]["warnings"] if "hard links" in w]
    check(len(told) == 2 and box.inside("kept") in told[0] + told[1] and "not hidden" in told[0] + told[1], f"{told}")


@case("a mount of the host's in the workspace hides and protects as the rest does", only="root")
def mount_in_the_workspace(box):
    box.make("workspace/m")
    script = (
        f"mount -t tmpfs none {box.inside('m')} && cd {box.inside('m')} && mkdir -p a/b kept && echo SENTINEL >a/secret && "
        f"echo before >kept/file && cd .. && exec {box.suite.pinfold} run --json -p $0 -w {box.workspace} -- /bin/sh -c "
        "'cat m/a/secret; mv m/a m/x; echo after >m/kept/file; mv m/kept m/y; echo x >m/planted; rm -f m/new; echo x >m/new; "
        "cat m/kept/file; umount m; echo held: tried' " + box.mark
    )
    policy = box.policy_file(
        {
            "version": 1,
            "extends": ":workspace-write",
            "process": {"identity": "caller"},
            "filesystem": {"deny": ["m/a/secret", "m/planted"], "protect": ["m/kept"]},
        }
    )
    live = box.begin(["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script, policy])
    result = held(live.result())
    check("SENTINEL" not in result.out and "before" in result.out, result.brief())
    check([v["path"] for v in result.violations()] == ["m/planted"], result.brief())


@case("two thousand denied files are all hidden")
def many_masks(box):
    for i in range(2000):
        box.file(f"d{i % 40}/s{i}/.env", "SENTINEL")
    result = held(box.sh("cat d*/s*/.env; echo held: read all", options=["--deny", "**/.env"]))
    check("SENTINEL" not in result.out, "one of them could be read")
    check(result.seconds < 20, f"it took {result.seconds} s")
