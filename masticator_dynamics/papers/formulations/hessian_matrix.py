# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The Hessian-matrix method (S0 Secs. 4 and 5.1, after Abo-Shanab 2020)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.papers.formulations.lagrange_dalembert import LagrangeDAlembert
from masticator_dynamics.papers.formulations.velocities import Velocities


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
