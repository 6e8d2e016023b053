# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the 6-PUS mechanism and their generalized momenta (S2 Sec. 3).

A part has the inertia matrix I_c and the velocity u_c = S x_P_dot, so its generalized momentum is
q_c = I_c S x_P_dot (Eqs. 10, 22, 36, 49, 67). S2 writes S as T, J_E, J_B T and J_D T.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from papers.formulations.pus_geometry import PusGeometry
from papers.formulations.pus_kinematics import Z_B, Kinematics
from papers.formulations.rotations import skew

LIMBS = range(6)
_ONE = np.eye(3)
_NONE = np.zeros((3, 3))


@dataclasses.dataclass(frozen=True)
class Part:
    """One body, or the six actuators together; ``_dot`` is the derivative along a direction.

    Attributes
    ----------
    I, I_dot : array, shape (n, n)
        Inertia matrix for the part's own velocity u_c.
    S, S_dot : array, shape (n, 6)
        Map from x_P_dot to u_c.
    weight : array, shape (n,)
        Weight as a generalized force conjugate to u_c.
    """

    I: FloatArray  # noqa: E741
    I_dot: FloatArray
    S: FloatArray
    S_dot: FloatArray
    weight: FloatArray

    def momentum(self, x_P_dot: FloatArray) -> FloatArray:
        """Generalized momentum q_c (n,), Eq. 10."""
        return self.I @ (self.S @ x_P_dot)

    @property
    def inertia_matrix(self) -> FloatArray:
        """I in Euler angles (6, 6): Eqs. 32, 40, 54, 72."""
        return self.S.T @ (self.I @ self.S)

    @property
    def velocity_matrix(self) -> FloatArray:
        """V in Euler angles (6, 6): S^T d/dt(I_c S), Eqs. 33, 41, 55, 73."""
        return self.S.T @ (self.I_dot @ self.S + self.I @ self.S_dot)

    @property
    def gravity(self) -> FloatArray:
        """G in Euler angles (6,): gradient of the potential energy, Eqs. 75-77."""
        return -self.S.T @ self.weight


def platform(geometry: PusGeometry, at: Kinematics) -> Part:
    """Mobile platform, Sec. 3.1: u_c is its twist."""
    I_B = at.R @ geometry.I_P @ at.R.T  # Eq. 17
    turning = skew(at.omega) @ I_B
    m_P = geometry.m_P * _ONE
    return Part(
        np.block([[m_P, _NONE], [_NONE, I_B]]),  # Eq. 19
        np.block([[_NONE, _NONE], [_NONE, turning + turning.T]]),
        at.T,
        at.T_dot,
        np.concatenate([geometry.m_P * geometry.g, np.zeros(3)]),
    )


def actuators(geometry: PusGeometry, at: Kinematics) -> Part:
    """The six actuators, Sec. 3.2: u_c holds their velocities along z_B."""
    inertia = np.diag(geometry.m_A + geometry.m_rotor)
    weight = geometry.m_A * geometry.g[2]
    return Part(inertia, np.zeros((6, 6)), at.J_E, at.J_E_dot, weight)


def translating_link(geometry: PusGeometry, at: Kinematics, i: int) -> Part:
    """Translation of link i, Sec. 3.3: u_c is the velocity of its centre of mass.

    Parameters
    ----------
    geometry : PusGeometry
        The mechanism.
    at : Kinematics
        Its motion along a direction.
    i : int
        Index of the limb.
    """
    kappa = geometry.kappa[i]
    # Eq. 47: the coefficients of (1 - kappa)(v + omega x p) + kappa l_dot z_B, Eq. 45.
    J_B = (1.0 - kappa) * _point(at.p[i]) + kappa * np.outer(Z_B, at.J_C[i])
    J_B_dot = (1.0 - kappa) * _point_rate(at.p_dot[i]) + kappa * np.outer(Z_B, at.J_C_dot[i])
    return Part(
        geometry.m_L[i] * _ONE,
        _NONE,
        J_B @ at.T,
        J_B_dot @ at.T + J_B @ at.T_dot,
        geometry.m_L[i] * geometry.g,
    )


def rotating_link(geometry: PusGeometry, at: Kinematics, i: int) -> Part:
    """Rotation of link i, Sec. 3.3: u_c is its angular velocity, normal to the link as in S2.

    A round link needs no frame {L_i}: Eqs. 57-61 reduce to the two terms of I below, which stay
    regular where the link is upright. As u_c is normal to a, I_Lxx drops out of H.

    Parameters
    ----------
    geometry : PusGeometry
        The mechanism.
    at : Kinematics
        Its motion along a direction.
    i : int
        Index of the limb.
    """
    a, a_dot, square = at.a[i], at.a_dot[i], geometry.L[i] ** 2
    excess = (geometry.I_Lxx[i] - geometry.I_Lyy[i]) / square
    slope = np.outer(a_dot, a)
    # Eqs. 64-66: a x (velocity of P_i - velocity of the slider) / L^2.
    across = _point(at.p[i]) - np.outer(Z_B, at.J_C[i])
    across_dot = _point_rate(at.p_dot[i]) - np.outer(Z_B, at.J_C_dot[i])
    J_D = skew(a) @ across / square
    J_D_dot = (skew(a_dot) @ across + skew(a) @ across_dot) / square
    return Part(
        geometry.I_Lyy[i] * _ONE + excess * np.outer(a, a),
        excess * (slope + slope.T),
        J_D @ at.T,
        J_D_dot @ at.T + J_D @ at.T_dot,
        np.zeros(3),
    )


def all_parts(geometry: PusGeometry, at: Kinematics) -> list[Part]:
    """Platform, actuators, and every link twice: its translation and its rotation."""
    links = [kind(geometry, at, i) for kind in (translating_link, rotating_link) for i in LIMBS]
    return [platform(geometry, at), actuators(geometry, at), *links]


def _point(p: FloatArray) -> FloatArray:
    """Velocity of P_i per twist of the platform (3, 6)."""
    return np.hstack([_ONE, -skew(p)])


def _point_rate(p_dot: FloatArray) -> FloatArray:
    return np.hstack([_NONE, -skew(p_dot)])
