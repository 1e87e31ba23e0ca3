#!/usr/bin/env python3
"""Holds the JSON Schema of policies against the parser, both ways: schema.py PINFOLD FOLDER...

A great many values are put in every place that the schema knows. What it refuses the parser must refuse, without exception;
what it takes the parser must take, except for what a schema cannot say (UNSAYABLE). The policies in the folders, and the
built-ins as `policy show` resolves them, must be valid.
"""

import glob
import json
import os
import random
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

# What the parser may say of a value that the schema takes, and of which values it may say so.
BOUNDS = r"below the least|above the greatest|is too (long|short|large)|is less than one byte|is not between|is longer than a"
UNSAYABLE = {
    "a bound of a value with its unit, written as text": (r"^limits\.|\.size$", BOUNDS),
    "a length in bytes": (r"^filesystem\.|^seccomp\.profile|^extends$", "longer than a path can be|File name too long"),
    "the length of name and value together": (r"^process\.env\.set", "longer than the kernel takes"),
    "a path that comes back by ..": (r"^filesystem\.(write|bind|tmpfs)", "nothing below /proc|the root itself|everything writable"),
    "what is in another file": (r"^extends$|^seccomp\.profile$", r"cannot be read|cannot open|not a file|Is a directory|/(calls|below)\.json:"),
    "NUL, which no string of a policy has": (r"", r"\\u0000 is not allowed"),
}
# And of a whole policy, whose fields are right one by one.
ACROSS = r"lies inside the denied|is allowed too|but limits\.memory_strategy is"

NUMBERS = [0, 1, 2, 7, 8, -1, 0.5, 0.001, 0.0009, 0.00099, 0.01, 0.0099, 0.0095, 1.0, 1.5, 8.0, 1e3, 1e9, 65535, 65536, 1048575,
           1048576, 1048576.0, 1048576.5, 4194304, 4194305, 1073741816, 1073741817, 1000000, 1000000.5, 1000001, 9223372036,
           9223372036.0, 9223372036.5, 9223372037, 2**63 - 1, 2.0**63, 1e300, -0.5]
OTHERS = [None, True, False, [], {}, [[]], ["a"], {"a": 1}, {"path": "a"}, {"path": "/a/b", "size": None}, {"path": "a", "size": "1M"},
          {"source": "a", "target": "/b"}, {"source": "~/", "target": "/b", "write": True}]
TIMES = ["none", "None", "0", "00", "0s", "0.0m", "0.000ms", "5s", "05s", "500ms", "1.5h", "0.5ms", "0.0005s", "1m", "1e3", "-1", "+1",
         "5 s", " 5s", "5s ", "5s\n", "5S", "5d", ".5s", "5.s", "s", "ms", "1.123456789012345678s", "1.1234567890123456789s",
         "9223372036s", "9223372037s", "9223372036.9s", "99999999999999999999", "2562047h", "2562048h"]
SIZES = ["4096", "1.5", "1.0B", "1B", "0B", "0K", "0.0001K", "64K", "63K", "1k", "1KiB", "1kib", "1KB", "1Kb", "1iB", "1Ki", "1.5G", "1T",
         "1P", "1024K", "1023K", "0.5M", "1M", "8388607T", "8388608T", "9223372036854775807", "9223372036854775808", "512 M"]
HOSTS = ["a", "A-1", "a.b", "a.", ".a", "a..b", "-a", "a-", "a.-b", "x" * 63, "x" * 64, "x" * 65, "x" * 62 + ".y", "x" * 63 + ".y", "under_score",
         "ä", "a b"]
PATHS = ["", ".", "..", "/", "//", "///", "/.", "/./", "/..", "/.//", "/./.", "/a", "/a/", "//a", "a/b", "./a", "../a", "~", "~/", "~/a", "~a", "~*", "~*/",
         "~*/a", "~~", "./~a", "~\n", "\n", "a\n", "/\n", "/proc", "//proc", "/./proc", "/proc/", "/proc/.", "/proc/self", "/proc/..", "/proc/../a",
         "/proc/...", "/proc/..a", "/proc/.a", "/proc\n", "/processes", "/a/proc", "/sys", "/sysx", "/dev", "/dev/shm", "/../proc",
         "/a/../proc", "/a/..", "/a/../..", "proc", "**/.env", "/srv/*.key", "/" + "a" * 4094, "/" + "a" * 4095, "ä" * 2047, "ä" * 2048, "ä" * 4096,
         "$HOME/a", "a\0b"]
NAMES = ["A", "A=B", "=", "LC_*", "*", "PATH", ":default", ":strict", ":read-only", ":eval", ":nope", ":", "EPERM", "eperm", "EAGAIN",
         "E?", "ENOSUCH", "read", "READ", "socketcall", "nosuchcall", "host", "system", "empty", "directory", "auto", "strict", "best-effort",
         "true", "network", "network=", "network=net_namespace", "network=cgroup", "limits.memory", "limits.memory=cgroup", "memory",
         "calls.json", "below.json", "v" * 131069, "v" * 131070, "v" * 131071]
STRINGS = TIMES + SIZES + HOSTS + PATHS + NAMES


def translated(pattern):
    """For Python, to whom $ also means the place before a last newline."""
    return re.sub(r"(?<!\\)\$", r"\\Z", pattern)


def pattern_keyword(_validator, pattern, instance, _schema):
    if isinstance(instance, str) and not re.search(translated(pattern), instance):
        yield jsonschema.ValidationError(f"{instance[:60]!r} does not match {pattern}")


class Both:
    """The parser and the schema, asked for the same policy."""

    def __init__(self, pinfold, directory):
        self.pinfold, self.directory = pinfold, directory
        told = subprocess.run([pinfold, "policy", "schema"], check=True, capture_output=True)
        self.schema = json.loads(told.stdout)
        jsonschema.Draft202012Validator.check_schema(self.schema)
        kind = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern_keyword})
        self.validator = kind(self.schema)
        for name, document in (("calls.json", {"defaultAction": "SCMP_ACT_ALLOW"}), ("below.json", {})):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                json.dump(document, file)

    def parser_says(self, numbered):
        """The mistakes that the parser finds."""
        number, policy = numbered
        path = os.path.join(self.directory, f"policy-{number}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(policy, file)
        got = subprocess.run([self.pinfold, "policy", "validate", path, "--json"], capture_output=True, check=False)
        os.unlink(path)
        answer = json.loads(got.stdout)
        if answer["schema"] == "pinfold.error/1":
            return [answer["message"]]
        assert got.returncode == (0 if answer["valid"] else 1) and answer["valid"] == (not answer["mistakes"]), (policy, got)
        return answer["mistakes"]

    def verdicts(self, policies):
        """[(the schema takes it, the parser's mistakes)]"""
        with ThreadPoolExecutor(4) as pool:
            mistakes = list(pool.map(self.parser_says, enumerate(policies)))
        return list(zip([self.validator.is_valid(policy) for policy in policies], mistakes))


def resolved(schema, node):
    if "$ref" in node:
        return resolved(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
    return node


def places(schema, node=None, name="", wrap=lambda value: value):
    """Every place a value can be in: (dotted name, its schema, what makes a whole policy of a value). Lists and maps give two
    places of the same name, themselves and that of an entry."""
    node = resolved(schema, schema if node is None else node)
    yield name, node, wrap
    for key, below in node.get("properties", {}).items():
        others = {other: "/x" for other in node.get("required", []) if other != key}
        yield from places(schema, below, f"{name}.{key}".lstrip("."), lambda value, key=key, others=others: wrap({**others, key: value}))
    if "items" in node:
        yield from places(schema, node["items"], name, lambda value: wrap([value]))
    if isinstance(node.get("additionalProperties"), dict):
        yield from places(schema, node["additionalProperties"], name, lambda value: wrap({"NAME": value}))
    if "propertyNames" in node:
        yield name, node["propertyNames"], lambda value: wrap({value: "value"} if isinstance(value, str) else value)


def disagreement(place, value, taken, mistakes, across=False):
    """What is wrong with these two answers; None where they agree, or where the schema cannot know."""
    told = "; ".join(mistakes)
    if taken == (not mistakes):
        return None
    if not taken:
        return f"{place}: the schema refuses {value!r:.120}, the parser takes it"
    if across and all(re.search(ACROSS, mistake) for mistake in mistakes):
        return None
    for where, what in UNSAYABLE.values():
        if re.search(where, place) and all(re.search(what, mistake) for mistake in mistakes):
            return None
    return f"{place}: the schema takes {value!r:.120}, the parser says {told[:300]}"


def every_value(both):
    """Each value in each place; and in each place there must be values of both sorts. Returns what both took, for each field."""
    wrong, good = [], []
    for place, node, wrap in places(both.schema):
        holds_others = node.get("type") in ("object", "array")  # to which one string is like another
        values = (["", "none", "/a"] if holds_others else STRINGS) + NUMBERS[:8] + ([] if holds_others else NUMBERS[8:]) + OTHERS
        answers = both.verdicts([wrap(value) for value in values])
        wrong += filter(None, (disagreement(place, value, *answer) for value, answer in zip(values, answers)))
        fine = [wrap(value) for value, (taken, mistakes) in zip(values, answers) if taken and not mistakes]
        if not fine or len(fine) == len(values):
            wrong.append(f"{place}: {len(fine)} of {len(values)} values are right")
        good += fine
    return wrong, good


def every_word(both):
    """Each word that the schema lists, where it lists it; words that it does not list are tried by every_value."""
    wrong, n = [], 0
    for place, node, wrap in places(both.schema):
        words = [word for one in node.get("anyOf", [node]) for word in resolved(both.schema, one).get("enum", [])]
        answers = both.verdicts([wrap(word) for word in words])
        wrong += filter(None, (disagreement(place, word, *answer) for word, answer in zip(words, answers)))
        n += len(words)
    return wrong + ([] if n > 500 else [f"only {n} words were tried"])


def every_key(both):
    """Unknown, misspelt and missing keys, in every object; a dotted name is none."""
    policies = [("", {name: "1M"}) for name in ("limits.memory", "network.mode")]
    for place, node, wrap in places(both.schema):
        needed = {key: "/x" for key in node.get("required", [])}
        for key in [*node.get("properties", {}), "", "a.b"] if "properties" in node else []:
            policies.append((place, wrap({**needed, key + "x": "/x"})))
        policies += [(place, wrap({key: "/x"})) for key in needed if len(needed) > 1]
        policies += [(place, wrap({}))] if needed else []
    answers = both.verdicts([policy for _place, policy in policies])
    wrong = [f"{place}: {policy} is taken: schema {taken}, parser {not mistakes}"
             for (place, policy), (taken, mistakes) in zip(policies, answers) if taken or not mistakes]
    return wrong + ([] if len(policies) > 60 else [f"only {len(policies)} were tried"])


def every_length(both):
    """Lists and maps as long as they may be, and one longer."""
    def mounts(n):
        return [{"path": f"t{i}"} for i in range(n)]

    def binds(n):
        return [{"source": "a", "target": f"/b{i}"} for i in range(n)]

    pairs = [(8192 * 4, lambda n: {"filesystem": {"protect": [f"p{i}" for i in range(n)]}}),
             (8192 * 4, lambda n: {"process": {"env": {"pass": [f"P{i}" for i in range(n)]}}}),
             (4096, lambda n: {"filesystem": {"tmpfs": mounts(n)}}), (4096, lambda n: {"filesystem": {"bind": binds(n)}}),
             (4096, lambda n: {"process": {"env": {"set": {f"V{i}": "" for i in range(n)}}}})]
    policies = [make(n) for most, make in pairs for n in (most, most + 1)]
    return [f"entry {i}: schema {taken}, parser {mistakes[:1]}" for i, (taken, mistakes) in enumerate(both.verdicts(policies))
            if (taken, not mistakes) != ((i % 2 == 0), (i % 2 == 0))]


def merged(below, above):
    if isinstance(below, dict) and isinstance(above, dict):
        return {key: merged(below.get(key, above.get(key)), above.get(key, below.get(key))) for key in {**below, **above}}
    return above


def whole_policies(both, good):
    """Many fields at once, each of which is right by itself."""
    chance, policies = random.Random(1), []
    for _ in range(300):
        policy = {}
        for one in chance.sample(good, 12):
            policy = merged(policy, one)
        policies.append(policy)
    answers = both.verdicts(policies)
    wrong = [disagreement("", policy, *answer, across=True) for policy, answer in zip(policies, answers)]
    plain = sum(taken and not mistakes for taken, mistakes in answers)
    return [one for one in wrong if one] + ([] if plain > 100 else [f"only {plain} were right"])


def plain_json(text):
    """Without comments and trailing commas."""
    text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda found: found.group(1) or "", text, flags=re.DOTALL)
    return json.loads(re.sub(r",(\s*[\]}])", r"\1", text))


def shipped(both, folders):
    wrong, n = [], 0
    for path in [path for folder in folders for path in glob.glob(os.path.join(folder, "*.jsonc"))]:
        with open(path, encoding="utf-8") as file:
            text = file.read().replace('"@/', '"/')  # what the tests of plans put before their paths
        errors = list(both.validator.iter_errors(plain_json(text)))
        wrong += [f"{path}: {error.message}" for error in errors]
        n += 1
    names = json.loads(subprocess.run([both.pinfold, "policy", "list", "--json"], check=True, capture_output=True).stdout)
    for one in names["policies"]:
        shown = subprocess.run([both.pinfold, "policy", "show", one["name"], "--json"], check=True, capture_output=True)
        wrong += [f"{one['name']}: {error.message}" for error in both.validator.iter_errors(json.loads(shown.stdout)["policy"])]
    return wrong + ([] if n > 15 else [f"only {n} policies were found in {folders}"])


def described(both):
    return [f"{name} has no description" for name, node in properties(both.schema) if not node.get("description")]


def properties(node, name=""):
    for key, below in node.get("properties", {}).items():
        yield f"{name}.{key}".lstrip("."), below
        yield from properties(below, f"{name}.{key}".lstrip("."))
        yield from properties(below.get("items", {}), f"{name}.{key}".lstrip("."))


def defaults(both):
    """The default of a field is what a policy without it has."""
    shown = subprocess.run([both.pinfold, "policy", "show", "--json"], check=True, capture_output=True)
    wrong, n = [], 0
    for name, node in properties(both.schema):
        value = json.loads(shown.stdout)["policy"]
        for part in name.split(".") if "default" in node else []:
            value = value[part]
        if "default" in node:
            n += 1
            wrong += [] if value == node["default"] else [f"{name}: {node['default']!r}, but {value!r}"]
    return wrong + ([] if n >= 18 else [f"only {n} fields have a default"])


def main(pinfold, *folders):
    with tempfile.TemporaryDirectory() as directory:
        both = Both(os.path.abspath(pinfold), directory)
        wrong, good = every_value(both)
        tests = [("every value in every place", wrong), ("every word that is listed", every_word(both)),
                 ("unknown, dotted and missing keys", every_key(both)), ("the longest lists and maps", every_length(both)),
                 ("whole policies", whole_policies(both, good)), ("the policies that exist", shipped(both, folders)),
                 ("every key is described", described(both)), ("defaults are those of :read-only", defaults(both))]
    print(f"1..{len(tests)}")
    for number, (name, wrong) in enumerate(tests, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong[:40]:
            print(f"# {line}")
    return 1 if any(wrong for _name, wrong in tests) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
