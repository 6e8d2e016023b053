# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts added to those of a trajectory controller."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from masticator_dynamics.ros.servo_drives.drive_topics import AddedEffort

START = 1_700_000_000_000_000_000
MS = 1_000_000


def test_nothing_before_the_first_nor_when_it_is_too_old():
    effort = AddedEffort(2, 0.05)
    assert (effort.at(START) == 0.0).all()
    effort.take(START, np.array([1.0, 1.0]))
    assert effort.at(START + 50 * MS) == pytest.approx([1.0, 1.0])
    assert (effort.at(START + 51 * MS) == 0.0).all()


def test_what_is_added_is_led_by_its_rate_and_its_age_but_not_for_long():
    effort = AddedEffort(2, 0.05, lead=0.003)
    for ms in range(0, 20, 2):  # 1 and -2 N m/s
        effort.take(START + ms * MS, np.array([1e-3 * ms, -2e-3 * ms]))
    newest = np.array([18e-3, -36e-3])
    for age, led in ((0, 0.003), (2, 0.005), (3, 0.006), (40, 0.006)):
        found = effort.at(START + (18 + age) * MS)
        # Seconds since 1970 are rounded to 2e-7 s, rates over 2 ms therefore to 1e-4.
        assert found == pytest.approx(newest + led * np.array([1.0, -2.0]), abs=1e-5)


def test_numbers_that_are_none_change_nothing():
    effort = AddedEffort(2, 0.05)
    effort.take(START, np.array([1.0, 2.0]))
    effort.take(START + MS, np.array([np.nan, 2.0]))
    assert effort.at(START + MS) == pytest.approx([1.0, 2.0])
