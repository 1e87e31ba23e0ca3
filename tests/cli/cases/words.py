"""The words of the command arrive byte by byte; options end where they should."""

from blackbox.suite import case, check

SHOW = ["/usr/bin/python3", "-c", "import os, sys; sys.stdout.buffer.write(b'|'.join(map(os.fsencode, sys.argv[1:])))"]


def expect(box, words, out, code=0, **how):
    got_code, got, err, _seconds = box.pinfold("run", *words, **how)
    check((got_code, got) == (code, out), f"{words}: exit {got_code} {got!r} {err!r}")


@case("arguments are byte-exact")
def exact(box):
    odd = [b"", b"a b", b"*", b"\n", b"--", b"--memory", b"-p", b"\xff\xfe", b"$HOME", b"'\"\\", b"\t", b"=", "\u00e9".encode()]
    expect(box, ["--", *SHOW, *odd], b"|".join(odd))
    expect(box, [*SHOW, *odd], b"|".join(odd))


@case("a long argument, and many")
def many(box):
    long = b"x" * 120_000
    expect(box, ["--", *SHOW, long], long)
    expect(box, ["--", *SHOW, *[b"y"] * 10_000], b"|".join([b"y"] * 10_000))


@case("options end at the first word that is none")
def end(box):
    expect(box, ["echo", "-n", "--timeout", "0"], b"--timeout 0")
    expect(box, ["--timeout", "5s", "echo", "--"], b"--\n")
    expect(box, ["--", "echo", "--", "-v"], b"-- -v\n")


@case("a command whose name begins with a dash is a command behind --")
def dash(box):
    code, _out, err, _seconds = box.pinfold("run", "--", "--bind", "/", "/")
    check(code == 127 and b"--bind" in err, f"exit {code} {err!r}")
    code, _out, err, _seconds = box.pinfold("run", "-")
    check(code == 127, f"exit {code} {err!r}")


@case("all forms of an option mean the same")
def forms(box):
    sh = ["/bin/sh", "-c", "echo $V; ulimit -n"]
    for words in (["--open-files", "77", "--env", "V=1"], ["--open-files=77", "--env=V=1"], ["-eV=1", "--open-files=77"],
                  ["-e", "V=1", "--open-files", "99", "--open-files", "77"], ["-p:read-only", "-qeV=1", "--open-files=77"]):
        expect(box, [*words, *sh], b"1\n77\n")


@case("a flag wins over the policy, whichever comes first; a later flag wins over an earlier")
def precedence(box):
    policy = box.policy_file({"version": 1, "extends": ":read-only", "limits": {"open_files": 55}})
    count = ["/bin/sh", "-c", "ulimit -n"]
    expect(box, ["-p", policy, *count], b"55\n")
    expect(box, ["--open-files", "66", "-p", policy, *count], b"66\n")
    expect(box, ["-p", policy, "--open-files", "66", *count], b"66\n")
    expect(box, ["-p", "/no/such/policy", "-p", policy, *count], b"55\n")
    expect(box, ["--policy-json", '{"version": 1, "limits": {"open_files": 44}}', *count], b"44\n")


@case("-c gives the text to a shell, and further words as $0, $1")
def shell(box):
    expect(box, ["-c", "echo \"$0 $1\"; exit 7", "a", "b c"], b"a b c\n", code=7)
    expect(box, ["-c", "echo \"$0\""], b"/bin/sh\n")
    expect(box, ["-cecho hi", "--", "-v"], b"hi\n")


@case("variables: set, passed on, kept out")
def variables(box):
    env = {**box.env, "MINE": "caller", "SECRET": "s3cret"}
    show = ["/bin/sh", "-c", "echo \"${MINE-unset} ${SECRET-unset} ${PINFOLD}\""]
    expect(box, show, b"unset unset 1\n", env=env)
    expect(box, ["-e", "MINE", *show], b"caller unset 1\n", env=env)
    expect(box, ["-e", "MINE=flag", *show], b"flag unset 1\n", env=env)
    expect(box, ["-e", "MINE=a=b", *show], b"a=b unset 1\n", env=env)
    expect(box, ["-e", "MINE=", *show], b" unset 1\n", env=env)
    expect(box, ["-e", "ABSENT", *show], b"unset unset 1\n", env=env)
    expect(box, ["-e", "LANG", "--clear-env", "-e", "MINE", "-c", "echo ${LANG-unset} ${MINE-unset}"], b"unset caller\n", env=env)


@case("workspace and directory")
def places(box):
    inner = box.make("workspace", "inner")
    expect(box, ["pwd"], box.workspace.encode() + b"\n")
    expect(box, ["-C", "inner", "pwd"], inner.encode() + b"\n")
    expect(box, ["--cd", inner, "pwd"], inner.encode() + b"\n")
    expect(box, ["-w", box.workspace, "pwd"], inner.encode() + b"\n", cwd=inner)
    expect(box, ["-w", inner, "pwd"], inner.encode() + b"\n", cwd=box.home)
    code, _out, err, _seconds = box.pinfold("run", "-w", "/no/such/place", "--", "true")
    check(code == 125 and b"/no/such/place" in err, f"exit {code} {err!r}")


ENVIRONMENT = r"""
import ctypes, sys
def words(of): return (ctypes.c_char_p * (len(of) + 1))(*of, None)
environment = [b"TERM=first", b"TERM=second", b"NO-EQUALS", b"LANG", b"=nameless", b"", b"HOME=", b"PATH="]
argv = [word.encode() for word in sys.argv[1:]]
ctypes.CDLL(None).execve(argv[0], words(argv), words(environment))
"""


@case("an environment with entries that are none, or that are there twice")
def odd_environment(box):
    seen = set()
    for _ in range(3):
        live = box.begin(["/usr/bin/python3", "-c", ENVIRONMENT, box.suite.pinfold, "run", "--", "/usr/bin/env"])
        code, out, err, _seconds = live.wait(20)
        check((code, err) == (0, b""), f"exit {code} {err!r}")
        seen.add(out)
    lines = out.decode().splitlines()
    names = [line.split("=")[0] for line in lines]
    check(len(seen) == 1, f"not always the same: {seen}")
    check(sorted(names) == sorted({"HOME", "PATH", "TMPDIR", "USER", "TERM", "PWD", "PINFOLD"}), f"{lines}")
    check("HOME=" not in lines and "PATH=" not in lines, f"{lines}")


@case("an empty environment will do")
def bare(box):
    expect(box, ["/bin/echo", "x"], b"x\n", env={})
