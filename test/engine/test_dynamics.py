# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts against an independent engine, energy and other coordinates."""

import pathlib

import numpy as np
import pytest
import samples
import yaml

from masticator_dynamics import Mechanism

POSES = 8
AGREEMENT = 1e-8


@pytest.mark.parametrize('name', samples.NAMES)
def test_agrees_with_pinocchio(name: str) -> None:
    """Positions, velocities, accelerations, tangent, efforts and contact forces."""
    oracle, mechanism = samples.oracle(name), samples.mechanism(name)
    tree = [oracle.joint_names.index(joint) for joint in mechanism.tree_joints]
    for state in samples.states(name, POSES, seed=21):
        expected = oracle.inverse_dynamics(*state)
        effort = mechanism.feedforward(*state)
        for quantity in ('q', 'v', 'a'):
            value, wanted = getattr(effort, quantity), getattr(expected.motion, quantity)[tree]
            assert samples.relative_error(value, wanted) < AGREEMENT, quantity
        assert samples.relative_error(effort.tangent, expected.motion.motion_map[tree]) < AGREEMENT
        assert samples.relative_error(effort.actuated, expected.actuated) < AGREEMENT
        assert samples.relative_error(effort.contact, expected.contact) < AGREEMENT


@pytest.mark.parametrize('name', samples.NAMES)
def test_power_balance_along_a_motion(name: str) -> None:
    """The power of motors and environment is the gain of kinetic and potential energy."""
    oracle, mechanism = samples.oracle(name), samples.mechanism(name)
    order = [mechanism.tree_joints.index(joint) for joint in oracle.joint_names]
    for y, y_dot, y_ddot, wrench in samples.states(name, POSES, seed=22):

        def energy(t: float, y=y, y_dot=y_dot, y_ddot=y_ddot) -> float:
            motion = mechanism.solve(y + t * y_dot + 0.5 * t * t * y_ddot, y_dot + t * y_ddot)
            return sum(oracle.energy(motion.q[order], motion.v[order]))

        effort = mechanism.feedforward(y, y_dot, y_ddot, wrench)
        motors = effort.actuated @ (mechanism.transmission_ratios * effort.velocity)
        platform = mechanism.frame_jacobian(effort, mechanism.description.platform)
        environment = wrench @ platform @ y_dot
        gained = float(samples.five_point(energy, 1e-4))
        scale = max(abs(motors), abs(environment), abs(gained))
        assert abs(motors + environment - gained) < 1e-7 * scale


def test_power_balance_without_an_oracle() -> None:
    """The five-bar's energy is easily written down: rods, point mass, rotors."""
    mechanism = samples.mechanism('five_bar')
    mass = {'crank': 0.3, 'rod': 0.25, 'pin': 0.5}
    rotor = 0.002

    def energy(effort) -> float:
        total = 0.0
        for leg, side in ((1, -1.0), (2, 1.0)):
            crank, elbow = (
                effort.v[mechanism.tree_joints.index(f'{kind}_{leg}')]
                for kind in ('motor', 'elbow')
            )
            for body, link, spin in (
                ('crank', np.array([side * 0.12, 0.16, 0.0]), crank),
                ('rod', np.array([-side * 0.22, 0.165, 0.0]), crank + elbow),
            ):
                pose = mechanism.frame_pose(effort, f'{body}_{leg}')
                start = mechanism.frame_jacobian(effort, f'{body}_{leg}')[:3] @ effort.y_dot
                half = pose.rotation @ link / 2.0
                middle = start + spin * np.array([-half[1], half[0], 0.0])
                inertia = mass[body] * link @ link / 12.0
                total += 0.5 * mass[body] * middle @ middle + 0.5 * inertia * spin**2
                total += mass[body] * 9.81 * (pose.position + half)[1]
            total += 0.5 * rotor * crank**2
        return total + mass['pin'] * (0.5 * effort.y_dot @ effort.y_dot + 9.81 * effort.y[1])

    for y, y_dot, y_ddot, wrench in samples.states('five_bar', POSES, seed=23):
        effort = mechanism.feedforward(y, y_dot, y_ddot, wrench)
        put_in = effort.actuated @ effort.velocity + wrench[:2] @ y_dot
        gained = samples.five_point(
            lambda t, y=y, v=y_dot, a=y_ddot: energy(
                mechanism.feedforward(y + t * v + 0.5 * t * t * a, v + t * a)
            ),
            1e-4,
        )
        assert put_in == pytest.approx(float(gained), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize('name', samples.NAMES)
def test_efforts_are_of_least_norm(name: str) -> None:
    """They are in the row space of the actuation: no part of them only strains the mechanism."""
    mechanism = samples.mechanism(name)
    for state in samples.states(name, POSES, seed=24):
        effort = mechanism.feedforward(*state)
        jacobian = samples.motor_jacobian(mechanism, effort)
        fitted = jacobian @ np.linalg.lstsq(jacobian, effort.actuated, rcond=None)[0]
        assert samples.relative_error(effort.actuated, fitted) < 1e-10


@pytest.mark.parametrize('name', samples.NAMES)
def test_inverse_dynamics_is_affine_in_acceleration_and_wrench(name: str) -> None:
    mechanism = samples.mechanism(name)
    y, y_dot, y_ddot, wrench = samples.states(name, 1, seed=25)[0]

    def effort(scale_a: float, scale_w: float) -> samples.Array:
        return mechanism.feedforward(y, y_dot, scale_a * y_ddot, scale_w * wrench).actuated

    base = effort(0.0, 0.0)
    both = effort(2.0, -3.0) - base
    parts = 2.0 * (effort(1.0, 0.0) - base) - 3.0 * (effort(0.0, 1.0) - base)
    assert np.abs(both).max() > 1e-3
    assert samples.relative_error(both, parts) < 1e-10


@pytest.mark.parametrize('name', samples.NAMES)
def test_mass_matrix_is_symmetric_and_positive(name: str) -> None:
    """Load per unit acceleration, projected onto the independent coordinates."""
    mechanism = samples.mechanism(name)
    for state in samples.states(name, POSES, seed=26):
        jacobian = samples.motor_jacobian(mechanism, mechanism.solve(state.y))
        rest = mechanism.feedforward(state.y).actuated
        columns = [
            jacobian.T @ (mechanism.feedforward(state.y, None, unit).actuated - rest)
            for unit in np.eye(len(state.y))
        ]
        mass = np.column_stack(columns)
        assert samples.relative_error(mass, mass.T) < 1e-10
        assert np.linalg.eigvalsh(mass).min() > 0.0


@pytest.mark.parametrize(
    'independent', [['motor_1', 'motor_2'], ['motor_1', 'elbow_1'], ['y', 'x']]
)
def test_efforts_do_not_depend_on_the_choice_of_coordinates(
    independent: list[str], tmp_path: pathlib.Path
) -> None:
    """The same motion of the five-bar in other joints needs the same torques."""
    data = yaml.safe_load(samples.file_of('five_bar').read_text(encoding='utf-8'))
    data['independent'] = independent
    data['urdf'] = str(samples.OWN / data['urdf'])
    file = tmp_path / 'other.yaml'
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    other, mechanism = Mechanism.load(file), samples.mechanism('five_bar')
    pick = mechanism.tree_indices(independent)
    back = other.tree_indices(mechanism.tree_joints)
    for state in samples.states('five_bar', POSES, seed=27):
        expected = mechanism.feedforward(*state)
        effort = other.feedforward(
            expected.q[pick], expected.v[pick], expected.a[pick], state.wrench
        )
        assert samples.relative_error(effort.q[back], expected.q) < 1e-10
        assert samples.relative_error(effort.a[back], expected.a) < 1e-10
        assert samples.relative_error(effort.actuated, expected.actuated) < 1e-10


def test_rotor_inertia_adds_its_acceleration_to_the_load(tmp_path: pathlib.Path) -> None:
    """The generalised load grows by the sum of J^T I u_ddot, whatever the distribution."""
    inertias = np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
    mechanism = samples.mechanism('masticator')
    data = yaml.safe_load(samples.file_of('masticator').read_text(encoding='utf-8'))
    data['urdf'] = str((samples.SHIPPED / data['urdf']).resolve())
    data['actuators'] = {
        f'crank_{i}': {'rotor_inertia': float(value)} for i, value in enumerate(inertias, start=1)
    }
    file = tmp_path / 'geared.yaml'
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    geared = Mechanism.load(file)
    for state in samples.states('masticator', POSES, seed=29):
        bare, loaded = mechanism.feedforward(*state), geared.feedforward(*state)
        jacobian = mechanism.jacobian_actuated_from_independent(bare)
        added = jacobian.T @ (loaded.actuated - bare.actuated)
        assert samples.relative_error(added, jacobian.T @ (inertias * bare.acceleration)) < 1e-9


def test_a_frame_at_rest_feels_gravity_only(tmp_path: pathlib.Path) -> None:
    """Without gravity, wrench and motion, efforts are zero; with gravity, they scale with it."""
    data = yaml.safe_load(samples.file_of('rcid').read_text(encoding='utf-8'))
    data['urdf'] = str((samples.SHIPPED / data['urdf']).resolve())
    efforts = []
    for gravity in (0.0, 4.905, 9.81):
        data['gravity'] = [0.0, 0.0, -gravity]
        file = tmp_path / f'{gravity}.yaml'
        file.write_text(yaml.safe_dump(data), encoding='utf-8')
        other = Mechanism.load(file)
        efforts.append(other.feedforward(samples.states('rcid', 1, seed=30)[0].y).actuated)
    assert np.abs(efforts[0]).max() == 0.0
    assert samples.relative_error(2.0 * efforts[1], efforts[2]) < 1e-12
    # Level at home six motors share the weight: 0.5 + 6 (0.25 + 0.05) kg.
    home = samples.mechanism('rcid').feedforward(samples.mechanism('rcid').home.y)
    assert home.actuated.sum() == pytest.approx(9.81 * 2.3, rel=1e-9)
