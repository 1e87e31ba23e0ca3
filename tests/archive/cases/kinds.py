"""What members are, and what becomes of their modes, owners and attributes."""

import os
import stat

from archive import make
from archive.place import extracted, refused
from blackbox.suite import case, check

MODES = {0o755: 0o755, 0o644: 0o644, 0o600: 0o600, 0o700: 0o700, 0o444: 0o644, 0o000: 0o600, 0o777: 0o755, 0o655: 0o644,
         0o4755: 0o755, 0o2755: 0o755, 0o1755: 0o755, 0o6777: 0o755, 0o640: 0o640}


@case("links, devices and FIFOs are refused, in tar and zip")
def refusals(box):
    for kind, word in (("symlink", "symbolic link"), ("link", "hard link"), ("char", "device"), ("block", "device"),
                       ("fifo", "FIFO")):
        refused(box, make.tar("ok", ("x", b"", kind, "ok")), word=word, member="x")
    refused(box, make.tar(("h", b"pwned", "link", "../canary")), word="hard link")
    refused(box, make.tar(("s", b"", "symlink", "../canary"), ("h", b"", "link", "s")), "--links", "inside")
    refused(box, make.zipped({make.zip_member("s", 0o120777): b"/etc/passwd"}), word="symbolic link")
    refused(box, make.tar(("s", b"", "symlink", os.path.join(box.dir)), "s/canary"))


@case("--links inside makes links that stay inside, and nothing is written through one")
def links(box):
    data = make.tar(("d", b"", "dir"), "d/f", ("l", b"", "symlink", "d/f"), ("d/up", b"", "symlink", "../l"),
                    ("dangling", b"", "symlink", "not/there"), ("self", b"", "symlink", "self"))
    found, outcome = extracted(box, data, "--links", "inside")
    check({name: found[name][2] for name in ("l", "d/up", "dangling", "self")} ==
          {"l": "d/f", "d/up": "../l", "dangling": "not/there", "self": "self"}, found)
    check(outcome.doc["links"] == 4, outcome.brief())
    for target in ("/etc", "..", "../x", "d/../..", "d/../x", "../../canary", ""):
        refused(box, make.tar(("l", b"", "symlink", target)), "--links", "inside", dest="out2")
    refused(box, make.tar(("d/l", b"", "symlink", "../..")), "--links", "inside", dest="out2")
    for order in (["l", "l/f"], ["l/f", "l"]):
        members = [(name, b"", "symlink", "d") if name == "l" else name for name in order]
        refused(box, make.tar(("d", b"", "dir"), *members), "--links", "inside", dest="out2")
    chain = [("a" * 200 + str(i), b"", "symlink", "a" * 90) for i in range(40)]
    extracted(box, make.tar(*[make.gnu_long(name.encode()) + make.member(*rest) for name, *rest in
                              [(one[0], "n", *one[1:]) for one in chain]]), "--links", "inside", dest="out3")


@case("modes: no set-id and sticky bits, no write for others, read and write for the owner")
def modes(box):
    found, _ = extracted(box, make.tar(*[make.member(f"f{mode:o}", b"x", mode=mode, uid=1234) for mode in MODES]))
    for mode, expected in MODES.items():
        check(found[f"f{mode:o}"][1] == expected, f"{mode:o} has become {found[f'f{mode:o}'][1]:o}, not {expected:o}")
    files = {make.zip_member(f"f{mode:o}", 0o100000 | mode): b"x" for mode in MODES}
    found, _ = extracted(box, make.zipped(files), dest="out2")
    for mode, expected in MODES.items():
        check(found[f"f{mode:o}"][1] == expected, f"zip: {mode:o} has become {found[f'f{mode:o}'][1]:o}")


@case("directories that their owner cannot enter have members all the same")
def directories(box):
    members = [make.member("d", kind="dir", mode=0o555), make.member("d/x", b"#!/bin/sh\n", mode=0o755),
               make.member("e", kind="dir", mode=0), make.member("e/y", b"y"), make.member("t", kind="dir", mode=0o3777)]
    found, _ = extracted(box, make.tar(*members))
    check(found["d/x"][1] == 0o755 and found["e/y"][2] == b"y", found)
    check((found["d"][1], found["e"][1], found["t"][1]) == (0o755, 0o700, 0o755), found)
    check(all(kind != stat.S_IFDIR or mode & 0o700 == 0o700 for kind, mode, _ in found.values()), found)


@case("attributes, capabilities and flags are not restored; times that cannot be are left out")
def attributes(box):
    capability = b"\x01\x00\x00\x02" + b"\xff" * 16
    data = make.tar(make.pax(SCHILY__xattr__security__capability=capability, SCHILY__xattr__user__x="y",
                             SCHILY__fflags="schg,sappnd", SCHILY__acl__access="user::rwx,user:65534:rwx,mask::rwx",
                             mtime="-99999999999") + make.member("f", b"x", mode=0o755),
                    make.pax(mtime="99999999999999999999") + make.member("g", b"x"))
    extracted(box, data)
    for name in ("f", "g"):
        check(os.listxattr(box.inside(f"out/{name}")) == [], os.listxattr(box.inside(f"out/{name}")))
    os.unlink(box.inside("out/f"))


@case("pax says how long a member is, not the header behind it")
def smuggled(box):
    inner = padded_member = make.member("smuggled", b"x" * 10)
    data = make.tar(make.pax(size=len(inner)) + make.header(b"outer", size=0) + padded_member, "after")
    found, _ = extracted(box, data)
    check(set(found) == {"outer", "after"} and found["outer"][2] == inner, found.keys())
