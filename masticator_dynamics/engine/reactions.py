# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces in the joints of the tree, e.g. for sizing bearings; off the hot path."""

from collections.abc import Mapping

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import points
from masticator_dynamics.engine.constraint import wrenches as unit_wrenches
from masticator_dynamics.engine.structure import Structure
from masticator_dynamics.engine.tree import TreePoses


def joint_reactions(
    structure: Structure,
    q: FloatArray,
    bodies: FloatArray,
    multipliers: FloatArray,
    friction: Mapping[str, FloatArray],
) -> FloatArray:
    """Wrenches (n, 6) that joints transmit at positions (n,).

    Force and torque on the child from the parent, base axes, torque about the joint's origin.
    Couplings of joints act along the axes of these joints and between no bodies that the
    description names: they are not among the wrenches.

    Parameters
    ----------
    bodies : array, shape (n, 18)
        Rotation, origin, and the force and moment that each body needs by itself, about its origin.
    multipliers : array, shape (rows,)
        Of the constraints, in block order.
    friction : mapping of str to array, shape (3,)
        Friction force, N, base axes, on the body of each contact.
    """
    rotations = np.concatenate([bodies[:, :9].reshape(-1, 3, 3), np.eye(3)[None]])
    poses = TreePoses(structure.tree, q, rotations, np.vstack([bodies[:, 9:12], np.zeros(3)]))
    origins = poses.origins[:-1]
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
    # What joints transmit, about the base's origin.
    borne = bodies[:, 12:].copy()
    borne[:, 3:] += np.cross(origins, borne[:, :3])
    if at:
        np.subtract.at(borne, at, applied)
    # A parent also bears what its child bears; parents come before children.
    for j in range(len(borne) - 1, -1, -1):
        parent = structure.tree.placements[j].body
        if parent >= 0:
            borne[parent] += borne[j]
    borne[:, 3:] -= np.cross(origins, borne[:, :3])
    return borne
