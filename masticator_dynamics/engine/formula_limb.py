# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limbs that close by formula: an actuated joint, then a rod on a universal joint.

RSS, PSS, RUS and PUS limbs all look like this to the tree: a turning or sliding joint, two
crossing perpendicular axes, and a rod that ends on a point of the rest of the mechanism. The rod's
length gives one equation for the first joint, with two roots, and its direction the other two
joints, again with two roots; home decides which. What the formula (``traced/closing.py``) needs is
found here, once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.structure import Block, Structure
from masticator_dynamics.engine.tree import TreePoses

_ALIGNED = 1e-12  # of the rod's length, or of 1 for unit vectors


class Limb(NamedTuple):
    """Numbers of the formula for a limb."""

    side: float  # 1 when the limb ends on side b of its closure, -1 on side a
    rod_x: FloatArray  # the rod in the frame of the universal joint's first axis, at zero
    rod_y: FloatArray  # the same turned by 90 degrees about the second axis
    first_root: float  # 1 or -1
    second_root: float


def limb_of(structure: Structure, block: Block, at_home: TreePoses) -> Limb | None:
    """A block as a limb if the formula applies to it.

    Parameters
    ----------
    block : Block
        One of its blocks.
    at_home : TreePoses
        All bodies at home, which decides between the formula's roots.
    """
    tree = structure.in_floats.tree
    constraint = structure.in_floats.constraints[block.constraints[0]]
    if len(block.joints) != 3 or len(block.constraints) != 1 or not constraint.ball:
        return None
    first, middle, last = block.joints
    chain = tree.placements[middle].body == first and tree.placements[last].body == middle
    side = {constraint.body_b: 1.0, constraint.body_a: -1.0}.get(last, 0.0)
    turning = all(tree.joints[j].turns for j in (middle, last))
    one_way = tree.joints[first].turns or tree.joints[first].slides
    if not (chain and side and turning and one_way and middle == first + 1 and last == first + 2):
        return None
    tip = constraint.point_b if side > 0.0 else constraint.point_a
    length = float(np.linalg.norm(tip))
    cross = tree.placements[last]
    if (
        float(np.linalg.norm(cross.position)) > _ALIGNED * length
        or abs(cross.rotation[2, 2]) > _ALIGNED
        or abs(tip[2]) > _ALIGNED * length
    ):
        return None
    rod = at_home.rotations[last] @ tip
    axis_1, axis_2, axis_3 = (at_home.axis(j) for j in block.joints)
    foot = at_home.origins[middle] - at_home.origins[first]
    if tree.joints[first].slides:
        first_root = -np.sign(axis_1 @ rod)
    else:
        first_root = -np.sign(np.cross(axis_1, foot) @ (foot + rod))
    constraint, turn = (
        structure.constraints[block.constraints[0]],
        structure.tree.placements[last].rotation,
    )
    x, y, z = constraint.point_b if side > 0.0 else constraint.point_a
    return Limb(
        side,
        turn @ np.array([x, y, z]),
        turn @ np.array([-y, x, 0.0]),
        float(first_root),
        -float(np.sign(axis_2 @ np.cross(axis_3, rod))),
    )
