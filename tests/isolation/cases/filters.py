"""Filters of system calls: what a profile from a file means, and that none stands in the way of the start."""

import json
import os

from blackbox.suite import Skip, case, check

# Of the package golang-github-containers-common; or in the directory that `./dev test` names.
SHIPPED = ("/usr/share/containers/seccomp.json", os.path.join(os.environ.get("PINFOLD_TEST_SECCOMP_FILES", ""), "seccomp.json"))
NEWUSER, NEWNS, SIGCHLD = 0x10000000, 0x20000, 17

# The calls of `calls`, by the names under which it tells their answers.
ASKED = {
    "unshare-user": f"272:{NEWUSER}",
    "unshare-mount": f"272:{NEWNS}",
    "clone": f"56:{SIGCHLD}",
    "clone-user": f"56:{NEWUSER | SIGCHLD}",
    "clone-mount": f"56:{NEWNS | SIGCHLD}",
    "clone3": "435:0,64",
    "personality-plain": "135:0",
    "personality-32": "135:8",
    "personality-odd": "135:0x1234",
    "mount": "165:0,0,0,0,0",
    "mknod": "133:0,0,0",
    "faccessat2": "439:-100,0,0,0",
    "fchmodat2": "452:-100,0,0,0",
    "the-future": "1000:0",
    "getpid": "39",
    "getuid": "102",
    "getgid": "104",
    "getppid": "110",
    "uname": "63:0",
    "sysinfo": "99:0",
    "times": "100:0",
    "umask-0": "95:0",
    "umask-77": "95:077",
}

# What a static program needs that starts children and prints.
NEEDED = """read write readv writev close fstat newfstatat mmap mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn
    execve exit exit_group wait4 arch_prctl set_tid_address set_robust_list rseq prlimit64 getrandom readlink readlinkat
    futex getpid gettid ioctl lseek fcntl open openat""".split()


def allow(names, **more):
    return {"names": names, "action": "SCMP_ACT_ALLOW", **more}


def compare(index, op, value, value_two=0):
    return {"index": index, "op": f"SCMP_CMP_{op}", "value": value, "valueTwo": value_two}


def with_profile(box, document, **seccomp):
    """A policy whose profile is this document, written as a file beside it."""
    box.file(os.path.join(box.dir, "profile.json"), json.dumps(document))
    return box.policy_file({"version": 1, "extends": ":workspace-write", "seccomp": {"profile": "profile.json", **seccomp}})


def answers(box, policy, names=tuple(ASKED)):
    result = box.run(box.program("calls"), *(f"{name}={ASKED[name]}" for name in names), policy=policy)
    check(result.code == 0, result.brief())
    return dict(line.split(" ", 1) for line in result.out.splitlines()), result


def differing(seen, expected):
    return {name: (seen.get(name), answer) for name, answer in expected.items() if seen.get(name) != answer}


# As engines of containers write them: an allow list, with what depends on arguments, rights, machine and kernel.
CONTAINER = {
    "defaultAction": "SCMP_ACT_ERRNO",
    "defaultErrnoRet": 1,
    "archMap": [
        {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
        {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"]},
    ],
    "syscalls": [
        allow(NEEDED),
        allow(["personality"], args=[compare(0, "EQ", 0)]),
        allow(["personality"], args=[compare(0, "EQ", 8)]),
        allow(["clone"], args=[compare(0, "MASKED_EQ", 0x7E020000)], excludes={"caps": ["CAP_SYS_ADMIN"], "arches": ["s390", "s390x"]}),
        allow(["clone", "mount", "unshare"], includes={"caps": ["CAP_SYS_ADMIN"]}),
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38, "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
        allow(["getuid"], includes={"arches": ["amd64"]}),
        allow(["getgid"], includes={"arches": ["arm64"]}),
        allow(["getppid"], includes={"minKernel": "3.0"}),
        allow(["times"], includes={"minKernel": "999.0"}),
        allow(["umask"], args=[compare(0, "LT", 0o10)]),
        {"names": ["uname"], "action": "SCMP_ACT_ERRNO", "errnoRet": 13},
        {"names": ["sysinfo"], "action": "SCMP_ACT_KILL_PROCESS"},
        allow(["faccessat2", "chown32", "a_call_that_nobody_knows"]),
    ],
}
CONTAINER_ANSWERS = {
    "unshare-user": "EPERM", "unshare-mount": "EPERM", "clone": "ok", "clone-user": "EPERM", "clone-mount": "EPERM",
    "clone3": "ENOSYS", "personality-plain": "ok", "personality-32": "ok", "personality-odd": "EPERM", "mount": "EPERM",
    "mknod": "EPERM", "faccessat2": "EFAULT", "fchmodat2": "ENOSYS", "the-future": "ENOSYS", "getpid": "ok", "getuid": "ok",
    "getgid": "EPERM", "getppid": "ok", "times": "EPERM", "umask-0": "ok", "umask-77": "EPERM", "uname": "EACCES",
    "sysinfo": "signal 31",
}


@case("a profile as containers have it means here what it means there")
def container_profile(box):
    seen, result = answers(box, with_profile(box, CONTAINER))
    check(not differing(seen, CONTAINER_ANSWERS), f"seen and expected: {differing(seen, CONTAINER_ANSWERS)}")
    warnings = [text for text in result.doc["enforcement"]["warnings"] if "system call" in text]
    check(len(warnings) == 1 and "a_call_that_nobody_knows" in warnings[0], str(warnings))
    check(result.row("nested_namespaces")["state"] == "enforced", str(result.row("nested_namespaces")))


@case("a profile that allows everything lifts none of pinfold's own refusals")
def own_refusals(box):
    policy = with_profile(box, {"defaultAction": "SCMP_ACT_ALLOW"})
    seen, result = answers(box, policy)
    expected = {"clone3": "ENOSYS", "the-future": "ENOSYS", "getpid": "ok", "personality-odd": "ok"}
    check(not differing(seen, expected), f"seen and expected: {differing(seen, expected)}")
    check(result.row("nested_namespaces")["state"] == "off", str(result.row("nested_namespaces")))
    result = box.run(box.program("calls"), "vsock=41:40,1,0", "io_uring=425:4,0", "packet=41:17,3,0", "typing=16:0,0x5412,0", policy=policy)
    check(result.out.split("\n")[:4] == ["vsock EAFNOSUPPORT", "io_uring ENOSYS", "packet EAFNOSUPPORT", "typing EPERM"], result.brief())


@case("calls denied by the policy stay so under a profile that allows them")
def denied_on_top(box):
    policy = with_profile(box, {"defaultAction": "SCMP_ACT_ALLOW"}, deny=["getppid", "mknod"], errno="ENOSYS")
    expected = {"getppid": "ENOSYS", "mknod": "ENOSYS", "getpid": "ok"}
    seen, _result = answers(box, policy, expected)
    check(not differing(seen, expected), f"seen and expected: {differing(seen, expected)}")


@case("what a profile says and pinfold does not understand is refused with its place")
def misunderstood(box):
    for change, word in (
        ({"syscals": []}, "syscals"),
        ({"syscalls": [allow(["read"], args=[compare(0, "ABOUT", 1)])]}, "args.0.op"),
        ({"syscalls": [allow(["read"], includes={"cap": ["CAP_BPF"]})]}, "includes"),
        ({"defaultAction": "SCMP_ACT_NOTIFY"}, "defaultAction"),
        ({"architectures": ["SCMP_ARCH_AARCH64"]}, "architectures"),
    ):
        result = box.run("/bin/true", policy=with_profile(box, {"defaultAction": "SCMP_ACT_ALLOW", **change}))
        told = json.dumps(result.doc)
        check(result.code == 125 and result.doc.get("code") == "policy_invalid", f"{change}: {result.brief()}")
        check("profile.json:1:" in told and word in told, f"{change}: {told}")


@case("the profile that Debian ships for containers can be used")
def shipped_profile(box):
    found = [path for path in SHIPPED if os.access(path, os.R_OK)]
    if not found:
        raise Skip(f"{SHIPPED[0]} cannot be read here (package golang-github-containers-common)")
    with open(found[0], encoding="utf-8") as file:
        policy = with_profile(box, json.load(file))
    seen, _result = answers(box, policy)
    expected = {"unshare-mount": "EPERM", "clone": "ok", "clone3": "ENOSYS", "personality-odd": "ENOSYS",
                "the-future": "ENOSYS", "faccessat2": "EFAULT"}
    check(not differing(seen, expected), f"seen and expected: {differing(seen, expected)}")
    result = box.sh(
        "ls >/dev/null && true >file && test -r file && cp file copy && python3 -c "
        "'import threading as t; x = t.Thread(target=print, args=(1,)); x.start(); x.join()'; chmod 4755 copy && echo SETID",
        policy=policy,
    )
    check(result.out == "1\n", result.brief())


# What pinfold itself, its init and the loader of libraries may use between the filter and the command's first step.
OF_THE_START = """access capset chdir chroot clock_nanosleep clone close_range dup dup2 dup3 exit exit_group faccessat fchdir
    fcntl fork getcwd gettid ioctl kill landlock_restrict_self mount open openat2 personality pipe2 pivot_root poll ppoll
    prctl prlimit64 rt_sigaction rt_sigprocmask seccomp setgroups sethostname setpgid setresgid setresuid setrlimit setsid
    signalfd4 socketpair umask unshare vfork wait4 waitid write""".split()


@case("a filter that refuses what a start needs does not stop the start")
def start_under_a_filter(box):
    program, found = box.program("statically"), {}
    for call in OF_THE_START:
        document = {"version": 1, "extends": ":workspace-write", "seccomp": {"deny": [call]}}
        result = box.run("/bin/true", policy=box.policy_file(document))
        if result.status not in ("exited", "signaled"):
            found[call] = result.brief()
    rules = [{"names": [call for call in OF_THE_START if call not in ("exit_group", "write", "prlimit64")], "action": "SCMP_ACT_KILL_PROCESS"}]
    policy = with_profile(box, {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules})
    path = f"/nonexistent:{box.make('empty')}:{box.workspace}:/usr/bin"
    for name in (program, "statically"):
        result = box.run(name, "stat", "/", policy=policy, options=["-e", f"PATH={path}"])
        if result.status != "exited" or "mode" not in result.out:
            found[name] = result.brief()
    check(not found, str(found))


@case("a filter that refuses execve is a mistake of the policy")
def no_execve(box):
    for policy in (
        box.policy_file({"version": 1, "seccomp": {"deny": ["execve"]}}),
        with_profile(box, {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [allow(["read", "write", "exit_group"])]}),
        with_profile(box, {"defaultAction": "SCMP_ACT_KILL", "syscalls": [allow(["read", "write", "exit_group"])]}),
    ):
        result = box.run("/bin/true", policy=policy)
        check(result.code == 125 and result.doc["code"] == "policy_invalid" and "execve" in result.doc["message"], result.brief())


@case("a command that cannot be executed is told at once, whatever the filter refuses")
def not_found_under_a_filter(box):
    box.file("no-interpreter", "#!/nonexistent/interpreter\n", 0o755)
    box.file("plain", "x", 0o644)
    calls = ["exit", "access", "open", "openat", "read", "close"]
    kill = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": calls, "action": "SCMP_ACT_KILL_PROCESS"}]}
    denying = box.policy_file({"version": 1, "extends": ":workspace-write", "seccomp": {"deny": calls}}, "denying.json")
    for policy in (denying, with_profile(box, kill)):
        for name, code, word in (
            ("/nonexistent", 127, "not_found"),
            ("no-such-name", 127, "not_found"),
            ("./plain", 126, "permission_denied"),
            ("./no-interpreter", 127, "/nonexistent/interpreter"),
            ("no-interpreter", 127, "/nonexistent/interpreter"),
        ):
            result = box.run(name, policy=policy, options=["--timeout", "20", "-e", f"PATH=/usr/bin:{box.workspace}"])
            check(result.code == code and result.status == "setup_failed", f"{name}: {result.brief()}")
            check(word in json.dumps(result.doc["error"]) and result.seconds < 10, f"{name}: {result.brief()}")
