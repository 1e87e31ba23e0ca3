#!/usr/bin/env python3
"""Every test that docs/failures.md names is there.

    shown_by.py SOURCE_DIRECTORY

The last cell of a row is made of names of cases, each after its suite ("isolation: a case; another one. cli: a third"), or of
"unit: NAME" for tests/unit/test_NAME.c. What is left of a cell when the names that exist are taken away must be separators.
"""

import glob
import os
import re
import sys

CASE = re.compile(r'@case\(\s*(f?)"((?:[^"\\]|\\.)*)"')
LIBRARY_TEST = re.compile(r'\{\s*"((?:[^"\\]|\\.)*)",\s*\w+\}')
SUITES = ("escape", "isolation", "cli", "library", "manifest", "unit")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def names_of(tests, suite):
    """Regular expressions for the names, the longest first: one may begin with another."""
    if suite == "unit":
        found = [re.escape(os.path.basename(path)[len("test_") : -len(".c")]) for path in glob.glob(f"{tests}/unit/test_*.c")]
    elif suite == "library":
        found = [re.escape(name) for path in glob.glob(f"{tests}/library/*.c") for name in LIBRARY_TEST.findall(read(path))]
    else:
        found = []
        for path in glob.glob(f"{tests}/{suite}/cases/*.py"):
            for formatted, name in CASE.findall(read(path)):
                parts = re.split(r"\{[^}]*\}", name) if formatted else [name]
                found.append("[^;|]+?".join(map(re.escape, parts)))
    return sorted(found, key=len, reverse=True)


def strange(cell, names):
    """What of the cell is the name of no test."""
    left = []
    for part in re.split(rf"(?:^|[.;,] *)(?=(?:{'|'.join(SUITES)}): )", cell):
        suite, _, rest = part.partition(": ")
        if suite not in SUITES:
            left += [part] if part.strip() else []
            continue
        for name in names[suite]:
            rest = re.sub(rf"(?:^|(?<=[;,] )){name}(?=$|[;,])", "", rest)
        left += [text.strip() for text in re.split("[;,]", rest) if text.strip()]
        if rest == part.partition(": ")[2]:
            left.append(part)
    return left


def main(top):
    names = {suite: names_of(f"{top}/tests", suite) for suite in SUITES}
    rows, wrong = 0, 0
    for number, line in enumerate(read(f"{top}/docs/failures.md").splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| what went wrong"):
            continue
        rows += 1
        cells = line.strip().strip("|").split(" | ")
        if len(cells) != 3 or not all(cell.strip() for cell in cells):
            print(f"docs/failures.md:{number}: not three cells")
            wrong += 1
            continue
        for text in strange(cells[2].strip().replace("`", ""), names):
            print(f"docs/failures.md:{number}: no test is called so: {text}")
            wrong += 1
    if not rows:
        print("docs/failures.md: no rows")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
