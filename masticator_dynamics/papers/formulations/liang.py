# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of Liang et al. 2017, used instead of Hessians (S0 Eq. 61)."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.papers.formulations.lagrange_dalembert import LagrangeDAlembert
from masticator_dynamics.papers.formulations.velocities import Velocities


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
