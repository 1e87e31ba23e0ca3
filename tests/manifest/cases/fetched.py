"""Archives and repositories as entries: they are taken apart and fetched in boundaries of their own."""

import io
import json
import os
import shutil
import subprocess
import time
import tarfile

from blackbox.suite import Skip, case, check
from blackbox.worlds import own_mounts
from manifest.scene import Scene, directory, file, tree


def confined(box):
    """Skips where this machine lets nobody make the boundaries that these entries need."""
    code, _out, err, _seconds = box.pinfold("run", "-p", ":strict", "--", "true")
    if code != 0:
        raise Skip(f"no boundary here: {err[:200]!r}")


def tar(scene, name, members, compression="gz"):
    """members: name -> content, or a TarInfo."""
    with tarfile.open(os.path.join(scene.base, name), f"w:{compression}") as out:
        for path, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                out.addfile(content)
                continue
            info = tarfile.TarInfo(path)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))


@case("an archive becomes a directory")
def archive(box):
    confined(box)
    scene = Scene(box)
    tar(scene, "v.tar.gz", {"top/a": b"a", "top/sub/b": b"bb"})
    receipt = scene.make({"vendor": {"type": "archive", "src": "v.tar.gz", "strip_components": 1, "mode": "0700"}, "vendor/more": file("m")})
    check(sorted(tree(scene.workspace)) == ["vendor", "vendor/a", "vendor/more", "vendor/sub", "vendor/sub/b"], f"{tree(scene.workspace)}")
    row = receipt["entries"][0]
    check((row["files"], row["bytes"], row["mode"]) == (2, 3, "0700"), f"{row}")
    check(row["reader"] in (("unprivileged", "caller") if os.geteuid() == 0 else ("caller",)), f"{row}")
    check(receipt["entries"][1]["reader"] is None, f"{receipt['entries'][1]}")
    scene.make({"vendor": {"type": "archive", "src": "v.tar.gz"}})
    check("vendor/top/a" in tree(scene.workspace) and "vendor/a" in tree(scene.workspace), "not merged")
    code, document, err = scene.call(umask=0o777)
    check(code == 0, f"a umask that takes the owner's rights: exit {code}: {document} {err}")


@case("an archive that is refused leaves nothing, of the entries before it either")
def refused(box):
    confined(box)
    scene = Scene(box)
    link = tarfile.TarInfo("l")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    tar(scene, "up.tar.gz", {"fine": b"", "../up": b"x"})
    tar(scene, "link.tar.gz", {"l": link})
    scene.source("junk.tar.gz", b"no archive at all")
    outside = os.path.join(box.dir, "outside.tar.gz")
    shutil.copy(os.path.join(scene.base, "up.tar.gz"), outside)
    os.symlink("up.tar.gz", os.path.join(scene.base, "alias"))
    for src in ("up.tar.gz", "link.tar.gz", "junk.tar.gz"):
        code = "invalid_compression_scheme" if "junk" in src else "workspace_archive_write_error"
        scene.refuse({"a": file("a"), "x": {"type": "archive", "src": src}}, code, names=["entries.x"])
    scene.refuse({"x": {"type": "archive", "src": outside}}, "workspace_archive_read_error", reason="outside_base_dir")
    scene.refuse({"x": {"type": "archive", "src": "alias"}}, "workspace_archive_read_error", reason="symlink_not_supported")
    scene.refuse({"x": {"type": "archive", "src": "absent"}}, "workspace_archive_read_error", names=["absent"])
    tar(scene, "big.tar.gz", {"big": b"\0" * 200000})
    scene.refuse({"x": {"type": "archive", "src": "big.tar.gz"}}, "limit", "--max-bytes", "100000", names=["entries.x"])


def repository(scene, name="repo"):
    path = os.path.join(scene.base, name)
    git = ["git", "-C", path, "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": scene.base}
    subprocess.run(["git", "init", "-q", "-b", "main", path], check=True, env=env)
    scene.source(f"{name}/pkg/mod.py", b"1\n")
    scene.source(f"{name}/README", b"r\n")
    for line in (["add", "."], ["commit", "-q", "-m", "one"], ["tag", "v1"]):
        subprocess.run([*git, *line], check=True, env=env)
    return path


@case("a repository of this machine becomes a directory", needs=["git"])
def repo(box):
    confined(box)
    scene = Scene(box)
    path = repository(scene)
    receipt = scene.make({"r": {"type": "git_repo", "repo": "repo", "ref": "main"}, "p": {"type": "git_repo", "repo": path, "subpath": "pkg"},
                          "r/extra": file("")})
    check(sorted(tree(scene.workspace)) == ["p", "p/mod.py", "r", "r/README", "r/extra", "r/pkg", "r/pkg/mod.py"], f"{tree(scene.workspace)}")
    check([row["files"] for row in receipt["entries"]] == [2, 1, 1], f"{receipt}")


@case("repositories that cannot be fetched, or may not", needs=["git"])
def no_repo(box):
    confined(box)
    scene = Scene(box)
    repository(scene)
    shutil.copytree(os.path.join(scene.base, "repo"), os.path.join(box.dir, "outside"))
    os.symlink("repo", os.path.join(scene.base, "alias"))
    scene.source("plain/f", b"")
    rows = [({"repo": "repo", "ref": "nope"}, None), ({"repo": "plain"}, None), ({"repo": "absent"}, None), ({"repo": "../outside"}, "outside_base_dir"),
            ({"repo": "alias"}, "symlink_not_supported"), ({"repo": "repo", "subpath": "none"}, "subpath_not_found"),
            ({"repo": "ext::sh -c id"}, "transport"), ({"repo": "host:path"}, "transport"), ({"repo": "https://u:p@h/x"}, "credentials")]
    for entry, reason in rows:
        error = scene.refuse({"a": directory({"b": file("")}), "x": {"type": "git_repo", **entry}}, "git_clone_error", reason=reason, names=["entries.x"])
        check("u:p" not in str(error), f"{error}")


@case("a repository of directories alone, ten in each: they are counted, and no time is lost on them", needs=["git"])
def bomb(box):
    scene = Scene(box)
    path = repository(scene)

    def git(*words, text=""):
        env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "HOME": scene.base}
        line = ["git", "-C", path, "-c", "user.name=n", "-c", "user.email=e", *words]
        return subprocess.run(line, check=True, env=env, input=text, capture_output=True, text=True).stdout.strip()

    tree = git("mktree")
    for _ in range(9):
        tree = git("mktree", text="".join(f"040000 tree {tree}\t{i}\n" for i in range(10)))
    git("update-ref", "refs/heads/bomb", git("commit-tree", "-m", "b", tree))
    begin = time.monotonic()
    scene.refuse({"x": {"type": "git_repo", "repo": "repo", "ref": "bomb"}}, "limit", "--max-files", "1000", names=["entries.x", "1000"])
    check(time.monotonic() - begin < 60, "it took longer than counting does")


@case("a machine without git", needs=["git", "unshare"])
def no_git(box):
    scene = Scene(box)
    repository(scene)
    manifest = scene.manifest({"a": file("a"), "x": {"type": "git_repo", "repo": "repo"}})
    hide = "for git in /usr/bin/git /usr/local/bin/git /bin/git; do test ! -e $git || mount --bind /dev/null $git; done"
    words = own_mounts(hide, [box.suite.pinfold, "materialize", "--json", manifest, scene.workspace])
    code, out, err, _seconds = box.begin(words).wait(60)
    error = json.loads(out)
    check(code == 1 and error["code"] == "git_clone_error", f"exit {code}: {error} {err}")
    check(error["context"].get("reason") == "git_missing" and error["retryable"] is False, f"{error}")
    check("install git" in error["message"] and "/usr/bin/git" in error["message"], f"{error}")
    check(tree(scene.workspace) is None, f"{tree(scene.workspace)}")
