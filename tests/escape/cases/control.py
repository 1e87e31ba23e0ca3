"""The other way round: without a boundary the attacks do get through. A test that cannot fail shows nothing."""

import os
import subprocess

from blackbox.suite import Skip, case, check


def unconfined(box, name, *arguments):
    path = box.program(name)
    done = subprocess.run(
        [path, *arguments], cwd=box.workspace, env=box.env, capture_output=True, text=True, check=False
    )
    check(done.returncode in (0, 1), f"{name} did not run: {done.returncode} {done.stdout} {done.stderr}")
    return done.stdout


@case("control: the set-id attack gets through where nothing confines it")
def set_id(box):
    out = unconfined(box, "setid")
    for name in os.listdir(box.workspace):
        os.chmod(box.inside(name), 0o700)
    for way in ("chmod", "fchmod", "fchmodat", "creat", "open with O_CREAT", "openat with O_TMPFILE", "mknod"):
        check(f"ESCAPED: {way} " in out or f"ESCAPED: {way}, " in out, f"{way} does not work at all: {out}")


@case("control: objects are shared where nothing confines them")
def shared_objects(box):
    key, name = str(0x60000000 + os.getpid()), box.mark
    unconfined(box, "shared_objects", "make", key, name)
    out = unconfined(box, "shared_objects", "find", key, name)
    unconfined(box, "shared_objects", "remove", key, name)
    check(out.count("ESCAPED") >= 4, out)


@case("control: memory within reach is taken and told")
def memory(box):
    check("ESCAPED: anonymous" in unconfined(box, "memory_hog", "anonymous", "16"), "16 MiB could not be taken")


@case("control: namespaces can be made where nothing forbids it")
def namespaces(box):
    if "ESCAPED" not in unconfined(box, "namespaces"):
        raise Skip("this machine lets the caller make no namespace at all")
