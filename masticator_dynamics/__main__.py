# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lets ``python -m masticator_dynamics`` stand for the command ``masticator``."""

import sys

from masticator_dynamics.cli import main

if __name__ == '__main__':
    sys.exit(main())
