# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces in the joints of the tree, for whoever sizes bearings; off the hot path."""

from collections.abc import Mapping

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import points
from masticator_dynamics.engine.constraint import wrenches as unit_wrenches
from masticator_dynamics.engine.layout import bodies_of
from masticator_dynamics.engine.packing import Model
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.tree import TreePoses


def joint_reactions(
    structure: Structure,
    model: Model,
    q: FloatArray,
    multipliers: FloatArray,
    friction: Mapping[str, FloatArray],
) -> FloatArray:
    """Wrenches (n, 6) that joints transmit, right after their motion was evaluated.

    ``q`` are its positions (n,); ``friction`` holds the friction force (3,), N, base axes, on the
    body of each contact. Couplings of joints act along the axes of these joints and between no
    bodies that the description names: they are not among the wrenches.

    Force and torque on the child from the parent, base axes, torque about the joint's origin.
    The engine leaves the wrenches of the open tree; the constraint forces are taken off here.
    """
    bodies = bodies_of(model.memory)
    origins, rotations = bodies['position'], bodies['rotation']
    wrenches = np.hstack([bodies['force'][:-1], bodies['moment'][:-1]])
    poses = TreePoses(structure.tree, q, rotations, origins)
    # Bodies and the wrenches of the constraints on them, about the base's origin.
    at: list[int] = []
    applied: list[FloatArray] = []
    for constraint, rows in structure.ordered():
        unit = unit_wrenches(poses, constraint)
        wrench = multipliers[rows.start : rows.stop] @ unit
        wrench[:3] += friction.get(constraint.name, 0.0)
        a, b = points(poses, constraint)
        in_base = constraint.kind == 'point' and not constraint.carried
        for body, point, sign in (
            (constraint.body_a, a if in_base else b, -1.0),
            (constraint.body_b, b, 1.0),
        ):
            if body >= 0:
                at.append(body)
                torque = wrench[3:] + np.cross(point, wrench[:3])
                applied.append(sign * np.concatenate([wrench[:3], torque]))
    if not at:
        return wrenches
    borne = np.zeros_like(wrenches)
    np.add.at(borne, at, applied)
    # What a body bears its parent bears, too; parents stand before children.
    for j in range(len(wrenches) - 1, -1, -1):
        parent = structure.tree.placements[j].body
        if parent >= 0:
            borne[parent] += borne[j]
    wrenches[:, :3] -= borne[:, :3]
    wrenches[:, 3:] -= borne[:, 3:] - np.cross(origins[:-1], borne[:, :3])
    return wrenches
