"""Into a directory that is there, through streams, and cut off in the middle."""

import ctypes
import os
import signal
import subprocess
import threading
import time
import zlib

from archive import make
from archive.place import check_clean, extract, extracted, listing, refused, write
from blackbox import host
from blackbox.suite import Skip, case, check


@case("files replace files in a destination that exists, and the rest stays")
def merge(box):
    box.file("out/d/old", "old")
    box.file("out/d/f", "before", mode=0o444)
    os.chmod(box.inside("out"), 0o750)
    found, outcome = extracted(box, make.tar(("d/f", b"after"), ("d/n/new", b"n"), (".", b"", "dir")))
    check(found["d/f"][2] == b"after" and found["d/old"][2] == b"old" and found["d/n/new"][2] == b"n", found)
    check(outcome.doc["replaced"] == 1 and os.stat(box.inside("out")).st_mode & 0o777 == 0o750, outcome.brief())


@case("links, directories and special files in the way are refused, and nothing is followed")
def in_the_way(box):
    outside = os.path.join(box.dir, "outside")
    os.mkdir(outside)
    victim = write(box, b"victim", "victim")
    box.file("out/kept", "kept")
    os.symlink(outside, box.inside("out/dirlink"))
    os.symlink(victim, box.inside("out/leaf"))
    os.symlink("kept", box.inside("out/inner"))
    os.mkdir(box.inside("out/dir"))
    os.mkfifo(box.inside("out/fifo"))
    for name in ("dirlink/k", "leaf", "inner", "dir", "fifo", "fifo/x", "kept/x", "dirlink"):
        refused(box, make.tar("aaa", ("kept", b"new"), (name, b"x")) if not name.startswith("kept") else make.tar("aaa", name))
    refused(box, make.tar(("dirlink", b"", "dir")))
    with open(victim, "rb") as file:
        check(file.read() == b"victim" and not os.listdir(outside), "something outside was written")


@case("a destination that is a link, a file, or in no directory")
def destination(box):
    os.mkdir(os.path.join(box.dir, "outside"))
    os.symlink(os.path.join(box.dir, "outside"), box.inside("out"))
    refused(box, make.tar("a"), word="symbolic link")
    refused(box, make.tar("a"), dest="out/")
    box.file("file")
    refused(box, make.tar("a"), dest="file")
    outcome = extract(box, make.tar("a"), dest="no/such")
    check(outcome.code == 125 and outcome.doc["code"] == "not_found", outcome.brief())
    check(not os.listdir(os.path.join(box.dir, "outside")), "it went through the link")


@case("two extractions into one directory: a link of the first is not followed by the second")
def second(box):
    extracted(box, make.tar(("d", b"", "dir"), ("x", b"", "symlink", "d")), "--links", "inside")
    refused(box, make.tar(("x/k", b"k")), word="symbolic link")


@case("from a pipe, tar and zip; one that is too long is refused as soon as it is")
def streams(box):
    for number, data in enumerate((make.packed_tar({"a": b"x"}), make.zipped({"a": b"x"}))):
        source = subprocess.Popen(["sh", "-c", 'cat "$0"; sleep 0.05', write(box, data)], stdout=subprocess.PIPE)
        code, _out, err, _ = box.pinfold("extract", "-", box.inside(f"out{number}"), stdin=source.stdout)
        source.wait()
        source.stdout.close()
        check(code == 0 and set(listing(box.inside(f"out{number}"))) == {"a"}, (code, err))
    with open("/dev/zero", "rb") as zero:
        code, _out, err, _ = box.pinfold("extract", "--max-input", "1M", "-", box.inside("out"), stdin=zero)
    check(code == 1 and b"max-input" in err, (code, err))
    os.mkfifo(os.path.join(box.dir, "fifo"))
    live = box.begin([box.suite.pinfold, "extract", os.path.join(box.dir, "fifo"), box.inside("out")])
    with open(os.path.join(box.dir, "fifo"), "wb") as fifo:
        fifo.write(make.tar("a"))
    check(live.wait(10)[0] == 0, "from a FIFO")
    check_clean(box)


def slow_archive():
    """Takes some seconds to judge, and none to make: one piece of the compressed stream, over and over."""
    def piece(data):
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)

    gzip_header = b"\x1f\x8b\x08" + bytes(7)
    return gzip_header + piece(make.header(b"big", size=4 << 30)) + piece(bytes(8 << 20)) * 512 + b"\x03\0" + bytes(8)


@case("SIGTERM and SIGINT while it is read: 128+n, and nothing is left")
def cancelled(box):
    path = write(box, slow_archive())
    for signo in (signal.SIGTERM, signal.SIGINT):
        live = box.begin([box.suite.pinfold, "extract", "--max-ratio", "none", path, box.inside("out")])
        time.sleep(0.4 * host.SLOWNESS)
        live.process.send_signal(signo)
        code, _out, err, seconds = live.wait(10)
        check(code == 128 + signo and b"cancelled" in err and seconds < 3, (code, err, seconds))
        check(os.listdir(box.workspace) == [], os.listdir(box.workspace))
    live = box.begin([box.suite.pinfold, "extract", "-", box.inside("out")], stdin=subprocess.PIPE)
    time.sleep(0.3 * host.SLOWNESS)
    live.process.send_signal(signal.SIGTERM)
    code, _out, err, _ = live.wait(10)
    check(code == 143 and os.listdir(box.workspace) == [], (code, err))


@case("a full disk is no fault of the archive's, and leaves nothing", only="root")
def full(box):
    os.mkdir(box.inside("small"))
    script = ('mount -t tmpfs -o size=4m none "$1" && { "$0" extract "$2" "$1/out"; code=$?; ls -A "$1"; exit $code; }')
    path = write(box, make.packed_tar({"big": bytes(16 << 20)}))
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, box.suite.pinfold,
                           box.inside("small"), path], capture_output=True, env=box.env, check=False, timeout=60)
    check(done.returncode == 125 and done.stdout == b"" and b"No space left" in done.stderr,
          (done.returncode, done.stdout, done.stderr))


@case("root on an overlay, which cannot be id-mapped: the reader keeps root's uid, and says so", only="root")
def overlay(box):
    script = ('mount -t overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" none "$4" || exit 77; '
              'touch "$4/outside"; "$0" extract --json "$5" "$4/out" && cat "$4/out/a" && ls -A "$4"')
    places = [box.make("overlay", part) for part in ("lower", "upper", "work", "merged")]
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, box.suite.pinfold, *places,
                           write(box, make.tar(("a", b"content\n")))], capture_output=True, env=box.env, check=False, timeout=60)
    if done.returncode == 77:
        raise Skip(f"no overlay can be mounted here: {done.stderr!r}")
    check(done.returncode == 0 and b'"reader": "caller"' in done.stdout and done.stdout.endswith(b"content\nout\noutside\n"),
          (done.returncode, done.stdout, done.stderr))


@case("what is quiet where no terminal is")
def quiet(box):
    code, out, err, _ = box.pinfold("extract", write(box, make.tar("a")), box.inside("out"))
    check((code, out, err) == (0, b"", b""), (code, out, err))


@case("a .git is extracted like anything else, and no git is run")
def git(box):
    config = b'[core]\n\tfsmonitor = "touch %s"\n' % os.path.join(box.dir, "PWN").encode()
    found, _ = extracted(box, make.tar((".git/config", config), (".git/HEAD", b"ref: refs/heads/main\n")))
    check(found[".git/config"][2] == config and not os.path.exists(os.path.join(box.dir, "PWN")), found)


def exchange(one, other):
    """Both names at once, as renameat2(RENAME_EXCHANGE)."""
    ctypes.CDLL(None).renameat2(-100, one.encode(), -100, other.encode(), 2)


@case("somebody exchanges a directory and a link all the while: it is merged or refused, and never follows")
def exchanged(box):
    outside = os.path.join(box.dir, "outside")
    os.mkdir(outside)
    data = write(box, make.tar(*[(f"d/f{i}", b"x") for i in range(40)]))
    stop = threading.Event()

    def swap(out):
        while not stop.is_set():
            exchange(out + "/d", out + "/link")

    codes = set()
    for number in range(30):
        out = box.make("workspace", f"out{number}")
        for i in range(0, 40, 2):
            box.file(f"out{number}/d/f{i}", "before")
        os.symlink(outside, out + "/link")
        stop.clear()
        swapper = threading.Thread(target=swap, args=(out,))
        swapper.start()
        outcome = extract(box, data, dest=f"out{number}")
        stop.set()
        swapper.join()
        codes.add(outcome.code)
        check(outcome.code in (0, 1, 125), outcome.brief())
        check(os.listdir(outside) == [], f"written outside: {os.listdir(outside)}")
        real = out + ("/link" if os.path.islink(out + "/d") else "/d")
        found = {content for _, _, content in listing(real).values()}
        names = len(os.listdir(real))
        undone = "could not be taken out" in outcome.err
        check(outcome.code != 0 or (found == {b"x"} and names == 40), f"{found} {names}")
        check(outcome.code == 0 or undone or (found == {b"before"} and names == 20), f"{found} {names} {outcome.brief()}")
    check(codes, "nothing was tried")
