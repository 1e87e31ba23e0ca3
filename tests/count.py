#!/usr/bin/env python3
"""Counts what `meson test` ran, from its testlog.json files: every line of a TAP suite, and each other test as one.

    count.py LOG...

Prints what was skipped and why, what failed, and as the last line `N passed, N failed, N skipped`. A suite that ended
in another way than its lines tell (a crash, a time-out, a plan that was not kept) is a failure of its own. Exit status 1
where anything failed or nothing passed.
"""

import json
import re
import sys

LINE = re.compile(r"^(not ok|ok)\b[ \t]*\d*[ \t]*(?:- )?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)\b(?:.*# *SKIP *(.*))?", re.IGNORECASE)
DIRECTIVE = re.compile(r"(?<!\\)# *(SKIP|TODO)\S* *(.*)$", re.IGNORECASE)


class Count:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add_tap(self, suite, text):
        """The lines of one suite; how many there were, and how many its plan promised (None: no plan)."""
        n, planned = 0, None
        for line in text.splitlines():
            plan, found = PLAN.match(line), LINE.match(line)
            if plan:
                planned = int(plan.group(1))
                if planned == 0:
                    self.skipped.append((suite, plan.group(2) or "the whole suite, without a reason"))
            if not found:
                continue
            n += 1
            directive = DIRECTIVE.search(found.group(2))
            name = f"{suite}: {DIRECTIVE.sub('', found.group(2)).strip()}"
            if directive and directive.group(1).upper() == "SKIP":
                self.skipped.append((name, directive.group(2) or "without a reason"))
            elif found.group(1) == "ok":
                self.passed += 1
            else:
                self.failed.append(name)
        return n, planned

    def add(self, test):
        name, result = test["name"], test["result"]
        before = len(self.failed)
        n, planned = self.add_tap(name, test.get("stdout") or "")
        if n == 0 and planned is None:
            if result == "OK":
                self.passed += 1
            elif result == "SKIP":
                self.skipped.append(
                    (name, (test.get("stderr") or test.get("stdout") or "without a reason").strip()[-200:])
                )
            else:
                self.failed.append(f"{name} ({result})")
        elif planned not in (None, n):
            self.failed.append(f"{name}: {n} of {planned} tests were told ({result})")
        elif result not in ("OK", "SKIP", "EXPECTEDFAIL") and len(self.failed) == before:
            self.failed.append(f"{name}: ended as {result} (exit status {test.get('returncode')})")


def main(paths):
    count = Count()
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                count.add(json.loads(line))
    for name, why in count.skipped:
        print(f"skipped: {name}: {why}")
    for name in count.failed:
        print(f"failed: {name}")
    print(f"{count.passed} passed, {len(count.failed)} failed, {len(count.skipped)} skipped", flush=True)
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
