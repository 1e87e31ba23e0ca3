#!/usr/bin/env python3
"""Runs an untrusted test suite in pinfold, test by test, and shows what stopped each.

    demo.py PINFOLD

The suite is project/: an honest test and nine that are after the developer's secrets, network and machine. It works on
a copy in a temporary workspace, with a home directory and a token made up for the purpose, and leaves nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = "not-a-real-token"

# The test, how its run must end, and what then stopped it.
EXPECTED = {
    "01-counts-words": (("exited",), "nothing: it is honest"),
    "02-reads-secrets": (("exited",), "secrets are masked, the environment is filtered"),
    "03-calls-home": (("exited",), "a network of its own, with nobody in it"),
    "04-plants-a-hook": (("exited",), "protected paths, read-only root, no set-id bits"),
    "05-hogs-memory": (("out_of_memory", "exited", "signaled"), "the memory limit"),
    "06-fork-bomb": (("timed_out", "exited", "signaled", "cpu_time_exceeded"), "the process limit, then the time limits"),
    "07-never-ends": (("cpu_time_exceeded", "timed_out"), "the processor-time limit"),
    "08-daemon": (("exited",), "the whole tree dies with the run"),
    "09-fills-the-disk": (("exited", "signaled"), "file-size and /tmp limits"),
    "10-floods-the-log": (("exited",), "the output limit"),
}


class Demo:
    def __init__(self, pinfold, base):
        self.pinfold, self.base, self.troubles = pinfold, base, []
        self.workspace, self.home = os.path.join(base, "workspace"), os.path.join(base, "home")
        shutil.copytree(os.path.join(HERE, "project"), self.workspace)
        shutil.copy(os.path.join(HERE, "policy.json"), base)
        os.makedirs(os.path.join(self.home, ".ssh"), 0o700)
        self.write(
            os.path.join(self.home, ".ssh", "id_ed25519"), "-----BEGIN OPENSSH PRIVATE KEY-----\nnot a real key\n"
        )
        self.write(os.path.join(self.home, ".bashrc"), "# untouched\n")
        os.makedirs(os.path.join(self.workspace, ".git", "hooks"))
        self.write(os.path.join(self.workspace, ".git", "config"), "[core]\n\trepositoryformatversion = 0\n")
        self.write(os.path.join(self.workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.home,
            "SECRET_TOKEN": TOKEN,
            "TERM": os.environ.get("TERM", "dumb"),
        }

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def words(self, verb, *more):
        return [self.pinfold, verb, "-p", os.path.join(self.base, "policy.json"), "-w", self.workspace, *more]

    def call(self, words):
        return subprocess.run(
            words,
            env=self.environment,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *command):
        done = self.call(self.words("run", "--json", "-e", f"DEMO_HOME={self.home}", "--", *command))
        try:
            return json.loads(done.stdout)
        except ValueError:
            sys.exit(f"pinfold said nothing that can be read (exit {done.returncode}): {done.stdout}{done.stderr}")

    def show_check(self):
        print("$ pinfold check --capture -p policy.json      (what this machine would enforce, and how)\n")
        done = self.call(self.words("check", "--capture"))
        print(done.stdout.rstrip() + ("\n" + done.stderr.rstrip() if done.stderr else ""), flush=True)
        if done.returncode not in (0, 1):
            self.troubles.append("check failed")

    def build(self):
        print("\n$ pinfold run -p policy.json -- make      (the compiler is as untrusted as the rest)\n", flush=True)
        result = self.run("make")
        if result.get("exit_code") != 0:
            sys.exit(f"the build failed: {json.dumps(result, indent=1)}")
        print(result["stdout"]["data"].rstrip())

    def judge(self, name, result):
        """What the test got hold of; empty where the boundary held."""
        output = result["stdout"]["data"] if result["stdout"]["encoding"] == "utf-8" else ""
        trouble = [line for line in output.splitlines() if "GOT:" in line or TOKEN in line]
        if result["status"] not in EXPECTED[name][0]:
            trouble.append(f"ended as {result['status']}")
        if name == "01-counts-words" and result["exit_code"] != 0:
            trouble.append(f"failed: {output} {result['stderr']['data']}")
        return trouble

    def left_behind(self):
        """What the suite left on the host for somebody to run."""
        planted = [".git/hooks/post-checkout", ".vscode/tasks.json", ".mcp.json", ".git-away"]
        found = [name for name in planted if os.path.lexists(os.path.join(self.workspace, name))]
        for path, text in (
            (os.path.join(self.home, ".bashrc"), "# untouched\n"),
            (os.path.join(self.workspace, ".git", "config"), "[core]\n\trepositoryformatversion = 0\n"),
        ):
            with open(path, encoding="utf-8") as file:
                found += [path] if file.read() != text else []
        return found

    def show_suite(self):
        print("\n$ for test in tests/*.sh; do pinfold run -p policy.json -- sh $test; done\n")
        row = "{:<19} {:<18} {:>5} {:>8} {:>9}  {}"
        print(row.format("test", "ended", "exit", "wall", "memory", "stopped by"))
        for name, (_statuses, by) in EXPECTED.items():
            result = self.run("sh", f"tests/{name}.sh")
            if result["schema"] != "pinfold.result/1":
                sys.exit(f"pinfold refused: {result['message']}")
            usage, trouble = result["usage"], self.judge(name, result)
            peak = usage["memory_peak_bytes"]
            code = result["signal"] if result["exit_code"] is None else result["exit_code"]
            print(
                row.format(
                    name,
                    result["status"],
                    "-" if code is None else str(code).replace("SIG", ""),
                    f"{usage['wall_ms']} ms",
                    "-" if peak is None else f"{peak >> 20} MiB",
                    by + self.remark(result),
                ),
                flush=True,
            )
            self.troubles += [f"{name}: {text}" for text in trouble]

    @staticmethod
    def remark(result):
        remarks = []
        if result["survivors_killed"]:
            remarks.append(f"{result['survivors_killed']} left over and killed")
        if result["stdout"]["truncated"]:
            remarks.append(f"{result['stdout']['omitted_bytes'] >> 20} MiB left out")
        remarks += sorted({f"{violation['kind']}: {violation['action']}" for violation in result["violations"]})
        return f" ({', '.join(remarks)})" if remarks else ""

    def show_end(self):
        self.troubles += [f"left on the host: {name}" for name in self.left_behind()]
        if self.troubles:
            print("\nNot held:\n  " + "\n  ".join(self.troubles))
            return 1
        print(f"\nAll of it was held: {len(EXPECTED)} tests ran, nothing was taken, nothing was left behind.")
        return 0


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    base = tempfile.mkdtemp(prefix="pinfold-demo-")
    os.chmod(base, 0o755)
    try:
        demo = Demo(os.path.abspath(sys.argv[1]), base)
        demo.show_check()
        demo.build()
        demo.show_suite()
        return demo.show_end()
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    sys.exit(main())
