"""Sandboxes inside the sandbox: where the policy lets them be made they work and undo nothing, elsewhere none can be made."""

import os
import re

from blackbox.box import Result, held
from blackbox.suite import case, check

NESTED = {"version": 1, "extends": ":workspace-write", "process": {"nested_namespaces": True}}


def nested(box, **filesystem):
    return box.policy_file({**NESTED, "filesystem": filesystem})


def works(box, *argv, out=None):
    result = box.run(*argv, policy=nested(box))
    check(result.ran and result.code == 0, f"{argv[0]}: {result.brief()}")
    check(out is None or result.out == out, result.brief())
    return result


@case("nested: bubblewrap runs inside, with a proc and a dev of its own", needs=["bwrap"])
def bubblewrap(box):
    works(box, "bwrap", "--unshare-all", "--ro-bind", "/", "/", "true")
    own = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    count = "cd /proc; echo [0-9]* | wc -w; true >/dev/null; true >/tmp/x; echo done"
    result = works(box, "bwrap", "--unshare-all", "--ro-bind", "/", "/", *own, "/bin/sh", "-c", count)
    check(result.out.endswith("done\n") and int(result.out.split()[0]) <= 4, result.brief())


@case("nested: unshare maps root, mounts, and starts a pid namespace")
def unshare(box):
    works(box, "unshare", "-Ur", "id", "-u", out="0\n")
    works(box, "unshare", "-Urm", "/bin/sh", "-c", "mount -t tmpfs t /mnt && echo x >/mnt/f && cat /mnt/f", out="x\n")
    works(box, "unshare", "-Urpf", "--mount-proc", "/bin/sh", "-c", "echo $$; ls -d /proc/[0-9]* | head -1", out="1\n/proc/1\n")


@case("nested: a browser's sandbox stands")
def browser(box):
    works(box, box.program("browser_sandbox"), out="sandboxed\n")


@case("nested: interpreters with threads and processes go on as ever", needs=["node"])
def interpreters(box):
    worker = "const w = new (require('worker_threads').Worker)('', {eval: true}); w.on('exit', c => console.log('ended', c))"
    works(box, "node", "-e", worker, out="ended 0\n")
    many = "import concurrent.futures as f\nfor p in f.ThreadPoolExecutor, f.ProcessPoolExecutor:\n    with p(4) as e: print(sum(e.map(abs, range(5))))"
    works(box, "/usr/bin/python3", "-c", many, out="10\n10\n")


def visible(box):
    """A policy under which pinfold itself can be read."""
    return nested(box, read=[os.path.dirname(os.path.realpath(box.suite.pinfold))])


def inner(result):
    return Result(result.code, result.out.encode(), result.err.encode(), result.seconds)


@case("nested: pinfold runs inside pinfold, as strict as outside")
def pinfold_inside(box):
    result = inner(box.run(*box.words(["/bin/sh", "-c", "id -u; true >f && cat f; echo ran"]), policy=visible(box)))
    check(result.out == f"{1000 if os.geteuid() == 0 else os.geteuid()}\nran\n", result.brief())
    for name in ("user_namespace", "mount_namespace", "pid_namespace", "network", "proc_masks", "seccomp", "tree_kill"):
        check(result.row(name)["state"] == "enforced", f"{name}: {result.row(name)}")


@case("nested: what the inner report claims holds")
def inner_rows(box):
    attacks = {
        "proc_masks": "(true >>/proc/sys/kernel/hostname) 2>/dev/null && echo ESCAPED",
        "seccomp": "unshare -U true 2>/dev/null && echo ESCAPED",
        "capabilities": "grep -E '^Cap' /proc/self/status | grep -qv 0000000000000000 && echo ESCAPED",
        "network": "grep -qv -e lo: -e '|' /proc/net/dev && echo ESCAPED",
        "pid_namespace": "[ $(ls -d /proc/[0-9]* | wc -l) -gt 5 ] && echo ESCAPED",
        "setuid_files": "cp /bin/true t; chmod 4755 t; [ -u t ] && echo ESCAPED",
        "landlock": "kill -0 1 2>/dev/null && [ -n \"$SCOPED\" ] && echo ESCAPED",
    }
    for name, script in attacks.items():
        scoped = ["-e", "SCOPED=1"] if name == "landlock" else []
        result = inner(box.run(*box.words(["/bin/sh", "-c", script + "; true"], scoped), policy=visible(box)))
        row = result.row(name)
        if row["state"] != "enforced" or (name == "landlock" and "signals" not in row["reason"]):
            check(row["reason"], f"{name}: {row}")
            continue
        check(result.ran and "ESCAPED" not in result.out, f"{name}: {result.brief()}")


@case("nested: check inside names what run inside uses")
def inner_check(box):
    line = f"{box.suite.pinfold} check --json >check; {box.suite.pinfold} run --json -- /bin/true >run"
    result = box.sh(line, policy=visible(box))
    import json

    report, run = (json.load(open(box.inside(name))) for name in ("check", "run"))
    of_run = {row["name"]: (row["state"], row["mechanism"]) for row in run["enforcement"]["features"]}
    of_check = {row["name"]: (row["state"], row["mechanism"]) for row in report["features"]}
    check(of_run == of_check, f"{result.brief()}\n{of_run}\n{of_check}")


@case("nested: three deep")
def three_deep(box):
    again = box.words(["/bin/echo", "ran"], json_out=False)
    policy = visible(box)
    middle = box.words(again, ["--read", policy], policy=policy, json_out=False)
    result = box.run(*middle, policy=policy, options=["--read", policy])
    check(result.out == "ran\n" and result.code == 0, result.brief())


# As root of a user and mount namespace of one's own: every way to undo what the outer boundary mounted.
UNDO = r"""
tell() { echo "ESCAPED: $1"; }
mount -t tmpfs t /mnt 2>/dev/null && mkdir /mnt/m /mnt/u /mnt/w || echo cannot prepare
for how in "" -l -f -R; do umount $how "$PWD/secret" 2>/dev/null && tell "umount $how"; done
umount -R "$PWD" 2>/dev/null && tell "umount of the workspace"
for what in bind,rw bind,rw,suid bind,rw,dev; do
	for where in / "$PWD/fixed" /usr /etc "$PWD/.git/hooks"; do mount -o remount,$what "$where" 2>/dev/null && tell "remount $what $where"; done
done
for source in "$PWD" / /proc/self/root /proc/1/root; do
	for how in --bind --rbind; do
		mount $how "$source" /mnt/m 2>/dev/null || continue
		cat /mnt/m/secret/f "/mnt/m$PWD/secret/f" 2>/dev/null | grep -q SENTINEL && tell "a secret through $how $source"
		(true >"/mnt/m/fixed/new") 2>/dev/null && tell "a file in what is read-only through $how $source"
		umount -l /mnt/m
	done
done
for lower in "$PWD" / ; do
	mount -t overlay o -o "lowerdir=$lower,upperdir=/mnt/u,workdir=/mnt/w,userxattr" /mnt/m 2>/dev/null || continue
	cat /mnt/m/secret/f "/mnt/m$PWD/secret/f" 2>/dev/null | grep -q SENTINEL && tell "a secret through an overlay of $lower"
	umount -l /mnt/m
done
cat secret/f 2>/dev/null | grep -q SENTINEL && tell "the secret"
(true >fixed/new) 2>/dev/null && tell "a file in what is read-only"
(true >.git/hooks/new) 2>/dev/null && tell "a hook"
mv .git g 2>/dev/null && tell "the git directory moved"
(true >/etc/new) 2>/dev/null && tell "a file in /etc"
nsenter -t 1 -m true 2>/dev/null && tell "the namespaces of init"
pivot_root . . 2>/dev/null
cp /bin/true t; chmod 4755 t 2>/dev/null; [ -u t ] && tell "a set-id file"
cp /bin/true /mnt/t; chmod 4755 /mnt/t 2>/dev/null; [ -u /mnt/t ] && tell "a set-id file in an own file system"
setfattr -n user.x -v y t 2>/dev/null && tell "an attribute"
echo held: tried
"""


@case("nested: what the outer boundary hides or makes read-only stays so for root of a namespace inside")
def undo(box):
    box.file("secret/f", "SENTINEL")
    box.file("fixed/f", "")
    box.file(".git/hooks/pre-commit", "")
    policy = nested(box, deny=["secret"], read=["fixed"], protect=[".git/hooks"])
    held(box.run("unshare", "-Urm", "/bin/sh", "-c", UNDO, box.mark, policy=policy))
    check(os.listdir(box.inside("fixed")) == ["f"], "something was made in what is read-only")
    check(os.listdir(box.inside(".git/hooks")) == ["pre-commit"], "a hook was planted")
    plain = {"version": 1, "filesystem": {"write": ["."]}, "process": {"nested_namespaces": True}}
    bare = box.run("unshare", "-Urm", "/bin/sh", "-c", UNDO, box.mark, policy=box.policy_file(plain))
    for told in ("a secret through --bind", "the secret", "a file in what is read-only", "a hook", "moved"):
        check(told in bare.out, f"without the rules it does not show either: {told}\n{bare.brief()}")


@case("nested: the outer filter, init and limits hold for root of a namespace inside")
def outer_filter(box):
    policy = nested(box)
    for program in ("setid", "families", "against_init", "foreign_abi"):
        held(box.run("unshare", "-Urn", box.program(program), policy=policy))
    result = box.run("unshare", "-Ur", "/bin/sh", "-c", "ulimit -n 2000; ulimit -n; grep Seccomp: /proc/self/status", policy=policy)
    check("2000" not in result.out and "Seccomp:\t2" in result.out, result.brief())


@case("nested: the report says what it opens")
def told(box):
    result = box.sh("true", policy=nested(box))
    for name in ("proc_masks", "setuid_files"):
        row = result.row(name)
        check(row["state"] == "degraded" and row["reason"], str(row))
    row = result.row("nested_namespaces")
    check(row["state"] == "off" and "kernel" in row["reason"], str(row))
    check(box.sh("true").row("nested_namespaces")["state"] == "enforced", "not nested")


@case("nested: a filter that lets namespaces be made is told, and mounts all the same nothing where there is a fence")
def by_the_filter_alone(box):
    calls = ["unshare", "clone", "mount", "umount2", "setns"]
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "seccomp": {"allow": calls}})
    result = box.run("unshare", "-Urm", "--propagation", "unchanged", "/bin/sh", "-c", "mount -t tmpfs t /mnt && echo mounted; true", policy=policy)
    check(result.row("nested_namespaces")["state"] == "off", str(result.row("nested_namespaces")))
    check(result.row("setuid_files")["state"] == "degraded", str(result.row("setuid_files")))
    fenced = "beneath" in (result.row("landlock")["reason"] or "")
    check(result.code == 0 and ("mounted" in result.out) != fenced, result.brief())


@case("not nested: each way to a namespace is refused with an errno that says so, and threads start")
def forbidden(box):
    held(box.run(box.program("namespaces")))
    for words, answer in ((["unshare", "-Ur", "true"], "Operation not permitted"), (["nsenter", "-t", "1", "-m", "true"], "")):
        result = box.run(*words)
        check(result.code != 0 and answer in result.err, result.brief())
    result = box.run(box.program("browser_sandbox"))
    check(result.code == 3 and "Operation not permitted" in result.out, result.brief())


@case("no capability is left in any set, of the command or of init, and the ids are mapped as documented")
def capabilities(box):
    for policy in (":workspace-write", nested(box)):
        script = (
            "grep -h ^Cap /proc/self/status /proc/1/status; grep -h ^NoNewPrivs /proc/self/status /proc/1/status; "
            "nsenter -t 1 -m true 2>/dev/null && echo ESCAPED: joined; nsenter -t 1 -U true 2>/dev/null && echo ESCAPED: joined; "
            "cat /proc/self/uid_map /proc/self/gid_map; echo held: looked"
        )
        result = held(box.sh(script, policy=policy))
        sets = [line for line in result.out.splitlines() if line.startswith("Cap")]
        check(len(sets) == 10 and all(line.split()[1] == "0" * 16 for line in sets), str(sets))
        check(result.out.count("NoNewPrivs:\t1") == 2, result.brief())
        maps = [[int(n) for n in line.split()] for line in result.out.splitlines() if re.fullmatch(r"[\d ]+", line)]
        check(len(maps) == 2, result.brief())
        for inside, outside, count in maps:
            if os.geteuid() == 0:
                check((inside, count) == (1000, 1) and outside >= 0x70000000, str(maps))
            else:
                check((inside, outside, count) == (os.geteuid(), os.geteuid(), 1), str(maps))
