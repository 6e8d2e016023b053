# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small mechanisms for tests, and checks for mechanisms with closures of any type."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import samples
import yaml
from forward import JUMP, Forward

from masticator_dynamics import Mechanism

Vector = Sequence[float]


@dataclasses.dataclass(frozen=True)
class Part:
    """A link and the joint that carries it; without mass by default."""

    link: str
    parent: str
    at: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    kind: str = 'revolute'
    turn: Vector = (0.0, 0.0, 0.0)
    mass: float = 0.0
    center: Vector = (0.0, 0.0, 0.0)

    @property
    def joint(self) -> str:
        """Name of the joint."""
        return f'{self.link}_joint'


def frame(link: str, parent: str, at: Vector, turn: Vector = (0.0, 0.0, 0.0)) -> Part:
    """A link without mass, fixed to another."""
    return Part(link, parent, at, kind='fixed', turn=turn)


def urdf(base: str, parts: Sequence[Part]) -> str:
    """URDF text of a tree of parts."""

    def text(numbers: Vector) -> str:
        return ' '.join(repr(float(number)) for number in numbers)

    lines = [f'<robot name="linkage"><link name="{base}"/>']
    for part in parts:
        lines.append(f'<link name="{part.link}">')
        if part.mass:
            # A body that is about 0.1 m in size, with products of inertia.
            inertia = {
                'ixx': 0.9, 'iyy': 1.1, 'izz': 1.3, 'ixy': 0.1, 'ixz': -0.05, 'iyz': 0.07,
            }  # fmt: skip
            lines.append(
                f'<inertial><origin xyz="{text(part.center)}"/><mass value="{part.mass}"/><inertia '
                + ' '.join(f'{k}="{1e-2 * part.mass * v!r}"' for k, v in inertia.items())
                + '/></inertial>'
            )
        lines.append(
            f'</link><joint name="{part.joint}" type="{part.kind}"><parent link="{part.parent}"/>'
            f'<child link="{part.link}"/><origin xyz="{text(part.at)}" rpy="{text(part.turn)}"/>'
            f'<axis xyz="{text(part.axis)}"/>'
            '<limit lower="-9" upper="9" velocity="99" effort="999"/></joint>'
        )
    return '\n'.join([*lines, '</robot>'])


def write(
    folder: pathlib.Path, parts: Sequence[Part], name: str = 'linkage', **keys: Any
) -> pathlib.Path:
    """Description files of a mechanism in a folder; platform is the last link with mass."""
    base = keys.setdefault('base', 'ground')
    if 'platform' not in keys:
        keys['platform'] = [part.link for part in parts if part.mass][-1]
    keys.setdefault('gravity', [0.5, -9.0, -2.0])
    (folder / f'{name}.urdf').write_text(urdf(base, parts), encoding='utf-8')
    file = folder / f'{name}.yaml'
    content = {'schema': 1, 'name': name, 'urdf': f'{name}.urdf', **keys}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
    return file


def crank_and_rod(side: str, at: Vector, parent: str, crank: Vector, rod: Vector) -> list[Part]:
    """A limb in a plane normal to Z: a crank, a rod at its end, and the rod's tip."""
    half = [tuple(0.5 * x for x in vector) for vector in (crank, rod)]
    return [
        Part(f'crank_{side}', parent, at, mass=0.8, center=half[0]),
        Part(f'rod_{side}', f'crank_{side}', crank, mass=0.6, center=half[1]),
        frame(f'tip_{side}', f'rod_{side}', rod),
    ]


def states(mechanism: Mechanism, count: int, spread: float, seed: int) -> list[samples.State]:
    """Moving, loaded states about home."""
    rng, freedoms = np.random.default_rng(seed), len(mechanism.independent)
    return [
        samples.State(
            mechanism.home.y + rng.uniform(-spread, spread, freedoms),
            rng.normal(size=freedoms),
            3.0 * rng.normal(size=freedoms),
            rng.normal(size=6) * [9.0, 9.0, 9.0, 1.0, 1.0, 1.0],
        )
        for _ in range(count)
    ]


def check_rates(mechanism: Mechanism, state: samples.State) -> None:
    """Check velocities, accelerations and tangent against derivatives of positions."""
    y, y_dot, y_ddot, _ = state

    def at(t: float) -> Any:
        return mechanism.solve(y + t * y_dot + 0.5 * t * t * y_ddot, y_dot + t * y_ddot)

    motion = mechanism.solve(y, y_dot, y_ddot)
    assert samples.relative_error(motion.v, samples.five_point(lambda t: at(t).q, 1e-4)) < 1e-8
    assert samples.relative_error(motion.a, samples.five_point(lambda t: at(t).v, 1e-4)) < 1e-8
    assert samples.relative_error(motion.tangent @ y_dot, motion.v) < 1e-12


def check_efforts(mechanism: Mechanism, state: samples.State) -> None:
    """Check the virtual work of efforts against Pinocchio's inverse dynamics of the open tree.

    The projection uses differences of positions, not the engine's Jacobians.
    """
    pin = samples.pinocchio()
    model = pin.buildModelFromXML(mechanism.description.urdf_xml)
    model.gravity = pin.Motion(np.array(mechanism.description.gravity), np.zeros(3))
    order = [mechanism.tree_joints.index(name) for name in list(model.names)[1:]]
    y, y_dot, y_ddot, wrench = state
    effort = mechanism.feedforward(y, y_dot, y_ddot, wrench)
    data = model.createData()
    load = pin.rnea(model, data, effort.q[order], effort.v[order], effort.a[order])
    platform = model.getFrameId(mechanism.description.platform)
    pin.computeJointJacobians(model, data, effort.q[order])
    axes = pin.LOCAL_WORLD_ALIGNED
    load = load - pin.computeFrameJacobian(model, data, effort.q[order], platform, axes).T @ wrench
    for k, direction in enumerate(np.eye(len(y))):
        slope = samples.five_point(lambda t, d=direction: mechanism.solve(y + t * d).q, 1e-4)
        driven = slope[mechanism.actuated_rows] @ effort.actuated
        assert abs(driven - slope[order] @ load) < 1e-8 * max(np.abs(load).max(), 1.0), k


def check_power(mechanism: Mechanism, state: samples.State) -> None:
    """Check the power of motors and environment against the gain of energy.

    Energies and the platform's velocity are Pinocchio's, of the open tree along the motion.
    """
    pin = samples.pinocchio()
    model = pin.buildModelFromXML(mechanism.description.urdf_xml)
    model.gravity = pin.Motion(np.array(mechanism.description.gravity), np.zeros(3))
    order = [mechanism.tree_joints.index(name) for name in list(model.names)[1:]]
    data = model.createData()
    y, y_dot, y_ddot, wrench = state

    def energy(t: float) -> float:
        moved = mechanism.solve(y + t * y_dot + 0.5 * t * t * y_ddot, y_dot + t * y_ddot)
        q, v = moved.q[order], moved.v[order]
        return float(
            pin.computeKineticEnergy(model, data, q, v) + pin.computePotentialEnergy(model, data, q)
        )

    effort = mechanism.feedforward(y, y_dot, y_ddot, wrench)
    pin.forwardKinematics(model, data, effort.q[order], effort.v[order])
    pin.updateFramePlacements(model, data)
    platform = model.getFrameId(mechanism.description.platform)
    twist = pin.getFrameVelocity(model, data, platform, pin.LOCAL_WORLD_ALIGNED).vector
    parts = [*(effort.actuated * effort.velocity), wrench @ twist]
    gained = float(samples.five_point(energy, 1e-4))
    assert abs(sum(parts) - gained) < 1e-7 * max(np.abs(parts).max(), 1.0)


def check_wrenches(mechanism: Mechanism, state: samples.State) -> None:
    """Check that efforts and wrenches of all constraints balance every joint of the open tree.

    Uses Pinocchio's inverse dynamics and frame Jacobians, and the frames and points in which
    results are documented to be.
    """
    pin = samples.pinocchio()
    model = pin.buildModelFromXML(mechanism.description.urdf_xml)
    model.gravity = pin.Motion(np.array(mechanism.description.gravity), np.zeros(3))
    names = list(model.names)[1:]
    order = [mechanism.tree_joints.index(name) for name in names]
    y, y_dot, y_ddot, wrench = state
    effort = mechanism.feedforward(y, y_dot, y_ddot, wrench)
    data, q = model.createData(), effort.q[order]
    load = pin.rnea(model, data, q, effort.v[order], effort.a[order])
    largest = np.abs(load).max()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)

    def act(link: str, at: samples.Array, force: samples.Array, torque: samples.Array) -> None:
        index = model.getFrameId(link)
        axes = pin.LOCAL_WORLD_ALIGNED
        arm = at - data.oMf[index].translation
        total = np.concatenate([force, torque + np.cross(arm, force)])
        load[:] -= pin.computeFrameJacobian(model, data, q, index, axes).T @ total

    def place(link: str) -> tuple[samples.Array, samples.Array]:
        pose = data.oMf[model.getFrameId(link)]
        return pose.translation, pose.rotation

    description = mechanism.description
    act(description.platform, place(description.platform)[0], wrench[:3], wrench[3:])
    for k, closure in enumerate(description.closures):
        force, torque = effort.loop_force[k], effort.loop_torque[k]
        if closure.type == 'coupling':
            assert not force.any() and not torque.any()
            load[names.index(closure.joint)] -= effort.coupling_effort[k]
            for joint, coefficients in closure.of.items():
                slope = np.polynomial.Polynomial([0.0, *coefficients]).deriv()(
                    q[names.index(joint)]
                )
                load[names.index(joint)] += slope * effort.coupling_effort[k]
            continue
        at = place(closure.frames[1])[0]
        act(closure.frames[1], at, force, torque)
        act(closure.frames[0], at, -force, -torque)
    for force, contact in zip(effort.contact_force, description.contacts, strict=True):
        at = place(contact.frame)[0]
        act(contact.frame, at, force, np.zeros(3))
        if contact.carrier is not None:
            act(contact.carrier, at, -force, np.zeros(3))
    for name, value in zip(mechanism.actuated, effort.actuated, strict=True):
        load[names.index(name)] -= value
    assert np.abs(load).max() < 1e-9 * max(largest, 1.0)


def check_forward_dynamics(mechanism: Mechanism, state: samples.State) -> None:
    """Check that the twin's forward dynamics inverts the feedforward, with and without friction."""
    for friction in (False, True):
        effort = mechanism.feedforward(*state, friction=friction)
        dynamics = Forward(mechanism, friction=JUMP if friction else False)
        found = dynamics(state.y, state.y_dot, effort.actuated, state.wrench)
        assert samples.relative_error(found.y_ddot, state.y_ddot) < 1e-9
        assert samples.relative_error(found.contact, effort.contact) < 1e-9
