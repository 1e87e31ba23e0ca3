"""JSON: every document is one, valid, and has the members that callers rely on."""

import json

from blackbox.suite import case, check

RESULT = {"schema", "run_id", "backend", "isolated", "status", "exit_code", "signal", "signal_number", "core_dumped", "limit_hit",
          "limits_touched", "stdout", "stderr", "usage", "usage_sampled", "survivors_killed", "violations", "argv", "cwd",
          "started_at", "enforcement", "error"}
STREAM = {"encoding", "data", "bytes", "kept", "truncated", "omitted_at", "omitted_bytes", "file"}
REPORT = {"schema", "verdict", "backend", "isolated", "kernel", "policy_digest", "features", "limits", "warnings"}


def document(box, *words, code=0):
    got, out, err, _seconds = box.pinfold(*words)
    check(got == code, f"{words}: exit {got} {err!r}")
    check(out.endswith(b"\n"), f"{words}: no newline at the end")
    return json.loads(out)


@case("a result has all its members")
def result(box):
    run = box.run("sh", "-c", "echo out; echo err >&2; exit 3")
    doc = run.doc
    check(RESULT <= set(doc), f"missing: {RESULT - set(doc)}")
    check(STREAM <= set(doc["stdout"]) and STREAM <= set(doc["stderr"]), f"{doc['stdout']}")
    check(REPORT <= set(doc["enforcement"]), f"missing in enforcement: {REPORT - set(doc['enforcement'])}")
    check((doc["schema"], doc["status"], doc["exit_code"], run.out, run.err) == ("pinfold.result/1", "exited", 3, "out\n", "err\n"),
          run.brief())
    check(doc["argv"] == ["sh", "-c", "echo out; echo err >&2; exit 3"] and doc["cwd"] == box.workspace, f"{doc['argv']} {doc['cwd']}")
    check(run.noise == b"", f"on stderr: {run.noise!r}")


@case("bytes that are no text survive")
def binary(box):
    run = box.python(r"import sys; sys.stdout.buffer.write(b'a\377\376\000b\033[31m\342\202')")
    check(run.doc["stdout"]["encoding"] == "base64" and run.doc["stdout"]["bytes"] == 12, f"{run.doc['stdout']}")
    check(run.stream("stdout") == b"a\377\376\000b\033[31m\342\202", f"{run.stream('stdout')!r}")


@case("a cap never splits a character, and 0 keeps nothing")
def caps(box):
    run = box.run("printf", r"\342\202\254\342\202\254", options=["--max-output", "4"])
    stream = run.doc["stdout"]
    check(stream["truncated"] and stream["kept"] <= 4 and stream["bytes"] == 6 and stream["encoding"] == "utf-8", f"{stream}")
    check(stream["kept"] + stream["omitted_bytes"] == 6, f"{stream}")
    stream = box.run("echo", "hello", options=["--max-output", "0"]).doc["stdout"]
    check((stream["data"], stream["kept"], stream["bytes"], stream["truncated"]) == ("", 0, 6, True), f"{stream}")


@case("check tells what run does")
def reports(box):
    flags = ["-p", ":workspace-write", "--memory", "256M", "--pids", "50"]
    code, out, err, _seconds = box.pinfold("check", "--json", *flags)
    check(code in (0, 1), f"exit {code} {err!r}")
    report = json.loads(out)
    check(REPORT <= set(report) and report["schema"] == "pinfold.report/1", f"{sorted(report)}")
    check((code == 1) == (report["verdict"] == "unenforceable"), f"exit {code} for {report['verdict']}")
    ran = box.run("true", options=[*flags, "--best-effort"]).doc["enforcement"]
    rows = [(row["name"], row["state"], row["mechanism"]) for row in report["features"] + report["limits"]]
    check(rows == [(row["name"], row["state"], row["mechanism"]) for row in ran["features"] + ran["limits"]], "they disagree")


@case("two reports agree; an unenforceable one exits 1")
def verdicts(box):
    first, second = (document(box, "check", "--json", "-p", ":workspace-write") for _ in range(2))
    check(first == second, "two reports differ")
    doc = document(box, "check", "--json", "--net", "host", "--require", "network", code=1)
    check(doc["verdict"] == "unenforceable", f"{doc['verdict']}")


@case("the plan is printed and nothing is started")
def plan(box):
    doc = document(box, "run", "--dry-run", "-p", ":workspace-write", "--", "touch", "started")
    check(doc["schema"] == "pinfold.plan/1", f"{doc['schema']}")
    code, _out, _err, _seconds = box.pinfold("run", "--", "test", "-e", "started")
    check(code == 1, "the command was started")


@case("policies: list, show, validate")
def policies(box):
    names = [entry["name"] for entry in document(box, "policy", "list", "--json")["policies"]]
    check(":read-only" in names and ":workspace-write" in names and ":eval" in names, f"{names}")
    for name in names:
        check(document(box, "policy", "show", name, "--json")["schema"] == "pinfold.policy/1", name)
        code, out, err, _seconds = box.pinfold("policy", "validate", name)
        check((code, out) == (0, f"{name}: valid\n".encode()), f"{name}: exit {code} {out!r} {err!r}")
    code, out, _err, _seconds = box.pinfold("policy", "list")
    check(code == 0 and all(name.encode() in out for name in names), f"{out!r}")


@case("the schema of policies is one document, with and without --json")
def schema(box):
    doc = document(box, "policy", "schema")
    check(doc["$schema"].endswith("/draft/2020-12/schema") and "limits" in doc["properties"], f"{sorted(doc)}")
    check(document(box, "policy", "schema", "--json") == doc, "--json makes a difference")


@case("policy show applies the flags and names their origin")
def shown(box):
    code, out, err, _seconds = box.pinfold("policy", "show", "--timeout", "77s")
    check(code == 0 and b"77s" in out and b"--timeout" in out, f"exit {code} {out!r} {err!r}")


@case("all mistakes of a policy at once, each with its place")
def mistakes(box):
    path = box.file("p.json", '{\n  "version": 1,\n  "limits": {"memry": 1},\n  "network": {"mode": "some"}\n}\n')
    code, out, err, _seconds = box.pinfold("policy", "validate", path)
    check(code == 1 and b"p.json:3:" in out and b"p.json:4:" in out and b'did you mean "memory"' in out, f"{code} {out!r} {err!r}")
    doc = document(box, "policy", "validate", path, "--json", code=1)
    check(doc["valid"] is False and len(doc["mistakes"]) == 2, f"{doc}")
    check(document(box, "policy", "validate", ":eval", "--json")["valid"] is True, "a built-in is not valid")
    code, out, err, _seconds = box.pinfold("policy", "validate", "/no/such/file")
    check(code in (1, 125) and b"/no/such/file" in out + err, f"exit {code} {out!r} {err!r}")


@case("gc and version")
def upkeep(box):
    check(document(box, "gc", "--json")["removed"] >= 0, "gc")
    version = document(box, "version", "--json")["version"]
    for words in (["version"], ["--version"], ["-V"]):
        code, out, _err, _seconds = box.pinfold(*words)
        check((code, out) == (0, f"pinfold {version}\n".encode()), f"{words}: {out!r}")


@case("exactly one document for an error")
def errors(box):
    for words in (["run", "--json", "-p", ":none-such", "--", "true"], ["check", "--json", "-p", "/no/such"],
                  ["policy", "show", "/no/such", "--json"], ["run", "--json", "--stdin", "/no/such", "--", "true"]):
        doc = document(box, *words, code=125)
        check(doc["schema"] == "pinfold.error/1" and doc["message"] and doc["op"], f"{words}: {doc}")
