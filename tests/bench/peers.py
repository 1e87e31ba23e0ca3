"""The contenders: how each is found and started with the isolation nearest to that of pinfold's default policy.

A peer is a function from a place (who starts it, where) and a command to the words that start it. docs/performance.md tells
the differences that remain.
"""

import functools
import os
import shutil

import bundle

SEARCH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"


class Peer:
    """words(place, command, more) starts it; ender(place) are words that kill the last one started, where SIGTERM is not the way."""

    def __init__(self, name, program, words, ender=None, file=None):
        self.name, self.program, self.words, self.ender, self.file = name, program, words, ender, file

    def why_not(self):
        if self.program and not shutil.which(self.program, path=SEARCH):
            return f"{self.program} is not installed"
        return f"{self.file} is not there" if self.file and not os.path.exists(self.file) else None


def plain(_place, command, _more=()):
    return list(command)


def pinfold(place, command, more=()):
    return [place.pinfold, "run", *more, "--", *command]


def bubblewrap(_place, command, _more=()):
    return ["bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
            "--tmpfs", "/tmp", "--tmpfs", "/run", *command]


def firejail(_place, command, _more=()):
    return ["firejail", "--quiet", "--noprofile", "--net=none", "--ipc-namespace", "--private-dev", "--keep-var-tmp", "--read-only=/",
            "--caps.drop=all", "--nonewprivs", "--seccomp", *command]


def srt(_place, command, _more=()):
    return ["srt", *command]


def codex(_place, command, _more=()):
    return ["codex", "sandbox", "linux", "--", *command]


def crun(place, command, _more=(), filtered=False):
    return [*crun_words(place), "run", "--bundle", bundle.made(place, command, filtered), place.new_id()]


def crun_words(place):
    return ["crun", "--cgroup-manager=disabled", "--root", place.folder("crun")]


def end_crun(place):
    return [*crun_words(place), "kill", place.last_id(), "KILL"]


def runc(place, command, _more=(), filtered=False):
    return [*runc_words(place), "run", "--bundle", bundle.made(place, command, filtered), place.new_id()]


def runc_words(place):
    return ["runc", "--rootless=true", "--root", place.folder("runc")]


def end_runc(place):
    return [*runc_words(place), "kill", place.last_id(), "KILL"]


PEERS = [
    Peer("plain", None, plain),
    Peer("pinfold", None, pinfold),
    Peer("bubblewrap", "bwrap", bubblewrap),
    Peer("crun", "crun", crun, end_crun),
    Peer("crun, filter", "crun", functools.partial(crun, filtered=True), end_crun, bundle.PROFILE),
    Peer("runc", "runc", runc, end_runc),
    Peer("runc, filter", "runc", functools.partial(runc, filtered=True), end_runc, bundle.PROFILE),
    Peer("firejail", "firejail", firejail),
    Peer("srt", "srt", srt),
    Peer("codex", "codex", codex),
]


def found(names=None):
    """The peers that are asked for and installed here, and {name: why not} of the others."""
    asked = [peer for peer in PEERS if names is None or peer.name in names or peer.program in names]
    missing = {peer.name: peer.why_not() for peer in asked if peer.why_not()}
    return [peer for peer in asked if peer.name not in missing], missing


def absolute(words):
    """posix_spawn() looks for nothing in $PATH; what is not there is left for it to say."""
    return [shutil.which(words[0], path=SEARCH) or words[0], *words[1:]]
