"""pinfold wrap: a host that starts its argv with its env gets what `run` with the same options would have done."""

import json
import os
import subprocess

from blackbox.suite import case, check


def wrapped(box, *words, env=None, cwd=None, code=0):
    got, out, err, _seconds = box.pinfold("wrap", "--json", *words, env=env, cwd=cwd)
    check(got == code, f"wrap {words}: exit {got} {out[:300]!r} {err!r}")
    return json.loads(out)


def started(document, *, json_out=True, cwd="/", **how):
    """As a host would: nothing but what the document says, from anywhere."""
    argv = document["argv"]
    if json_out:
        argv = [*argv[:2], "--json", *argv[2:]]
    done = subprocess.run(argv, env=document["env"], cwd=cwd, capture_output=True, timeout=60, check=False,
                          **{"stdin": subprocess.DEVNULL, **how})
    return done.returncode, json.loads(done.stdout) if json_out else done.stdout, done.stderr


def story(document):
    """What must be the same of two results, or of two reports."""
    report = document["enforcement"]
    rows = [(row["name"], row["state"], row["mechanism"]) for row in report["features"] + report["limits"]]
    return ([document[key] for key in ("status", "exit_code", "signal", "argv", "cwd", "limits_touched")],
            document["stdout"]["data"], document["stderr"]["data"], report["policy_digest"], rows)


def same(box, *words, env=None, cwd=None):
    """The run and the wrapped run, compared."""
    code, out, err, _seconds = box.pinfold("run", "--json", *words, env=env, cwd=cwd)
    direct = json.loads(out)
    check(direct["schema"] == "pinfold.result/1", f"{words}: {direct} {err!r}")
    document = wrapped(box, *words, env=env, cwd=cwd)
    got, result, err = started(document)
    check(result["schema"] == "pinfold.result/1", f"{words}: {result} {err!r}")
    check((code, story(direct)) == (got, story(result)), f"{words}:\n{code} {story(direct)}\n{got} {story(result)}")
    check(document["enforcement"]["policy_digest"] == result["enforcement"]["policy_digest"], f"{words}: another policy")
    return document, result


SHOW = "pwd; env | sort; ls; id -u; (echo x > written) 2>&1 | sed s/.*://; ulimit -n; hostname; rm -f written; exit 7"


@case("wrap: the document")
def members(box):
    document = wrapped(box, "-p", ":workspace-write", "--", "true")
    check(list(document) == ["schema", "argv", "env", "cwd", "enforcement"], f"{list(document)}")
    check(document["schema"] == "pinfold.wrap/1" and document["cwd"] == box.workspace, f"{document['schema']} {document['cwd']}")
    check(document["argv"][:2] == [os.path.realpath(box.suite.pinfold), "run"], f"{document['argv']}")
    check(document["argv"][-2:] == ["--", "true"], f"{document['argv']}")
    code, out, _err, _seconds = box.pinfold("check", "--json", "-p", ":workspace-write")
    report = json.loads(out)
    check(report["policy_digest"] == document["enforcement"]["policy_digest"] and code == 0, "not the policy of check")
    check(document["enforcement"]["verdict"] == report["verdict"], "not the verdict of check")


@case("wrap: the same confinement as run, from anywhere and with nothing else in the environment")
def confinement(box):
    env = {**box.env, "LC_TIME": "C", "TERM": "dumb", "TOKEN": "passed", "UNWANTED": "x"}
    sets = [[], ["-p", ":workspace-write"], ["-p", ":eval"], ["-p", ":strict"], ["-p", ":unconfined"], ["--best-effort"],
            ["-p", ":eval", "-e", "PATH=/usr/bin:/bin", "-e", "TOKEN", "-e", "A=1", "-e", "A=2", "-e", "EMPTY="],
            ["--clear-env", "-e", "TOKEN", "-e", "X*"], ["--clear-env"], ["-e", "TOKEN", "--clear-env"],
            ["--read", "/etc", "--write", ".", "--deny", "secret", "--tmpfs", "scratch:1M", "--tmp-size", "2M"],
            ["--memory", "128M", "--pids", "30", "--open-files", "77", "--file-size", "1M", "--cpu-time", "1m", "--cpus", "1"],
            ["--timeout", "none", "--max-output", "5", "--capture"], ["--require", "network,limits.wall_time"],
            ["-p", ":workspace-write", "--net", "none", "--memory-strategy", "watchdog", "--memory", "1G"]]
    os.mkdir(box.inside("secret"))
    os.mkdir(box.inside("scratch"))
    for options in sets:
        same(box, *options, "-c", SHOW, env=env)


@case("wrap: words reach the command as they are")
def words(box):
    args = ["", " ", "a\nb", "--", "--json", "-e", "$HOME", "'\"\\", "\u00e4\u20ac", "{}", "\x7f\t"]
    for words in (["--", "printf", "[%s]", *args], ["printf", "[%s]", *args], ["-c", 'printf "[%s]" "$0" "$@"', *args],
                  ["--", "/bin/sh", "-c", "exit 3"], ["-c", "kill -9 $$"], ["--timeout", "500ms", "--", "sleep", "5"]):
        same(box, *words)
    _document, result = same(box, "--", "printf", "[%s]", *args)
    check(result["stdout"]["data"] == "".join(f"[{arg}]" for arg in args), f"{result['stdout']}")


@case("wrap: a policy file, what it extends, and relative places are not needed afterwards")
def files(box):
    os.makedirs(box.inside("sub/deep"))
    box.file("sub/below.json", '{"extends": ":workspace-write", "filesystem": {"deny": ["hidden"], "protect": ["kept"]},'
                               ' "process": {"hostname": "below", "env": {"pass": ["B*"], "set": {"FROM": "below", "TOO": "low"}}}}')
    box.file("sub/top.json", '{"extends": "below.json", "filesystem": {"read": ["~/data"], "tmpfs": [{"path": "t", "size": "64K"}],'
                             ' "bind": [{"source": "sub", "target": "/mnt/bound"}]}, "seccomp": {"errno": "ENOSYS"},'
                             ' "process": {"env": {"set": {"TOO": "high"}}}, "limits": {"cpus": 1.5, "cpu_time": "1500ms", "processes": null}}')
    for name in ("hidden", "kept", "t"):
        os.mkdir(box.inside(name))
    os.mkdir(os.path.join(box.home, "data"))
    options = ["-p", "../top.json", "-w", "../..", "-C", "sub"]
    words = [*options, "-c", SHOW]
    document, result = same(box, *words, cwd=box.inside("sub/deep"))
    check(result["cwd"] == box.inside("sub") and document["cwd"] == box.inside("sub"), f"{result['cwd']} {document['cwd']}")
    for name in ("sub/top.json", "sub/below.json"):
        os.unlink(box.inside(name))
    code, again, err = started(document)
    check(code == 7 and "FROM=below\n" in again["stdout"]["data"] and "TOO=high\n" in again["stdout"]["data"], f"{code} {again} {err!r}")


@case("wrap: a profile of system calls is named by its whole path")
def profile(box):
    box.file("sub/calls.json", '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir"], "action": "SCMP_ACT_ERRNO"}]}')
    box.file("sub/policy.json", '{"extends": ":workspace-write", "seccomp": {"profile": "calls.json"}}')
    document, result = same(box, "-p", "sub/policy.json", "--", "mkdir", "made")
    check(result["exit_code"] == 1 and box.inside("sub/calls.json") in document["argv"][3], f"{document['argv']} {result['exit_code']}")
    same(box, "--policy-json", '{"seccomp": {"profile": "sub/calls.json"}}', "--", "true")


@case("wrap: the default directory is where wrap was called")
def here(box):
    os.makedirs(box.inside("a/b"))
    _document, result = same(box, "-w", box.workspace, "-c", "pwd", cwd=box.inside("a/b"))
    check(result["cwd"] == box.inside("a/b"), f"{result['cwd']}")
    _document, result = same(box, "-w", "a", "-c", "pwd")
    check(result["cwd"] == box.inside("a"), f"{result['cwd']}")


@case("wrap: values that are set are in env alone")
def secrets(box):
    policy = box.policy_file({"process": {"env": {"set": {"FILE_TOKEN": "hush-file"}}}})
    options = ["-p", policy, "-e", "SECRET=hush-flag", "-e", "PASSED", "-e", "LD_PRELOAD=/hush-ld", "-e", "PINFOLD_UID_BASE=hush-own"]
    document, result = same(box, *options, "-c", "env | grep -a hush | sort", env={**box.env, "PASSED": "hush-passed"})
    told = json.dumps(document["argv"][:document["argv"].index("--")])
    check("hush" not in told and "SECRET" in told, f"{told}")
    check(document["env"]["SECRET"] == "hush-flag" and document["env"]["FILE_TOKEN"] == "hush-file", f"{document['env']}")
    check(document["env"]["PASSED"] == "hush-passed" and "LD_PRELOAD" not in document["env"], f"{document['env']}")
    check(result["stdout"]["data"].split() == ["FILE_TOKEN=hush-file", "LD_PRELOAD=/hush-ld", "PASSED=hush-passed",
                                              "PINFOLD_UID_BASE=hush-own", "SECRET=hush-flag"], f"{result['stdout']}")
    document["env"].pop("SECRET")
    code, answer, err = started(document)
    check(code == 2 and answer["code"] == "usage" and b"SECRET" in err, f"exit {code} {answer} {err!r}")


@case("wrap: another HOME for the command leaves the caller's secrets hidden")
def home(box):
    os.makedirs(os.path.join(box.home, ".ssh"))
    for name, text in ((".ssh/id_ed25519", "hush"), ("plain", "seen\n")):
        with open(os.path.join(box.home, name), "w", encoding="utf-8") as file:
            file.write(text)
    script = f'echo "$HOME"; cat {box.home}/plain {box.home}/.ssh/id_ed25519'
    for pattern in ([], ["-e", "*"]):
        options = [*pattern, "--read", box.home, "-e", "HOME=/tmp/elsewhere"]
        _document, result = same(box, *options, "-c", script)
        check(result["stdout"]["data"] == "/tmp/elsewhere\nseen\n" and result["exit_code"] == 1, f"{result['stdout']}")
        _document, result = same(box, *options, "-c", "env | sort")
        check("PINFOLD_SET" not in result["stdout"]["data"], f"{result['stdout']}")


@case("wrap: what the command is to see of a service manager is not where pinfold looks for its own")
def manager(box):
    own = {"XDG_RUNTIME_DIR": "/run/user/4", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/4/bus"}
    options = [word for name in own for word in ("-e", f"{name}=/hush")]
    document, result = same(box, *options, "-c", "env | grep -ac =/hush; env | grep -ac PINFOLD_SET", env={**box.env, **own})
    check({name: document["env"].get(name) for name in own} == own, f"{document['env']}")
    check(result["stdout"]["data"] == "2\n0\n", f"{result['stdout']}")
    _document, result = same(box, "-c", "env | grep -ac /run/user/4", env={**box.env, **own})
    check(result["stdout"]["data"] == "0\n", f"passed on unasked: {result['stdout']}")


@case("wrap: what cannot be enforced is refused, and run with --best-effort")
def unenforceable(box):
    document = wrapped(box, "--net", "host", "--require", "network", "--", "true", code=125)
    check(document["schema"] == "pinfold.error/1" and document["code"] == "unenforceable", f"{document}")
    code, out, err, _seconds = box.pinfold("wrap", "--net", "host", "--require", "network", "--", "true")
    check((code, out) == (125, b"") and b"network" in err, f"exit {code} {out!r} {err!r}")
    code, _out, _err, _seconds = box.pinfold("check", "--memory-strategy", "cgroup", "--memory", "64M")
    words = ["--memory-strategy", "cgroup", "--memory", "64M", "--best-effort", "--", "true"]
    document, _result = same(box, *words)
    check((document["enforcement"]["verdict"] == "unenforceable") == (code == 1), f"{document['enforcement']['verdict']}")


@case("wrap: what JSON cannot carry is refused")
def not_text(box):
    good = {**box.env, "BAD": b"\xff"}
    for words, env in ((["--", "echo", b"\xff"], None), (["--read", b"/\xff", "true"], None), (["-e", b"A=\xff", "true"], None),
                       (["-e", "BAD", "true"], good), (["-c", b"echo \xc3"], None)):
        code, out, err, _seconds = box.pinfold("wrap", "--json", *words, env=env)
        check(code == 2 and b"not UTF-8" in err, f"{words}: exit {code} {err!r}")
        check(json.loads(out)["code"] == "usage", f"{out!r}")
    code, _out, err, _seconds = box.pinfold("wrap", "true", env=good)
    check(code == 0, f"a variable that is not passed: exit {code} {err!r}")


@case("wrap: what no program can be given is refused")
def too_long(box):
    policy = box.policy_file({"filesystem": {"read": [f"/nowhere/{'x' * 60}/{i}" for i in range(2000)]}})
    document = wrapped(box, "-p", policy, "--", "true", code=125)
    check(document["code"] == "limit", f"{document}")
    policy = box.policy_file({"process": {"env": {"set": {f"V{i}": "x" * 60000 for i in range(14)}}}})
    check(len(wrapped(box, "-p", policy, "--", "true")["env"]["V1"]) == 60000, "a long value is lost")
    many = [{"process": {"env": {"set": {f"V{n}_{i}": "x" * 100000 for i in range(9)}}}} for n in range(9)]
    above = None
    for n, document in enumerate(many):
        above = box.policy_file({**document, **({"extends": above} if above else {})}, f"p{n}.json")
    document = wrapped(box, "-p", above, "--", "true", code=125)
    check(document["code"] == "limit" and "environment" in document["message"], f"{document}")


@case("wrap: options that are the host's are said on")
def carried(box):
    os.mkdir(box.inside("sub"))
    words = ["--max-output", "1K", "--kill-after", "1.5s", "--events", "ev", "--result-file", "../res", "-q", "--stdin", "none"]
    argv = wrapped(box, *words, "--", "true", cwd=box.inside("sub"))["argv"]
    for pair in (["--max-output", "1K"], ["--kill-after", "1500ms"], ["--events", box.inside("sub/ev")], ["--stdin", "none"],
                 ["--result-file", box.inside("sub/../res")]):
        check(argv[argv.index(pair[0]):][:2] == pair, f"{pair}: {argv}")
    check("--quiet" in argv and "--json" not in argv and "--capture" not in argv, f"{argv}")
    argv = wrapped(box, "--tty", "--events", "fd:77", "--result-fd", "78", "--stdin", "-", "--", "true")["argv"]
    for word in ("--tty", "fd:77", "78", "-"):
        check(word in argv, f"{word}: {argv}")
    for words, text in ((["--stdin", "file"], b"--stdin"), (["--dry-run"], b"--dry-run"), (["--tty", "--capture"], b"exclude")):
        code, out, err, _seconds = box.pinfold("wrap", *words, "--", "true")
        check((code, out) == (2, b"") and text in err, f"{words}: exit {code} {err!r}")


@case("wrap: streams are the host's, and results come where they were wished")
def streams(box):
    box.file("input", "from the host\n")
    document = wrapped(box, "--result-file", "res", "-c", "cat; echo err >&2; exit 5")
    with open(box.inside("input"), "rb") as file:
        code, out, err = started(document, json_out=False, stdin=file)
    check((code, out, err) == (5, b"from the host\n", b"err\n"), f"exit {code} {out!r} {err!r}")
    with open(box.inside("res"), encoding="utf-8") as file:
        check(json.load(file)["exit_code"] == 5, "no result")
    code, out, err = started(wrapped(box, "--max-output", "4", "-c", "echo 123456789"), json_out=False)
    check(code == 0 and out == b"1234" and b"output" in err, f"exit {code} {out!r} {err!r}")


@case("wrap: without --json the argv alone, on one line")
def plain(box):
    code, out, err, _seconds = box.pinfold("wrap", "--", "echo", "a\nb")
    check(code == 0 and err == b"" and out.count(b"\n") == 1, f"exit {code} {out!r} {err!r}")
    check(json.loads(out) == wrapped(box, "--", "echo", "a\nb")["argv"], f"{out!r}")
    code, out, err, _seconds = box.pinfold("wrap", "-e", "SECRET=hush", "--", "true")
    check(code == 0 and b"hush" not in out + err and b"needs variables" in err, f"exit {code} {out!r} {err!r}")
    code, _out, err, _seconds = box.pinfold("wrap", "-q", "-e", "SECRET=hush", "--", "true")
    check((code, err) == (0, b""), f"exit {code} {err!r}")


@case("wrap: a program that was removed while it runs is not named")
def replaced(box):
    script = 'cp "$0" copy && exec 9<copy && rm copy && exec /proc/self/fd/9 wrap -- true'
    code, out, err, _seconds = box.begin(["/bin/sh", "-c", script, box.suite.pinfold]).wait(20)
    check((code, out) == (125, b"") and b"removed or replaced" in err, f"exit {code} {out!r} {err!r}")


@case("wrap: usage")
def usage(box):
    for words, text in (([], b"no command given: pinfold wrap"), ([""], b"empty"), (["--memroy", "1", "true"], b'did you mean "--memory"'),
                        (["-w", "/no/such", "true"], b"/no/such"), (["--env-set", "NOT_THERE", "true"], b"NOT_THERE"), (["--env-set", "=A", "true"], b"name")):
        code, out, err, _seconds = box.pinfold("wrap", *words)
        check(code in (2, 125) and out == b"" and text in err, f"{words}: exit {code} {out!r} {err!r}")


@case("--env-set: a variable's value from pinfold's own environment")
def env_set(box):
    env = {**box.env, "TOKEN": "a=b\nc", "CARRIER": "carried"}
    code, out, err, _seconds = box.pinfold("run", "--env-set", "TOKEN", "--env-set", "K=CARRIER", "-e", "CARRIER", "-c",
                                           'printf "%s|%s|%s" "$TOKEN" "$K" "$CARRIER"', env=env)
    check((code, out) == (0, b"a=b\nc|carried|"), f"exit {code} {out!r} {err!r}")
    code, out, err, _seconds = box.pinfold("policy", "show", "--env-set", "TOKEN", "--json", env=env)
    check(json.loads(out)["policy"]["process"]["env"]["set"] == {"TOKEN": "a=b\nc"}, f"exit {code} {out!r} {err!r}")
