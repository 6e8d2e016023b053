# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limbs that close by a formula: an actuated joint, then a rod on a universal joint.

RSS, PSS, RUS and PUS limbs all look like this to the tree: a turning or sliding joint, two
crossing perpendicular axes, and a rod that ends on a point of the rest of the mechanism. The rod's
length gives one equation for the first joint, with two roots, and its direction the other two
joints, again with two roots; home says which. The formula starts the Newton iteration of the
block, which then only confirms it: about five times faster, and always on home's branch.
"""

import math

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.pose import point_in_base
from masticator_dynamics.engine.structure import Block, Structure
from masticator_dynamics.engine.tree import TreePoses

_ALIGNED = 1e-12  # of the rod's length, or of 1 for unit vectors


@kernel
def guess_limb(model, block, q):
    """Positions of a limb's three joints by the formula; whether the rod can reach."""
    first = model.dependent[block.first_row]
    constraint = model.constraints[block.first_constraint]
    if block.limb > 0.0:
        x, y, z = point_in_base(model.bodies[constraint.body_a], constraint.point_a)
    else:
        x, y, z = point_in_base(model.bodies[constraint.body_b], constraint.point_b)
    mx, my, mz = _in_joint_frame(model.joints[first], model.bodies, x, y, z)
    rod = model.joints[first + 1]  # its first axis; the rod's foot is that joint's origin
    sx, sy, sz = rod.position
    length2 = block.rod_x[0] ** 2 + block.rod_x[1] ** 2 + block.rod_x[2] ** 2
    if model.joints[first].prismatic:
        rest = length2 - (mx - sx) ** 2 - (my - sy) ** 2
        if not rest > 0.0:
            return False
        q[first] = mz - sz + block.first_root * math.sqrt(rest)
        dx, dy, dz = mx - sx, my - sy, mz - sz - q[first]
    else:
        reach = 0.5 * (sx * sx + sy * sy + sz * sz + mx * mx + my * my + mz * mz - length2)
        c, s, real = _root(sx * mx + sy * my, sx * my - sy * mx, reach - sz * mz, block.first_root)
        if not real:
            return False
        q[first] = _nearest(math.atan2(s, c), model.joints[first].home)
        dx, dy, dz = c * mx + s * my - sx, c * my - s * mx - sy, mz - sz
    turned = rod.rotation
    ex = turned[0, 0] * dx + turned[1, 0] * dy + turned[2, 0] * dz
    ey = turned[0, 1] * dx + turned[1, 1] * dy + turned[2, 1] * dz
    ez = turned[0, 2] * dx + turned[1, 2] * dy + turned[2, 2] * dz
    c, s, real = _root(block.rod_x[2], block.rod_y[2], ez, block.second_root)
    if not real:
        return False
    q[first + 2] = _nearest(math.atan2(s, c), model.joints[first + 2].home)
    wx = c * block.rod_x[0] + s * block.rod_y[0]
    wy = c * block.rod_x[1] + s * block.rod_y[1]
    turn = math.atan2(wx * ey - wy * ex, wx * ex + wy * ey)
    q[first + 1] = _nearest(turn, rod.home)
    return True


@kernel
def _root(a, b, c, root):
    """Cosine and sine of the root of ``a cos + b sin = c`` with slope of sign ``-root``."""
    square = a * a + b * b
    rest = square - c * c
    if not rest > 0.0:
        return 1.0, 0.0, False
    slope = root * math.sqrt(rest)
    return (a * c - b * slope) / square, (b * c + a * slope) / square, True


@kernel
def _nearest(angle, home):
    """The angle, by whole turns, that is closest to home."""
    return angle - 2.0 * math.pi * math.floor((angle - home) / (2.0 * math.pi) + 0.5)


@kernel
def _in_joint_frame(joint, bodies, x, y, z):
    """Coordinates, in the frame of a joint at zero, of a point given in the base."""
    parent = bodies[joint.parent]
    rotation, fixed = parent.rotation, joint.rotation
    x, y, z = x - parent.position[0], y - parent.position[1], z - parent.position[2]
    px = rotation[0, 0] * x + rotation[1, 0] * y + rotation[2, 0] * z - joint.position[0]
    py = rotation[0, 1] * x + rotation[1, 1] * y + rotation[2, 1] * z - joint.position[1]
    pz = rotation[0, 2] * x + rotation[1, 2] * y + rotation[2, 2] * z - joint.position[2]
    return (
        fixed[0, 0] * px + fixed[1, 0] * py + fixed[2, 0] * pz,
        fixed[0, 1] * px + fixed[1, 1] * py + fixed[2, 1] * pz,
        fixed[0, 2] * px + fixed[1, 2] * py + fixed[2, 2] * pz,
    )


def limb_of(
    structure: Structure, block: Block, at_home: TreePoses
) -> dict[str, FloatArray | float]:
    """Fields of the block's record when the formula serves it; empty when it does not.

    Returns
    -------
    dict
        ``limb``: 1 when the limb ends on side b of its closure, -1 on side a; ``rod_x``: the rod
        in the frame of the universal joint's first axis, at zero; ``rod_y``: the same turned by
        90 degrees about the second axis; ``first_root``, ``second_root``: +1 or -1.
    """
    tree = structure.tree
    constraint = structure.constraints[block.constraints[0]]
    plain = constraint.kind == 'point' and constraint.size == 3
    if len(block.joints) != 3 or len(block.constraints) != 1 or not plain:
        return {}
    first, middle, last = block.joints
    chain = tree.placements[middle].body == first and tree.placements[last].body == middle
    side = {constraint.body_b: 1.0, constraint.body_a: -1.0}.get(last, 0.0)
    turning = all(tree.joints[j].type != 'prismatic' for j in (middle, last))
    if not (chain and side and turning and middle == first + 1 and last == first + 2):
        return {}
    tip = constraint.point_b if side > 0.0 else constraint.point_a
    length = float(np.linalg.norm(tip))
    cross = tree.placements[last]
    if (
        float(np.linalg.norm(cross.position)) > _ALIGNED * length
        or abs(cross.rotation[2, 2]) > _ALIGNED
        or abs(tip[2]) > _ALIGNED * length
    ):
        return {}
    rod = at_home.rotations[last] @ tip
    axis_1, axis_2, axis_3 = (at_home.axis(j) for j in block.joints)
    foot = at_home.origins[middle] - at_home.origins[first]
    if tree.joints[first].type == 'prismatic':
        first_root = -np.sign(axis_1 @ rod)
    else:
        first_root = -np.sign(np.cross(axis_1, foot) @ (foot + rod))
    return {
        'limb': side,
        'rod_x': cross.rotation @ tip,
        'rod_y': cross.rotation @ np.cross([0.0, 0.0, 1.0], tip),
        'first_root': float(first_root),
        'second_root': -float(np.sign(axis_2 @ np.cross(axis_3, rod))),
    }
