# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The properties of a mechanism that the papers' equations use, in their symbols."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import ReachError, SingularityError
from papers.formulations.rotations import rotation
from papers.formulations.tree_reading import LENGTH, RATIO, TURNING, TreeReader

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


def read_geometry(description: MechanismDescription) -> Geometry:
    """Points, axes, masses and contact planes of a 6-RSS mechanism.

    Raises
    ------
    DescriptionError
        If the mechanism is not one that S0 and S1 treat; names the joint, link or contact.
    """
    return _MechanismReader(description).geometry()


class _MechanismReader(TreeReader):
    """Reads a 6-RSS mechanism, with or without two contacts."""

    mechanism = '6-RSS'
    limb = 'crank with a coupler on two crossed axes'
    drive = TURNING

    def geometry(self) -> Geometry:
        description = self.description
        names, pose = self.check_platform('xyz')
        count = len(description.contacts)
        if count not in (0, 2):
            self.refuse('contacts', f'{count} contacts, needed are 0 or 2')
        self.check_independent(names if count == 0 else (names[0], names[1], names[3], names[4]))
        self.check_counts()
        limbs = [self._limb(name) for name in description.actuated]
        columns = {key: np.array([limb[key] for limb in limbs]) for key in limbs[0]}
        theta_home = np.array([description.home.get(name, 0.0) for name in description.actuated])
        platform = self.centred_platform()
        geometry = Geometry(
            **columns, theta_home=theta_home, branch=np.ones(6), m_EE=platform.mass,
            I_EE=platform.about_center, g=np.array(description.gravity), sockets=self._sockets(),
            names=description.actuated,
        )  # fmt: skip
        # d(A cos theta + B sin theta)/d theta has the sign of sin(phase - theta).
        lever = geometry.cranks(theta_home)[1]
        GM = pose[:3] + geometry.M @ rotation(pose[3:]).T - geometry.G
        return dataclasses.replace(geometry, branch=-np.sign(np.sum(GM * lever, axis=1)))

    def _sockets(self) -> SocketPlanes | None:
        contacts = self.description.contacts
        if not contacts:
            return None
        platform = self.carriers[self.description.platform]
        T = np.empty((2, 3))
        for j, contact in enumerate(contacts):
            if self.carriers[contact.frame] != platform:
                self.refuse(f'contacts[{j}].frame', f'{contact.frame!r} is not on the platform')
            T[j] = self.placed[contact.frame][0]
        normal = np.array([contact.normal for contact in contacts])
        scale = np.abs(normal).max(axis=1)
        if np.any(np.abs(normal[:, 1]) > RATIO * scale) or np.any(
            np.abs(normal[:, [0, 2]]) < 1e-6 * scale[:, None]
        ):
            self.refuse('contacts', 'a normal is not (p1, 0, 1) times a number, p1 not 0')
        p1 = normal[:, 0] / normal[:, 2]
        p2 = np.array([contact.offset for contact in contacts]) / normal[:, 2]
        if abs(p1[0] - p1[1]) > RATIO * abs(p1[0]) or abs(p2[0] - p2[1]) > LENGTH:
            self.refuse('contacts', 'the two planes are not the same')
        asymmetry = float(np.abs(T[0] * [1.0, -1.0, 1.0] - T[1]).max())
        if asymmetry > LENGTH:
            self.refuse('contacts', f'condyles differ by {asymmetry * 1e3:.6g} mm from symmetry')
        if abs(T[0, 1]) < 1e-6:
            self.refuse('contacts', 'the condyles coincide')
        return SocketPlanes(float(p1[0]), float(p2[0]), T, normal)

    def _limb(self, name: str) -> dict[str, FloatArray | float]:
        """Crank and coupler of an actuated joint, as fields of :class:`Geometry`."""
        (crank, _, second), tip, seat = self.chain(name)
        position, turned = self.placed[crank.child]
        Z_C, S = turned @ crank.axis, self.placed[second.child][0]
        G = position + Z_C * ((S - position) @ Z_C)
        r = float(np.linalg.norm(S - G))
        if r < 1e-6:
            self.refuse(f'joint {name}', 'its axis goes through the crank pin')
        X_C = (S - G) / r
        body = self.body(crank.child)
        arm = body.center_of_mass - G
        off = float(np.linalg.norm(arm - (arm @ Z_C) * Z_C))
        if off > LENGTH:
            self.refuse(
                f'link {crank.child}', f'its centre of mass is {off * 1e3:.6g} mm off the shaft'
            )
        return {
            'G': G, 'X_C': X_C, 'Y_C': np.cross(Z_C, X_C), 'Z_C': Z_C, 'r': r,
            'M': self.placed[seat][0],
            'I_G': float(Z_C @ body.about_center @ Z_C) + self.rotor(name),
            'm_G': body.mass, **self._coupler(second.child, self.placed[tip][0] - S),
        }  # fmt: skip

    def _coupler(self, link: str, SM: FloatArray) -> dict[str, float]:
        """Fields of a rod whose mass is on the line between its ends, without inertia about it."""
        L, k, body = self.rod(link, SM)
        I_S = 0.5 * float(np.trace(body.about_center))
        slender = I_S * (np.eye(3) - np.outer(SM, SM) / L**2)
        if np.abs(body.about_center - slender).max() > RATIO * max(I_S, 1e-300):
            self.refuse(f'link {link}', 'it is no slender rod without inertia about its line')
        return {'L': L, 'm_S': body.mass, 'k': k, 'I_S': I_S}
