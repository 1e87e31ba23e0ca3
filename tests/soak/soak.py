#!/usr/bin/env python3
"""The long quiet run: very many launches of every kind, some at once, after which nothing may be left of any of them.

    soak.py PINFOLD [--launches N] [--at-once N] [--seed S] [--as root|user]

Every launch has to end as docs/errors.md knows it and as its kind allows (launches.py). What a killed supervisor leaves
has to be gone with the next run or `pinfold gc`. Afterwards processes, mounts, cgroups, files, network namespaces and
descriptors are what they were before (ground.py). Tells TAP; which launches there are follows from the seed alone, the
moments of the machine do not.
"""

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

import ground as grounds  # noqa: E402
import launches  # noqa: E402
from blackbox import host, suite  # noqa: E402
from blackbox.box import Failure, Skip, check  # noqa: E402

END_SECONDS = 40  # for what ends within one
SWEEP_SECONDS = 5
TOLD_MAX = 10  # of each kind of trouble
NEXT_RUNS = 4  # how often a killed supervisor's group is looked for, to be taken away by the next run and by gc


def begin(pinfold, ground, launch, mark):
    words = [pinfold, "run", *(["--json"] if launch.json_out else []), "-q", "-w", launch.workspace]
    return subprocess.Popen(
        [*words, "-e", f"PINFOLD_TEST_MARK={mark}", *launch.options, "--", *launch.argv],
        env=ground.env,
        cwd=launch.workspace,
        stdin=subprocess.DEVNULL if launch.stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class Killed:
    """The supervisors that were killed, and since when a run has had the time to take away what they left."""

    def __init__(self):
        self.lock, self.moments, self.newest_run = threading.Lock(), {}, 0.0

    def add(self, maker):
        with self.lock:
            self.moments[maker] = time.monotonic()

    def ran(self, begun):
        """A run that needs a group has ended, and had begun at this moment."""
        with self.lock:
            self.newest_run = max(self.newest_run, begun)

    def overdue(self):
        with self.lock:
            gone = {maker for maker, moment in self.moments.items() if moment < self.newest_run}
        host.wait_until(lambda: not gone & grounds.groups().keys(), SWEEP_SECONDS, 0.1)
        return sorted(gone & grounds.groups().keys())


class Soak:
    def __init__(self, options, ground):
        self.pinfold, self.seed = options.pinfold, options.seed
        self.total, self.at_once = options.launches, options.at_once
        self.ground, self.killed, self.lock = ground, Killed(), threading.Lock()
        self.numbers, self.makers, self.troubles, self.overdue = iter(range(self.total)), set(), [], set()
        self.ends, self.n_ended, self.started = collections.Counter(), 0, time.monotonic()

    # --- one launch -------------------------------------------------------------------------------------------------
    def send_signals(self, launch, process):
        for seconds, signo in launch.signals:
            try:
                process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                process.send_signal(signo)

    def carry_out(self, launch, mark):
        """Its End. What it started is dead then, which is looked after where the dice say so: it costs."""
        begun = time.monotonic()
        process = begin(self.pinfold, self.ground, launch, mark)
        launch.maker = maker = grounds.maker(process.pid)
        signaller = threading.Thread(target=self.send_signals, args=(launch, process))
        if launch.signals:
            signaller.start()
        try:
            out, err = process.communicate(launch.stdin, timeout=END_SECONDS * host.SLOWNESS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failure(f"no end within {END_SECONDS} s") from None
        finally:
            if launch.signals:
                signaller.join()
            with self.lock:
                self.makers.add(maker)
        if process.returncode < 0:
            self.killed.add(maker)
        elif ":eval" in launch.options and process.returncode not in (2, 125):
            self.killed.ran(begun)
        return launches.End(launch, process.returncode, out, err)

    def look_after(self, launch, mark, was_killed):
        left = [] if host.none_left(mark, 2 if was_killed else 0) else host.marked(mark)
        check(not left, f"still alive: {left}")
        check(was_killed or launch.maker not in grounds.groups(), "its cgroup is still there")

    def judge(self, number, launch):
        mark, end = f"{self.ground.mark}-{number}-", None
        try:
            end = self.carry_out(launch, mark)
            end.check_documented()
            launch.judge(end)
            if launch.is_looked_after:
                self.look_after(launch, mark, was_killed=end.code < 0)
        except Failure as failure:
            told = f"{failure}: {end.brief()}" if end else f"{failure}"
            self.troubles.append(f"{launch.kind} {launch.options} {launch.argv} {launch.signals}: {told}"[:1500])
        with self.lock:
            self.ends[end.label if end else f"{launch.kind}: no end"] += 1
            self.n_ended += 1

    def work(self):
        while True:
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                return
            try:
                self.judge(number, launches.draw(self.seed, number, self.ground))
            except Exception as error:  # a mistake in here is a failure, too, and ends no thread in silence
                self.troubles.append(f"launch {number}: {error!r}")

    # --- all of them ------------------------------------------------------------------------------------------------
    def tell(self, is_last=False):
        seconds = time.monotonic() - self.started
        rate = self.n_ended / seconds
        line = f"soak: {self.n_ended} of {self.total} launches, {seconds:.0f} s, {rate:.0f}/s"
        line += f", {len(self.troubles)} wrong"
        is_terminal = sys.stderr.isatty()
        print("\r" * is_terminal + line, end="\n" if is_last or not is_terminal else "", file=sys.stderr, flush=True)

    def run(self):
        workers = [threading.Thread(target=self.work, daemon=True) for _ in range(self.at_once)]
        for worker in workers:
            worker.start()
        told, pause = 0.0, 0.5 if sys.stderr.isatty() else 20
        while any(worker.is_alive() for worker in workers):
            time.sleep(0.2)
            if time.monotonic() - told > pause:
                told = time.monotonic()
                self.tell()
                self.overdue |= set(self.killed.overdue())
        self.tell(is_last=True)

    # --- what killed supervisors leave --------------------------------------------------------------------------------
    def leave_a_group(self, dice):
        """Kills supervisors until one leaves a group; its maker. None where that does not come about."""
        for _ in range(40):
            launch = launches.Launch(["-p", ":eval"], launches.shell(launches.SLEEP), None)
            launch.signals = [(dice.uniform(0.02, 0.1), signal.SIGKILL)]
            launch.workspace = self.ground.workspaces[0]
            before = set(self.killed.moments)
            self.carry_out(launch, self.ground.mark)
            new = set(self.killed.moments) - before
            if new & grounds.groups().keys():
                return new.pop()
        return None

    def left_after(self, words, seconds=SWEEP_SECONDS):
        """What of a killed supervisor is still there after this call of pinfold."""
        dice, left = random.Random(self.seed), []
        for _ in range(NEXT_RUNS):
            maker = self.leave_a_group(dice)
            if maker is None:
                return left or Skip("no killed supervisor left a cgroup here")
            done = subprocess.run([self.pinfold, *words], env=self.ground.env, cwd=self.ground.workspaces[0],
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if done.returncode != 0 or not host.wait_until(lambda: maker not in grounds.groups(), seconds, 0.05):
                left.append(f"{maker} after {words}: exit {done.returncode} {done.stderr!r}")
        return left

    def left_groups(self):
        host.wait_until(lambda: not self.makers & grounds.groups().keys(), SWEEP_SECONDS, 0.1)
        return sorted(self.makers & grounds.groups().keys())


def tell_tap(number, name, troubles):
    if isinstance(troubles, Skip):
        print(f"ok {number} - {name} # SKIP {troubles}", flush=True)
        return False
    troubles = list(troubles)
    print(f"{'not ok' if troubles else 'ok'} {number} - {name}", flush=True)
    for line in [str(trouble) for trouble in troubles[:TOLD_MAX]] + [f"{len(troubles)} in all"] * bool(troubles):
        print("# " + line.replace("\n", "\n# "), flush=True)
    return bool(troubles)


def launch_all(options, ground):
    """In the child below the subreaper: the launches, and what is seen while somebody can launch. Its status."""
    before = grounds.descriptors()
    soak = Soak(options, ground)
    with host.Guard(ground.mark) as guard:
        soak.run()
        after_run = soak.left_after(["run", "-q", "-p", ":eval", "--", "true"])
        after_gc = after_run if isinstance(after_run, Skip) else soak.left_after(["gc"])
    for end, n in sorted(soak.ends.items()):
        print(f"# {n:6} {end}")
    told = [
        ("every launch ended as documented, and as its kind allows", soak.troubles),
        ("the machine held", [guard.over] if guard.over else []),
        ("what killed supervisors left went away in the course", soak.overdue),
        ("what a killed supervisor left goes away with the next run", after_run),
        ("what a killed supervisor left goes away with gc", after_gc),
        ("no cgroup is left", soak.left_groups()),
        ("no descriptor is left", [grounds.descriptors()] if grounds.descriptors() != before else []),
    ]
    failed = [tell_tap(number, *line) for number, line in enumerate(told, 1)]
    assert len(failed) == LAUNCHED
    return int(any(failed))


LAUNCHED = 7  # lines that launch_all tells
HOST = 6  # lines about the host, afterwards


def soak(options, base):
    ground = grounds.Ground(base)
    before = grounds.Before(ground)
    print(f"TAP version 13\n1..{LAUNCHED + HOST}\n# {options.launches} launches, --seed {options.seed}", flush=True)
    status, orphans = grounds.under_a_subreaper(lambda: launch_all(options, ground))
    told = [("no process is left", orphans), *before.left()]
    failed = [tell_tap(LAUNCHED + number, *line) for number, line in enumerate(told, 1)]
    return int(status != 0 or any(failed))


def as_user(options, base):
    """The same as an ordinary user, from a copy that he can read; the exit status."""
    stage, pinfold = suite.stage_for_user(options.pinfold, os.path.dirname(os.path.abspath(__file__)), base)
    words = ["--launches", str(options.launches), "--at-once", str(options.at_once), "--seed", options.seed]
    line = [*suite.AS_USER, sys.executable, os.path.join(stage, "soak", "soak.py"), pinfold, *words]
    return subprocess.run(line, check=False, env={**os.environ, "TMPDIR": base}).returncode


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("pinfold", help="the built command")
    parser.add_argument("--launches", type=int, default=20000)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)))
    parser.add_argument("--as", dest="who", choices=("root", "user"), default="root" if os.geteuid() == 0 else "user")
    options = parser.parse_args()
    options.pinfold = os.path.abspath(options.pinfold)
    return options


def main():
    options = parsed()
    if options.who == "root" and os.geteuid() != 0:
        print("1..0 # SKIP not started by root")
        return 0
    suite.take_signals()
    base = tempfile.mkdtemp(prefix="pinfold-soak-")
    os.chmod(base, 0o755)
    try:
        if options.who == "user" and os.geteuid() == 0:
            return as_user(options, base)
        return soak(options, base)
    finally:
        host.remove_tree(base)


if __name__ == "__main__":
    sys.exit(main())
