# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces in the joints of the tree, for whoever sizes bearings; off the hot path."""

from collections.abc import Mapping

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.layout import bodies_of
from masticator_dynamics.engine.packing import Model
from masticator_dynamics.engine.structure import Structure


def joint_reactions(
    structure: Structure, model: Model, multipliers: FloatArray, friction: Mapping[str, FloatArray]
) -> FloatArray:
    """Wrenches (n, 6) that joints transmit, right after their motion was evaluated.

    ``friction`` holds the friction force (3,), N, base axes, on the body of each contact.

    Force and torque on the child from the parent, base axes, torque about the joint's origin.
    The engine leaves the wrenches of the open tree; the constraint forces are taken off here.
    """
    bodies = bodies_of(model.memory)
    origins, rotations = bodies['position'], bodies['rotation']
    wrenches = np.hstack([bodies['force'][:-1], bodies['moment'][:-1]])
    # Forces and points of the constraints, then their wrenches about the base's origin.
    at, forces, points = [], [], []
    for constraint in structure.constraints:
        rows = structure.rows(constraint.name)
        force = multipliers[rows.start : rows.stop] @ constraint.rows
        rubbing = friction.get(constraint.name, 0.0)
        for body, point, applied in (
            (constraint.body_a, constraint.point_a, -force),
            (constraint.body_b, constraint.point_b, force + rubbing),
        ):
            if body >= 0:
                at.append(body)
                forces.append(applied)
                points.append(origins[body] + rotations[body] @ point)
    if not at:
        return wrenches
    borne = np.zeros_like(wrenches)
    np.add.at(borne, at, np.hstack([forces, np.cross(points, forces)]))
    # What a body bears its parent bears, too; parents stand before children.
    for j in range(len(wrenches) - 1, -1, -1):
        parent = structure.tree.placements[j].body
        if parent >= 0:
            borne[parent] += borne[j]
    wrenches[:, :3] -= borne[:, :3]
    wrenches[:, 3:] -= borne[:, 3:] - np.cross(origins[:-1], borne[:, :3])
    return wrenches
