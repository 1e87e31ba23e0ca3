"""The report says what is true: each row that claims to hold is violated here, and the violation fails."""

import json
import os

from blackbox import host, violations
from blackbox.suite import Skip, case, check

@case("every feature that is said to be enforced is, when it is violated")
def features(box):
    box.file(".git/hooks/pre-commit", "")
    first = box.sh("true")
    rows = {row["name"]: row for row in first.doc["enforcement"]["features"]}
    wanted = set(violations.FEATURES) | violations.QUIET
    check(wanted <= set(rows), f"rows missing: {wanted - set(rows)}")
    unknown = set(rows) - wanted
    check(not unknown, f"rows that nothing here violates: {unknown}")
    for name, script in violations.FEATURES.items():
        if rows[name]["state"] != "enforced":
            check(rows[name]["reason"], f"{name} is {rows[name]['state']} without a reason")
            continue
        words = box.words(["/bin/sh", "-c", script, box.mark], violations.options())
        result = box.begin([*violations.outside(), *words]).result(60)
        check(result.ran and "ESCAPED" not in result.out, f"{name}: {result.brief()}")


@case("every limit that is said to be enforced is, when it is exceeded")
def limits(box):
    for name, (options, script, _status) in violations.LIMITS.items():
        result = box.sh(script, options=options)
        row = result.row(name, "limits")
        if row["state"] != "enforced":
            check(row["reason"], f"{name} is {row['state']} without a reason")
            continue
        check(
            row["mechanism"] and row["strength"] in ("kernel", "supervised") and row["scope"] in ("tree", "process"),
            str(row),
        )
        broken = violations.holds(name, result, row)
        check(broken is None, broken)


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


@case("a limit of CPU time ends nobody who sleeps, and what the clock ends is not called CPU time")
def sleeper(box):
    result = box.sh("sleep 1.5", options=["--cpu-time", "1", "--timeout", "none"])
    check(result.status == "exited" and result.code == 0 and result.doc["limit_hit"] is None, result.brief())
    result = box.sh("sleep 20", options=["--cpu-time", "5", "--timeout", "500ms"])
    check(result.status == "timed_out" and result.doc["limit_hit"]["name"] == "wall_time", result.brief())


def version_1(pid):
    lines = host.read(f"/proc/{pid}/cgroup").decode().splitlines()
    return sorted(line for line in lines if not line.startswith("0::"))


@case("where cgroup version 1 is mounted too, nothing is made in it, and nobody is moved")
def hybrid(box):
    if not version_1("self"):
        raise Skip("there is no hierarchy of cgroup version 1 here")
    live = box.start("/bin/sh", "-c", "true >started; sleep 20", box.mark, options=["--memory", "64M", "--cpus", "1"])
    box.wait_for("started")
    found = host.marked(box.mark)
    moved = {pid: version_1(pid) for pid, _command in found if version_1(pid) not in ([], version_1("self"))}
    made = [
        line.split()[4] + "/" + name
        for line in host.read("/proc/self/mountinfo").decode().splitlines()
        if " - cgroup " in line
        for name in os.listdir(line.split()[4])
        if "pinfold" in name
    ]
    live.process.terminate()
    live.wait()
    check(len(found) >= 2, f"nothing to look at: {found}")
    check(not moved and not made, f"moved {moved}, made {made}")
