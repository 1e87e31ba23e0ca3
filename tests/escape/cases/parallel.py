"""Many runs in one workspace, of which some plant protected names."""

import collections
import os

from blackbox.box import Skip
from blackbox.suite import case, check

RUNS = 100
PLANT = "echo {} >.mcp.json; mkdir -p .vscode && echo {} >.vscode/tasks.json; mkdir -p .git/hooks; true"
PLANT_LONGER = "for i in 1 2 3 4 5 6 7 8 9 10; do echo {} >.envrc; sleep 0.02; done; true"


def start_all(box, scripts):
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 1 << 30:
        raise Skip(f"{len(scripts)} runs at once need more memory than is free here")
    lives = [box.start("/bin/sh", "-c", script, box.mark) for script in scripts]
    return [live.result(60) for live in lives]


def what_is_wrong(results):
    return collections.Counter(
        result.brief()[:300] for result in results if result.code != 0 or result.doc["schema"] != "pinfold.result/1"
    )


@case("a hundred runs in one workspace, some of which plant, do not disturb each other")
def some_plant(box):
    box.file(".git/HEAD", "ref: refs/heads/main\n")
    scripts = [f"echo {i} >out{i}; test $(cat out{i}) = {i}" if i % 4 else PLANT for i in range(RUNS)]
    scripts[2] = scripts[50] = PLANT_LONGER
    results = start_all(box, scripts)
    check(not what_is_wrong(results), f"failed: {what_is_wrong(results)}")
    left = sorted(name for name in os.listdir(box.workspace) if not name.startswith("out"))
    check(left == [".git"] and os.listdir(box.inside(".git")) == ["HEAD"], f"left: {left}")
    told = {(v["kind"], v["action"]) for result in results for v in result.doc["violations"]}
    check(told <= {("planted", "removed")}, f"told: {told}")
    check(any(result.doc["violations"] for result in results), "nothing was planted: the case shows nothing")


@case("a hundred runs in one workspace that do nothing wrong have nothing to report, and show no placeholder")
def none_plants(box):
    box.file(".git/HEAD", "ref: refs/heads/main\n")
    box.file(".mcp.json", "{}")
    scripts = [f"echo {i} >out{i}; ls -A | grep -v '^out' | grep -vx -e .git -e .mcp.json; true" for i in range(RUNS)]
    results = start_all(box, scripts)
    check(not what_is_wrong(results), f"failed: {what_is_wrong(results)}")
    seen = {line for result in results for line in result.out.split()}
    check(not seen, f"seen inside: {seen}")
    told = [v for result in results for v in result.doc["violations"]]
    check(not told, f"reported: {told}")
    check(open(box.inside(".mcp.json"), encoding="utf-8").read() == "{}", ".mcp.json was changed")
