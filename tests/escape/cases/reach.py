"""Reaching past the workspace: by paths, links, devices, knobs, descriptors."""

import hashlib
import os
import stat

from blackbox.box import held
from blackbox.suite import case, check


READ_ONLY = r"""
for d in "" /etc /usr/bin /var/tmp /root /home /opt /boot /sys; do
    true >$d/pinfold-test 2>/dev/null && [ -e $d/pinfold-test ] && echo "ESCAPED: $d"
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
        f"echo after >/proc/1/root{target}; echo after >/proc/self/root{target}; "
        "echo after >/proc/self/cwd/../sibling/file; "
        f" ln -s {sibling} again; true >again/new; mv link/../sibling/file taken; echo held: tried"
    )
    held(result)
    check(open(target).read() == "before" and os.listdir(sibling) == ["file"], f"changed: {os.listdir(sibling)}")


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
            "for f in disk memory null; do head -c 16 $f >/dev/null && echo ESCAPED: read $f; "
            "echo x >$f && echo ESCAPED: wrote $f; "
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
for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sys/kernel/modprobe \
        /proc/sysrq-trigger /proc/sys/kernel/ns_last_pid /proc/sys/fs/binfmt_misc/register /sys/kernel/uevent_helper \
        /sys/power/state /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent \
        /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs \
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
    held(box.sh(KNOBS, policy=box.policy_file({"version": 1, "extends": ":workspace-write", "process": {"identity": "caller"}})))


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
    before = hashlib.sha256(open(box.suite.pinfold, "rb").read()).hexdigest()
    held(
        box.sh(
            "for i in $(seq 200); do (true >>/proc/1/exe) 2>/dev/null && echo ESCAPED: opened; done; "
            f"cp /bin/true {box.suite.pinfold}; "
            "(exec 3</proc/1/exe; true >>/proc/self/fd/3) 2>/dev/null && echo ESCAPED: reopened; echo held: tried"
        )
    )
    check(hashlib.sha256(open(box.suite.pinfold, "rb").read()).hexdigest() == before, "the binary changed")
