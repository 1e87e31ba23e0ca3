"""Reaching past the workspace, or leaving something in it that runs on the host later."""

import os
import stat
import subprocess
import time

from blackbox.box import PYTHON, held
from blackbox.suite import case, check


@case("no call leaves a set-id bit in the workspace")
def set_id_bits(box):
    box.attack("setid")


@case("a copied shell cannot be made set-id by the usual commands")
def set_id_commands(box):
    result = box.sh(
        "cp /bin/sh shell; chmod 4755 shell; chmod u+s shell; install -m 4755 /bin/sh other; mkdir -m 2755 d; "
        "cp -p --preserve=all /usr/bin/passwd . 2>/dev/null; tar -cf - -C /usr/bin passwd | tar -xpf -; true"
    )
    check(result.ran and os.path.exists(box.inside("shell")), result.brief())


@case("a protected directory stays where it is when its parent is moved away")
def move_the_ancestor(box):
    box.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    box.file(".git/config", "[core]\n")
    result = box.sh(
        "mv .git x && echo MOVED; mkdir -p .git/hooks; echo evil >.git/hooks/post-checkout; "
        "mv .git/hooks y; rm -rf .git/hooks; echo evil >.git/hooks/pre-commit; rmdir .git"
    )
    check("MOVED" not in result.out, result.brief())
    check(os.listdir(box.inside(".git/hooks")) == ["pre-commit"], "the hooks changed")
    check(open(box.inside(".git/hooks/pre-commit")).read() == "#!/bin/sh\n", "a hook was written")


@case("what makes host-side git run code cannot be rewritten")
def git_files_that_run_code(box):
    names = [
        "config",
        "config.worktree",
        "commondir",
        "gitdir",
        "hooks/pre-commit",
        "modules/a/config",
        "modules/a/hooks/post-checkout",
        "worktrees/w/commondir",
        "worktrees/w/gitdir",
        "worktrees/w/config.worktree",
    ]
    for name in names:
        box.file(f".git/{name}", "before")
    box.sh(
        f"cd .git; for f in {' '.join(names)}; do echo after >$f; rm -f $f; echo after >$f; ln -sf /tmp $f; "
        "echo after >new; mv new $f; done"
    )
    changed = [
        name
        for name in names
        if not os.path.isfile(box.inside(f".git/{name}")) or open(box.inside(f".git/{name}")).read() != "before"
    ]
    check(not changed, f"rewritten: {changed}")


@case("the .git file of a linked worktree cannot be pointed elsewhere", needs=["git"])
def worktree_git_file(box):
    repository, tree = box.make("repository"), box.inside("tree")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", repository]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a"], ["worktree", "add", "-q", tree]):
        subprocess.run(git + words, check=True, env=box.env, capture_output=True)
    before = open(f"{tree}/.git").read()
    box.workspace = tree
    box.sh(
        "echo gitdir: /tmp/evil >.git; rm -f .git; mkdir .git; echo x >.git/config; mv .git y; "
        f"echo evil >{repository}/.git/hooks/post-checkout; echo /tmp >{repository}/.git/worktrees/tree/commondir"
    )
    check(os.path.isfile(f"{tree}/.git") and open(f"{tree}/.git").read() == before, "the .git file changed")
    check(not os.path.exists(f"{repository}/.git/hooks/post-checkout"), "a hook was planted in the repository")
    check(open(f"{repository}/.git/worktrees/tree/commondir").read().strip() == "../..", "commondir changed")


PLANT = r"""
import os, time
end = time.time() + 1.5
while time.time() < end:
    for path, text in ((".mcp.json", "{}"), (".envrc", "evil"), (".git/hooks/post-checkout", "evil"), (".vscode/tasks.json", "{}")):
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            open(path, "w").write(text)
        except OSError:
            pass
    try:
        os.rename(".mcp.json", "held-back")
        os.rename("held-back", ".mcp.json")
    except OSError:
        pass
print("held: planted again and again")
"""


@case("an absent protected name that is planted is gone afterwards, and reported")
def plant_protected_names(box):
    box.file(".git/HEAD", "ref: refs/heads/main\n")
    result = held(box.python(PLANT))
    left = [name for name in (".mcp.json", ".envrc", ".git/hooks", ".vscode") if os.path.lexists(box.inside(name))]
    check(not left, f"planted and still there: {left}")
    check(result.violations(), f"nothing of it is reported: {result.brief()}")


@case("protecting absent names leaves no placeholder behind")
def no_placeholders(box):
    policy = box.policy_file(
        {
            "version": 1,
            "extends": ":workspace-write",
            "filesystem": {"protect": ["a/b/c", ".tool.json"], "deny": ["secret/key", "x.pem"]},
        }
    )
    live = box.start("/bin/sh", "-c", "true >started; sleep 0.3", box.mark, policy=policy)
    box.wait_for("started")
    during = sorted(os.listdir(box.workspace))
    result = live.result()
    check(result.code == 0, result.brief())
    check(during == ["started"] and sorted(os.listdir(box.workspace)) == ["started"], f"seen meanwhile: {during}")


@case("a protected name planted as the last act of the command is gone too")
def plant_and_leave(box):
    for _ in range(5):
        box.sh("setsid sh -c 'while :; do echo {} >.mcp.json; done' & sleep 0.05; echo {} >.mcp.json")
        check(not os.path.exists(box.inside(".mcp.json")), "still there when the result was given")


READ_ON = r"""
import sys, time
open("started", "w").close()
end, replaced = time.time() + 4, None
while time.time() < end:
    try:
        text = open(sys.argv[2]).read()
    except OSError:
        text = ""
    if "NEW" in text:
        replaced = replaced or time.time()
        if time.time() - replaced > 0.5:
            print("ESCAPED: the new secret is readable half a second later"); sys.exit(1)
    elif replaced:
        break
    time.sleep(0.001)
print("held: the new secret was hidden again" if replaced else "held: it was never seen")
"""


@case("a denied file that the host saves anew by rename is hidden again")
def mask_replaced_by_the_host(box):
    secret = box.file("secret.txt", "OLD")
    live = box.start(PYTHON, "-c", READ_ON, box.mark, secret, options=["--deny", secret])
    box.wait_for("started")
    time.sleep(0.3)
    os.rename(box.file("secret.new", "NEW"), secret)
    result = live.result()
    check("ESCAPED" not in result.out, result.brief())
    check(result.code == 0 or result.status == "signaled", result.brief())
    check(result.violations(), f"it is not reported: {result.brief()}")


WRITE_ON = r"""
import os, sys, time
open("started", "w").close()
end, through = time.time() + 3, None
while time.time() < end:
    try:
        open(sys.argv[2] + "/evil", "w").close()
        through = through or time.time()
        if time.time() - through > 0.5:
            print("ESCAPED: still writable half a second later"); sys.exit(1)
    except OSError:
        if through:
            break
    time.sleep(0.001)
print("held")
"""


@case("a protected directory that the host removes and makes anew is read-only again")
def protected_directory_remade(box):
    box.file("etc/conf", "x")
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "filesystem": {"protect": ["etc"]}})
    live = box.start(PYTHON, "-c", WRITE_ON, box.mark, box.inside("etc"), policy=policy)
    box.wait_for("started")
    time.sleep(0.3)
    os.unlink(box.inside("etc/conf"))
    os.rmdir(box.inside("etc"))
    os.mkdir(box.inside("etc"))
    result = live.result()
    check("ESCAPED" not in result.out, result.brief())
    check(result.violations(), f"it is not reported: {result.brief()}")


READ_ONLY = r"""
for f in /etc/pinfold-test /usr/bin/pinfold-test /pinfold-test /var/tmp/pinfold-test /root/pinfold-test /home/pinfold-test \
        /opt/pinfold-test /boot/pinfold-test /sys/pinfold-test; do
    true >$f 2>/dev/null && [ -e $f ] && echo "ESCAPED: $f"
done
for d in / /usr /etc /tmp /proc /dev; do mount -o remount,rw,bind $d 2>/dev/null && echo "ESCAPED: remount $d"; done
mount -t tmpfs none /mnt 2>/dev/null && echo "ESCAPED: mount"
umount -l /tmp 2>/dev/null && echo "ESCAPED: umount"
chmod 777 /etc/passwd 2>/dev/null && echo "ESCAPED: chmod"
touch -d yesterday /usr/bin/env 2>/dev/null && echo "ESCAPED: utimes"
echo "held: read-only root"
"""


@case("the root is read-only and stays so")
def read_only_root(box):
    held(box.sh(READ_ONLY))


@case("nothing beside the workspace can be written, by no detour")
def beside_the_workspace(box):
    sibling = box.make("sibling")
    target = box.file(f"{sibling}/file", "before")
    os.symlink(sibling, box.inside("link"))
    os.symlink(target, box.inside("file-link"))
    result = box.sh(
        f"echo after >../sibling/file; echo after >link/file; echo after >file-link; ln {target} hard; "
        f"echo after >hard; true >link/new; mv {target} taken; rm -f {target}; "
        f"echo after >/proc/1/root{target}; echo after >/proc/self/root{target}; echo after >/proc/self/cwd/../sibling/file;"
        f" ln -s {sibling} again; true >again/new; mv link/../sibling/file taken; echo held: tried"
    )
    held(result)
    check(open(target).read() == "before" and os.listdir(sibling) == ["file"], f"changed: {os.listdir(sibling)}")


@case("a denied file cannot be read by another name")
def denied_by_another_name(box):
    box.file("secret/key", "SENTINEL")
    os.symlink("secret/key", box.inside("alias"))
    os.link(box.inside("secret/key"), box.inside("hard-link-of-the-host"))
    names = [
        "secret/key",
        "alias",
        "./secret/../secret/key",
        f"/proc/self/root{box.inside('secret/key')}",
        "/proc/self/cwd/secret/key",
        f"/{box.inside('secret/key')}",
        f"/proc/1/root{box.inside('secret/key')}",
        f"/proc/1/cwd{box.inside('secret/key')}",
    ]
    script = f"for f in {' '.join(names)}; do cat $f; done; mv secret other; cat other/key; ls secret; tar cf - secret; echo held: tried"
    for deny in ("secret", "secret/key", "**/key"):
        result = held(box.sh(script, options=["--deny", deny]))
        check("SENTINEL" not in result.out, f"--deny {deny}: {result.brief()}")


@case("a device node in the workspace opens nothing", only="root")
def device_in_the_workspace(box):
    numbers = {
        "disk": (stat.S_IFBLK, os.stat("/").st_dev),
        "memory": (stat.S_IFCHR, os.makedev(1, 1)),
        "null": (stat.S_IFCHR, os.makedev(1, 3)),
    }
    for name, (kind, device) in numbers.items():
        os.mknod(box.inside(name), kind | 0o666, device)
        os.chmod(box.inside(name), 0o666)
    held(
        box.sh(
            "for f in disk memory null; do head -c 16 $f >/dev/null && echo ESCAPED: read $f; echo x >$f && echo ESCAPED: wrote $f;"
            "done; mknod a b 8 0 && echo ESCAPED: mknod; mknod a c 1 3 && echo ESCAPED: mknod; echo held: devices"
        )
    )


@case("a fifo of the host outside the workspace is not there to write to")
def fifo_of_the_host(box):
    outside = box.make("outside")
    os.mkfifo(f"{outside}/fifo", 0o666)
    os.chmod(f"{outside}/fifo", 0o666)
    reader = os.open(f"{outside}/fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        held(box.sh(f"timeout 1 sh -c 'echo evil >{outside}/fifo'; echo held: tried", options=["--deny", outside]))
        check(os.read(reader, 10) == b"", "bytes came out of it")
    finally:
        os.close(reader)


KNOBS = r"""
for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sys/kernel/modprobe /proc/sysrq-trigger \
        /proc/sys/kernel/ns_last_pid /proc/sys/fs/binfmt_misc/register /sys/kernel/uevent_helper /sys/power/state \
        /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs \
        /sys/fs/cgroup/*/notify_on_release /proc/irq/default_smp_affinity /proc/acpi/wakeup /proc/mtrr; do
    (true >>$f) 2>/dev/null && echo "ESCAPED: opened $f for writing"
done
for f in /proc/kcore /proc/kmsg /dev/mem /dev/kmsg /proc/kpagecount /proc/sysvipc/../kcore; do
    head -c 1 $f >/dev/null 2>&1 && [ "$(head -c 1 $f 2>/dev/null | wc -c)" = 1 ] && echo "ESCAPED: read $f"
done
echo "held: knobs"
"""


@case("no knob of the kernel can be turned")
def kernel_knobs(box):
    held(box.sh(KNOBS))


@case("pid 1's root and the old root lead nowhere")
def old_root(box):
    sentinel = box.file(os.path.join(box.make("outside"), "sentinel"), "SENTINEL")
    result = box.sh(
        f"cat /proc/1/root{sentinel} /proc/1/cwd/{sentinel} /proc/self/root{sentinel}; ls -d /oldroot /.old* /put_old; "
        f"cd /; cd ../../../..; cat .{sentinel}; echo held: tried",
        options=["--deny", box.make("outside")],
    )
    check("SENTINEL" not in held(result).out, result.brief())


@case("chroot and fchdir do not leave the root")
def chroot_and_out(box):
    held(
        box.python(
            "import os\n"
            "fd = os.open('/', os.O_RDONLY)\n"
            "try:\n os.chroot('/tmp'); os.fchdir(fd); print('ESCAPED: chroot')\n"
            "except OSError as e: print('held: chroot', e)"
        )
    )


@case("a working directory through a descriptor of pinfold is refused or lies inside")
def working_directory_by_descriptor(box):
    for number in range(3, 21):
        for target in (f"/proc/self/fd/{number}", f"/proc/1/fd/{number}", f"/proc/thread-self/fd/{number}"):
            code, out, err, _ = box.pinfold(
                "run", "-p", box.policy, "-w", box.workspace, "-C", target, "--", "/bin/pwd", "-P"
            )
            check(code in (2, 125, 126), f"-C {target}: exit {code}, {out!r} {err!r}")


@case("a working directory that is a link stays what it is inside")
def working_directory_by_link(box):
    for name, target in (("fd", "/proc/self/fd/8"), ("cwd", "/proc/self/cwd"), ("root", "/"), ("parent", "..")):
        os.symlink(target, box.inside(name))
        code, out, err, _ = box.pinfold(
            "run",
            "-p",
            box.policy,
            "-w",
            box.workspace,
            "-C",
            box.inside(name),
            "--",
            "/bin/sh",
            "-c",
            "/bin/pwd -P; ls -ld /proc/self/cwd/.. && true >here",
        )
        wrote = [path for path in (os.path.join(box.dir, "here"), "/here") if os.path.exists(path)]
        check(not wrote, f"-C {name} -> {target}: exit {code}, wrote {wrote} {out!r} {err!r}")


@case("pinfold's own files cannot be replaced through /proc/1/exe")
def replace_the_binary(box):
    import hashlib

    before = hashlib.sha256(open(box.suite.pinfold, "rb").read()).hexdigest()
    held(
        box.sh(
            f"for i in $(seq 200); do (true >>/proc/1/exe) 2>/dev/null && echo ESCAPED: opened; done; cp /bin/true {box.suite.pinfold};"
            "(exec 3</proc/1/exe; true >>/proc/self/fd/3) 2>/dev/null && echo ESCAPED: reopened; echo held: tried"
        )
    )
    check(hashlib.sha256(open(box.suite.pinfold, "rb").read()).hexdigest() == before, "the binary changed")


@case("secrets of the home and of the host are not readable")
def default_secrets(box):
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".config/gh/hosts.yml",
        ".docker/config.json",
        ".npmrc",
        ".git-credentials",
        ".gnupg/private-keys-v1.d/k",
        ".kube/config",
        ".pgpass",
        ".bash_history",
    ):
        box.file(os.path.join(box.home, name), "SENTINEL")
    script = (
        f"grep -rs SENTINEL {box.home} && echo ESCAPED: home; head -c 1 /etc/shadow /etc/gshadow /etc/ssh/ssh_host_* 2>/dev/null"
        " | grep -q '[a-z$-]' && echo ESCAPED: shadow; ls -A /root 2>/dev/null | grep -q ssh && ls /root/.ssh/* 2>/dev/null && "
        "echo ESCAPED: root; echo held: secrets"
    )
    for policy in (":read-only", ":workspace-write"):
        held(box.sh(script, policy=policy))


@case("a symlinked protected directory is protected behind the link, and the link stays")
def protected_link(box):
    box.file("real/file", "before")
    os.symlink("real", box.inside("link"))
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "filesystem": {"protect": ["link"]}})
    result = box.sh("echo after >link/file; rm -f link; ln -s /tmp link; mv link x; echo held: tried", policy=policy)
    if result.doc["schema"] == "pinfold.error/1":
        return  # refused with a reason: the other right answer
    held(result)
    check(open(box.inside("real/file")).read() == "before", "written behind the link")
    check(os.path.islink(box.inside("link")) and os.readlink(box.inside("link")) == "real", "the link was replaced")
