#!/usr/bin/env python3
"""Whether the documents beside the code are true: example.py PINFOLD DOCS

The example is materialized and gives what docs/manifest.md shows; the schema in docs/ is the one that is printed.
"""

import os
import re
import subprocess
import sys
import tempfile


def main(pinfold, docs):
    wrong = []
    with open(os.path.join(docs, "manifest.md"), encoding="utf-8") as page:
        shown = re.search(r"\$ pinfold materialize docs/example/manifest.json ./workspace\n(.*?)```", page.read(), re.S).group(1)
    with tempfile.TemporaryDirectory() as place:
        made = os.path.join(place, "workspace")
        got = subprocess.run([pinfold, "materialize", os.path.join(docs, "example/manifest.json"), made], capture_output=True, text=True, check=False)
        if (got.returncode, got.stdout) != (0, shown):
            wrong.append(f"exit {got.returncode}: {got.stderr}\n{got.stdout}instead of\n{shown}")
        elif sorted(os.listdir(made)) != ["README.md", "data.csv", "lib", "logo.bin", "scratch", "src"]:
            wrong.append(f"{os.listdir(made)}")
    printed = subprocess.run([pinfold, "materialize", "--schema"], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(docs, "manifest.schema.json"), encoding="utf-8") as file:
        if file.read() != printed:
            wrong.append("docs/manifest.schema.json is not what pinfold materialize --schema prints")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
