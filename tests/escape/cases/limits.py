"""Taking more than was given. Every hog runs under pinfold's own limits, and under outer ones in case those fail."""

import os
import time

from blackbox import host
from blackbox.box import held
from blackbox.suite import case, check

OUTER = ["--address-space", "3000"]
ROOM = 256 << 10  # beside what was asked for, for pinfold's own small files
MEMORY = ["--memory", "64M", "--timeout", "20"]


def memory_case(kind, *more):
    @case(f"memory beyond the limit is refused or ends the run: {kind}")
    def hog(box):
        result = box.run(box.program("memory_hog"), kind, "600", options=[*MEMORY, *more], outer=OUTER)
        check(result.ran, result.brief())
        if result.status == "out_of_memory":
            check(result.code == 137 and result.doc["limit_hit"]["name"] == "memory", result.brief())
        else:
            check(result.status in ("exited", "signaled"), result.brief())
            check("ESCAPED" not in result.out, result.brief())
            check("held" in result.out or result.doc["signal"] in ("SIGKILL", "SIGSEGV", "SIGBUS"), result.brief())


memory_case("anonymous")
memory_case("shared")
memory_case("memfd")
memory_case("tmpfs", "--tmp-size", "1G")
memory_case("sysv")
memory_case("children")
memory_case("stack")


@case("memory below the limit is given")
def memory_below(box):
    result = box.run(box.program("memory_hog"), "anonymous", "32", options=MEMORY, outer=OUTER)
    check(
        result.status == "exited" and "ESCAPED: anonymous" in result.out,
        f"32 of 64 MiB were not given: {result.brief()}",
    )


@case("an address-space limit by name holds", needs=["python3"])
def address_space(box):
    result = box.run(
        box.program("memory_hog"),
        "anonymous",
        "600",
        options=["--memory", "64M", "--memory-strategy", "rlimit_as"],
        outer=OUTER,
    )
    check("ESCAPED" not in result.out and result.row("memory", "limits")["mechanism"] == "rlimit_as", result.brief())


def count_case(kind):
    @case(f"not more {kind} than the limit live at once")
    def count(box):
        result = box.run(
            box.program("fork_bomb"),
            {"processes": "count"}.get(kind, kind),
            "20",
            options=["--pids", "20", "--timeout", "20"],
        )
        check(result.ran and "ESCAPED" not in result.out, result.brief())
        check("lived at once" in result.out or result.doc["limit_hit"], result.brief())


count_case("processes")
count_case("threads")


@case("two runs do not share one limit of processes")
def independent_counts(box):
    program = box.program("fork_bomb")
    live = [box.start(program, "count", "40", options=["--pids", "40", "--timeout", "20"]) for _ in range(2)]
    for result in [one.result() for one in live]:
        numbers = [int(line.split()[0]) for line in result.out.splitlines() if "lived at once" in line]
        check(numbers and 20 <= numbers[0] <= 40, result.brief())


def bomb_case(kind):
    @case(f"a fork bomb ends with its run and leaves nothing: {kind}")
    def bomb(box):
        result = box.run(box.program("fork_bomb"), kind, box.mark, options=["--pids", "200", "--timeout", "2"])
        check(result.status in ("timed_out", "exited", "signaled"), result.brief())
        check(result.seconds < 6, f"it took {result.seconds:.1f} s")
        check(not host.marked(box.mark), "something lives when the result is given")


bomb_case("double")
bomb_case("ring")


@case("processor time is counted over the tree and ends the run")
def cpu_time(box):
    result = box.run(box.program("cpu_burner"), "6", options=["--cpu-time", "1s", "--timeout", "20"])
    check(result.status == "cpu_time_exceeded" and result.code == 124, result.brief())
    used = result.doc["usage"]["cpu_user_ms"] + result.doc["usage"]["cpu_system_ms"]
    check(800 <= used <= 3000, f"{used} ms were used")


@case("processor time of many short lives is counted too, or the row says it is not")
def cpu_time_of_short_lives(box):
    result = box.run(
        box.program("cpu_burner"), "short", options=["--cpu-time", "1s", "--timeout", "8", "--pids", "100"]
    )
    row = result.row("cpu_time", "limits")
    check(
        result.status == "cpu_time_exceeded"
        or (row["strength"] == "supervised" and row["reason"])
        or row["state"] == "degraded",
        f"{result.brief()} {row}",
    )


@case("a file cannot grow beyond the limit")
def file_size(box):
    result = box.sh("head -c 100000 /dev/zero >big; echo went on", options=["--file-size", "4K"])
    check(os.path.getsize(box.inside("big")) <= 4096, "the file is bigger")
    check("went on" in result.out, result.brief())
    result = box.sh("exec head -c 100000 /dev/zero >big2", options=["--file-size", "4K"])
    check(result.code in (1, 153), result.brief())


@case("open files are bounded")
def open_files(box):
    result = box.python(
        "import os, resource\nn = 0\ntry:\n while n < 5000: os.dup(0); n += 1\nexcept OSError: pass\n"
        "try: resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000)); print('ESCAPED')\n"
        "except (ValueError, OSError): pass\nprint('held:' if n < 64 else 'ESCAPED', n)",
        options=["--open-files", "64"],
    )
    held(result)


def disk_case(where):
    @case(f"{where} cannot be filled beyond its size")
    def fill(box):
        result = box.sh(
            f"dd if=/dev/zero of={where}/fill bs=1M count=200 2>&1; stat -c %s {where}/fill",
            options=["--tmp-size", "16M", "--timeout", "20", "--memory", "1G"],
            outer=OUTER,
        )
        check(result.ran and int(result.out.split()[-1]) <= (16 << 20) + ROOM, result.brief())


disk_case("/tmp")
disk_case("/dev/shm")


@case("empty files in /tmp are bounded too: each costs kernel memory")
def many_files(box):
    result = box.python(
        "import os\ns = os.statvfs('/tmp')\nprint('files', s.f_files, 'blocks', s.f_blocks * s.f_frsize)",
        options=["--tmp-size", "16M"],
    )
    files, size = int(result.out.split()[1]), int(result.out.split()[3])
    check(size <= (16 << 20) + ROOM, result.brief())
    check(files * 1024 <= 256 << 20, f"{files} files may be made in 16 MiB: about {files >> 10} MiB of kernel memory")


@case("a directory of pinfold's own on / takes nothing either")
def scratch_only(box):
    result = box.sh(
        "for d in / /dev /dev/pts /run /var /home /mnt /proc /sys $HOME; do\n"
        "dd if=/dev/zero of=$d/fill bs=1M count=64 2>/dev/null; s=$(stat -c %s $d/fill 2>/dev/null || echo 0)\n"
        "[ $s -le 17000000 ] || echo ESCAPED: $d $s; done; echo held: tried",
        options=["--tmp-size", "16M"],
    )
    held(result)


@case("a flood on both streams is cut at the limit and does not stop the command")
def output_flood(box):
    result = box.sh("yes & yes >&2 & sleep 1; kill %1 %2; exit 3", options=["--max-output", "64K", "--timeout", "10"])
    check(result.doc["exit_code"] == 3, result.brief())
    for name in ("stdout", "stderr"):
        stream = result.doc[name]
        check(
            stream["kept"] <= 64 << 10 and stream["truncated"] and stream["bytes"] > 1 << 20,
            f"{name}: { {k: v for k, v in stream.items() if k != 'data'} }",
        )
        check(stream["kept"] + stream["omitted_bytes"] == stream["bytes"], f"{name}: the figures do not add up")


@case("a flood does not grow pinfold's own memory")
def output_flood_memory(box):
    options = ["--max-output", "4K", "--timeout", "10"]
    live = box.start("/bin/sh", "-c", "yes & yes >&2 & sleep 2", box.mark, options=options)
    peak = 0
    while not host.wait_until(lambda: live.process.poll() is not None, 0.1) and time.monotonic() < live.started + 10:
        status = host.read(f"/proc/{live.process.pid}/status").decode()
        peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))])
    check(live.result().ran and 0 < peak < 64 << 10, f"{peak} KiB resident")


@case("an unbounded time, memory or number of processes has to be asked for")
def zero_is_no_limit(box):
    for option in ("--timeout", "--memory", "--pids"):
        code, _out, err, _ = box.pinfold("run", option, "0", "--", "/bin/true")
        check(code == 2, f"{option} 0: exit {code} {err!r}")
    for value in ("-1", "NaN", "1e300", "5 ", "", "inf", "0x10", "99999999999999999999"):
        code, _out, err, _ = box.pinfold("run", "--timeout", value, "--", "/bin/true")
        check(code == 2, f"--timeout {value!r}: exit {code} {err!r}")


HIDDEN = {
    "threads that outlive the first one": "import ctypes, threading, time\n"
    "def take():\n time.sleep(0.2); held = bytearray(300 << 20); held[::4096] = b'x' * len(held[::4096])\n"
    " time.sleep(3); print('ESCAPED: 300 MiB', flush=True)\n"
    "threading.Thread(target=take).start(); ctypes.CDLL(None).pthread_exit(None)",
    "semaphores": "import ctypes, time\nlibc = ctypes.CDLL(None)\n"
    "made = sum(libc.semget(0, 16384, 0o600) >= 0 for _ in range(300))\n"
    "time.sleep(3); print('ESCAPED:' if made > 100 else 'held:', made, 'arrays of 1 MiB')",
    "messages": "import ctypes, time\nlibc, made = ctypes.CDLL(None), 0\n"
    "text = ctypes.create_string_buffer(b'\\1' + bytes(8199), 8200)\n"
    "for _ in range(20000):\n queue = libc.msgget(0, 0o600)\n"
    " made += sum(libc.msgsnd(queue, text, 8192, 0o4000) == 0 for _ in range(2)) if queue >= 0 else 0\n"
    "time.sleep(3); print('ESCAPED:' if made > 20000 else 'held:', made, 'messages of 8 KiB')",
    "behind very many descriptors": "import os, time\n"
    "def fill():\n try:\n  while True: os.dup(0)\n except OSError: pass\n"
    "for _ in range(70):\n if os.fork() == 0: fill(); time.sleep(60)\n"
    "time.sleep(2); fd = os.memfd_create('hog')\n"
    "for _ in range(300): os.write(fd, bytes(1 << 20))\n"
    "time.sleep(6); print('ESCAPED: 300 MiB')",
}


def hidden_case(kind):
    @case(f"memory that no process shows ends the run too: {kind}")
    def hidden(box):
        result = box.python(HIDDEN[kind], options=[*MEMORY, "--pids", "100"], outer=OUTER)
        check("ESCAPED" not in result.out, result.brief())
        ended = result.status == "out_of_memory" or (result.code == 125 and result.doc["error"]["code"] == "limit")
        check(ended or "held:" in result.out, result.brief())


for hidden_kind in HIDDEN:
    hidden_case(hidden_kind)


ENDED = """
import os, time
def fill(size):
    memory = bytearray(size)
    for at in range(0, size, 4096): memory[at] = 1
    return memory
def child(work):
    pid = os.fork()
    if pid == 0: work(); os._exit(0)
    return pid
child(lambda: None)
for _ in range(15): os.waitpid(child(lambda: fill(40 << 20)), 0)
kept = fill(40 << 20)
time.sleep(0.5)
print("below")
"""


@case("processes that have ended or are ending are not taken for ones that hide memory")
def ended_processes(box):
    with open(os.memfd_create("of the machine"), "wb") as shared:  # as much as could be hidden
        shared.write(bytes(128 << 20))
        shared.flush()
        result = box.python(ENDED, options=MEMORY, outer=OUTER)
    check(result.out == "below\n" and result.code == 0, result.brief())


@case("a signal that was sent is no limit that was reached")
def sent_signals(box):
    result = box.sh("kill -XCPU $$", options=["--cpu-time", "5s"])
    check(result.status == "signaled" and result.doc["limit_hit"] is None, result.brief())
    result = box.run("/bin/true", options=["--pids", "1"])
    check(result.status == "exited" and result.doc["limits_touched"] == [], result.brief())
