# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closures and contacts of a description as scalar equations, checked at home."""

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import (
    Constraint,
    jacobian,
    moving_joints,
    points,
    residual,
)
from masticator_dynamics.engine.tree import SpanningTree, TreePoses
from masticator_dynamics.errors import DescriptionError

_NULL = 1e-9  # relative; a direction in which a closure never moves


def all_constraints(description: MechanismDescription, tree: SpanningTree) -> list[Constraint]:
    """Every equation that closures and contacts state, in the order of the file."""
    return [
        *(_point(closure.name, tree, *closure.frames) for closure in description.closures),
        *(_plane(contact, tree) for contact in description.contacts),
    ]


def _point(name: str, tree: SpanningTree, first: str, second: str) -> Constraint:
    """Origins of two links coincide."""
    a, b = tree.frames[first], tree.frames[second]
    return Constraint(name, a.body, b.body, a.position, b.position, np.eye(3), np.zeros(3))


def _plane(contact, tree: SpanningTree) -> Constraint:  # type: ignore[no-untyped-def]
    """The origin of a link stays on a plane."""
    frame = tree.frames[contact.frame]
    return Constraint(
        contact.name, -1, frame.body, np.zeros(3), frame.position,
        np.array([contact.normal]), np.array([contact.offset]), contact=True,
    )  # fmt: skip


def without_sideways(
    constraints: list[Constraint], tree: SpanningTree, home: FloatArray
) -> list[Constraint]:
    """Point closures without directions, fixed in the base, in which they never move.

    A planar loop that stands in the base cannot open sideways, exactly so.
    """
    rng = np.random.default_rng(0)
    nearby = [tree.poses(home + rng.uniform(-0.3, 0.3, len(home))) for _ in range(4)]
    return [_without_sideways(c, nearby) if c.size == 3 else c for c in constraints]


def _without_sideways(full: Constraint, nearby: list[TreePoses]) -> Constraint:
    rates = np.hstack([jacobian(poses, full) for poses in nearby])
    directions, strengths, _ = np.linalg.svd(rates)
    rows = directions[:, strengths > _NULL * max(strengths[0], 1e-300)].T
    if len(rows) == 3:
        return full
    return dataclasses.replace(full, rows=rows, offset=np.zeros(len(rows)))


def extent(tree: SpanningTree, constraints: list[Constraint], home: FloatArray) -> float:
    """Size of a mechanism at home, m."""
    poses = tree.poses(home)
    corners = [*poses.origins]
    for constraint in constraints:
        corners += points(poses, constraint)
    return float(np.ptp(corners, axis=0).max()) or 1.0


def check_home(
    description: MechanismDescription,
    tree: SpanningTree,
    constraints: list[Constraint],
    home: FloatArray,
    tolerance: float,
) -> None:
    """Refuse a home at which a closure or contact is open by more than ``tolerance``, m or rad.

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
        lengths = np.linalg.norm(constraint.rows, axis=1)
        gap = float(np.abs(residual(poses, constraint) / lengths).max(initial=0.0))
        if not gap > tolerance:
            continue
        if name in contacts:
            contact = description.contacts[contacts[name]]
            key = f'contacts[{contacts[name]}] ({name})'
            reason = f'{contact.frame!r} is {gap * 1e3:.6g} mm off its plane at home'
        else:
            first, second = description.closures[closures[name]].frames
            key = f'closures[{closures[name]}] ({name})'
            reason = (
                f'the loop does not close at home: gap {gap * 1e3:.6g} mm between {first!r} and '
                f'{second!r}'
            )
        raise DescriptionError(
            description.file, key, reason + _remedy(description, tree, constraint)
        )


def _remedy(description: MechanismDescription, tree: SpanningTree, constraint: Constraint) -> str:
    """What to do about an open loop whose home was never said."""
    moving = [tree.joints[j].name for j in moving_joints(tree, constraint)]
    if any(name in description.home for name in moving):
        return ''
    return (
        f'; home says nothing of its joints ({", ".join(sorted(moving))}), and 0 does not close '
        f'it: masticator close {description.file} finds a home'
    )
