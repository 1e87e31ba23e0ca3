"""Surroundings that pinfold may be started in, beside a plain login: a row for each of WORLDS.

Where `lacks` is empty a strict run must be possible; else it names a row that cannot be enforced there, and a word of its
remedy.
"""

import os
import shutil

from blackbox import cgroups
from blackbox.suite import Skip, reachable

EPERM, EACCES, ENOSYS, EAFNOSUPPORT = "1", "13", "38", "97"
NAMESPACES = 0x7E020000  # the CLONE_NEW* of clone(2)
MOUNT_CALLS = ("165", "428", "429", "430", "432", "442")
DOCKER = (
    "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,"
    "+mknod,+audit_write,+setfcap"
)
NOBODY_KNOWS = 54321  # has no entry in passwd


def is_root():
    return os.geteuid() == 0


class World:
    def __init__(self, name, enter, lacks=(), only=None, needs=()):
        """enter: words before pinfold, or a function that takes the box and gives them. lacks: (row, word of its remedy)."""
        self.name, self._enter, self.lacks, self.only, self.needs = name, enter, lacks, only, needs

    def enter(self, box):
        return self._enter(box) if callable(self._enter) else list(self._enter)


def without(capabilities):
    return ["setpriv", "--bounding-set", capabilities]


def refusing(*rules, calls=(), answer=None):
    """A seccomp filter around: (call, answer) for each rule, and one answer to many calls."""

    def enter(box):
        pairs = [*rules, *((call, answer) for call in calls)]
        words = [word for call, said in pairs for word in ("--refuse", call, said)]
        return [os.path.join(box.suite.programs, "outer"), *words, "--"]

    return enter


def no_namespaces(answer):
    """clone3 is hidden, because a filter cannot read its flags; clone and unshare are asked about theirs."""
    return refusing(("435", ENOSYS), (f"56:{NAMESPACES}", answer), (f"272:{NAMESPACES}", answer))


def shell(script, *before):
    return [*before, "/bin/sh", "-c", f'set -e; {script}; exec "$@"', "sh"]


def own_mounts(setup, then=()):
    """A mount namespace of its own, changed; an ordinary user is root of a user namespace there."""
    how = ["unshare", "-m"] if is_root() else ["unshare", "-Urm"]
    return [*shell(f"mount --make-rprivate /; {setup}", *how), *then]


def sysctl_is_zero(kind):
    return shell(f"echo 0 >/proc/sys/user/max_{kind}_namespaces", "unshare", "-Ur")


def in_pinfold(nested):
    def enter(box):
        pinfold = os.path.realpath(box.suite.pinfold)
        document = {"version": 1, "extends": ":workspace-write", "process": {"nested_namespaces": nested}}
        document["filesystem"] = {"read": [os.path.dirname(pinfold)]}
        policy = box.policy_file(document, f"outer-{nested}.json")
        names = [word for name in ("PINFOLD_TEST_MARK", "TMPDIR") for word in ("-e", name)]
        return box.words([], names, policy=policy, json_out=False)

    return enter


def in_bubblewrap(*more):
    def enter(box):
        return ["bwrap", "--unshare-all", *more, "--ro-bind", "/", "/", "--bind", box.dir, box.dir, "--proc", "/proc", "--dev", "/dev"]

    return enter


def fake_sysctl(name, value, filtered):
    """/proc/sys/kernel as another kernel shows it, and a filter that answers as that kernel does."""

    def enter(box):
        fake = box.make("sysctl")
        box.file(os.path.join(fake, name), f"{value}\n")
        keep = ["unshare", "-Um", "--map-current-user", "--keep-caps"]
        return [*shell(f"mount --bind {fake} /proc/sys/kernel", *keep), *filtered(box)]

    return enter


def masked_proc():
    files = [name for name in ("kcore", "keys", "timer_list", "sched_debug") if os.path.exists(f"/proc/{name}")]
    hidden = "; ".join(f"mount --bind /dev/null /proc/{name}" for name in files)
    folders = "; ".join(f"mount -t tmpfs -o ro t /proc/{name}" for name in ("acpi", "scsi", "fs") if os.path.isdir(f"/proc/{name}"))
    return own_mounts(f"{hidden}; {folders}; mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys")


def nobody(box):
    """A user without a name or a home, as a container's --user makes them."""
    if not reachable(box.suite.pinfold):
        raise Skip("an ordinary user cannot reach the pinfold that is tested")
    for path in (box.workspace, box.home, box.tmp):
        os.chown(path, NOBODY_KNOWS, NOBODY_KNOWS)
    ids = [f"--reuid={NOBODY_KNOWS}", f"--regid={NOBODY_KNOWS}", "--clear-groups"]
    return ["env", "-u", "HOME", "setpriv", *ids]


def hidden_processes(box):
    return own_mounts("mount -t proc -o hidepid=2 proc /proc", nobody(box))


def cgroup_mount(setup):
    def enter(_box):
        top = cgroups.mount_point()
        if top is None:
            raise Skip("no cgroup version 2 file system is mounted here")
        return own_mounts(setup.format(top=top))

    return enter


def changed_root(is_mount):
    """A root directory that is a mount, or a mere directory, as debootstrap and old chroots have it."""

    def enter(box):
        root = box.make("root")
        if is_mount:
            return own_mounts(f"mount --rbind / {root}", ["chroot", root])
        tops = [name for name in ("usr", "bin", "sbin", "lib", "lib64", "etc", "proc", "dev", "tmp", "sys") if os.path.exists(f"/{name}")]
        if not os.path.realpath(box.suite.pinfold).startswith(("/usr/", "/tmp/")):
            raise Skip("pinfold lies where the changed root does not show it")
        binds = "; ".join(f"mkdir -p {root}/{name}; mount --rbind /{name} {root}/{name}" for name in tops)
        return own_mounts(binds, [shutil.which("chroot", path="/usr/sbin:/usr/bin"), root])

    return enter


USER = [("user_namespace", "outer seccomp filter")]
MOUNT = [("mount_namespace", "outer seccomp filter")]
CHANGED_ROOT = [("user_namespace", "outside of a chroot")]  # the kernel lets nobody make any there

WORLDS = [
    World("root without CAP_SYS_ADMIN", without("-sys_admin"), only="root", needs=["setpriv"]),
    World("root without CAP_SETUID", without("-setuid"), only="root", needs=["setpriv"]),
    World("root without CAP_SETFCAP", without("-setfcap"), only="root", needs=["setpriv"]),
    World("root without CAP_KILL, CAP_CHOWN and CAP_DAC_OVERRIDE", without("-kill,-chown,-dac_override"), only="root", needs=["setpriv"]),
    World("root with a container's capabilities", without(DOCKER), only="root", needs=["setpriv"]),
    World("root without any capability", without("-all"), [("user_namespace", "CAP_SETFCAP")], "root", ["setpriv"]),
    World("a user without a name or a home", nobody, only="root", needs=["setpriv"]),
    World("root of a user namespace", ["unshare", "-Ur"], needs=["unshare"]),
    World("the same user in a user namespace", ["unshare", "-U", "--map-current-user"], needs=["unshare"]),
    World("pinfold with nested namespaces", in_pinfold(True)),
    World("pinfold", in_pinfold(False), USER),
    World("bubblewrap", in_bubblewrap(), only="user", needs=["bwrap"]),
    World("bubblewrap of root, which covers parts of proc", in_bubblewrap(), [("proc_masks", "/proc visible")], "root", ["bwrap"]),
    World("bubblewrap that forbids user namespaces", in_bubblewrap("--unshare-user", "--disable-userns"),
          [("user_namespace", "max_user_namespaces")], needs=["bwrap"]),
    World("a filter that hides clone3", refusing(("435", ENOSYS))),
    World("a filter that knows no netlink", refusing(("41=16", EAFNOSUPPORT))),
    World("a filter that answers EPERM to namespaces", no_namespaces(EPERM), USER),
    World("a filter that answers ENOSYS to namespaces", no_namespaces(ENOSYS), USER),
    World("a filter that kills who makes namespaces", no_namespaces("kill"), USER),
    World("a filter that answers EACCES to mounts", refusing(calls=MOUNT_CALLS, answer=EACCES), MOUNT),
    World("a filter that kills who mounts", refusing(calls=MOUNT_CALLS, answer="kill"), MOUNT),
    World("a filter that kills who sets a host name", refusing(("170", "kill")), [("uts_namespace", "outer seccomp filter")]),
    World("a security module that denies id maps", lambda box: [os.path.join(box.suite.programs, "outer"), "--read-only-proc", "--"],
          [("user_namespace", "security module")]),
    World("Ubuntu's restriction of user namespaces",
          fake_sysctl("apparmor_restrict_unprivileged_userns", 1, refusing(calls=MOUNT_CALLS, answer=EACCES)),
          [("mount_namespace", "apparmor_restrict_unprivileged_userns")], "user", ["unshare"]),
    World("Debian's restriction of user namespaces", fake_sysctl("unprivileged_userns_clone", 0, no_namespaces(EPERM)),
          [("user_namespace", "unprivileged_userns_clone")], "user", ["unshare"]),
    *(World(f"user.max_{kind}_namespaces 0", sysctl_is_zero(kind), [(f"{row}", f"user.max_{kind}_namespaces")], needs=["unshare"])
      for kind, row in (("user", "user_namespace"), ("mnt", "mount_namespace"), ("pid", "pid_namespace"), ("net", "network"),
                        ("ipc", "ipc_namespace"), ("cgroup", "cgroup_namespace"))),
    World("a proc that is masked as in a container", lambda _box: masked_proc(), [("proc_masks", "systempaths=unconfined")], needs=["unshare"]),
    World("a proc that hides others' processes", hidden_processes, only="root", needs=["unshare", "setpriv"]),
    World("a read-only cgroup file system", cgroup_mount("mount --bind {top} {top}; mount -o remount,bind,ro {top}"), needs=["unshare"]),
    World("no cgroup file system", cgroup_mount("mount -t tmpfs t {top}"), needs=["unshare"]),
    World("a changed root that is a mount", changed_root(True), CHANGED_ROOT, needs=["unshare", "chroot"]),
    World("a changed root that is a mere directory", changed_root(False), CHANGED_ROOT, needs=["unshare", "chroot"]),
]
