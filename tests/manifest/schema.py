#!/usr/bin/env python3
"""Holds the JSON Schema of manifests against the parser, both ways: schema.py PINFOLD DOCS

A great many values are put in every place that the schema knows. What it refuses the parser must refuse, without exception;
what it takes the parser must take, except for what a schema cannot say (UNSAYABLE).
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

try:
    import jsonschema
except ImportError:
    print("1..0 # SKIP python3-jsonschema is not installed")
    sys.exit(0)

VALUES = [None, True, False, 0, 1, 2, -1, 255, 256, 1.5, 644, [], {}, [""], ["a"], [1], {"a": 1}, {"from": "fd:3"}, {"from": "fd:x"},
          {"from": "file:a"}, {"from": "env:A"}, {"from": "env:A=B"}, {"from": "nope"}, {"from": "fd:3", "x": 1}, "", "a", ".", "..", "a/b", "a/../b", "/a",
          "a/", "a//b", "./a", "...", "..a", "a\\b", "C:x", "c:/x", "0644", "644", "04755", "0888", "0644\n", "AAH/", "AAH", "utf-8", "base64", "latin-1", "-x",
          "main", "a b", "v1..v2", "x" * 255, "x" * 256, "y" * 4095, "y" * 4096, "/".join(["z" * 200] * 25), "file", "dir", "mount", "https://h/x", "a\nb", "\n"]
TYPES = {"file": {"content": "AAH/"}, "dir": {}, "local_file": {"src": "a"}, "local_dir": {"src": "a"}, "git_repo": {"repo": "a"}, "archive": {"src": "a"}}
KEYS = ["type", "description", "mode", "ephemeral", "content", "encoding", "children", "src", "exclude", "repo", "ref", "subpath", "strip_components", "nope"]
# What the parser may say of a value that the schema takes: lengths in bytes, and what is a matter of two keys or of git.
UNSAYABLE = r"longer than|is not base64|no name of a branch|not the name of a branch|leads upward|drive letter|absolute|backslash|slash too many|is blank|\".\" names"


def translated(pattern):
    """For Python, to whom $ also means the place before a last newline."""
    return re.sub(r"(?<!\\)\$", r"\\Z", pattern)


def pattern_keyword(_validator, pattern, instance, _schema):
    if isinstance(instance, str) and not re.search(translated(pattern), instance):
        yield jsonschema.ValidationError(f"{instance[:60]!r} does not match {pattern}")


def manifests():
    """(where, the manifest)"""
    for value in VALUES:
        for key in ("version", "description", "$schema", "entries", "environment", "extra_path_grants", "users", "groups", "nope"):
            yield key, {"version": 1, key: value}
        yield "variable", {"version": 1, "environment": {"A": value}}
        if isinstance(value, str):
            yield "variable's name", {"version": 1, "environment": {value: ""}}
            yield "path", {"version": 1, "entries": {value: {"type": "dir"}}}
            yield "child", {"version": 1, "entries": {"d": {"type": "dir", "children": {value: {"type": "dir"}}}}}
        yield "entry", {"version": 1, "entries": {"a": value}}
        for name, needed in TYPES.items():
            for key in KEYS:
                yield f"{name}.{key}", {"version": 1, "entries": {"a": {"type": name, **needed, key: value}}}
    for name, needed in TYPES.items():
        for key in needed:
            yield f"{name} without {key}", {"version": 1, "entries": {"a": {"type": name}}}
    yield "no version", {"entries": {}}


class Parser:
    def __init__(self, pinfold, directory):
        self.pinfold, self.directory = pinfold, directory

    def says(self, numbered):
        """The mistakes that it finds: those of the text alone, for a dry run of sources that are there."""
        number, (_where, manifest) = numbered
        path = os.path.join(self.directory, f"{number}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        words = [self.pinfold, "materialize", "--json", "--dry-run", path, os.path.join(self.directory, "none")]
        got = subprocess.run(words, capture_output=True, check=False)
        os.unlink(path)
        answer = json.loads(got.stdout)
        if got.returncode == 0:
            return []
        assert got.returncode == 1, (manifest, got)
        return answer["details"] if answer["op"] == "manifest load" else []


def main(pinfold, docs):
    schema = json.loads(subprocess.run([pinfold, "materialize", "--schema"], check=True, capture_output=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern_keyword})(schema)
    cases, wrong, both = list(manifests()), [], {True: 0, False: 0}
    with tempfile.TemporaryDirectory() as directory:
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(Parser(pinfold, directory).says, enumerate(cases)))
    for (where, manifest), mistakes in zip(cases, answers):
        taken = validator.is_valid(manifest)
        both[taken] += 1
        if not taken and not mistakes:
            wrong.append(f"{where}: the schema refuses {json.dumps(manifest)[:200]}, the parser takes it")
        if taken and not all(re.search(UNSAYABLE, mistake) for mistake in mistakes):
            wrong.append(f"{where}: the schema takes {json.dumps(manifest)[:200]}, the parser says {mistakes[:2]}")
    with open(os.path.join(docs, "example/manifest.json"), encoding="utf-8") as file:
        text = re.sub(r",(\s*[}\]])", r"\1", re.sub(r"//[^\n\"]*$", "", file.read(), flags=re.M))
    if not validator.is_valid(json.loads(text)):
        wrong.append("the schema refuses the example")
    if min(both.values()) < 200:
        wrong.append(f"too few were tried of one sort: {both}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
