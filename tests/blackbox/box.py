"""One test's own place on the host, and pinfold as a user would call it from there."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid

from blackbox import host

PYTHON = "/usr/bin/python3"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Failure(Exception):
    """What was promised did not hold."""


class Skip(Exception):
    """This machine lacks what the case needs; the text says what."""


def check(true, text):
    if not true:
        raise Failure(text)


def patient(words):
    """The words of a run with the time limits of a slow machine. One of 5 s and more is there for safety alone; a shorter
    one is there to be reached, once the command has done what it should, and is waited for: it grows less."""
    words = list(words)
    for n in range(1, len(words)):
        found = re.fullmatch(r"([1-9]\d*)(ms|s)?", str(words[n]))
        if found and words[n - 1] == "--timeout" and {"run", "wrap"} & set(words):
            time_limit = int(found[1]) * (1 if found[2] == "ms" else 1000)
            factor = host.SLOWNESS if time_limit >= 5000 else max(host.SLOWNESS / 3, 1)
            words[n] = f"{int(time_limit * factor)}ms"
    return words


class Result:
    """What `pinfold run --json` said, and how pinfold itself ended. `seconds` are those of a usual machine."""

    def __init__(self, code, out, err, seconds):
        self.code, self.raw, self.noise, self.seconds = code, out, err, seconds
        try:
            self.doc = json.loads(out)
        except ValueError:
            raise Failure(f"not one JSON document (exit {code}): {out[:400]!r} {err[:400]!r}") from None

    @property
    def status(self):
        return self.doc.get("status")

    @property
    def ran(self):
        return self.doc["schema"] == "pinfold.result/1" and self.status != "setup_failed"

    def stream(self, name):
        import base64

        stream = self.doc[name]
        return base64.b64decode(stream["data"]) if stream["encoding"] == "base64" else stream["data"].encode()

    @property
    def out(self):
        return self.stream("stdout").decode("utf-8", "replace") if "stdout" in self.doc else ""

    @property
    def err(self):
        return self.stream("stderr").decode("utf-8", "replace") if "stderr" in self.doc else ""

    def row(self, name, of="features"):
        for row in self.doc["enforcement"][of]:
            if row["name"] == name:
                return row
        raise Failure(f"the report has no row {name}")

    def violations(self, kind=None):
        return [v for v in self.doc["violations"] if kind in (None, v["kind"])]

    def brief(self):
        if self.doc["schema"] != "pinfold.result/1":
            return f"exit {self.code}: {self.doc}"
        facts = {key: self.doc[key] for key in ("status", "exit_code", "signal", "limit_hit", "violations", "error")}
        told = "\n".join(line for line in self.out.splitlines() if not line.startswith("held:"))
        return f"exit {self.code} {facts}\nstdout: {told[-1500:]}\nstderr: {self.err[-1500:]}"


class Live:
    """A run in progress."""

    def __init__(self, box, process):
        self.box, self.process, self.started = box, process, time.monotonic()

    def wait(self, seconds=30):
        try:
            out, err = self.process.communicate(timeout=seconds * host.SLOWNESS)
        except subprocess.TimeoutExpired:
            self.kill()
            host.end_marked(self.box.mark)
            raise Failure(f"pinfold did not end within {seconds} s: {self.process.args}") from None
        self.box.log(
            f"$ {' '.join(map(str, self.process.args))[:600]}\n  exit {self.process.returncode}: "
            f"{(out or b'')[:300]!r} {(err or b'')[-600:]!r}"
        )
        return self.process.returncode, out, err, (time.monotonic() - self.started) / host.SLOWNESS

    def result(self, seconds=30):
        return Result(*self.wait(seconds))

    def kill(self):
        """SIGKILL to pinfold itself. What it leaves may hold the streams, so nobody waits for their end."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


class Box:
    def __init__(self, suite, name):
        self.suite, self.name, self.transcript, self.lives = suite, name, [], []
        self.mark = "mark-" + uuid.uuid4().hex
        self.dir = tempfile.mkdtemp(prefix="case-", dir=suite.base)
        os.chmod(self.dir, 0o755)
        self.workspace, self.home, self.tmp = (self.make(part) for part in ("workspace", "home", "tmp"))
        self.policy = ":workspace-write"
        self.env = {"PATH": PATH, "HOME": self.home, "TMPDIR": self.tmp, "LANG": "C.UTF-8"}
        self.mounts_before = host.mounts()

    def log(self, text):
        self.transcript.append(text)

    # --- files of the case -------------------------------------------------------------------------------------------
    def make(self, *parts):
        path = os.path.join(self.dir, *parts)
        os.makedirs(path, exist_ok=True)
        return path

    def file(self, name, text="", mode=0o644):
        """A file of the workspace, or anywhere where the name is absolute."""
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def inside(self, name):
        return os.path.join(self.workspace, name)

    def program(self, name):
        """A hostile program of this suite, put into the workspace; its path."""
        target = self.inside(name)
        if not os.path.exists(target):
            shutil.copy(os.path.join(self.suite.programs, name), target)
            os.chmod(target, 0o755)
        return target

    def wait_for(self, name, seconds=10):
        check(host.wait_until(lambda: os.path.exists(self.inside(name)), seconds), f"{name} did not appear in time")

    # --- pinfold ------------------------------------------------------------------------------------------------------
    def pinfold(self, *words, outer=(), env=None, cwd=None, stdin=subprocess.DEVNULL, seconds=60, **popen):
        """Any call of pinfold: (exit status, stdout, stderr, seconds)."""
        return self.begin([self.suite.pinfold, *words], outer, env, cwd, stdin, **popen).wait(seconds)

    def begin(
        self,
        words,
        outer=(),
        env=None,
        cwd=None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **popen,
    ):
        words = words if host.SLOWNESS == 1 else patient(words)
        line = [os.path.join(self.suite.programs, "outer"), "--processes", "4000", *outer, "--", *words]
        process = subprocess.Popen(
            line,
            env=self.env if env is None else env,
            cwd=cwd or self.workspace,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            **popen,
        )
        live = Live(self, process)
        self.lives.append(live)
        return live

    def words(self, argv, options=(), policy=None, json_out=True):
        # No policy of the cases has a time limit of its own: what holds is the default, which `patient` has to see.
        unsaid = ["--timeout", "60s"] if host.SLOWNESS > 1 and "--timeout" not in options else []
        return [
            self.suite.pinfold,
            "run",
            *(["--json"] if json_out else []),
            "-p",
            policy or self.policy,
            "-w",
            self.workspace,
            "-e",
            f"PINFOLD_TEST_MARK={self.mark}",
            *unsaid,
            *options,
            "--",
            *argv,
        ]

    def start(self, *argv, options=(), policy=None, json_out=True, **how):
        return self.begin(self.words(argv, options, policy, json_out), **how)

    def run(self, *argv, options=(), policy=None, seconds=60, **how):
        return self.start(*argv, options=options, policy=policy, **how).result(seconds)

    def sh(self, script, **how):
        return self.run("/bin/sh", "-c", script, self.mark, **how)

    def python(self, script, **how):
        return self.run(PYTHON, "-c", script, self.mark, **how)

    def attack(self, name, *arguments, **how):
        """Runs a hostile program inside. It prints `held: WHAT` or `ESCAPED: WHAT` for each thing it tried."""
        result = self.run(self.program(name), *arguments, **how)
        return held(result)

    def policy_file(self, document, name="policy.json"):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.chmod(path, 0o644)
        return path

    # --- the end: what must be so after every case ---------------------------------------------------------------------
    def close(self):
        for live in self.lives:
            if live.process.poll() is None:
                live.kill()
        left = [] if host.none_left(self.mark) else host.marked(self.mark)
        host.end_marked(self.mark)
        troubles = [f"still alive afterwards: {left}"] if left else []
        if os.listdir(self.tmp):
            troubles.append(f"left in TMPDIR: {os.listdir(self.tmp)}")
        if host.set_id_files(self.dir):
            troubles.append(f"set-id files on the host: {host.set_id_files(self.dir)}")
        if host.mounts() != self.mounts_before:
            troubles.append("the mounts of the host are not what they were")
        groups = [group for live in self.lives for group in host.cgroups_of(live.process.pid)]
        if groups and not self.suite.killed_supervisors:
            troubles.append(f"cgroups left: {groups}")
        host.remove_tree(self.dir)
        return troubles


def held(result):
    """The program ran to its end, tried something, and nothing of it went through."""
    check(result.ran, f"the hostile program did not run: {result.brief()}")
    check("ESCAPED" not in result.out + result.err, f"it got through: {result.brief()}")
    check("held:" in result.out and result.code == 0, f"it did not try to its end: {result.brief()}")
    return result
