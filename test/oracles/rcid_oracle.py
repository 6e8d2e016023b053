# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
RCID (6-PUS) by hand: closed-form inverse kinematics and the principle of virtual work.

Written from S2 (Lopes) alone: l_i = w_z - sqrt(L² - w_x² - w_y²) and its first two derivatives,
then the virtual work of the inertia, weight and applied forces of platform, actuators and links.
The links have no spin of their own, as in the paper. Independent of the description files, of
Pinocchio, of trees, constraint Jacobians and Lagrange multipliers, and of `rss_oracle` (which uses
force balances instead). Dimensions not printed in S2 are the project's choices. SI units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

BASE_ANGLES = np.deg2rad([15.0, 105.0, 135.0, 225.0, 255.0, 345.0])
PLATFORM_ANGLES = np.deg2rad([60.0, 60.0, 180.0, 180.0, 300.0, 300.0])
BASE_RADIUS = 0.080
PLATFORM_RADIUS = 0.040
LINK_LENGTH = 0.09798
PLATFORM_MASS = 0.5
PLATFORM_INERTIA = np.diag([4.0e-4, 4.2e-4, 7.6e-4])
ACTUATOR_MASS = 0.25
LINK_MASS = 0.05
LINK_TRANSVERSE_INERTIA = 4.0e-5
GRAVITY = 9.81
UP = np.array([0.0, 0.0, 1.0])


def _circle(radius: float, angles: Array) -> Array:
    return radius * np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)


BASE_POINTS = _circle(BASE_RADIUS, BASE_ANGLES)
PLATFORM_POINTS = _circle(PLATFORM_RADIUS, PLATFORM_ANGLES)


@dataclass(frozen=True)
class RcidResult:
    """
    Solution at one state.

    Attributes
    ----------
    slider, slider_dot, slider_ddot : (6,) l_i (m) and derivatives.
    effort : (6,) actuator forces along the base's z axis, N.
    jacobian : (6, 6) d l / d (x, y, z, psi, theta, phi).
    mass_matrix : (6, 6) kinetic energy is y_dot' mass_matrix y_dot / 2.
    """

    slider: Array
    slider_dot: Array
    slider_ddot: Array
    effort: Array
    jacobian: Array
    mass_matrix: Array


def inverse_dynamics(
    y: ArrayLike, y_dot: ArrayLike, y_ddot: ArrayLike, wrench: ArrayLike | None = None
) -> RcidResult:
    """
    Return actuator motions and forces.

    Parameters
    ----------
    y, y_dot, y_ddot : (6,) x, y, z (m), psi, theta, phi (rad), R = Rz Ry Rx, and derivatives.
    wrench : (6,) force and moment about the platform's origin on the platform, base axes.
    """
    y, y_dot, y_ddot = (np.asarray(c, dtype=float) for c in (y, y_dot, y_ddot))
    rotation, spin_map, spin_drift = _orientation(y, y_dot)
    omega = spin_map @ y_dot
    omega_dot = spin_map @ y_ddot + spin_drift

    # platform
    inertia = rotation @ PLATFORM_INERTIA @ rotation.T
    force = PLATFORM_MASS * (y_ddot[:3] + GRAVITY * UP)
    moment = inertia @ omega_dot + np.cross(omega, inertia @ omega)
    if wrench is not None:
        wrench = np.asarray(wrench, dtype=float)
        force, moment = force - wrench[:3], moment - wrench[3:]
    shift_map = np.eye(3, 6)
    generalized = shift_map.T @ force + spin_map.T @ moment
    mass_matrix = PLATFORM_MASS * shift_map.T @ shift_map + spin_map.T @ inertia @ spin_map

    # limbs
    slider = np.zeros((3, 6))  # l, l_dot, l_ddot
    jacobian = np.zeros((6, 6))
    for i in range(6):
        arm = rotation @ PLATFORM_POINTS[i]
        end_map = shift_map + np.cross(spin_map.T, arm).T
        end_dot = end_map @ y_dot
        arm_dot = np.cross(omega, arm)
        end_ddot = y_ddot[:3] + np.cross(omega_dot, arm) + np.cross(omega, arm_dot)
        reach = y[:3] + arm - BASE_POINTS[i]
        slider[:, i], jacobian[i] = _slider(reach, end_dot, end_ddot, end_map)

        foot_map = np.outer(UP, jacobian[i])
        foot_ddot = slider[2, i] * UP
        centre_map = 0.5 * (foot_map + end_map)
        centre_ddot = 0.5 * (foot_ddot + end_ddot)
        direction_map = (end_map - foot_map) / LINK_LENGTH
        direction_ddot = (end_ddot - foot_ddot) / LINK_LENGTH
        generalized += ACTUATOR_MASS * (slider[2, i] + GRAVITY) * jacobian[i]
        generalized += LINK_MASS * centre_map.T @ (centre_ddot + GRAVITY * UP)
        # (n × n_ddot)·(n × dn) = n_ddot·dn, because dn is perpendicular to the unit vector n
        generalized += LINK_TRANSVERSE_INERTIA * direction_map.T @ direction_ddot
        mass_matrix = mass_matrix + (
            ACTUATOR_MASS * np.outer(jacobian[i], jacobian[i])
            + LINK_MASS * centre_map.T @ centre_map
            + LINK_TRANSVERSE_INERTIA * direction_map.T @ direction_map
        )
    effort = np.linalg.solve(jacobian.T, generalized)
    return RcidResult(slider[0], slider[1], slider[2], effort, jacobian, mass_matrix)


def _slider(
    reach: Array, end_dot: Array, end_ddot: Array, end_map: Array
) -> tuple[tuple[float, float, float], Array]:
    """Return l with two derivatives and d l / d y from the reach w of a limb and its motion."""
    height = np.sqrt(LINK_LENGTH**2 - reach[0] ** 2 - reach[1] ** 2)
    # height² + w_x² + w_y² = L²: differentiate once and twice
    height_dot = -(reach[:2] @ end_dot[:2]) / height
    height_ddot = -(end_dot[:2] @ end_dot[:2] + reach[:2] @ end_ddot[:2] + height_dot**2) / height
    motion = (
        float(reach[2] - height),
        float(end_dot[2] - height_dot),
        float(end_ddot[2] - height_ddot),
    )
    return motion, end_map[2] + (reach[:2] @ end_map[:2]) / height


def _orientation(y: Array, y_dot: Array) -> tuple[Array, Array, Array]:
    """Return R, the map (3, 6) from y_dot to the angular velocity, and that map's drift."""
    (cp, ct, cf), (sp, st, sf) = np.cos(y[3:]), np.sin(y[3:])
    # S2 Eq. 4
    rotation = np.array(
        [
            [cp * ct, cp * st * sf - sp * cf, cp * st * cf + sp * sf],
            [sp * ct, sp * st * sf + cp * cf, sp * st * cf - cp * sf],
            [-st, ct * sf, ct * cf],
        ]
    )
    # S2 Eq. 9
    spin_map = np.zeros((3, 6))
    spin_map[:, 3:] = [[0.0, -sp, cp * ct], [0.0, cp, sp * ct], [1.0, 0.0, -st]]
    psi_dot, theta_dot, phi_dot = y_dot[3:]
    spin_drift = np.array(
        [
            -cp * psi_dot * theta_dot - (sp * ct * psi_dot + cp * st * theta_dot) * phi_dot,
            -sp * psi_dot * theta_dot + (cp * ct * psi_dot - sp * st * theta_dot) * phi_dot,
            -ct * theta_dot * phi_dot,
        ]
    )
    return rotation, spin_map, spin_drift
