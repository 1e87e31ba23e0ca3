"""Unusable command lines: exit status 2, one line that says what is wrong, nothing started."""

import json

from blackbox.suite import case, check


def refused(box, words, *parts, status=2):
    """Refused with one line on stderr that holds all the parts, and with nothing on stdout."""
    code, out, err, _seconds = box.pinfold(*words)
    check(code == status, f"{words}: exit {code} instead of {status}: {err!r}")
    check(out == b"", f"{words}: something on stdout: {out!r}")
    check(err.startswith(b"pinfold: ") and err.count(b"\n") == 1 and err.endswith(b"\n"), f"{words}: not one line: {err!r}")
    for part in parts:
        check(part.encode() in err, f"{words}: {part!r} is not said: {err!r}")


@case("no verb, or one that does not exist")
def verbs(box):
    refused(box, [], "pinfold help")
    refused(box, ["rnu"], '"rnu"', 'did you mean "run"', "(usage)")
    refused(box, ["chek", "--memory", "1G"], 'did you mean "check"')
    refused(box, ["zzzzzzzzzzzz"], "zzzzzzzzzzzz")
    refused(box, ["help", "polcy"], 'did you mean "policy"')


@case("no command, or one without a name")
def no_command(box):
    refused(box, ["run"], "pinfold: run: no command given")
    refused(box, ["run", "--timeout", "5s"], "no command given")
    refused(box, ["run", "--"], "no command given")
    refused(box, ["run", "--", ""], "empty")
    refused(box, ["run", "", "x"], "empty")
    refused(box, ["run", "-c", ""], "-c", "empty")


@case("an unknown option is named, and the one that was meant")
def unknown_options(box):
    refused(box, ["run", "--memroy", "1G", "--", "true"], '"--memroy"', 'did you mean "--memory"')
    refused(box, ["run", "--memroy=1G", "--", "true"], '"--memroy"', 'did you mean "--memory"')
    refused(box, ["run", "--time", "1", "true"], '"--time"')  # never abbreviated
    refused(box, ["run", "-Z", "true"], '"-Z"')
    refused(box, ["run", "--\x1b[31mred", "true"], "\\x1b")
    refused(box, ["gc", "--timeout", "1"], '"--timeout"')
    refused(box, ["policy", "list", "--tty"], '"--tty"')


@case("an option without its argument, or with one that it does not take")
def arguments(box):
    refused(box, ["run", "--memory"], "--memory needs an argument")
    refused(box, ["run", "-p"], "--policy needs an argument")
    refused(box, ["run", "--capture=yes", "true"], "--capture takes no argument")
    refused(box, ["run", "-w", "", "true"], "--workspace", "empty")
    refused(box, ["run", "-p", "", "true"], "--policy", "empty")


@case("zero, signs and nonsense are no time, size or number")
def values(box):
    for value in ("0", "-1", "5 s", "5 ", "5x", "nan", "inf", "1e10", "1e300", "", " 5", "0x10", "0.0000000001", "99999999999", "18446744073709551617"):
        refused(box, ["run", "--timeout", value, "--", "true"], "--timeout")
    for value in ("0", "-1", "12Q", "K", ""):
        refused(box, ["run", "--memory", value, "--", "true"], "--memory")
    for option, value in (("--pids", "0"), ("--pids", "many"), ("--cpus", "0"), ("--cpus", "x"), ("--open-files", "-3"),
                          ("--kill-after", "x"), ("--kill-after", "-1"), ("--net", "some"), ("--backend", "docker"),
                          ("--memory-strategy", "hope"), ("--max-output", "-1"), ("--file-size", "big")):
        refused(box, ["run", option, value, "--", "true"], option)


@case("variables need a name, requirements a feature")
def lists(box):
    refused(box, ["run", "-e", "", "true"], "--env")
    refused(box, ["run", "-e", "=x", "true"], "--env")
    refused(box, ["run", "--require", "", "true"], "--require")
    refused(box, ["run", "--require", "network,,", "true"], "--require")
    refused(box, ["run", "--require", "no_such_feature", "true"], "no_such_feature")


@case("flags that contradict each other")
def contradictions(box):
    for flags in (["--tty", "--json"], ["--tty", "--capture"], ["--tty", "--max-output", "1K"], ["-v", "-q"]):
        code, _out, err, _seconds = box.pinfold("run", *flags, "--", "true")
        check(code == 2 and b"exclude" in err, f"{flags}: exit {code} {err!r}")


@case("descriptors that are not open, or only for reading, are refused before the launch")
def descriptors(box):
    touch = ["--", "touch", "started"]
    for words in (["--result-fd", "77"], ["--result-fd", "x"], ["--events", "fd:77"], ["--events", "fd:"], ["--result-fd", "0"]):
        refused(box, ["run", "-p", ":workspace-write", *words, *touch], words[0])
    with open("/dev/null", "rb") as null:
        code, _out, err, _seconds = box.pinfold("run", "--result-fd", str(null.fileno()), *touch, pass_fds=[null.fileno()])
    check(code == 2 and b"not open for writing" in err, f"exit {code} {err!r}")


@case("words too many, words too few")
def words(box):
    refused(box, ["check", "memory"], '"memory"')
    refused(box, ["gc", "now"], '"now"')
    refused(box, ["policy"], "list", "show", "validate")
    refused(box, ["policy", "shw"], 'did you mean "show"')
    refused(box, ["policy", "list", ":eval"], "too many")
    refused(box, ["policy", "schema", ":eval"], "too many")
    refused(box, ["policy", "schema", "-p", ":eval"], "takes no policy options")
    refused(box, ["policy", "show", ":eval", "-p", ":read-only"], "twice")
    refused(box, ["policy", "validate"], "which")


@case("with --json a usage error is a document too, and the only one")
def as_json(box):
    for words in (["run", "--json"], ["run", "--memroy", "1", "--json", "--", "true"], ["run", "--json", "--timeout", "0", "--", "true"],
                  ["check", "--json", "x"], ["rnu", "--json"], ["policy", "--json"]):
        code, out, _err, _seconds = box.pinfold(*words)
        document = json.loads(out)
        check(code == 2 and document["schema"] == "pinfold.error/1", f"{words}: exit {code} {document}")
        check({"schema", "code", "op", "message", "context", "retryable"} <= set(document), f"{words}: {sorted(document)}")
        check(document["message"], f"{words}: no message")


@case("a --json behind the command is the command's")
def json_of_command(box):
    code, out, _err, _seconds = box.pinfold("run", "--", "echo", "--json")
    check((code, out) == (0, b"--json\n"), f"exit {code} {out!r}")
