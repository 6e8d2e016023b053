# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is followed at each time: home, a path, its end; replacement, stops, clock jumps."""

import numpy as np
import pytest

from masticator_dynamics.motion import MotionPath
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion, Piece

S = 10**9
T0 = 1_700_000_000 * S + 123  # a present-day clock
HOME = np.array([0.0, 0.1])


def path(a, b, start=0.0):
    rest = np.zeros((2, 2))
    return MotionPath.through([start, start + 2.0], [a, b], rest, rest)


@pytest.fixture
def motion():
    return ExecutedMotion(HOME)


def test_home_path_and_end(motion):
    there = np.array([0.5, 0.0])
    assert motion.replace(Piece(T0, path(HOME, there)), motion.schedule, T0 - S)
    assert motion.mode(T0 - 1) == 'hold home'
    assert motion.state(T0 - S)[0] == pytest.approx(HOME)
    assert motion.mode(T0 + S) == 'running'
    position, velocity, _ = motion.state(T0 + S)
    assert position == pytest.approx((HOME + there) / 2)
    assert np.abs(velocity).max() > 0.1
    assert motion.mode(T0 + 3 * S) == 'hold last'
    position, velocity, acceleration = motion.state(T0 + 1000 * S)
    assert position == pytest.approx(there)
    assert not velocity.any() and not acceleration.any()


def test_path_whose_times_do_not_start_at_zero(motion):
    motion.replace(Piece(T0, path(HOME, HOME + 1.0, start=5.0)), motion.schedule, T0)
    assert motion.state(T0 + S)[0] == pytest.approx(HOME + 0.5)
    assert motion.mode(T0 + 3 * S) == 'hold last'


def test_time_resolution_is_that_of_the_clock(motion):
    motion.replace(Piece(T0, path(HOME, HOME + 1.0)), motion.schedule, T0)
    positions = [motion.state(T0 + S + k * 50)[0][0] for k in range(5)]
    assert (np.diff(positions) > 0.0).all()


def test_replacement_takes_over_at_its_start_and_drops_what_was_to_come(motion):
    first, second, third = (path(HOME, HOME + k) for k in (1.0, 2.0, 3.0))
    motion.replace(Piece(T0, first), motion.schedule, T0)
    motion.replace(Piece(T0 + 10 * S, second), motion.schedule, T0)
    motion.replace(Piece(T0 + 5 * S, third), motion.schedule, T0)
    assert motion.state(T0 + 4 * S)[0] == pytest.approx(HOME + 1.0)
    assert motion.state(T0 + 20 * S)[0] == pytest.approx(HOME + 3.0)


def test_replacement_of_what_has_changed_meanwhile_is_refused(motion):
    seen = motion.schedule
    motion.replace(Piece(T0, path(HOME, HOME + 1.0)), seen, T0)
    assert not motion.replace(Piece(T0, path(HOME, HOME + 2.0)), seen, T0)
    assert motion.state(T0 + 5 * S)[0] == pytest.approx(HOME + 1.0)


def test_old_pieces_are_forgotten_but_home_does_not_come_back(motion):
    for k in range(100):
        start = T0 + 3 * k * S
        motion.replace(Piece(start, path(HOME, HOME)), motion.schedule, start)
    assert len(motion.schedule) < 5
    assert motion.mode(T0 + 298 * S) != 'hold home'


def test_stop_and_jump(motion):
    motion.replace(Piece(T0, path(HOME, HOME + 1.0)), motion.schedule, T0)
    motion.shift(-100 * S)
    assert motion.state(T0 - 99 * S)[0] == pytest.approx(HOME + 0.5)
    motion.hold(T0 - 99 * S)
    for later in (T0 - 99 * S, T0):
        position, velocity, _ = motion.state(later)
        assert position == pytest.approx(HOME + 0.5)
        assert not velocity.any()
        assert motion.mode(later) == 'hold last'


def test_stop_at_home_stays_home(motion):
    motion.hold(T0)
    assert motion.mode(T0) == 'hold home'
