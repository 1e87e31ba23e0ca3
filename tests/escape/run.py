#!/usr/bin/env python3
"""Small hostile programs, each of which must fail in its own way. Cases are in cases/, their programs in programs/."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from blackbox import suite  # noqa: E402

if __name__ == "__main__":
    suite.start(__file__)
