"""Who the command is, inside and for the host."""

import json
import os
import pwd
import shutil
import stat
import subprocess

from blackbox import host
from blackbox.box import held
from blackbox.suite import Skip, case, check


@case("started by root, the command is uid 1000 pinfold inside", only="root")
def root_is_mapped(box):
    result = box.sh("id -u; id -g; id -G; id -un; id -gn; echo $USER; echo ~; whoami")
    lines = result.out.split()
    check(lines[:3] == ["1000", "1000", "1000"] and lines[3:6] == ["pinfold", "pinfold", "pinfold"], result.brief())
    check(lines[7] == "pinfold", result.brief())


@case("started by root, the command has an unprivileged host uid of its own", only="root")
def host_uid(box):
    seen = []
    for _ in range(2):
        live = box.start("/bin/sh", "-c", "true >started; sleep 1", box.mark)
        box.wait_for("started")
        pids = [pid for pid, command in host.marked(box.mark) if command.startswith("/bin/sh -c true >started")]
        check(pids, f"no process of the command: {host.marked(box.mark)}")
        seen.append(os.stat(f"/proc/{pids[0]}").st_uid)
        os.unlink(box.inside("started"))
        live.result()
    check(all(uid >= 0x70000000 for uid in seen), f"host uids {seen}")


@case("two runs by root at once have different host uids", only="root")
def distinct_host_uids(box):
    lives = [box.start("/bin/sh", "-c", f"true >started{i}; sleep 1", box.mark) for i in range(2)]
    uids = set()
    for i in range(2):
        box.wait_for(f"started{i}")
    for pid, command in host.marked(box.mark):
        if command.startswith("/bin/sh -c true >started"):
            uids.add(os.stat(f"/proc/{pid}").st_uid)
    for live in lives:
        live.result()
    check(len(uids) == 2, f"host uids {uids}")


@case("an ordinary user keeps uid, gid and name", only="user")
def user_is_kept(box):
    result = box.sh("id -u; id -g; id -un")
    check(result.out.split() == [str(os.getuid()), str(os.getgid()), pwd.getpwuid(os.getuid()).pw_name], result.brief())


@case("files made in the workspace belong to its owner on the host")
def workspace_ownership(box):
    owners = [(0, 0), (12345, 54321)] if os.geteuid() == 0 else [(os.getuid(), os.getgid())]
    for uid, gid in owners:
        if os.geteuid() == 0:
            os.chown(box.workspace, uid, gid)
        result = box.sh(
            "echo x >file; mkdir -p dir/sub; ln -sf file link; stat -c '%U %u' . file; echo y >>file; chmod 640 file; mv dir dir2"
        )
        check(result.code == 0, result.brief())
        for name in ("file", "dir2", "dir2/sub", "link"):
            found = os.lstat(box.inside(name))
            check(
                (found.st_uid, found.st_gid) == (uid, gid),
                f"{name} belongs to {found.st_uid}:{found.st_gid}, not {uid}:{gid}",
            )
        check(stat.S_IMODE(os.stat(box.inside("file")).st_mode) == 0o640, "the mode is not what chmod said")
        check(
            result.out.split()[0] == result.out.split()[2],
            f"inside, the workspace and its files have two owners: {result.out}",
        )
        subprocess.run(["rm", "-rf", *(box.inside(name) for name in ("file", "dir2", "link"))], check=True)


@case("what the host put into the workspace can be changed inside")
def workspace_is_writable(box):
    box.file("old", "before", 0o600)
    box.file("private/old", "before", 0o600)
    os.chmod(box.inside("private"), 0o700)
    result = box.sh("cat old; echo after >old; echo after >private/old; rm private/old; rmdir private")
    check(
        result.code == 0 and open(box.inside("old")).read() == "after\n" and not os.path.exists(box.inside("private")),
        result.brief(),
    )


@case("a workspace below a private directory of root works", only="root")
def workspace_below_root(box):
    for top in ("/root", box.dir):
        private = os.path.join(top, f"private-{box.mark}")
        os.makedirs(f"{private}/a/workspace", 0o700)
        os.chmod(private, 0o700)
        os.chmod(f"{private}/a", 0o700)
        box.workspace = f"{private}/a/workspace"
        try:
            result = box.sh(f"pwd; echo x >file; cat file; cd ..; ls; ls {private} {top}/.ssh")
            check(result.out.startswith(f"{box.workspace}\nx\n"), result.brief())
            check(os.stat(f"{box.workspace}/file").st_uid == 0, "the file belongs to somebody else")
        finally:
            subprocess.run(["rm", "-rf", private], check=True)
            box.workspace = box.make("workspace")


@case("identity caller keeps root's workspace usable as itself", only="root")
def identity_caller(box):
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "process": {"identity": "caller"}})
    result = box.sh("id -u; echo x >file", policy=policy)
    if result.doc["schema"] == "pinfold.error/1":
        raise Skip(f"refused: {result.doc['message']}")
    check(result.out.strip() == "0" and os.stat(box.inside("file")).st_uid == 0, result.brief())


@case("streams that are captured can be opened again by their names")
def streams_by_name(box):
    script = "echo a >/dev/stdout; echo b >>/dev/stderr; echo c >/proc/self/fd/1; echo d >/proc/$$/fd/2; exit 0"
    policies = [box.policy]
    if os.geteuid() == 0:
        policies.append(box.policy_file({"version": 1, "extends": box.policy, "process": {"identity": "caller"}}))
    for policy in policies:
        result = box.sh(script, policy=policy)
        check((result.out, result.err) == ("a\nc\n", "b\nd\n"), f"{policy}: {result.brief()}")


@case("a workspace in another user's private home works, and its files are that user's", only="root")
def workspace_in_a_private_home(box):
    private = box.make("of-another")
    box.workspace = box.make("of-another", "a", "workspace")
    for path in (private, os.path.dirname(box.workspace), box.workspace):
        os.chown(path, 12345, 54321)
        os.chmod(path, 0o700)
    result = box.sh("pwd; id -u; echo x >file; mkdir sub; cat file; ls -a ..")
    check(result.out.startswith(f"{box.workspace}\n1000\nx\n"), result.brief())
    for name in ("file", "sub"):
        found = os.stat(box.inside(name))
        check((found.st_uid, found.st_gid) == (12345, 54321), f"{name} belongs to {found.st_uid}:{found.st_gid}")


def private_tree(box, name, owner):
    """A tree that nobody but its owner can enter, with a file and a program."""
    top = box.make(name)
    box.file(os.path.join(top, "data"), f"of {name}\n", 0o600)
    box.file(os.path.join(top, "secret"), "SENTINEL\n", 0o600)
    box.file(os.path.join(top, "bin", f"tool-{name}"), f"#!/bin/sh\ncat {top}/data\n", 0o700)
    for path in (top, f"{top}/bin", f"{top}/data", f"{top}/secret", f"{top}/bin/tool-{name}"):
        os.chown(path, owner, owner)
    for path in (top, f"{top}/bin"):
        os.chmod(path, 0o700)
    return top


@case("private trees that are to be read can be read and executed, whoever owns them, and not written", only="root")
def private_trees(box):
    os.chown(box.workspace, 12345, 12345)
    tops = {name: private_tree(box, name, owner) for name, owner in (("root", 0), ("workspace", 12345), ("third", 333))}
    bound = private_tree(box, "bound", 444)
    document = {"version": 1, "extends": ":workspace-write", "filesystem": {
        "read": list(tops.values()), "deny": [f"{top}/secret" for top in tops.values()],
        "bind": [{"source": bound, "target": "/mnt/bound"}]}}
    policy = box.policy_file(document)
    env = {**box.env, "PATH": ":".join([*(f"{top}/bin" for top in tops.values()), box.env["PATH"]])}
    script = "; ".join(f"tool-{name}; cat {top}/secret; echo x >>{top}/data; rm -f {top}/data; chmod 777 {top}" for name, top in tops.items())
    result = box.sh(f"{script}; cat /mnt/bound/data; echo x >>/mnt/bound/data; exit 0", policy=policy, env=env)
    check(result.out == "of root\nof workspace\nof third\nof bound\n", result.brief())
    for name, top in {**tops, "bound": bound}.items():
        check(open(f"{top}/data").read() == f"of {name}\n" and stat.S_IMODE(os.stat(top).st_mode) == 0o700, f"{top} was changed")
    bare = box.sh(f"cat {tops['third']}/data")
    check("of third" not in bare.out, f"it shows where nobody said that it is to be read: {bare.brief()}")


@case("an interpreter below a private directory of root is executed where it is to be read", only="root")
def private_interpreter(box):
    top = f"/root/private-{box.mark}"
    os.makedirs(f"{top}/version/bin")
    try:
        for path in (top, f"{top}/version", f"{top}/version/bin"):
            os.chmod(path, 0o700)
        shutil.copy("/bin/sh", f"{top}/version/bin/interpreter")
        os.chmod(f"{top}/version/bin/interpreter", 0o700)
        env = {**box.env, "PATH": f"{top}/version/bin:{box.env['PATH']}"}
        for read in (top, f"{top}/version"):
            result = box.run("interpreter", "-c", "echo ran", options=["--read", read], env=env)
            check(result.out == "ran\n", f"{read}: {result.brief()}")
    finally:
        shutil.rmtree(top)


@case("a file system that cannot be id-mapped is refused with the remedy, which works", only="root", needs=["unshare"])
def not_mappable(box):
    caller = box.policy_file({"version": 1, "extends": ":workspace-write", "process": {"identity": "caller"}})
    parts = {name: box.make("overlay", name) for name in ("lower", "upper", "work", "merged")}
    mount = "mount -t overlay -o lowerdir={lower},upperdir={upper},workdir={work} o {merged}".format(**parts)
    box.workspace = parts["merged"]
    enter = ["unshare", "-m", "/bin/sh", "-c", f'set -e; {mount}; cd {parts["merged"]}; exec "$@"', "sh"]
    code, out, err, _ = box.begin([*enter, box.suite.pinfold, "check", "--json", "-p", ":workspace-write"]).wait()
    check(out, f"no report: exit {code} {err!r}")
    row = {row["name"]: row for row in json.loads(out)["features"]}["identity"]
    if row["state"] == "enforced":
        raise Skip("an overlay can be id-mapped on this kernel")
    check(code == 1 and row["state"] == "unenforceable" and "process.identity" in row["fix"], str(row))
    result = box.begin([*enter, *box.words(["/bin/sh", "-c", "echo x >RAN"])]).result()
    check(result.code == 125 and "process.identity" in result.doc["message"], result.brief())
    check(os.listdir(parts["upper"]) == [], "it ran")
    result = box.begin([*enter, *box.words(["/bin/sh", "-c", "echo x >RAN; cat RAN"], policy=caller)]).result()
    check(result.out == "x\n" and os.listdir(parts["upper"]) == ["RAN"], result.brief())


@case("root that keeps its identity is told so, and all but the identity holds", only="root")
def caller_holds(box):
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "process": {"identity": "caller"}})
    outside = box.file(os.path.join(box.dir, "of-root"), "before")
    script = (
        f"id -u; grep -h ^Cap /proc/self/status; echo x >{outside}; chown 1 . 2>/dev/null && echo ESCAPED: chown; "
        "mount -t tmpfs t /mnt 2>/dev/null && echo ESCAPED: mount; kill -9 1 2>/dev/null; (setsid sleep 300 >/dev/null 2>&1 &); "
        "cat /proc/1/environ >/dev/null 2>&1 && echo ESCAPED: init; echo held: tried"
    )
    result = held(box.sh(script, policy=policy))
    row = result.row("identity")
    check(row["state"] == "degraded" and row["mechanism"] == "caller" and row["reason"] and row["fix"], str(row))
    lines = result.out.split("\n")
    check(lines[0] == "0" and all(line.endswith("0" * 16) for line in lines[1:6]), result.brief())
    check(open(outside).read() == "before" and result.doc["survivors_killed"] >= 1, result.brief())
    row = result.row("processes", "limits")
    check(row["mechanism"] == "cgroup" or (row["state"] == "degraded" and row["reason"] and row["fix"]), str(row))
    script = "i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done; wait"
    result = box.sh(script, policy=policy, options=["--pids", "10", "--timeout", "15"])
    check(result.seconds < 10 and (result.doc["limit_hit"] or result.doc["limits_touched"]), result.brief())


@case("files in a set-gid directory of the workspace's group get that group", only="root")
def set_gid_directories(box):
    os.chown(box.workspace, 12345, 54321)
    shared = box.make("workspace", "shared")
    foreign = box.make("workspace", "foreign")
    os.chown(shared, 12345, 54321)
    os.chown(foreign, 12345, 7777)
    for path in (shared, foreign):
        os.chmod(path, 0o2775)
    result = box.sh("echo x >shared/file && mkdir shared/sub && echo y >shared/sub/file; (echo z >foreign/file) 2>&1; exit 0")
    for name in ("file", "sub", "sub/file"):
        found = os.stat(os.path.join(shared, name))
        check((found.st_uid, found.st_gid) == (12345, 54321), f"{name} belongs to {found.st_uid}:{found.st_gid}")
    # A group that is not the workspace's has no name inside: nothing can be made in its directory, least of all with a wrong one.
    check(os.listdir(foreign) == [] and "denied" in result.out, result.brief())
    for path in (shared, foreign):  # what the case itself made
        os.chmod(path, 0o775)
    os.chmod(os.path.join(shared, "sub"), 0o775)


@case("thirty sandboxes at once have thirty host uids, nobody's, and each its own limit of processes", only="root")
def many_at_once(box):
    script = (
        "i=0; while [ $i -lt 20 ]; do sleep 100 & i=$((i+1)); done; n=$(ls -d /proc/[0-9]* | wc -l); "
        "[ $n -le 26 ] && kill -0 -1 2>/dev/null; echo $n >seen-$1; mv seen-$1 ready-$1; exec sleep 100"
    )
    lives = [
        box.start("/bin/sh", "-c", script, box.mark, str(i), options=["--pids", "30", "--timeout", "120"]) for i in range(30)
    ]
    for i in range(30):
        box.wait_for(f"ready-{i}", 40)
        check(int(open(box.inside(f"ready-{i}")).read()) <= 26, f"sandbox {i} sees others' processes")
    owners = {}
    for pid, command in host.marked(box.mark):
        # Those of the sandbox alone: pinfold itself has the mark on its command line.
        if command.startswith("sleep 100"):
            owners.setdefault(os.stat(f"/proc/{pid}").st_uid, []).append(pid)
    for live in lives:
        live.process.terminate()
    for live in lives:
        live.wait()
    check(len(owners) == 30, f"{len(owners)} host uids: {sorted(owners)}")
    check(all(len(pids) == 21 for pids in owners.values()), f"processes a uid: {[len(pids) for pids in owners.values()]}")
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    check(min(owners) >= 0x70000000 and not taken & owners.keys(), f"somebody's uid: {sorted(owners)}")


@case("one sandbox's host uid can do nothing to another's processes", only="root", needs=["setpriv"])
def uid_against_uid(box):
    lives = [box.start("/bin/sh", "-c", f"true >started{i}; sleep 30", box.mark) for i in range(2)]
    for i in range(2):
        box.wait_for(f"started{i}")
    found = [(pid, os.stat(f"/proc/{pid}").st_uid) for pid, command in host.marked(box.mark) if command.startswith("/bin/sh -c true >started")]
    check(len(found) == 2, str(found))
    (victim, _), (_, uid) = found
    script = (
        f"kill -0 {victim} 2>/dev/null && echo ESCAPED: signal; head -c 1 /proc/{victim}/mem 2>/dev/null && echo ESCAPED: mem; "
        f"cat /proc/{victim}/environ 2>/dev/null && echo ESCAPED: environ; ls /proc/{victim}/root/ 2>/dev/null && echo ESCAPED: root; "
        f"ls -l /proc/{victim}/fd 2>/dev/null && echo ESCAPED: fd; nsenter -t {victim} -U true 2>/dev/null && echo ESCAPED: nsenter; echo tried"
    )
    ids = [f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    tried = subprocess.run(["setpriv", *ids, "/bin/sh", "-c", script], capture_output=True, text=True, check=False)
    for live in lives:
        live.process.terminate()
        live.wait()
    check(tried.stdout == "tried\n", f"{tried.stdout} {tried.stderr}")


@case("PINFOLD_UID_BASE is used, and refused where it is no base or holds somebody's uid", only="root", needs=["unshare"])
def uid_base(box):
    read_map = "read inside outside n </proc/self/uid_map; echo $outside"
    result = box.sh(read_map, env={**box.env, "PINFOLD_UID_BASE": "300000000"})
    check(300000000 < int(result.out) <= 300000000 + (1 << 22), result.brief())
    for wrong in ("0", "-1", "1000", "65535", "4294967295", "4294967296", "4295037296", "99999999999", "12x", "70000:", ":5", "+70000", " 70000", "0x70000000"):
        result = box.run("/bin/sh", "-c", "touch RAN", env={**box.env, "PINFOLD_UID_BASE": wrong})
        check(result.code == 125 and "PINFOLD_UID_BASE" in result.doc["message"], f"{wrong}: {result.brief()}")
    passwd = box.file(os.path.join(box.dir, "passwd"), open("/etc/passwd").read() + "taken:x:300000100:100::/:/bin/sh\n")
    enter = ["unshare", "-m", "/bin/sh", "-c", f'mount --bind {passwd} /etc/passwd && exec "$@"', "sh"]
    env = {**box.env, "PINFOLD_UID_BASE": "300000000"}
    result = box.begin([*enter, *box.words(["/usr/bin/touch", "RAN"])], env=env).result()
    check(result.code == 125 and "300000100" in result.doc["message"], result.brief())
    check(not os.path.exists(box.inside("RAN")), "it ran")
