# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions with flexible links for tests: rrr4 with other shapes, rcid with bending limbs."""

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.description.data import FlexibleLink, Material, Section
from masticator_dynamics.flexible.flexible_model import FlexibleModel

# S3 Table 1
LENGTH, AREA, THICKNESS, DENSITY, MODULUS = 0.1, 16e-6, 2.5e-3, 2700.0, 70e9
MOMENT = AREA * THICKNESS**2 / 12.0
# sqrt(E I / (rho A L^4)) / 2 pi: analytic frequencies are beta^2 times this, Hz
UNIT_FREQUENCY = np.sqrt(MODULUS * MOMENT / (DENSITY * AREA * LENGTH**4)) / (2.0 * np.pi)
PLATFORM = ('x', 'y', 'phi')
MOTORS = ('motor_1', 'motor_2', 'motor_3', 'motor_4')


def changed(description: MechanismDescription, **changes: object) -> MechanismDescription:
    """Set fields of all flexible links."""
    links = {name: link.changed(**changes) for name, link in description.flexible.items()}
    return dataclasses.replace(description, flexible=links)


def rrr4(modes: int | None = None, boundary: str | None = None, modulus: float = MODULUS):
    """rrr4 as shipped, or with the same kind of shapes on all rods."""
    changes: dict[str, object] = {
        'material': Material(youngs_modulus=modulus, density=DENSITY),
    }
    if modes is not None:
        changes['modes'] = modes
    if boundary is not None:
        changes['boundary'] = boundary
    return changed(load_description('rrr4'), **changes)


def rcid(modes: int = 1, boundary: str = 'pinned-pinned') -> MechanismDescription:
    """rcid with limbs that bend in two planes: slender rods of its mass and length."""
    description = load_description('rcid')
    limbs = [f'link_{i}' for i in range(1, 7)]
    inertia = description.tree.links[limbs[0]]
    axis = int(np.argmax(np.abs(inertia.center_of_mass)))
    length = 2.0 * inertia.center_of_mass[axis]
    across = [letter for letter in 'xyz' if letter != 'xyz'[axis]]
    area = 20e-6
    link = FlexibleLink(
        axis='xyz'[axis],
        ends=(min(0.0, length), max(0.0, length)),
        section=Section(area=area, second_moment={across[0]: 3e-11, across[1]: 5e-11}),
        material=Material(youngs_modulus=2e9, density=inertia.mass / (area * abs(length))),
        modes=modes,
        boundary=boundary,
    )  # fmt: skip
    return dataclasses.replace(description, flexible=dict.fromkeys(limbs, link))


def efforts(model: FlexibleModel, values: dict[str, float]) -> np.ndarray:
    """Efforts (n,) on all coordinates of a model, of which some are given."""
    return np.array([values.get(name, 0.0) for name in model.coordinates])
