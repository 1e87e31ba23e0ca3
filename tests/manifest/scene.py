"""What the cases share: a manifest beside its sources, pinfold on it, and what a workspace looks like."""

import hashlib
import json
import os
import stat

from blackbox.suite import check

OK, REFUSED, USAGE, FAILED = 0, 1, 2, 125


class Scene:
    """base/ with manifest.json and the sources, and the workspace to be made."""

    def __init__(self, box):
        self.box, self.base, self.workspace = box, box.make("base"), os.path.join(box.dir, "made")

    def source(self, name, content=b"", mode=0o644):
        path = os.path.join(self.base, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def manifest(self, entries=None, text=None, **more):
        path = os.path.join(self.base, "manifest.json")
        with open(path, "wb") as file:
            file.write(text if text is not None else json.dumps({"version": 1, "entries": entries, **more}).encode())
        return path

    def call(self, *options, **how):
        """(exit status, the document, stderr)"""
        manifest = os.path.join(self.base, "manifest.json")
        words = ["materialize", "--json", *options, manifest, self.workspace]
        code, out, err, _seconds = self.box.pinfold(*words, **how)
        return code, json.loads(out), err.decode()

    def make(self, entries, *options, **more):
        """Must succeed; the receipt."""
        self.manifest(entries, **more)
        code, document, err = self.call(*options)
        check(code == OK and document["schema"] == "pinfold.receipt/1", f"exit {code}: {document} {err}")
        check(err == "", f"on stderr: {err}")
        self.expect_tidy()
        return document

    def refuse(self, entries, code, *options, reason=None, names=(), status=REFUSED, text=None, **more):
        """Must be refused with this code, naming these, and leave everything as it was; the error."""
        before = tree(self.workspace)
        self.manifest(entries, text, **more)
        got, document, err = self.call(*options)
        check(got == status and document["schema"] == "pinfold.error/1", f"exit {got}: {document} {err}")
        check(document["code"] == code, f"{document['code']} instead of {code}: {document}")
        check(reason is None or document["context"].get("reason") == reason, f"the reason is not {reason}: {document}")
        for name in names:
            check(name in document["message"], f"{name!r} is not named: {document['message']}")
        after = tree(self.workspace)
        check(after == before, f"the workspace has changed: {before} -> {after}")
        return document

    def expect_tidy(self):
        for directory, names, files in os.walk(self.workspace):
            left = [name for name in names + files if name.startswith(".pinfold-")]
            check(not left, f"left in {directory}: {left}")

    def read(self, name):
        with open(os.path.join(self.workspace, name), "rb") as file:
            return file.read()


def tree(root):
    """{path: (kind, mode, content or target)}; None where there is nothing."""
    if not os.path.lexists(root):
        return None
    seen = {}
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            content = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()
            seen[os.path.relpath(path, root)] = (oct(status.st_mode), content)
    return seen


def file(content="", **more):
    return {"type": "file", "content": content, **more}


def directory(children=None, **more):
    return {"type": "dir", **({"children": children} if children is not None else {}), **more}


def local_file(src, **more):
    return {"type": "local_file", "src": src, **more}


def local_dir(src, **more):
    return {"type": "local_dir", "src": src, **more}


def sha256(data):
    return hashlib.sha256(data).hexdigest()
