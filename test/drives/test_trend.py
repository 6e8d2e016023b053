# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Prediction of rows of numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masticator_dynamics.drives.command import Trend

NUMBERS = st.floats(-10.0, 10.0)
LEAD = 0.004


def trend_of(values, times, longest=1.0):
    trend = Trend.begin(times[0], np.array([values[0]]))
    for value, time in zip(values[1:], times[1:], strict=True):
        trend = trend.then(time, np.array([value]), longest)
    return trend


@given(NUMBERS, NUMBERS, st.lists(st.floats(0.001, 0.01), min_size=3, max_size=10))
def test_straight_lines_go_on_whatever_the_time_between_rows(start, slope, steps):
    times = np.cumsum(steps)
    trend = trend_of(start + slope * times, times)
    expected = start + slope * (times[-1] + LEAD)
    assert trend.ahead(LEAD)[0] == pytest.approx(expected, abs=1e-9)


@given(st.lists(NUMBERS, min_size=3, max_size=10))
def test_never_further_than_either_of_the_latest_steps_goes(values):
    step = 0.002
    trend = trend_of(values, step * np.arange(len(values)))
    gone = trend.ahead(LEAD)[0] - values[-1]
    latest = np.diff(values)[-2:] * LEAD / step
    assert abs(gone) <= np.abs(latest).min() * (1.0 + 1e-9) + 1e-12
    assert gone == 0.0 or (np.sign(latest) == np.sign(gone)).all()


def test_no_way_on_from_a_first_row_from_a_step_or_after_a_gap():
    for values, times in (
        ([1.0], [0.0]),
        ([1.0, 2.0], [0.0, 0.002]),
        ([1.0, 1.0, 2.0], [0.0, 0.002, 0.004]),
        ([1.0, 2.0, 3.0, 4.0], [0.0, 0.002, 0.004, 2.0]),
        ([1.0, 2.0, 3.0, 4.0], [9.0, 9.002, 9.004, 2.0]),
    ):
        assert trend_of(values, times).ahead(LEAD)[0] == values[-1]


def test_a_row_of_the_same_instant_takes_the_place_of_the_one_before():
    trend = trend_of([1.0, 2.0, 3.0, 3.5], [0.0, 0.002, 0.004, 0.004])
    assert trend.ahead(LEAD)[0] == pytest.approx(3.5 + LEAD * 500.0)
