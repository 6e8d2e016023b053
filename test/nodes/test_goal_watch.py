# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tolerances of a goal, and desired joint positions on the path, without ROS."""

import collections

import numpy as np
import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_action import AT_THE_END, Tolerances
from masticator_dynamics.ros.dynamics.trajectory_checks import (
    JointsError,
    TrajectoryPoints,
    prepare,
)

JointTolerance = collections.namedtuple('JointTolerance', 'name position velocity acceleration')


def errors(mechanism, **off):
    return np.array([off.get(joint, 0.0) for joint in mechanism.tree_joints])


def test_what_a_goal_leaves_open_is_watched_on_the_actuated_joints(mechanism):
    tolerances, none = Tolerances.of([], mechanism, AT_THE_END), errors(mechanism)
    assert not tolerances.violation(errors(mechanism, crank_2=0.0199, x=1.0), none + 9.0)
    text = tolerances.violation(errors(mechanism, crank_2=-0.03, crank_5=0.025), none)
    assert text == 'crank_2 is 0.03 rad off (tolerance 0.02 rad)'
    unknown = tolerances.violation(errors(mechanism, crank_3=np.nan), none)
    assert unknown == 'position of crank_3 is not measured'


def test_a_goal_sets_keeps_and_takes_away_tolerances_of_any_joint(mechanism):
    rows = [('crank_1', -1.0, 0.0, 0.0), ('crank_2', 0.0, 0.5, 0.0), ('x', 0.001, 0.0, 0.0)]
    given = [JointTolerance(*row) for row in rows]
    tolerances, none = Tolerances.of(given, mechanism, AT_THE_END), errors(mechanism)
    assert not tolerances.violation(errors(mechanism, crank_1=9.0), none)
    assert 'crank_2 is 0.03 rad off' in tolerances.violation(errors(mechanism, crank_2=0.03), none)
    text = tolerances.violation(none, errors(mechanism, crank_2=0.6, crank_4=9.0))
    assert text == 'crank_2 is 0.6 rad/s off (tolerance 0.5 rad/s)'
    assert tolerances.violation(errors(mechanism, x=0.002), none).startswith('x is 0.002 m off')


@pytest.mark.parametrize(
    ('given', 'kind', 'reason'),
    [
        (('knee', 0.1, 0.0, 0.0), JointsError, "unknown joint 'knee'"),
        (('crank_1', np.nan, 0.0, 0.0), InputError, 'crank_1 is not a number'),
        (('crank_1', 0.1, 0.0, 0.1), InputError, 'accelerations are not measured'),
    ],
)
def test_what_cannot_be_watched_is_refused(mechanism, given, kind, reason):
    with pytest.raises(kind, match=reason):
        Tolerances.of([JointTolerance(*given)], mechanism, AT_THE_END)


def test_between_samples_the_joints_are_where_the_closed_mechanism_is(mechanism):
    times = np.linspace(0.0, 0.6, 13)
    rows = chewing_stroke(strokes=1, period=0.6, opening=0.08).sample(times)
    points = TrajectoryPoints(mechanism.independent, times, rows)
    at_home = mechanism.home.y, np.zeros(4), np.zeros(4)
    prepared = prepare(mechanism, points, at_home, at_home, 10**9, 10**9, DynamicsSettings())
    wanted = prepared.joints
    for seconds in np.linspace(0.003, prepared.piece.path.end - 0.003, 37):
        motion = mechanism.solve(*prepared.piece.path(seconds))
        position, velocity = wanted(seconds)
        assert np.abs(position - motion.q).max() < 1e-4
        assert np.abs(velocity - motion.v).max() < 1e-2 * max(1.0, np.abs(motion.v).max())
    for seconds, end in ((-1.0, 0), (9.0, -1)):
        position, velocity = wanted(seconds)
        assert np.array_equal(position, wanted.q[end]) and not velocity.any()
