"""Leaving something in the workspace that the host, or somebody on it, runs later."""

import os
import subprocess
import time

from blackbox import host
from blackbox.box import held
from blackbox.suite import case, check


@case("no call leaves a set-id bit in the workspace")
def set_id_bits(box):
    box.attack("setid")


@case("a copied shell cannot be made set-id by the usual commands")
def set_id_commands(box):
    result = box.sh(
        "cp /bin/sh shell; chmod 4755 shell; chmod u+s shell; install -m 4755 /bin/sh other; mkdir -m 2755 d; "
        "cp -p --preserve=all /usr/bin/passwd . 2>/dev/null; tar -cf - -C /usr/bin passwd | tar -xpf -; true"
    )
    check(result.ran and os.path.exists(box.inside("shell")), result.brief())


@case("a protected directory stays where it is when its parent is moved away")
def move_the_ancestor(box):
    box.file(".git/hooks/pre-commit", "#!/bin/sh\n")
    box.file(".git/config", "[core]\n")
    result = box.sh(
        "mv .git x && echo MOVED; mkdir -p .git/hooks; echo evil >.git/hooks/post-checkout; "
        "mv .git/hooks y; rm -rf .git/hooks; echo evil >.git/hooks/pre-commit; rmdir .git"
    )
    check("MOVED" not in result.out, result.brief())
    check(os.listdir(box.inside(".git/hooks")) == ["pre-commit"], "the hooks changed")
    check(open(box.inside(".git/hooks/pre-commit")).read() == "#!/bin/sh\n", "a hook was written")


@case("what makes host-side git run code cannot be rewritten")
def git_files_that_run_code(box):
    names = [
        "config",
        "config.worktree",
        "commondir",
        "gitdir",
        "hooks/pre-commit",
        "modules/a/config",
        "modules/a/hooks/post-checkout",
        "worktrees/w/commondir",
        "worktrees/w/gitdir",
        "worktrees/w/config.worktree",
    ]
    for name in names:
        box.file(f".git/{name}", "before")
    box.sh(
        f"cd .git; for f in {' '.join(names)}; do echo after >$f; rm -f $f; echo after >$f; ln -sf /tmp $f; "
        "echo after >new; mv new $f; done"
    )
    changed = [
        name
        for name in names
        if not os.path.isfile(box.inside(f".git/{name}")) or open(box.inside(f".git/{name}")).read() != "before"
    ]
    check(not changed, f"rewritten: {changed}")


@case("the .git file of a linked worktree cannot be pointed elsewhere", needs=["git"])
def worktree_git_file(box):
    repository, tree = box.make("repository"), box.inside("tree")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", repository]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a"], ["worktree", "add", "-q", tree]):
        subprocess.run(git + words, check=True, env=box.env, capture_output=True)
    before = open(f"{tree}/.git").read()
    box.workspace = tree
    box.sh(
        "echo gitdir: /tmp/evil >.git; rm -f .git; mkdir .git; echo x >.git/config; mv .git y; "
        f"echo evil >{repository}/.git/hooks/post-checkout; echo /tmp >{repository}/.git/worktrees/tree/commondir"
    )
    check(os.path.isfile(f"{tree}/.git") and open(f"{tree}/.git").read() == before, "the .git file changed")
    check(not os.path.exists(f"{repository}/.git/hooks/post-checkout"), "a hook was planted in the repository")
    check(open(f"{repository}/.git/worktrees/tree/commondir").read().strip() == "../..", "commondir changed")


PLANT = r"""
import os, time
end = time.time() + 1.5
while time.time() < end:
    for path in (".mcp.json", ".envrc", ".git/hooks/post-checkout", ".vscode/tasks.json"):
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            open(path, "w").write("evil")
        except OSError:
            pass
    try:
        os.rename(".mcp.json", "held-back")
        os.rename("held-back", ".mcp.json")
    except OSError:
        pass
print("held: planted again and again")
"""


@case("an absent protected name that is planted is gone afterwards, and reported")
def plant_protected_names(box):
    box.file(".git/HEAD", "ref: refs/heads/main\n")
    result = held(box.python(PLANT))
    left = [name for name in (".mcp.json", ".envrc", ".git/hooks", ".vscode") if os.path.lexists(box.inside(name))]
    check(not left, f"planted and still there: {left}")
    check(result.violations(), f"nothing of it is reported: {result.brief()}")


DEEP_PLANT = r"""
import os
os.makedirs(".git", exist_ok=True)
open("post-checkout", "w").write("#!/bin/sh\ntrue\n")
os.mkdir("tree")
os.rename("post-checkout", "tree/post-checkout")
here = os.getcwd()
os.chdir("tree")
for i in range(600):
    os.mkdir("d")
    os.chdir("d")
os.chdir(here)
os.rename("tree", ".git/hooks")
print("held: planted")
"""


@case("a planted tree of many levels is gone afterwards, and reported")
def plant_a_deep_tree(box):
    result = held(box.python(DEEP_PLANT))
    check(os.listdir(box.inside(".git")) == [], f"left: {os.listdir(box.inside('.git'))}")
    told = {(v["path"], v["action"]) for v in result.violations("planted")}
    check((".git/hooks", "removed") in told, result.brief())


@case("another user's files are not removed where the command moves them under a protected name", only="root")
def plant_what_is_of_others(box):
    box.file("mine/other/precious", "precious")
    os.chown(box.workspace, 1234, 1234)
    os.chown(box.inside("mine"), 1234, 1234)
    result = held(box.sh("mkdir .git && mv mine .git/hooks && echo held: moved"))
    left = [v["path"] for v in result.violations("left_behind")]
    check(len(left) == 1 and not os.path.lexists(box.inside(".git/hooks")), result.brief())
    check(os.path.exists(os.path.join(box.inside(left[0]), "other/precious")), "it is gone")


@case("protecting absent names leaves no placeholder behind")
def no_placeholders(box):
    policy = box.policy_file(
        {
            "version": 1,
            "extends": ":workspace-write",
            "filesystem": {"protect": ["a/b/c", ".tool.json"], "deny": ["secret/key", "x.pem"]},
        }
    )
    live = box.start("/bin/sh", "-c", "true >started; sleep 0.3", box.mark, policy=policy)
    box.wait_for("started")
    during = sorted(os.listdir(box.workspace))
    result = live.result()
    check(result.code == 0, result.brief())
    check(during == ["started"] and sorted(os.listdir(box.workspace)) == ["started"], f"seen meanwhile: {during}")


@case("absent names that are denied or protected leave no placeholder where the supervisor is killed")
def no_placeholders_of_a_killed_one(box):
    box.suite.killed_supervisors = True
    names = {"protect": ["a/b/c", ".git/hooks", ".vscode"], "deny": [".env", "**/.netrc"]}
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "filesystem": names})
    for delay in (0.0, 0.01, 0.05, 0.3):
        live = box.start("/bin/sh", "-c", "sleep 30", box.mark, policy=policy)
        time.sleep(delay)
        live.kill()
        check(host.none_left(box.mark), f"after {delay} s: {host.marked(box.mark)}")
        check(os.listdir(box.workspace) == [], f"after {delay} s: {os.listdir(box.workspace)}")


@case("a protected name planted as the last act of the command is gone too")
def plant_and_leave(box):
    for _ in range(5):
        box.sh("setsid sh -c 'while :; do echo {} >.mcp.json; done' & sleep 0.05; echo {} >.mcp.json")
        check(not os.path.exists(box.inside(".mcp.json")), "still there when the result was given")


@case("a symlinked protected directory is protected behind the link, and the link stays")
def protected_link(box):
    box.file("real/file", "before")
    os.symlink("real", box.inside("link"))
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "filesystem": {"protect": ["link"]}})
    result = box.sh("echo after >link/file; rm -f link; ln -s /tmp link; mv link x; echo held: tried", policy=policy)
    if result.doc["schema"] == "pinfold.error/1":
        return  # refused with a reason: the other right answer
    held(result)
    check(open(box.inside("real/file")).read() == "before", "written behind the link")
    check(os.path.islink(box.inside("link")) and os.readlink(box.inside("link")) == "real", "the link was replaced")
