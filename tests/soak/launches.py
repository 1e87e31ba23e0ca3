"""What one launch of the long run is: a kind, drawn by weight, and all about it drawn from the seed and its number.

A kind is a function of dice and ground that makes a Launch; how it may end is a judge's to say. Beyond that every end
has to be one that docs/errors.md knows, whatever the kind.
"""

import base64
import json
import random
import signal

from blackbox.box import Failure, check

PRIVATE = (":read-only", ":eval", ":strict")  # nothing in the workspace can be planted, or nothing of it is protected
ANY_SIGNAL = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SLEEP = "exec sleep 30"
CHILDREN = "sleep 30 & (sleep 30; true) & sh -c 'sleep 30 | sleep 30' & wait"
DAEMONS = "setsid sleep 300 & (setsid sh -c 'sleep 300 & sleep 300' &) ; sleep 0.02"
STUBBORN = "trap '' TERM INT HUP; while :; do sleep 1; done"
NOISY = "yes | head -c 20000000; exec sleep 30"
HOG = "head -c 100M /dev/zero | tail | sleep 30"  # tail keeps it all, and waits for a reader
PLANT = "echo {} >.mcp.json; mkdir -p .vscode && echo {} >.vscode/tasks.json; true"
PLANT_ABSENT = "echo x >absent; echo x >deep/absent/name; true"
# All that does not end by itself.
ENDLESS = (SLEEP, CHILDREN, f"{DAEMONS}; {SLEEP}", STUBBORN, NOISY)

# pinfold's exit status for each status of a result, from the result itself.
STATUS = {
    "exited": lambda doc: {doc["exit_code"]},
    "signaled": lambda doc: {128 + doc["signal_number"]},
    "timed_out": lambda _doc: {124},
    "cpu_time_exceeded": lambda _doc: {124},
    "out_of_memory": lambda _doc: {137},
    "cancelled": lambda _doc: {128 + signo for signo in ANY_SIGNAL},
    "setup_failed": lambda doc: {"not_found": {127}, "permission_denied": {126}, "limit": {126}}[doc["error"]["code"]],
}
ERRORS = set(
    "policy_invalid unenforceable backend_unavailable unsupported not_found permission_denied limit io no_memory usage"
    " workspace_root_not_found internal".split()
)

# What is told of an end that is not as it should be.
TOLD = ("status", "exit_code", "signal", "limit_hit", "violations", "survivors_killed", "error", "code", "message")


class Launch:
    def __init__(self, options, argv, judge, *, stdin=None, signals=(), json_out=True):
        self.options, self.argv, self.judge, self.json_out = list(options), list(argv), judge, json_out
        self.stdin = stdin  # None: nothing; bytes: a pipe; str: the file of this name
        self.signals = signals  # [(seconds after the one before, signal)] for pinfold itself
        self.kind, self.maker, self.is_looked_after = None, None, False

    @property
    def is_killed(self):
        return any(signo == signal.SIGKILL for _moment, signo in self.signals)


class End:
    """How a launch ended. `doc` is its JSON document, where one was asked for and printed."""

    def __init__(self, launch, code, out, err):
        self.launch, self.code, self.out, self.err, self.doc = launch, code, out, err, None
        if launch.json_out and code >= 0:
            try:
                self.doc = json.loads(out)
            except ValueError:
                raise Failure(f"exit {code}, and not one JSON document: {out[:400]!r} {err[:400]!r}") from None

    @property
    def status(self):
        """The status of a result, or for an error document its code, or what only the exit status tells."""
        if self.doc is None:
            return f"signal {-self.code}" if self.code < 0 else f"exit {self.code}"
        return self.doc["status"] if self.doc["schema"] == "pinfold.result/1" else self.doc["code"]

    @property
    def label(self):
        """For the count of what there was."""
        violations = self.doc.get("violations") if self.doc else None
        return f"{self.launch.kind}: {self.status}{' with violations' if violations else ''}"

    def stream(self, name):
        if self.doc is None:
            return {"stdout": self.out, "stderr": self.err}[name]
        stream = self.doc[name]
        return base64.b64decode(stream["data"]) if stream["encoding"] == "base64" else stream["data"].encode()

    def check_documented(self):
        if self.doc is None:
            return
        if self.doc["schema"] == "pinfold.result/1":
            check(self.status in STATUS, f"no such status: {self.status}")
            broken = self.code == 125 and self.doc["error"] is not None
            check(broken or self.code in STATUS[self.status](self.doc), f"exit {self.code} with {self.status}")
        else:
            check(self.doc["schema"] == "pinfold.error/1" and self.status in ERRORS, f"no such error: {self.status}")
            check(self.code == (2 if self.status == "usage" else 125), f"exit {self.code} with {self.status}")

    def brief(self):
        facts = self.doc and {key: self.doc[key] for key in TOLD if key in self.doc}
        out = self.out[:200] if self.doc is None else b""
        return f"exit {self.code} {facts} stdout {out!r} stderr {self.err[-400:]!r}"


# --- judges -----------------------------------------------------------------------------------------------------------
def exits(code, out=None, survivors=0):
    def judge(end):
        check(end.status in ("exited", f"exit {code}") and end.code == code, "another end")
        check(out is None or end.stream("stdout") == out, "another output")
        check(end.doc is None or end.doc["survivors_killed"] >= survivors, "nothing survived the command")

    return judge


def ends(*statuses):
    def judge(end):
        check(end.status in statuses, "another end")

    return judge


def cancelled(signo):
    """The cancellation, or the signal's own work where pinfold was not yet up to take it."""

    def judge(end):
        check(end.status in ("cancelled", f"exit {128 + signo}", f"signal {signo}"), "another end")
        check(end.code in (128 + signo, -signo), "another signal")

    return judge


def flooded(size, kept):
    def judge(end):
        stream = end.doc["stdout"]
        check(end.status == "exited" and stream["bytes"] == size, "another number of bytes")
        check(stream["truncated"] and abs(stream["kept"] - kept) < 8, f"kept {stream['kept']}")

    return judge


def planted(end):
    """Another run in the same workspace may have seen and removed it first; nobody may have seen anything else."""
    check(end.status == "exited" and end.code == 0, "another end")
    told = {(violation["kind"], violation["action"]) for violation in end.doc["violations"]}
    check(told <= {("planted", "removed")}, f"told {told}")


# --- kinds ------------------------------------------------------------------------------------------------------------
KINDS = []


def kind(weight):
    def register(function):
        KINDS.append((weight, function))
        return function

    return register


def shell(script):
    return ["/bin/sh", "-c", script]


def any_policy(dice, ground):
    return ["-p", dice.choice((*PRIVATE, ":workspace-write", ":unconfined", ground.policy))]


def planting(dice, ground):
    """(options, script) of a command that plants names which its policy protects, and which are not there."""
    return dice.choice(((["-p", ":workspace-write"], PLANT), (["-p", ground.policy], f"{PLANT}; {PLANT_ABSENT}")))


def endless(dice, ground, may_plant):
    """The same of a command that has to be ended. What plants needs a supervisor that lives to take it away."""
    if may_plant and dice.random() < 0.2:
        options, script = planting(dice, ground)
        return options, f"{script}; {SLEEP}"
    return any_policy(dice, ground), dice.choice(ENDLESS)


def moment(dice):
    """Seconds: as often within a launch as after it."""
    return dice.uniform(0, 0.02) if dice.random() < 0.5 else dice.uniform(0, 0.25)


@kind(8)
def success(dice, ground):
    code, word = dice.choice((0, 0, 1, 7, 124, 255)), f"{dice.random()}"
    judge = exits(code, f"{word}\n".encode())
    return Launch(any_policy(dice, ground), shell(f"echo {word}; exit {code}"), judge, json_out=dice.random() < 0.7)


@kind(4)
def children(dice, ground):
    n, code = dice.randint(1, 12), dice.randint(0, 255)
    script = f"for i in $(seq {n}); do (sleep 0.0{dice.randint(1, 9)}; echo .) & done; wait; exit {code}"
    return Launch(any_policy(dice, ground), shell(script), exits(code, b".\n" * n))


@kind(4)
def daemons(dice, ground):
    code = dice.randint(0, 255)
    return Launch(any_policy(dice, ground), shell(f"{DAEMONS}; exit {code}"), exits(code, b"", survivors=1))


@kind(4)
def stdin_given(dice, ground):
    data, options = b"%d\n" % dice.getrandbits(64) * dice.choice((1, 100, 20000)), any_policy(dice, ground)
    if dice.random() < 0.3:
        return Launch([*options, "--stdin", ground.input], ["cat"], exits(0, ground.input_data))
    if dice.random() < 0.5:
        return Launch([*options, "--stdin", "-"], ["cat"], exits(0, data), stdin=data)
    return Launch(options, ["cat"], exits(0, data), stdin=data, json_out=False)


@kind(6)
def time_out(dice, ground):
    options, script = endless(dice, ground, may_plant=True)
    options += ["--timeout", f"{dice.choice((dice.randint(1, 20), dice.randint(1, 250)))}ms"]
    options += ["--kill-after", "20ms"] if dice.random() < 0.3 else []
    json_out = dice.random() < 0.7
    return Launch(options, shell(script), ends("timed_out", "exit 124"), json_out=json_out)


@kind(6)
def cancellation(dice, ground):
    options, script = endless(dice, ground, may_plant=True)
    options += ["--kill-after", "20ms"] if dice.random() < 0.3 else []
    signo = dice.choice(ANY_SIGNAL)
    signals = [(moment(dice), signo)] + [(moment(dice), signo)] * (dice.random() < 0.2)
    return Launch(options, shell(script), cancelled(signo), signals=signals, json_out=dice.random() < 0.7)


@kind(6)
def killed(dice, ground):
    options, script = endless(dice, ground, may_plant=False)
    signals = [(moment(dice), signal.SIGKILL)]
    return Launch(options, shell(script), ends("signal 9"), signals=signals, json_out=dice.random() < 0.7)


@kind(1)
def stopped_and_continued(dice, ground):
    signals = [(moment(dice), signal.SIGSTOP), (dice.uniform(0.01, 0.1), signal.SIGCONT)]
    return Launch(any_policy(dice, ground), shell("sleep 0.1; echo on"), exits(0, b"on\n"), signals=signals)


@kind(3)
def flood(dice, ground):
    size, kept = dice.randint(1 << 20, 8 << 20), dice.choice((0, 1000, 1 << 16))
    options = [*any_policy(dice, ground), "--max-output", str(kept)]
    return Launch(options, shell(f"yes | head -c {size}"), flooded(size, kept))


@kind(1)
def flood_of_a_stream(dice, ground):
    size = dice.randint(1 << 20, 4 << 20)
    judge = exits(0, (b"y\n" * (size // 2 + 1))[:size])
    return Launch(any_policy(dice, ground), shell(f"yes | head -c {size}"), judge, json_out=False)


@kind(3)
def exec_failure(dice, ground):
    word = dice.choice(("/nowhere", "no-such-program", "/etc/passwd", "/etc", "./plain"))
    code = 127 if word.endswith(("where", "program")) else 126

    def judge(end):
        check(end.status == "setup_failed" and end.code == code, f"another end than {code}")

    return Launch(any_policy(dice, ground), [word], judge)


@kind(2)
def memory(dice, ground):
    options = ["-p", dice.choice((*PRIVATE, ":workspace-write")), "--memory", dice.choice(("16M", "32M"))]
    return Launch([*options, "--timeout", "30s"], shell(HOG), ends("out_of_memory"))


@kind(1)
def cpu_time(dice, ground):
    options = [*any_policy(dice, ground), "--cpu-time", "50ms", "--timeout", "30s"]
    return Launch(options, shell("while :; do :; done"), ends("cpu_time_exceeded"))


@kind(3)
def plant(dice, ground):
    options, script = planting(dice, ground)
    return Launch(options, shell(script), planted)


@kind(2)
def refused(dice, ground):
    options, code = dice.choice(
        (
            (["-p", ":nothing"], "policy_invalid"),
            (["--policy-json", '{"version": 1, "limits": {"memry": 1}}'], "policy_invalid"),
            (["-w", "/nowhere"], "workspace_root_not_found"),
            (["--require", "limits.memory=nothing"], "usage"),
            (["--write", "/nowhere/to/be/found"], "policy_invalid"),
            (["--timeout", "0"], "usage"),
        )
    )
    return Launch(options, ["true"], ends(code))


def draw(seed, number, ground):
    """The launch of this number: the same for the same seed."""
    dice = random.Random(f"{seed}/{number}")
    if number < len(KINDS):  # a short run has one of each, too
        make = KINDS[number][1]
    else:
        make = dice.choices([function for _weight, function in KINDS], [weight for weight, _function in KINDS])[0]
    launch = make(dice, ground)
    launch.kind, launch.workspace = make.__name__, dice.choice(ground.workspaces)
    launch.is_looked_after = dice.random() < 0.1
    return launch
