# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces in the joints of the tree, for whoever sizes bearings; off the hot path."""

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.layout import bodies_of
from masticator_dynamics.engine.packing import Model
from masticator_dynamics.engine.structure import Structure


def joint_reactions(structure: Structure, model: Model, multipliers: FloatArray) -> FloatArray:
    """Wrenches (n, 6) that joints transmit, right after their motion was evaluated.

    Force and torque on the child from the parent, base axes, torque about the joint's origin.
    The engine leaves the wrenches of the open tree; the constraint forces are taken off here.
    """
    bodies = bodies_of(model.memory)
    wrenches = np.hstack([bodies['force'][:-1], bodies['moment'][:-1]])
    for constraint in structure.constraints:
        rows = structure.rows(constraint.name)
        force_on_b = multipliers[rows.start : rows.stop] @ constraint.rows
        for body, point, force in (
            (constraint.body_a, constraint.point_a, -force_on_b),
            (constraint.body_b, constraint.point_b, force_on_b),
        ):
            record = bodies[body]
            point_in_base = record['position'] + record['rotation'] @ point
            for j in structure.tree.supports(body):
                arm = point_in_base - bodies[j]['position']
                wrenches[j, :3] -= force
                wrenches[j, 3:] -= np.cross(arm, force)
    return wrenches
