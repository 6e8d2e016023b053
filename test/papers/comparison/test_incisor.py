# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Section incisor: S1's three optimisations are as in the paper, and what they lack."""

import dataclasses

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import ReachError
from masticator_dynamics.motion import chewing_stroke
from papers.comparison import incisor
from papers.comparison.three_optimisations import (
    Mandible,
    track_by_three_optimisations,
)

ROWS = 21


@pytest.fixture(scope='module')
def mandible():
    return Mandible.of(samples.mechanism('masticator'))


@pytest.fixture(scope='module')
def inputs(chewing):
    """The middle of a stroke, with samples 15 ms apart."""
    path = chewing_stroke(strokes=1)
    time = 0.3 + 0.015 * np.arange(ROWS)
    states = path.sample(time)
    motion = dataclasses.replace(
        chewing.motion, name='half a stroke', time=time, y=states[0], y_dot=states[1],
        y_ddot=states[2], wrench=np.zeros((ROWS, 6)), built_in=False,
    )  # fmt: skip
    return chewing.having(motion)


@pytest.fixture(scope='module')
def target(inputs):
    return incisor.target_of(inputs)


@pytest.fixture(scope='module')
def answer(mandible, target):
    path = (1e3 * x for x in (target.position, target.velocity, target.acceleration))
    return track_by_three_optimisations(mandible, *path)


def parameters_of(mechanism, y) -> np.ndarray:
    """S1's coordinates of a pose, from the engine's rotation (trace and skew part)."""
    pose = mechanism.frame_pose(mechanism.solve(y), 'mandible')
    rotation = pose.rotation
    t0 = 0.5 * np.sqrt(1.0 + np.trace(rotation))
    t1, t2 = rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0]
    return np.array([*1e3 * pose.position[:2], t0, t1 / (4 * t0), t2 / (4 * t0)])


def test_geometry_in_euler_parameters_is_the_engines(mandible) -> None:
    mechanism = samples.mechanism('masticator')
    right = mandible.condyle * (1.0, -1.0, 1.0)
    points = {'incisor': mandible.incisor, 'condyle_left': mandible.condyle,
              'condyle_right': right, 'mandible': np.zeros(3)}  # fmt: skip
    for state in samples.states('masticator', 5, seed=31):
        q, motion = parameters_of(mechanism, state.y), mechanism.solve(state.y)
        for frame, local in points.items():
            expected = 1e3 * mechanism.frame_pose(motion, frame).position
            assert mandible.point(q, local) == pytest.approx(expected, abs=1e-9)
        assert mandible.incisor_and_norm(q)[3] == pytest.approx(0.0, abs=1e-12)


def test_each_problem_is_solved(mandible, target, answer) -> None:
    """Along q + q_dot t + q_ddot t^2/2, the incisor follows to second order, and Eq. 5 holds."""
    time = 1e-3

    def along(k, t):
        q = answer.q[k] + answer.q_dot[k] * t + 0.5 * answer.q_ddot[k] * t * t
        return mandible.incisor_and_norm(q)

    for k in range(0, ROWS, 4):
        here, ahead, behind = along(k, 0.0), along(k, time), along(k, -time)
        wanted = (target.position[k], target.velocity[k], target.acceleration[k])
        found = (here, (ahead - behind) / (2 * time), (ahead - 2.0 * here + behind) / time**2)
        for value, expected, tolerance in zip(found, wanted, (1e-6, 1e-2, 1.0), strict=True):
            assert value[:3] == pytest.approx(1e3 * expected, abs=tolerance)
            assert value[3] == pytest.approx(0.0, abs=1e-3 * tolerance)
    assert max(answer.f_d.max(), answer.f_v.max(), answer.f_a.max()) < 1e-4


def test_what_they_return_is_not_one_motion_and_ours_is(inputs, target) -> None:
    theirs, ours = incisor.by_s1(inputs, target), incisor.by_us(inputs, target)
    s1, us = (incisor.measures(track, target.time) for track in (theirs, ours))
    for name in ('Y: velocity off the slope of position, mm/s',
                 'Y: velocity added up, off position by, mm'):  # fmt: skip
        assert us[name] < 0.1 * s1[name], name
    assert us['Y: velocity added up, off position by, mm'] < 0.01
    assert s1['Y: velocity added up, off position by, mm'] > 0.1
    assert us['condyles from home, rms, mm'] < s1['condyles from home, rms, mm']
    assert us['incisor off its path, mm (f_D)'] < 1e-6


def test_incisor_motion_from_the_engine(chewing) -> None:
    """Velocity and acceleration of the incisor are the derivatives of its position."""
    masticator, path = samples.mechanism('masticator'), chewing_stroke(strokes=1)
    for time in (0.2, 0.45, 0.7):

        def position(t, time=time):
            y = path.sample([time + t])[0]
            return incisor.incisor_motion(masticator, y, 0.0 * y, 0.0 * y)[0][0]

        def velocity(t, time=time):
            y, y_dot, y_ddot = path.sample([time + t])
            return incisor.incisor_motion(masticator, y, y_dot, y_ddot)[1][0]

        _, rate, acceleration = incisor.incisor_motion(masticator, *path.sample([time]))
        assert rate[0] == pytest.approx(samples.five_point(position, 1e-3), abs=1e-6)
        assert acceleration[0] == pytest.approx(samples.five_point(velocity, 1e-3), abs=1e-4)


def test_measures_of_a_motion_that_belongs_together_and_of_one_that_does_not() -> None:
    time = np.linspace(0.0, 1.0, 401)
    shift = 1e-3 * np.column_stack([np.sin(3 * time), np.cos(2 * time)])
    dot = 1e-3 * np.column_stack([3 * np.cos(3 * time), -2 * np.sin(2 * time)])
    ddot = 1e-3 * np.column_stack([-9 * np.sin(3 * time), -4 * np.cos(2 * time)])
    condyles = np.zeros((401, 2, 3))
    condyles[:, 1, 1] = -0.002
    track = incisor.Track(np.zeros((3, 401)), shift, dot, ddot, condyles, 0.401)
    good = incisor.measures(track, time)
    assert max(value for name, value in good.items() if name.startswith(('X: v', 'Y: v'))) < 1e-4
    assert good['X: acceleration off the slope of velocity, mm/s^2'] < 1e-3
    assert good['condyles from home, rms, mm'] == pytest.approx(2.0 / np.sqrt(2.0))
    assert good['condyles sideways, mm'] == pytest.approx(2.0)
    assert good['CPU time per sample, ms'] == pytest.approx(1.0)
    shifted = dataclasses.replace(track, shift_dot=dot + [0.0, 0.005])
    bad = incisor.measures(shifted, time)
    assert bad['Y: velocity off the slope of position, mm/s'] == pytest.approx(5.0, abs=1e-3)
    assert bad['Y: velocity added up, off position by, mm'] == pytest.approx(5.0, abs=1e-3)
    assert bad['X: velocity off the slope of position, mm/s'] < 1e-3


def test_an_incisor_out_of_reach_is_refused(mandible) -> None:
    zero = np.zeros((1, 3))
    with pytest.raises(ReachError, match=r'sample 1: .* mm off its path'):
        track_by_three_optimisations(mandible, np.array([[200.0, 0.0, 0.0]]), zero, zero)
