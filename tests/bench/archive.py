"""Archives taken apart: `pinfold extract`, which reads them twice and inside a boundary, beside bsdtar and unzip, which do not."""

import io
import os
import random
import shutil
import tarfile
import time
import zipfile

import race
import table

SHAPES = {"many small files": (5000, 4 << 10), "few large files": (4, 32 << 20)}
KINDS = ("tar", "tar.gz", "zip")


def content(source, size):
    """Packs to about half its size."""
    noise = source.randbytes(size // 2)
    return b"".join(noise[i : i + 64] + bytes(64) for i in range(0, len(noise), 64))


def make(path, kind, count, size):
    source = random.Random(1)
    names = [(f"d{i % 50}/f{i}", content(source, size)) for i in range(count)]
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, data in names:
                archive.writestr(name, data)
        return
    mode = {"mode": "w:gz", "compresslevel": 1} if kind == "tar.gz" else {"mode": "w"}
    with tarfile.open(path, **mode) as archive:
        for name, data in names:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def installation(stage):
    """An installed pinfold, for it looks for its reader beside itself."""
    place = stage.places[0]
    reader = os.path.join(place.programs, "../../runtime/workspace/archive/pinfold-archive")
    top = os.path.join(stage.base, "installation")
    for source, target in ((place.pinfold, "bin/pinfold"), (reader, "libexec/pinfold/pinfold-archive")):
        os.makedirs(os.path.dirname(os.path.join(top, target)))
        shutil.copy(source, os.path.join(top, target))
    return os.path.join(top, "bin/pinfold")


def contenders(pinfold, kind, path):
    """{name: words that extract into a directory that follows, which exists}."""
    found = {"pinfold": [pinfold, "extract", "--max-ratio", "none", path]}
    bsdtar, unzip = shutil.which("bsdtar"), shutil.which("unzip")
    if bsdtar:
        found["bsdtar"] = [bsdtar, "-x", "-f", path, "-C"]
    if unzip and kind == "zip":
        found["unzip"] = [unzip, "-q", path, "-d"]
    return found


def once(place, words, size):
    """MiB a second of what comes out."""
    target, errors = place.folder("extracted"), os.path.join(place.top, "errors")
    started = time.perf_counter_ns()
    pid = race.start([*words, target], place.environment, errors)
    race.require(os.waitpid(pid, 0)[1], errors)
    seconds = (time.perf_counter_ns() - started) / 1e9
    shutil.rmtree(target)
    return size / (1 << 20) / seconds


def run_one(stage, place, pinfold, kind, path, title, size):
    def measured():
        words = contenders(pinfold, kind, path)
        each = {name: lambda name=name: once(place, words[name], size) for name in words}
        return race.race(each, stage.some_rounds(5), race.progress(title))

    return place.do(measured)


def run(stage):
    pinfold = installation(stage)
    for shape, (count, size) in SHAPES.items():
        if stage.small:
            count, size = min(count, 50), min(size, 64 << 10)
        for kind in KINDS:
            path = os.path.join(stage.base, f"archive.{kind}")
            make(path, kind, count, size)
            os.chmod(path, 0o644)
            for place in stage.places:
                title = f"extracting {kind}, {shape}, as {place.who}"
                figures, troubles = run_one(stage, place, pinfold, kind, path, title, count * size)
                yield table.Table("archive", title, "MiB a second; more is better", figures, troubles,
                                  {"who": place.who, "kind": kind, "files": count, "bytes": count * size})
            os.unlink(path)
