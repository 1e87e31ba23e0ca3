#!/usr/bin/env python3
"""What is there on a machine with systemd and cgroup v2 alone. Cases are in cases/; suites.py runs them in the VM."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from blackbox import suite  # noqa: E402

if __name__ == "__main__":
    suite.start(__file__)
