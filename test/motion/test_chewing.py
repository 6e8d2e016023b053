# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in chewing motion and its food."""

import numpy as np
import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.motion import MotionPath, bite_force, chewing_stroke, opening_stroke

TIMES = np.linspace(0.0, 5.0, 1001)


def displacement(mechanism, path, times, frame):
    home = mechanism.frame_pose(mechanism.home, frame).position
    poses = path.sample(times)[0]
    return np.array(
        [mechanism.frame_pose(mechanism.solve(y), frame).position - home for y in poses]
    )


def test_five_strokes_from_home_to_home_at_rest():
    path = chewing_stroke()
    assert (path.start, path.end) == (0.0, 5.0)
    for second in range(6):
        assert np.abs(path(float(second))).max() < 1e-12
    widest = [np.max(path.sample(TIMES[(TIMES >= k) & (TIMES < k + 1)])[0][:, 3]) for k in range(5)]
    assert 0.14 < widest[0] < 0.16 and np.all(np.diff(widest) < 0)


def test_the_mouth_opens_after_the_last_stroke_as_wide_as_in_the_first():
    strokes = chewing_stroke(side='right', strokes=2, period=0.8)
    path = MotionPath.joined(
        [strokes, opening_stroke(side='right', start=strokes.end, period=0.8)]
    )  # which refuses a jump
    assert path.end == pytest.approx(2.0)
    assert path(path.end)[0] == pytest.approx(strokes(0.4)[0], abs=1e-12)
    assert np.abs(path(path.end)[1:]).max() < 1e-12


def test_opening_is_slower_than_closing_and_the_jaw_never_overcloses():
    beta, beta_dot = (rows[:, 3] for rows in chewing_stroke().sample(TIMES)[:2])
    assert beta.min() > -1e-9
    assert beta_dot.max() < 0.9 * -beta_dot.min()


@pytest.mark.parametrize(('side', 'sign'), [('left', 1), ('right', -1)])
def test_closes_on_the_working_side(mechanism, side, sign):
    path = chewing_stroke(side=side)
    moved = displacement(mechanism, path, np.linspace(0, 1, 101), 'incisor')
    opening, closing = moved[:47], moved[47:]
    at_half = -0.5 * moved[:, 2].min()
    out = np.interp(at_half, -opening[:, 2], sign * opening[:, 1])
    back = np.interp(at_half, -closing[::-1, 2], sign * closing[::-1, 1])
    assert back > 2e-3 > out


@pytest.mark.parametrize('side', ['left', 'right'])
@pytest.mark.parametrize('opening', [0.15, 0.18])
def test_stays_inside_every_range(mechanism, side, opening):
    path = chewing_stroke(side=side, opening=opening)
    for time in np.linspace(0.0, 1.0, 201):
        motion = mechanism.solve(*path(time))
        assert not mechanism.range_violations(motion)
        for frame in ('condyle_left', 'condyle_right'):
            x, y, _ = mechanism.frame_pose(motion, frame).position
            assert -0.0095 < x < 0.0045 and 0.0695 < abs(y) < 0.0745


def test_acceleration_is_continuous():
    fine = np.linspace(0.0, 5.0, 200_001)
    acceleration = chewing_stroke().sample(fine)[2]
    rate = np.abs(np.diff(acceleration, axis=0)).max(axis=0) / (fine[1] - fine[0])
    # A jump of 1 % of the peak within 25 microseconds would be far beyond this jerk.
    assert np.all(rate < 400 * np.abs(acceleration).max(axis=0))


def test_period_scales_time_only():
    slow, fast = chewing_stroke(period=2.0), chewing_stroke(period=1.0)
    for k in range(3):
        assert np.allclose(slow(1.2)[k] * 2.0**k, fast(0.6)[k], atol=1e-12)


def test_food_pushes_down_in_bursts_that_soften():
    force = bite_force()
    rows = force.sample(TIMES)
    magnitude = np.linalg.norm(rows, axis=1)
    peaks = [magnitude[(TIMES >= k) & (TIMES < k + 1)].max() for k in range(5)]
    assert np.all(np.diff(peaks) < 0) and 55 < peaks[-1] < 65 and 95 < peaks[0] <= 100
    strong = magnitude > 1.0
    assert np.all(rows[strong, 2] < -0.95 * magnitude[strong])
    assert np.array_equal(force(0.7), force.sample([0.7])[0])
    assert not force.sample([-0.3, 0.1, 0.99, 5.7, 6.7]).any()
    assert force.frame == 'molar_left'


def test_food_is_between_closing_teeth():
    path = chewing_stroke()
    felt = np.linalg.norm(bite_force().sample(TIMES), axis=1) > 1.0
    position, velocity, _ = path.sample(TIMES[felt])
    assert np.all(velocity[:, 3] <= 1e-9)
    assert position[:, 3].max() < 0.1


def test_food_force_is_c1():
    fine = np.linspace(0.0, 1.0, 20_001)
    slope = np.diff(bite_force().sample(fine), axis=0) / (fine[1] - fine[0])
    assert np.abs(np.diff(slope, axis=0)).max() < 0.005 * np.abs(slope).max()


def test_sides_mirror():
    assert np.allclose(bite_force(side='right')(0.75), bite_force()(0.75) * [1, -1, 1])
    assert np.allclose(
        chewing_stroke(side='right')(0.6)[0], chewing_stroke()(0.6)[0] * [1, -1, -1, 1]
    )


@pytest.mark.parametrize(
    'arguments', [{'side': 'up'}, {'strokes': 0}, {'period': 0.0}, {'opening': 0.5}]
)
def test_nonsense_is_refused(arguments):
    with pytest.raises(InputError):
        chewing_stroke(**arguments)
    if 'opening' not in arguments:
        with pytest.raises(InputError):
            bite_force(**arguments)


def test_food_force_must_be_positive():
    with pytest.raises(InputError, match='positive'):
        bite_force(first=-1.0)
