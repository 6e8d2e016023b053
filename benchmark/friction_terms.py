# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques of the masticator with friction as a function of the contact multipliers, in numpy.

S1 Eq. 50: everything except the friction of the cranks is affine in F_Z and |F_Z|. Written for this
one mechanism, using motion and loads from ``numpy_method.py``.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmark.numpy_method import LimbLoads, NumpyMethod, cross
from benchmark.states import Array
from masticator_dynamics import Mechanism


@dataclasses.dataclass(frozen=True)
class FrictionTerms:
    """Terms for choosing multipliers; columns: 1, F_Z left, right, |F_Z| left, right."""

    torque: Array  # (6, 5) without the Coulomb friction of the cranks
    across: Array  # (12, 5) transverse forces on the shafts, N: six along the cranks' x, six on y
    friction_arm: Array  # (6,) Coulomb friction per transverse force, signed as the velocity, m

    def pattern(self, signs: Array) -> tuple[Array, Array]:
        """``torque`` (6, 3) and ``across`` (12, 3) for columns 1 and |F_Z|, given signs of F_Z."""
        torque, across = self.torque[:, :3].copy(), self.across[:, :3].copy()
        torque[:, 1:] = torque[:, 1:] * signs + self.torque[:, 3:]
        across[:, 1:] = across[:, 1:] * signs + self.across[:, 3:]
        return torque, across

    def torques(self, multipliers: Array) -> tuple[Array, Array]:
        """Torques (6,) at any F_Z (2,) and their derivatives (6, 2)."""
        signs = np.where(multipliers < 0.0, -1.0, 1.0)
        torque, slope = torques_of_pattern(
            *self.pattern(signs), self.friction_arm, signs * multipliers
        )
        return torque, slope * signs


def torques_of_pattern(
    torque: Array, across: Array, friction_arm: Array, amounts: Array
) -> tuple[Array, Array]:
    """Torques (6,) of a pattern of signs and their derivatives (6, 2) by ``amounts`` (|F_Z|)."""
    force = across[:, 0] + across[:, 1:] @ amounts
    x, y = force[:6], force[6:]
    length = np.sqrt(x * x + y * y)
    per_length = friction_arm / np.maximum(length, 1e-300)
    bend = (per_length * x)[:, None] * across[:6, 1:] + (per_length * y)[:, None] * across[6:, 1:]
    plain = torque[:, 0] + torque[:, 1:] @ amounts
    return plain + friction_arm * length, torque[:, 1:] + bend


class FrictionModel:
    """Builds the terms of a state, with coefficients from the description."""

    def __init__(self, mechanism: Mechanism, method: NumpyMethod):
        description, self.method = mechanism.description, method
        g = method.geometry
        links = description.tree.links
        cranks = [description.actuators[name].friction for name in description.actuated]
        contacts = [contact.friction for contact in description.contacts]
        self.crank_weight = (
            np.array([links[f'crank_{i}_link'].mass for i in range(1, 7)])[:, None] * -g.g
        )
        self.crank_axes = np.stack([g.X_C, g.Y_C])
        self.coulomb_arm = np.array([crank.coulomb * crank.radius for crank in cranks])
        self.viscous = np.array([crank.viscous for crank in cranks])
        home = mechanism.home
        sides = [mechanism.frame_pose(home, contact.frame) for contact in description.contacts]
        platform = mechanism.frame_pose(home, description.platform)
        self.condyles = np.array([s.position - platform.position for s in sides])
        self.condyles = self.condyles @ platform.rotation
        length = np.linalg.norm(self.method.sockets.normal[0])
        self.contact_coulomb = length * np.array([contact.coulomb for contact in contacts])
        self.contact_viscous = np.array([contact.viscous for contact in contacts])

    def terms(self, y: Array, y_dot: Array, y_ddot: Array, wrench: Array) -> FrictionTerms:
        """Terms of one state."""
        loads = self.method.loads(y, y_dot, y_ddot, wrench)
        wrenches = np.empty((6, 5))
        self._contact_wrenches(loads, wrenches)
        wrenches[:, 0] += loads.wrench_needed
        map_ = np.concatenate([loads.coupler, cross(loads.arm, loads.coupler)], axis=1).T
        # Axial force per length of the coupler.
        axial = np.linalg.solve(map_, wrenches)
        torque = loads.gain[:, None] * axial
        torque[:, 0] += loads.on_crank + self.viscous * loads.theta_dot
        along = np.einsum('xij,ij->xi', self.crank_axes, loads.coupler)
        across = along[:, :, None] * axial
        shaft = loads.on_pin + self.crank_weight
        across[:, :, 0] += np.einsum('xij,ij->xi', self.crank_axes, shaft)
        friction_arm = self.coulomb_arm * np.sign(loads.theta_dot)
        return FrictionTerms(torque, across.reshape(12, 5), friction_arm)

    def _contact_wrenches(self, loads: LimbLoads, wrenches: Array) -> None:
        """Wrenches (6, 5) that the couplers must supply to balance the sockets' forces."""
        twist = loads.platform.twist
        arms = self.condyles @ loads.platform.rotation.T
        slip = twist[:3] + cross(twist[3:], arms)
        speed = np.sqrt(np.einsum('ij,ij->i', slip, slip))
        forces = np.empty((5, 3))
        forces[1:3] = -self.method.sockets.normal[0]
        forces[3:] = (self.contact_coulomb / np.maximum(speed, 1e-300))[:, None] * slip
        wrenches[:3, 1:] = forces[1:].T
        wrenches[3:, 1:3] = cross(arms, forces[1:3]).T
        wrenches[3:, 3:] = cross(arms, forces[3:]).T
        viscous = self.contact_viscous[:, None] * slip
        wrenches[:3, 0] = viscous.sum(axis=0)
        wrenches[3:, 0] = cross(arms, viscous).sum(axis=0)
