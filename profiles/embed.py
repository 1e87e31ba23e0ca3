#!/usr/bin/env python3
"""Turns the shipped policies into C: embed.py OUTPUT FILE..., where secrets.jsonc is the table of secrets."""
import pathlib
import re
import sys

SECRETS = 'secrets'


def summary_of(path, text):
    found = re.search(r'^\s*"description":\s*"([^"\\]*)",$', text, re.MULTILINE)
    if found is None:
        sys.exit(f'{path}: no "description" on a line of its own')
    return found.group(1)


def literal(text):
    lines = []
    for line in text.splitlines():
        escaped = line.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t').replace('?', '\\?')
        lines.append(f'\t"{escaped}\\n"')
    return '\n'.join(lines)


def entry(name, label, path, text):
    return (f'{{\n.name = "{name}",\n.label = "built-in {label}",\n.summary = "{summary_of(path, text)}",\n'
            f'.text =\n{literal(text)},\n.size = {len(text.encode())},\n}}')


def main():
    output, paths = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    listed, secrets = [], None
    for path in paths:
        text = path.read_text(encoding='ascii')
        if path.stem == SECRETS:
            secrets = entry(SECRETS, SECRETS, path, text)
        else:
            listed.append(entry(':' + path.stem, ':' + path.stem, path, text))
    code = ('#include "runtime/policy/builtin.h"\n\n'
            'const struct policy_builtin policy_builtins[] = {\n' + ',\n'.join(listed) + ',\n{}};\n\n'
            'const struct policy_builtin policy_builtin_secrets = ' + secrets + ';\n')
    pathlib.Path(output).write_text(code, encoding='ascii')


main()
