# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Velocities of all points and of the end effector as functions of q = (theta, q_EE).

S0's three energy methods share these Jacobians and their derivatives by q, and begin with them.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from papers.formulations.coordinates import EndEffector
from papers.formulations.formulation import RssFormulation
from papers.formulations.geometry import Geometry
from papers.formulations.rotations import axial, rotation, rotation_derivatives


@dataclasses.dataclass(frozen=True)
class Velocities:
    """v = J q_dot: velocities of S_1..6, M_1..6 and O_M, and omega; N = 6 + n coordinates.

    Rows 0-17, 18-35 and 36-38 are velocities of points in {S}, m/s; rows 39-41 are the angular
    velocity of the end effector in {M}, rad/s.

    Attributes
    ----------
    SM : array, shape (6, 3)
        Vectors S_i M_i, m.
    GS, lever : array, shape (6, 3)
        Vectors G_i S_i and their derivatives by theta_i, m.
    J : array, shape (42, N)
    Jq : array, shape (42, N, N)
        Derivatives of J; the last index is the coordinate.
    M_0b : array, shape (6, n)
        Map from q_EE_dot to the twist in {S} at O_M, linear over angular (S0 Eq. 33).
    """

    SM: FloatArray
    GS: FloatArray
    lever: FloatArray
    J: FloatArray
    Jq: FloatArray
    M_0b: FloatArray

    @property
    def of_S(self) -> tuple[FloatArray, FloatArray]:
        """J (6, 3, N) and Jq (6, 3, N, N) for the points S_i."""
        N = self.J.shape[1]
        return self.J[:18].reshape(6, 3, N), self.Jq[:18].reshape(6, 3, N, N)

    @property
    def of_M(self) -> tuple[FloatArray, FloatArray]:
        """J (6, 3, N) and Jq (6, 3, N, N) for the points M_i."""
        N = self.J.shape[1]
        return self.J[18:36].reshape(6, 3, N), self.Jq[18:36].reshape(6, 3, N, N)


def velocities(geometry: Geometry, theta: FloatArray, pose: EndEffector) -> Velocities:
    """Jacobians at crank angles theta (6,) and a pose of the end effector.

    Parameters
    ----------
    geometry : Geometry
        The mechanism.
    theta : (6,) array
        Crank angles, rad.
    pose : EndEffector
        Pose of the end effector and its derivatives.
    """
    R, R_k, R_kl = rotation_derivatives(pose.X[3:])
    n = pose.M_J.shape[1]
    angles_q, angles_qq = pose.M_J[3:], pose.M_Jq[3:]
    J, Jq = np.zeros((42, 6 + n)), np.zeros((42, 6 + n, 6 + n))

    # S_i turns about its shaft, S0 Eq. 9.
    GS, lever = geometry.cranks(theta)
    for i in range(6):
        rows = slice(3 * i, 3 * i + 3)
        J[rows, i], Jq[rows, i, i] = lever[i], -GS[i]

    # O_S M_i = O_S O_M + R M_i, S0 Eq. 10, for all joints and for O_M (as M_i = 0) at once.
    points = np.vstack([geometry.M, np.zeros(3)])
    arm_k = np.einsum('kab,ib->iak', R_k, points)
    arm_kl = np.einsum('klab,ib->iakl', R_kl, points)
    by_q = pose.M_J[:3] + arm_k @ angles_q
    by_qq = pose.M_Jq[:3] + np.einsum('iak,kst->iast', arm_k, angles_qq)
    by_qq = by_qq + angles_q.T @ arm_kl @ angles_q
    J[18:39, 6:] = by_q.reshape(21, n)
    Jq[18:39, 6:, 6:] = by_qq.reshape(21, n, n)

    # omega in {M} is W (alpha_dot, beta_dot, gamma_dot), column k of W the axis of R^T R_k.
    W = axial(R.T @ R_k).T
    W_k = axial(np.einsum('lba,kbc->klac', R_k, R_k) + R.T @ R_kl).transpose(2, 0, 1)
    J[39:, 6:] = W @ angles_q
    W_q = np.einsum('akl,ks,lt->ast', W_k, angles_q, angles_q)
    Jq[39:, 6:, 6:] = W_q + np.einsum('ak,kst->ast', W, angles_qq)

    M_0b = np.vstack([pose.M_J[:3], R @ W @ angles_q])
    SM = pose.X[:3] + geometry.M @ R.T - geometry.G - GS
    return Velocities(SM, GS, lever, J, Jq, M_0b)


class EnergyMethod(RssFormulation):
    """Formulations from the kinetic energy v^T A v / 2 and the weights w."""

    def __init__(self, description: MechanismDescription):
        super().__init__(description)
        self.A = inertia_of_velocities(self.geometry)
        self.w = weights(self.geometry)

    def at(self, pose: EndEffector) -> Velocities:
        """Kinematics at a pose; the crank angles follow from the end effector."""
        theta = self.geometry.crank_angles(pose.X[:3] + self.geometry.M @ rotation(pose.X[3:]).T)
        return velocities(self.geometry, theta, pose)


def inertia_of_velocities(geometry: Geometry) -> FloatArray:
    """Constant A (42, 42) of the kinetic energy v^T A v / 2 of couplers and end effector.

    A coupler's velocity follows from its two ends: V_P = (1 - x/L) V_S + (x/L) V_M (S0 Eqs. 27,
    28). S0 Eq. 30 integrates this for a uniform rod, which gives m/3, m/6, m/3 for SS, SM, MM. The
    description's mass, centre of mass and transverse inertia give the same for a uniform rod, and
    hold for any other. (S0 prints rho = 7.8 g/mm^3, a thousand times the density of steel.)
    """
    A = np.zeros((42, 42))
    across = geometry.I_S / geometry.L**2
    m, k = geometry.m_S, geometry.k
    SS, SM = m * (1.0 - k) ** 2 + across, m * k * (1.0 - k) - across
    MM = m * k**2 + across
    S, M = np.arange(18), np.arange(18, 36)
    A[S, S], A[M, M] = np.repeat(SS, 3), np.repeat(MM, 3)
    A[S, M] = A[M, S] = np.repeat(SM, 3)
    A[36:39, 36:39] = geometry.m_EE * np.eye(3)
    # S0 Eq. 34 has the inertia in {S}, R I R^T; in {M} it is constant.
    A[39:, 39:] = geometry.I_EE
    return A


def weights(geometry: Geometry) -> FloatArray:
    """Constant w (42,) with dV/dq = J^T w, V the potential energy (S0 Eqs. 39-42).

    S0 Eq. 40 has the coupler's centre of mass in the middle; here it is taken from the
    description. A crank's centre of mass is on its shaft and does not move.
    """
    on_S = -np.outer(geometry.m_S * (1.0 - geometry.k), geometry.g)
    on_M = -np.outer(geometry.m_S * geometry.k, geometry.g)
    on_O = -geometry.m_EE * geometry.g
    return np.concatenate([on_S.ravel(), on_M.ravel(), on_O, np.zeros(3)])
