"""Bundles of the container runtimes: the system's directories read-only and nothing else of the host, all namespaces, no capability.

The filter is the profile that podman and docker bring, where it is installed, reduced to what the runtimes read.
"""

import functools
import json
import os

PROFILE = "/usr/share/containers/seccomp.json"
SEARCH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
NAMESPACES = ("pid", "mount", "ipc", "uts", "network", "cgroup", "user")
MASKED = ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/acpi", "/proc/scsi"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
HOST_UID = 100000  # of the command, where root starts it


def made(place, command, filtered):
    """The directory of a bundle for this command, made once in a place."""
    name = "-".join(os.path.basename(word) for word in command).replace(" ", "-")
    top = place.folder(f"bundle-{name}{'-filtered' if filtered else ''}")
    if os.path.exists(f"{top}/config.json"):
        return top
    mounts = [mount("proc", "proc"), mount("dev", "tmpfs", "nosuid", "mode=755", "size=64k"), mount("tmp", "tmpfs", "nosuid", "nodev")]
    tops = [name for name in ("usr", "bin", "sbin", "lib", "lib64", "etc") if os.path.isdir(f"/{name}")]
    mounts += [bind(name) for name in [*tops, place.top[1:]] if not os.path.islink(f"/{name}")]
    for entry in mounts:
        os.makedirs(f"{top}/rootfs{entry['destination']}", exist_ok=True)
    for name in tops:
        if os.path.islink(f"/{name}"):
            os.symlink(os.readlink(f"/{name}"), f"{top}/rootfs/{name}")
    text = json.dumps(configuration(place, command, mounts, filtered))
    with open(f"{top}/config.json", "w", encoding="utf-8") as file:
        file.write(text)
    return top


def mount(target, kind, *options):
    return {"destination": f"/{target}", "type": kind, "source": kind, "options": list(options)}


def bind(name):
    return {"destination": f"/{name}", "type": "bind", "source": f"/{name}", "options": ["rbind", "ro", "nosuid"]}


def configuration(place, command, mounts, filtered):
    host = HOST_UID if place.uid == 0 else place.uid
    mapping = [{"containerID": 0, "hostID": host, "size": 1}]
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
            "uidMappings": mapping,
            "gidMappings": mapping,
            "maskedPaths": MASKED,
            "readonlyPaths": READ_ONLY,
            **({"seccomp": profile()} if filtered else {}),
        },
    }


@functools.cache
def profile():
    """The rules of the profile that concern this architecture and a process without capabilities."""
    with open(PROFILE, encoding="utf-8") as file:
        moby = json.load(file)
    rules = [rule for rule in moby["syscalls"] if concerns(rule.get("includes") or {}, rule.get("excludes") or {})]
    kept = ("names", "action", "errnoRet", "args")
    return {
        "defaultAction": moby["defaultAction"],
        "defaultErrnoRet": moby.get("defaultErrnoRet", 1),
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": [{key: rule[key] for key in kept if rule.get(key) is not None} for rule in rules],
    }


def concerns(includes, excludes):
    return "amd64" in includes.get("arches", ["amd64"]) and not includes.get("caps") and "amd64" not in excludes.get("arches", [])
