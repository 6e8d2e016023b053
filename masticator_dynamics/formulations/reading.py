# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a description to the papers' symbols; what is not their mechanism is refused.

Read from the URDF tree as loaded, without the engine, so that formulations and engine have
nothing in common but the files.
"""

from __future__ import annotations

import dataclasses
from typing import NoReturn

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf import MOVING_TYPES, Inertia, Joint
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.formulations.geometry import Geometry, Sockets
from masticator_dynamics.formulations.rotations import rotation

_LENGTH = 1e-9  # m, rounding of what should be equal
_RATIO = 1e-9
_TURNING = ('revolute', 'continuous')


def read_geometry(description: MechanismDescription) -> Geometry:
    """Points, axes, masses and contact planes of a 6-RSS mechanism.

    Raises
    ------
    DescriptionError
        Naming joint, link or contact, when the mechanism is not one that S0 and S1 treat.
    """
    return _Reader(description).geometry()


class _Reader:
    """Walks the tree of one description."""

    def __init__(self, description: MechanismDescription):
        self.description = description
        self.tree = description.tree
        self.carriers = self.tree.carriers()
        self.parents = {joint.child: joint for joint in self.tree.joints}
        self.placed = self._place()

    def refuse(self, key: str, reason: str) -> NoReturn:
        """Say what keeps the papers' equations from applying."""
        raise DescriptionError(
            self.description.file, key, f'not the 6-RSS mechanism of the formulations: {reason}'
        )

    def geometry(self) -> Geometry:
        description = self.description
        pose = self._check_platform()
        if len(description.actuated) != 6 or len(description.closures) != 6:
            self.refuse(
                'actuated, closures',
                f'{len(description.actuated)} actuated joints and {len(description.closures)} '
                'closures, needed are 6 of each',
            )
        limbs = [self._limb(name) for name in description.actuated]
        moving = [joint.name for joint in self.tree.joints if joint.type in MOVING_TYPES]
        if len(moving) != 24:
            self.refuse('joints', f'{len(moving)} moving joints, needed are 24')
        columns = {key: np.array([limb[key] for limb in limbs]) for key in limbs[0]}
        theta_home = np.array([description.home.get(name, 0.0) for name in description.actuated])
        platform = self._body(description.platform)
        origin = self.placed[description.platform][0]
        offset = float(np.linalg.norm(platform.center_of_mass - origin))
        if offset > _LENGTH:
            self.refuse(
                f'link {description.platform}',
                f'its centre of mass is {offset * 1e3:.6g} mm from its origin',
            )
        geometry = Geometry(
            **columns, theta_home=theta_home, branch=np.ones(6), m_EE=platform.mass,
            I_EE=platform.about_center, g=np.array(description.gravity), sockets=self._sockets(),
            names=description.actuated,
        )  # fmt: skip
        # d(A cos theta + B sin theta)/d theta has the sign of sin(phase - theta).
        lever = geometry.cranks(theta_home)[1]
        GM = pose[:3] + geometry.M @ rotation(pose[3:]).T - geometry.G
        return dataclasses.replace(geometry, branch=-np.sign(np.sum(GM * lever, axis=1)))

    # The tree

    def _place(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Position and rotation of every link in {S} with all joints at 0."""
        placed = {self.tree.root: (np.zeros(3), np.eye(3))}
        for joint in self.tree.joints:
            position, turned = placed[joint.parent]
            placed[joint.child] = (position + turned @ joint.position, turned @ joint.rotation)
        return placed

    def _supports(self, link: str) -> list[Joint]:
        """Moving joints from the base to a link."""
        joints: list[Joint] = []
        while link != self.tree.root:
            joint = self.parents[link]
            if joint.type in MOVING_TYPES:
                joints.insert(0, joint)
            link = joint.parent
        return joints

    def _body(self, link: str) -> Inertia:
        """Mass of the rigid body that a link starts, in {S} with all joints at 0."""
        members = [name for name, first in self.carriers.items() if first == self.carriers[link]]
        parts = []
        for name in members:
            inertia, (position, turned) = self.tree.links[name], self.placed[name]
            center = position + turned @ inertia.center_of_mass
            parts.append((inertia.mass, center, turned @ inertia.about_center @ turned.T))
        mass = sum(part[0] for part in parts)
        moment = sum((m * c for m, c, _ in parts), np.zeros(3))
        center = moment / mass if mass > 0.0 else self.placed[link][0]
        about = np.zeros((3, 3))
        for m, c, tensor in parts:
            arm = c - center
            about += tensor + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return Inertia(mass, center, about)

    def _check_massless(self, link: str) -> None:
        body = self._body(link)
        if body.mass > 0.0 or body.about_center.any():
            self.refuse(f'link {link}', f'has a mass of {body.mass:.6g} kg between joints')

    # The end effector

    def _check_platform(self) -> FloatArray:
        """X_EE (S0 Eq. 7) is made of the platform's joints; their values at home."""
        description = self.description
        chain = self._supports(description.platform)
        types = [joint.type == 'prismatic' for joint in chain]
        axes = [joint.axis for joint in chain]
        if types != [True] * 3 + [False] * 3 or not np.allclose(axes, np.tile(np.eye(3), (2, 1))):
            self.refuse(
                f'platform {description.platform}',
                'it needs sliding joints along x, y, z, then turning joints about x, y, z',
            )
        for link in [joint.child for joint in chain]:
            position, turned = self.placed[link]
            if np.abs(position).max() > _LENGTH or not np.allclose(turned, np.eye(3)):
                self.refuse(f'link {link}', "its frame at 0 is not the base's")
        for joint in chain[:-1]:
            self._check_massless(joint.child)
        names = tuple(joint.name for joint in chain)
        count = len(description.contacts)
        if count not in (0, 2):
            self.refuse('contacts', f'{count} contacts, needed are 0 or 2')
        needed = names if count == 0 else (names[0], names[1], names[3], names[4])
        if description.independent != needed:
            self.refuse('independent', f'{list(description.independent)}, needed {list(needed)}')
        return np.array([description.home.get(name, 0.0) for name in names])

    def _sockets(self) -> Sockets | None:
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
        if np.any(np.abs(normal[:, 1]) > _RATIO * scale) or np.any(
            np.abs(normal[:, [0, 2]]) < 1e-6 * scale[:, None]
        ):
            self.refuse('contacts', 'a normal is not (p1, 0, 1) times a number, p1 not 0')
        p1 = normal[:, 0] / normal[:, 2]
        p2 = np.array([contact.offset for contact in contacts]) / normal[:, 2]
        if abs(p1[0] - p1[1]) > _RATIO * abs(p1[0]) or abs(p2[0] - p2[1]) > _LENGTH:
            self.refuse('contacts', 'the two planes are not the same')
        asymmetry = float(np.abs(T[0] * [1.0, -1.0, 1.0] - T[1]).max())
        if asymmetry > _LENGTH:
            self.refuse('contacts', f'condyles differ by {asymmetry * 1e3:.6g} mm from symmetry')
        if abs(T[0, 1]) < 1e-6:
            self.refuse('contacts', 'the condyles coincide')
        return Sockets(float(p1[0]), float(p2[0]), T, normal)

    # The limbs

    def _limb(self, name: str) -> dict[str, FloatArray | float]:
        """Crank and coupler that an actuated joint drives, as fields of :class:`Geometry`."""
        tip, seat = self._closure(name)
        crank, first, second = self._supports(tip)
        apart = self.placed[second.child][0] - self.placed[first.child][0]
        if np.abs(apart).max() > _LENGTH:
            self.refuse(f'joint {second.name}', f'its axis does not cross that of {first.name}')
        self._check_massless(first.child)
        position, turned = self.placed[crank.child]
        Z_C, S = turned @ crank.axis, self.placed[second.child][0]
        G = position + Z_C * ((S - position) @ Z_C)
        r = float(np.linalg.norm(S - G))
        if r < 1e-6:
            self.refuse(f'joint {name}', 'its axis goes through the crank pin')
        X_C = (S - G) / r
        body = self._body(crank.child)
        arm = body.center_of_mass - G
        off = float(np.linalg.norm(arm - (arm @ Z_C) * Z_C))
        if off > _LENGTH:
            self.refuse(
                f'link {crank.child}', f'its centre of mass is {off * 1e3:.6g} mm off the shaft'
            )
        rotor = self.description.actuators[name].rotor_inertia
        return {
            'G': G, 'X_C': X_C, 'Y_C': np.cross(Z_C, X_C), 'Z_C': Z_C, 'r': r,
            'M': self.placed[seat][0], 'I_G': float(Z_C @ body.about_center @ Z_C) + rotor,
            'm_G': body.mass, **self._coupler(second.child, self.placed[tip][0] - S),
        }  # fmt: skip

    def _closure(self, name: str) -> tuple[str, str]:
        """Frames at the far end of the coupler that a joint drives, and on the platform."""
        platform = self.carriers[self.description.platform]
        for closure in self.description.closures:
            for tip, seat in (closure.frames, closure.frames[::-1]):
                chain = self._supports(tip)
                if (
                    self.carriers[seat] == platform
                    and [joint.name for joint in chain[:1]] == [name]
                    and len(chain) == 3
                    and all(joint.type in _TURNING for joint in chain)
                ):
                    return tip, seat
        self.refuse(
            f'joint {name}',
            'no crank with a coupler on two crossed axes that a closure holds to the platform',
        )

    def _coupler(self, link: str, SM: FloatArray) -> dict[str, float]:
        """A rod with its mass on the line between its ends and no inertia about that line."""
        body, L = self._body(link), float(np.linalg.norm(SM))
        if L < 1e-6:
            self.refuse(f'link {link}', 'its two ends coincide')
        axis, arm = SM / L, body.center_of_mass - self.placed[link][0]
        k = float(arm @ axis) / L
        if np.linalg.norm(arm - k * SM) > _LENGTH:
            self.refuse(f'link {link}', 'its centre of mass is off the line between its ends')
        I_S = 0.5 * float(np.trace(body.about_center))
        slender = I_S * (np.eye(3) - np.outer(axis, axis))
        if np.abs(body.about_center - slender).max() > _RATIO * max(I_S, 1e-300):
            self.refuse(f'link {link}', 'it is no slender rod without inertia about its line')
        return {'L': L, 'm_S': body.mass, 'k': k, 'I_S': I_S}
