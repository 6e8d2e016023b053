# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finds equations that follow from others, over nearby closed configurations, and omits them.

A planar loop cannot open sideways, a second rod of a parallelogram repeats the first, a weld in a
planar loop repeats three constraints of the hinges. Such equations must go before equations and
joints can be counted. The rank at home alone proves nothing: a singular home loses rank as well.
And CAD data are rounded, so that no rank is exact: an equation counts as following from others if
the whole neighbourhood agrees to within :data:`ROUNDING`.
"""

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closure_equations import Constraint
from masticator_dynamics.engine.descent import Loops, descend
from masticator_dynamics.engine.structure import Redundancy
from masticator_dynamics.engine.tree import TreePoses

ROUNDING = 3e-4  # of the closure's own rates: 1e-5 rad and 1e-5 m in 0.1 m, with levers
NOISE = 1e-6  # rates of a closure of points or lengths below this, per size, are not compared
NEGLIGIBLE_GAP = 1e-4  # rad, or of the size: neighbours with larger gaps are rejected
_CANCELS = 1e-2  # part of a closure in forces that cancel, above which it is not rounding
_NEIGHBOURS, _AWAY = 6, 0.15  # rad, or of the size


@dataclasses.dataclass(frozen=True)
class Independent:
    """Equations that are independent of one another, and what was left out."""

    constraints: tuple[Constraint, ...]
    described: tuple[Constraint, ...]  # all equations
    redundant: tuple[Redundancy, ...]
    shared: frozenset[str]  # closures whose forces the motion does not determine
    least_norm: bool  # what is kept carries forces of least norm


def without_redundancy(described: Loops, reduced: Loops, home: FloatArray) -> Independent:
    """The constraints without the equations that follow from others.

    Parameters
    ----------
    described : Loops
        All equations, in the order in which they are kept.
    reduced : Loops
        The same, less what obviously follows: if the rest is independent, that is the answer.
    home : array, shape (n,)
        A configuration closed up to rounding.
    """
    if _regular(reduced, home):
        pairs = zip(described.constraints, reduced.constraints, strict=True)
        left_out = tuple(
            Redundancy(full.name, full.size, part.size, 0.0)
            for full, part in pairs
            if part.size < full.size
        )
        shared = frozenset(redundancy.name for redundancy in left_out)
        return Independent(reduced.constraints, described.constraints, left_out, shared, True)
    return _searched(described, home)


def _searched(loops: Loops, home: FloatArray) -> Independent:
    """What is independent in the neighbourhood of home; closures give way to contacts."""
    ordered = sorted(loops.constraints, key=lambda constraint: not constraint.contact)
    loops = dataclasses.replace(loops, constraints=tuple(ordered))
    nearby = neighbours(loops, home)
    rates = [loops.jacobian(q) for q in nearby]
    poses = [loops.tree.poses(q) for q in nearby]
    bases = [np.zeros((0, len(home))) for _ in nearby]  # of what is kept, orthonormal rows
    independent: list[Constraint] = []
    counts: dict[str, list[int]] = {}
    first = 0
    for constraint in loops.constraints:
        rows = slice(first, first + constraint.size)
        first = rows.stop
        regular = _independent_rows(constraint, [r[rows] for r in rates], bases, poses)
        count = counts.setdefault(constraint.name, [0, 0])
        count[0] += constraint.size
        if regular is None:
            continue
        count[1] += regular.size
        independent.append(regular)
        alone = dataclasses.replace(loops, constraints=(regular,))
        bases = [
            _extended(basis, regular, alone.jacobian(q))
            for basis, q in zip(bases, nearby, strict=True)
        ]
    redundant = tuple(
        Redundancy(name, total, regular, _largest_gap(loops, nearby, name))
        for name, (total, regular) in counts.items()
        if regular < total
    )
    ranks = [len(basis) for basis in bases]
    shared = [_shared(loops, r) for r, rank in zip(rates, ranks, strict=True) if rank == max(ranks)]
    return Independent(
        tuple(independent), loops.constraints, redundant, frozenset().union(*shared), False
    )


def neighbours(loops: Loops, home: FloatArray) -> list[FloatArray]:
    """Closed configurations (n,) about home, in all directions in which it moves; home first."""
    _, strength, right = np.linalg.svd(loops.jacobian(home))
    rank = int((strength > ROUNDING * strength.max(initial=0.0)).sum())
    motions, rng = right[rank:], np.random.default_rng(0)
    poses = [home]
    for _ in range(_NEIGHBOURS if len(motions) else 0):
        step = rng.normal(size=len(motions)) @ motions
        step *= _AWAY / np.abs(step).max()
        for shorter in (1.0, 0.3, 0.1):
            start = home + shorter * step * loops.joint_units
            q = descend(loops, start, 12, ROUNDING)
            if np.abs(loops.gaps(q) / loops.units()).max(initial=0.0) < NEGLIGIBLE_GAP:
                poses.append(q)
                break
    return poses


def _regular(loops: Loops, home: FloatArray) -> bool:
    """Whether all equations are clearly independent at home already."""
    rates = loops.jacobian(home)
    if len(rates) > rates.shape[1]:
        return False
    scale = np.repeat(
        [
            _strength(c, part)
            for c, part in zip(loops.constraints, _parts(loops, rates), strict=True)
        ],
        [c.size for c in loops.constraints],
    )
    strength = np.linalg.svd(rates / scale[:, None], compute_uv=False)
    return not len(strength) or bool(strength[-1] > 10.0 * ROUNDING)


def _parts(loops: Loops, rates: FloatArray) -> list[FloatArray]:
    ends = np.cumsum([c.size for c in loops.constraints])
    return np.split(rates, ends[:-1]) if len(ends) else []


def _strength(constraint: Constraint, rates: FloatArray) -> float:
    """Largest rate of a closure's gaps, to which others are compared.

    Of a closure that cannot open at all, such as the turn of a hinge in a planar loop, all rates
    are rounding: those of turns are compared to 1 rad/rad, whatever their own size.
    """
    least = 1.0 if constraint.turns else NOISE
    return max(float(np.linalg.norm(rates, axis=1).max(initial=0.0)), least)


def _independent_rows(
    constraint: Constraint,
    rates: list[FloatArray],
    bases: list[FloatArray],
    poses: list[TreePoses],
) -> Constraint | None:
    """What a constraint demands beyond those kept before it; None if nothing.

    The combinations of its rows that are independent are sought in base axes, in those of body a
    and in those of body b: for a planar loop and for a parallelogram they are constant in one of
    them. If they are in none, single rows are picked.
    """
    scale = max(_strength(constraint, rate) for rate in rates)
    beyond = [
        (rate - rate @ basis.T @ basis) / scale for rate, basis in zip(rates, bases, strict=True)
    ]
    strengths = [np.linalg.svd(part, compute_uv=False) for part in beyond]
    rank = max(int((s > ROUNDING).sum()) for s in strengths)
    if rank == constraint.size:
        return constraint
    if rank == 0:
        return None
    if constraint.ball:
        return _turned_rows(constraint, beyond, poses, rank)
    return _picked_rows(constraint, beyond, rank)


def _turned_rows(
    constraint: Constraint, beyond: list[FloatArray], poses: list[TreePoses], rank: int
) -> Constraint:
    """As many rows as are independent, in axes in which they remain so everywhere nearby."""
    now = [pose.rotations[constraint.body_a] if constraint.carried else np.eye(3) for pose in poses]
    # Rates of the three components in base axes.
    in_base = [turn @ constraint.rows.T @ part for turn, part in zip(now, beyond, strict=True)]
    for carrier in (-1, constraint.body_a, constraint.body_b):
        turned = [p.rotations[carrier].T @ part for p, part in zip(poses, in_base, strict=True)]
        directions, strength, _ = np.linalg.svd(np.hstack(turned))
        if strength[rank] < ROUNDING * np.sqrt(len(turned)):
            return _with_rows(constraint, directions[:, :rank].T, carrier)
    turned = [
        p.rotations[constraint.body_a].T @ part for p, part in zip(poses, in_base, strict=True)
    ]
    return _picked_rows(_with_rows(constraint, np.eye(3), constraint.body_a), turned, rank)


def _with_rows(constraint: Constraint, rows: FloatArray, carrier: int) -> Constraint:
    """A constraint of three components with other rows, in axes of base, body a or body b."""
    if carrier == constraint.body_b != -1:
        constraint = dataclasses.replace(
            constraint, body_a=constraint.body_b, body_b=constraint.body_a,
            point_a=constraint.point_b, point_b=constraint.point_a,
        )  # fmt: skip
        rows = -rows
    return dataclasses.replace(
        constraint, rows=rows, offset=np.zeros(len(rows)), carried=carrier >= 0
    )


def _picked_rows(constraint: Constraint, beyond: list[FloatArray], rank: int) -> Constraint:
    """The rows that are the most independent of one another."""
    picked: list[int] = []
    remainders = [part.copy() for part in beyond]
    for _ in range(rank):
        lengths = np.array([np.linalg.norm(part, axis=1) for part in remainders]).max(axis=0)
        picked.append(int(np.argmax(lengths)))
        for part in remainders:
            length = np.linalg.norm(part[picked[-1]])
            if length > ROUNDING:
                unit = part[picked[-1]] / length
                part -= np.outer(part @ unit, unit)
    picked.sort()
    return dataclasses.replace(
        constraint, rows=constraint.rows[picked], offset=constraint.offset[picked],
        partners=constraint.partners[picked] if constraint.turns else constraint.partners,
    )  # fmt: skip


def _shared(loops: Loops, rates: FloatArray) -> set[str]:
    """Closures that take part in forces which cancel in all joints."""
    directions, strength, _ = np.linalg.svd(rates)
    rank = int((strength > ROUNDING * strength.max(initial=0.0)).sum())
    parts = zip(loops.constraints, _parts(loops, directions[:, rank:]), strict=True)
    return {c.name for c, part in parts if np.abs(part).max(initial=0.0) > _CANCELS}


def _extended(basis: FloatArray, constraint: Constraint, rates: FloatArray) -> FloatArray:
    """An orthonormal basis with a constraint's rows, as far as they lie outside it."""
    scale = _strength(constraint, rates)
    beyond = (rates - rates @ basis.T @ basis) / scale
    _, strength, right = np.linalg.svd(beyond, full_matrices=False)
    return np.vstack([basis, right[strength > ROUNDING]])


def _largest_gap(loops: Loops, nearby: list[FloatArray], name: str) -> float:
    """Largest gap of a closure over configurations, m or rad."""
    of_name = np.concatenate([np.full(c.size, c.name == name) for c in loops.constraints])
    return max(float(np.abs(loops.gaps(q)[of_name]).max()) for q in nearby)
