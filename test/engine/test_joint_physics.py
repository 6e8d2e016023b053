# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Springs, damping and dry friction of joints, checked by energy, power and MuJoCo."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
import samples
from forward import Forward

from masticator_dynamics import Mechanism
from masticator_dynamics.description import description_from_text, load_description
from masticator_dynamics.description.data import JointPhysics
from masticator_dynamics.description.loader import shipped_mechanisms
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.mjcf_export import export_mjcf

NAMES = ('five_bar', 'boom', 'masticator')


def physics(name: str) -> dict[str, JointPhysics]:
    """A spring, damping and dry friction in two of every three joints."""
    joints = samples.mechanism(name).tree_joints
    return {
        joint: JointPhysics(stiffness=3.0 + k, reference=0.2 - 0.1 * k, damping=0.3, friction=0.5)
        for k, joint in enumerate(joints)
        if k % 3 != 1
    }


def sprung(name: str) -> Mechanism:
    """A mechanism with springs and losses in joints, and no other friction."""
    description = load_description(samples.file_of(name))
    actuators = {
        joint: actuator.__class__(
            transmission=actuator.transmission, rotor_inertia=actuator.rotor_inertia
        )
        for joint, actuator in description.actuators.items()
    }
    contacts = tuple(
        contact.__class__(name=contact.name, frame=contact.frame, normal=contact.normal,
                          offset=contact.offset)
        for contact in description.contacts
    )  # fmt: skip
    return Mechanism(
        dataclasses.replace(
            description, joints=physics(name), actuators=actuators, contacts=contacts
        )
    )


def stored(mechanism: Mechanism, y: samples.Array) -> float:
    """Energy (J) of the springs at a pose."""
    q = dict(zip(mechanism.tree_joints, mechanism.solve(y).q, strict=True))
    springs = mechanism.description.joints.items()
    return sum(0.5 * s.stiffness * (q[joint] - s.reference) ** 2 for joint, s in springs)


def lost(mechanism: Mechanism, v: samples.Array) -> float:
    """Power (W) of damping and dry friction."""
    rates = dict(zip(mechanism.tree_joints, v, strict=True))
    joints = mechanism.description.joints.items()
    return sum(p.damping * rates[j] ** 2 + p.friction * abs(rates[j]) for j, p in joints)


def power(mechanism: Mechanism, effort) -> float:
    """Power (W) of the motors."""
    return float(effort.actuated @ (effort.velocity * mechanism.transmission_ratios))


@pytest.mark.parametrize('name', NAMES)
def test_springs_are_bent_by_the_motors(name: str) -> None:
    with_springs, without = sprung(name), samples.mechanism(name)
    assert with_springs.kernels.available
    for state in samples.states(name, 3, seed=51):
        given = state.y, state.y_dot, state.y_ddot
        effort, plain = with_springs.feedforward(*given), without.feedforward(*given)
        step = 1e-3 / np.linalg.norm(state.y_dot)
        rate = samples.five_point(
            lambda t, y=state.y, d=state.y_dot: stored(with_springs, y + t * d), step
        )
        assert power(with_springs, effort) - power(without, plain) == pytest.approx(
            rate, rel=1e-6, abs=1e-7
        )
        engine = with_springs.feedforward(*given, goal={'torque': 1.0})
        assert samples.relative_error(engine.actuated, effort.actuated) < 1e-9
        assert effort.balance_residual < 1e-9 * max(np.abs(effort.actuated).max(), 1.0)


@pytest.mark.parametrize('name', NAMES)
def test_losses_are_paid_for_by_the_motors_and_only_with_friction(name: str) -> None:
    mechanism = sprung(name)
    for state in samples.states(name, 3, seed=52):
        given = state.y, state.y_dot, state.y_ddot
        smooth, rubbed = mechanism.feedforward(*given), mechanism.feedforward(*given, friction=True)
        more = power(mechanism, rubbed) - power(mechanism, smooth)
        assert more == pytest.approx(lost(mechanism, rubbed.v), rel=1e-9)
        still = mechanism.feedforward(state.y, friction=True).actuated
        at_rest = mechanism.feedforward(state.y).actuated
        assert samples.relative_error(still, at_rest) < 1e-9


@pytest.mark.parametrize('name', ['five_bar', 'boom'])
def test_motors_power_becomes_energy_and_heat(name: str) -> None:
    mechanism = sprung(name)
    twin = Forward(mechanism, friction=True)
    idle = np.zeros((1, len(mechanism.actuated)))

    def energy(y: samples.Array, y_dot: samples.Array) -> float:
        twin.run(np.concatenate([y, y_dot]), idle)
        return float(twin.field('report')[:2].sum())

    for state in samples.states(name, 3, seed=53):
        y, y_dot, y_ddot = state.y, state.y_dot, state.y_ddot
        effort = mechanism.feedforward(y, y_dot, y_ddot, friction=True)
        found = twin(y, y_dot, effort.actuated).y_ddot
        assert found == pytest.approx(y_ddot, rel=1e-6, abs=1e-6 * np.abs(y_ddot).max())
        rate = samples.five_point(
            lambda t, y=y, d=y_dot, a=y_ddot: energy(y + t * d + 0.5 * t * t * a, d + t * a), 1e-3
        )
        given = power(mechanism, effort)
        assert given - lost(mechanism, effort.v) == pytest.approx(rate, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize('name', NAMES)
def test_mujoco_has_the_same_springs_and_losses(name: str) -> None:
    mujoco = pytest.importorskip('mujoco', reason='the outside check needs MuJoCo')
    mechanism = sprung(name)
    model = mujoco.MjModel.from_xml_string(export_mjcf(mechanism.description).text)
    data, (state, *_) = mujoco.MjData(model), samples.states(name, 1, seed=54)
    motion = mechanism.solve(state.y, state.y_dot)
    at = [model.joint(joint).id for joint in mechanism.tree_joints]
    data.qpos[model.jnt_qposadr[at]], data.qvel[model.jnt_dofadr[at]] = motion.q, motion.v
    mujoco.mj_forward(model, data)
    passive = data.qfrc_passive[model.jnt_dofadr[at]]
    dry = model.dof_frictionloss[model.jnt_dofadr[at]]
    for k, joint in enumerate(mechanism.tree_joints):
        own = mechanism.description.joints.get(joint, JointPhysics(damping=0.0, friction=0.0))
        spring = own.stiffness * (own.reference - motion.q[k])
        assert passive[k] == pytest.approx(spring - own.damping * motion.v[k], abs=1e-10)
        assert dry[k] == own.friction


def test_urdf_and_yaml() -> None:
    file = samples.file_of('ladder')
    yaml, urdf = file.read_text(), file.with_suffix('.urdf').read_text()
    joint = load_description(file).tree.joints[0].name
    start = urdf.index(f'name="{joint}"')
    end = urdf.index('</joint>', start)
    urdf = f'{urdf[:end]}<dynamics damping="0.1" friction="0.2"/>{urdf[end:]}'
    read = description_from_text(file, yaml, urdf).joints
    assert read == {joint: JointPhysics(damping=0.1, friction=0.2)}
    text = f'{yaml}\njoints: {{{joint}: {{damping: 0.3, stiffness: 2.0}}}}\n'
    read = description_from_text(file, text, urdf).joints
    assert read == {joint: JointPhysics(stiffness=2.0, damping=0.3, friction=0.2)}
    for text, words in (
        (f'{yaml}\njoints: {{nowhere: {{damping: 0.3}}}}\n', "joint 'nowhere' does not exist"),
        (f'{yaml}\njoints: {{{joint}: {{damping: -1.0}}}}\n', f'joints.{joint}.damping'),
    ):
        with pytest.raises(DescriptionError, match=words):
            description_from_text(file, text, urdf)


def test_the_papers_mechanisms_have_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        assert not any(load_description(name).joints for name in shipped_mechanisms())
