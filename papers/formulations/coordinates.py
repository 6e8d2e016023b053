# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""X_EE = (X, Y, Z, alpha, beta, gamma) as a function of the degrees of freedom q_EE (S0 Sec. 3).

With the contacts, q_EE = (X, Y, alpha, beta), and Z and gamma are the parasitic motions of S0
Eq. 5. Without them, q_EE is X_EE.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from papers.formulations.geometry import SocketPlanes
from papers.formulations.rotations import rotation_derivatives

INDEPENDENT = [0, 1, 3, 4]  # of X_EE, with the contacts
_SINGULAR = 1e-9


@dataclasses.dataclass(frozen=True)
class EndEffector:
    """X_EE (6,), M_J = dX_EE/dq_EE (6, n) of S0 Eq. 32, and its derivatives M_Jq (6, n, n)."""

    X: FloatArray
    M_J: FloatArray
    M_Jq: FloatArray


def end_effector(sockets: SocketPlanes | None, q_EE: FloatArray) -> EndEffector:
    """Pose and its first and second derivatives by the degrees of freedom.

    Raises
    ------
    SingularityError
        If gamma is undetermined.
    """
    if sockets is None:
        return EndEffector(q_EE, np.eye(6), np.zeros((6, 6, 6)))
    gamma, gamma_k, gamma_kl = parasitic_angle(sockets.p1, q_EE[2], q_EE[3])
    angles = np.array([q_EE[2], q_EE[3], gamma])
    # Angles by (alpha, beta).
    first = np.vstack([np.eye(2), gamma_k])
    # m = (p1 R(1,:) + R(3,:)) (T_L(1), 0, T_L(3)), the part of Z due to rotation.
    R, R_k, R_kl = rotation_derivatives(angles)
    m, m_k, m_kl = (sockets.M_H @ A @ sockets.middle for A in (R, R_k, R_kl))

    X = np.array([q_EE[0], q_EE[1], -(sockets.p1 * q_EE[0] + sockets.p2 + m), *angles])
    M_J, M_Jq = np.zeros((6, 4)), np.zeros((6, 4, 4))
    M_J[INDEPENDENT] = np.eye(4)
    M_J[2, 0], M_J[2, 2:] = -sockets.p1, -m_k @ first
    M_J[5, 2:] = gamma_k
    M_Jq[2, 2:, 2:] = -(first.T @ m_kl @ first + m_k[2] * gamma_kl)
    M_Jq[5, 2:, 2:] = gamma_kl
    return EndEffector(X, M_J, M_Jq)


def parasitic_angle(p1: float, alpha: float, beta: float) -> tuple[float, FloatArray, FloatArray]:
    """Gamma and its first (2,) and second (2, 2) derivatives by alpha and beta (S0 Eq. 5).

    tan gamma = sin alpha / (p1 cos beta - cos alpha sin beta). S0 prints a plus in the
    denominator; S1 Eq. 65 prints the plus and a minus before the fraction. Neither keeps the
    condyles in their sockets.

    Parameters
    ----------
    p1 : float
        Slope of the sockets.
    alpha, beta : float
        Angles of the end effector, rad.

    Raises
    ------
    SingularityError
        If numerator and denominator vanish.
    """
    ca, sa, cb, sb = np.cos(alpha), np.sin(alpha), np.cos(beta), np.sin(beta)
    # Both signs are reversed if p1 < 0, so that gamma is 0 at home.
    sign = np.sign(p1)
    n, n_k = sign * sa, sign * np.array([ca, 0.0])
    d, d_k = sign * (p1 * cb - ca * sb), sign * np.array([sa * sb, -p1 * sb - ca * cb])
    n_kl = sign * np.array([[-sa, 0.0], [0.0, 0.0]])
    d_kl = sign * np.array([[ca * sb, sa * cb], [sa * cb, -p1 * cb + ca * sb]])
    square = n * n + d * d
    if square < _SINGULAR**2:
        raise SingularityError(f'gamma is undetermined at alpha = {alpha:.6g}, beta = {beta:.6g}')
    square_l = 2.0 * (n * n_k + d * d_k)
    gamma_k = (d * n_k - n * d_k) / square
    change = d * n_kl - n * d_kl + np.outer(n_k, d_k) - np.outer(d_k, n_k)
    gamma_kl = (change - np.outer(gamma_k, square_l)) / square
    return float(np.arctan2(n, d)), gamma_k, gamma_kl
