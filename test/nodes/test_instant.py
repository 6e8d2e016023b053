# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two clocks read together while other processes use the processor."""

import time

import pytest

from masticator_dynamics.nodes.common.instant import both_clocks

HELD = 0.02  # s


@pytest.mark.parametrize('before', [True, False])
def test_clocks_are_of_one_instant_whoever_was_in_between(before):
    pauses = [HELD, HELD]

    def now():
        pause = pauses.pop() if pauses else 0.0
        time.sleep(pause if before else 0.0)
        read = time.monotonic_ns()
        time.sleep(0.0 if before else pause)
        return read

    nanoseconds, steady = both_clocks(now)
    assert nanoseconds * 1e-9 == pytest.approx(steady, abs=0.1 * HELD)
    assert not pauses


def test_when_nobody_lets_them_be_the_closest_counts():
    pauses = [0.01, 0.004, 0.01, 0.01, 0.01]

    def now():
        read = time.monotonic_ns()
        time.sleep(pauses.pop())
        return read

    nanoseconds, steady = both_clocks(now)
    assert nanoseconds * 1e-9 == pytest.approx(steady, abs=0.0035)
    assert not pauses
