"""What is hidden or read-only stays so while the host works on in the same tree."""

import os
import shutil
import time

from blackbox.box import PYTHON, held
from blackbox.suite import case, check


READ_ON = r"""
import sys, time
open("started", "w").close()
end, replaced = time.time() + 4, None
while time.time() < end:
    try:
        text = open(sys.argv[2]).read()
    except OSError:
        text = ""
    if "NEW" in text:
        replaced = replaced or time.time()
        if time.time() - replaced > 0.5:
            print("ESCAPED: the new secret is readable half a second later"); sys.exit(1)
    elif replaced:
        break
    time.sleep(0.001)
print("held: the new secret was hidden again" if replaced else "held: it was never seen")
"""


@case("a denied file that the host saves anew by rename is hidden again")
def mask_replaced_by_the_host(box):
    secret = box.file("secret.txt", "OLD")
    live = box.start(PYTHON, "-c", READ_ON, box.mark, secret, options=["--deny", secret])
    box.wait_for("started")
    time.sleep(0.3)
    os.rename(box.file("secret.new", "NEW"), secret)
    result = live.result()
    check("ESCAPED" not in result.out, result.brief())
    check(result.code == 0 or result.status == "signaled", result.brief())
    check(result.violations(), f"it is not reported: {result.brief()}")


@case("a denied file that the host saves anew while everything inside sleeps is hidden again")
def mask_replaced_while_idle(box):
    secret = box.file("secret.txt", "OLD")
    script = "true >started; sleep 2; cat secret.txt; echo held: read it"
    live = box.start("/bin/sh", "-c", script, box.mark, options=["--deny", secret])
    box.wait_for("started")
    time.sleep(0.5)
    os.rename(box.file("secret.new", "NEW"), secret)
    result = live.result()
    check("NEW" not in result.out and "held:" in result.out, result.brief())
    told = [(v["path"], v["action"]) for v in result.violations("mask_replaced")]
    check(told == [(secret, "masked_again")], f"it is not reported: {result.brief()}")


WRITE_ON = r"""
import os, sys, time
open("started", "w").close()
end, through = time.time() + 3, None
while time.time() < end:
    try:
        open(sys.argv[2] + "/evil", "w").close()
        through = through or time.time()
        if time.time() - through > 0.5:
            print("ESCAPED: still writable half a second later"); sys.exit(1)
    except OSError:
        if through:
            break
    time.sleep(0.001)
print("held")
"""


@case("a protected directory that the host removes and makes anew ends the run")
def protected_directory_remade(box):
    box.file("etc/conf", "x")
    policy = box.policy_file({"version": 1, "extends": ":workspace-write", "filesystem": {"protect": ["etc"]}})
    live = box.start(PYTHON, "-c", WRITE_ON, box.mark, box.inside("etc"), policy=policy)
    box.wait_for("started")
    time.sleep(0.3)
    os.unlink(box.inside("etc/conf"))
    os.rmdir(box.inside("etc"))
    os.mkdir(box.inside("etc"))
    result = live.result()
    check("ESCAPED" not in result.out and result.status == "signaled", result.brief())
    check(result.doc["error"]["code"] == "unenforceable", result.brief())
    told = [(v["path"], v["action"]) for v in result.violations("protection_replaced")]
    check(told == [(box.inside("etc"), "killed")], f"it is not reported: {result.brief()}")


@case("a denied file cannot be read by another name")
def denied_by_another_name(box):
    box.file("secret/key", "SENTINEL")
    os.symlink("secret/key", box.inside("alias"))
    os.link(box.inside("secret/key"), box.inside("hard-link-of-the-host"))
    names = [
        "secret/key",
        "alias",
        "./secret/../secret/key",
        f"/proc/self/root{box.inside('secret/key')}",
        "/proc/self/cwd/secret/key",
        f"/{box.inside('secret/key')}",
        f"/proc/1/root{box.inside('secret/key')}",
        f"/proc/1/cwd{box.inside('secret/key')}",
    ]
    script = (
        f"for f in {' '.join(names)}; do cat $f; done; mv secret other; cat other/key; ls secret; tar cf - secret; "
    )
    script += "echo held: tried"
    for deny in ("secret", "secret/key", "**/key"):
        result = held(box.sh(script, options=["--deny", deny]))
        check("SENTINEL" not in result.out, f"--deny {deny}: {result.brief()}")


SECRETS = r"""
grep -rs SENTINEL $THE_HOME && echo "ESCAPED: the home"
head -c 1 /etc/shadow /etc/gshadow /etc/ssh/ssh_host_*_key 2>/dev/null | grep -v '^==>' | grep -q . && echo "ESCAPED: shadow"
ls -A /root/.ssh 2>/dev/null | grep -q . && echo "ESCAPED: root's keys"
echo "held: secrets"
"""


@case("secrets of the home and of the host are not readable")
def default_secrets(box):
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".config/gh/hosts.yml",
        ".docker/config.json",
        ".npmrc",
        ".git-credentials",
        ".gnupg/private-keys-v1.d/k",
        ".kube/config",
        ".pgpass",
        ".bash_history",
    ):
        box.file(os.path.join(box.home, name), "SENTINEL")
    script = SECRETS.replace("$THE_HOME", box.home)
    for policy in (":read-only", ":workspace-write"):
        held(box.sh(script, policy=policy))


@case("a denied program runs under no other name", needs=["xargs"])
def denied_program(box):
    program = os.path.realpath(shutil.which("xargs"))
    os.symlink(program, box.inside("link"))
    loader = next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2") if os.path.exists(path))
    script = (
        f"for p in {program} /proc/self/root{program} /proc/1/root{program} /{program} /proc/self/cwd/link ./link; do "
        f"$p --version && echo ESCAPED: ran $p; {loader} $p --version && echo ESCAPED: loaded $p; "
        "cp $p copy && ./copy --version && echo ESCAPED: copied $p; done; echo held: tried"
    )
    held(box.sh(script, options=["--deny", program]))
    check(box.sh(f"{loader} {program} --version >/dev/null && echo runs").out == "runs\n", "it does not run where it is not denied")


LINKED_HOMES = """
mount -t tmpfs none /home && mkdir -p {data}/.ssh {data}/.config/gcloud && ln -s {data} /home/somebody &&
echo SENTINEL >{data}/.ssh/id_rsa && echo SENTINEL >{data}/.config/gcloud/token && chmod -R a+rX {data} && exec "$@"
"""


@case("secrets of a home that is a symbolic link are hidden where they really are", needs=["unshare"])
def linked_home(box):
    data = "/home/store/somebody"
    how = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "--propagation", "private", "/bin/sh", "-c",
           LINKED_HOMES.format(data=data), "sh"]
    script = f"cat /home/somebody/.ssh/id_rsa {data}/.ssh/id_rsa {data}/.config/gcloud/token; ls -d /home/somebody {data}; exit 3"
    result = box.begin([*how, *box.words(["/bin/sh", "-c", script], policy=":read-only")]).result(60)
    check(result.code == 3, result.brief())
    check("/home/somebody" in result.out and data in result.out and "SENTINEL" not in result.out, result.brief())
