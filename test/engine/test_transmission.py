# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motors that move their joints through gears and screws."""

from __future__ import annotations

import dataclasses
import math
import pathlib

import numpy as np
import pytest
import samples
import yaml

from masticator_dynamics import Mechanism
from masticator_dynamics.description import data
from masticator_dynamics.errors import DescriptionError

ROTOR = 3e-6
RATIOS = {'masticator': [2.0, -3.0, 5.0, 1.0, -0.5, 4.0], 'rcid': [300.0, -200.0, 50, 70, 90, 10]}


def geared(name: str, ratios: list[float], rotor: float = ROTOR) -> Mechanism:
    """A sampled mechanism with motors behind gears."""
    description = samples.mechanism(name).description
    actuators = {}
    for joint, ratio in zip(description.actuated, ratios, strict=True):
        friction = description.actuators[joint].friction
        actuators[joint] = data.Actuator(
            transmission=data.Transmission(ratio=ratio), rotor_inertia=rotor, friction=friction
        )
    return Mechanism(dataclasses.replace(description, actuators=actuators))


def bare(name: str) -> Mechanism:
    """The same mechanism with motors without inertia on the joints."""
    return geared(name, [1.0] * 6, rotor=0.0)


@pytest.mark.parametrize('name', RATIOS)
def test_motors_do_the_work_that_joints_need(name: str) -> None:
    """Generalised forces agree with motors on the joints, with rotors' inertia added by hand."""
    ratios = np.array(RATIOS[name])
    mechanism, plain = geared(name, RATIOS[name]), bare(name)
    for state in samples.states(name, 8, seed=71):
        effort, expected = mechanism.feedforward(*state), plain.feedforward(*state)
        jacobian = plain.jacobian_actuated_from_independent(plain.solve(state.y))
        rotors = jacobian.T @ (ratios**2 * ROTOR * expected.acceleration)
        needed = jacobian.T @ expected.actuated + rotors
        assert (
            samples.relative_error((ratios[:, None] * jacobian).T @ effort.actuated, needed) < 1e-9
        )
        for field in ('position', 'velocity', 'acceleration'):
            value, true = getattr(effort, field), getattr(expected, field)
            assert np.abs(value - true).max() <= 1e-12 * max(1.0, np.abs(true).max())
        assert effort.balance_residual < 1e-9


def test_the_least_torques_are_the_motors() -> None:
    """Least norm of motor torques: the pseudo-inverse of the geared Jacobian."""
    mechanism, ratios = geared('masticator', RATIOS['masticator']), RATIOS['masticator']
    for state in samples.states('masticator', 8, seed=72):
        effort = mechanism.feedforward(*state)
        motors = np.diag(ratios) @ mechanism.jacobian_actuated_from_independent(effort)
        least = np.linalg.pinv(motors.T) @ (motors.T @ effort.actuated)
        assert samples.relative_error(effort.actuated, least) < 1e-9


@pytest.mark.parametrize('goal', ['joint-force', 'contact-force', 'power'])
def test_what_gears_do_not_change(goal: str) -> None:
    """Joint forces, contact forces and powers do not depend on massless gears."""
    mechanism, plain = geared('masticator', RATIOS['masticator'], rotor=0.0), bare('masticator')
    for state in samples.states('masticator', 4, seed=73):
        for friction in (False, True):
            effort = mechanism.feedforward(*state, goal=goal, friction=friction)
            expected = plain.feedforward(*state, goal=goal, friction=friction)
            at_joints = effort.actuated * RATIOS['masticator']
            assert samples.relative_error(at_joints, expected.actuated) < 1e-9
            assert samples.relative_error(effort.contact, expected.contact) < 1e-9
            taken = effort.friction * RATIOS['masticator']
            assert samples.relative_error(taken, expected.friction) < 1e-9


def test_load_inertia_is_the_motors() -> None:
    """Inertia in actuated space is divided by the ratios squared; rotors count unchanged."""
    ratios = np.array(RATIOS['rcid'])
    mechanism, plain = geared('rcid', RATIOS['rcid']), bare('rcid')
    y = samples.states('rcid', 1, seed=74)[0].y
    inertia = mechanism.actuated_inertia(mechanism.solve(y))
    expected = plain.actuated_inertia(plain.solve(y)) / np.outer(ratios, ratios)
    assert samples.relative_error(inertia, expected + ROTOR * np.eye(6)) < 1e-12


def test_kinetic_energy_at_the_motors() -> None:
    """Half of motor velocities times inertia times motor velocities, for any motion."""
    ratios = np.array(RATIOS['rcid'])
    mechanism, oracle = geared('rcid', RATIOS['rcid'], rotor=0.0), samples.oracle('rcid')
    order = [mechanism.tree_joints.index(joint) for joint in oracle.joint_names]
    for y, y_dot, _, _ in samples.states('rcid', 4, seed=75):
        motion = mechanism.solve(y, y_dot)
        motors = ratios * motion.velocity
        energy = 0.5 * motors @ mechanism.actuated_inertia(motion) @ motors
        expected = oracle.energy(motion.q[order], motion.v[order])[0]
        assert abs(energy - expected) < 1e-9 * expected


def test_effort_limits_are_the_motors() -> None:
    """The URDF's limit is that of the joint; with a gear of 5, the motor's is a fifth of it."""
    mechanism, plain = geared('masticator', [5.0] * 6), samples.mechanism('masticator')
    assert np.allclose(mechanism.effort_limits * 5.0, plain.effort_limits)
    assert geared('rcid', [100.0] * 6).effort_units == ('N m',) * 6
    assert samples.mechanism('rcid').effort_units == ('N',) * 6


@pytest.mark.parametrize(
    ('transmission', 'complaint'),
    [
        ({}, "either 'ratio' or 'lead'"),
        ({'ratio': 2.0, 'lead': 0.01}, "either 'ratio' or 'lead'"),
        ({'ratio': 0.0}, 'would not move'),
        ({'lead': -0.01}, 'greater than 0'),
        ({'lead': 0.01}, 'drives a prismatic joint'),
        ({'pitch': 0.01}, 'unknown key'),
    ],
)
def test_bad_transmissions_are_refused(
    tmp_path: pathlib.Path, transmission: dict[str, float], complaint: str
) -> None:
    """The message names the actuator."""
    file = samples.file_of('masticator')
    content = yaml.safe_load(file.read_text())
    content['urdf'] = str((file.parent / content['urdf']).resolve())
    content['actuators']['crank_2'] = {'transmission': transmission}
    copy = tmp_path / 'geared.yaml'
    copy.write_text(yaml.safe_dump(content))
    with pytest.raises(DescriptionError, match=complaint) as caught:
        Mechanism.load(copy)
    assert 'actuators.crank_2.transmission' in str(caught.value)


def test_a_screw_is_a_ratio() -> None:
    """A screw's joint moves by one lead per turn of the motor."""
    actuator = data.Actuator(transmission=data.Transmission(lead=0.01), rotor_inertia=1e-4)
    assert math.isclose(actuator.ratio, 2.0 * math.pi / 0.01)
    assert math.isclose(actuator.joint_inertia, 1e-4 * (2.0 * math.pi / 0.01) ** 2)
