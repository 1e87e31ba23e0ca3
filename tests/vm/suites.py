#!/usr/bin/env python3
"""Runs the black-box suites on the emulated machine with cgroup v2, as root and as a user in a cgroup of his own, and
the cases of this directory on the one with systemd, in each of the places that a command can have there.

    suites.py BUILD [SUITE-WHO...] [-- PATTERN...]

Prints every line of every suite under its name, and leaves them in BUILD/meson-logs/vm.json, in the form of meson's
testlog.json, for tests/count.py. The same file runs on both sides: on the host it puts together what a machine needs;
there, called as `suites.py in-guest MACHINE`, it runs the suites side by side.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
# The suites of each machine, longest first, and how to start it.
SUITES = {
    "plain": ["isolation-root", "isolation-user", "escape-user", "escape-root", "cli-root", "cli-user", "manifest-user", "manifest-root",
              "archive-root", "archive-user"],
    "systemd": ["systemd-user", "systemd-root", "systemd-bare", "systemd-service"],
}
BOOT = {"plain": ["run"], "systemd": ["systemd", "--service"]}
# They wait more than they compute, so that three at a time keep two emulated processors busy.
SIDE_BY_SIDE = 3
SLOWNESS = 15
SUITE_SECONDS = 2400
UNAVAILABLE = 77


# --- on the host ---------------------------------------------------------------------------------------------------
def stage(build, job):
    """What the suites need, in the directory that both machines see."""
    for part in ("archive", "blackbox", "cli", "escape", "isolation", "manifest"):
        shutil.copytree(os.path.join(TESTS, part), os.path.join(job, "tests", part))
    shutil.copytree(HERE, os.path.join(job, "tests", "vm"))
    programs = os.path.join(build, "tests", "escape")
    os.mkdir(os.path.join(job, "programs"))
    for name in os.listdir(programs):
        if os.path.isfile(os.path.join(programs, name)):
            shutil.copy(os.path.join(programs, name), os.path.join(job, "programs"))
    subprocess.run(
        ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", os.path.join(job, "installed")],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def results(job, suites):
    """What each suite left, in the form of a line of testlog.json; a suite that left nothing has failed."""
    for suite in suites:
        path = os.path.join(job, f"{suite}.json")
        lost = {"result": "FAIL", "returncode": -1, "stdout": "", "stderr": "the machine ended before the suite"}
        try:
            with open(path, encoding="utf-8") as file:
                yield {**json.load(file), "name": f"vm-{suite}"}
        except (OSError, ValueError):
            yield {**lost, "name": f"vm-{suite}"}


def seconds_each(suites):
    """What each suite may take where $PINFOLD_VM_MINUTES bounds a machine; what it does not come to is skipped by name."""
    minutes = os.environ.get("PINFOLD_VM_MINUTES")
    return None if minutes is None else float(minutes) * 60 * min(1, SIDE_BY_SIDE / len(suites))


def on_machine(machine, build, suites, patterns):
    """What its suites told."""
    job = tempfile.mkdtemp(prefix="pinfold-vm-job-")
    try:
        stage(build, job)
        with open(os.path.join(job, "wanted.json"), "w", encoding="utf-8") as file:
            json.dump([suites, patterns, seconds_each(suites)], file)
        guest = ["/usr/bin/python3", "/job/tests/vm/suites.py", "in-guest", machine]
        line = [os.path.join(HERE, "vm.sh"), *BOOT[machine], "--", *guest]
        vm = subprocess.run(line, env={**os.environ, "PINFOLD_VM_JOB": job}, stderr=subprocess.PIPE, text=True, check=False)
        sys.stderr.write(vm.stderr)
        if vm.returncode == UNAVAILABLE:
            return [{"name": f"vm, {machine}", "result": "SKIP", "returncode": UNAVAILABLE, "stderr": vm.stderr}]
        return list(results(job, suites))
    finally:
        shutil.rmtree(job)


def on_host(build, wanted, patterns):
    told = []
    for machine, suites in SUITES.items():
        chosen = [suite for suite in suites if suite in wanted]
        told += on_machine(machine, build, chosen, patterns) if chosen else []
    with open(os.path.join(build, "meson-logs", "vm.json"), "w", encoding="utf-8") as log:
        log.writelines(json.dumps(one) + "\n" for one in told)
    if all(one["result"] == "SKIP" for one in told):
        return UNAVAILABLE
    return 1 if any(one["result"] not in ("OK", "SKIP") for one in told) else 0


# --- on the machine --------------------------------------------------------------------------------------------------
def line_for(machine, suite, words):
    """The command that runs `words` in the place that the suite is about."""
    who = suite.split("-")[1]
    guest = "/job/.vm/guest.sh"
    if machine == "plain":
        return [guest, "enter", who, *words]
    path = f"/run/{suite}.command"
    with open(path, "w", encoding="utf-8") as file:
        file.write(shlex.join(words))
    return [guest, "session", who, path]


def run_suite(machine, suite, patterns, seconds, place):
    name, who = suite.split("-")
    folder, who = {"systemd": "vm"}.get(name, name), {"bare": "user", "service": "root"}.get(who, who)
    pinfold = subprocess.run(["find", f"{place}/installed", "-path", "*/bin/pinfold"], capture_output=True, text=True, check=True)
    settings = [f"PINFOLD_TEST_SLOWNESS={SLOWNESS}", f"PINFOLD_TEST_OMITTED={place}/tests/vm/omitted.txt"]
    settings += [f"PINFOLD_TEST_SECONDS={seconds}"] if seconds is not None else []
    words = ["env", *settings, sys.executable, f"{place}/tests/{folder}/run.py", "--as", who]
    words += ["--pinfold", pinfold.stdout.strip(), "--programs", f"{place}/programs", *patterns]
    line = line_for(machine, suite, words)
    process = subprocess.Popen(
        ["timeout", str(SUITE_SECONDS), *line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    told, started = [], time.monotonic()
    for row in process.stdout:
        told.append(row)
        print(f"vm-{suite} {time.monotonic() - started:4.0f} s: {row}", end="", flush=True)
    code = process.wait()
    result = {0: "OK", 124: "TIMEOUT"}.get(code, "FAIL")
    with open(f"/job/{suite}.json", "w", encoding="utf-8") as file:
        json.dump({"result": result, "returncode": code, "stdout": "".join(told)}, file)
    return code


def in_guest(machine):
    with open("/job/wanted.json", encoding="utf-8") as file:
        suites, patterns, seconds = json.load(file)
    place = "/scratch/staged"  # not on 9p, whose files behave in ways of their own
    os.mkdir(place)
    for part in ("tests", "programs", "installed"):
        shutil.copytree(f"/job/{part}", f"{place}/{part}")
    os.mkdir("/scratch/root", 0o700)  # root's home on a file system like that of most machines: the overlay cannot be id-mapped
    subprocess.run(["mount", "--bind", "/scratch/root", "/root"], check=True)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        codes = list(pool.map(lambda suite: run_suite(machine, suite, patterns, seconds, place), suites))
    return 1 if any(codes) else 0


def main(words):
    if words[0] == "in-guest":
        return in_guest(words[1])
    build, *rest = words
    cut = rest.index("--") if "--" in rest else len(rest)
    known = [suite for suites in SUITES.values() for suite in suites]
    suites, patterns = rest[:cut] or known, rest[cut + 1 :]
    unknown = set(suites) - set(known)
    if unknown:
        print(f"unknown suites: {unknown}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    return on_host(os.path.abspath(build), suites, patterns)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
