# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether closures and contacts hold at home; which of their equations a loop needs there."""

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.closures import Closure
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.tree import SpanningTree, TreePoses
from masticator_dynamics.errors import DescriptionError

_NULL = 1e-9  # relative; a direction in which a closure never moves


def without_sideways(
    constraints: list[Constraint], tree: SpanningTree, home: FloatArray
) -> list[Constraint]:
    """Point closures without directions, fixed in the base, in which they never move.

    A planar loop fixed in the base cannot open sideways at all.

    Parameters
    ----------
    constraints : list of Constraint
        As described; other kinds are returned as they are.
    tree : SpanningTree
        To which they belong.
    home : (n_q,) array
        Tree positions around which the closures are tried, m and rad.
    """
    rng = np.random.default_rng(0)
    nearby = [tree.poses(home + rng.uniform(-0.3, 0.3, len(home))) for _ in range(4)]
    return [_without_sideways(c, nearby) if c.ball else c for c in constraints]


def _without_sideways(full: Constraint, nearby: list[TreePoses]) -> Constraint:
    rates = np.hstack([full.rates(poses) for poses in nearby])
    directions, strengths, _ = np.linalg.svd(rates)
    rows = directions[:, strengths > _NULL * max(strengths[0], 1e-300)].T
    if len(rows) == 3:
        return full
    return dataclasses.replace(full, rows=rows, offset=np.zeros(len(rows)))


def extent(tree: SpanningTree, constraints: list[Constraint], home: FloatArray) -> float:
    """Size of a mechanism at home, m.

    Parameters
    ----------
    constraints : list of Constraint
        Their points belong to the mechanism, too.
    home : array, shape (n_q,)
        Tree positions.
    """
    poses = tree.poses(home)
    corners = [*poses.origins]
    for constraint in constraints:
        corners += constraint.points(poses)
    return float(np.ptp(corners, axis=0).max()) or 1.0


def check_home(
    description: MechanismDescription,
    tree: SpanningTree,
    constraints: list[Constraint],
    home: FloatArray,
    tolerance: float,
) -> None:
    """Refuse a home at which a closure or contact is open.

    Parameters
    ----------
    description : MechanismDescription
        For keys in messages.
    tree, constraints
        Made from it.
    home : (n_q,) array
        Tree positions, m and rad.
    tolerance : float
        Largest gap that is let through, m or rad.

    Raises
    ------
    DescriptionError
        Naming closure or contact and the amount.
    """
    poses = tree.poses(home)
    closures = {closure.name: i for i, closure in enumerate(description.closures)}
    contacts = {contact.name: i for i, contact in enumerate(description.contacts)}
    for constraint in constraints:
        name = constraint.name
        amount = constraint.largest_gap(poses)
        if name in contacts:
            contact = description.contacts[contacts[name]]
            key = f'contacts[{contacts[name]}] ({name})'
            surface = 'plane' if contact.height is None else 'surface'
            reason = f'{contact.frame!r} is {amount * 1e3:.6g} mm off its {surface} at home'
            if not amount < np.inf:
                reason = f'{contact.frame!r} is outside the grid of its surface at home'
        else:
            closure = description.closures[closures[name]]
            key = f'closures[{closures[name]}] ({name})'
            size = f'{amount * 1e3:.6g} mm'
            if constraint.unit_name(tree) == 'rad':
                size = f'{amount:.6g} rad'
            reason = closure.kind.opened(closure, size)
            opposed = opposed_axis(closure, tree, poses)
            if not amount > tolerance and opposed:
                amount, reason = np.inf, f'{opposed} of its frames are opposed at home'
            if unfit := constraint.unfit(poses):
                amount, reason = np.inf, unfit
        if amount > tolerance:
            reason += _remedy(description, tree, constraint)
            raise DescriptionError(description.file, key, reason)


def _remedy(description: MechanismDescription, tree: SpanningTree, constraint: Constraint) -> str:
    """What to do about an open loop whose home was never given."""
    moving = [tree.joints[j].name for j in constraint.moving_joints(tree)]
    if any(name in description.home for name in moving):
        return ''
    return (
        f'; home says nothing of its joints ({", ".join(sorted(moving))}), and 0 does not close '
        f'it: masticator close {description.file} finds a home'
    )


def opposed_axis(closure: Closure, tree: SpanningTree, poses: TreePoses) -> str:
    """An axis that should be parallel in a closure but points the other way; empty if none.

    Parameters
    ----------
    poses : TreePoses
        Where to look.
    """
    for axis in closure.kind.facing:
        first, two = (
            poses.rotations[frame.body] @ frame.rotation[:, axis]
            for frame in (tree.frames[name] for name in closure.frames)
        )
        if first @ two < 0.0:
            return f'axes {"XYZ"[axis]}'
    return ''
