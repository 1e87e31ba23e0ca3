"""Archives as bytes, with whatever a proper program would not put into them."""

import io
import struct
import tarfile
import zipfile
import zlib

FILE, LINK, SYMLINK, CHARACTER, BLOCK, DIRECTORY, FIFO = b"0", b"1", b"2", b"3", b"4", b"5", b"6"
TYPES = {"link": LINK, "symlink": SYMLINK, "char": CHARACTER, "block": BLOCK, "dir": DIRECTORY, "fifo": FIFO, "file": FILE}


def octal(number, size):
    return b"%0*o\0" % (size - 1, number)


def header(name, kind=FILE, size=0, mode=0o644, target=b"", uid=0, mtime=0, size_field=None):
    """One ustar header; name and target are bytes of any kind."""
    block = bytearray(512)
    block[0 : len(name[:100])] = name[:100]
    block[100:108], block[108:116], block[116:124] = octal(mode, 8), octal(uid, 8), octal(uid, 8)
    block[124:136], block[136:148] = size_field or octal(size, 12), octal(mtime, 12)
    block[148:156], block[156:157] = b" " * 8, kind
    block[157 : 157 + len(target[:100])] = target[:100]
    block[257:265] = b"ustar\00000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data):
    return data + bytes(-len(data) % 512)


def pax(**records):
    """A pax header with these records, whose names may have "." in them as "__"."""
    body = b""
    for key, value in records.items():
        value = value if isinstance(value, bytes) else str(value).encode()
        rest = b" " + key.replace("__", ".").encode() + b"=" + value + b"\n"
        size = len(rest) + 1
        while len(b"%d" % size) + len(rest) != size:
            size = len(b"%d" % size) + len(rest)
        body += b"%d" % size + rest
    return header(b"pax", b"x", len(body)) + padded(body)


def member(name, data=b"", kind="file", target=b"", **how):
    name = name if isinstance(name, bytes) else name.encode()
    target = target if isinstance(target, bytes) else target.encode()
    return header(name, TYPES[kind], len(data), target=target, **how) + padded(data)


def tar(*members):
    """Each member is bytes, or the arguments of member() as a tuple, or a name."""
    parts = [one if isinstance(one, bytes) else member(*one) if isinstance(one, tuple) else member(one) for one in members]
    return b"".join(parts) + bytes(1024)


def gnu_long(name):
    """The record that gives the next member a long name."""
    return header(b"././@LongLink", b"L", len(name) + 1) + padded(name + b"\0")


def packed_tar(files, compression="gz", mode="w"):
    """By Python's own writer: {name: bytes}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"{mode}:{compression}") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    """{name: bytes}; a name may be a ZipInfo."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def zip_member(name, mode, date=(2020, 1, 1, 0, 0, 0)):
    info = zipfile.ZipInfo(name, date)
    info.create_system, info.external_attr = 3, mode << 16
    return info


def zip_by_hand(entries, kernel, out_size, crc, forged_count=None):
    """Many entries of the central directory over one deflated kernel."""
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, crc, len(kernel), out_size, 1, 0) + b"k" + kernel
    central = b""
    for name in entries:
        central += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0x314, 20, 0, 8, 0, 0, crc, len(kernel), out_size, len(name),
                               0, 0, 0, 0, 0o100644 << 16, 0) + name
    count = forged_count or len(entries)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(central), len(local), 0)
    return local + central + end


def deflated(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()
