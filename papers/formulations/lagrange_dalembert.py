# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lagrange-D'Alembert in the coordinates q = (theta, q_EE), S0 Secs. 4 and 5.1.

Two methods share this procedure; they differ in how they compute the time derivatives of the
constraint Jacobians and of the inertia matrix: from Hessians (after Abo-Shanab 2020), or from the
derivatives of Liang et al. 2017.
"""

from __future__ import annotations

import abc

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from papers.formulations.coordinates import end_effector
from papers.formulations.formulation import Solution
from papers.formulations.velocities import EnergyMethod, Velocities

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


def constraint_hessians(at: Velocities) -> FloatArray:
    """Hessians H_i (6, N, N) of the constraints h_i = |S_i M_i|^2 - L_i^2 by q (S0 Eqs. 20, 22)."""
    (of_S, of_S_q), (of_M, of_M_q) = at.of_S, at.of_M
    change, change_q = of_M - of_S, of_M_q - of_S_q
    curved = np.einsum('ia,iajk->ijk', at.SM, change_q)
    return 2.0 * (change.transpose(0, 2, 1) @ change + curved)


def kinetic_energy_hessian(at: Velocities, A: FloatArray, q_dot: FloatArray) -> FloatArray:
    """Block (1:N, N+1:2N) of the Hessian of T by U = (q_dot, q): d2T/dq_dot_i dq_k (S0 Eq. 48).

    T = v^T A v / 2 with v = J(q) q_dot, so dv/dq_k = (dJ/dq_k) q_dot; the cranks' own energy does
    not depend on q. S0's Eq. 49 calls the block dM/dt. The two matrices differ, but their products
    with q_dot are equal; Eqs. 50-52 hold for the block, not for dM/dt.

    Parameters
    ----------
    at : Velocities
        Jacobians of N coordinates at a pose.
    A : (42, 42) array
        Mass matrix of the velocities v.
    q_dot : (N,) array
        Rates of the coordinates.
    """
    v_q = np.einsum('ajk,j->ak', at.Jq, q_dot)
    momentum = A @ (at.J @ q_dot)
    return at.J.T @ A @ v_q + np.einsum('a,aik->ik', momentum, at.Jq)


class HessianMatrix(LagrangeDAlembert):
    """Time derivatives from Hessians of the constraints and of the kinetic energy."""

    title = 'Hessian matrices'
    source = 'S0 Secs. 4-5.1'

    def _rates(
        self, at: Velocities, A: FloatArray, q_dot: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        H = constraint_hessians(at)
        rates = q_dot @ H  # Eqs. 20, 22: row i is q_dot^T H_i
        J_theta_dot = np.diag(np.diag(rates[:, :6]))  # Eq. 21
        J_qEE_dot = rates[:, 6:]  # Eq. 23
        M_dot = kinetic_energy_hessian(at, A, q_dot)  # Eq. 49
        return J_theta_dot, J_qEE_dot, M_dot - 0.5 * M_dot.T  # Eq. 52


def jacobian_derivatives(at: Velocities) -> tuple[FloatArray, FloatArray]:
    """Partial derivatives of J_theta (6, 6, N) and J_qEE (6, n, N) by q (the last index).

    J_theta,ii = -2 (M_i - G_i) · lever_i, in which the crank itself cancels, and
    J_qEE,i = 2 (S_i M_i)^T dM_i/dq_EE.
    """
    of_M, of_M_q = at.of_M[0][..., 6:], at.of_M[1][..., 6:, 6:]
    n, limbs = of_M.shape[2], np.arange(6)
    by_theta, by_qEE = np.zeros((6, 6, 6 + n)), np.zeros((6, n, 6 + n))
    by_theta[limbs, limbs, limbs] = 2.0 * np.sum((at.SM + at.GS) * at.GS, axis=1)
    across = -2.0 * np.einsum('ia,ian->in', at.lever, of_M)
    by_theta[limbs, limbs, 6:] = across
    by_qEE[limbs, :, limbs] = across
    by_qEE[..., 6:] = 2.0 * (
        of_M.transpose(0, 2, 1) @ of_M + np.einsum('ia,iajk->ijk', at.SM, of_M_q)
    )
    return by_theta, by_qEE


def inertia_derivatives(at: Velocities, A: FloatArray) -> FloatArray:
    """Partial derivatives dM/dq_k (N, N, N) of the inertia matrix, k last."""
    half = np.einsum('ai,ajk->ijk', A @ at.J, at.Jq)
    return half + half.transpose(1, 0, 2)


def side_by_side(derivatives: FloatArray) -> FloatArray:
    """dJ/dq^T of S0 Eq. 61: derivatives (rows, columns, N) by q_1 to q_N placed side by side."""
    rows = len(derivatives)
    return derivatives.transpose(0, 2, 1).reshape(rows, -1)


class LiangDerivatives(LagrangeDAlembert):
    """Time derivatives from Kronecker products and partial derivatives by all coordinates."""

    title = "Liang's derivatives"
    source = 'S0 Eq. 61'

    def _rates(
        self, at: Velocities, A: FloatArray, q_dot: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        N = len(q_dot)
        J_theta_q, J_qEE_q = jacobian_derivatives(at)
        M_q = inertia_derivatives(at, A)
        column = q_dot[:, None]
        J_theta_dot = side_by_side(J_theta_q) @ np.kron(column, np.eye(6))
        J_qEE_dot = side_by_side(J_qEE_q) @ np.kron(column, np.eye(N - 6))
        M_dot = side_by_side(M_q) @ np.kron(column, np.eye(N))
        # dM/dq: the N matrices stacked; row k of the product is q_dot^T dM/dq_k.
        below = M_q.transpose(2, 0, 1).reshape(N * N, N)
        return J_theta_dot, J_qEE_dot, M_dot - 0.5 * np.kron(np.eye(N), column.T) @ below
