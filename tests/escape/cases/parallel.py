"""Many runs in one workspace, of which some plant protected names."""

import collections
import os
import subprocess

from blackbox.box import PYTHON, Skip
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


# As base/name_claim.c does it, for names that were always there.
CLAIM = """
import fcntl, os, struct, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
for name in sys.argv[2:]:
    place = 14695981039346656037
    for byte in name.encode():
        place = (place ^ byte) * 1099511628211 % 2**64
    fcntl.fcntl(fd, 37, struct.pack('hhqqi4x', fcntl.F_RDLCK, os.SEEK_SET, place >> 2, 1, 0))  # F_OFD_SETLK
print('claimed', flush=True)
sys.stdin.read()
"""


@case("who can read the workspace, and claims names in it that stay, neither stops a run nor unprotects them")
def claimed_for_ever(box):
    box.file(".git/HEAD", "ref: refs/heads/main\n")
    box.file(".git/config", "[core]\n")
    box.file(".git/hooks/pre-commit", "")
    for path in (box.suite.base, box.dir, box.workspace):
        os.chmod(path, 0o755)
    other = {"user": 12345, "group": 12345, "extra_groups": []} if os.geteuid() == 0 else {}
    argv = [PYTHON, "-c", CLAIM, box.workspace, ".git/config", ".git/hooks", ".envrc"]
    claimer = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **other)
    try:
        check(claimer.stdout.readline() == b"claimed\n", "nothing is claimed")
        script = "echo x >.git/config; echo x >.git/hooks/pre-commit; mv .git/hooks h; echo x >.envrc; sleep 0.1; true"
        result = box.sh(script)
        check(result.ran and result.code == 0 and result.seconds < 5, result.brief())
    finally:
        claimer.communicate()
    with open(box.inside(".git/config"), encoding="utf-8") as file:
        check(file.read() == "[core]\n", "the configuration was written to")
    check(os.stat(box.inside(".git/hooks/pre-commit")).st_size == 0, "the hook was written to")
    check(not os.path.exists(box.inside(".envrc")), "what was planted is still there")
