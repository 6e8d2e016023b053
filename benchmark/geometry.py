# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The masticator's dimensions and masses, for methods written for this one mechanism."""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmark.states import Array
from masticator_dynamics import Mechanism


@dataclasses.dataclass(frozen=True)
class Geometry:
    """SI units; six limbs from crank shaft G via crank pin S to platform joint M.

    ``floor.cpp`` reads the numbers in the order of the fields.
    """

    shaft: Array  # (6, 3) G, base axes
    crank_x: Array  # (6, 3) unit vector from G to S at home, base axes
    crank_y: Array  # (6, 3) direction in which x turns
    crank_z: Array  # (6, 3) axis of the crank
    joint: Array  # (6, 3) M, platform axes
    crank_length: Array  # (6,)
    coupler_length: Array  # (6,)
    crank_inertia: Array  # (6,) about the shaft
    coupler_mass: Array  # (6,) of a uniform thin rod
    branch: Array  # (6,) +1 or -1: which root of the crank's equation home is on
    condyle: Array  # (3,) midpoint of the condyles, platform axes; they differ only in y
    normal: Array  # (3,) of the plane of both condyles: normal . p + offset = 0
    offset: Array  # (1,)
    mass: Array  # (1,) of the platform, centre of mass at its origin
    inertia: Array  # (3, 3) about the origin, platform axes
    gravity: Array  # (3,)

    @classmethod
    def of(cls, mechanism: Mechanism) -> Geometry:
        """Read the geometry from the description and the pose at home."""
        links = mechanism.description.tree.links
        limbs = range(1, 7)

        def at_home(frame: str) -> tuple[Array, Array]:
            pose = mechanism.frame_pose(mechanism.home, frame)
            return pose.position, pose.rotation

        shaft = np.array([at_home(f'crank_{i}_link')[0] for i in limbs])
        axes = np.array([at_home(f'crank_{i}_link')[1].T for i in limbs])
        pin = np.array([at_home(f'coupler_{i}')[0] for i in limbs])
        origin, rotation = at_home(mechanism.description.platform)
        tip = np.array([at_home(f'coupler_{i}_tip')[0] for i in limbs])
        condyles = np.array([at_home(f'condyle_{side}')[0] for side in ('left', 'right')])
        contact = mechanism.description.contacts[0]
        platform = links[mechanism.description.platform]
        lever = np.cross(axes[:, 2], pin - shaft)
        return cls(
            shaft,
            axes[:, 0],
            axes[:, 1],
            axes[:, 2],
            (tip - origin) @ rotation,
            np.linalg.norm(pin - shaft, axis=1),
            np.linalg.norm(tip - pin, axis=1),
            np.array([links[f'crank_{i}_link'].about_center[2, 2] for i in limbs]),
            np.array([links[f'coupler_{i}'].mass for i in limbs]),
            -np.sign(np.sum((tip - shaft) * lever, axis=1)),
            (condyles.mean(axis=0) - origin) @ rotation,
            np.array(contact.normal),
            np.array([contact.offset]),
            np.array([platform.mass]),
            platform.about_center,
            np.array(mechanism.description.gravity),
        )

    def numbers(self) -> Array:
        """All numbers in the order of the fields."""
        return np.concatenate([np.ravel(value) for value in dataclasses.astuple(self)])
