"""What the caller holds and the command must not see: environment, arguments, descriptors, groups, memory."""

import errno
import os
import re
import shutil
import subprocess

from blackbox import host
from blackbox.box import held
from blackbox.suite import case, check

LOOK = r"""
env; tr '\0' '\n' </proc/1/environ; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\0' '\n'; set
grep -a SENTINEL /proc/1/maps /proc/1/auxv; echo "held: looked"
"""


@case("the caller's environment is not seen inside, anywhere")
def environment(box):
    env = {
        **box.env,
        "SECRET_TOKEN": "SENTINEL",
        "SSH_AUTH_SOCK": "/SENTINEL",
        "LD_PRELOAD": "",
        "BASH_ENV": "/SENTINEL",
        "ENV": "/SENTINEL",
        "PYTHONPATH": "/SENTINEL",
        "GIT_DIR": "/SENTINEL",
        "AWS_SECRET_ACCESS_KEY": "SENTINEL",
    }
    result = held(box.sh(LOOK, env=env))
    seen = [line for line in result.out.splitlines() if "SENTINEL" in line and "grep" not in line]
    check(not seen, f"seen: {seen}")
    check(b"SENTINEL" not in result.noise, "pinfold wrote it to stderr")


@case("a secret given by the policy is on no command line inside or outside")
def policy_secret(box):
    policy = box.policy_file(
        {"version": 1, "extends": ":workspace-write", "process": {"env": {"set": {"API_KEY": "SENTINEL"}}}}
    )
    live = box.start(
        "/bin/sh",
        "-c",
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c SENTIN[E]L; [ $API_KEY ] && echo there; "
        "true >ready; sleep 0.5",
        box.mark,
        policy=policy,
    )
    box.wait_for("ready")
    lines = [command for _pid, command in host.marked(box.mark) if "SENTINEL" in command]
    result = live.result()
    check(result.out.split() == ["0", "there"], result.brief())
    check(not lines, f"on a command line of the host: {lines}")
    check("SENTINEL" not in result.raw.decode(), "the result holds it")


GIVEN = r"""
import os
for name in os.listdir("/proc/self/fd"):
    if int(name) > 2:
        try: target = os.readlink("/proc/self/fd/" + name)
        except OSError: continue
        if target.endswith("/fd"): continue
        print("ESCAPED: descriptor", name, target)
try: print("ESCAPED:", os.read(2048, 100))
except OSError: print("held: 2048")
for pid in os.listdir("/proc"):
    try: links = [os.readlink("/proc/%s/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%s/fd" % pid)]
    except OSError: continue
    if any("sentinel" in link for link in links): print("ESCAPED: in process", pid)
"""
CLOSE_RANGE = "436"


@case("an inherited descriptor is closed, whatever its number")
def inherited_descriptors(box):
    sentinel = box.file(os.path.join(box.dir, "sentinel"), "SENTINEL")
    give = ["--give", "2048", sentinel, "--give", "3", sentinel, "--give", "77", sentinel]
    variants = {
        "plain": give,
        "with a lowered limit": [*give, "--files", "100"],
        "close_range refused": [*give, "--refuse", CLOSE_RANGE, str(errno.EPERM)],
        "close_range unknown": [*give, "--refuse", CLOSE_RANGE, str(errno.ENOSYS)],
    }
    for name, outer in variants.items():
        result = box.python(GIVEN, outer=outer)
        check("ESCAPED" not in result.out, f"{name}: {result.brief()}")
        check(result.code == 0 or result.code == 125, f"{name}: {result.brief()}")


@case("where nothing tells what is open, and nothing closes it all, nothing is run", needs=["unshare"])
def undiscoverable_descriptors(box):
    sentinel = box.file(os.path.join(box.dir, "sentinel"), "SENTINEL")
    enter = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "/bin/sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    outer = ["--give", "2048", sentinel, "--refuse", CLOSE_RANGE, str(errno.EPERM)]
    result = box.begin([*enter, *box.words(["/usr/bin/touch", "RAN"])], outer).result()
    check(result.code == 125 and "/proc" in result.doc["message"], result.brief())
    check(not os.path.exists(box.inside("RAN")), "it ran")


@case("pinfold looks for no program in the workspace or in PATH")
def planted_programs(box):
    names = "sh true git tar mount umount unshare newuidmap newgidmap ip busctl systemctl systemd-run cgexec env python3 ls id"
    for place in ("", "bin/"):
        for name in names.split():
            box.file(f"{place}{name}", f"#!/bin/sh\necho {name} >>{box.dir}/planted\n", 0o755)
    os.chmod(box.dir, 0o777)
    env = {**box.env, "PATH": f".:{box.workspace}:{box.inside('bin')}:{box.env['PATH']}"}
    limits = ["--memory", "64M", "--pids", "50", "--cpus", "1"]
    for words in (
        box.words(["/bin/true"], limits),
        [box.suite.pinfold, "check", "--json", "-w", box.workspace, *limits],
        [box.suite.pinfold, "wrap", "--json", "-w", box.workspace, *limits, "--", "/bin/true"],
        [box.suite.pinfold, "gc"],
    ):
        code, out, err, _ = box.begin(words, env=env).wait()
        check(code in (0, 1), f"{words}: exit {code} {out!r} {err!r}")
        check(not os.path.exists(f"{box.dir}/planted"), f"{words}: a planted program was started")


@case("capabilities that a caller would hand down are in no set, and a file gives none back", only="root", needs=["setpriv", "setcap"])
def handed_down_capabilities(box):
    shutil.copy("/usr/bin/python3", box.inside("capable"))
    os.chmod(box.inside("capable"), 0o755)
    subprocess.run(["setcap", "cap_chown,cap_dac_override=eip", box.inside("capable")], check=True)
    look = "print(open('/proc/self/status').read())"
    for change in ({}, {"process": {"identity": "caller"}}):
        policy = box.policy_file({"version": 1, "extends": ":workspace-write", **change})
        hand_down = ["setpriv", "--inh-caps=+chown,+dac_override", "--ambient-caps=+chown,+dac_override"]
        for program in ("/usr/bin/python3", box.inside("capable")):
            result = box.begin([*hand_down, *box.words([program, "-c", look], policy=policy)]).result()
            sets = re.findall(r"Cap(?:Inh|Prm|Eff|Bnd|Amb):\s+(\w+)", result.out)
            check(len(sets) == 5 and not any(int(one, 16) for one in sets), f"{program}: {result.brief()}")


@case("the caller's supplementary groups are dropped", only="root")
def supplementary_groups(box):
    secret = box.file("disk-only", "SENTINEL", 0o640)
    os.chown(secret, 0, 6)
    live = subprocess.run(
        ["setpriv", "--groups=0,6", *box.words(["/bin/sh", "-c", f"id -G; cat {secret}", box.mark])],
        env=box.env,
        cwd=box.workspace,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    text = live.stdout.decode()
    check('"exit_code"' in text and '"schema"' in text, f"{live.returncode}: {text} {live.stderr}")
    groups = re.search(r'"data": ?"([0-9 ]*)', text)
    check(groups and groups.group(1).split() in (["1000"], ["1000", "65534"]), text)


@case("a crash leaves no core and starts no handler of the host")
def core_dumps(box):
    result = box.sh("grep 'core file' /proc/self/limits; sh -c 'kill -SEGV $$'; kill -ABRT $$")
    check(
        result.status == "signaled" and result.doc["signal"] == "SIGABRT" and not result.doc["core_dumped"],
        result.brief(),
    )
    check(os.listdir(box.workspace) == [], f"left: {os.listdir(box.workspace)}")
    soft, hard = result.out.splitlines()[0].split()[4:6]
    check((soft, hard) == ("1", "1"), f"the limit is {soft} {hard}: only 1 stops a handler behind a pipe")


@case("processes of the host are neither seen nor signalled")
def host_processes(box):
    script = (
        f"kill -0 {os.getpid()} 2>/dev/null && grep -q python /proc/{os.getpid()}/comm && echo ESCAPED: signalled; "
        "n=0; for d in /proc/[0-9]*; do n=$((n+1)); done; [ $n -le 4 ] || echo ESCAPED: $n processes; echo held: looked"
    )
    held(box.sh(script))


@case("an error does not tell the environment's values")
def errors_tell_nothing(box):
    env = {**box.env, "SECRET_TOKEN": "SENTINEL"}
    for words in (
        ["run", "--json", "--", "/nonexistent"],
        ["run", "--json", "-p", "/nonexistent", "--", "true"],
        ["run", "--json", "-w", "/nonexistent", "--", "true"],
        ["run", "--json", "--memory", "x", "--", "true"],
    ):
        code, out, err, _ = box.pinfold(*words, env=env)
        check(b"SENTINEL" not in out + err and code != 0, f"{words}: {out!r} {err!r}")
