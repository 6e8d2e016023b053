# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Replacing a running motion, and coming to rest."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from masticator_dynamics.errors import InputError
from masticator_dynamics.motion import MotionPath, path_from_state, with_rest_ramp

NAMES = ('x', 'beta')
STATE = (np.array([0.001, 0.1]), np.array([0.02, 0.4]), np.array([-0.1, 3.0]))
POINTS = np.array([[0.002, 0.12], [0.0, 0.05]])


@pytest.mark.parametrize('given_rows', [0, 1, 2])
def test_replacement_starts_from_the_state_and_goes_through_the_points(given_rows):
    rng = np.random.default_rng(0)
    derivatives = [rng.normal(size=(2, 2)) for _ in range(given_rows)]
    path = path_from_state(STATE, [0.3, 0.8], POINTS, *derivatives, start=7.0, names=NAMES)
    assert (path.start, path.end) == (7.0, 7.8)
    assert np.allclose(path(7.0), STATE, atol=1e-9)
    reached = path.sample([7.3, 7.8])
    assert np.allclose(reached[0], POINTS, atol=1e-12)
    for found, wanted in zip(reached[1:], derivatives, strict=False):
        assert np.allclose(found, wanted, atol=1e-9)


def test_first_segment_is_one_quintic():
    velocities, accelerations = np.ones((2, 2)), np.full((2, 2), -2.0)
    path = path_from_state(STATE, [0.3, 0.8], POINTS, velocities, accelerations)
    s = np.linspace(0.0, 0.3, 50)
    for i in range(2):
        fit = np.polynomial.Polynomial.fit(s, path.sample(s)[0][:, i], 5)
        assert np.abs(fit(s) - path.sample(s)[0][:, i]).max() < 1e-12
        assert path(0.3)[1][i] == pytest.approx(1.0)
        assert path(0.3)[2][i] == pytest.approx(-2.0)


def test_points_without_velocity_end_at_rest():
    for derivatives in ((), (np.array([[0.1, 0.1], [0.0, 0.0]]),)):
        path = path_from_state(STATE, [0.3, 0.8], POINTS, *derivatives)
        assert np.abs(path(path.end)[1:]).max() < 1e-9
        assert with_rest_ramp(path) == (path, 0.0)


def test_first_point_at_time_zero_must_be_where_the_mechanism_is():
    near = np.vstack([STATE[0] + [5e-4, -5e-4], POINTS])
    path = path_from_state(STATE, [0.0, 0.3, 0.8], near, names=NAMES, tolerance=1e-3)
    assert np.allclose(path(0.0), STATE, atol=1e-9)
    near[0, 1] += 0.01
    with pytest.raises(InputError, match=r'beta 0\.1095.*is at 0\.1 \(difference 0\.0095\)'):
        path_from_state(STATE, [0.0, 0.3, 0.8], near, names=NAMES, tolerance=1e-3)
    path_from_state(STATE, [0.0, 0.3, 0.8], near, tolerance=[1e-3, 0.02])


def test_only_a_point_at_time_zero_stops_the_motion():
    path = path_from_state(STATE, [0.0], STATE[0][None], start=2.0)
    assert np.allclose(path(2.0), STATE, atol=1e-9)
    assert np.abs(path(path.end)[1:]).max() < 1e-9
    rest = (STATE[0], np.zeros(2), np.zeros(2))
    assert np.array_equal(path_from_state(rest, [0.0], STATE[0][None])(1.0), rest)


@pytest.mark.parametrize(
    ('times', 'points', 'message'),
    [
        ([-0.1, 0.5], POINTS, '0.1 s before the start'),
        ([0.5, 0.5], POINTS, 'must increase'),
        ([0.5, 0.8], [[0, 0], [np.nan, 0]], 'position of x at 0.8 s'),
        ([0.5, 0.8], np.zeros((2, 3)), 'shape'),
    ],
)
def test_malformed_points_are_refused(times, points, message):
    with pytest.raises(InputError, match=message):
        path_from_state(STATE, times, points, names=NAMES)


@settings(max_examples=60, deadline=None)
@given(velocity=st.floats(-5, 5), acceleration=st.floats(-100, 100), duration=st.floats(0.1, 2.0))
@example(velocity=0.0, acceleration=2e-4, duration=1.0)
def test_rest_ramp_is_c2_and_gentle(velocity, acceleration, duration):
    zero = np.zeros(1)
    end = (np.array([velocity]), np.array([acceleration]))
    path = MotionPath.through([0.0, duration], [[0.0], [0.3]], start=(zero, zero), end=end)
    full, ramp = with_rest_ramp(path)
    assert full.end == pytest.approx(path.end + ramp)
    fine = np.linspace(0.0, path.end, 50)
    assert np.allclose(full.sample(fine), path.sample(fine), atol=1e-9)
    speed, rate = np.abs(full(full.end)[1:])
    # So little acceleration still counts as rest.
    assert speed <= 1e-6 and rate <= (1e-6 if ramp else 1e-3)
    if ramp:
        assert 0.0199 < ramp < 0.2501
        after = full(path.end + 1e-9)
        assert np.allclose(after, path(path.end), atol=1e-4)
        on_ramp = np.abs(full.sample(np.linspace(path.end, full.end, 200))[2]).max()
        usual = np.abs(path.sample(np.linspace(0, path.end, 2000))[2]).max()
        assert on_ramp <= 1.01 * max(usual, 10 * abs(velocity), abs(acceleration)) + 1e-6


def test_path_at_rest_is_left_alone():
    path = MotionPath.constant([1.0, 2.0])
    assert with_rest_ramp(path) == (path, 0.0)
