# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all readers of descriptions share: the URDF tree, a platform on six joints, limbs.

The tree is read as loaded, without the engine, so that formulations and engine share nothing but
the files.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.urdf import MOVING_TYPES, Inertia, Joint
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import DescriptionError

LENGTH = 1e-9  # m, rounding of lengths that should be equal
RATIO = 1e-9
TURNING = ('revolute', 'continuous')
SLIDING = ('prismatic',)


class TreeReader:
    """Walks the tree of one description of a platform on six limbs of three joints each."""

    mechanism: str
    limb: str  # description of a limb, for messages
    drive: tuple[str, ...]  # permitted types of a limb's driven joint

    def __init__(self, description: MechanismDescription):
        self.description = description
        self.tree = description.tree
        self.carriers = self.tree.carriers()
        self.parents = {joint.child: joint for joint in self.tree.joints}
        self.placed = self._place()
        for name, own in description.joints.items():
            if own.stiffness or own.armature:
                self.refuse(f'joints.{name}', 'it has a spring or armature')

    def refuse(self, key: str, reason: str) -> NoReturn:
        """Raise an error that says why the papers' equations do not apply."""
        raise DescriptionError(
            self.description.file,
            key,
            f'not the {self.mechanism} mechanism of the formulations: {reason}',
        )

    def check_counts(self) -> None:
        """Check that there are six limbs and a platform, and nothing else."""
        description = self.description
        if len(description.actuated) != 6 or len(description.closures) != 6:
            self.refuse(
                'actuated, closures',
                f'{len(description.actuated)} actuated joints and {len(description.closures)} '
                'closures, needed are 6 of each',
            )
        moving = [joint.name for joint in self.tree.joints if joint.type in MOVING_TYPES]
        if len(moving) != 24:
            self.refuse('joints', f'{len(moving)} moving joints, needed are 24')

    def _place(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Position and rotation of every link in {S} with all joints at 0."""
        placed = {self.tree.root: (np.zeros(3), np.eye(3))}
        for joint in self.tree.joints:
            position, turned = placed[joint.parent]
            placed[joint.child] = (position + turned @ joint.position, turned @ joint.rotation)
        return placed

    def supports(self, link: str) -> list[Joint]:
        """Moving joints from the base to a link."""
        joints: list[Joint] = []
        while link != self.tree.root:
            joint = self.parents[link]
            if joint.type in MOVING_TYPES:
                joints.insert(0, joint)
            link = joint.parent
        return joints

    def body(self, link: str) -> Inertia:
        """Inertia of the rigid body that contains a link, in {S} with all joints at 0."""
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

    def check_massless(self, link: str) -> None:
        """Refuse mass on a link that only joins two axes."""
        body = self.body(link)
        if body.mass > 0.0 or body.about_center.any():
            self.refuse(f'link {link}', f'has a mass of {body.mass:.6g} kg between joints')

    # The platform

    def check_platform(self, turns: str) -> tuple[tuple[str, ...], FloatArray]:
        """Joints of the platform and their values at home; its rotation axes must be ``turns``."""
        description = self.description
        chain = self.supports(description.platform)
        types = [joint.type == 'prismatic' for joint in chain]
        needed = np.eye(3)[[*range(3), *('xyz'.index(axis) for axis in turns)]]
        if types != [True] * 3 + [False] * 3 or not np.allclose(
            [joint.axis for joint in chain], needed
        ):
            self.refuse(
                f'platform {description.platform}',
                f'it needs sliding joints along x, y, z, then turning joints about '
                f'{", ".join(turns)}',
            )
        for link in [joint.child for joint in chain]:
            position, turned = self.placed[link]
            if np.abs(position).max() > LENGTH or not np.allclose(turned, np.eye(3)):
                self.refuse(f'link {link}', "its frame at 0 is not the base's")
        for joint in chain[:-1]:
            self.check_massless(joint.child)
        names = tuple(joint.name for joint in chain)
        return names, np.array([description.home.get(name, 0.0) for name in names])

    def check_independent(self, needed: tuple[str, ...]) -> None:
        """Check the degrees of freedom and their order."""
        if self.description.independent != needed:
            self.refuse(
                'independent', f'{list(self.description.independent)}, needed {list(needed)}'
            )

    def centred_platform(self) -> Inertia:
        """Inertia of the platform; its centre of mass must be its origin."""
        name = self.description.platform
        platform = self.body(name)
        offset = float(np.linalg.norm(platform.center_of_mass - self.placed[name][0]))
        if offset > LENGTH:
            self.refuse(
                f'link {name}', f'its centre of mass is {offset * 1e3:.6g} mm from its origin'
            )
        return platform

    # The limbs

    def chain(self, name: str) -> tuple[list[Joint], str, str]:
        """Joints of the limb that a joint drives, and the frames that close it on the platform.

        The last two joints must form a universal joint: crossed axes without mass between them.
        """
        tip, seat = self._closure(name)
        joints = self.supports(tip)
        _, first, second = joints
        apart = self.placed[second.child][0] - self.placed[first.child][0]
        if np.abs(apart).max() > LENGTH:
            self.refuse(f'joint {second.name}', f'its axis does not cross that of {first.name}')
        self.check_massless(first.child)
        return joints, tip, seat

    def _closure(self, name: str) -> tuple[str, str]:
        """Frames at the far end of the limb that a joint drives, and on the platform."""
        platform = self.carriers[self.description.platform]
        for closure in self.description.closures:
            for tip, seat in (closure.frames, closure.frames[::-1]):
                chain = self.supports(tip)
                if (
                    self.carriers[seat] == platform
                    and [joint.name for joint in chain[:1]] == [name]
                    and len(chain) == 3
                    and chain[0].type in self.drive
                    and all(joint.type in TURNING for joint in chain[1:])
                ):
                    return tip, seat
        self.refuse(f'joint {name}', f'no {self.limb} that a closure holds to the platform')

    def rotor(self, name: str) -> float:
        """Inertia of a joint's motor."""
        actuator = self.description.actuators[name]
        if actuator.transmission is not None:
            self.refuse(f'actuators.{name}.transmission', 'efforts here are those of joints')
        return actuator.rotor_inertia

    def rod(self, link: str, span: FloatArray) -> tuple[float, float, Inertia]:
        """Length, centre of mass as a fraction of it, and inertia of a rod along a vector."""
        body, length = self.body(link), float(np.linalg.norm(span))
        if length < 1e-6:
            self.refuse(f'link {link}', 'its two ends coincide')
        arm = body.center_of_mass - self.placed[link][0]
        fraction = float(arm @ span) / length**2
        if np.linalg.norm(arm - fraction * span) > LENGTH:
            self.refuse(f'link {link}', 'its centre of mass is off the line between its ends')
        return length, fraction, body
