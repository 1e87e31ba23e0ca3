"""What is no archive, is damaged, or has something behind its end."""

import bz2
import gzip
import os

from archive import make
from archive.place import extract, extracted, refused
from blackbox.suite import case, check

NOT_ARCHIVES = {
    "an mtree": b"#mtree\nx type=file contents=/etc/shadow\n",
    "a cpio": b"070701" + b"0" * 104 + b"TRAILER!!!\0\0\0\0",
    "nothing": b"",
    "text": b"<html><body>Not Found</body></html>\n" * 40,
    "random bytes": bytes((i * 7919 + 13) % 251 for i in range(4096)),
    "gzip of text": gzip.compress(b"hello\n" * 1000),
    "a shell archive": b"#!/bin/sh\n# This is a shell archive\nmkdir x\n",
    "an ar": b"!<arch>\nx/              0           0     0     644     3         `\nabc\n",
}


@case("what is neither tar nor zip by its content, whatever its name says")
def no_archive(box):
    for name, data in NOT_ARCHIVES.items():
        path = os.path.join(box.dir, "evil.tar")
        with open(path, "wb") as file:
            file.write(data)
        refused(box, path, code="invalid_compression_scheme")
        check(extract(box, path).code == 1, name)
    refused(box, gzip.compress(bz2.compress(make.tar("a"))), code="invalid_compression_scheme", word="more than once")


@case("happy paths: tar plain, gzip, bzip2, xz, and zip stored and deflated")
def happy(box):
    files = {"a.txt": b"hello\n", "d/e/f": bytes(range(256)) * 1000, "empty": b""}
    archives = [make.packed_tar(files, kind) for kind in ("", "gz", "bz2", "xz")]
    archives += [make.zipped(files), make.zipped(files, 0)]
    expected = [("tar", kind) for kind in ("none", "gzip", "bzip2", "xz")] + [("zip", "none")] * 2
    for number, (data, (form, compression)) in enumerate(zip(archives, expected)):
        found, outcome = extracted(box, data, dest=f"out{number}")
        check({name: found[name][2] for name in files} == files and set(found) == {*files, "d", "d/e"}, found.keys())
        check((outcome.doc["format"], outcome.doc["compression"]) == (form, compression), outcome.brief())
        check((outcome.doc["files"], outcome.doc["directories"], outcome.doc["bytes"]) == (3, 2, 256006), outcome.brief())


@case("zstd", needs=["zstd"])
def zstd(box):
    import subprocess

    data = subprocess.run(["zstd", "-q", "-c"], input=make.tar(("a", b"x")), capture_output=True, check=True).stdout
    found, outcome = extracted(box, data)
    check(found["a"][2] == b"x" and outcome.doc["compression"] == "zstd", outcome.brief())


@case("an archive that is cut, or has one bit flipped, leaves nothing")
def cut(box):
    files = {f"f{i}": os.urandom(5000) for i in range(20)}
    either = ("workspace_archive_write_error", "invalid_compression_scheme")  # nothing can be told of half a block
    for data in (make.packed_tar(files), make.zipped(files), make.packed_tar(files, "xz"), make.packed_tar(files, "bz2")):
        refused(box, data[: len(data) // 2], code=either)
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 0x10
        refused(box, bytes(flipped), code=either)
    last = bytearray(make.packed_tar(files))
    last[-6] ^= 1  # the checksum, behind the end of the tar
    refused(box, bytes(last), word="incorrect data check")
    plain = make.tar(*[(name, data) for name, data in files.items()])
    refused(box, plain[: len(plain) // 2 + 100])


@case("what follows the end: archives are read on, other things are damage, and zips have their own end")
def trailing(box):
    for number, data in enumerate((make.tar("first") + make.tar("second"),
                                   gzip.compress(make.tar("first")) + gzip.compress(make.tar("second")))):
        found, _ = extracted(box, data, dest=f"out{number}")
        check(set(found) == {"first", "second"}, found)
    refused(box, make.tar("first") + make.tar("../canary"))
    refused(box, make.tar("first") + b"junk" * 200)
    refused(box, gzip.compress(make.tar("first")) + b"junk")
    found, _ = extracted(box, gzip.compress(make.tar("first") + bytes(8192)) + bytes(600), dest="out2")
    check(set(found) == {"first"}, found)
    for number, data in enumerate((b"prefix" * 10 + make.zipped({"a": b"x"}), make.zipped({"a": b"x"}) + b"junk")):
        found, _ = extracted(box, data, dest=f"zip{number}")
        check(set(found) == {"a"}, found)
    found, _ = extracted(box, make.member("no end", b"x"), dest="out3")
    check(set(found) == {"no end"}, found)


@case("encrypted members are refused, and nobody is asked for a password")
def encrypted(box):
    data = bytearray(make.zipped({"secret": b"x" * 100}, 0))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    refused(box, bytes(data), code="unsupported", word="encrypted")


@case("volume labels are passed over")
def labels(box):
    found, _ = extracted(box, make.header(b"LABEL", b"V") + make.tar("a"))
    check(set(found) == {"a"}, found)
