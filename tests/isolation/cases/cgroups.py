"""Limits held by the controllers of cgroup v2, in a place of the case's own: a directory that was delegated to it."""

import json
import os
import signal
import subprocess
import time
import uuid

from blackbox import cgroups, host
from blackbox.suite import Skip, case, check

HOG = "b = bytearray(300 << 20)"
QUICK = ["--timeout", "60"]


def mechanism(result, name):
    row = result.row(name, "limits")
    return row["state"], row["mechanism"]


def named(box, place):
    return {**box.env, "PINFOLD_CGROUP": place.path}


@case("a memory limit held by the kernel ends the whole tree, and is the reason that is given", needs=["python3"])
def memory(box):
    with cgroups.Place() as place:
        script = f"setsid sleep 300 & /usr/bin/python3 -c '{HOG}'; echo went on"
        result = box.sh(script, options=["--memory", "64M", *QUICK], env=named(box, place))
        check(mechanism(result, "memory") == ("enforced", "cgroup"), str(result.row("memory", "limits")))
        check(result.status == "out_of_memory" and result.code == 137, result.brief())
        check(result.doc["limit_hit"]["name"] == "memory" and result.doc["limit_hit"]["limit"] == 64 << 20, result.brief())
        check("went on" not in result.out, result.brief())
        check(result.doc["usage"]["memory_peak_bytes"] <= 64 << 20, str(result.doc["usage"]))
        check("memory_peak_bytes" not in result.doc["usage_sampled"], str(result.doc["usage_sampled"]))
        check(place.groups() == [], f"left: {place.groups()}")


@case("memory of many small processes is one sum", needs=["python3"])
def memory_of_many(box):
    with cgroups.Place() as place:
        script = "for i in $(seq 12); do /usr/bin/python3 -c 'b = bytearray(20 << 20); import time; time.sleep(40)' & done; wait"
        result = box.sh(script, options=["--memory", "100M", *QUICK], env=named(box, place))
        check(result.status == "out_of_memory", result.brief())


@case("memory below the limit is given, and nothing is said to have been met", needs=["python3"])
def memory_below(box):
    with cgroups.Place() as place:
        result = box.python("b = bytearray(40 << 20); print(len(b))", options=["--memory", "100M", *QUICK], env=named(box, place))
        check(result.status == "exited" and result.code == 0 and result.doc["limits_touched"] == [], result.brief())
        check(result.doc["usage"]["memory_peak_bytes"] >= 40 << 20, str(result.doc["usage"]))


@case("a kill for lack of memory outside of the run's own limit is not called its limit", needs=["python3"])
def memory_outside(box):
    with cgroups.Place() as place:
        cgroups.write(place.path + "/memory.max", str(80 << 20))
        if os.path.exists(place.path + "/memory.swap.max"):
            cgroups.write(place.path + "/memory.swap.max", "0")
        result = box.python(HOG, options=["--memory", "1G", *QUICK], env=named(box, place))
        check(result.status == "out_of_memory" and result.doc["limit_hit"] is None, result.brief())
        check(b"outside" in result.noise, result.noise.decode())


@case("a limit of processes is exact, and a refused fork is counted, not guessed")
def processes(box):
    with cgroups.Place() as place:
        result = box.run(box.program("fork_bomb"), "count", "20", options=["--pids", "20", *QUICK], env=named(box, place))
        check(mechanism(result, "processes") == ("enforced", "cgroup"), str(result.row("processes", "limits")))
        check("20 processes lived at once" in result.out, result.brief())
        check(result.doc["limits_touched"] == ["processes"] and "limits_touched" not in result.doc["usage_sampled"], str(result.doc))
        check(result.doc["usage"]["processes_peak"] == 20, str(result.doc["usage"]))
        result = box.sh("true & wait", options=["--pids", "20", *QUICK], env=named(box, place))
        check(result.doc["limits_touched"] == [], str(result.doc["limits_touched"]))


@case("a part of a CPU is held over the whole tree")
def cpus(box):
    with cgroups.Place() as place:
        script = "for i in 1 2 3; do while :; do :; done & done; sleep 5; exit 0"
        result = box.sh(script, options=["--cpus", "0.5", *QUICK], env=named(box, place))
        check(mechanism(result, "cpus") == ("enforced", "cgroup"), str(result.row("cpus", "limits")))
        usage = result.doc["usage"]
        used = usage["cpu_user_ms"] + usage["cpu_system_ms"]
        # The kernel lets each CPU overdraw by a slice at the end of each period.
        check(used <= 0.7 * usage["wall_ms"] + 200, str(usage))
        check(used >= 500, f"it should have been busy: {usage}")


@case("what a command sees and can write of its cgroup is nothing that holds it")
def out_of_reach(box):
    with cgroups.Place() as place:
        script = (
            "cat /proc/self/cgroup; for f in $(find /sys/fs/cgroup -name '*.max' -o -name cgroup.procs -o -name cgroup.kill 2>/dev/null); do "
            "(echo 0 >$f) 2>/dev/null && echo ESCAPED $f; done; mkdir /sys/fs/cgroup/x 2>/dev/null && echo ESCAPED; true"
        )
        result = box.sh(script, options=["--memory", "64M", *QUICK], env=named(box, place))
        check("0::/\n" in result.out and "ESCAPED" not in result.out, result.brief())


@case("a umask that takes the owner's own rights takes no limit away")
def umask(box):
    with cgroups.Place() as place:
        result = box.sh("true", options=["--memory", "64M", *QUICK], env=named(box, place), preexec_fn=lambda: os.umask(0o777))
        check(mechanism(result, "memory") == ("enforced", "cgroup"), str(result.row("memory", "limits")))
        check(place.groups() == [], f"left: {place.groups()}")


@case("with namespaces of its own a command cannot lift its limit", needs=["python3"])
def out_of_reach_nested(box):
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "process": {"nested_namespaces": True}})
    with cgroups.Place() as place:
        script = (
            "mkdir -p m; unshare -UrmC sh -c 'mount -t cgroup2 none m && echo mounted $(ls m | wc -l); mkdir m/sub 2>/dev/null && echo made; for f in $(find m -name "
            "memory.max -o -name memory.swap.max -o -name memory.high); do (echo max >$f) 2>/dev/null && echo ESCAPED $f; done'; "
            f"/usr/bin/python3 -c '{HOG}'; echo went on"
        )
        result = box.sh(script, options=["--memory", "64M", *QUICK], policy=policy, env=named(box, place))
        check("mounted" in result.out, f"there was nothing to try: {result.brief()}")
        check("made" not in result.out, f"it has groups of its own: {result.brief()}")
        check("ESCAPED" not in result.out and "went on" not in result.out, result.brief())
        check(result.status == "out_of_memory", result.brief())
        check(place.groups() == [], f"left: {place.groups()}")


@case("pinfold alone in a delegated cgroup goes into a leaf, limits, and leaves it as it was", needs=["python3"])
def alone(box):
    with cgroups.Place() as place:
        for _ in range(2):
            result = box.python(HOG, options=["--memory", "64M", *QUICK], preexec_fn=place.enter)
            check(mechanism(result, "memory") == ("enforced", "cgroup"), str(result.row("memory", "limits")))
            check(result.status == "out_of_memory", result.brief())
            check(place.groups() == [] and place.controllers() == [], f"left: {place.groups()} {place.controllers()}")


@case("others in the delegated cgroup are not moved, and the row says that they stand in the way")
def not_alone(box):
    with cgroups.Place() as place:
        group = place.path + "/group"
        os.mkdir(group)
        others = [
            subprocess.Popen(["sleep", "100"], preexec_fn=lambda at=at: cgroups.write(at + "/cgroup.procs", "0"))
            for at in (place.path, group)
        ]
        try:
            enter = lambda: cgroups.write(group + "/cgroup.procs", "0")  # noqa: E731
            result = box.sh("true", options=["--memory", "64M", *QUICK], preexec_fn=enter)
            row = result.row("memory", "limits")
            if os.geteuid() != 0:  # root has the root of the hierarchy left
                check(row["state"] == "degraded" and "other processes" in row["reason"] and row["fix"], str(row))
            for other, at in zip(others, (place.path, group)):
                check(str(other.pid) in cgroups.words(at + "/cgroup.procs"), "it was moved")
                # What the kernel would have taken makes a threaded domain, in which nothing can be started any more.
                check(cgroups.words(at + "/cgroup.type") == ["domain"], f"{at} is no domain any more")
        finally:
            for other in others:
                other.kill()
                other.wait()


@case("in a leaf of a delegated cgroup, groups are made beside it")
def beside(box):
    with cgroups.Place() as place:
        leaf = place.path + "/leaf"
        os.mkdir(leaf)
        result = box.sh("true", options=["--memory", "64M", *QUICK], preexec_fn=lambda: cgroups.write(leaf + "/cgroup.procs", "0"))
        check(mechanism(result, "memory") == ("enforced", "cgroup"), str(result.row("memory", "limits")))
        check(place.groups() == [leaf], f"left: {place.groups()}")


@case("what a killed supervisor left is swept by the next run and by gc, and no live run is touched")
def sweep(box):
    box.suite.killed_supervisors = True
    with cgroups.Place() as place:
        live = box.start("/bin/sleep", "100", options=["--memory", "64M"], env=named(box, place))
        dead = box.start("/bin/sleep", "100", options=["--memory", "64M"], env=named(box, place))
        check(host.wait_until(lambda: len(place.groups()) == 2, 20), f"not there: {place.groups()}")
        ours = [group for group in place.groups() if f"pinfold-{live.process.pid}-" in group]
        check(len(ours) == 1, str(place.groups()))
        dead.kill()
        check(host.wait_until(lambda: not host.marked(f"dead-{box.mark}"), 5), "it lives on")
        check(len(place.groups()) == 2, "its group should still be there")
        check(box.sh("true", options=["--memory", "64M"], env=named(box, place)).code == 0, "the next run")
        check(place.groups() == ours, f"left: {place.groups()}")
        dead = box.start("/bin/sleep", "100", options=["--memory", "64M"], env=named(box, place))
        check(host.wait_until(lambda: len(place.groups()) == 2, 20), f"not there: {place.groups()}")
        dead.kill()
        time.sleep(0.5)
        code, out, err, _ = box.pinfold("gc", env=named(box, place))
        check(code == 0 and place.groups() == ours, f"{code} {out!r} {err!r} {place.groups()}")
        check(live.process.poll() is None, "the live run was ended")
        live.process.send_signal(signal.SIGTERM)
        live.wait()
        check(place.groups() == [], f"left: {place.groups()}")


@case("gc gives a place back whose pinfold was killed there")
def recover(box):
    box.suite.killed_supervisors = True
    with cgroups.Place() as place:
        live = box.start("/bin/sleep", "100", options=["--memory", "64M"], preexec_fn=place.enter)
        check(host.wait_until(lambda: len(place.groups()) == 2, 20), f"not there: {place.groups()}")
        live.kill()
        time.sleep(0.5)
        code, _out, err, _ = box.pinfold("gc", env=named(box, place))
        check(code == 0 and place.groups() == [] and place.controllers() == [], f"{code} {err!r} {place.groups()}")


@case("locks of a confined command and of other readers stop no run")
def locks(box):
    with cgroups.Place() as place:
        script = f"exec 8<{place.path}; flock -x 8 2>/dev/null; exec 9<{place.path}/cgroup.procs; flock -x 9; : >locked; sleep 60"
        live = box.start("/bin/sh", "-c", script, options=["--memory", "64M"], env=named(box, place))
        box.wait_for("locked", 30)
        result = box.sh("true", options=["--memory", "64M", *QUICK], env=named(box, place))
        check(result.code == 0 and mechanism(result, "memory") == ("enforced", "cgroup"), result.brief())
        live.process.terminate()
        live.wait()
        check(place.groups() == [], f"left: {place.groups()}")


@case("root trusts no cgroup of a user's, who could take processes out of it", only="root")
def of_a_user(box):
    with cgroups.Place() as place:
        below = place.path + "/below"
        os.mkdir(below)
        os.chown(place.path, 65534, 65534)
        result = box.sh("true", options=["--memory", "64M", *QUICK], env={**box.env, "PINFOLD_CGROUP": below})
        row = result.row("memory", "limits")
        check(row["mechanism"] == "watchdog" and "65534" in row["reason"] and row["fix"], str(row))
        os.rmdir(below)


@case("a named cgroup that cannot be used is told, and no limit is called held by it")
def bad_names(box):
    names = ["relative", "/nowhere/at/all", box.workspace, "/sys/fs/cgroup/../../../tmp"]
    with cgroups.Place() as place:
        link = os.path.join(box.dir, "link")
        os.symlink(place.path, link)
        for name in [*names, link, place.path + "/../" + os.path.basename(place.path)]:
            env = {**box.env, "PINFOLD_CGROUP": name}
            result = box.sh("true", options=["--memory", "64M", *QUICK], env=env)
            row = result.row("memory", "limits")
            check(row["mechanism"] != "cgroup" and row["reason"], f"{name}: {row}")
        check(place.groups() == [], f"left: {place.groups()}")


@case("a group that can be made and not entered is found out by the launch, which then does without")
def unenterable(box):
    top = cgroups.mount_point()
    if top is None or os.geteuid() != 0:
        raise Skip("only root can make a threaded cgroup here, and only where cgroup version 2 is mounted")
    outer = os.path.join(top, f"case-{uuid.uuid4().hex[:8]}")
    inner = os.path.join(outer, "threads")
    os.makedirs(inner)
    try:
        cgroups.write(inner + "/cgroup.type", "threaded")
        for backend in ([], ["-p", ":unconfined"]):
            env = {**box.env, "PINFOLD_CGROUP": inner}
            code, out, err, _seconds = box.pinfold("run", "--json", *backend, "--memory", "64M", "-c", "echo ran", env=env)
            document = json.loads(out)
            check(code == 0 and document["stdout"]["data"] == "ran\n", f"{code} {out[:300]!r} {err!r}")
            row = next(row for row in document["enforcement"]["limits"] if row["name"] == "memory")
            check(row["mechanism"] != "cgroup" and row["reason"], f"{row}")
            check([name for name in os.listdir(inner) if name.startswith("pinfold-")] == [], "groups are left")
    finally:
        os.rmdir(inner)
        os.rmdir(outer)


@case("a read-only cgroup file system is a row with its remedy, not a failure", needs=["unshare"])
def read_only(box):
    if os.geteuid() != 0:
        raise Skip("only root can make a mount read-only")
    top = cgroups.mount_point()
    if top is None:
        raise Skip("no cgroup version 2 file system is mounted here")
    script = f"mount -o remount,bind,ro {top} && exec \"$@\""
    words = ["unshare", "-m", "sh", "-c", script, "sh", *box.words(["true"], ["--memory", "64M"])]
    result = box.begin(words).result(60)
    row = result.row("memory", "limits")
    check(result.code == 0 and row["mechanism"] == "watchdog" and row["fix"], f"{result.brief()} {row}")


@case("a command does not inherit its caller's exemption from being killed for lack of memory")
def exemption(box):
    def exempt():
        try:
            cgroups.write("/proc/self/oom_score_adj", "-700")
        except OSError:
            pass

    probe = subprocess.run(["cat", "/proc/self/oom_score_adj"], preexec_fn=exempt, stdout=subprocess.PIPE, check=True)
    if probe.stdout.strip() != b"-700":
        raise Skip("exempting a process needs CAP_SYS_RESOURCE")
    result = box.sh("cat /proc/self/oom_score_adj", preexec_fn=exempt)
    check(result.out.strip() == "0", result.brief())


@case("runs that fork until their time is over, one after the other, leave no cgroup")
def bombs(box):
    for _ in range(15):
        result = box.run(box.program("fork_bomb"), "double", box.mark, options=["--pids", "200", "--timeout", "300ms"])
        check(result.status in ("timed_out", "exited", "signaled"), result.brief())
        left = [group for live in box.lives for group in host.cgroups_of(live.process.pid)]
        check(not left, f"left: {left}")
