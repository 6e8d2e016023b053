# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Masticator and 6RSS by hand: closed-form kinematics and Newton-Euler with cut joints.

Written from the papers alone. Independent of the description files, of Pinocchio, of trees and of
constraint Jacobians: the numbers are typed from Table 1 of S1 and from S0, the parasitic motions
are the closed formulas for gamma and Z, the cranks solve A cos(theta) + B sin(theta) = C, and the
loads come from the force and moment balance of each body (the couplers' axial forces are the
unknowns), not from a projection onto the independent motions. It shares with the engine only the
parameters' values and the wrench convention (on the mandible, base axes, about its origin).

S0, S1 are the short names of Cheng et al.'s papers on the masticator; all in SI units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def _mirror(odd_points: list[list[float]]) -> Array:
    """Return points 1 to 6 in metres from points 1, 3, 5 in millimetres (even ones mirror in y)."""
    points = [(x, sign * y, z) for x, y, z in odd_points for sign in (1.0, -1.0)]
    return np.array(points) / 1000.0


# S1 Table 1: crank shafts and crank pins in {S} at home, platform joints in {M}
CRANK_SHAFTS = _mirror([[23.65, -12.25, -16.02], [40.15, -58.24, -36.24], [36.15, -61.67, 39.47]])
CRANK_PINS = _mirror([[32.19, -17.45, -16.02], [54.11, -59.47, -30.91], [23.96, -63.49, 48.02]])
PLATFORM_JOINTS = _mirror([[10.33, -40.47, -7.0], [28.61, -54.65, -51.28], [36.13, -52.46, -1.32]])
# third columns of the matrices printed in S0, Section 4: directions of the shafts
SHAFT_DIRECTIONS = np.array(
    [
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
        [0.0, 0.9743, 0.2251],
        [0.0, -0.9743, 0.2251],
        [0.0, 0.9780, 0.2085],
        [0.0, -0.9780, 0.2085],
    ]
)
# S0 Section 5.1; g·mm² to kg·m²
CRANK_INERTIA = np.array([3510.0, 3510.0, 6630.0, 6630.0, 17628.0, 17628.0]) * 1e-9
MANDIBLE_MASS = 0.34022
MANDIBLE_INERTIA = 1e-9 * np.array(
    [
        [820091.15, -26.57, -137019.15],
        [-26.57, 423459.18, -88.60],
        [-137019.15, -88.60, 818784.70],
    ]
)
COUPLER_MASS_PER_LENGTH = 7800.0 * 17.3494e-6
GRAVITY = np.array([0.0, 0.0, -9.8])
# S1 Eq. 2: the condyles stay on P1 x + z + P2 = 0
P1 = 1.1
P2 = -0.013215
CONDYLE_X = -0.0025
CONDYLE_Z = 0.013215 - P1 * CONDYLE_X
CONDYLES = np.array([[CONDYLE_X, 0.072, CONDYLE_Z], [CONDYLE_X, -0.072, CONDYLE_Z]])
CONTACT_NORMAL = np.array([P1, 0.0, 1.0])

X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)


@dataclass(frozen=True)
class PlatformMotion:
    """
    Motion of the mandible.

    Attributes
    ----------
    pose, pose_dot, pose_ddot : (6,) X, Y, Z (m), alpha, beta, gamma (rad) and time derivatives.
    rotation : (3, 3) mandible axes to base axes.
    omega, omega_dot : (3,) angular velocity and acceleration in base axes.
    """

    pose: Array
    pose_dot: Array
    pose_ddot: Array
    rotation: Array
    omega: Array
    omega_dot: Array

    def point(self, local: Array) -> tuple[Array, Array, Array]:
        """Return position, velocity, acceleration of mandible-fixed points (..., 3), base axes."""
        arm = local @ self.rotation.T
        arm_dot = np.cross(self.omega, arm)
        arm_ddot = np.cross(self.omega_dot, arm) + np.cross(self.omega, arm_dot)
        return (self.pose[:3] + arm, self.pose_dot[:3] + arm_dot, self.pose_ddot[:3] + arm_ddot)


@dataclass(frozen=True)
class RssResult:
    """
    Solution at one state.

    Attributes
    ----------
    platform : motion of the mandible.
    theta, theta_dot, theta_ddot : (6,) crank angles (rad) and derivatives.
    effort : (6,) crank torques of minimum norm, N·m.
    contact : (2,) multipliers of the plane normal (left, right), N; empty for rss6.
    pin_force : (6, 3) force of each crank on its coupler, base axes, N.
    closure_residual : largest error of a coupler length or of a contact plane, m.
    """

    platform: PlatformMotion
    theta: Array
    theta_dot: Array
    theta_ddot: Array
    effort: Array
    contact: Array
    pin_force: Array
    closure_residual: float


class RssOracle:
    """
    Inverse dynamics of the masticator (`'masticator'`) or of its free counterpart (`'rss6'`).

    Independent coordinates: x y alpha beta, or x y z alpha beta gamma.
    """

    def __init__(self, name: str) -> None:
        if name not in ('masticator', 'rss6'):
            raise ValueError(f'unknown mechanism {name!r}')
        self.name = name
        self.crank_length = np.linalg.norm(CRANK_PINS - CRANK_SHAFTS, axis=1)
        self.coupler_length = np.linalg.norm(PLATFORM_JOINTS - CRANK_PINS, axis=1)
        self.coupler_mass = COUPLER_MASS_PER_LENGTH * self.coupler_length
        self.crank_x, self.crank_y, self.crank_z = _crank_axes(self.crank_length)
        # theta = phase + branch * arccos(...) is zero at home for one sign, and stays on that
        # branch until arccos reaches zero, which is the limb's singularity
        phase, opening = self._crank_triangle(PLATFORM_JOINTS)
        self.branch = -np.sign(phase) * np.sign(opening)

    def platform_motion(self, y: ArrayLike, y_dot: ArrayLike, y_ddot: ArrayLike) -> PlatformMotion:
        """Return the mandible's motion from the independent coordinates."""
        pose, pose_dot, pose_ddot = (np.asarray(c, dtype=float) for c in (y, y_dot, y_ddot))
        if self.name == 'rss6':
            return _motion_of_pose(pose, pose_dot, pose_ddot)
        return _motion_on_condyles(pose, pose_dot, pose_ddot)

    def _crank_triangle(self, joints: Array) -> tuple[Array, Array]:
        """Return phase and opening (6,) such that theta = phase ± opening, for joints (6, 3)."""
        reach = joints - CRANK_SHAFTS
        a = 2.0 * self.crank_length * np.sum(reach * self.crank_x, axis=1)
        b = 2.0 * self.crank_length * np.sum(reach * self.crank_y, axis=1)
        c = np.sum(reach**2, axis=1) + self.crank_length**2 - self.coupler_length**2
        cosine = c / np.hypot(a, b)
        if np.any(np.abs(cosine) >= 1.0):
            raise ValueError('a limb cannot reach the mandible')
        return np.arctan2(b, a), np.arccos(cosine)

    def _cranks(self, platform: PlatformMotion) -> tuple[Array, Array, Array]:
        """Return crank angles (6,) on home's branch and their derivatives."""
        joints, joints_dot, joints_ddot = platform.point(PLATFORM_JOINTS)
        phase, opening = self._crank_triangle(joints)
        theta = phase + self.branch * opening
        theta = np.arctan2(np.sin(theta), np.cos(theta))
        crank, lever = self._crank_vectors(theta)
        coupler = joints - CRANK_SHAFTS - crank
        # coupler·coupler_dot = 0 and its derivative
        gain = np.sum(coupler * lever, axis=1)
        theta_dot = np.sum(coupler * joints_dot, axis=1) / gain
        coupler_dot = joints_dot - theta_dot[:, None] * lever
        drift = np.sum(coupler_dot**2, axis=1) + np.sum(coupler * joints_ddot, axis=1)
        theta_ddot = (drift + theta_dot**2 * np.sum(coupler * crank, axis=1)) / gain
        return theta, theta_dot, theta_ddot

    def _crank_vectors(self, theta: Array) -> tuple[Array, Array]:
        """Return shaft-to-pin vectors (6, 3) and their derivatives with respect to theta."""
        cosine, sine = np.cos(theta)[:, None], np.sin(theta)[:, None]
        length = self.crank_length[:, None]
        crank = length * (cosine * self.crank_x + sine * self.crank_y)
        return crank, np.cross(self.crank_z, crank)

    def inverse_dynamics(
        self, y: ArrayLike, y_dot: ArrayLike, y_ddot: ArrayLike, wrench: ArrayLike | None = None
    ) -> RssResult:
        """
        Return crank torques of minimum norm and contact forces.

        Parameters
        ----------
        y, y_dot, y_ddot : independent coordinates (m, rad) and derivatives.
        wrench : (6,) force and moment about the mandible's origin on the mandible, base axes.
        """
        platform = self.platform_motion(y, y_dot, y_ddot)
        theta, theta_dot, theta_ddot = self._cranks(platform)
        crank, lever = self._crank_vectors(theta)
        joints, _, joints_ddot = platform.point(PLATFORM_JOINTS)
        coupler = joints - CRANK_SHAFTS - crank
        axis = coupler / self.coupler_length[:, None]
        pins_ddot = theta_ddot[:, None] * lever - theta_dot[:, None] ** 2 * crank

        # coupler: joint_force acts at the mandible, pin_force at the crank; the axial part of
        # joint_force is unknown, `known` is the rest
        known, inertia_force = self._coupler_loads(axis, pins_ddot, joints_ddot)
        # mandible: its joints receive -(known + axial * axis), its condyles normal * contact
        arms = joints - platform.pose[:3]
        needed = _mandible_load(platform)
        if wrench is not None:
            needed = needed - np.asarray(wrench, dtype=float)
        needed = needed + _resultant(arms, known)
        axial_map = -_wrench_columns(arms, axis)
        condyle_arms = (platform.point(CONDYLES)[0] - platform.pose[:3])[: self._n_contacts]
        contact_map = _wrench_columns(condyle_arms, np.tile(CONTACT_NORMAL, (self._n_contacts, 1)))
        axial_0 = np.linalg.solve(axial_map, needed)
        axial_per_contact = -np.linalg.solve(axial_map, contact_map)

        # crank: torque = I theta_ddot + (crank × pin_force)·z, and lever·F = (crank × F)·z
        torque_0 = CRANK_INERTIA * theta_ddot + np.sum(
            lever * (inertia_force - known - axial_0[:, None] * axis), axis=1
        )
        torque_per_contact = -np.sum(lever * axis, axis=1)[:, None] * axial_per_contact
        # every contact force gives a valid set of torques; take the smallest set
        contact = -np.linalg.pinv(torque_per_contact) @ torque_0
        axial = axial_0 + axial_per_contact @ contact
        return RssResult(
            platform,
            theta,
            theta_dot,
            theta_ddot,
            effort=torque_0 + torque_per_contact @ contact,
            contact=contact,
            pin_force=inertia_force - known - axial[:, None] * axis,
            closure_residual=self._closure_residual(platform, coupler),
        )

    @property
    def _n_contacts(self) -> int:
        return 2 if self.name == 'masticator' else 0

    def _coupler_loads(
        self, axis: Array, pins_ddot: Array, joints_ddot: Array
    ) -> tuple[Array, Array]:
        """
        Return the transverse part of the mandible's force on each coupler and both forces' sum.

        A uniform rod with ends a, b has mass/2 (a_ddot + b_ddot) of momentum rate and, about its
        centre, mass/12 (b - a) × (b_ddot - a_ddot) of angular momentum rate.
        """
        mass = self.coupler_mass[:, None]
        total = mass * (0.5 * (pins_ddot + joints_ddot) - GRAVITY)
        difference = mass / 6.0 * (joints_ddot - pins_ddot)
        transverse = 0.5 * (total + difference)
        transverse = transverse - np.sum(transverse * axis, axis=1)[:, None] * axis
        return transverse, total

    def _closure_residual(self, platform: PlatformMotion, coupler: Array) -> float:
        length_error = np.linalg.norm(coupler, axis=1) - self.coupler_length
        plane_error = platform.point(CONDYLES)[0][: self._n_contacts] @ CONTACT_NORMAL + P2
        return float(np.max(np.abs(np.concatenate([length_error, plane_error]))))

    def jacobian(self, y: ArrayLike) -> Array:
        """Return d theta / d y, (6, n_y), column by column from unit velocities."""
        y = np.asarray(y, dtype=float)
        zero = np.zeros_like(y)
        columns = [self._cranks(self.platform_motion(y, unit, zero))[1] for unit in np.eye(len(y))]
        return np.array(columns).T


def _crank_axes(crank_length: Array) -> tuple[Array, Array, Array]:
    """Return the unit axes (6, 3) of the crank frames at home: x to the pin, z along the shaft."""
    x = (CRANK_PINS - CRANK_SHAFTS) / crank_length[:, None]
    z = SHAFT_DIRECTIONS - np.sum(SHAFT_DIRECTIONS * x, axis=1)[:, None] * x
    z = z / np.linalg.norm(z, axis=1)[:, None]
    return x, np.cross(z, x), z


def _rotations(alpha: float, beta: float, gamma: float) -> tuple[Array, Array, Array]:
    ca, sa, cb, sb = np.cos(alpha), np.sin(alpha), np.cos(beta), np.sin(beta)
    cg, sg = np.cos(gamma), np.sin(gamma)
    return (
        np.array([[1.0, 0.0, 0.0], [0.0, ca, -sa], [0.0, sa, ca]]),
        np.array([[cb, 0.0, sb], [0.0, 1.0, 0.0], [-sb, 0.0, cb]]),
        np.array([[cg, -sg, 0.0], [sg, cg, 0.0], [0.0, 0.0, 1.0]]),
    )


def _motion_of_pose(pose: Array, pose_dot: Array, pose_ddot: Array) -> PlatformMotion:
    """Return the motion of a platform with R = Rx(alpha) Ry(beta) Rz(gamma)."""
    about_x, about_y, about_z = _rotations(*pose[3:])
    axes = [X_AXIS, about_x @ Y_AXIS, about_x @ about_y @ Z_AXIS]
    omega, omega_dot = np.zeros(3), np.zeros(3)
    for axis, rate, rate_dot in zip(axes, pose_dot[3:], pose_ddot[3:], strict=True):
        # each axis is carried by the rotations before it, whose sum omega is so far
        omega_dot = omega_dot + rate_dot * axis + rate * np.cross(omega, axis)
        omega = omega + rate * axis
    rotation = about_x @ about_y @ about_z
    return PlatformMotion(pose, pose_dot, pose_ddot, rotation, omega, omega_dot)


def _motion_on_condyles(y: Array, y_dot: Array, y_ddot: Array) -> PlatformMotion:
    """Return the motion of a mandible whose two condyles stay on their planes."""
    gamma, gamma_dot, gamma_ddot = _parasitic_angle(y[2:], y_dot[2:], y_ddot[2:])
    pose = np.array([y[0], y[1], 0.0, y[2], y[3], gamma])
    pose_dot = np.array([y_dot[0], y_dot[1], 0.0, y_dot[2], y_dot[3], gamma_dot])
    pose_ddot = np.array([y_ddot[0], y_ddot[1], 0.0, y_ddot[2], y_ddot[3], gamma_ddot])
    # with Z = 0 for the moment, the middle of the condyles misses the plane by what Z makes good
    trial = _motion_of_pose(pose, pose_dot, pose_ddot)
    middle, middle_dot, middle_ddot = trial.point(np.array([CONDYLE_X, 0.0, CONDYLE_Z]))
    pose[2] = -(CONTACT_NORMAL @ middle + P2)
    pose_dot[2] = -CONTACT_NORMAL @ middle_dot
    pose_ddot[2] = -CONTACT_NORMAL @ middle_ddot
    return PlatformMotion(pose, pose_dot, pose_ddot, trial.rotation, trial.omega, trial.omega_dot)


def _parasitic_angle(
    angles: Array, rates: Array, accelerations: Array
) -> tuple[float, float, float]:
    """Return gamma and derivatives: tan gamma = sin a / (P1 cos b - cos a sin b), home's branch."""
    (a, b), (a_dot, b_dot), (a_ddot, b_ddot) = angles, rates, accelerations
    ca, sa, cb, sb = np.cos(a), np.sin(a), np.cos(b), np.sin(b)
    n = sa
    n_dot = ca * a_dot
    n_ddot = ca * a_ddot - sa * a_dot**2
    d = P1 * cb - ca * sb
    d_a, d_b = sa * sb, -P1 * sb - ca * cb
    d_aa, d_ab, d_bb = ca * sb, sa * cb, -P1 * cb + ca * sb
    d_dot = d_a * a_dot + d_b * b_dot
    d_ddot = (
        d_a * a_ddot + d_b * b_ddot + d_aa * a_dot**2 + 2.0 * d_ab * a_dot * b_dot + d_bb * b_dot**2
    )
    square = n**2 + d**2
    gamma_dot = (d * n_dot - n * d_dot) / square
    square_dot = 2.0 * (n * n_dot + d * d_dot)
    gamma_ddot = (d * n_ddot - n * d_ddot - gamma_dot * square_dot) / square
    return float(np.arctan2(n, d)), float(gamma_dot), float(gamma_ddot)


def _mandible_load(platform: PlatformMotion) -> Array:
    """Return the wrench (6,) about its origin that the mandible's motion and weight require."""
    inertia = platform.rotation @ MANDIBLE_INERTIA @ platform.rotation.T
    force = MANDIBLE_MASS * (platform.pose_ddot[:3] - GRAVITY)
    moment = inertia @ platform.omega_dot + np.cross(platform.omega, inertia @ platform.omega)
    return np.concatenate([force, moment])


def _resultant(arms: Array, forces: Array) -> Array:
    return np.concatenate([forces.sum(axis=0), np.cross(arms, forces).sum(axis=0)])


def _wrench_columns(arms: Array, directions: Array) -> Array:
    return np.concatenate([directions, np.cross(arms, directions)], axis=1).T
