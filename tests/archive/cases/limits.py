"""Limits count what comes out, and each refusal names limit, figure and member."""

import gzip
import lzma
import os
import zlib

from archive import make
from archive.place import extracted, listing, refused
from blackbox.suite import case, check


@case("input, bytes, members and ratio: one more is refused, and none lifts that one alone")
def each(box):
    data = make.tar(("a", b"x" * 600), ("b", b"y" * 400))
    refused(box, data, "--max-input", str(len(data) - 1), code="limit", limit="max-input", most=len(data) - 1, actual=len(data))
    refused(box, data, "--max-extracted", "999", code="limit", limit="max-extracted", most=999, actual=1000, member="b")
    refused(box, data, "--max-members", "1", code="limit", limit="max-members", most=1, actual=2, member="b")
    extracted(box, data, "--max-input", str(len(data)), "--max-extracted", "1000", "--max-members", "2")
    extracted(box, data, "--max-input", "none", "--max-extracted", "none", "--max-members", "none", "--max-ratio", "none",
              "--timeout", "none", dest="out2")
    refused(box, data, "--max-input", "none", "--max-members", "1", code="limit", dest="out3")


@case("directories that names imply are members, and so are those that come twice")
def implied(box):
    refused(box, make.tar("a/b/c/d/e"), "--max-members", "4", code="limit", limit="max-members", actual=5)
    refused(box, make.tar(*[("d", b"", "dir")] * 5), "--max-members", "4", code="limit", actual=5)
    deep = b"d/" * 300 + b"f"
    refused(box, make.tar(make.gnu_long(deep) + make.member("f")), code="limit", limit="depth", actual=301)
    refused(box, make.tar(make.gnu_long(b"d/" * 5000 + b"f") + make.member("f")), code="limit", limit="name")


@case("a million members stop at the limit, quickly")
def million(box):
    one = zlib.compressobj(1, zlib.DEFLATED, 31)
    parts = [one.compress(b"".join(make.header(b"%07d" % (i + j)) for j in range(1000))) for i in range(0, 200000, 1000)]
    data = b"".join(parts) + one.compress(bytes(1024)) + one.flush()
    refused(box, data, "--max-members", "1000", code="limit", limit="max-members", actual=1001, member="0001000")
    refused(box, data, code="limit", limit="max-members", actual=100001)


@case("bombs of gzip, xz, bzip2 and zip stop at bytes that come out")
def bombs(box):
    big = 300 << 20
    start = make.header(b"zeros", size=big)
    for packer in (zlib.compressobj(9, zlib.DEFLATED, 31), lzma.LZMACompressor(preset=0)):
        data = packer.compress(start) + b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
        refused(box, data, "--max-extracted", "50M", code="limit", limit="max-extracted", member="zeros")
        refused(box, data, code="limit", limit="max-ratio", most=200, member="zeros")
    bomb = make.zipped({"zeros": bytes(100 << 20)})
    refused(box, bomb, "--max-extracted", "50M", code="limit", limit="max-extracted")
    refused(box, bomb, code="limit", limit="max-ratio")


@case("a small text that packs well is no bomb")
def grace(box):
    text = b"the same line again and again\n" * 100000
    extracted(box, make.packed_tar({"text": text}), "--max-ratio", "10")
    extracted(box, make.zipped({"text": text}), "--max-ratio", "10", dest="out2")


@case("many entries over one kernel: no more than the limit, whatever the directory claims")
def overlapping(box):
    data = bytes(1 << 20)
    kernel = make.deflated(data)
    names = [b"%03d" % i for i in range(250)]
    bomb = make.zip_by_hand(names, kernel, len(data), zlib.crc32(data))
    extracted(box, bomb, "--max-extracted", "50M")  # libarchive takes entries at one place for one
    check(sum(len(content or b"") for _, _, content in listing(box.inside("out")).values()) <= 50 << 20, "more than 50M")
    refused(box, make.zip_by_hand(names[:2], kernel, len(data), zlib.crc32(data)), "--max-extracted", "1000K",
            code="limit", limit="max-extracted", dest="out2")


@case("a member that is longer than it says is damaged, in a zip, and counted")
def lying(box):
    data = b"0123456789abcdef" * (640 << 10)
    for crc in (zlib.crc32(data), zlib.crc32(data[:10])):
        refused(box, make.zip_by_hand([b"k"], make.deflated(data), 10, crc), "--max-extracted", "1M", code="limit", member="k")
        refused(box, make.zip_by_hand([b"k"], make.deflated(data), 10, crc), member="k")


@case("sizes that are negative or absurd")
def absurd(box):
    for field in (b"\xff" * 12, b"\x80" + b"\xff" * 11, b"\x80\0\0\0" + b"\xff" * 8, b"77777777777\0"):
        data = make.header(b"n", size_field=field) + bytes(2048)
        refused(box, data)
    refused(box, make.tar(make.pax(size=-1) + make.member("n")))
    refused(box, make.tar(make.pax(size=2**70) + make.member("n")))


@case("holes count like bytes, and stay holes")
def sparse(box):
    def sparse_member(size, blocks):
        body = b"%d\n" % len(blocks) + b"".join(b"%d\n%d\n" % (at, len(data)) for at, data in blocks)
        stored = make.padded(body) + b"".join(data for _, data in blocks)
        return make.pax(GNU__sparse__major=1, GNU__sparse__minor=0, GNU__sparse__name="holes", GNU__sparse__realsize=size) + \
            make.member("GNUSparseFile.0/holes", stored)

    found, outcome = extracted(box, make.tar(sparse_member(64 << 20, [(0, b"a" * 512), (32 << 20, b"b" * 512)])))
    check(len(found["holes"][2]) == 64 << 20 and found["holes"][2][32 << 20] == ord("b"), "not what was stored")
    check(outcome.doc["bytes"] == 64 << 20 and os.stat(box.inside("out/holes")).st_blocks < 1024, outcome.brief())
    refused(box, make.tar(sparse_member(60 << 30, [(0, b"a" * 512), ((60 << 30) - 512, b"b" * 512)])), code="limit",
            limit="max-extracted", member="holes", dest="out2")
    refused(box, make.tar(sparse_member(60 << 30, [(0, b"a" * 512), (60 << 30, b"")])), code="limit", dest="out2")
    refused(box, make.tar(sparse_member(20 << 20, [(0, b"a" * 512), (20 << 20, b"")])), "--max-extracted", "10M", code="limit",
            dest="out2")


@case("a reader without end is ended by its time, or by its memory")
def helper_limits(box):
    data = gzip.compress(make.header(b"big", size=3 << 30) + bytes(1 << 20), 1)
    endless = data[:-8]
    refused(box, endless)  # cut short: damaged
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    slow = packer.compress(make.header(b"big", size=3 << 30)) + b"".join(
        packer.compress(bytes(8 << 20)) for _ in range(384)) + packer.flush()
    refused(box, slow, "--timeout", "100ms", "--max-ratio", "none", code="limit", limit="timeout", most="100ms")
