"""What violates each row of a report, for use in any surroundings.

A feature's script prints ESCAPED where the feature does not hold. It compares with where pinfold was started: outside()
tells it the namespaces there.
"""

NAMESPACES = ("user", "mnt", "pid", "ipc", "uts", "cgroup")


def outside():
    """Words before pinfold: a shell that keeps the names of the namespaces it is in, for `options()` to hand in."""
    keep = "; ".join(f"OUTSIDE_{name}=$(readlink /proc/self/ns/{name})" for name in NAMESPACES)
    names = " ".join(f"OUTSIDE_{name}" for name in NAMESPACES)
    return ["/bin/sh", "-c", f'{keep}; export {names}; exec "$@"', "sh"]


def options():
    return [word for name in NAMESPACES for word in ("-e", f"OUTSIDE_{name}")]


def same(name):
    here = f"$(readlink /proc/self/ns/{name})"
    return f'[ "$OUTSIDE_{name}" ] || echo ESCAPED, or nobody told where from; [ {here} = "$OUTSIDE_{name}" ] && echo ESCAPED'


FEATURES = {
    "user_namespace": same("user"),
    "mount_namespace": same("mnt"),
    "pid_namespace": f"{same('pid')}; [ $(ls -d /proc/[0-9]* | wc -l) -gt 12 ] && echo ESCAPED",
    "ipc_namespace": same("ipc"),
    "uts_namespace": same("uts"),
    "cgroup_namespace": f"{same('cgroup')}; grep -qv ':/$' /proc/self/cgroup && echo ESCAPED $(cat /proc/self/cgroup)",
    "network": "[ $(ls /sys/class/net 2>/dev/null | grep -vc '^lo$') -gt 0 ] && grep -v -e lo: -e '|' /proc/net/dev | grep -q : && echo ESCAPED",
    "identity": "[ $(id -u) = 0 ] && echo ESCAPED",
    "no_new_privs": "grep -q 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED",
    "capabilities": "grep -E '^Cap' /proc/self/status | grep -qv '0000000000000000' && echo ESCAPED",
    "seccomp": "unshare -U true 2>/dev/null && echo ESCAPED; grep -q 'Seccomp:.2' /proc/self/status || echo ESCAPED",
    "nested_namespaces": "unshare -U true 2>/dev/null && echo ESCAPED; unshare -Ur true 2>/dev/null && echo ESCAPED",
    "proc_masks": "(true >>/proc/sysrq-trigger) 2>/dev/null && echo ESCAPED; (true >>/proc/sys/kernel/core_pattern) 2>/dev/null && echo ESCAPED; "
    '[ "$(head -c 1 /proc/kcore 2>/dev/null | wc -c)" = 1 ] && echo ESCAPED',
    "devices": "mknod n c 1 3 2>/dev/null && echo ESCAPED; [ -e /dev/mem ] && echo ESCAPED; [ -e /dev/kmsg ] && echo ESCAPED; true",
    "setuid_files": "cp /bin/true t; chmod 4755 t; [ -u t ] && echo ESCAPED; rm -f t",
    "host_sockets": "find /run /var/run -type s 2>/dev/null | grep -q . && echo ESCAPED",
    "protected_paths": "mkdir -p .git/hooks; (echo x >.git/hooks/pre-commit) 2>/dev/null; [ -s .git/hooks/pre-commit ] && echo ESCAPED",
    "tree_kill": "(setsid sleep 300 >/dev/null 2>&1 &) ; true",
}
# Rows that say something about the launch and have nothing of their own to violate from a shell.
QUIET = {"landlock"}

# Processes that are gone before anybody looks, and that nobody waits for.
SHORT_LIVES = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(400):
    if os.fork() == 0:
        end = time.process_time() + 0.012
        while time.process_time() < end: pass
        os._exit(0)
    time.sleep(0.008)
print("ESCAPED")
"""

# Options, what exceeds the limit, and the status that must come of it.
LIMITS = {
    "wall_time": (["--timeout", "1"], "sleep 20", "timed_out"),
    "cpu_time": (["--cpu-time", "1", "--timeout", "20"], f"/usr/bin/python3 -c '{SHORT_LIVES}'", "cpu_time_exceeded"),
    "file_size": (
        ["--file-size", "4K"],
        "head -c 9000 /dev/zero >f; [ $(stat -c %s f) -gt 4096 ] && echo ESCAPED",
        None,
    ),
    "open_files": (["--open-files", "32"], "[ $(ulimit -n) = 32 ] || echo ESCAPED", None),
    "tmp_size": (
        ["--tmp-size", "4M"],
        "head -c 9000000 /dev/zero >/tmp/f; [ $(stat -c %s /tmp/f) -gt 4500000 ] && echo ESCAPED",
        None,
    ),
    "output": (["--max-output", "1K"], "yes | head -c 100000", None),
    "processes": (
        ["--pids", "10", "--timeout", "5"],
        "i=0; while [ $i -lt 40 ]; do sleep 3 & i=$((i+1)); done; echo ESCAPED",
        None,
    ),
    "memory": (
        ["--memory", "32M", "--timeout", "20"],
        "/usr/bin/python3 -c 'b = bytearray(200 << 20); import time; time.sleep(1); print(\"ESCAPED\")'",
        None,
    ),
    "cpus": (["--cpus", "1", "--timeout", "10"], "[ $(nproc) -gt 1 ] && echo SHARED", None),
}


def all_features(names):
    """One script for many; each speaks for itself and stops no other."""
    parts = [f"({FEATURES[name]}) | sed s/^/{name}:\\ /" for name in names]
    return "; ".join([*parts, "echo tried"])


def holds(name, result, row):
    """None where a limit held, else what did not."""
    status = LIMITS[name][2]
    if not result.ran or "ESCAPED" in result.out or status not in (None, result.status):
        return f"{name}: {result.brief()}"
    if name == "output" and len(result.out) > 1024:
        return f"{name}: {len(result.out)} bytes were kept"
    if name == "cpus" and row["mechanism"] == "affinity" and "SHARED" in result.out:
        return f"{name}: more CPUs than one"
    return None

