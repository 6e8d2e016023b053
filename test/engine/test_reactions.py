# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every body as a free body: joints, loops, contacts, weight and wrench explain its motion.

Masses are read from the URDF text, and accelerations are time derivatives of frame twists;
neither is taken from the engine.
"""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest
import samples

TOLERANCE = 1e-7


def _vector(element, name: str, default: str = '0 0 0') -> samples.Array:
    text = default if element is None else element.get(name, default)
    return np.array([float(part) for part in text.split()])


def _rpy(roll: float, pitch: float, yaw: float) -> samples.Array:
    def turn(axis: int, angle: float) -> samples.Array:
        i, j = [k for k in range(3) if k != axis]
        matrix = np.eye(3)
        sign = -1.0 if axis == 1 else 1.0
        matrix[i, i] = matrix[j, j] = np.cos(angle)
        matrix[i, j], matrix[j, i] = -sign * np.sin(angle), sign * np.sin(angle)
        return matrix

    return turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)


@dataclasses.dataclass
class Urdf:
    """Joints and inertias of a URDF text."""

    joints: dict  # name: (type, parent, child, axis)
    inertias: dict  # link: (mass, centre, inertia about it in link axes)

    @classmethod
    def of(cls, text: str) -> Urdf:
        root = ElementTree.fromstring(text)
        joints = {
            j.get('name'): (
                j.get('type'), j.find('parent').get('link'), j.find('child').get('link'),
                _vector(j.find('axis'), 'xyz', '1 0 0'),
            )
            for j in root.findall('joint')
        }  # fmt: skip
        inertias = {}
        for link in root.findall('link'):
            inertial = link.find('inertial')
            if inertial is None:
                continue
            i = {k: float(v) for k, v in inertial.find('inertia').attrib.items()}
            tensor = np.array([
                [i['ixx'], i['ixy'], i['ixz']],
                [i['ixy'], i['iyy'], i['iyz']],
                [i['ixz'], i['iyz'], i['izz']],
            ])  # fmt: skip
            turn = _rpy(*_vector(inertial.find('origin'), 'rpy'))
            inertias[link.get('name')] = (
                float(inertial.find('mass').get('value')),
                _vector(inertial.find('origin'), 'xyz'),
                turn @ tensor @ turn.T,
            )
        return cls(joints, inertias)

    def carrier(self, link: str) -> str | None:
        """The moving joint whose body a link belongs to; None for the base."""
        for name, (kind, parent, child, _) in self.joints.items():
            if child == link:
                return self.carrier(parent) if kind == 'fixed' else name
        return None


def _acceleration(name: str, state: samples.State, link: str):
    """Angular velocity, linear and angular acceleration of a link's frame, base axes."""
    mechanism = samples.mechanism(name)

    def twist(t: float) -> samples.Array:
        motion = mechanism.solve(state.y + t * state.y_dot + 0.5 * t * t * state.y_ddot)
        return mechanism.frame_jacobian(motion, link) @ (state.y_dot + t * state.y_ddot)

    rate = samples.five_point(twist, 1e-4)
    return twist(0.0)[3:], rate[:3], rate[3:]


def _imbalances(name: str, state: samples.State) -> dict[str, tuple[float, float]]:
    """Imbalance of force (N) and moment (N m) of each body, by the joint that carries it."""
    mechanism = samples.mechanism(name)
    description = mechanism.description
    urdf = Urdf.of(description.urdf_xml)
    effort = mechanism.feedforward(*state)
    reactions = effort.joint_reaction
    lacking = {joint: np.zeros(6) for joint in mechanism.tree_joints}  # about the base's origin

    def act(carrier: str | None, force, point, torque=(0.0, 0.0, 0.0)) -> None:
        if carrier is not None:
            lacking[carrier] += np.concatenate([force, np.asarray(torque) + np.cross(point, force)])

    def position(frame: str) -> samples.Array:
        return mechanism.frame_pose(effort, frame).position

    for row, joint in enumerate(mechanism.tree_joints):
        _, parent, child, _ = urdf.joints[joint]
        force, torque = reactions[row, :3], reactions[row, 3:]
        act(joint, force, position(child), torque)
        act(urdf.carrier(parent), -force, position(child), -torque)
    for closure, force in zip(description.closures, effort.loop_force, strict=True):
        first, second = closure.frames
        act(urdf.carrier(second), force, position(second))
        act(urdf.carrier(first), -force, position(first))
    for contact, multiplier in zip(description.contacts, effort.contact, strict=True):
        act(urdf.carrier(contact.frame), multiplier * np.array(contact.normal),
            position(contact.frame))  # fmt: skip
    act(urdf.carrier(description.platform), state.wrench[:3], position(description.platform),
        state.wrench[3:])  # fmt: skip
    for link, (mass, centre, inertia) in urdf.inertias.items():
        carrier = urdf.carrier(link)
        if carrier is None:
            continue
        pose = mechanism.frame_pose(effort, link)
        omega, linear, angular = _acceleration(name, state, link)
        arm = pose.rotation @ centre
        acceleration = linear + np.cross(angular, arm) + np.cross(omega, np.cross(omega, arm))
        tensor = pose.rotation @ inertia @ pose.rotation.T
        needed = mass * (acceleration - np.array(description.gravity))
        spin = tensor @ angular + np.cross(omega, tensor @ omega)
        act(carrier, -needed, pose.position + arm, -spin)
    scale = max(np.abs(reactions).max(), np.abs(state.wrench).max(), 1.0)
    return {
        joint: (np.abs(value[:3]).max() / scale, np.abs(value[3:]).max() / scale)
        for joint, value in lacking.items()
    }


@pytest.mark.parametrize('moving', [False, True], ids=['at rest', 'moving'])
@pytest.mark.parametrize('name', samples.NAMES)
def test_every_body_is_in_balance(name: str, moving: bool) -> None:
    state = samples.states(name, 1, seed=51)[0]
    if not moving:
        state = dataclasses.replace(state, y_dot=0.0 * state.y_dot, y_ddot=0.0 * state.y_ddot)
    for joint, (force, moment) in _imbalances(name, state).items():
        assert force < TOLERANCE, joint
        assert moment < TOLERANCE, joint


@pytest.mark.parametrize('name', samples.NAMES)
def test_the_component_along_a_joint_is_its_effort(name: str) -> None:
    """Motors supply it, minus the part for their rotors; all other joints are free."""
    mechanism = samples.mechanism(name)
    joints = Urdf.of(mechanism.description.urdf_xml).joints
    for state in samples.states(name, 4, seed=52):
        effort = mechanism.feedforward(*state)
        reactions = effort.joint_reaction
        scale = np.abs(reactions).max()
        at_joints = effort.actuated * mechanism.transmission_ratios
        supplied = dict(zip(mechanism.actuated, at_joints, strict=True))
        for row, joint in enumerate(mechanism.tree_joints):
            kind, _, child, axis = joints[joint]
            axis = mechanism.frame_pose(effort, child).rotation @ (axis / np.linalg.norm(axis))
            along = axis @ (reactions[row, :3] if kind == 'prismatic' else reactions[row, 3:])
            motor = supplied.get(joint, 0.0)
            if joint in supplied:
                rotor = mechanism.description.actuators[joint].joint_inertia
                motor -= rotor * effort.a[row]
            assert along == pytest.approx(motor, abs=1e-10 * scale)


@pytest.mark.parametrize('name', ['masticator', 'rss6', 'rcid', 'five_bar'])
def test_the_joints_that_only_measure_the_platform_carry_nothing(name: str) -> None:
    """Limbs, sockets and environment hold the platform; its coordinate joints are no bearings.

    Forces out of its plane are carried by the five-bar's sliding joints.
    """
    mechanism = samples.mechanism(name)
    joints = Urdf.of(mechanism.description.urdf_xml).joints
    platform = [j for j in mechanism.tree_joints if joints[j][2] == mechanism.description.platform]
    for state in samples.states(name, 4, seed=53):
        effort = mechanism.feedforward(*state)
        carried = effort.joint_reaction[mechanism.tree_joints.index(platform[0])]
        if name == 'five_bar':
            carried = carried[:2]
        assert np.abs(carried).max() < 1e-9 * np.abs(effort.joint_reaction).max()


def test_the_jaw_is_a_free_body() -> None:
    """Six rods, two sockets, food and weight, with S1's mass and points typed in here."""
    mechanism = samples.mechanism('masticator')
    for y, y_dot, y_ddot, wrench in samples.states('masticator', 4, seed=54):
        effort = mechanism.feedforward(y, y_dot, y_ddot, wrench)
        state = samples.State(y, y_dot, y_ddot, wrench)
        _, acceleration, _ = _acceleration('masticator', state, 'mandible')
        sockets = effort.contact[:, None] * np.array([1.1, 0.0, 1.0])
        force = effort.loop_force.sum(axis=0) + sockets.sum(axis=0) + wrench[:3]
        needed = 0.34022 * (acceleration + np.array([0.0, 0.0, 9.8]))
        assert samples.relative_error(force, needed, floor=10.0) < 1e-8


def test_single_results_only() -> None:
    mechanism = samples.mechanism('five_bar')
    batch = mechanism.feedforward_batch([[0.0, 0.3], [0.0, 0.31]])
    with pytest.raises(ValueError, match='single'):
        _ = batch.joint_reaction
