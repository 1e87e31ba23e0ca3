"""What pinfold finds there, and that what it says holds."""

import json

from blackbox.suite import case, check

LIMITS = ["--memory", "64M", "--pids", "50", "--timeout", "20"]


@case("check isolates there, and names how each thing is held")
def named(box):
    code, out, err, _seconds = box.pinfold("check", "--json", *LIMITS)
    check(code == 0, f"exit {code} {err!r}")
    report = json.loads(out)
    check(report["backend"] == "namespaces" and report["isolated"] is True, f"{report['backend']}")
    held = [row for row in report["features"] + report["limits"] if row["state"] in ("enforced", "degraded")]
    nameless = [row["name"] for row in held if not row["mechanism"]]
    check(held and not nameless, f"held by nobody knows what: {nameless}")
    wanted = {"user_namespace", "pid_namespace", "network", "seccomp", "memory", "processes", "wall_time"}
    missing = wanted - {row["name"] for row in held}
    check(not missing, f"not held: {missing}")


@case("memory beyond the limit ends the run, and no cgroup is left")
def memory(box):
    result = box.run(box.program("memory_hog"), "anonymous", "600", options=LIMITS)
    check(result.ran and "ESCAPED" not in result.out, result.brief())
    check(result.status != "exited" or "held" in result.out, result.brief())
