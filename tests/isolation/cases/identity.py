"""Who the command is, inside and for the host."""

import os
import pwd
import stat
import subprocess

from blackbox import host
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
