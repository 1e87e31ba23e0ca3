"""The contenders: how each is found and started with the isolation nearest to that of pinfold's default policy.

A peer is a function from a place (who starts it, where) and a command to the words that start it. What a peer needs
beside its program, a bundle of the container runtimes for instance, is made in the place. docs/performance.md tells the
differences that remain.
"""

import json
import os
import shutil

SEARCH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"
NAMESPACES = ("pid", "mount", "ipc", "uts", "network", "cgroup", "user")
MASKED = ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/acpi", "/proc/scsi"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
MOBY_PROFILE = "/usr/share/containers/seccomp.json"


class Peer:
    """words(place, command, more) starts it; end(place) is a command that ends the last one started, else it is killed."""

    def __init__(self, name, program, words, ender=None):
        self.name, self.program, self.words, self.ender = name, program, words, ender

    def why_not(self):
        return None if self.program is None or shutil.which(self.program, path=SEARCH) else f"{self.program} is not installed"


def plain(_place, command, _more=()):
    return list(command)


def pinfold(place, command, more=()):
    return [place.pinfold, "run", *more, "--", *command]


def bubblewrap(_place, command, _more=()):
    return ["bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
            "--tmpfs", "/tmp", "--tmpfs", "/run", *command]


def firejail(_place, command, _more=()):
    return ["firejail", "--quiet", "--noprofile", "--net=none", "--ipc-namespace", "--private-dev", "--private-tmp", "--read-only=/",
            "--caps.drop=all", "--nonewprivs", "--seccomp", *command]


def srt(_place, command, _more=()):
    return ["srt", *command]


def codex(_place, command, _more=()):
    return ["codex", "sandbox", "linux", "--", *command]


def crun(place, command, _more=(), profile=None):
    return ["crun", "--cgroup-manager=disabled", "--root", place.folder("crun"), "run", "--bundle",
            bundle(place, command, profile), place.new_id()]


def end_crun(place):
    return ["crun", "--cgroup-manager=disabled", "--root", place.folder("crun"), "kill", place.last_id(), "KILL"]


def crun_filtered(place, command, more=()):
    return crun(place, command, more, MOBY_PROFILE)


def runc(place, command, _more=()):
    return ["runc", "--rootless=true", "--root", place.folder("runc"), "run", "--bundle", bundle(place, command, None), place.new_id()]


def end_runc(place):
    return ["runc", "--rootless=true", "--root", place.folder("runc"), "kill", place.last_id(), "KILL"]


PEERS = [
    Peer("plain", None, plain),
    Peer("pinfold", None, pinfold),
    Peer("bubblewrap", "bwrap", bubblewrap),
    Peer("crun", "crun", crun, end_crun),
    Peer("runc", "runc", runc, end_runc),
    Peer("firejail", "firejail", firejail),
    Peer("srt", "srt", srt),
    Peer("codex", "codex", codex),
]


def found(names=None):
    """The peers that are asked for and installed here, and [(name, why not)] of the others."""
    asked = [peer for peer in PEERS if names is None or peer.name in names]
    return [peer for peer in asked if not peer.why_not()], [(peer.name, peer.why_not()) for peer in asked if peer.why_not()]


def absolute(words):
    """posix_spawn() looks for nothing in $PATH; what is not there is left for it to say."""
    return [shutil.which(words[0], path=SEARCH) or words[0], *words[1:]]


def bundle(place, command, profile):
    """The directory of a bundle for this command, made once: the system's directories read-only, nothing else of the host."""
    top = place.folder(f"bundle-{abs(hash((tuple(command), profile)))}")
    if os.path.exists(f"{top}/config.json"):
        return top
    mounts = [mount("proc", "proc"), mount("dev", "tmpfs", "nosuid", "mode=755", "size=64k"), mount("tmp", "tmpfs", "nosuid", "nodev")]
    mounts += [bind(name) for name in ("usr", "bin", "sbin", "lib", "lib64", "etc") if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")]
    mounts += [bind(place.top[1:])]
    for entry in mounts:
        os.makedirs(f"{top}/rootfs{entry['destination']}", exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{top}/rootfs/{name}")
    with open(f"{top}/config.json", "w", encoding="utf-8") as file:
        json.dump(configuration(place, command, mounts, profile), file)
    return top


def mount(target, kind, *options):
    return {"destination": f"/{target}", "type": kind, "source": kind, "options": list(options)}


def bind(name):
    return {"destination": f"/{name}", "type": "bind", "source": f"/{name}", "options": ["rbind", "ro", "nosuid"]}


def configuration(place, command, mounts, _profile):
    own = {"uid": os.geteuid(), "gid": os.getegid()}
    host = {"uid": 100000, "gid": 100000} if own["uid"] == 0 else own
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": list(command),
            "env": [f"PATH={SEARCH}"],
            "cwd": place.top,
            "noNewPrivileges": True,
            "capabilities": {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")},
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "bench",
        "mounts": mounts,
        "linux": {
            "namespaces": [{"type": kind} for kind in NAMESPACES],
            "uidMappings": [{"containerID": 0, "hostID": host["uid"], "size": 1}],
            "gidMappings": [{"containerID": 0, "hostID": host["gid"], "size": 1}],
            "maskedPaths": MASKED,
            "readonlyPaths": READ_ONLY,
        },
    }
