# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two clocks read together while other processes use the processor."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from masticator_dynamics.ros.common import node_clock


class Clock:
    """A steady clock, s, that goes on by a microsecond each time it is read, and by pauses."""

    def __init__(self):
        self.time = 1000.0

    def monotonic(self):
        self.time += 1e-6
        return self.time


@pytest.fixture(name='clock')
def fixture_clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(node_clock, 'time', clock)
    return clock


@pytest.mark.parametrize('before', [True, False])
def test_clocks_are_of_one_instant_whoever_was_in_between(clock, before):
    pauses = [0.02, 0.02]

    def now():
        pause = pauses.pop() if pauses else 0.0
        clock.time += pause if before else 0.0
        read = round(clock.monotonic() * 1e9)
        clock.time += 0.0 if before else pause
        return read

    nanoseconds, steady = node_clock.both_clocks(now)
    assert nanoseconds * 1e-9 == pytest.approx(steady, abs=1e-5)
    assert not pauses


def test_when_nobody_lets_them_be_the_closest_counts(clock):
    pauses = [0.01, 0.004, 0.01, 0.01, 0.01]

    def now():
        read = round(clock.monotonic() * 1e9)
        clock.time += pauses.pop()
        return read

    nanoseconds, steady = node_clock.both_clocks(now)
    assert nanoseconds * 1e-9 == pytest.approx(steady, abs=0.0021)
    assert not pauses
