"""What members are called."""

import os

from archive import make
from archive.place import extract, extracted, refused
from blackbox.suite import case, check


def raw_zip_member(name):
    info = make.zip_member("x", 0o100644)
    info.filename = name  # behind the back of ZipInfo, which mends
    return info


@case("absolute names, .., drive letters and backslashes are refused, in tar and zip")
def climbing(box):
    names = ["../canary", "a/../../canary", "a/..", "..", "/tmp/x", "//tmp/x", "/./tmp/x", "C:\\x", "c:x", "a\\b",
             "..\\..\\canary", "\\x"]
    for name in names:
        refused(box, make.tar("ok", (name, b"owned\n")), word="the name" if ".." not in name else None)
    for name in names:
        if name != "a\\b":
            refused(box, make.zipped({"ok": b"", raw_zip_member(name): b"owned\n"}))
    # In a zip, where there is no slash in a name, libarchive takes backslashes for the slashes of DOS.
    found, _ = extracted(box, make.zipped({raw_zip_member("a\\b"): b"x"}))
    check(set(found) == {"a", "a/b"}, found)
    refused(box, make.zipped({raw_zip_member("a/b\\c"): b"x"}), dest="out2")
    refused(box, make.tar((b"../canary", b"x")), member="../canary")


@case("pax and GNU long names are the ones that are judged")
def effective(box):
    refused(box, make.tar(make.pax(path="../canary") + make.member("harmless", b"x")), member="../canary")
    refused(box, make.tar(make.gnu_long(b"x/../../canary") + make.member("harmless", b"x")), word='".."')
    found, _ = extracted(box, make.tar(make.pax(path="kept/name") + make.member("../not/this", b"x")))
    check(set(found) == {"kept", "kept/name"}, found)


@case("names that mean nothing are left out, odd ones taken or refused by rule")
def odd(box):
    found, _ = extracted(box, make.tar((".", b"", "dir"), ("./", b"", "dir"), "./a//b/./c", "x\ny", "\033[2J", "é"))
    check(set(found) == {"a", "a/b", "a/b/c", "x\ny", "\033[2J", "é"}, found)
    refused(box, make.tar((b"", b"x")))
    refused(box, make.tar("/"), word="absolute")
    refused(box, make.tar(make.gnu_long(b"n" * 300) + make.member("n")), code="limit", limit="name part", actual=300)
    for root in (".", "./"):
        refused(box, make.tar((root, b"", "symlink", "/tmp")), word="symbolic link")
    refused(box, make.tar(make.member(".", b"root is a file")), word="a file with the name of a directory")
    outcome = refused(box, make.tar("ok\n\033]0;title\007/../x"))
    check("\033" not in outcome.err and outcome.err.count("\n") == 1, repr(outcome.err))


@case("names are bytes in every locale, UTF-8 where they are marked so")
def locales(box):
    archives = [make.zipped({"ж日本": b"x", "plain": b"y"}), make.tar(make.pax(path="ж日本") + make.member("n", b"x")),
                make.tar((b"\xff\xfe raw", b"x"))]
    for number, data in enumerate(archives):
        results = [extracted(box, data, dest=f"out{number}{i}", env={**box.env, "LC_ALL": locale})[0]
                   for i, locale in enumerate(("C", "C.UTF-8", "no_SUCH.locale", ""))]
        check(all(result == results[0] for result in results), results)
        check("ж日本" in results[0] or os.fsdecode(b"\xff\xfe raw") in results[0], results[0])


@case("a name that comes twice, and members below what is no directory")
def twice(box):
    for members in (["f", "f"], ["f", "./f"], ["a", "a/b"], ["a/b", "a"], ["a/b", ("a", b"", "file")],
                    [("a", b"", "dir"), "a"], ["a", ("a", b"", "dir")]):
        refused(box, make.tar(*members))
    refused(box, make.zipped({"a": b"", "a/b": b""}), member="a/b")
    found, _ = extracted(box, make.tar(("d", b"", "dir"), ("d", b"", "dir"), "d/f", ("d", b"", "dir")))
    check(set(found) == {"d", "d/f"}, found)


@case("--portable refuses names that differ in case alone")
def portable(box):
    for pair in (["readme", "README"], ["Dir/a", "dir/b"], ["Ж", "ж"], [("D", b"", "dir"), ("d", b"", "dir")]):
        refused(box, make.tar(*pair), "--portable", word="case")
    found, _ = extracted(box, make.tar("readme", "README", "Dir/a", "dir/b"))
    check(len(found) == 6, found)
    found, _ = extracted(box, make.tar("Dir/a", "Dir/b", "c"), "--portable", dest="out2")
    check(len(found) == 4, found)


@case("--strip-components takes parts away, and judges before it does")
def strip(box):
    data = make.tar(("top", b"", "dir"), "top/a", "top/sub/b", "other", ("gone", b"", "symlink", "/etc"))
    found, outcome = extracted(box, data, "--strip-components", "1")
    check(set(found) == {"a", "sub", "sub/b"} and outcome.doc["skipped"] == 3, (found, outcome.brief()))
    refused(box, make.tar("x/a", "y/a"), "--strip-components", "1", dest="out2")
    refused(box, make.tar("../a/b"), "--strip-components", "2", dest="out2")
    outcome = refused(box, make.tar("x/c:/a"), "--strip-components", "1", dest="out2")
    check("drive letter" in outcome.doc["message"] and outcome.doc["context"]["member"] == "x/c:/a", outcome.brief())


@case("usage: what options cannot be")
def usage(box):
    for words in (["--max-members", "0"], ["--max-members", "-1"], ["--max-extracted", "0"], ["--max-ratio", "x"],
                  ["--links", "all"], ["--strip-components", "-1"], ["--timeout", "0"], ["--max-input", "0"]):
        outcome = extract(box, make.tar("a"), *words)
        check(outcome.code == 2 and outcome.doc["code"] == "usage" and words[0] in outcome.err, outcome.brief())
    check(box.pinfold("extract")[0] == 2 and box.pinfold("extract", "a")[0] == 2, "words are missing")
    code, _out, err, _ = box.pinfold("extract", os.path.join(box.dir, "nothing"), box.inside("out"))
    check(code == 125 and b"not_found" in err, (code, err))
