"""The report says what is true, and runs agree with it, in whatever surroundings pinfold is started."""

import json
import os

from blackbox import violations
from blackbox.box import Result
from blackbox.suite import Skip, case, check
from blackbox.worlds import WORLDS

# Without these there is no boundary, and no run in any mode.
ESSENTIAL = {"user_namespace", "mount_namespace", "pid_namespace", "proc_masks", "devices", "no_new_privs", "capabilities", "setuid_files"}
STRICT, BEST_EFFORT = (), ("--best-effort",)
SEPARATOR = "---- said"


class Inside:
    """pinfold, started in one world."""

    def __init__(self, world, box):
        self.box = box
        self.enter = world.enter(box)
        self.env = {**box.env, "PINFOLD_TEST_MARK": box.mark}
        code, out, err, _ = self.begin(["/bin/echo", "here"]).wait()
        if code != 0 or out != b"here\n":
            raise Skip(f"not to be had here: {(err or out).decode('utf-8', 'replace').strip()[:120]}")

    def begin(self, words):
        return self.box.begin([*self.enter, *words], env=self.env)

    def start(self, script, options):
        words = self.box.words(["/bin/sh", "-c", script, self.box.mark], [*violations.options(), *options])
        return self.begin([*violations.outside(), *words])

    def run(self, script, options):
        return self.start(script, options).result(60)

    def check(self, mode):
        """The report, asked for twice; nothing is left, and the answers are the same."""
        box = self.box
        ask = f'"$0" check --json {" ".join(mode)} -p {box.policy} -w {box.workspace} || true; echo "{SEPARATOR}"'
        look = f'cut -d" " -f4- /proc/self/mountinfo | sort; ls -A {box.tmp} {box.workspace} 2>&1; echo "{SEPARATOR}"'
        live = self.begin(["/bin/sh", "-c", f"{look}; {ask}; {ask}; {look}", box.suite.pinfold])
        code, out, err, seconds = live.wait(60)
        said = out.decode().split(SEPARATOR + "\n")
        check(code == 0 and len(said) == 5, f"exit {code} {out[-600:]!r} {err[-600:]!r}")
        before, first, second, after, _ = said
        check(before == after, f"{before}\nhas become\n{after}")
        answers = [json.loads(text) for text in (first, second)]
        check(answers[0] == answers[1], "two answers differ")
        check(answers[0].get("schema") == "pinfold.report/1" and seconds < 30, f"{answers[0]} {err!r}")
        return answers[0]


def rows_of(report):
    return {(of, row["name"]): (row["state"], row["mechanism"]) for of in ("features", "limits") for row in report[of]}


def lacks_of(report):
    return {row["name"]: row for of in ("features", "limits") for row in report[of] if row["state"] == "unenforceable"}


def check_texts(report):
    for of in ("features", "limits"):
        for row in report[of]:
            lacking = row["state"] in ("unenforceable", "degraded")
            check(not lacking or row["reason"], f"no reason: {row}")
            check(row["state"] != "unenforceable" or row["fix"], f"no remedy: {row}")
            check("No space left" not in (row["reason"] or ""), f"no device is full: {row}")


def check_agreement(report, result):
    """What a run says is what check said; limits that depend on how streams are joined aside."""
    ours, theirs = rows_of(report), rows_of(result.doc["enforcement"])
    differ = {
        key: (ours.get(key), theirs.get(key))
        for key in ours.keys() | theirs.keys()
        if ours.get(key) != theirs.get(key) and key != ("limits", "output")
    }
    check(not differ, f"check and run: {differ}")


def check_refused(inside, mode, report):
    result = inside.run("touch RAN", mode)
    check(result.code == 125 and not os.path.exists(inside.box.inside("RAN")), f"it ran: {result.brief()}")
    check(result.doc["code"] == "unenforceable", result.brief())
    told = [name for name in lacks_of(report) if name in result.doc["message"]]
    check(told and "No space left" not in result.doc["message"], f"{result.brief()}\n{list(lacks_of(report))}")
    check(any(row["fix"] in result.doc["message"] for row in lacks_of(report).values()), f"no remedy: {result.brief()}")


def check_features(inside, mode, report):
    inside.box.file(".git/hooks/pre-commit")
    names = [row["name"] for row in report["features"] if row["state"] == "enforced" and row["name"] not in violations.QUIET]
    result = inside.run("touch RAN; " + violations.all_features(names), mode)
    check(result.ran and os.path.exists(inside.box.inside("RAN")), result.brief())
    check("ESCAPED" not in result.out and "tried\n" in result.out, result.brief())
    check_agreement(report, result)


def check_limits(inside, mode, report):
    """All at the same time: most of it is waiting. Limits that the policy does not set are asked for here."""
    sampled = {row["name"] for row in report["limits"] if row["state"] == "degraded"}
    lives = {
        name: inside.start(f"mkdir -p {name}; cd {name}; {script}", [*mode, *options])
        for name, (options, script, _status) in violations.LIMITS.items()
        if name not in sampled
    }
    results = {name: live.result(60) for name, live in lives.items()}
    for name, result in results.items():
        row = result.row(name, "limits")
        broken = violations.holds(name, result, row) if row["state"] == "enforced" else None
        check(broken is None, broken)


def check_mode(inside, mode, expected):
    """The report of what ran, or None."""
    report = inside.check(mode)
    check_texts(report)
    lacks = lacks_of(report)
    for name, word in expected:
        check(name in lacks and word in lacks[name]["fix"], f"{name} should be lacking, the remedy being {word}: {lacks}")
    check(expected or not lacks, f"nothing should be lacking: {lacks}")
    check((report["verdict"] == "unenforceable") == bool(lacks), str(report["verdict"]))
    if lacks and (mode == STRICT or ESSENTIAL & lacks.keys()):
        check_refused(inside, mode, report)
        return None
    check_features(inside, mode, report)
    return report


def world_case(world):
    @case(f"what is said holds, and a run agrees with it, started in: {world.name}", only=world.only, needs=world.needs)
    def one(box):
        inside = Inside(world, box)
        strict = check_mode(inside, STRICT, world.lacks)
        best_effort = check_mode(inside, BEST_EFFORT, world.lacks)
        check(best_effort or not strict, "best-effort refuses what strict runs")
        if strict or best_effort:
            check_limits(inside, STRICT if strict else BEST_EFFORT, strict or best_effort)


for one_world in WORLDS:
    world_case(one_world)
