"""Contenders run in turn within one run: on a shared machine nothing but ratios of interleaved figures means anything.

Every round takes each contender once, in an order that moves from round to round. Whoever would need more than its share
of the time, judged by the first try (which is not counted), takes part in fewer rounds: n tells in how many.
"""

import math
import os
import signal
import sys
import time

SHARE_SECONDS = 40  # of one contender in one race
PATIENCE_SECONDS = 30


class Trouble(Exception):
    """A contender that cannot do what is measured here; the text says why."""


def start(words, environment, errors, output=None):
    """Starts the words without a fork of this interpreter; stderr goes to the file `errors`, stdout to a descriptor or nowhere."""
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
               (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0) if output is None else (os.POSIX_SPAWN_DUP2, output, 1),
               (os.POSIX_SPAWN_OPEN, 2, errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)]
    try:
        return os.posix_spawn(words[0], words, environment, file_actions=actions)
    except OSError as error:
        raise Trouble(str(error)) from error


def require(status, errors):
    """Raises with the last line that was said where the status is not that of a success."""
    if status == 0:
        return
    with open(errors, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file.read().splitlines() if line.strip()]
    os.truncate(errors, 0)
    code = os.waitstatus_to_exitcode(status)
    raise Trouble(f"{'exit status' if code >= 0 else 'signal'} {abs(code)}: {lines[-1] if lines else 'nothing was said'}")


def trial(measure):
    """Seconds that one uncounted measurement took. It is given up where it takes so long that it will not end."""

    def over(*_unused):
        raise Trouble(f"did not end within {PATIENCE_SECONDS} s")

    before, started = signal.signal(signal.SIGALRM, over), time.monotonic()
    signal.alarm(PATIENCE_SECONDS)
    try:
        measure()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return time.monotonic() - started


def race(contenders, rounds, tell):
    """{name: [figures]} and {name: why not} of {name: function that returns a figure or raises Trouble}."""
    figures, troubles, stride = {}, {}, {}
    for name, measure in contenders.items():
        try:
            stride[name] = max(1, math.ceil(trial(measure) * rounds / SHARE_SECONDS))
            figures[name] = []
        except Trouble as trouble:
            troubles[name] = str(trouble)
    for i in range(rounds):
        tell(f"round {i + 1} of {rounds}")
        names = list(figures)
        turn = i % len(names) if names else 0
        for name in names[turn:] + names[:turn]:
            if i % stride[name] == 0:
                try:
                    figures[name].append(contenders[name]())
                except Trouble as trouble:
                    troubles[name] = f"in round {i + 1}: {trouble}"
                    del figures[name]
    return figures, troubles


def progress(title):
    """A function that shows on a terminal where the run is."""

    def tell(text):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{title}: {text}")
            sys.stderr.flush()

    return tell


def clear():
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
