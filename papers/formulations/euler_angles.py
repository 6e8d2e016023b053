# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Newton-Euler with XYZ Euler angles for the end effector, which S1 compares with (Sec. 5.2)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from papers.formulations.coordinates import end_effector
from papers.formulations.formulation import RssFormulation, Solution
from papers.formulations.geometry import SocketPlanes
from papers.formulations.newton_euler import EndEffectorMotion, newton_euler
from papers.formulations.rotations import rotation


def angular_map(angles: FloatArray) -> FloatArray:
    """R_omega (3, 3): angular velocity in {S} per angle rates (S0 Eq. 31, S1 Eq. 78)."""
    ca, sa = np.cos(angles[0]), np.sin(angles[0])
    cb, sb = np.cos(angles[1]), np.sin(angles[1])
    return np.array([[1.0, 0.0, sb], [0.0, ca, -sa * cb], [0.0, sa, ca * cb]])


def angular_map_rate(angles: FloatArray, rates: FloatArray) -> FloatArray:
    """Time derivative (3, 3) of R_omega, S1 Eq. 83."""
    ca, sa = np.cos(angles[0]), np.sin(angles[0])
    cb, sb = np.cos(angles[1]), np.sin(angles[1])
    a_dot, b_dot = rates[0], rates[1]
    return np.array(
        [
            [0.0, 0.0, cb * b_dot],
            [0.0, -sa * a_dot, -ca * cb * a_dot + sa * sb * b_dot],
            [0.0, ca * a_dot, -sa * cb * a_dot - ca * sb * b_dot],
        ]
    )


def motion_by_angles(
    sockets: SocketPlanes | None, q: FloatArray, q_dot: FloatArray, q_ddot: FloatArray
) -> EndEffectorMotion:
    """Twist and its rate from q_EE^A = (X, Y, alpha, beta) or Y_EE^A (S1 Eqs. 63-68, 76-83).

    Parameters
    ----------
    sockets : SocketPlanes or None
        None without contacts.
    q, q_dot, q_ddot : (n,) array
        q_EE and its time derivatives, m, rad and s; n is 4 with contacts and 6 without.
    """
    pose = end_effector(sockets, q)
    angles = pose.X[3:]
    M_J_dot = pose.M_Jq @ q_dot
    R_omega = angular_map(angles)
    R_omega_dot = angular_map_rate(angles, pose.M_J[3:] @ q_dot)
    M_A = np.vstack([pose.M_J[:3], R_omega @ pose.M_J[3:]])
    M_A_dot = np.vstack([M_J_dot[:3], R_omega_dot @ pose.M_J[3:] + R_omega @ M_J_dot[3:]])
    return EndEffectorMotion(
        pose.X[:3], rotation(angles), M_A @ q_dot, M_A @ q_ddot + M_A_dot @ q_dot
    )


class NewtonEulerAngles(RssFormulation):
    """Newton-Euler, with the end effector's rotation in Euler angles."""

    title = 'Newton-Euler, Euler angles'
    source = 'S1 Secs. 4, 5.2'

    def of_coordinates(
        self, q_EE: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        """Solve from a motion in the method's own coordinates, q_EE.

        Parameters
        ----------
        q_EE, q_EE_dot, q_EE_ddot : (n,) array
            The degrees of freedom and their time derivatives, m, rad and s.
        wrench : (6,) array
            Wrench on the end effector in axes of {S} about O_M, N and N m.
        """
        motion = motion_by_angles(self.geometry.sockets, q_EE, q_EE_dot, q_EE_ddot)
        return newton_euler(self.geometry, motion, wrench)

    _solve = of_coordinates
