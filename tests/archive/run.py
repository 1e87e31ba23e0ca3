#!/usr/bin/env python3
"""Hostile archives, and honest ones: made here byte by byte, and taken apart by `pinfold extract`. Cases are in cases/."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from blackbox import suite  # noqa: E402

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "files")

if __name__ == "__main__":
    if "PINFOLD_SAMPLES" not in os.environ and os.path.isdir(SAMPLES):
        os.environ["PINFOLD_SAMPLES"] = os.path.realpath(SAMPLES)  # also for who runs a copy of this suite
    suite.start(__file__)
