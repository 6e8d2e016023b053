# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Functions for CasADi: the same numbers as the engine, and derivatives that are theirs."""

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import InputError

casadi = pytest.importorskip('casadi', reason='the bridge to CasADi needs casadi')
NAMES = ('masticator', 'rss6', 'rcid', 'trimule', 'archetype excavator', 'archetype scissor_lift')


def column(matrix) -> samples.Array:
    return np.asarray(matrix).reshape(-1)


@pytest.mark.parametrize('name', samples.swept(NAMES))
def test_functions_give_what_the_engine_gives(name: str) -> None:
    mechanism = samples.mechanism(name)
    platform = mechanism.description.platform
    inverse = mechanism.to_casadi()
    forward = mechanism.to_casadi('forward_dynamics')
    equations = mechanism.to_casadi('equations_of_motion')
    pose = mechanism.to_casadi('frame_pose', frame=platform)
    for state in samples.states(name, 20, seed=3601):
        motion = mechanism.solve(state.y, state.y_dot)
        effort, valid = inverse(*state)
        assert valid == 1
        expected = mechanism.feedforward(*state).actuated
        assert samples.relative_error(column(effort), expected) < 1e-11
        found, valid = forward(state.y, state.y_dot, expected, state.wrench)
        assert valid == 1 and samples.relative_error(column(found), state.y_ddot) < 1e-10
        mass, bias, kinetic, potential, valid = equations(state.y, state.y_dot)
        assert valid == 1
        assert samples.relative_error(np.array(mass), mechanism.mass_matrix(motion), 1e-9) < 1e-11
        assert samples.relative_error(column(bias), mechanism.bias(motion), 1e-6) < 1e-11
        energies = float(kinetic), float(potential)
        assert samples.relative_error(energies, mechanism.energy(motion), 1e-6) < 1e-11
        position, rotation, valid = pose(state.y)
        expected_pose = mechanism.frame_pose(motion, platform)
        assert valid == 1
        assert samples.relative_error(column(position), expected_pose.position) < 1e-12
        assert samples.relative_error(np.array(rotation), expected_pose.rotation) < 1e-12


@pytest.mark.parametrize('name', ['masticator', 'trimule'])
def test_its_derivatives_are_those_of_the_efforts(name: str) -> None:
    mechanism = samples.mechanism(name)
    y, y_dot, y_ddot, wrench = (
        casadi.SX.sym(part, length)
        for part, length in zip(
            ('y', 'y_dot', 'y_ddot', 'wrench'), (*[len(mechanism.independent)] * 3, 6), strict=True
        )
    )
    effort, _ = mechanism.to_casadi()(y, y_dot, y_ddot, wrench)
    slope = casadi.Function('slope', [y, y_dot, y_ddot, wrench], [casadi.jacobian(effort, y)])
    for state in samples.states(name, 3, seed=3602):
        columns = [
            samples.five_point(
                lambda h, d=d, s=state: (
                    mechanism.feedforward(s.y + h * d, s.y_dot, s.y_ddot, s.wrench).actuated
                ),
                1e-5,
            )
            for d in np.eye(len(state.y))
        ]
        assert samples.relative_error(np.array(slope(*state)), np.transpose(columns)) < 1e-6


def test_where_the_loops_do_not_close_it_is_not_valid() -> None:
    jaw = samples.mechanism('masticator')
    _, valid = jaw.to_casadi()([0.2, 0.0, 0.0, 0.0], np.zeros(4), np.zeros(4), np.zeros(6))
    assert valid == 0


def test_bad_input_is_named() -> None:
    jaw = samples.mechanism('masticator')
    with pytest.raises(InputError, match="quantity is 'torque', expected one of inverse_dynamics"):
        jaw.to_casadi('torque')
    with pytest.raises(InputError, match='a frame is for frame_pose'):
        jaw.to_casadi('frame_pose')
    with pytest.raises(InputError, match='a frame is for frame_pose'):
        jaw.to_casadi(frame='incisor')
    with pytest.raises(InputError, match="no frame 'tongue'"):
        jaw.to_casadi('frame_pose', frame='tongue')
