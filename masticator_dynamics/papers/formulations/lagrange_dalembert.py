# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lagrange-D'Alembert in the coordinates q = (theta, q_EE), S0 Secs. 4 and 5.1.

Two methods share this procedure; they differ in how they compute the time derivatives of the
constraint Jacobians and of the inertia matrix.
"""

from __future__ import annotations

import abc

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from masticator_dynamics.papers.formulations.coordinates import end_effector
from masticator_dynamics.papers.formulations.formulation import Solution
from masticator_dynamics.papers.formulations.velocities import EnergyMethod, Velocities

_SINGULAR = 1e-9


def constraint_jacobians(at: Velocities) -> tuple[FloatArray, FloatArray]:
    """J_theta (6, 6) and J_qEE (6, n) of the constraints h_i = |S_i M_i|^2 - L_i^2 (S0 Eq. 8)."""
    of_M = at.of_M[0][..., 6:]
    J_theta = np.diag(-2.0 * np.sum(at.SM * at.lever, axis=1))
    return J_theta, 2.0 * np.einsum('ia,ian->in', at.SM, of_M)


class LagrangeDAlembert(EnergyMethod):
    """S0 Eqs. 8-54 except Eqs. 20-23 and 48-52, which a method supplies."""

    def _solve(
        self, q_EE: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        n = len(q_EE)
        at = self.at(end_effector(self.geometry.sockets, q_EE))
        J_theta, J_qEE = constraint_jacobians(at)
        J_theta1 = -np.linalg.solve(J_theta, J_qEE)  # Eq. 14
        J_theta3 = np.vstack([J_theta1, np.eye(n)])  # Eq. 19
        q_dot = J_theta3 @ q_EE_dot  # Eq. 18

        J_theta_dot, J_qEE_dot, C = self._rates(at, self.A, q_dot)
        J_theta2 = -np.linalg.solve(J_theta, J_theta_dot @ J_theta1 + J_qEE_dot)  # Eq. 17
        J_theta4 = np.vstack([J_theta2, np.zeros((n, n))])  # Eq. 19

        M = at.J.T @ self.A @ at.J  # Eqs. 30, 36, 38
        M[:6, :6] += np.diag(self.geometry.I_G)  # Eq. 24
        V_q = at.J.T @ self.w  # Eqs. 39-42
        M_f = J_theta3.T @ M @ J_theta3
        C_f = J_theta3.T @ (M @ J_theta4 + C @ J_theta3)
        G_f = J_theta3.T @ V_q
        # S0's Eqs. 53 and 54 print + F_EE, in contradiction to its Eq. 46.
        F_EE = at.M_0b.T @ wrench
        load = M_f @ q_EE_ddot + C_f @ q_EE_dot + G_f - F_EE  # Eq. 53
        values = np.linalg.svd(J_theta1, compute_uv=False)
        if values[-1] < _SINGULAR * values[0]:
            raise SingularityError('the cranks do not control the end effector here')
        return Solution(np.linalg.pinv(J_theta1.T) @ load)  # Eq. 54

    @abc.abstractmethod
    def _rates(
        self, at: Velocities, A: FloatArray, q_dot: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Time derivatives of J_theta and J_qEE, and the Coriolis-centrifugal matrix C (N, N)."""
