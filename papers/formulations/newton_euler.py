# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Newton-Euler of end effector, couplers and cranks (S1 Sec. 4), without friction (S1 Eq. 51).

It does not matter here how the end effector's motion is described: by Euler parameters (S1 Sec. 3)
or by Euler angles (S1 Sec. 5.2).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import SingularityError
from papers.formulations.formulation import Solution
from papers.formulations.geometry import Geometry
from papers.formulations.rotations import skew


@dataclasses.dataclass(frozen=True)
class EndEffectorMotion:
    """Position of O_M (3,), rotation (3, 3), twist t_EE (6,) and its rate (6,), all in {S}."""

    O_M: FloatArray
    R: FloatArray
    t: FloatArray
    t_dot: FloatArray


@dataclasses.dataclass(frozen=True)
class _Limbs:
    """Cranks and couplers in {S}: accelerations of S_i and M_i, vectors G_i S_i and M_i S_i."""

    theta_ddot: FloatArray
    GS: FloatArray
    MS: FloatArray
    S_ddot: FloatArray
    M_ddot: FloatArray
    V_SM: FloatArray  # V_M - V_S


def newton_euler(geometry: Geometry, motion: EndEffectorMotion, wrench: FloatArray) -> Solution:
    """Torques of least norm, contact forces and forces at S_i.

    Parameters
    ----------
    geometry : Geometry
        The mechanism.
    motion : EndEffectorMotion
        Pose, twist and its rate, in {S}.
    wrench : (6,) array
        Wrench on the end effector in axes of {S} about O_M, N and N m.

    Raises
    ------
    ReachError, SingularityError
        If a limb cannot reach, or the couplers alone could not hold the end effector: as in S1,
        contact forces are parameters, and coupler forces are solved for.
    """
    arms = geometry.M @ motion.R.T
    limbs = _limbs(geometry, motion, arms)
    M_2b = np.hstack([np.vstack([np.eye(3), skew(arm)]) for arm in arms])  # Eq. 31
    M_4b = _end_effector(geometry, motion) - wrench
    M_5b, M_6b, M_7b = _couplers(geometry, limbs)
    # Eqs. 47, 48, in which S1 has swapped M_3b and M_4b.
    left = np.vstack([M_2b, M_5b])
    columns = _contact_columns(geometry, motion)  # M_3b
    right = np.zeros((18, 1 + columns.shape[1]))
    right[:6, 0], right[6:, 0], right[:6, 1:] = M_4b, M_6b, columns
    try:
        solved = np.linalg.solve(left, right)
    except np.linalg.LinAlgError:
        raise SingularityError('the couplers do not hold the end effector here') from None
    M_10b, M_11b = solved[:, 0], solved[:, 1:]
    M_13b = M_10b + M_7b  # Eq. 49
    # Eqs. 44, 45: tau_i = I theta_ddot + (G_i S_i x F_Si) . Z_Ci
    M_8b = np.zeros((6, 18))
    for i, lever in enumerate(np.cross(geometry.Z_C, limbs.GS)):
        M_8b[i, 3 * i : 3 * i + 3] = lever
    M_14b = M_8b @ M_13b + geometry.I_G * limbs.theta_ddot
    M_15b = M_8b @ M_11b
    # Eq. 51 with the goal of Eq. 52, without friction.
    F_Z = np.linalg.pinv(M_15b) @ M_14b
    F_S = (M_13b - M_11b @ F_Z).reshape(6, 3)
    contact = F_Z if geometry.sockets is None else F_Z / geometry.sockets.normal[:, 2]
    F_G = F_S - np.outer(geometry.m_G, geometry.g)  # Eq. 37
    return Solution(M_14b - M_15b @ F_Z, contact, F_S, F_G)


def _limbs(geometry: Geometry, motion: EndEffectorMotion, arms: FloatArray) -> _Limbs:
    """Motion of cranks from their angles, as in S1 Sec. 3.2, and of couplers from their ends."""
    omega, omega_dot = motion.t[3:], motion.t_dot[3:]
    M_dot = motion.t[:3] + np.cross(omega, arms)
    M_ddot = motion.t_dot[:3] + np.cross(omega_dot, arms) + np.cross(omega, np.cross(omega, arms))
    OM = motion.O_M + arms
    theta = geometry.crank_angles(OM)
    GS, lever = geometry.cranks(theta)
    SM = OM - geometry.G - GS
    # S_iM_i keeps its length: S_iM_i . (V_M - V_S) = 0, and the derivative of this.
    gain = np.sum(SM * lever, axis=1)
    theta_dot = np.sum(SM * M_dot, axis=1) / gain
    V_SM = M_dot - theta_dot[:, None] * lever
    centripetal = -(theta_dot**2)[:, None] * GS
    bend = np.sum(V_SM * V_SM, axis=1) + np.sum(SM * (M_ddot - centripetal), axis=1)
    theta_ddot = bend / gain
    S_ddot = theta_ddot[:, None] * lever + centripetal
    return _Limbs(theta_ddot, GS, -SM, S_ddot, M_ddot, V_SM)


def _end_effector(geometry: Geometry, motion: EndEffectorMotion) -> FloatArray:
    """Wrench (6,) about O_M that the end effector's motion and weight require: S1 Eq. 31.

    S1's g points up; `geometry.g` is the acceleration of free fall.
    """
    I_EE = motion.R @ geometry.I_EE @ motion.R.T
    omega, omega_dot = motion.t[3:], motion.t_dot[3:]
    force = geometry.m_EE * (motion.t_dot[:3] - geometry.g)
    return np.concatenate([force, I_EE @ omega_dot + np.cross(omega, I_EE @ omega)])


def _contact_columns(geometry: Geometry, motion: EndEffectorMotion) -> FloatArray:
    """Wrench about O_M per F_Z of each contact (6, 2), S1 Eqs. 28, 31, 32: M_3b."""
    if geometry.sockets is None:
        return np.zeros((6, 0))
    M_H = geometry.sockets.M_H
    arms = geometry.sockets.T @ motion.R.T
    return np.array([np.concatenate([M_H, np.cross(arm, M_H)]) for arm in arms]).T


def _couplers(geometry: Geometry, limbs: _Limbs) -> tuple[FloatArray, FloatArray, FloatArray]:
    """M_5b (12, 18), M_6b (12,) of S1 Eq. 35 and M_7b (18,) of Eq. 36.

    Two of the three rows of M_iS_i x F_Mi = E_i (Eq. 34) are independent. S1 keeps the last two,
    which become dependent when the coupler is normal to X_S; here the row of the largest component
    of M_iS_i is dropped. A coupler does not spin about its line, so
    L^2 omega = S_iM_i x (V_M - V_S).
    """
    M_5b, M_6b, M_7b = np.zeros((12, 18)), np.zeros(12), np.zeros(18)
    for i, MS in enumerate(limbs.MS):
        m, k, L = geometry.m_S[i], geometry.k[i], geometry.L[i]
        omega = np.cross(-MS, limbs.V_SM[i]) / L**2
        omega_dot = np.cross(-MS, limbs.M_ddot[i] - limbs.S_ddot[i]) / L**2
        # I_SM is I_S across the coupler and 0 along it, Eq. 33.
        across = geometry.I_S[i] * (np.eye(3) - np.outer(MS, MS) / L**2)
        E_bar = across @ omega_dot + np.cross(omega, across @ omega)
        force = m * ((1.0 - k) * limbs.S_ddot[i] + k * limbs.M_ddot[i] - geometry.g)
        # F_S = F_M + force; moments about E_i, at the fraction k (S1: 0.5) from S_i.
        E = E_bar - k * np.cross(MS, force)
        rows = [a for a in range(3) if a != np.argmax(np.abs(MS))]
        M_5b[2 * i : 2 * i + 2, 3 * i : 3 * i + 3] = skew(MS)[rows]
        M_6b[2 * i : 2 * i + 2] = E[rows]
        M_7b[3 * i : 3 * i + 3] = force
    return M_5b, M_6b, M_7b
