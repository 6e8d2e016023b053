# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best free efforts, piece by piece.

With friction the forces depend on the sign of each contact's multiplier. Within a pattern of signs
all is affine in the free efforts, but for the friction of the actuated joints, which goes with the
length of an affine vector: the objective is smooth, and a few Newton steps find its minimum. A
multiplier may also be zero at the optimum: such a face is a piece of its own, with the zero as a
side condition. The best consistent piece is the optimum. Where a piece that could be the best has
not converged, the row is computed on floats, with as many steps as it takes.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.status import JAMMED, RefusedError
from masticator_dynamics.traced.causes import Causes
from masticator_dynamics.traced.matrices import inverse
from masticator_dynamics.traced.numbers import (
    Number,
    absolute,
    greater,
    is_known,
    lane_sum,
    lesser,
    reciprocal,
    select,
    square_root,
    total,
)

NEWTON_STEPS = 5
MOST_STEPS, HALVINGS = 30, 30  # on floats, where steps end when they are small
SMALL_STEP = 1e-7  # of the free efforts; what is left is about its square
ROUNDING = 1e-14
CONVERGED = 1e-7  # of the efforts, for the last step; what is left is about its square
SIGN_SLACK = 1e-9  # of the largest multiplier
STILL_TO_COME = 3.0  # of the last step; Newton's remaining steps together are shorter
NOTHING = 1e-20  # of the objective at the start, below which it counts as zero
_UNSET = 1e300

Row = list[Any]  # affine in the free efforts: constant, then slopes


@dataclasses.dataclass
class Goal:
    """What is kept least, per entry of ``Forces.motors`` or as a weight.

    Attributes
    ----------
    efforts : list
        Weights of the squares of the efforts; empty: none.
    drag, rubbing : list
        Effort of the joints' friction: its constant part, and per newton across the axis.
    lanes : list of int
    forces, contacts : float
        Weights of the squares of the observed forces and of the contacts' multipliers.
    """

    efforts: list[Any]
    drag: list[Any]
    rubbing: list[Any]
    lanes: list[int]
    forces: float
    contacts: float

    @property
    def curved(self) -> bool:
        """Whether the objective is more than a quadratic one."""
        return bool(self.efforts) and not all(is_known(x, 0.0) for x in self.rubbing)


class Piece:
    """One pattern of contact signs and its minimum.

    Attributes
    ----------
    free, contacts : list
        Free efforts at the minimum; what each contact rubs with, sign included.
    value, slope : number
        Of the objective: half the square; relative slope that is left.
    inside, settled : number
        Above zero where the minimum has the signs assumed; where that is known for certain.
    """

    def __init__(self, causes: Causes, goal: Goal, signs: Sequence[float]):
        self._causes, self._goal, self._signs = causes, goal, signs
        self._multipliers = self._contact_rows()
        self._zero = [row for row, sign in zip(self._multipliers, signs, strict=True) if not sign]
        motors = range(len(goal.lanes))
        self._efforts = [self._row(lambda c, i=i: c.efforts[i]) for i in motors]
        self._across = [
            [self._row(lambda c, i=i, x=x: c.bearing[i][x]) for x in range(2)] for i in motors
        ]
        observed = len(causes.load.observed) if goal.forces else 0
        self._forces = [
            self._row(lambda c, s=s, x=x: c.observed[s][x])
            for s in range(observed)
            for x in range(3)
        ]
        self._minimise()

    def _contact_rows(self) -> list[Row]:
        """Multipliers of the contacts, which rub with these, as functions of the free efforts."""
        causes, signs = self._causes, self._signs
        count = len(signs)
        rows = [[c.contacts[i] for c in (causes.load, *causes.free)] for i in range(count)]
        if all(is_known(x, 0.0) for cause in causes.rubbing for x in cause.contacts):
            return rows
        matrix = [
            [float(i == j) - causes.rubbing[j].contacts[i] * signs[j] for j in range(count)]
            for i in range(count)
        ]
        solution, _ = inverse(matrix, np.eye(count))
        return [
            [total(solution[i][j] * rows[j][m] for j in range(count)) for m in range(len(rows[0]))]
            for i in range(count)
        ]

    def _row(self, of: Any) -> Row:
        """A quantity of the causes as a function of the free efforts."""
        causes = self._causes
        return [
            of(cause)
            + total(
                of(rubbing) * (sign * multiplier[m])
                for rubbing, sign, multiplier in zip(
                    causes.rubbing, self._signs, self._multipliers, strict=True
                )
            )
            for m, cause in enumerate((causes.load, *causes.free))
        ]

    def _minimise(self) -> None:
        """Newton steps from zero free efforts."""
        count = len(self._causes.free)
        x: Row = [0.0] * count
        step: Row = [0.0] * count
        start = self._twice_value(x)
        steps = 0 if not count else NEWTON_STEPS if self._goal.curved else 1
        known = not isinstance(start, Number)
        gradient, hessian = self._derivatives(x)
        for turn in range(MOST_STEPS if known and steps > 1 else steps):
            step = self._step(x, gradient, hessian)
            if known and turn:
                step = self._downwards(x, step)
            x = [a - b for a, b in zip(x, step, strict=True)]
            gradient, hessian = self._derivatives(x)
            if known and _longest(step) <= SMALL_STEP * _longest(x):
                break
        square = _dot(gradient, self._step(x, gradient, hessian))
        value = self._twice_value(x)
        self.free, self.value = x, 0.5 * value
        relative = square_root(greater(square, 0.0) * reciprocal(value))
        self.slope = select(value - NOTHING * start, relative, 0.0)
        self._judge(x, step)

    def _downwards(self, x: Row, step: Row) -> Row:
        """A step, or the half, the quarter of it that does not lead upwards; on floats."""
        most = self._twice_value(x) * (1.0 + ROUNDING)
        for _ in range(HALVINGS):
            if not self._twice_value([a - b for a, b in zip(x, step, strict=True)]) > most:
                break
            step = [0.5 * a for a in step]
        return step

    def _judge(self, x: Row, step: Row) -> None:
        """Whether the signs are those assumed."""
        largest: Any = 1e-300
        lowest: Any = 0.0
        change: Any = 0.0
        possible: Any = 1.0
        self.contacts = []
        for row, sign, contact in zip(
            self._multipliers, self._signs, self._causes.contacts, strict=True
        ):
            multiplier = at(row, x)
            self.contacts.append(sign * multiplier)
            largest = greater(absolute(multiplier), largest)
            moved = total(a * b for a, b in zip(row[1:], step, strict=True))
            change = greater(absolute(moved), change)
            lowest = select(contact.rubs, lesser(sign * multiplier, lowest), lowest)
            if sign < 1.0:  # a contact without friction has no pieces
                possible = select(contact.rubs, possible, 0.0)
        margin = lowest + SIGN_SLACK * largest
        excluded = select(-(margin + STILL_TO_COME * change), 1.0, 1.0 - possible)
        self.inside = possible if is_known(lowest, 0.0) else select(margin, possible, 0.0)
        rest = self.value + 1.0  # what is no number is above nothing
        if self._goal.curved and x:
            sizes = [lane_sum(row[0] * row[0], n)
                     for row, n in zip(self._efforts, self._goal.lanes, strict=True)]  # fmt: skip
            size = total(sizes) + total(a * a for a in x)
            rest = size * CONVERGED**2 - total(a * a for a in step)
        self.settled = select(excluded, 1.0, select(rest, 1.0, 0.0))

    def _plain(self) -> list[tuple[Any, Row, int]]:
        """Weights, rows and lanes of the terms of the objective that friction does not bend."""
        goal = self._goal
        found: list[tuple[Any, Row, int]] = [(goal.forces, row, 1) for row in self._forces]
        if goal.contacts:
            found += [(goal.contacts, row, 1) for row in self._multipliers]
        for weight, row, drag, rubbing, lanes in zip(
            goal.efforts, self._efforts, goal.drag, goal.rubbing, goal.lanes, strict=False
        ):
            if is_known(rubbing, 0.0):
                found.append((weight, [row[0] + drag, *row[1:]], lanes))
        return found

    def _twice_value(self, x: Row) -> Any:
        """The weighted squares at free efforts."""
        goal = self._goal
        value: Any = 0.0
        for weight, row, lanes in self._plain():
            part = at(row, x)
            value = value + lane_sum(weight * (part * part), lanes)
        for i in self._bent:
            part, _, _ = self._bent_effort(i, x)
            value = value + lane_sum(goal.efforts[i] * (part * part), goal.lanes[i])
        return value

    @functools.cached_property
    def _bent(self) -> list[int]:
        """Motors of whose efforts friction takes a part."""
        goal = self._goal
        return [i for i in range(len(goal.efforts)) if not is_known(goal.rubbing[i], 0.0)]

    def _bent_effort(self, i: int, x: Row) -> tuple[Any, Row, list[Row]]:
        """An effort with friction, its slopes and second derivatives."""
        goal, (bx, by), free = self._goal, self._across[i], range(len(x))
        row, rubbing = self._efforts[i], goal.rubbing[i]
        length, per_length, (cx, cy) = direction(at(bx, x), at(by, x))
        effort = at(row, x) + goal.drag[i] + rubbing * length
        slopes = [row[1 + m] + rubbing * (cx * bx[1 + m] + cy * by[1 + m]) for m in free]
        # The length bends only across its own direction.
        turns = [cx * by[1 + m] - cy * bx[1 + m] for m in free]
        return effort, slopes, [[rubbing * per_length * (a * b) for b in turns] for a in turns]

    @functools.cached_property
    def _quadratic(self) -> list[Row]:
        """Gradient at zero and Hessian, row by row, of the terms that friction does not bend."""
        count = len(self._causes.free)
        terms = self._plain()
        return [
            [total(lane_sum(w * (row[1 + m] * row[n]), lanes) for w, row, lanes in terms)
             for n in range(1 + count)]
            for m in range(count)
        ]  # fmt: skip

    def _derivatives(self, x: Row) -> tuple[Row, list[Row]]:
        """Gradient and Hessian of the objective."""
        goal, free = self._goal, range(len(x))
        gradient = [at(row, x) for row in self._quadratic]
        hessian = [list(row[1:]) for row in self._quadratic]
        for i in self._bent:
            effort, slopes, bends = self._bent_effort(i, x)
            for m in free:
                part = goal.efforts[i] * (effort * slopes[m])
                gradient[m] = gradient[m] + lane_sum(part, goal.lanes[i])
                for n in free:
                    part = goal.efforts[i] * (slopes[m] * slopes[n] + effort * bends[m][n])
                    hessian[m][n] = hessian[m][n] + lane_sum(part, goal.lanes[i])
        return gradient, hessian

    def _step(self, x: Row, gradient: Row, hessian: list[Row]) -> Row:
        """Newton's step, to be subtracted; it keeps the multipliers at zero that are held there."""
        if not x:
            return []
        zero = self._zero
        if len(zero) == len(x):
            solution, _ = inverse([row[1:] for row in zero], np.eye(len(x)))
            return _times(solution, [at(row, x) for row in zero])
        inverted, _ = inverse(hessian, np.eye(len(x)))
        step = _times(inverted, gradient)
        if zero:
            across = [_times(inverted, row[1:]) for row in zero]
            matrix = [[_dot(row[1:], a) for a in across] for row in zero]
            open_ = [at(row, x) - _dot(row[1:], step) for row in zero]
            pull = _times(inverse(matrix, np.eye(len(zero)))[0], open_)
            step = [s + _dot([a[m] for a in across], pull) for m, s in enumerate(step)]
        return step


def best_of(causes: Causes, goal: Goal, conditions: list[Any]) -> tuple[Row, Row, Any]:
    """Free efforts and contacts' friction of the best piece, and the slope that is left there.

    Conditions that it is the best are appended to ``conditions``.

    Parameters
    ----------
    causes : Causes
        Forces as functions of the free efforts.
    goal : Goal
        What is kept least.
    conditions : list
        Gets numbers that must be positive for the answer to count.

    Raises
    ------
    RefusedError
        On floats, where no pattern of signs is consistent.
    """
    pieces = {signs: Piece(causes, goal, signs) for signs in _patterns(causes)}
    best: Any = _UNSET
    chosen: list[Any] = [0.0] * (len(causes.free) + len(causes.contacts) + 1)
    for signs, piece in pieces.items():
        usable, settled = piece.inside, piece.settled
        # Where a pattern has its minimum inside, its faces cannot be lower.
        for other in pieces:
            if 0.0 in signs and 0.0 not in other and _bounds(signs, other):
                usable = select(pieces[other].inside, 0.0, usable)
                settled = select(pieces[other].inside, 1.0, settled)
        conditions.append(settled)
        better = select(usable, best - piece.value, -1.0)
        best = select(better, piece.value, best)
        found = [*piece.free, *piece.contacts, piece.slope]
        chosen = [select(better, a, b) for a, b in zip(found, chosen, strict=True)]
    conditions.append(_UNSET / 2.0 - best)
    if is_known(best, _UNSET):
        raise RefusedError(JAMMED)
    count = len(causes.free)
    return chosen[:count], chosen[count:-1], chosen[-1]


def _patterns(causes: Causes) -> list[tuple[float, ...]]:
    """Signs to be looked at, those without zeros first; a contact without friction has but one."""
    signs = [(1.0,) if is_known(c.rubs, 0.0) else (1.0, -1.0, 0.0) for c in causes.contacts]
    found = [s for s in itertools.product(*signs) if s.count(0.0) <= len(causes.free)]
    return sorted(found, key=lambda s: s.count(0.0))


def _bounds(face: tuple[float, ...], pattern: tuple[float, ...]) -> bool:
    """Whether a face bounds a pattern."""
    return all(a in (0.0, b) for a, b in zip(face, pattern, strict=True))


def at(row: Row, x: Row) -> Any:
    """Value of an affine function."""
    return row[0] + total(a * b for a, b in zip(row[1:], x, strict=True))


def direction(x: Any, y: Any) -> tuple[Any, Any, tuple[Any, Any]]:
    """Length of a vector, one over it, and its direction; zeros for none."""
    length = square_root(x * x + y * y)
    per_length = select(length, reciprocal(length), 0.0)
    return length, per_length, (x * per_length, y * per_length)


def _longest(x: Row) -> float:
    return max(map(abs, x), default=0.0)


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return total(x * y for x, y in zip(a, b, strict=True))


def _times(matrix: Sequence[Sequence[Any]], x: Sequence[Any]) -> Row:
    return [_dot(row, x) for row in matrix]
