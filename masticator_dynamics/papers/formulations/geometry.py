# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The properties of a mechanism that the papers' equations use, in their symbols."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import ReachError, SingularityError

_SINGULAR = 1e-9  # of an angle, rad


@dataclasses.dataclass(frozen=True)
class SocketPlanes:
    """The two point contacts of the end effector with the base, p1 x + z + p2 = 0 (S0 Eq. 1).

    Attributes
    ----------
    p1, p2 : float
        Coefficients of the plane; p2 in m.
    T : array, shape (2, 3)
        Condyle centres in {M}, m, in the order of the contacts; mirror images in the XZ plane.
    normal : array, shape (2, 3)
        As written in the description: the papers' M_H = (p1, 0, 1) times `normal[:, 2]`.
    """

    p1: float
    p2: float
    T: FloatArray
    normal: FloatArray

    @property
    def middle(self) -> FloatArray:
        """Midpoint (3,) of the condyles in {M}: (T_L(1), 0, T_L(3)) of S0 Eq. 5."""
        return self.T.mean(axis=0)

    @property
    def M_H(self) -> FloatArray:
        """Direction (3,) of the contact force per unit of F_Z (S1 Eq. 28)."""
        return np.array([self.p1, 0.0, 1.0])


@dataclasses.dataclass(frozen=True)
class Geometry:
    """A 6-RSS mechanism, with or without the two contacts. SI units; limbs in actuated order.

    Attributes
    ----------
    G : array, shape (6, 3)
        Centres of the crank shafts in {S}, at the height of the crank pins.
    X_C, Y_C, Z_C : array, shape (6, 3)
        Axes of the crank frames {C_i0} in {S}: towards the pin at theta = 0, across, and along
        the shaft.
    M : array, shape (6, 3)
        Spherical joints on the end effector in {M}.
    r, L : array, shape (6,)
        Lengths of cranks |G_i S_i| and couplers |S_i M_i|.
    theta_home, branch : array, shape (6,)
        Crank angles at home, and which root of the crank's equation home is on (its sign).
    I_G, m_G : array, shape (6,)
        Inertia of cranks about their shafts, rotors included, and masses of cranks.
    m_S, k, I_S : array, shape (6,)
        Mass of couplers, centre of mass at the fraction k from S to M, transverse inertia.
    m_EE, I_EE : float, array (3, 3)
        Mass of the end effector, and inertia in {M} about O_M, its centre of mass.
    g : array, shape (3,)
        Acceleration of free fall in {S}.
    sockets : SocketPlanes or None
        None without contacts (6RSS).
    """

    G: FloatArray
    X_C: FloatArray
    Y_C: FloatArray
    Z_C: FloatArray
    M: FloatArray
    r: FloatArray
    L: FloatArray
    theta_home: FloatArray
    branch: FloatArray
    I_G: FloatArray
    m_G: FloatArray
    m_S: FloatArray
    k: FloatArray
    I_S: FloatArray
    m_EE: float
    I_EE: FloatArray
    g: FloatArray
    sockets: SocketPlanes | None
    names: tuple[str, ...]

    @property
    def freedoms(self) -> int:
        """4 with the contacts, 6 without."""
        return 6 if self.sockets is None else 4

    def crank_angles(self, OM: FloatArray) -> FloatArray:
        """Angles theta (6,) that reach the joints O_S M_i (6, 3), on the same branch as home.

        From |G_i M_i - G_i S_i| = L_i (S0 Eqs. 8, 9; S1 Eq. 18): A cos theta + B sin theta = C.

        Raises
        ------
        ReachError, SingularityError
            Naming the limb.
        """
        GM = OM - self.G
        A = np.sum(GM * self.X_C, axis=1)
        B = np.sum(GM * self.Y_C, axis=1)
        C = (np.sum(GM * GM, axis=1) + self.r**2 - self.L**2) / (2.0 * self.r)
        cosine = C / np.hypot(A, B)
        worst = int(np.argmax(np.abs(cosine)))
        if np.abs(cosine[worst]) > 1.0:
            raise ReachError(f'{self.names[worst]}: crank and coupler do not reach the platform')
        opening = np.arccos(cosine)
        if np.sin(opening[worst]) < _SINGULAR:
            raise SingularityError(f'{self.names[worst]}: crank and coupler are in one plane')
        theta = np.arctan2(B, A) + self.branch * opening
        turns = np.round((theta - self.theta_home) / (2.0 * np.pi))
        return np.asarray(theta - 2.0 * np.pi * turns)

    def cranks(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Vectors G_i S_i (6, 3) in {S} and their derivatives by theta_i (S0 Eq. 9)."""
        c, s = (self.r * np.cos(theta))[:, None], (self.r * np.sin(theta))[:, None]
        return c * self.X_C + s * self.Y_C, c * self.Y_C - s * self.X_C
