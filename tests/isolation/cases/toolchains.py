"""Tools that people run in it, offline."""

from blackbox.suite import case, check

ROOM = ["--memory", "2G", "--timeout", "60"]


@case("git commits, branches, gcs and rebases in the workspace", needs=["git"])
def git(box):
    box.sh("git init -q . 2>/dev/null; true")  # what is protected may refuse parts of it
    import subprocess

    subprocess.run(["rm", "-rf", box.inside(".git")], check=True)
    subprocess.run(["git", "init", "-q", box.workspace], check=True, env=box.env)
    result = box.sh(
        "git config --get core.bare; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b;"
        "set -e; echo 1 >f; git add f; git commit -qm 1; git checkout -qb side; echo 2 >f; git commit -qam 2; git tag t;"
        "git stash list; git gc -q; git pack-refs --all; git fsck; git log --oneline | wc -l",
        options=ROOM,
    )
    check(result.code == 0 and result.out.split()[-1] == "2", result.brief())
    host = subprocess.run(["git", "-C", box.workspace, "fsck"], env=box.env, capture_output=True, check=False)
    check(host.returncode == 0, f"the host finds it broken: {host.stderr!r}")


@case("gcc and make build and run a program", needs=["gcc", "make"])
def gcc(box):
    box.file("main.c", '#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
    box.file("Makefile", "all: main\n\t./main\n\nmain: main.c\n\t$(CC) -O2 -o $@ $<\n")
    result = box.sh("make -j2 2>&1", options=ROOM)
    check(result.code == 0 and result.out.endswith("built\n"), result.brief())


@case("tar, find, sort, sed and a shell pipeline work")
def coreutils(box):
    result = box.sh(
        "mkdir d; seq 1000 >d/n; tar cf t.tar d; rm -r d; tar xf t.tar; find d -type f -exec sort -rn {} + | sed -n 1p; cp -a d e; "
        "install -m 755 d/n f; test -r d/n && test -w d/n && [ -x f ] && echo access"
    )
    check(result.out.split() == ["1000", "access"], result.brief())


@case("npm runs a script offline", needs=["npm", "node"])
def npm(box):
    box.file("package.json", '{"name":"a","version":"1.0.0","scripts":{"test":"node -e \\"console.log(6*7)\\""}}')
    result = box.sh("npm test --silent --offline", options=[*ROOM, "--pids", "256"])
    check(result.code == 0 and "42" in result.out, result.brief())


@case("a Python virtual environment can be made and used", needs=["python3"])
def virtual_environment(box):
    result = box.sh(
        "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'", options=ROOM
    )
    check(result.code == 0 and result.out.strip() == box.inside("v"), result.brief())


@case("merged /usr, links of /bin and /lib64, and env work")
def merged_usr(box):
    for policy in (":workspace-write", ":eval", ":read-only"):
        result = box.run(
            "/bin/sh", "-c", "[ -d /lib64/. ] && /usr/bin/env true && /bin/true && echo fine", policy=policy
        )
        check(result.out == "fine\n", f"{policy}: {result.brief()}")
