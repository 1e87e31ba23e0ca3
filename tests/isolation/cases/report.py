"""The report says what is true: each row that claims to hold is violated here, and the violation fails."""

import json
import os

from blackbox import host
from blackbox.suite import Skip, case, check

# What violates a feature: a script that prints ESCAPED where the feature does not hold.
FEATURES = {
    "user_namespace": f"[ $(readlink /proc/self/ns/user) = '{os.readlink('/proc/self/ns/user')}' ] && echo ESCAPED",
    "mount_namespace": f"[ $(readlink /proc/self/ns/mnt) = '{os.readlink('/proc/self/ns/mnt')}' ] && echo ESCAPED",
    "pid_namespace": "[ $(ls -d /proc/[0-9]* | wc -l) -gt 5 ] && echo ESCAPED",
    "ipc_namespace": f"[ $(readlink /proc/self/ns/ipc) = '{os.readlink('/proc/self/ns/ipc')}' ] && echo ESCAPED",
    "uts_namespace": f"[ $(readlink /proc/self/ns/uts) = '{os.readlink('/proc/self/ns/uts')}' ] && echo ESCAPED",
    "cgroup_namespace": "grep -qv ':/$' /proc/self/cgroup && echo ESCAPED $(cat /proc/self/cgroup)",
    "network": "[ $(ls /sys/class/net 2>/dev/null | grep -vc '^lo$') -gt 0 ] && grep -v -e lo: -e '|' /proc/net/dev | grep -q : && echo ESCAPED",
    "identity": f"[ $(id -u) = 0 ] && echo ESCAPED",
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


@case("every feature that is said to be enforced is, when it is violated")
def features(box):
    box.file(".git/hooks/pre-commit", "")
    first = box.sh("true")
    rows = {row["name"]: row for row in first.doc["enforcement"]["features"]}
    wanted = set(FEATURES) | QUIET
    check(wanted <= set(rows), f"rows missing: {wanted - set(rows)}")
    unknown = set(rows) - wanted
    check(not unknown, f"rows that nothing here violates: {unknown}")
    for name, script in FEATURES.items():
        if rows[name]["state"] != "enforced":
            check(rows[name]["reason"], f"{name} is {rows[name]['state']} without a reason")
            continue
        result = box.sh(script)
        check(result.ran and "ESCAPED" not in result.out, f"{name}: {result.brief()}")


LIMITS = {
    "wall_time": (["--timeout", "1"], "sleep 20", "timed_out"),
    "cpu_time": (["--cpu-time", "1", "--timeout", "20"], "while :; do :; done", "cpu_time_exceeded"),
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
    "cpus": (["--cpus", "1", "--timeout", "10"], "nproc", None),
}


@case("every limit that is said to be enforced is, when it is exceeded")
def limits(box):
    for name, (options, script, status) in LIMITS.items():
        result = box.sh(script, options=options)
        row = result.row(name, "limits")
        if row["state"] != "enforced":
            check(row["reason"], f"{name} is {row['state']} without a reason")
            continue
        check(
            row["mechanism"] and row["strength"] in ("kernel", "supervised") and row["scope"] in ("tree", "process"),
            str(row),
        )
        check(result.ran and "ESCAPED" not in result.out, f"{name}: {result.brief()}")
        check(status is None or result.status == status, f"{name}: {result.brief()}")


@case("check changes nothing, and twice says the same")
def check_is_quiet(box):
    def world():
        groups = sorted(root for root, _d, _f in os.walk("/sys/fs/cgroup/unified") if f"pinfold-{os.getpid()}" in root)
        return host.mounts(), groups, os.listdir(box.tmp), os.listdir(box.home), os.listdir(box.workspace)

    before, answers = world(), []
    for _ in range(2):
        code, out, err, _ = box.pinfold("check", "--json", "-p", box.policy, "-w", box.workspace)
        check(code in (0, 1), f"exit {code} {err!r}")
        answers.append(json.loads(out))
    check(answers[0] == answers[1], "two answers differ")
    check(world() == before, "something was left")


@case("check and run name the same mechanisms")
def check_agrees_with_run(box):
    for policy in (":read-only", ":workspace-write", ":eval", ":strict"):
        _code, out, err, _ = box.pinfold("check", "--json", "-p", policy, "-w", box.workspace)
        report = json.loads(out)
        run = box.sh("true", policy=policy)
        if run.doc["schema"] != "pinfold.result/1":
            check(report["verdict"] == "unenforceable", f"{policy}: check says {report['verdict']}, run says {run.doc}")
            continue
        for of in ("features", "limits"):
            ours = {row["name"]: (row["state"], row["mechanism"]) for row in report[of]}
            theirs = {row["name"]: (row["state"], row["mechanism"]) for row in run.doc["enforcement"][of]}
            differ = {
                name: (ours.get(name), theirs.get(name))
                for name in ours.keys() | theirs.keys()
                if ours.get(name) != theirs.get(name)
            }
            check(not differ, f"{policy}: {differ}")


@case("a mechanism asked for by name that is not there is refused, never replaced")
def named_mechanism(box):
    _code, out, _err, _ = box.pinfold("check", "--json", "--memory-strategy", "cgroup", "--memory", "64M")
    row = {r["name"]: r for r in json.loads(out)["limits"]}["memory"]
    result = box.run("/bin/touch", "RAN", options=["--memory-strategy", "cgroup", "--memory", "64M"])
    if row["state"] == "enforced":
        check(result.row("memory", "limits")["mechanism"] == "cgroup", result.brief())
        raise Skip("this machine has a memory controller: the refusal cannot be shown")
    check(result.code == 125 and not os.path.exists(box.inside("RAN")), result.brief())
    check("cgroup" in result.doc["message"] or "memory" in result.doc["message"], result.brief())
    result = box.run("/bin/touch", "RAN", options=["--require", "limits.memory=cgroup"])
    check(result.code == 125 and not os.path.exists(box.inside("RAN")), result.brief())
    result = box.run("/bin/touch", "RAN", options=["--memory-strategy", "cgroup", "--memory", "64M", "--best-effort"])
    check(result.code == 0 and result.row("memory", "limits")["state"] == "unenforceable", result.brief())


@case("usage is measured, sampled and said so, or null; never a false zero")
def usage(box):
    result = box.sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.1")
    used, sampled = result.doc["usage"], result.doc["usage_sampled"]
    check(used["wall_ms"] >= 100, str(used))
    for name in ("cpu_user_ms", "memory_peak_bytes", "processes_peak"):
        check(used[name] is None or used[name] > 0, f"{name}: {used} sampled {sampled}")
