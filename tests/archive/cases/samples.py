"""Every archive of other projects' test suites, where a folder of them is there: $PINFOLD_SAMPLES (run.py looks beside the tree)."""

import os
import re
import shutil
import stat
import subprocess

from archive.place import check_clean, extract, listing
from blackbox.suite import Skip, case, check

PARTS = ("libarchive", "go-testdata-tar", "go-testdata-zip", "python-tarfile", "tar-rs", "zip-slip")
LIMIT = 200 << 20


def samples():
    folder = os.environ.get("PINFOLD_SAMPLES", "")
    found = [os.path.join(root, name) for part in PARTS for root, _, names in os.walk(os.path.join(folder, part))
             for name in sorted(names)]
    if not found:
        raise Skip(f"no folder of samples: PINFOLD_SAMPLES is {folder!r}, and there is none in shared/files beside the tree")
    return found


def expected_mode(mode):
    kept = mode & 0o755 if mode & 0o100 else mode & 0o755 & ~0o111
    return kept | 0o600


def compare(found, reference, name):
    """What pinfold made is what bsdtar makes, but for the modes, which follow the rules."""
    other = listing(reference)
    check(set(found) == set(other), f"{name}: {set(found) ^ set(other)}")
    for path, (kind, mode, content) in found.items():
        other_kind, other_mode, other_content = other[path]
        check((kind, content) == (other_kind, other_content), f"{name}: {path} is not what bsdtar makes of it")
        if kind == stat.S_IFREG:
            check(mode == expected_mode(other_mode), f"{name}: {path}: {mode:o}, and bsdtar {other_mode:o}")


def by_bsdtar(path, target):
    os.mkdir(target)
    done = subprocess.run(["bsdtar", "-x", "-p", "--no-same-owner", "--no-acls", "--no-xattrs", "--no-fflags", "-f", path,
                           "-C", target], capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=60,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.returncode == 0


@case("each is extracted as bsdtar does it, or refused, within its limits", needs=["bsdtar"])
def all_of_them(box):
    n_extracted = n_refused = n_compared = 0
    for number, path in enumerate(samples()):
        name = f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}"
        outcome = extract(box, path, "--links", "inside", "--max-extracted", str(LIMIT), "--timeout", "20s", dest=f"out{number}")
        check_clean(box)
        target = box.inside(f"out{number}")
        if outcome.code == 1:
            n_refused += 1
            check(not os.path.lexists(target) and outcome.doc["code"] in (
                "limit", "workspace_archive_write_error", "invalid_compression_scheme", "unsupported"), outcome.brief())
            continue
        check(outcome.code == 0, f"{name}: {outcome.brief()}")
        n_extracted += 1
        found = listing(target)
        check(sum(len(content) for kind, _, content in found.values() if kind == stat.S_IFREG) <= LIMIT, name)
        reference = os.path.join(box.dir, "reference")
        if by_bsdtar(path, reference):
            n_compared += 1
            compare(found, reference, name)
        shutil.rmtree(reference)
        shutil.rmtree(target)
    check(os.listdir(box.workspace) == [] and re.match("case-", os.path.basename(box.dir)), os.listdir(box.workspace))
    check(n_extracted > 40 and n_refused > 40 and n_compared > 40,
          f"{n_extracted} extracted, {n_refused} refused, {n_compared} compared: where are the rest?")


@case("hostile ones are refused, by name")
def hostile(box):
    wanted = {"zip-slip.tar", "zip-slip.zip", "zip-slip-win.tar", "zip-slip-win.zip", "test_leading_slash.tar",
              "test_symlink_dotdot.zip", "gnu-sparse-big.tar", "pax-sparse-big.tar", "test_encrypted.zip",
              "test_read_format_tar_invalid_pax_size.tar", "empty_filename.tar", "hardlink.tar", "test_t_bad.zip"}
    for path in samples():
        if os.path.basename(path) in wanted:
            wanted.discard(os.path.basename(path))
            check(extract(box, path, "--links", "inside").code == 1, path)
    check(not wanted, f"not among the samples: {wanted}")
