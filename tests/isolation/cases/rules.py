"""Rules for paths: which wins, in which order they are written, and what they are applied to."""

import itertools
import os
import shutil
import socket
import subprocess
import time

from blackbox.box import patient
from blackbox.suite import Skip, case, check

BASE = {"version": 1, "extends": ":read-only"}


def with_files(box, **filesystem):
    return box.policy_file({**BASE, "filesystem": filesystem})


@case("read-only reads and writes nothing, not even the workspace")
def read_only(box):
    box.file("file", "content")
    result = box.sh(
        "cat file; touch file new /var/tmp/x /x 2>/dev/null; rm -f file; echo >>file; true >/tmp/works && echo tmp",
        policy=":read-only",
    )
    check(result.out == "contenttmp\n" and os.listdir(box.workspace) == ["file"], result.brief())
    check(open(box.inside("file")).read() == "content", "the file changed")


@case("workspace-write writes the workspace and nothing beside it")
def workspace_write(box):
    sibling = box.make("sibling")
    result = box.sh(f"true >mine && echo yes; true >{sibling}/x && echo no")
    check(result.out == "yes\n" and os.listdir(box.workspace) == ["mine"] and not os.listdir(sibling), result.brief())


@case("nested read and write rules hold in every order")
def nested_rules(box):
    top = box.make("p", "c", "d") and os.path.join(box.dir, "p")
    os.makedirs(f"{top}/c/d/e", exist_ok=True)
    rules = [("read", top), ("write", f"{top}/c"), ("read", f"{top}/c/d"), ("write", f"{top}/c/d/e")]
    for order in itertools.permutations(rules):
        words = [word for kind, path in order for word in (f"--{kind}", path)]
        result = box.sh(
            f"for d in {top} {top}/c {top}/c/d {top}/c/d/e; do true >$d/x && echo w || echo r; rm -f $d/x; done",
            options=words,
            policy=":read-only",
        )
        check(result.out.split() == ["r", "w", "r", "w"], f"{[kind for kind, _ in order]}: {result.brief()}")


@case("a denied file in an allowed directory is hidden in both orders, globs too")
def deny_in_allowed(box):
    for name in ("secret.txt", "a.key", "deep/er/b.key", "plain"):
        box.file(name, "SENTINEL")
    secret, glob = box.inside("secret.txt"), box.inside("**/*.key")
    for words in (
        ["--deny", secret, "--deny", glob, "--read", box.workspace],
        ["--read", box.workspace, "--deny", glob, "--deny", secret],
    ):
        result = box.sh("cat secret.txt a.key deep/er/b.key; echo; cat plain", options=words)
        check(result.out == "\nSENTINEL", result.brief())


@case("a denied directory is neither listed nor entered")
def deny_directory(box):
    box.file("private/x", "SENTINEL")
    result = box.sh(
        "ls private; ls private/x; cat private/x; find private | wc -l; true >private/new; echo done",
        options=["--deny", "private"],
    )
    check("SENTINEL" not in result.out and "x\n" not in result.out and result.out.endswith("done\n"), result.brief())
    check(os.listdir(box.inside("private")) == ["x"], "something was made in it")


@case("a writable path inside a denied one is a policy error")
def write_in_denied(box):
    policy = with_files(box, deny=[box.dir], write=[box.workspace])
    result = box.run("/bin/true", policy=policy)
    check(result.code == 125 and result.doc["code"] == "policy_invalid", result.brief())


@case("a denied parent of the workspace does not move the command elsewhere")
def denied_parent(box):
    result = box.run("/bin/pwd", options=["--deny", ".."], policy=":read-only")
    check(result.code == 125 or result.out.strip() == box.workspace, result.brief())


@case("a missing read path warns, a missing write path is an error, a missing deny path stays absent")
def missing_paths(box):
    missing = box.inside("missing")
    result = box.sh("echo ran", options=["--read", missing])
    check(
        result.out == "ran\n" and any("missing" in text for text in result.doc["enforcement"]["warnings"]),
        result.brief(),
    )
    result = box.sh("echo ran", options=["--write", missing])
    check(result.code == 125, result.brief())
    result = box.sh("ls -A", options=["--deny", missing])
    check(result.out == "" and result.code == 0 and os.listdir(box.workspace) == [], result.brief())


@case("bind shows a directory elsewhere, read-only unless said")
def bind(box):
    source = box.make("source")
    box.file(f"{source}/file", "content")
    for write in (False, True):
        policy = with_files(box, bind=[{"source": source, "target": "/mnt", "write": write}])
        result = box.sh("cat /mnt/file; true >/mnt/new && echo w || echo r", policy=policy)
        check(result.out == "content" + ("w\n" if write else "r\n"), result.brief())
    check(sorted(os.listdir(source)) == ["file", "new"], str(os.listdir(source)))
    policy = box.policy_file(
        {"version": 1, "extends": ":eval", "filesystem": {"bind": [{"source": source, "target": "/data/new/x"}]}}
    )
    result = box.sh("cat /data/new/x/file", policy=policy)
    check(result.out == "content", result.brief())


@case("tmpfs is empty, of its size, and hides what was there")
def tmpfs(box):
    box.file("cache/old", "x")
    result = box.sh(
        "ls -A cache; true >cache/new; df -k --output=size cache | tail -1",
        options=["--tmpfs", f"{box.inside('cache')}:4M"],
    )
    check(result.code == 0 and int(result.out.split()[0]) <= 4 << 10, result.brief())
    check(os.listdir(box.inside("cache")) == ["old"], "it reached the host")


@case("20 000 denied paths: enforced, or one clear error, in seconds")
def many_rules(box):
    top = box.make("many")
    for i in range(20000):
        open(f"{top}/{i}", "w").close()
    policy = with_files(box, deny=[f"{top}/{i}" for i in range(20000)])
    result = box.run(
        "/bin/sh", "-c", f"cat {top}/0 {top}/19999 2>/dev/null && echo READ; echo hi", policy=policy, seconds=120
    )
    check(result.seconds < 60, f"{result.seconds:.0f} s")
    check(result.out == "hi\n" or (result.code == 125 and len(result.doc["message"]) < 500), result.brief()[:600])
    shutil.rmtree(top)


@case("system and empty roots hold what they say")
def roots(box):
    box.file("prog", "")
    for root, script, expected in (
        (
            "system",
            "ls /; ls /usr/bin/env; [ -e /root/.bashrc ] && echo ROOT; [ -e /var/log/dpkg.log ] && echo LOG;"
            "id -un; [ -r /etc/shadow ] && echo SHADOW",
            ["usr", "bin"],
        ),
    ):
        policy = with_files(box, root=root)
        result = box.sh(script, policy=policy)
        words = result.out.split()
        check(
            all(name in words for name in expected) and not {"ROOT", "LOG", "SHADOW"} & set(words),
            f"{root}: {result.brief()}",
        )
    shutil.copy(os.path.join(box.suite.programs, "statically"), box.inside("statically"))
    policy = box.policy_file({**BASE, "filesystem": {"root": "empty", "write": ["."]}})
    result = box.run(box.inside("statically"), "list", "/", policy=policy)
    names = set(result.out.split())
    check(
        result.code == 0 and not {"usr", "etc/shadow", "root", "home", "boot"} & (names - {box.dir.split("/")[1]}),
        result.brief(),
    )


def rootfs(box, **links):
    """A small root file system with a static program, and links where directories should be."""
    top = box.make("rootfs")
    for name in ("bin", "etc", "tmp", "proc", "dev", "data"):
        if name not in links:
            os.makedirs(f"{top}/{name}", exist_ok=True)
    shutil.copy(os.path.join(box.suite.programs, "statically"), f"{box.make('rootfs', 'bin')}/statically")
    os.chmod(f"{top}/bin/statically", 0o755)
    for name, target in links.items():
        os.symlink(target, f"{top}/{name}")
    return top


@case("a root file system of the caller's is used")
def own_rootfs(box):
    top = rootfs(box)
    box.file(f"{top}/etc/marker", "SENTINEL")
    result = box.run("/bin/statically", "list", "/etc", policy=with_files(box, root=top))
    check("marker" in result.out.split() and "shadow" not in result.out.split(), result.brief())


@case("hostile links in a root file system lead to nothing on the host")
def hostile_rootfs(box):
    victim = box.make("victim")
    box.file(f"{victim}/ptmx", "victim")
    before = {name: os.lstat(f"{victim}/{name}").st_mode for name in os.listdir(victim)}
    for name in ("dev", "proc", "tmp", "etc", "data"):
        for target in (victim, os.path.relpath(victim, box.make("rootfs")), "/proc/self/root"):
            shutil.rmtree(box.make("rootfs"))
            top = rootfs(box, **{name: target})
            filesystem = {"root": top, "bind": [{"source": "/usr/share", "target": "/data/new/x"}]}
            result = box.run("/bin/statically", "list", "/", policy=with_files(box, **filesystem))
            check(result.code in (0, 125), f"{name} -> {target}: {result.brief()}")
            after = {name: os.lstat(f"{victim}/{name}").st_mode for name in os.listdir(victim)}
            check(
                after == before and open(f"{victim}/ptmx").read() == "victim",
                f"{name} -> {target}: the host's directory changed",
            )


@case("a root file system whose /dev/null is a link masks with pinfold's own null")
def hostile_null(box):
    top = rootfs(box)
    os.symlink("/proc/sys/kernel/core_pattern", f"{top}/dev/null")
    box.file(f"{top}/etc/secret", "SENTINEL")
    before = open("/proc/sys/kernel/core_pattern").read()
    result = box.run("/bin/statically", "cat", "/etc/secret", policy=with_files(box, root=top, deny=["/etc/secret"]))
    check("SENTINEL" not in result.out and open("/proc/sys/kernel/core_pattern").read() == before, result.brief())
    result = box.run("/bin/statically", "stat", "/dev/null", policy=with_files(box, root=top))
    check(result.code == 125 or result.out.strip() == "character 1:3", result.brief())


@case("a workspace named through a link is the place behind it")
def workspace_by_link(box):
    real, link = box.workspace, os.path.join(box.dir, "alias")
    os.symlink(real, link)
    box.workspace = link
    result = box.sh("pwd -P; true >file")
    check(result.code == 0 and os.path.exists(f"{real}/file"), result.brief())


@case("the current directory is kept where it lies in the workspace")
def current_directory(box):
    os.makedirs(box.inside("a/b"))
    result = box.run("/bin/pwd", cwd=box.inside("a/b"))
    check(result.out.strip() == box.inside("a/b"), result.brief())
    result = box.run("/bin/pwd", cwd="/usr")
    check(result.out.strip() == box.workspace, result.brief())
    for directory in ("a", box.inside("a")):
        result = box.run("/bin/pwd", options=["-C", directory])
        check(result.out.strip() == box.inside("a"), result.brief())


@case("200 runs, eight at once, do not cross and leave nothing")
def many_runs(box):
    script = ["/bin/sh", "-c", 'echo "$1" >out-$1; cat out-$1', "sh"]
    words = " ".join(f"'{word}'" for word in patient(box.words(script, json_out=False)))
    done = subprocess.run(
        ["/bin/sh", "-c", f"seq 200 | xargs -P8 -I@ {words} @"],
        env=box.env,
        cwd=box.workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    check(
        done.returncode == 0 and sorted(map(int, done.stdout.split())) == list(range(1, 201)),
        f"{done.returncode} {done.stderr[-500:]}",
    )


@case("a hundred runs at once all end well")
def hundred_at_once(box):
    words = patient(box.words(["/bin/sh", "-c", "sleep 1; echo $0"], ["--timeout", "50s"], policy=":read-only", json_out=False))
    lives = [box.begin([*words, str(i)]) for i in range(100)]
    for i, live in enumerate(lives):
        code, out, err, _seconds = live.wait(60)
        check((code, out) == (0, f"{i}\n".encode()), f"run {i}: exit {code} {out!r} {err!r}")


def interfaces():
    with open("/proc/net/dev", encoding="ascii") as file:
        return sorted(line.split(":")[0].strip() for line in file if ":" in line)


@case("runs, some of them killed with their supervisor, leave no interface and no named namespace")
def no_network_left(box):
    box.suite.killed_supervisors = True
    named = ("/run/netns", "/var/run/netns")
    before = interfaces(), [os.path.exists(path) and os.listdir(path) for path in named]
    for i in range(20):
        live = box.start("/bin/sh", "-c", "sleep 30" if i % 2 else "true", box.mark, policy=":read-only")
        if i % 2:
            time.sleep(i * 0.005)
            live.kill()
        else:
            live.wait()
    after = interfaces(), [os.path.exists(path) and os.listdir(path) for path in named]
    check(before == after, f"{before} {after}")


@case("a socket in what the policy shows is told, and is no surprise to its row")
def shown_sockets(box):
    top, host = box.make("shown"), f"{box.dir}/shown/a/b/control.sock"
    box.make("shown", "a", "b")
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(host)
        except OSError as error:
            raise Skip(f"the temporary directory's name is too long for a socket: {error}") from None
        os.chmod(host, 0o666)
        bind = [{"source": f"{top}/a", "target": "/mnt"}]
        for filesystem in ({"read": [top]}, {"read": [host]}, {"write": [f"{top}/a"]}, {"bind": bind}):
            policy = with_files(box, root="system", **filesystem)
            result = box.run("/bin/true", policy=policy)
            told = [text for text in result.doc["enforcement"]["warnings"] if host in text]
            row = result.row("host_sockets")
            check(result.code == 0 and len(told) == 1, f"{filesystem}: {result.doc['enforcement']['warnings']}")
            check(row["state"] == "degraded" and host in row["reason"] and row["fix"], f"{filesystem}: {row}")
        _code, _out, err, _seconds = box.pinfold("run", "--read", top, "--", "/bin/true")
        check(host.encode() in err, f"nothing is said without --json: {err!r}")
        for filesystem in ({"read": [top], "deny": [host]}, {"read": [top], "deny": [f"{top}/a"]}, {}):
            result = box.run("/bin/true", policy=with_files(box, root="system", **filesystem))
            check(result.doc["enforcement"]["warnings"] == [], f"{filesystem}: {result.doc['enforcement']['warnings']}")
            check(result.row("host_sockets")["state"] == "enforced", f"{filesystem}: {result.row('host_sockets')}")
