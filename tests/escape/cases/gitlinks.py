"""Making git on the host run something in a repository below the top, by a gitlink in an index that can be written."""

import os
import subprocess

from blackbox.box import PYTHON
from blackbox.suite import case, check

ENVIRONMENT = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\nset -e\n"
# plant DIRECTORY: a repository with orders; link DIRECTORY: its gitlink in the index of where we are
TOOLS = ENVIRONMENT + r"""
canary=CANARY
orders() {
    git -C "$1" config core.fsmonitor "touch $canary; false"
    d=$(git -C "$1" rev-parse --absolute-git-dir)/hooks; mkdir -p "$d"
    for h in post-index-change pre-commit post-commit post-checkout reference-transaction; do
        printf '#!/bin/sh\ntouch %s\n' "$canary" >"$d/$h"; chmod +x "$d/$h"
    done
}
plant() { git init -q -b main "$1"; echo 1 >"$1/x"; git -C "$1" add x; git -C "$1" commit -qm n; orders "$1"; }
link() { git update-index --add --cacheinfo "160000,$(git -C "$1" rev-parse HEAD),$1"; }
"""

HOST = (
    ("status",),
    ("diff",),
    ("diff", "HEAD"),
    ("submodule", "status", "--recursive"),
    ("describe", "--dirty", "--always"),
    ("stash",),
    ("add", "-A"),
    ("commit", "-qam", "after"),
    ("checkout", "-qf", "HEAD"),
)


def git(box, directory, *words, ok=True):
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C", directory]
    return subprocess.run([*line, *words], check=ok, env=box.env, capture_output=True, text=True, timeout=60)


def repository(box, name, *options):
    path = box.make(name)
    git(box, path, "init", "-q", "-b", "main", *options)
    box.file(os.path.join(path, "f"), "1")
    git(box, path, "add", "f")
    git(box, path, "commit", "-qm", "1")
    return path


def with_submodule(box):
    main = repository(box, "repository")
    git(box, main, "submodule", "--quiet", "add", repository(box, "library"), "parts/one")
    git(box, main, "commit", "-qm", "2")
    return main


def new_canary(box):
    canary = os.path.join(box.make("nest"), "canary")
    os.chmod(os.path.dirname(canary), 0o777)
    return canary


def tools(canary):
    return TOOLS.replace("CANARY", canary)


def use_on_the_host(box, canary, tree):
    """Somebody works on there."""
    for words in HOST:
        git(box, tree, *words, ok=False)
        check(not os.path.exists(canary), f"git {' '.join(words)} in {tree} ran what was planted")


def attack(box, script, *trees, path="sub/.git", deaf=False):
    """Tried unconfined first, in a copy: there the canary must sing, or the case shows nothing."""
    canary = new_canary(box)
    if not deaf:
        copy = box.make("copy")
        subprocess.run(["cp", "-a", f"{box.workspace}/.", copy], check=True)
        done = subprocess.run(
            ["sh", "-c", tools(canary) + script], cwd=copy, env=box.env, capture_output=True, text=True, timeout=60
        )
        git(box, copy, "status", ok=False)
        check(os.path.exists(canary), f"the canary is deaf: {done.stdout}{done.stderr}")
        os.unlink(canary)
    result = box.sh(tools(canary) + script + "\necho held: planted")
    check(result.ran and "held: planted" in result.out, result.brief())
    if os.path.exists(canary):  # inside, where nothing is at stake
        os.unlink(canary)
    told = [(one["kind"], one["path"], one["action"]) for one in result.violations()]
    check(("planted", path, "set_aside") in told, f"told: {told}")
    for name in [left for kind, left, _ in told if kind == "left_behind"]:
        check(os.path.lexists(os.path.join(box.workspace, name)), f"{name} is lost")
    for tree in trees or (box.workspace,):
        use_on_the_host(box, canary, tree)


FORMS = {
    "a gitlink": "plant sub; link sub",
    "a gitlink in an index of version 4": "plant sub; link sub; git update-index --index-version 4",
    "a gitlink in a split index": "git update-index --split-index; plant sub; link sub",
    "a gitlink in the shared part of a split index": "plant sub; link sub; git update-index --split-index",
    "a gitlink without a name in a split index": (
        "rm -rf f; plant f; git update-index --split-index; link f"
    ),
    "a gitlink that is in conflict": (
        'plant sub; printf "160000 %s 2\\tsub\\n" "$(git -C sub rev-parse HEAD)" | git update-index --index-info'
    ),
    "a gitlink to a .git file": "plant sub; link sub; mv sub/.git elsewhere; echo 'gitdir: ../elsewhere' >sub/.git",
    "a gitlink to a .git that is a link": "plant sub; link sub; mv sub/.git elsewhere; ln -s ../elsewhere sub/.git",
}


def add_form(name, script):
    @case(f"the host does not follow {name}", needs=["git"])
    def form(box):
        box.workspace = repository(box, "repository")
        attack(box, script, path="f/.git" if " f;" in script else "sub/.git")


for one_name, one_script in FORMS.items():
    add_form(one_name, one_script)


@case("the host does not follow a gitlink in a repository with SHA-256", needs=["git"])
def sha256(box):
    box.workspace = repository(box, "repository", "--object-format=sha256")
    attack(box, "plant() { git init -q --object-format=sha256 $1; git -C $1 commit -q --allow-empty -m 1; orders $1; }; plant sub; link sub")


@case("the host does not follow a gitlink into a closed directory", needs=["git"])
def closed(box):
    box.workspace = repository(box, "repository")
    attack(box, "plant sub; link sub; chmod 0 sub", deaf=True)


@case("the host does not follow a gitlink in a linked worktree", needs=["git"])
def in_a_worktree(box):
    main, tree = repository(box, "repository"), os.path.join(box.dir, "tree")
    git(box, main, "worktree", "add", "-q", tree)
    box.workspace = tree
    attack(box, "plant sub; link sub", tree, main, deaf=True)


@case("the host does not follow a gitlink in the main worktree around a linked one", needs=["git"])
def around_a_worktree(box):
    main = repository(box, "repository")
    git(box, main, "worktree", "add", "-q", f"{main}/trees/one")
    box.workspace = f"{main}/trees/one"
    script = "plant sub; cd ../..; export GIT_DIR=$PWD/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),trees/one/sub"
    attack(box, script, main, deaf=True)


@case("the host does not follow a gitlink in a submodule", needs=["git"])
def in_a_submodule(box):
    box.workspace = main = with_submodule(box)
    attack(box, "cd parts/one; plant sub; link sub", main, f"{main}/parts/one", path="parts/one/sub/.git", deaf=True)


@case("the host does not follow a gitlink that was there into what was not", needs=["git"])
def not_checked_out(box):
    main = with_submodule(box)
    git(box, main, "submodule", "--quiet", "deinit", "parts/one")
    box.workspace = main
    attack(box, "plant parts/one", path="parts/one/.git")


@case("the host does not follow a gitlink of the repository around the workspace", needs=["git"])
def around_the_workspace(box):
    main = with_submodule(box)
    box.workspace = f"{main}/parts"
    canary = new_canary(box)
    result = box.sh(tools(canary) + "rm -rf one/.git || mv one two; plant one; echo held: tried")
    check(result.ran, result.brief())
    use_on_the_host(box, canary, main)
    check(os.path.isfile(f"{main}/parts/one/.git"), "the .git file was lost")


@case("an embedded repository that was there is protected", needs=["git"])
def embedded(box):
    box.workspace = main = repository(box, "repository")
    repository(box, "repository/sub")
    repository(box, "repository/sub/deeper")
    git(box, f"{main}/sub", "add", "deeper")
    git(box, main, "add", "sub")
    git(box, main, "commit", "-qm", "2")
    canary = new_canary(box)
    result = box.sh(
        tools(canary).replace("set -e", "")
        + "for r in sub sub/deeper; do orders $r; mv $r/.git $r/git; echo 2 >$r/f; git -C $r commit -qam 2; done; "
        "git status --short; echo held: tried"
    )
    check(result.ran and "M sub" in result.out, result.brief())
    use_on_the_host(box, canary, main)
    check(not [one for one in result.violations() if one["action"] == "set_aside"], f"told: {result.violations()}")
    check(git(box, f"{main}/sub/deeper", "log", "--oneline").stdout.count("\n") == 2, "the commit inside is lost")


@case("an index that nobody can read is set aside", needs=["git"])
def strange_index(box):
    box.workspace = main = repository(box, "repository")
    tails = {"cut": "head -c 90 index >i", "a link": "ln -s ../f i", "a fifo": "mkfifo i", "closed": ": >i; chmod 0 i"}
    for name, make in tails.items():
        result = box.sh(f"cd .git; {make}; mv i index; echo held: done")
        told = [(one["path"], one["action"]) for one in result.violations("planted")]
        check(told == [(".git/index", "set_aside")], f"{name}: told: {told}")
        git(box, main, "reset", "-q")
        check(git(box, main, "status", "--short", "f").stdout == "", f"{name}: git does not work any more")


@case("an index that nobody could read before stays, and that is told", needs=["git"])
def strange_before(box):
    box.workspace = repository(box, "repository")
    os.rename(box.inside(".git/index"), box.inside("kept"))
    os.symlink("../kept", box.inside(".git/index"))
    result = box.sh("git status --short; echo held: looked")
    warnings = result.doc["enforcement"]["warnings"]
    check(any(".git/index is not looked at" in warning for warning in warnings), f"told: {warnings}")
    check(not result.violations() and os.path.islink(box.inside(".git/index")), result.brief())


@case("a run fails that leads the host into another user's repository", only="root", needs=["git"])
def of_another_user(box):
    box.workspace = repository(box, "repository")
    theirs = repository(box, "repository/sub")
    subprocess.run(["chown", "-R", "1234:1234", theirs], check=True)
    result = box.sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; echo held: linked")
    check("held: linked" in result.out and result.doc["error"]["code"] == "unenforceable", result.brief())
    told = [(one["path"], one["action"]) for one in result.violations("planted")]
    check(told == [("sub/.git", "none")], f"told: {told}")
    check(os.path.isdir(f"{theirs}/.git"), "what the command could not have moved was moved")


@case("repositories that no index has are left alone", needs=["git"])
def nested(box):
    box.workspace = main = with_submodule(box)
    repository(box, "repository/before")
    result = box.sh(ENVIRONMENT + "git init -q after; cd after; git commit -q --allow-empty -m 1; git -C ../before status")
    check(result.code == 0 and not result.violations(), result.brief())
    check(os.path.isdir(f"{main}/after/.git") and os.path.isdir(f"{main}/before/.git"), "a repository is gone")
    git(box, main, "submodule", "status")


MANY_AND_DEEP = """
import hashlib, os, struct
way = '/'.join('d' * 150)
os.makedirs(way)
index = [struct.pack('>4sII', b'DIRC', 2, 60000)]
for i in range(60000):
    name = f'{way}/{i:07}'.encode()
    entry = struct.pack('>10I20sH', *[0] * 6, 0o160000, *[0] * 3, bytes(20), len(name)) + name
    index.append(entry + bytes(8 - len(entry) % 8))
index = b''.join(index)
open('.git/index', 'wb').write(index + hashlib.sha1(index).digest())
"""


@case("an index with very many deep gitlinks holds up neither the end of the run nor the next one")
def many_and_deep(box):
    box.file(".git/HEAD", "ref: refs/heads/main\n")
    box.file(".git/config", "[core]\n")
    result = box.python(MANY_AND_DEEP, options=["--timeout", "20"])
    check(result.ran and result.code == 0 and result.seconds < 15, f"{result.seconds:.1f} s: {result.brief()}")
    again = MANY_AND_DEEP.replace("os.makedirs(way)\n", "")
    subprocess.run([PYTHON, "-c", again], cwd=box.workspace, check=True)
    result = box.sh("true")
    check(result.ran and result.code == 0 and result.seconds < 10, f"{result.seconds:.1f} s: {result.brief()}")
