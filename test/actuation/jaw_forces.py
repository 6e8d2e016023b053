# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The masticator with friction, by hand: all forces as functions of the contact multipliers.

Kinematics come from the hand-written oracle; forces from the balance of each body, with S1's
friction at cranks and condyles. Does not use the code under test.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import scipy.optimize
from oracles import rss_oracle as rss

Array = npt.NDArray[np.float64]

# S1 Table 2 and Sec. 4.2; the viscous joint term is 15 mm * 0.03 g/s * 1 mm.
COULOMB, RADIUS, JOINT_VISCOUS = 0.02, 0.015, 4.5e-10
CONTACT_COULOMB, CONTACT_VISCOUS = 0.02, 3.0e-5
CRANK_MASS = np.array([0.0702, 0.0702, 0.0702, 0.0702, 0.15669, 0.15669])


class JawForces:
    """Efforts and forces of one state for any contact multipliers F_Z (2,) or none (0,)."""

    def __init__(self, name: str, state: tuple[Array, Array, Array, Array], friction: bool):
        y, y_dot, y_ddot, wrench = state
        self.oracle = rss.RssOracle(name)
        self.friction = friction
        base = self.oracle.inverse_dynamics(y, y_dot, y_ddot, wrench)
        platform, self.theta_dot, self.theta_ddot = base.platform, base.theta_dot, base.theta_ddot
        crank, self.lever = self.oracle._crank_vectors(base.theta)
        joints, _, joints_ddot = platform.point(rss.PLATFORM_JOINTS)
        self.axis = (joints - rss.CRANK_SHAFTS - crank) / self.oracle.coupler_length[:, None]
        pins_ddot = self.theta_ddot[:, None] * self.lever - self.theta_dot[:, None] ** 2 * crank
        known, total = self.oracle._coupler_loads(self.axis, pins_ddot, joints_ddot)
        self.pin_known = total - known
        self.arms = joints - platform.pose[:3]
        needed = rss._mandible_load(platform) - wrench + rss._resultant(self.arms, known)
        count = 2 if name == 'masticator' else 0
        points, self.slip, _ = (part[:count] for part in platform.point(rss.CONDYLES))
        self.condyle_arms = points - platform.pose[:3]
        axial_map = -rss._wrench_columns(self.arms, self.axis)
        units = np.eye(3 * count).reshape(3 * count, count, 3)
        carried = [rss._resultant(self.condyle_arms, unit) for unit in units]
        # Forces along the couplers: without contact forces, and by each component of these.
        self.axial = np.linalg.solve(axial_map, needed)
        self.axial_by_contact = np.linalg.solve(axial_map, np.reshape(carried, (3 * count, 6)).T)

    def contact_friction(self, multipliers: Array) -> Array:
        """Friction force (2, 3) of the sockets on the mandible, against its slip."""
        if not self.friction:
            return np.zeros((len(multipliers), 3))
        speed = np.linalg.norm(self.slip, axis=1)
        coulomb = CONTACT_COULOMB * np.sqrt(rss.P1**2 + 1.0) * np.abs(multipliers)
        per_speed = np.divide(coulomb, speed, out=np.zeros_like(speed), where=speed > 0.0)
        return -(per_speed + CONTACT_VISCOUS)[:, None] * self.slip

    def pin_force(self, multipliers: Array, rubbing: Array | None = None) -> Array:
        """Force (6, 3) of the cranks on the couplers; ``rubbing`` replaces the friction."""
        if rubbing is None:
            rubbing = self.contact_friction(multipliers)
        forces = np.outer(multipliers, rss.CONTACT_NORMAL) + rubbing
        axial = self.axial - self.axial_by_contact @ forces.ravel()
        return self.pin_known - axial[:, None] * self.axis

    def joint_friction(self, pin_force: Array) -> Array:
        """Friction torques (6,) of the cranks' bearings."""
        if not self.friction:
            return np.zeros(6)
        shaft = pin_force + CRANK_MASS[:, None] * np.array([0.0, 0.0, 9.8])
        along = np.sum(shaft * self.oracle.crank_z, axis=1)
        across = np.linalg.norm(shaft - along[:, None] * self.oracle.crank_z, axis=1)
        coulomb = RADIUS * COULOMB * np.sign(self.theta_dot) * across
        return coulomb + JOINT_VISCOUS * self.theta_dot

    def torque(self, pin_force: Array) -> Array:
        """Torques (6,) of the cranks."""
        driving = rss.CRANK_INERTIA * self.theta_ddot + np.sum(self.lever * pin_force, axis=1)
        return self.joint_friction(pin_force) + driving

    def terms(self, multipliers: Array, goals: Mapping[str, float]) -> Array:
        """Terms of a weighted sum of goals, stacked, so that their norm is the objective."""
        pin_force = self.pin_force(multipliers)
        torque = self.torque(pin_force)
        rates = self.theta_dot**2
        power = np.sqrt(rates + 1e-6 * rates.max()) if rates.max() > 0.0 else np.ones(6)
        parts = {
            'torque': torque, 'power': power * torque, 'joint-force': pin_force.ravel(),
            'contact-force': multipliers,
        }  # fmt: skip
        return np.concatenate([np.sqrt(weight) * parts[goal] for goal, weight in goals.items()])

    def norm(self, multipliers: Array, goals: Mapping[str, float]) -> float:
        """Objective at contact multipliers."""
        return float(np.linalg.norm(self.terms(multipliers, goals)))


def least_norm(terms: Callable[[Array], Array], scale: float) -> float:
    """Smallest norm over all multipliers by brute force: quadrants, half axes and the origin.

    Within a quadrant the forces are smooth, so bounded least squares converges from its inside.
    """
    best = float(np.linalg.norm(terms(np.zeros(2))))
    for signs in map(np.array, itertools.product((1.0, -1.0), repeat=2)):
        for start in ([1.0, 1.0], [1e-3, 1.0], [1.0, 1e-3]):
            found = scipy.optimize.least_squares(
                lambda x, s=signs: terms(s * x), scale * np.array(start),
                bounds=(0.0, np.inf), xtol=1e-14, ftol=1e-14, gtol=1e-14,
            )  # fmt: skip
            best = min(best, float(np.linalg.norm(found.fun)))
    for ray in (*np.eye(2), *-np.eye(2)):
        found = scipy.optimize.minimize_scalar(
            lambda x, d=ray: float(np.linalg.norm(terms(x * d))),
            bounds=(0.0, 10.0 * scale), method='bounded', options={'xatol': 1e-12 * scale},
        )  # fmt: skip
        best = min(best, float(found.fun))
    return best
