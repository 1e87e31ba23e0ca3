"""Exit statuses: the command's own, and those that pinfold has words for."""

import json
import os

from blackbox.suite import case, check


def status(box, words, want, *said):
    code, _out, err, _seconds = box.pinfold("run", *words)
    check(code == want, f"{words}: exit {code} instead of {want}: {err!r}")
    for part in said:
        check(part.encode() in err, f"{words}: {part!r} is not said: {err!r}")


@case("the command's own status is passed on, whatever it is")
def own(box):
    for n in (0, 1, 2, 124, 125, 126, 127, 128, 137, 255):
        status(box, ["--", "sh", "-c", f"exit {n}"], n)


@case("125 of the command and 125 of pinfold differ in the document")
def own_in_document(box):
    result = box.run("sh", "-c", "exit 125")
    check((result.code, result.status, result.doc["exit_code"], result.doc["error"]) == (125, "exited", 125, None), result.brief())


@case("128+n where a signal killed it")
def signals(box):
    for name, n in (("TERM", 15), ("KILL", 9), ("SEGV", 11), ("ABRT", 6), ("INT", 2), ("HUP", 1)):
        status(box, ["--", "sh", "-c", f"kill -{name} $$; echo survived"], 128 + n)
    result = box.run("sh", "-c", "kill -TERM $$")
    check((result.status, result.doc["exit_code"], result.doc["signal"], result.doc["signal_number"]) ==
          ("signaled", None, "SIGTERM", 15), result.brief())


@case("127 not found, 126 not executable, and a document that says the same")
def not_executed(box):
    box.file("plain", "just text\n", 0o644)
    status(box, ["--", "/nonexistent/command"], 127, "/nonexistent/command")
    status(box, ["--", "no-such-command-anywhere"], 127, "no-such-command-anywhere")
    status(box, ["--", "./plain"], 126, "plain")
    status(box, ["--", "/etc"], 126, "/etc")
    for words, code, word in ((["/nonexistent"], 127, "not_found"), (["./plain"], 126, "permission_denied")):
        result = box.run(*words)
        check(result.code == code and result.status == "setup_failed", result.brief())
        check(result.doc["error"]["code"] == word, result.brief())


@case("124 at the time limit, with the output up to then")
def time_limit(box):
    status(box, ["--timeout", "300ms", "--", "sleep", "60"], 124, "time")
    result = box.run("sh", "-c", "echo A; echo B >&2; sleep 60", options=["--timeout", "500ms"])
    check((result.code, result.status, result.out, result.err) == (124, "timed_out", "A\n", "B\n"), result.brief())
    check(result.doc["limit_hit"]["name"] == "wall_time", result.brief())
    check(result.seconds < 3, f"took {result.seconds} s")


@case("125 where a policy is wrong or missing, with all its mistakes")
def bad_policy(box):
    path = box.policy_file({"version": 1, "limits": {"memry": 1}, "netwrk": {}})
    status(box, ["-p", path, "--", "true"], 125, "memry", "netwrk", 'did you mean "memory"')
    status(box, ["-p", "/no/such/policy.json", "--", "true"], 125, "/no/such/policy.json")
    status(box, ["-p", ":no-such-policy", "--", "true"], 125, ":no-such-policy")
    code, out, _err, _seconds = box.pinfold("run", "--json", "-p", path, "--", "true")
    document = json.loads(out)
    check(code == 125 and document["code"] == "policy_invalid", f"exit {code} {document}")


@case("125 where a text of the policy holds a NUL, with its place")
def nul_in_a_policy(box):
    for inside in (
        '"filesystem": {"read": ["/usr\\u0000.allowed"]}',
        '"filesystem": {"bind": [{"source": "/usr", "target": "/mnt\\u0000/x"}]}',
        '"process": {"env": {"set": {"A": "x\\u0000y"}}}',
        '"process": {"env": {"set": {"A\\u0000B": "x"}}}',
        '"process": {"hostname": "a\\u0000b"}',
        '"seccomp": {"deny": ["mkdir\\u0000x"]}',
        '"require": ["network\\u0000"]',
    ):
        text = f'{{"version": 1, {inside}}}'
        status(box, ["--policy-json", text, "--", "touch", "started"], 125, "--policy-json:1:", "\\u0000")
        path = box.file(os.path.join(box.dir, "nul.json"), text)
        status(box, ["-p", path, "--", "touch", "started"], 125, "nul.json:1:")
        box.file(path, text.replace("\\u0000", "\0"))
        status(box, ["-p", path, "--", "touch", "started"], 125, "nul.json:1:", "NUL")


@case("125 before the start where something asked cannot be enforced")
def unenforceable(box):
    words = ["-p", ":workspace-write", "--net", "host", "--require", "network"]
    status(box, [*words, "--", "touch", "started"], 125, "network")
    code, out, _err, _seconds = box.pinfold("run", "--json", *words, "--", "touch", "started")
    check(code == 125 and json.loads(out)["code"] == "unenforceable", f"exit {code} {out!r}")
    check(not os.path.exists(box.inside("started")), "the command was started all the same")


@case("125 where --stdin or --result-file cannot be opened")
def not_opened(box):
    status(box, ["--stdin", "/no/such/file", "--", "true"], 125, "/no/such/file")
    status(box, ["--result-file", "/no/such/directory/r.json", "--", "true"], 125, "/no/such/directory")
    status(box, ["--events", "/no/such/directory/e", "--", "true"], 125, "/no/such/directory")


@case("-q leaves notes out, not errors")
def quiet(box):
    code, _out, err, _seconds = box.pinfold("run", "-q", "--timeout", "200ms", "--", "sleep", "60")
    check((code, err) == (124, b""), f"exit {code} {err!r}")
    code, _out, err, _seconds = box.pinfold("run", "-q", "-p", ":no-such-policy", "--", "true")
    check(code == 125 and err != b"", f"exit {code} {err!r}")


@case("an ordinary end says nothing")
def silence(box):
    for words in (["true"], ["false"], ["--capture", "true"], ["--max-output", "1M", "true"]):
        _code, out, err, _seconds = box.pinfold("run", *words)
        check((out, err) == (b"", b""), f"{words}: {out!r} {err!r}")
