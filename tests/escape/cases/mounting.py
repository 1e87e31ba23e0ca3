"""File systems that the command mounts itself, where the policy lets it have namespaces."""

from blackbox.box import held
from blackbox.suite import case

NESTED = {"version": 1, "extends": ":workspace-write", "process": {"nested_namespaces": True}}
CALLS = ["unshare", "clone", "setns", "mount", "umount2", "fsopen", "fsconfig", "fsmount", "move_mount"]


# An ordinary user's command owns the group that it is in itself, which holds nothing (isolation, cgroups.py).
@case("no file system that the command mounts gives it the groups or knobs of its caller who is root", only="root")
def group_mounts(box):
    for identity in ("auto", "caller"):
        for n, change in enumerate(
            (
                {"process": {"nested_namespaces": True, "identity": identity}},
                {"process": {"identity": identity}, "seccomp": {"allow": CALLS}},
            )
        ):
            policy = box.policy_file({**NESTED, **change}, f"{identity}{n}.json")
            held(box.run(box.program("group_mounts"), policy=policy))
