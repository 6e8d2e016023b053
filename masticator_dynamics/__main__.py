# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command ``masticator``, and ``python -m masticator_dynamics``."""

import sys

from masticator_dynamics.interrupt import ending_at_once


def main() -> int:
    """Load the command line and run it."""
    with ending_at_once():
        from masticator_dynamics.cli import main as run
    return run()


if __name__ == '__main__':
    sys.exit(main())
