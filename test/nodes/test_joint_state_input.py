# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states as configurations: what is read, what is refused, and with which message."""

import math

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import ClosureError, InputError, ReachError
from masticator_dynamics.ros.joint_states.joint_state_runtime import (
    ACTUATED,
    JointSelection,
    JointStateReader,
    _measured,
)

NAN = math.nan
Y = np.array([0.002, 0.001, 0.01, 0.06])
Y_DOT = np.array([0.01, -0.02, 0.1, 0.5])


@pytest.fixture(scope='module')
def mechanism():
    return samples.mechanism('masticator')


@pytest.fixture
def reader(mechanism):
    return JointStateReader(mechanism, 1e-4)


def test_independent_coordinates_are_the_configuration(reader, mechanism):
    """In any order, among other joints, even if those contradict them."""
    names = ['beta', 'crank_1', 'wheel', 'x', 'alpha', 'y']
    values = [Y[3], NAN, NAN, Y[0], Y[2], Y[1]]
    rates = [Y_DOT[3], NAN, NAN, Y_DOT[0], Y_DOT[2], Y_DOT[1]]
    reading = reader.read(names, values, rates)
    assert np.array_equal(reading.motion.y, Y) and np.array_equal(reading.y_dot, Y_DOT)
    assert (reading.kind, reading.closure_residual) == ('independent', 0.0)


@pytest.mark.parametrize('name', ['masticator', 'rss6', 'rcid'])
def test_actuated_joints_give_position_and_velocity_of_the_closed_mechanism(name):
    mechanism = samples.mechanism(name)
    reader = JointStateReader(mechanism, 1e-6)
    for state in samples.states(name, 3, seed=140):
        motion = mechanism.solve(state.y, state.y_dot)
        order = np.random.default_rng(1).permutation(len(mechanism.actuated))
        names = ['neck', *(mechanism.actuated[k] for k in order)]
        values, rates = motion.position[order], motion.velocity[order]
        reading = reader.read(names, [NAN, *values], [NAN, *rates])
        assert reading.kind == 'actuated' and reading.closure_residual < 1e-9
        assert reading.motion.y == pytest.approx(state.y, abs=1e-9)
        assert reading.y_dot == pytest.approx(state.y_dot, rel=1e-7, abs=1e-7)


def test_velocities_that_the_loops_forbid_are_fitted(reader, mechanism):
    """The residual is orthogonal to every motion of the cranks that the loops allow."""
    motion = mechanism.solve(Y, Y_DOT)
    wrong = motion.velocity + [0.1, -0.2, 0.3, 0.0, 0.05, -0.1]
    y_dot = reader.read(mechanism.actuated, motion.position, wrong).y_dot
    allowed = mechanism.jacobian_actuated_from_independent(motion)
    left = wrong - allowed @ y_dot
    assert np.abs(left).max() > 0.01
    assert np.abs(allowed.T @ left).max() < 1e-9


@pytest.mark.parametrize('velocities', [[], [NAN] * 6])
def test_velocities_may_be_unknown(reader, mechanism, velocities):
    assert reader.read(mechanism.actuated, mechanism.home.position, velocities).y_dot is None


def test_no_joints_measure_nothing():
    """Else a mechanism without motors would always be at home."""
    assert _measured(JointSelection(ACTUATED, (), slice(0)), (), 'position') is None


CRANKS = [f'crank_{k}' for k in range(1, 7)]
REST = [0.0] * 6
REFUSED = {
    'nothing': ([], [], [], ['missing: x, y, alpha, beta', 'missing: crank_1']),
    'missing': (CRANKS[:-1] + ['x'], REST, [], ['missing: y, alpha, beta', 'missing: crank_6)']),
    'doubled': ([*CRANKS, 'crank_2'], [*REST, 0.1], [], ["'crank_2' is named 2 times"]),
    'no positions': (CRANKS, [], REST, ['0 positions for 6 joints']),
    'positions too long': (CRANKS, [*REST, 0.0], [], ['7 positions for 6 joints']),
    'velocities too short': (CRANKS, REST, REST[1:], ['5 velocities for 6 joints']),
    'NaN': (CRANKS, [0.0, NAN, *REST[2:]], [], ['position of crank_2 is nan']),
    'infinite': (['x', 'y', 'alpha', 'beta'], [0, 0, math.inf, 0], [], ['of alpha is inf']),
    'NaN velocity': (CRANKS, REST, [0.0, NAN, *REST[2:]], ['velocity of crank_2 is nan']),
}


@pytest.mark.parametrize('case', REFUSED)
def test_bad_states_are_refused_by_name(reader, case):
    names, positions, velocities, words = REFUSED[case]
    with pytest.raises(InputError) as refused:
        reader.read(names, positions, velocities)
    for word in words:
        assert word in str(refused.value)


def test_states_off_the_constraints_are_refused_by_the_amount(mechanism):
    motion = mechanism.solve(Y)
    position = motion.position + [0.0, 0.0, 0.02, 0.0, 0.0, 0.0]
    with pytest.raises(ClosureError, match=r'open by 0\.\d+ mm .* crank_\d'):
        JointStateReader(mechanism, 1e-5).read(CRANKS, position)
    reading = JointStateReader(mechanism, 1e-2).read(CRANKS, position)
    assert 1e-5 < reading.closure_residual < 1e-2
    assert reading.motion.y == pytest.approx(Y, abs=0.02)
    with pytest.raises(ReachError):
        JointStateReader(mechanism, 1e-2).read(CRANKS, [3.0, -3.0, 3.0, 3.0, -3.0, 3.0])


def test_a_reader_follows_publishers_that_change_their_names(reader, mechanism):
    motion = mechanism.solve(Y)
    first = reader.read(CRANKS, motion.position).motion.y
    assert np.array_equal(reader.read(mechanism.independent, Y).motion.y, Y)
    again = reader.read(CRANKS[::-1], motion.position[::-1]).motion.y
    assert np.array_equal(again, first)
