"""Making git on the host run something, from a linked worktree, a submodule or the workspace around one."""

import os
import subprocess

from blackbox.box import PYTHON
from blackbox.suite import case, check

# Whatever git reads its orders from.
PLANT = r"""
import os, shutil, stat, sys
canary, places = sys.argv[2], sys.argv[3:]
order = f"touch {canary}; false"
config = f'''[core]
 fsmonitor = "{order}"
 pager = "{order}"
 hooksPath = /var/tmp/hooks-of-nobody
 editor = "{order}"
 sshCommand = "{order}"
[diff]
 external = "{order}"
[filter "x"]
 clean = "{order}"
 smudge = "{order}"
[alias]
 st = "!{order}"
[extensions]
 worktreeConfig = true
'''
hook = f"#!/bin/sh\ntouch {canary}\n"
HOOKS = ("pre-commit", "post-commit", "post-checkout", "pre-auto-gc", "post-index-change", "reference-transaction",
         "commit-msg", "prepare-commit-msg", "post-rewrite", "pre-rebase")

def attempt(act, *arguments):
    try:
        act(*arguments)
    except OSError:
        pass

def write(path, text, mode=0o644):
    for _ in range(2):
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, mode)
        except OSError:
            pass
        attempt(os.unlink, path)  # and once more where it stood in the way; the last one stays
        try:
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, mode)
        except OSError:
            pass
        with_new = path + ".new"
        try:
            with open(with_new, "w") as file:
                file.write(text)
            os.chmod(with_new, mode)
            os.rename(with_new, path)
        except OSError:
            attempt(os.unlink, with_new)

def evil_repository(path):
    os.makedirs(path + "/objects", exist_ok=True)
    os.makedirs(path + "/refs", exist_ok=True)
    write(path + "/HEAD", "ref: refs/heads/main\n")
    write(path + "/config", "[core]\n repositoryformatversion = 0\n bare = false\n" + config)
    for name in HOOKS:
        write(f"{path}/hooks/{name}", hook, 0o755)

evil = os.getcwd() + "/evil"
evil_repository(evil)
for place in places:
    for name in HOOKS:
        write(f"{place}/hooks/{name}", hook, 0o755)
        attempt(os.symlink, f"{evil}/hooks/{name}", f"{place}/hooks/{name}")
        attempt(os.link, f"{evil}/hooks/{name}", f"{place}/hooks/{name}")
    attempt(os.symlink, evil + "/hooks", place + "/hooks")
    for name in ("config", "config.worktree"):
        write(f"{place}/{name}", config)
        attempt(os.symlink, evil + "/config", f"{place}/{name}")
        attempt(os.link, evil + "/config", f"{place}/{name}")
        attempt(os.rename, evil + "/config", f"{place}/{name}")
        write(evil + "/config", config)
    write(place + "/commondir", evil + "\n")
    write(place + "/gitdir", evil + "\n")
    write(place + "/info/attributes", "* filter=x diff=x\n")
    for name in ("modules", "worktrees"):
        attempt(os.rename, f"{place}/{name}", f"{place}/{name}.moved")
        attempt(shutil.copytree, evil, f"{place}/{name}/evil")
    attempt(os.rename, place, place + ".moved")
    attempt(os.rename, evil, place)
    evil_repository(evil)
for directory, directories, files in os.walk("."):
    if ".git" in files:
        git = directory + "/.git"
        write(git, f"gitdir: {evil}\n")
        attempt(os.symlink, evil, git)
        attempt(os.rename, directory, directory + ".moved")
        if os.path.isdir(directory) and not os.path.lexists(git):
            os.symlink(evil, git)
write(".gitattributes", "* filter=x diff=x\n")
print("held: tried everything")
"""

HOST = (
    ("status",),
    ("status", "--short", "--ignored"),
    ("diff",),
    ("log", "-p", "-3"),
    ("submodule", "status", "--recursive"),
    ("add", "-A", "--", "."),
    ("commit", "-q", "--allow-empty", "-m", "after"),
    ("checkout", "-q", "-b", "after"),
    ("stash", "list"),
    ("gc", "-q"),
    ("worktree", "list"),
)


def git(box, directory, *words, ok=True):
    line = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C", directory]
    return subprocess.run([*line, *words], check=ok, env=box.env, capture_output=True, text=True, timeout=60).stdout


def repository(box, name):
    path = box.make(name)
    git(box, path, "init", "-q", "-b", "main")
    box.file(os.path.join(path, "f"), "1")
    git(box, path, "add", "f")
    git(box, path, "commit", "-qm", "1")
    return path


def use_on_the_host(box, canary, *trees):
    """Somebody works on in these trees; nothing of what was planted may run."""
    for tree in trees:
        git(box, tree, "rm", "-rq", "--cached", "--ignore-unmatch", "evil")  # nobody would take it in
        box.log(f"host git in {tree}")
        subprocess.run(["rm", "-rf", f"{tree}/evil"], check=True)
        for words in HOST:
            git(box, tree, *words, ok=words[0] not in ("checkout", "commit"))
            check(not os.path.exists(canary), f"git {' '.join(words)} in {tree} ran what was planted")


def check_canary_sings(box, canary, tree):
    """Whether a planted order would have been seen at all."""
    git(box, tree, "config", "core.fsmonitor", f"touch {canary}; false")
    git(box, tree, "status")
    check(os.path.exists(canary), "the canary is deaf: the case shows nothing")


def attack(box, places, trees):
    canary = os.path.join(box.make("nest"), "canary")
    os.chmod(os.path.dirname(canary), 0o777)
    result = box.run(PYTHON, "-c", PLANT, box.mark, canary, *places)
    check(result.ran and "held: tried everything" in result.out, result.brief())
    use_on_the_host(box, canary, *trees)
    for tree in trees:
        check(git(box, tree, "fsck", ok=False) is not None, "no repository any more")
    check_canary_sings(box, canary, trees[0])


@case("nothing planted from a linked worktree runs on the host", needs=["git"])
def from_a_worktree(box):
    main = repository(box, "repository")
    tree, other = (os.path.join(box.dir, name) for name in ("tree", "other"))
    for path in (tree, other):
        git(box, main, "worktree", "add", "-q", path)
    box.workspace = tree
    common = f"{main}/.git"
    attack(box, [f"{common}/worktrees/tree", f"{common}/worktrees/other", f"{common}/worktrees/new", common], [tree, other, main])
    check(open(f"{common}/worktrees/tree/commondir", encoding="utf-8").read() == "../..\n", "commondir changed")


@case("nothing planted from a submodule runs on the host", needs=["git"])
def from_a_submodule(box):
    main = repository(box, "repository")
    git(box, main, "submodule", "--quiet", "add", repository(box, "library"), "parts/one")
    git(box, main, "commit", "-qm", "2")
    box.workspace = f"{main}/parts/one"
    attack(box, [f"{main}/.git/modules/parts/one", f"{main}/.git"], [box.workspace, main])


@case("nothing planted around a submodule runs on the host", needs=["git"])
def around_a_submodule(box):
    box.workspace = main = repository(box, "repository")
    git(box, main, "submodule", "--quiet", "add", repository(box, "library"), "parts/one")
    git(box, main, "commit", "-qm", "2")
    attack(box, [f"{main}/.git/modules/parts/one", f"{main}/.git/modules/parts", f"{main}/.git"], [main, f"{main}/parts/one"])


@case("a .git file gives nobody another's repository", needs=["git"])
def another_repository(box):
    victim, tree = repository(box, "victim"), os.path.join(box.dir, "tree")
    git(box, victim, "worktree", "add", "-q", tree)
    own = f"{victim}/.git/worktrees/tree"
    box.file("fake/commondir", f"{victim}/.git\n")
    box.file("fake/gitdir", f"{box.workspace}/.git\n")
    box.file("fake/HEAD", "ref: refs/heads/main\n")
    for name in (f"{victim}/.git", own, f"{own}/../../", box.inside("fake"), f"../{os.path.basename(victim)}/.git"):
        box.file(".git", f"gitdir: {name}\n")
        result = box.sh(
            f"for d in {victim}/.git {own}; do touch $d/escaped; echo x >>$d/HEAD; done; echo held: tried"
        )
        check(result.ran and "held:" in result.out, result.brief())
        check(not os.path.exists(f"{victim}/.git/escaped") and not os.path.exists(f"{own}/escaped"), f"{name}: written")
        warnings = result.doc["enforcement"]["warnings"]
        told = any(".git names" in warning for warning in warnings)
        check(told or name == box.inside("fake"), f"{name}: nothing is said: {warnings}")  # that one it has anyway
    check(open(f"{victim}/.git/HEAD", encoding="utf-8").read() == "ref: refs/heads/main\n", "HEAD was written to")


@case("another user's repository does not come with a worktree of the same name", only="root", needs=["git"])
def of_another_user(box):
    victim, tree = repository(box, "victim"), os.path.join(box.dir, "tree")
    git(box, victim, "worktree", "add", "-q", tree)
    text = open(f"{tree}/.git", encoding="utf-8").read()
    subprocess.run(["rm", "-rf", tree], check=True)
    os.mkdir(tree)
    box.file(f"{tree}/.git", text)
    for path in (tree, f"{tree}/.git"):
        os.chown(path, 1234, 1234)
    box.workspace = tree
    result = box.sh(f"touch {victim}/.git/escaped; echo held: tried")
    check(result.ran and not os.path.exists(f"{victim}/.git/escaped"), result.brief())
    check(any(".git names" in w for w in result.doc["enforcement"]["warnings"]), "nothing is said")
