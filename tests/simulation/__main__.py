"""`python -m tests.simulation --seeds 500`; one seed again: `--seed 17 --trace`."""

from __future__ import annotations

import sys

from .report import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
