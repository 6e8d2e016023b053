# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The mark of tests that depend on the clock.

A busy computer may delay a process for longer than drives wait for a command or than a cycle
lasts. What the software does then is right (and tested where it is meant), but it ends a test of
something else: such a test is run again. A defect fails every time. All attempts are reported.
"""

import pytest

by_the_clock = pytest.mark.flaky(reruns=3)
