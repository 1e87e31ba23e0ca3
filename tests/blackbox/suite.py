"""Cases, run one after the other, each in a box of its own, as root or as an ordinary user, told as TAP.

A case is a function that takes a box and raises where a promise is broken:

    @case("a fifo of the host cannot be written to")
    def fifo(box):
        ...

A file of cases lies in the suite's folder cases/ and is found there by itself.
"""

import argparse
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from blackbox import host
from blackbox.box import PYTHON, Box, Failure, Skip, check  # check: for the cases

ORDINARY_USER = 65534
CASES = []


class Case:
    def __init__(self, name, function, only, needs):
        self.name, self.function, self.only, self.needs = name, function, only, needs

    def concerns(self, who):
        return self.only in (None, who)

    def why_not(self, omitted):
        if self.name in omitted:
            return omitted[self.name]
        missing = [
            name for name in self.needs if not shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
        ]
        return f"{missing[0]} is not installed" if missing else None


def case(name, only=None, needs=()):
    """Registers a case. only: 'root' or 'user', where the other's suite has nothing to see of it. needs: programs of the host that must be there."""

    def register(function):
        CASES.append(Case(name, function, only, needs))
        return function

    return register


class Suite:
    def __init__(self, pinfold, programs, base, omitted):
        self.pinfold, self.programs, self.base, self.omitted = pinfold, programs, base, omitted
        self.killed_supervisors = False
        # After which no more case is begun, on a machine that is slow and not to be waited for.
        self.seconds = float(os.environ["PINFOLD_TEST_SECONDS"]) if "PINFOLD_TEST_SECONDS" in os.environ else None

    def run_case(self, one):
        """None where it passed, else what went wrong."""
        why = one.why_not(self.omitted)
        if why:
            raise Skip(why)
        self.killed_supervisors = False
        box, trouble, skipped = Box(self, one.name), [], None
        try:
            with host.Guard(box.mark) as guard:
                one.function(box)
        except Skip as skip:
            skipped = skip
        except Failure as failure:
            trouble = [str(failure), *box.transcript[-4:]]
        except Exception:  # a mistake in a case is a failure of that case
            trouble = [traceback.format_exc(), *box.transcript[-4:]]
        if guard.over:
            trouble.append(f"stopped by the outer guard: {guard.over}")
        trouble += box.close()
        if skipped and not trouble:
            raise skipped
        return trouble

    def run(self, cases):
        print(f"TAP version 13\n1..{len(cases)}", flush=True)
        failed, started = 0, time.monotonic()
        for number, one in enumerate(cases, 1):
            name = one.name.replace("#", "no.")
            try:
                if self.seconds is not None and time.monotonic() - started > self.seconds:
                    raise Skip(f"the suite had {self.seconds:.0f} s on this machine, and they are over")
                trouble = self.run_case(one)
            except Skip as skip:
                print(f"ok {number} - {name} # SKIP {skip}", flush=True)
                continue
            print(f"{'not ok' if trouble else 'ok'} {number} - {name}", flush=True)
            failed += bool(trouble)
            for line in "\n".join(trouble).splitlines():
                print(f"# {line}", flush=True)
        return 1 if failed else 0


def load_cases(folder):
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            spec = importlib.util.spec_from_file_location(f"cases_{name[:-3]}", os.path.join(folder, name))
            spec.loader.exec_module(importlib.util.module_from_spec(spec))


def omitted_cases(suite):
    """{case: reason} of this suite from the table that $PINFOLD_TEST_OMITTED names, for machines that cannot have them."""
    omitted = {}
    if "PINFOLD_TEST_OMITTED" in os.environ:
        with open(os.environ["PINFOLD_TEST_OMITTED"], encoding="utf-8") as table:
            rows = [[part.strip() for part in line.split("|")] for line in table if line[:1] not in "#\n"]
        omitted = {name: why for of, name, why in rows if of == suite}
    unknown = omitted.keys() - {one.name for one in CASES}
    check(not unknown, f"the table of omitted cases names some that are not there: {unknown}")
    return omitted


def reachable(path):
    """Whether an ordinary user who is nobody's friend can read it."""
    path = os.path.realpath(path)
    while path != "/":
        if not os.stat(path).st_mode & (0o001 if os.path.isdir(path) else 0o005):
            return False
        path = os.path.dirname(path)
    return True


def installed_copy(pinfold, base):
    """An installation of the build that holds `pinfold`, where an ordinary user can reach it."""
    build = os.path.dirname(os.path.realpath(pinfold))
    while not os.path.isdir(os.path.join(build, "meson-info")):
        build = os.path.dirname(build)
        check(build != "/", f"{pinfold} lies in no build directory, and where it lies an ordinary user cannot reach it")
    subprocess.run(
        ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", f"{base}/installed"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found = subprocess.run(
        ["find", f"{base}/installed", "-path", "*/bin/pinfold"], check=True, capture_output=True, text=True
    )
    return found.stdout.split()[0]


AS_USER = ["setpriv", f"--reuid={ORDINARY_USER}", f"--regid={ORDINARY_USER}", "--clear-groups"]


def stage_for_user(pinfold, folder, base):
    """A copy of a suite's folder that an ordinary user can read, and a pinfold that he can reach; both paths."""
    stage = os.path.join(base, "stage")
    for part in ("blackbox", os.path.basename(folder)):
        shutil.copytree(os.path.join(os.path.dirname(folder), part), os.path.join(stage, part))
    pinfold = pinfold if reachable(pinfold) else installed_copy(pinfold, base)
    subprocess.run(["chown", "-R", f"{ORDINARY_USER}:{ORDINARY_USER}", base], check=True)
    return stage, pinfold


def become_user(options, folder, base):
    """Runs this very suite again as an ordinary user, from a copy that he can read; the exit status."""
    shutil.copytree(options.programs, os.path.join(base, "stage", "programs"))
    stage, pinfold = stage_for_user(options.pinfold, folder, base)
    line = [
        *AS_USER,
        PYTHON,
        os.path.join(stage, os.path.basename(folder), "run.py"),
        "--pinfold",
        pinfold,
        "--programs",
        os.path.join(stage, "programs"),
        "--base",
        base,
        "--as",
        "user",
        *options.pattern,
    ]
    return subprocess.run(line, check=False, env={**os.environ, "TMPDIR": base}).returncode


def take_signals():
    """As a terminal starts a program: what nohup or a shell's `&` ignores, every pinfold of the cases would ignore too."""
    for signo in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        if signal.getsignal(signo) == signal.SIG_IGN:
            signal.signal(signo, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGTERM, lambda *_unused: sys.exit("ended by SIGTERM"))  # so that what was made is removed


def main(folder):
    parser = argparse.ArgumentParser()
    parser.add_argument("--pinfold", default=os.environ.get("PINFOLD"), help="the built command (or $PINFOLD)")
    parser.add_argument("--programs", required=True, help="the directory of the built hostile programs")
    parser.add_argument("--as", dest="who", choices=("root", "user"), default="root" if os.geteuid() == 0 else "user")
    parser.add_argument("--base", help="an existing directory to work in")
    parser.add_argument("pattern", nargs="*", help="run only the cases whose names hold one of these")
    options = parser.parse_args()
    if not options.pinfold:
        parser.error("which pinfold? Give --pinfold or set PINFOLD")
    options.pinfold, options.programs = os.path.abspath(options.pinfold), os.path.abspath(options.programs)
    if options.who == "root" and os.geteuid() != 0:
        print("1..0 # SKIP not started by root")
        return 0
    take_signals()
    base = options.base or tempfile.mkdtemp(prefix="pinfold-tests-")
    os.chmod(base, 0o755)
    try:
        if options.who == "user" and os.geteuid() == 0:
            return become_user(options, folder, base)
        load_cases(os.path.join(folder, "cases"))
        mine = [one for one in CASES if one.concerns("root" if os.geteuid() == 0 else "user")]
        chosen = [one for one in mine if not options.pattern or any(part in one.name for part in options.pattern)]
        omitted = omitted_cases(os.path.basename(folder))
        return Suite(options.pinfold, options.programs, base, omitted).run(chosen)
    finally:
        if not options.base:
            host.remove_tree(base)


def start(file):
    sys.exit(main(os.path.dirname(os.path.abspath(file))))
