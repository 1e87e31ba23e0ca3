#!/usr/bin/env python3
"""The command line as callers meet it: words in, documents and exit statuses out. Cases are in cases/."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from blackbox import suite  # noqa: E402

if __name__ == "__main__":
    suite.start(__file__)
