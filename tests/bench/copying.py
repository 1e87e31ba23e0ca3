"""A workspace made from a directory of this machine: `pinfold materialize` beside `cp -a`."""

import json
import os
import random
import shutil
import time

import race
import table

FILES, SIZES = 20000, (100, 1000, 4000, 8000, 20000)
LARGE_MIB = 512


def many_files(source, count):
    """A tree of small files, a hundred to a directory; the same in every run."""
    chance = random.Random(1)
    for number in range(count):
        directory = os.path.join(source, f"d{number // 2000}", f"e{number // 100}")
        if number % 100 == 0:
            os.makedirs(directory)
        with open(os.path.join(directory, f"f{number}"), "wb") as file:
            file.write(chance.randbytes(chance.choice(SIZES)))


def large_file(source, mib, sparse):
    os.mkdir(source)
    with open(os.path.join(source, "file"), "wb") as file:
        for number in range(mib):
            if sparse and number % 8:
                file.seek(1 << 20, os.SEEK_CUR)
            else:
                file.write(os.urandom(1 << 20))
        file.truncate(mib << 20)


def timed(words, place, errors, target):
    """Milliseconds, into a directory that is not there before and not there afterwards."""
    started = time.perf_counter_ns()
    try:
        pid = race.start(words, place.environment, errors)
        _pid, status = os.waitpid(pid, 0)
        took = time.perf_counter_ns() - started
        race.require(status, errors)
    finally:
        shutil.rmtree(target, ignore_errors=True)
    return took / 1e6


def contenders(place, errors, source, target):
    manifest = source + ".json"
    with open(manifest, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "entries": {"source": {"type": "local_dir", "src": os.path.basename(source)}}}, file)
    words = {
        "cp -a": ["/bin/cp", "-a", source, target],
        "pinfold": [place.pinfold, "materialize", "-q", manifest, target],
    }
    return {name: lambda words=words: timed(words, place, errors, target) for name, words in words.items()}


def run_one(stage, place, name, make, title):
    def measured():
        source = os.path.join(place.folder("copying"), name)
        make(source)
        os.sync()  # what was made is not written while the first contender copies it
        try:
            found = contenders(place, os.path.join(place.top, "errors"), source, source + ".copy")
            return race.race(found, stage.some_rounds(10), race.progress(title))
        finally:
            shutil.rmtree(source)

    return place.do(measured)


def run(stage):
    files, mib = (200, 8) if stage.small else (FILES, LARGE_MIB)
    scenes = [
        ("files", lambda source: many_files(source, files), f"{files} files copied"),
        ("large", lambda source: large_file(source, mib, False), f"a file of {mib} MiB copied"),
        ("sparse", lambda source: large_file(source, mib, True), f"a file of {mib} MiB copied, 7 of 8 a hole"),
    ]
    for place in stage.places:
        for name, make, what in scenes:
            title = f"{what}, as {place.who}"
            figures, troubles = run_one(stage, place, name, make, title)
            yield table.Table("copying", title, "ms", figures, troubles, {"who": place.who, "scene": name}, against="cp -a")
