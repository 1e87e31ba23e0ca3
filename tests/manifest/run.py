#!/usr/bin/env python3
"""Workspaces from manifests, as callers and hostile authors meet them. Cases are in cases/, what they share in scene.py."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from blackbox import suite  # noqa: E402

if __name__ == "__main__":
    suite.start(__file__)
