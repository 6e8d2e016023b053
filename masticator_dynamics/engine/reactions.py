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
    wrenches = np.hstack([bodies['force'][:-1], bodies['moment'][:-1]])
    for constraint in structure.constraints:
        rows = structure.rows(constraint.name)
        force = multipliers[rows.start : rows.stop] @ constraint.rows
        rubbing = friction.get(constraint.name, np.zeros(3))
        for body, point, applied in (
            (constraint.body_a, constraint.point_a, -force),
            (constraint.body_b, constraint.point_b, force + rubbing),
        ):
            record = bodies[body]
            point_in_base = record['position'] + record['rotation'] @ point
            for j in structure.tree.supports(body):
                arm = point_in_base - bodies[j]['position']
                wrenches[j, :3] -= applied
                wrenches[j, 3:] -= np.cross(arm, applied)
    return wrenches
