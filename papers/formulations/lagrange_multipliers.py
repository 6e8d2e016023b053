# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lagrange equations of the first type (S0 Sec. 5.2), with the contacts among the constraints.

S0 uses the degrees of freedom q_EE as coordinates of the end effector, so its six multipliers
belong to the couplers alone. Here the coordinates are q = (theta, X_EE), and the two contact
equations (S0 Eq. 4) are constraints 7 and 8: the parasitic motions and their derivatives are not
needed, and the multipliers of the contacts are the contact forces. Multiplying the six equations of
X_EE by M_J^T recovers S0's Eq. 55.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from papers.formulations.coordinates import INDEPENDENT, end_effector
from papers.formulations.formulation import Solution
from papers.formulations.geometry import SocketPlanes
from papers.formulations.lagrange_dalembert import constraint_hessians
from papers.formulations.rotations import rotation_derivatives
from papers.formulations.velocities import EnergyMethod, Velocities

_SINGULAR = 1e-9


class LagrangeMultipliers(EnergyMethod):
    """Coordinates q = (theta, X_EE); the six couplers and the contacts are constraints."""

    title = 'Lagrange, first type'
    source = 'S0 Sec. 5.2'

    def _solve(
        self, q_EE: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray, wrench: FloatArray
    ) -> Solution:
        geometry = self.geometry
        X = end_effector(geometry.sockets, q_EE).X
        at = self.at(end_effector(None, X))  # all six coordinates of the end effector are free
        J, H = constraints(geometry.sockets, at, X)
        q_dot, q_ddot = _rates(J, H, q_EE_dot, q_EE_ddot)
        # d/dt dL/dq_dot - dL/dq, for theta and for X_EE; lambda acts through J^T.
        inertia = self._lagrangian(at, q_dot, q_ddot)
        needed = inertia[6:] - at.M_0b.T @ wrench
        lambdas = _least_torque(J, inertia[:6], needed)
        # Eq. 56, in which S0 has the wrong sign of tau.
        tau = inertia[:6] - J[:, :6].T @ lambdas
        contact = lambdas[6:]
        if geometry.sockets is not None:
            contact = contact / geometry.sockets.normal[:, 2]
        return Solution(tau, contact)

    def _lagrangian(self, at: Velocities, q_dot: FloatArray, q_ddot: FloatArray) -> FloatArray:
        """d/dt (dL/dq_dot) - dL/dq (12,), L = T - V, from momenta and their rates.

        With v = J q_dot and T = v^T A v / 2: dT/dq_dot = J^T A v and dT/dq = (dv/dq)^T A v.
        """
        v_q = np.einsum('ajk,j->ak', at.Jq, q_dot)
        J_dot = np.einsum('ajk,k->aj', at.Jq, q_dot)
        momentum = self.A @ (at.J @ q_dot)
        momentum_dot = self.A @ (at.J @ q_ddot + J_dot @ q_dot)
        result = at.J.T @ (momentum_dot + self.w) + (J_dot - v_q).T @ momentum
        result[:6] += self.geometry.I_G * q_ddot[:6]
        return np.asarray(result)


def constraints(
    sockets: SocketPlanes | None, at: Velocities, X: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Jacobian (8, 12) and Hessians (8, 12, 12) by (theta, X_EE); 6 rows without contacts.

    h_1..6 = |S_i M_i|^2 - L_i^2 (S0 Eq. 8); h_7, h_8 = p1 x + z + p2 of the condyles (S0 Eq. 4).

    Parameters
    ----------
    sockets : SocketPlanes or None
        None without contacts.
    at : Velocities
        Jacobians by (theta, X_EE).
    X : (6,) array
        Pose X_EE of the end effector, m and rad.
    """
    J = 2.0 * np.einsum('ia,iaj->ij', at.SM, at.of_M[0] - at.of_S[0])
    H = constraint_hessians(at)
    if sockets is None:
        return J, H
    _, R_k, R_kl = rotation_derivatives(X[3:])
    J_T, H_T = np.zeros((2, 12)), np.zeros((2, 12, 12))
    J_T[:, 6:9] = sockets.M_H
    J_T[:, 9:] = (sockets.M_H @ R_k @ sockets.T.T).T
    H_T[:, 9:, 9:] = (sockets.M_H @ R_kl @ sockets.T.T).transpose(2, 0, 1)
    return np.vstack([J, J_T]), np.concatenate([H, H_T])


def _rates(
    J: FloatArray, H: FloatArray, q_EE_dot: FloatArray, q_EE_ddot: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Velocities and accelerations (12,) that satisfy the constraints, from J q_dot = 0."""
    given = list(range(6, 12)) if len(q_EE_dot) == 6 else [6 + k for k in INDEPENDENT]
    found = [k for k in range(12) if k not in given]
    q_dot, q_ddot = np.zeros(12), np.zeros(12)
    q_dot[given], q_ddot[given] = q_EE_dot, q_EE_ddot
    q_dot[found] = -np.linalg.solve(J[:, found], J[:, given] @ q_EE_dot)
    bend = q_dot @ H @ q_dot
    q_ddot[found] = -np.linalg.solve(J[:, found], J[:, given] @ q_EE_ddot + bend)
    return q_dot, q_ddot


def _least_torque(J: FloatArray, inertia: FloatArray, needed: FloatArray) -> FloatArray:
    """Multipliers that hold the end effector, J_X^T lambda = needed, with the least torques.

    S0 eliminates lambda and takes a pseudo-inverse (Eq. 57, with the wrong sign). Here the free
    choice is the null space of J_X^T, which has one dimension per contact.
    """
    held, driven = J[:, 6:].T, J[:, :6].T
    U, values, Vt = np.linalg.svd(held)
    if values[-1] < _SINGULAR * values[0]:
        raise SingularityError('couplers and contacts do not hold the end effector here')
    lambdas = Vt[:6].T @ ((U.T @ needed) / values)
    free = Vt[6:].T
    if free.shape[1]:
        torque = inertia - driven @ lambdas
        lambdas = lambdas + free @ np.linalg.lstsq(driven @ free, torque, rcond=None)[0]
    return np.asarray(lambdas)
