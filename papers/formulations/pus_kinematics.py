# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the 6-PUS mechanism at a pose and their derivatives along a direction (S2 Sec. 2).

Derivatives along the velocity are time derivatives, which the generalized momentum needs; those
along the six unit vectors are partial derivatives, which Lagrange's equations need.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import ReachError, SingularityError
from papers.formulations.pus_geometry import PusGeometry
from papers.formulations.rotations import rotation_zyx, skew

Z_B = np.array([0.0, 0.0, 1.0])
_SINGULAR = 1e-6  # of a link's height over its length


@dataclasses.dataclass(frozen=True)
class Kinematics:
    """Kinematics that all parts use; ``_dot`` is the derivative along a direction.

    Attributes
    ----------
    R : array, shape (3, 3)
        {P} components to {B}.
    omega : array, shape (3,)
        Angular velocity of {P} along the direction.
    T, T_dot : array, shape (6, 6)
        Map from x_P_dot to the twist (v_P, omega_P) in {B} (Eq. 23).
    p, p_dot, a, a_dot : array, shape (6, 3)
        Vectors from P to P_i, and from slider to P_i along the link, in {B}.
    J_C, J_C_dot : array, shape (6, 6)
        Map from the twist to the rates of l_i (Eq. 6).
    """

    R: FloatArray
    omega: FloatArray
    T: FloatArray
    T_dot: FloatArray
    p: FloatArray
    p_dot: FloatArray
    a: FloatArray
    a_dot: FloatArray
    J_C: FloatArray
    J_C_dot: FloatArray

    @property
    def J_E(self) -> FloatArray:
        """Map (6, 6) from x_P_dot to the rates of l_i, Eq. 5."""
        return self.J_C @ self.T

    @property
    def J_E_dot(self) -> FloatArray:
        """Derivative of J_E along the direction."""
        return self.J_C_dot @ self.T + self.J_C @ self.T_dot


def kinematics(geometry: PusGeometry, x_P: FloatArray, direction: FloatArray) -> Kinematics:
    """Kinematics at x_P = (x, y, z, psi, theta, phi), with derivatives along a direction (6,).

    Works on symbols as well as numbers, so it checks nothing; :func:`check_reach` does.

    Parameters
    ----------
    geometry : PusGeometry
        The mechanism.
    x_P : (6,) array
        Pose, m and rad.
    direction : (6,) array
        Rates of the pose, e.g. x_P_dot.
    """
    R = rotation_zyx(x_P[3:])
    J_A, J_A_dot = angular_map(x_P[3:], direction[3:])
    omega = J_A @ direction[3:]
    none = np.zeros((3, 3))
    T = np.block([[np.eye(3), none], [none, J_A]])
    T_dot = np.block([[none, none], [none, J_A_dot]])

    p = geometry.p @ R.T
    p_dot = p @ skew(omega).T  # omega x p
    w, w_dot = x_P[:3] + p - geometry.b, direction[:3] + p_dot
    a_z = geometry.branch * np.sqrt(height_squared(geometry, w))
    # From a . (w_dot - l_dot z_B) = 0: l_dot = s . w_dot, with s = a / a_z.
    s = np.column_stack([w[:, 0] / a_z, w[:, 1] / a_z, np.ones(6)])
    a_z_dot = -(s[:, 0] * w_dot[:, 0] + s[:, 1] * w_dot[:, 1])
    a = np.column_stack([w[:, :2], a_z])
    a_dot = np.column_stack([w_dot[:, :2], a_z_dot])
    s_xy_dot = (w_dot[:, :2] - a_z_dot[:, None] * s[:, :2]) / a_z[:, None]
    s_dot = np.column_stack([s_xy_dot, np.zeros(6)])
    J_C = np.hstack([s, np.cross(p, s)])
    J_C_dot = np.hstack([s_dot, np.cross(p_dot, s) + np.cross(p, s_dot)])
    return Kinematics(R, omega, T, T_dot, p, p_dot, a, a_dot, J_C, J_C_dot)


def check_reach(geometry: PusGeometry, x_P: FloatArray) -> None:
    """Refuse poses that links do not reach, or where a link is level.

    Raises
    ------
    ReachError, SingularityError
        Names the slider.
    """
    w = x_P[:3] + geometry.p @ rotation_zyx(x_P[3:]).T - geometry.b
    ratio = height_squared(geometry, w) / geometry.L**2
    worst = int(np.argmin(ratio))
    if ratio[worst] < 0.0:
        raise ReachError(f'{geometry.names[worst]}: its link does not reach the platform')
    if ratio[worst] < _SINGULAR**2:
        raise SingularityError(f'{geometry.names[worst]}: its link lies level')


def height_squared(geometry: PusGeometry, w: FloatArray) -> FloatArray:
    """Squared heights (6,) of P_i above the sliders, for B_i to P_i (6, 3) at l_i = 0."""
    return np.asarray(geometry.L**2 - w[:, 0] ** 2 - w[:, 1] ** 2)


def angular_map(angles: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """J_A (3, 3) from rates of (psi, theta, phi) to omega in {B} (Eq. 9), and its derivative."""
    (C_psi, C_theta), (S_psi, S_theta) = np.cos(angles[:2]), np.sin(angles[:2])
    psi_dot, theta_dot = rates[:2]
    J_A = [[0.0, -S_psi, C_psi * C_theta], [0.0, C_psi, S_psi * C_theta], [1.0, 0.0, -S_theta]]
    x_dot = -S_psi * C_theta * psi_dot - C_psi * S_theta * theta_dot
    y_dot = C_psi * C_theta * psi_dot - S_psi * S_theta * theta_dot
    J_A_dot = [
        [0.0, -C_psi * psi_dot, x_dot],
        [0.0, -S_psi * psi_dot, y_dot],
        [0.0, 0.0, -C_theta * theta_dot],
    ]
    return np.array(J_A), np.array(J_A_dot)
