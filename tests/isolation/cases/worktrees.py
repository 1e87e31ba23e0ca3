"""Workspaces whose git data lies elsewhere: linked worktrees and submodules."""

import os
import shutil
import subprocess

from blackbox.suite import case, check

WORK = r"""
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
start=$(git symbolic-ref --short HEAD)
git status --short
echo 2 >f; git add f; git commit -qm 2; git branch kept; git checkout -qb side; echo 3 >g; git add g; git commit -qm 3
git checkout -q $start; echo 4 >h; git add h; git commit -qm 4; git rebase -q side; git merge -q kept
echo 5 >f; git stash -q; git stash pop -q; git commit -qam 5; git tag light; git tag -a -m x heavy
git gc -q; git pack-refs --all; git fsck --no-dangling; git diff HEAD~1 --stat; git log --oneline | wc -l
"""


def host_git(box, directory, *words):
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C", directory, *words],
        check=True,
        env=box.env,
        capture_output=True,
        text=True,
    ).stdout


def new_repository(box, name):
    path = box.make(name)
    host_git(box, path, "init", "-q", "-b", "main")
    box.file(os.path.join(path, "f"), "1")
    host_git(box, path, "add", "f")
    host_git(box, path, "commit", "-qm", "1")
    return path


def new_worktree(box, where="tree"):
    repository, tree = new_repository(box, "repository"), os.path.join(box.dir, where)
    host_git(box, repository, "worktree", "add", "-q", tree)
    return repository, tree


def new_submodule(box):
    library, repository = new_repository(box, "library"), new_repository(box, "repository")
    host_git(box, repository, "submodule", "--quiet", "add", library, "parts/one")
    host_git(box, repository, "commit", "-qm", "with a submodule")
    host_git(box, f"{repository}/parts/one", "checkout", "-q", "-b", "work")
    return repository, f"{repository}/parts/one"


def check_work(box, tree, **how):
    box.workspace = tree
    result = box.sh(WORK, **how)
    check(result.code == 0 and result.out.split()[-1] == "5", result.brief())
    check(host_git(box, tree, "log", "--oneline", "light").count("\n") == 5, "the host sees other commits")
    host_git(box, tree, "fsck", "--strict")
    check(host_git(box, tree, "status", "--short") == "", "the host sees changes")


@case("git works in a linked worktree", needs=["git"])
def in_a_worktree(box):
    repository, tree = new_worktree(box)
    check_work(box, tree)
    check("light" in host_git(box, repository, "tag"), "the tag is not in the repository")
    host_git(box, repository, "gc", "-q")
    host_git(box, repository, "worktree", "remove", "--force", tree)


@case("git works in a linked worktree under :eval", needs=["git"])
def in_a_worktree_of_a_small_system(box):
    check_work(box, new_worktree(box)[1], policy=":eval")


@case("git gc works where a repository has more worktrees", needs=["git"])
def among_worktrees(box):
    repository, tree = new_worktree(box)
    others = [os.path.join(box.dir, name) for name in ("other", "gone", "long-gone")]
    for other in others:
        host_git(box, repository, "worktree", "add", "-q", other)
        box.file(f"{other}/g", other)
        host_git(box, other, "add", "g")
        host_git(box, other, "commit", "-qm", "of another")
    for other in others[1:]:
        shutil.rmtree(other)
    old = f"{repository}/.git/worktrees/long-gone"  # which git gc would forget
    for path in (*(os.path.join(old, name) for name in os.listdir(old)), old):
        os.utime(path, (0, 0))
    reflog = open(f"{repository}/.git/worktrees/other/logs/HEAD", encoding="utf-8").read()
    check_work(box, tree)
    for words in ("gc -q --prune=now", "gc --auto", "maintenance run", "repack -adq", "prune", "pack-refs --all"):
        result = box.sh(f"git {words}")
        check(result.code == 0 and not result.violations(), f"git {words}: {result.brief()}")
    result = box.sh("env; git config --list", options=["-e", "GIT_CONFIG_COUNT=1", "-e", "GIT_CONFIG_KEY_0=a.b", "-e", "GIT_CONFIG_VALUE_0=c"])
    check("a.b=c" in result.out and "gc.reflogexpire=never" in result.out, result.brief())
    check(open(f"{repository}/.git/worktrees/other/logs/HEAD", encoding="utf-8").read() == reflog, "a reflog changed")
    for path in (repository, tree, others[0]):
        host_git(box, path, "fsck", "--strict")
        check(host_git(box, path, "status", "--short") == "", f"the host sees changes in {path}")
    host_git(box, repository, "gc", "-q")


@case("git gc works in a repository that has worktrees", needs=["git"])
def with_worktrees(box):
    repository, tree = new_worktree(box)
    box.workspace = repository
    result = box.sh("git gc -q && git gc -q --prune=now")
    check(result.code == 0, result.brief())
    host_git(box, tree, "fsck", "--strict")


@case("git works in a submodule", needs=["git"])
def in_a_submodule(box):
    repository, checkout = new_submodule(box)
    check_work(box, checkout)
    check("parts/one" in host_git(box, repository, "status", "--short"), "the repository does not see its new commits")
    host_git(box, repository, "submodule", "status")


@case("git works in a submodule under :eval", needs=["git"])
def in_a_submodule_of_a_small_system(box):
    check_work(box, new_submodule(box)[1], policy=":eval")


@case("git works in a submodule of a workspace, and in the workspace", needs=["git"])
def in_a_workspace_with_a_submodule(box):
    box.workspace, checkout = new_submodule(box)
    result = box.sh(f"cd parts/one; {WORK}")
    check(result.code == 0, result.brief())
    result = box.sh(
        "git -c user.name=a -c user.email=a@b commit -qm up parts/one && git submodule status && git status --short"
    )
    check(result.code == 0 and "parts/one" in result.out and not result.violations(), result.brief())
    host_git(box, checkout, "fsck", "--strict")
    check(host_git(box, box.workspace, "status", "--short") == "", "the host sees changes")


@case("git works in the submodule of a linked worktree", needs=["git"])
def in_a_submodule_of_a_worktree(box):
    repository, _ = new_submodule(box)
    tree = os.path.join(box.dir, "tree")
    host_git(box, repository, "worktree", "add", "-q", tree)
    host_git(box, tree, "submodule", "--quiet", "update", "--init")
    host_git(box, f"{tree}/parts/one", "checkout", "-q", "-b", "work")
    check_work(box, f"{tree}/parts/one")


@case("git works in a worktree that lies in its bare repository, and reaches no other there", needs=["git"])
def in_a_bare_repository(box):
    bare = os.path.join(box.dir, "bare")
    host_git(box, box.dir, "clone", "-q", "--bare", new_repository(box, "repository"), bare)
    host_git(box, bare, "worktree", "add", "-q", "topics/mine")
    host_git(box, bare, "worktree", "add", "-q", "topics/other")
    box.workspace = f"{bare}/topics/mine"
    result = box.sh(
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 2 && git log --oneline | wc -l; "
        "echo x >../other/f; mv ../other ../x; mv ../../topics ../../x"
    )
    check(result.code != 0 and result.out.split() == ["2"], result.brief())
    check(open(f"{bare}/topics/other/f", encoding="utf-8").read() == "1", "another worktree was written to")


@case("git works in the worktree of a private directory", only="root", needs=["git"])
def below_a_private_directory(box):
    home = box.make("private")
    os.chmod(home, 0o700)
    repository = new_repository(box, "private/repository")
    host_git(box, repository, "worktree", "add", "-q", f"{home}/tree")
    check_work(box, f"{home}/tree")


@case("a worktree that is to be read can be read with git", needs=["git"])
def read_only_worktrees(box):
    repository, tree = new_worktree(box)
    box.workspace = tree
    for policy in (":read-only", ":strict"):
        result = box.sh(f"git log --oneline && git status --short && ! touch {repository}/.git/x", policy=policy)
        check(result.code == 0, f"{policy}: {result.brief()}")


@case("a policy can keep the repository of a worktree read-only, or out of sight", needs=["git"])
def kept_back(box):
    repository, tree = new_worktree(box)
    box.workspace = tree
    result = box.sh("git log --oneline && ! git branch x", options=["--read", f"{repository}/.git"])
    check(result.code == 0, result.brief())
    result = box.sh("! git log", options=["--deny", f"{repository}/.git"])
    check(result.code == 0, result.brief())
    warnings = result.doc["enforcement"]["warnings"]
    check(any("filesystem.deny names it" in warning for warning in warnings), f"told: {warnings}")


@case("a worktree that was moved is told, with the remedy", needs=["git"])
def moved_worktree(box):
    _, tree = new_worktree(box)
    os.rename(tree, box.inside("moved"))
    box.workspace = box.inside("moved")
    result = box.sh("echo x >new; ! git add new")  # elsewhere than below /tmp an ordinary user may still read the repository
    warnings = result.doc["enforcement"]["warnings"]
    check(result.code == 0 and any("git worktree repair" in warning for warning in warnings), f"told: {warnings}")
    host_git(box, box.workspace, "worktree", "repair")
    result = box.sh("git status")
    check(result.code == 0 and not result.doc["enforcement"]["warnings"], result.brief())
