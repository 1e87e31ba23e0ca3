#!/usr/bin/env python3
"""Whether the manual page and the help tell of the same options: manual.py PINFOLD pinfold.1.scd"""

import json
import re
import subprocess
import sys


def of_help(pinfold):
    """{verb: {option: (letter, argument)}} as the program says."""
    verbs = json.loads(subprocess.run([pinfold, "help", "--json"], check=True, capture_output=True).stdout)["verbs"]
    return {verb["name"]: {row["name"]: (row["letter"], row["argument"]) for row in verb["options"]} for verb in verbs}


def of_page(path):
    """{option: (letter, argument)}, {verb} as the page says. Options are lines like *-p*, *--policy* _NAME|FILE_"""
    options, verbs, section = {}, set(), None
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("# "):
                section = line[2:]
            line = line.replace("\\", "")
            option = re.fullmatch(r"(?:\*-(\w)\*, )?\*(--?[\w-]+)\*(?: _(.+)_)?", line)
            if section == "OPTIONS" and option:
                letter, name, argument = option.groups()
                options[name] = (name[1:] if not name.startswith("--") else letter, argument)
            verb = re.match(r"\*pinfold (\w+)\*", line)
            if section == "SYNOPSIS" and verb:
                verbs.add(verb.group(1))
    return options, verbs


def main(pinfold, page):
    helped = of_help(pinfold)
    options, verbs = of_page(page)
    told = {name: row for rows in helped.values() for name, row in rows.items()}
    wrong = [f"{name}: the help says {told.get(name)}, the page {options.get(name)}"
             for name in sorted(told.keys() | options.keys()) if told.get(name) != options.get(name)]
    wrong += [f"verb {name} is only in one of them" for name in sorted(set(helped) ^ verbs)]
    if len(told) < 20:
        wrong.append(f"the help tells of {len(told)} options only")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
