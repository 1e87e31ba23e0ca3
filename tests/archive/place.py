"""A case's archive and destination, and what must be so after a refusal."""

import json
import os
import stat

from blackbox.suite import check

CANARY = "nobody has touched this\n"


def write(box, data, name="archive"):
    path = os.path.join(box.dir, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def listing(path):
    """{relative path: (kind, mode, bytes or target)} of all below."""
    found = {}
    for root, names, files in os.walk(path):
        for name in names + files:
            full = os.path.join(root, name)
            status = os.lstat(full)
            kind = stat.S_IFMT(status.st_mode)
            content = None
            if kind in (stat.S_IFREG, stat.S_IFDIR) and status.st_mode & 0o600 != 0o600:
                os.chmod(full, 0o700)  # another program's work, which even its owner cannot read
            if kind == stat.S_IFREG:
                with open(full, "rb") as file:
                    content = file.read()
            elif kind == stat.S_IFLNK:
                content = os.readlink(full)
            found[os.path.relpath(full, path)] = (kind, stat.S_IMODE(status.st_mode), content)
    return found


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.err = code, err.decode("utf-8", "replace")
        try:
            self.doc = json.loads(out)
        except ValueError:
            self.doc = {}

    def brief(self):
        return f"exit {self.code} {self.doc} {self.err}"


def extract(box, data, *options, dest="out", **how):
    """data: bytes, or a path. Into box.workspace/dest."""
    path = write(box, data) if isinstance(data, bytes) else data
    code, out, err, _seconds = box.pinfold("extract", "--json", *options, path, box.inside(dest), **how)
    return Outcome(code, out, err)


def extracted(box, data, *options, dest="out", **how):
    outcome = extract(box, data, *options, dest=dest, **how)
    check(outcome.code == 0 and outcome.doc.get("schema") == "pinfold.extraction/1", outcome.brief())
    check_clean(box)
    owners = {os.lstat(os.path.join(root, name)).st_uid for root, names, files in os.walk(box.inside(dest))
              for name in names + files}
    check(owners <= {os.geteuid()}, f"owners: {owners}")
    return listing(box.inside(dest)), outcome


def check_clean(box):
    for place in [box.workspace] + [os.path.join(box.workspace, name) for name in os.listdir(box.workspace)]:
        if os.path.isdir(place) and not os.path.islink(place):
            left = [name for name in os.listdir(place) if name.startswith(".pinfold-")]
            check(not left, f"left in {place}: {left}")


def refused(box, data, *options, code="workspace_archive_write_error", word=None, dest="out", **context):
    """Refused with this code, these words of the message and this context, and everything is as before."""
    canary = os.path.join(box.dir, "canary")
    if not os.path.exists(canary):
        write(box, CANARY.encode(), "canary")
    before = listing(box.workspace)
    outcome = extract(box, data, *options, dest=dest)
    check(outcome.code == 1 and outcome.doc.get("schema") == "pinfold.error/1", outcome.brief())
    check(outcome.doc["code"] in (code if isinstance(code, tuple) else (code,)) and outcome.doc["op"] == "extract", outcome.brief())
    check(word is None or word in outcome.doc["message"], f"{word!r} is not in {outcome.brief()}")
    for key, value in context.items():
        check(outcome.doc["context"].get(key) == str(value), f"{key} is not {value}: {outcome.brief()}")
    check(listing(box.workspace) == before, f"the destination has changed: {listing(box.workspace).keys()}")
    with open(canary, encoding="utf-8") as file:
        check(file.read() == CANARY, "a file outside has changed")
    return outcome
