# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closures and contacts of a description as scalar equations, checked at home."""

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.closure_checks import ends
from masticator_dynamics.description.data import Closure, Contact, Height
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.constraint import (
    Constraint,
    jacobian,
    moving_joints,
    points,
    residual,
)
from masticator_dynamics.engine.surface import Surface
from masticator_dynamics.engine.tree import Placement, SpanningTree, TreePoses
from masticator_dynamics.errors import DescriptionError

_NULL = 1e-9  # relative; a direction in which a closure never moves


# Axes of the first and second frame that stay at right angles.
_PARALLEL = ((0, 1), (1, 2), (2, 0))  # all axes
_PARALLEL_Z = ((2, 0), (2, 1))
_TURNS = {
    'weld': _PARALLEL, 'slider': _PARALLEL, 'hinge': _PARALLEL_Z, 'cylindrical': _PARALLEL_Z,
    'universal': ((2, 2),), 'point': (),
}  # fmt: skip
# Axes of these that must not be opposed.
_FACING = {
    'weld': (0, 1, 2), 'slider': (0, 1, 2), 'hinge': (2,), 'cylindrical': (2,), 'universal': (),
    'point': (), 'distance': (), 'coupling': (),
}  # fmt: skip


def all_constraints(description: MechanismDescription, tree: SpanningTree) -> list[Constraint]:
    """Every equation that closures and contacts state, in the order of the file."""
    found: list[Constraint] = []
    for closure in description.closures:
        found += _closure(closure, tree)
    return [*found, *(_contact(contact, tree) for contact in description.contacts)]


def _closure(closure: Closure, tree: SpanningTree) -> list[Constraint]:
    """The constraints that a closure consists of."""
    if closure.type == 'coupling':
        return [_coupling(closure, tree)]
    a, b = (tree.frames[name] for name in closure.frames)
    between = Constraint(
        closure.name, a.body, b.body, a.position, b.position, np.eye(3), np.zeros(3)
    )
    if closure.type == 'distance':
        return [
            dataclasses.replace(
                between, rows=np.zeros((1, 3)), offset=np.zeros(1), kind='distance',
                length=closure.length or 0.0,
            )
        ]  # fmt: skip
    if closure.type in ('cylindrical', 'slider'):  # along Z of the first frame it is free
        across = a.rotation[:, :2].T
        between = dataclasses.replace(between, rows=across, offset=np.zeros(2), carried=a.body >= 0)
    pairs = _TURNS[closure.type]
    if not pairs:
        return [between]
    first, second = zip(*pairs, strict=True)
    turns = dataclasses.replace(
        between, kind='turn', carried=a.body >= 0, offset=np.zeros(len(pairs)),
        rows=a.rotation.T[list(first)], partners=b.rotation.T[list(second)],
    )  # fmt: skip
    return [between, turns]


def _coupling(closure: Closure, tree: SpanningTree) -> Constraint:
    """A joint less its offset and the polynomials of others."""
    names = [joint.name for joint in tree.joints]
    own = (names.index(str(closure.joint)), (0.0, 1.0))
    others = [
        (names.index(joint), (0.0, *(-c for c in coefficients)))
        for joint, coefficients in closure.of.items()
    ]
    nowhere = np.zeros(3)
    return Constraint(
        closure.name, -1, -1, nowhere, nowhere, np.zeros((1, 3)), np.array([-closure.offset]),
        kind='coupling', terms=(own, *others),
    )  # fmt: skip


def _contact(contact: Contact, tree: SpanningTree) -> Constraint:
    """The origin of a link stays on a plane or a surface."""
    frame = tree.frames[contact.frame]
    on = Placement(-1, np.zeros(3), np.eye(3))
    if contact.carrier is not None:
        on = tree.frames[contact.carrier]
    normal = on.rotation @ contact.normal
    touch = Constraint(
        contact.name, on.body, frame.body, on.position, frame.position,
        np.array([normal]), np.array([contact.offset]), carried=on.body >= 0, contact=True,
    )  # fmt: skip
    if contact.height is None:
        return touch
    return dataclasses.replace(
        touch, kind='surface', partners=on.rotation.T, offset=np.zeros(1),
        rows=on.rotation.T[2:], surface=contact_surface(contact.height),
    )  # fmt: skip


def contact_surface(height: Height) -> Surface:
    """The surface with these heights."""
    if height.polynomial:
        return Surface.polynomial(height.polynomial, ends(height.x), ends(height.y))
    return Surface.spline(height.x, height.y, height.heights)


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
    return [
        _without_sideways(c, nearby) if c.size == 3 and c.kind == 'point' else c
        for c in constraints
    ]


def _without_sideways(full: Constraint, nearby: list[TreePoses]) -> Constraint:
    rates = np.hstack([jacobian(poses, full) for poses in nearby])
    directions, strengths, _ = np.linalg.svd(rates)
    rows = directions[:, strengths > _NULL * max(strengths[0], 1e-300)].T
    if len(rows) == 3:
        return full
    return dataclasses.replace(full, rows=rows, offset=np.zeros(len(rows)))


def extent(tree: SpanningTree, constraints: list[Constraint], home: FloatArray) -> float:
    """Size of a mechanism at home, m.

    Parameters
    ----------
    tree : SpanningTree
    constraints : list of Constraint
        Their points belong to the mechanism, too.
    home : array, shape (n_q,)
        Tree positions.
    """
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
        amount = gap(poses, constraint)
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
            reason = _open(closure, constraint, amount)
            opposed = opposed_axis(closure, tree, poses)
            if not amount > tolerance and opposed:
                amount, reason = np.inf, f'{opposed} of its frames are opposed at home'
        if amount > tolerance:
            reason += _remedy(description, tree, constraint)
            raise DescriptionError(description.file, key, reason)


def gap(poses: TreePoses, constraint: Constraint) -> float:
    """Largest gap of a constraint, m or rad; of planes as distance, infinite outside a surface."""
    gaps = np.abs(residual(poses, constraint))
    if constraint.kind == 'point':  # planes as written are not normalised
        gaps = gaps / np.linalg.norm(constraint.rows, axis=1)
    largest = float(gaps.max(initial=0.0))
    return np.inf if np.isnan(largest) else largest


def _open(closure: Closure, constraint: Constraint, amount: float) -> str:
    """How far a closure is open at home."""
    if closure.type == 'coupling':
        return f'joint {closure.joint!r} is {amount:.6g} off what its coupling says at home'
    between = f'between {closure.frames[0]!r} and {closure.frames[1]!r}'
    size = f'{amount:.6g} rad' if constraint.kind == 'turn' else f'{amount * 1e3:.6g} mm'
    return f'the loop does not close at home: gap {size} {between}'


def _remedy(description: MechanismDescription, tree: SpanningTree, constraint: Constraint) -> str:
    """What to do about an open loop whose home was never given."""
    moving = [tree.joints[j].name for j in moving_joints(tree, constraint)]
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
    closure : Closure
    tree : SpanningTree
        Has its frames.
    poses : TreePoses
        Where to look.
    """
    for axis in _FACING[closure.type]:
        one, two = (
            poses.rotations[frame.body] @ frame.rotation[:, axis]
            for frame in (tree.frames[name] for name in closure.frames)
        )
        if one @ two < 0.0:
            return f'axes {"XYZ"[axis]}'
    return ''
