# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Smoothing of rounded recordings."""

import numpy as np
import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.motion.smoothing import smooth_within

STEP = 1e-5
TIMES = np.arange(0.0, 1.0, 1e-3)


def slow_then_sudden(times):
    """A signal that swings by 10 mm and stops within a few milliseconds at 0.6 s."""
    swing = 0.01 * np.sin(2 * np.pi * times) ** 2
    return np.where(times < 0.6, swing, 0.01 * np.sin(2 * np.pi * 0.6) ** 2)[:, None]


def rounded(values):
    return np.round(values / STEP) * STEP


def test_no_sample_moves_further_than_the_tolerance():
    recorded = rounded(slow_then_sudden(TIMES))
    for tolerance in (STEP / 2, STEP, 5 * STEP):
        smoothed = smooth_within(TIMES, recorded, tolerance)
        assert np.abs(smoothed - recorded).max() <= tolerance


def test_rounding_is_gone_from_the_acceleration():
    smoothed = smooth_within(TIMES, rounded(slow_then_sudden(TIMES)), STEP)
    slow = (TIMES > 0.1) & (TIMES < 0.55)
    found = np.diff(smoothed[:, 0], 2) / 1e-6
    true = np.diff(slow_then_sudden(TIMES)[:, 0], 2) / 1e-6
    raw = np.diff(rounded(slow_then_sudden(TIMES))[:, 0], 2) / 1e-6
    error = np.sqrt(np.mean((found - true)[slow[1:-1]] ** 2))
    assert error < 0.1 * np.sqrt(np.mean(true[slow[1:-1]] ** 2))
    assert error < 0.05 * np.sqrt(np.mean((raw - true)[slow[1:-1]] ** 2))


def test_uneven_times_and_several_columns():
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 1, 400))
    values = rounded(np.column_stack([0.01 * np.sin(5 * times), 0.003 * times**2]))
    smoothed = smooth_within(times, values, STEP)
    assert np.abs(smoothed - values).max() <= STEP
    one = smooth_within(times, values[:, 1:], STEP)
    assert np.allclose(one, smoothed[:, 1:], atol=1e-12)


def test_rest_at_the_ends():
    values = rounded(0.01 * (1 - np.cos(2 * np.pi * TIMES))[:, None])
    smoothed = smooth_within(TIMES, values, STEP, rest_start=True)
    free = smooth_within(TIMES, values, STEP)
    true = 0.01 * (1 - np.cos(2 * np.pi * TIMES[1]))
    assert abs(smoothed[1, 0] - smoothed[0, 0]) < 2 * true < abs(free[1, 0] - free[0, 0])


def test_nothing_to_smooth_is_returned_as_it_is():
    values = np.random.default_rng(0).normal(size=(3, 2))
    assert np.array_equal(smooth_within(TIMES[:3], values, STEP), values)
    assert np.array_equal(smooth_within(TIMES[:9], np.ones((9, 1)), 0.0), np.ones((9, 1)))


def test_impossible_tolerance_is_refused():
    values = np.random.default_rng(0).normal(size=(50, 1))
    with pytest.raises(InputError, match='cannot be smoothed'):
        smooth_within(TIMES[:50], values, 1e-25)
