"""Attacks on pid 1 inside, which holds the deadline and ends the tree."""

from blackbox.suite import case, check


@case("pid 1 cannot be read, written, traced, starved, stopped or killed")
def everything_at_once(box):
    box.attack("against_init")


@case("after all attacks on pid 1 the deadline still ends the run")
def deadline_still_holds(box):
    result = box.run(box.program("against_init"), "--then-sleep", options=["--timeout", "2"])
    check(result.status == "timed_out" and result.seconds < 5, result.brief())
    check("ESCAPED" not in result.out, result.brief())


@case("kill -9 -1 inside ends the command's own processes and nothing else")
def kill_everything(box):
    result = box.sh(
        "sleep 100 & (trap '' TERM; sleep 100) & kill -9 -1; echo alive; exit 3", options=["--timeout", "20"]
    )
    check(result.status in ("exited", "signaled") and result.seconds < 5, result.brief())


@case("stopping every process does not stop the deadline")
def stop_everything(box):
    result = box.sh("sleep 100 & kill -STOP -1; kill -STOP $$; echo on", options=["--timeout", "1"])
    check(result.status == "timed_out" or result.status == "exited", result.brief())
    check(result.seconds < 3, f"{result.seconds:.1f} s")


@case("the init's control socket and block are not handed to the command")
def no_descriptors_of_init(box):
    result = box.python("import os; print(sorted(os.listdir('/proc/self/fd')))")
    check(result.out.strip() in ("['0', '1', '2', '3']",), result.brief())  # 3 is the listing itself
