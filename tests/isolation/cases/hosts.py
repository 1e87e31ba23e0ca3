"""Odd hosts: mount flags, links where directories are expected, sandboxes around the sandbox."""

import os
import re
import subprocess

from blackbox.box import Result
from blackbox.suite import Skip, case, check
from blackbox.worlds import own_mounts


def in_private_mounts(box, setup, words, seconds=60):
    """Runs `words` after a shell has changed the mounts of a namespace of its own; (exit status, stdout, stderr)."""
    return box.begin([*own_mounts(setup), *words]).wait(seconds)


def with_bind(box, bind):
    document = {"version": 1, "extends": ":workspace-write", "filesystem": {"bind": [bind]}}
    return box.policy_file(document, os.path.basename(bind["source"]) + "-bound.json")


def tmpfs_policy(box):
    """What works on a tmpfs, which can be id-mapped from Linux 6.3 on; before, the command has to keep root's id."""
    release = [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]]
    if release >= [6, 3]:
        return box.policy
    return box.policy_file({"version": 1, "extends": box.policy, "process": {"identity": "caller"}})


@case("a source mounted nosuid, nodev, noexec can be made read-only and writable", needs=["unshare"])
def restrictive_flags(box):
    where = box.make("mounted")
    setup = f"mount -t tmpfs -o nosuid,nodev,noexec,noatime,mode=1777 t {where}; mkdir -m 777 {where}/w"
    for option, expected in (("--read", "r"), ("--write", "w")):
        words = box.words(["/bin/sh", "-c", f"true >{where}/w/x && echo w || echo r"], [option, where], tmpfs_policy(box))
        result = Result(*in_private_mounts(box, setup, words))
        check(result.out.strip() == expected, result.brief())


@case("a workspace on a nosuid, nodev tmpfs works", only="root")
def workspace_on_tmpfs(box):
    where = box.make("mounted")
    setup = f"mount -t tmpfs -o nosuid,nodev t {where}; mkdir {where}/w; cd {where}/w"
    for policy in {box.policy, tmpfs_policy(box)}:
        words = [box.suite.pinfold, "run", "--json", "-p", policy, "-w", f"{where}/w", "--", "/bin/sh", "-c", "echo x >f; cat f"]
        result = Result(*in_private_mounts(box, setup, words))
        if policy == tmpfs_policy(box):
            check(result.out == "x\n", result.brief())
        else:
            check(result.code == 125 and "id-mapped" in result.doc["message"], result.brief())


SHARED = r"""
mount --make-rshared /
look() { cut -d' ' -f4- /proc/self/mountinfo | sort; }
before=$(look)
"$@" >/dev/null 2>&1; echo "exit $?"
[ "$before" = "$(look)" ] && echo same
"""


@case("a shared root does not receive the sandbox's mounts, however a run ends", needs=["unshare"])
def shared_propagation(box):
    how = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "--propagation", "private", "/bin/sh", "-c", SHARED, "sh"]
    everything = with_bind(box, {"source": "/", "target": "/mnt"})
    not_there = with_bind(box, {"source": "/usr", "target": "/etc/passwd/not/to/be/made"})
    for words, status in (
        (box.words(["/bin/true"]), 0),
        (box.words(["/bin/ls", "/mnt/usr"], policy=everything), 0),
        (box.words(["/nonexistent"]), 127),
        (box.words(["/bin/true"], policy=not_there), 125),
        (box.words(["/bin/sh", "-c", "kill -9 $$"]), 137),
        (box.words(["/bin/sleep", "9"], ["--timeout", "200ms"]), 124),
    ):
        _code, out, err, _ = box.begin([*how, *words]).wait()
        check(out.split(b"\n")[:2] == [b"exit %d" % status, b"same"], f"{words}: {out!r} {err!r}")


@case("a /tmp that is a link works", needs=["unshare"])
def linked_tmp(box):
    where = box.make("elsewhere")
    setup = (
        f"mkdir -m 1777 {where}/tmp; mount -t tmpfs -o mode=755 t /mnt; mkdir /mnt/root; mount --rbind / /mnt/root; "
        f"mkdir {where}/w; ln -s {where} /mnt/alias"
    )
    words = [
        box.suite.pinfold,
        "run",
        "--json",
        "-p",
        box.policy,
        "-w",
        "/mnt/alias/w",
        "--",
        "/bin/sh",
        "-c",
        "true >/tmp/x && echo x >f && cat f",
    ]
    result = Result(*in_private_mounts(box, setup, words))
    check(result.out == "x\n", result.brief())


@case("/etc/resolv.conf as a link into /run, dangling or not, never stops a start", needs=["unshare"])
def linked_resolv_conf(box):
    for target, network, expected in (
        ("/run/pinfold-x/stub.conf", "host", "nameserver 192.0.2.1\n"),
        ("/run/nowhere/at-all", "none", ""),
        ("/run/nowhere/at-all", "host", ""),
    ):
        setup = (
            "mount -t tmpfs t /mnt; mkdir /mnt/etc; cp -a /etc/. /mnt/etc/ 2>/dev/null || true; rm -f /mnt/etc/resolv.conf; "
            f"ln -s {target} /mnt/etc/resolv.conf; mount --bind /mnt/etc /etc; mount -t tmpfs t2 /run; mkdir /run/pinfold-x; "
            "echo nameserver 192.0.2.1 >/run/pinfold-x/stub.conf"
        )
        words = box.words(["/bin/sh", "-c", "cat /etc/resolv.conf; exit 0"], ["--net", network])
        result = Result(*in_private_mounts(box, setup, words))
        check(result.code == 0 and result.out == expected, f"{target} with --net {network}: {result.brief()}")


@case("inside bubblewrap it works, or says at once why not", needs=["bwrap"])
def inside_bubblewrap(box):
    live = box.begin(
        [
            "bwrap",
            "--dev-bind",
            "/",
            "/",
            "--unshare-all",
            "--proc",
            "/proc",
            "--die-with-parent",
            "--",
            *box.words(["/bin/sh", "-c", "echo ran"], ["--timeout", "10"]),
        ]
    )
    code, out, err, seconds = live.wait()
    if b"bwrap:" in err:
        raise Skip(f"bubblewrap itself does not run here: {err.decode().strip()[:100]}")
    result = Result(code, out, err, seconds)
    check(seconds < 15, f"{seconds:.0f} s")
    check(result.out == "ran\n" or (result.code == 125 and result.doc["message"]), result.brief())


@case("inside pinfold it is refused at once and clearly")
def inside_pinfold(box):
    result = box.run(
        *box.words(["/bin/echo", "ran"], policy=":read-only"), options=["--read", os.path.dirname(box.suite.pinfold)]
    )
    check(result.seconds < 10, f"{result.seconds:.0f} s")
    inner = Result(result.code, result.out.encode(), result.err.encode(), result.seconds)
    check(inner.code == 125 and inner.doc["code"] in ("backend_unavailable", "unenforceable"), inner.brief())


@case("inside pinfold with nested namespaces it works, or says at once why not")
def inside_pinfold_nested(box):
    visible = {"read": [os.path.dirname(box.suite.pinfold)]}
    nested = {"process": {"nested_namespaces": True}, "filesystem": visible}
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", **nested})
    result = box.run("/usr/bin/unshare", "-Ur", "/usr/bin/id", "-u", policy=policy)
    check(result.out == "0\n", result.brief())
    result = box.run(*box.words(["/bin/echo", "ran"], policy=":read-only"), policy=policy)
    inner = Result(result.code, result.out.encode(), result.err.encode(), result.seconds)
    check(inner.out == "ran\n" or (inner.code == 125 and inner.doc["message"]), inner.brief())


@case("without namespaces nothing runs unconfined")
def no_namespaces(box):
    eperm, eacces = "1", "13"
    for refusals in (
        ["--refuse", "56", eperm, "--refuse", "435", eperm, "--refuse", "272", eperm],
        ["--refuse", "435", "38", "--refuse", "272", eacces, "--refuse", "56", eacces],
        ["--refuse", "165", eacces, "--refuse", "428", eperm, "--refuse", "429", eperm, "--refuse", "442", eperm],
    ):
        live = box.begin(box.words(["/usr/bin/touch", box.inside("RAN")]), outer=refusals)
        code, out, err, _ = live.wait()
        check(code == 125 and not os.path.exists(box.inside("RAN")), f"{refusals}: exit {code} {out!r} {err!r}")


@case("user.max_user_namespaces is named where it is what forbids it", only="user")
def forbidden_by_sysctl(box):
    result = subprocess.run(
        [
            "unshare",
            "-Ur",
            "/bin/sh",
            "-c",
            'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"',
            "sh",
            *box.words(["/bin/true"]),
        ],
        env=box.env,
        cwd=box.workspace,
        capture_output=True,
        check=False,
    )
    if b"cannot create" in result.stderr or b"unshare:" in result.stderr:
        raise Skip(f"the sysctl cannot be lowered here: {result.stderr.decode().strip()[:100]}")
    text = (result.stdout + result.stderr).decode()
    check(result.returncode == 125 and "max_user_namespaces" in text, f"exit {result.returncode}: {text[-800:]}")


@case("root without CAP_SYS_ADMIN is confined or refused, never half", only="root", needs=["capsh"])
def reduced_root(box):
    words = box.words(["/bin/sh", "-c", "grep -E '^(CapEff|NoNewPrivs)' /proc/self/status"])
    live = box.begin(["capsh", "--drop=cap_sys_admin", "--", "-c", '"$@"', "sh", *words])
    result = Result(*live.wait())
    check(result.code in (0, 125), result.brief())
    if result.code == 0:
        check("CapEff:\t" + "0" * 16 in result.out and "NoNewPrivs:\t1" in result.out, result.brief())


@case("a masked outer /proc is met by a reduced view or one clear error", needs=["unshare"])
def masked_outer_proc(box):
    script = 'mount -t proc proc /proc; mount --bind /dev/null /proc/version; exec "$@"'
    live = box.begin(
        [
            "unshare",
            "-Umpf",
            "--map-root-user",
            "/bin/sh",
            "-c",
            script,
            "sh",
            *box.words(["/bin/sh", "-c", "ls -d /proc/[0-9]* | wc -l"], policy=":read-only"),
        ]
    )
    result = Result(*live.wait())
    check((result.code == 0 and int(result.out) <= 5) or (result.code == 125 and result.doc["message"]), result.brief())


@case("nowhere to write on the host is no obstacle", needs=["unshare"])
def nothing_writable(box):
    words = box.words(["/bin/sh", "-c", "echo ran"], policy=":read-only")
    read_only = "mount -t tmpfs -o ro t /var/tmp; mount --bind /tmp /tmp; mount -o remount,bind,ro /tmp; mount -o remount,bind,ro / || true"
    full = f"mount -t tmpfs -o size=4k t {box.tmp}; head -c 4096 /dev/zero >{box.tmp}/full"
    for setup in (read_only, full):
        result = Result(*in_private_mounts(box, setup, words))
        check(result.out == "ran\n", f"{setup}: {result.brief()}")
