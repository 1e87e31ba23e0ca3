#!/usr/bin/env python3
"""Turns the shipped policies into C: embed.py OUTPUT FILE...

Policies are kept as JSON, for the same reader as everybody's, but without comments and spaces: nothing of theirs has to
be told a line, and each launch reads one. The table of secrets (secrets.jsonc), which lies under every policy, becomes a
plain list.
"""
import json
import pathlib
import re
import sys

SECRETS = 'secrets'


def summary_of(path, text):
    found = re.search(r'^\s*"description":\s*"([^"\\]*)",$', text, re.MULTILINE)
    if found is None:
        sys.exit(f'{path}: no "description" on a line of its own')
    return found.group(1)


def quoted(text):
    escaped = text.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t').replace('?', '\\?')
    return f'"{escaped}"'


def members(path, pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        sys.exit(f'{path}: a name twice in {names}')
    return dict(pairs)


def parse(path, text):
    plain = re.sub(r'("[^"]*")|//[^\n]*', lambda found: found.group(1) or '', text)
    plain = re.sub(r',(\s*[\]}])', r'\1', plain)
    return json.loads(plain, object_pairs_hook=lambda pairs: members(path, pairs))


def literal(text, width=100):
    return '\n'.join('\t' + quoted(text[at:at + width]) for at in range(0, len(text), width))


def entry(path, text):
    name = ':' + path.stem
    compact = json.dumps(parse(path, text), separators=(',', ':'))
    return (f'{{\n.name = "{name}",\n.label = "built-in {name}",\n.summary = "{summary_of(path, text)}",\n'
            f'.text =\n{literal(compact)},\n.size = {len(compact)},\n}}')


def secret_paths(path, text):
    document = parse(path, text)
    if set(document) != {'version', 'description', 'filesystem'} or set(document['filesystem']) != {'deny'}:
        sys.exit(f'{path}: the table of secrets has nothing but "deny"')
    return document['filesystem']['deny']


def main():
    output, paths = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    policies, secrets = [], []
    for path in paths:
        text = path.read_text(encoding='ascii')
        if path.stem == SECRETS:
            secrets = secret_paths(path, text)
        else:
            policies.append(entry(path, text))
    code = ('#include "runtime/policy/builtin.h"\n\n'
            'const struct policy_builtin policy_builtins[] = {\n' + ',\n'.join(policies) + ',\n{}};\n\n'
            f'const size_t policy_n_secret_paths = {len(secrets)};\n'
            'const char *const policy_secret_paths[] = {\n'
            + ''.join(f'\t{quoted(path)},\n' for path in secrets) + '};\n')
    pathlib.Path(output).write_text(code, encoding='ascii')


main()
