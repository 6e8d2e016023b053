# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia that actuators feel, and how strongly they feel one another's (S0 Sec. 6).

Where actuators outnumber freedoms, their velocities cannot all be chosen, and "the" inertia in
actuated space needs an extension of the kinetic energy to velocities that the loops forbid. S0
takes the velocities of cranks and platform as independent of one another and lets each coupler
follow its two ends, stretching if it must; that is done here for every limb made of a driven link
and a rod. On velocities that the loops allow it is the true kinetic energy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Block
from masticator_dynamics.engine.tree import TreePoses
from masticator_dynamics.errors import ActuationError

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.results import Motion

_ON_THE_LINE = 1e-6  # of a rod's length


def actuated_inertia(mechanism: Mechanism, motion: Motion) -> FloatArray:
    """Inertia matrix M_A (n_u, n_u) in actuated space, kg m^2 or kg (S0 Eq. 62).

    Its diagonal is the load inertia of each actuator, at the motor where there is a transmission
    (S4 Sec. 3.2), the rotor's own included.

    Raises
    ------
    ActuationError
        When a redundantly actuated mechanism has a limb that is not a driven link and a rod.
    """
    poses = mechanism.structure.tree.poses(motion.q)
    jacobian = mechanism.jacobian_actuated_from_independent(motion)
    count, freedoms = jacobian.shape
    if count == freedoms:
        velocities = motion.tangent @ np.linalg.inv(jacobian)
        inertia = sum(
            (_body_inertia(poses, b, velocities) for b in range(len(mechanism.tree_joints))),
            np.zeros((count, count)),
        )
        return _at_motors(mechanism, inertia)
    actuated = mechanism.tree_indices(mechanism.actuated)
    blocks = [_limb(mechanism, joint) for joint in actuated]
    in_limbs = {j for block in blocks for j in block.joints}
    platform = motion.tangent @ np.linalg.pinv(jacobian)
    inertia = np.zeros((count, count))
    for body in range(len(mechanism.tree_joints)):
        if body not in in_limbs:
            inertia += _body_inertia(poses, body, platform)
    for i, block in enumerate(blocks):
        driven = np.zeros((len(mechanism.tree_joints), count))
        driven[block.joints[0], i] = 1.0
        inertia += _body_inertia(poses, block.joints[0], driven)
        inertia += _rod_inertia(mechanism, poses, block, driven, platform)
    return _at_motors(mechanism, inertia)


def inertia_coupling(inertia: FloatArray) -> FloatArray:
    """Inertia-coupling index MCI (n_u,) of each actuator from M_A (S0 Eq. 63)."""
    own = np.abs(np.diag(inertia))
    others = np.abs(inertia).sum(axis=1) - own
    return np.log1p(others / ((len(own) - 1) * own))


def _body_inertia(poses: TreePoses, body: int, velocities: FloatArray) -> FloatArray:
    """Inertia (n_u, n_u) of one body that moves with tree velocities (n_q, n_u)."""
    inertia = poses.tree.inertias[body]
    rotation = poses.rotations[body]
    linear = poses.point_jacobian(body, poses.point(body, inertia.center_of_mass)) @ velocities
    angular = poses.angular_jacobian(body) @ velocities
    about = rotation @ inertia.about_center @ rotation.T
    return np.asarray(inertia.mass * linear.T @ linear + angular.T @ about @ angular)


def _rod_inertia(
    mechanism: Mechanism,
    poses: TreePoses,
    block: Block,
    driven: FloatArray,
    platform: FloatArray,
) -> FloatArray:
    """Inertia of a rod whose foot moves with the driven link and whose tip with the platform.

    Both velocities are interpolated along the rod: kinetic energy
    m/2 |(1 - k) V_foot + k V_tip|^2 + I/(2 L^2) |V_tip - V_foot|^2.
    """
    structure, (first, foot, rod) = mechanism.structure, (*block.joints[:2], block.joints[-1])
    constraint = structure.constraints[block.constraints[0]]
    ends = (constraint.body_a, constraint.point_a), (constraint.body_b, constraint.point_b)
    tip, seat = ends if constraint.body_a == rod else ends[::-1]
    foot_point, tip_point = poses.origins[foot], poses.point(*tip)
    inertia = structure.tree.inertias[rod]
    along, center = tip_point - foot_point, poses.point(rod, inertia.center_of_mass) - foot_point
    length = float(np.linalg.norm(along))
    k = float(center @ along) / length**2
    if np.linalg.norm(center - k * along) > _ON_THE_LINE * length:
        raise ActuationError(
            f'{constraint.name}: the rod has its centre of mass off the line between its ends'
        )
    velocity_foot = poses.point_jacobian(first, foot_point) @ driven
    velocity_tip = poses.point_jacobian(seat[0], tip_point) @ platform
    center_velocity = (1.0 - k) * velocity_foot + k * velocity_tip
    stretch = (velocity_tip - velocity_foot) / length
    transverse = float(np.linalg.eigvalsh(inertia.about_center)[-1])
    return np.asarray(
        inertia.mass * center_velocity.T @ center_velocity + transverse * stretch.T @ stretch
    )


def _limb(mechanism: Mechanism, joint: int) -> Block:
    """The limb that an actuated joint drives: a driven link and a rod closed on the platform."""
    tree = mechanism.structure.tree
    for block in mechanism.structure.blocks:
        if joint not in block.joints:
            continue
        first, *between, rod = block.joints
        light = all(tree.inertias[j].mass == 0.0 for j in between)
        ends = mechanism.structure.constraints[block.constraints[0]]
        closed = len(block.constraints) == 1 and rod in (ends.body_a, ends.body_b)
        if joint == first and light and closed:
            return block
    raise ActuationError(
        f'{mechanism.tree_joints[joint]}: inertia in actuated space is defined for redundantly '
        'actuated mechanisms whose limbs are a driven link and a rod'
    )


def _at_motors(mechanism: Mechanism, inertia: FloatArray) -> FloatArray:
    """Inertia seen through the transmissions, and the rotors' own."""
    ratio, actuators = mechanism.transmission_ratios, mechanism.description.actuators
    rotors = np.diag([actuators[name].rotor_inertia for name in mechanism.actuated])
    return np.asarray(inertia / np.outer(ratio, ratio) + rotors)
