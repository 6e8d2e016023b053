# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a description to the papers' symbols; other mechanisms are refused."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.papers.formulations.geometry import Geometry, SocketPlanes
from masticator_dynamics.papers.formulations.rotations import rotation
from masticator_dynamics.papers.formulations.tree_reading import LENGTH, RATIO, TURNING, TreeReader


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
