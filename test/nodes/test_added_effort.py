# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What feedforward efforts have beyond those of the trajectory."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from masticator_dynamics.nodes.common.trajectory_cdr import Point, Trajectory  # noqa: E402
from masticator_dynamics.nodes.servo_drives.added_effort import AddedEffort  # noqa: E402

JOINTS = ('a', 'b')
START = 1_700_000_000_000_000_000
MS = 1_000_000


def trajectory(start, rows, names=JOINTS, step=0.02):
    none = np.empty(0)
    points = [
        Point(k * step, none, none, none, np.array(row, dtype=float)) for k, row in enumerate(rows)
    ]
    return Trajectory(start, names, tuple(points))


def added(*trajectories, timeout=0.05):
    effort = AddedEffort(JOINTS, timeout)
    for one in trajectories:
        assert effort.follow(one)
    return effort


def difference(effort, time, total):
    effort.take(time, np.array(total, dtype=float))
    return effort.at(time)


def test_difference_to_the_trajectory_at_the_same_instant():
    effort = added(trajectory(START, [[0.0, 1.0], [2.0, 3.0], [4.0, 3.0]]))
    for ms, own in ((0, [0.0, 1.0]), (10, [1.0, 2.0]), (35, [3.5, 3.0]), (40, [4.0, 3.0])):
        extra = difference(effort, START + ms * MS, np.array(own) + [0.25, -0.5])
        assert extra == pytest.approx([0.25, -0.5], abs=1e-6)
    # After the end it is held.
    assert difference(effort, START + 900 * MS, [4.1, 3.0]) == pytest.approx([0.1, 0.0], abs=1e-9)


def test_names_in_another_order():
    effort = added(trajectory(START, [[1.0, 0.0], [1.0, 0.0]], names=('b', 'a')))
    assert difference(effort, START, [0.5, 1.0]) == pytest.approx([0.5, 0.0])


def test_nothing_without_a_trajectory_nor_before_the_first():
    effort = AddedEffort(JOINTS, 0.05)
    assert (difference(effort, START, [1.0, 1.0]) == 0.0).all()
    effort.follow(trajectory(START + 50 * MS, [[1.0, 1.0], [1.0, 1.0]]))
    assert (difference(effort, START, [1.0, 1.0]) == 0.0).all()


def test_nothing_when_it_is_too_old():
    effort = added(trajectory(START, [[0.0, 0.0], [0.0, 0.0]]))
    effort.take(START, np.array([1.0, 1.0]))
    assert effort.at(START + 50 * MS) == pytest.approx([1.0, 1.0])
    assert (effort.at(START + 51 * MS) == 0.0).all()


def test_what_is_added_is_led_by_its_rate_and_its_age_but_not_for_long():
    effort = AddedEffort(JOINTS, 0.05, lead=0.003)
    effort.follow(trajectory(START, [[1.0, 1.0], [1.0, 1.0]]))
    for ms in range(0, 20, 2):  # 1 and -2 N m/s
        effort.take(START + ms * MS, np.array([1.0 + 1e-3 * ms, 1.0 - 2e-3 * ms]))
    newest = np.array([18e-3, -36e-3])
    for age, led in ((0, 0.003), (2, 0.005), (3, 0.006), (40, 0.006)):
        found = effort.at(START + (18 + age) * MS)
        # Seconds since 1970 are rounded to 2e-7 s, rates over 2 ms therefore to 1e-4.
        assert found == pytest.approx(newest + led * np.array([1.0, -2.0]), abs=1e-5)


def test_a_replacement_counts_from_its_start():
    first = trajectory(START, [[1.0, 1.0]] * 10)
    effort = added(first, trajectory(START + 100 * MS, [[5.0, 5.0]] * 10))
    assert difference(effort, START + 99 * MS, [1.0, 1.0]) == pytest.approx([0.0, 0.0])
    assert difference(effort, START + 100 * MS, [5.0, 5.0]) == pytest.approx([0.0, 0.0])
    # One that begins earlier takes the place of it.
    effort.follow(trajectory(START + 50 * MS, [[3.0, 3.0]] * 10))
    assert difference(effort, START + 150 * MS, [3.0, 3.0]) == pytest.approx([0.0, 0.0])


def test_numbers_that_are_none_change_nothing():
    effort = added(trajectory(START, [[0.0, 0.0]]))
    effort.take(START, np.array([1.0, 2.0]))
    effort.take(START + MS, np.array([np.nan, 2.0]))
    assert effort.at(START + MS) == pytest.approx([1.0, 2.0])


def test_trajectories_that_cannot_be_compared_with():
    effort = AddedEffort(JOINTS, 0.05)
    assert not effort.follow(trajectory(START, []))
    assert not effort.follow(trajectory(START, [[1.0]], names=('a',)))
    assert not effort.follow(trajectory(START, [[]]))
