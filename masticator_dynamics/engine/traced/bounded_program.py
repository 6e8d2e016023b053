# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The minimum of a smooth function within bounds, in a loop that is recorded.

Sequential quadratic programs by the dual method of Goldfarb and Idnani (1983), with its steps and
those of the sequence in one loop: every step linearises anew, makes the bound active that is
violated most, or drops the one whose multiplier would turn negative first. Normals that depend on
each other are no special case: a bound may give way by :data:`YIELDING` of what its multiplier
grows by, which vanishes as the multipliers settle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.control_flow import graph_of, repeat
from masticator_dynamics.engine.traced.matrices import (
    cholesky,
    solve_factored,
    solve_lower,
    solve_upper,
)
from masticator_dynamics.engine.traced.numbers import (
    Number,
    absolute,
    greater,
    greatest,
    is_known,
    lane_count,
    reciprocal,
    select,
    total,
)
from masticator_dynamics.engine.traced.sign_pattern import Row, at, direction

STEPS = 60  # most
MET = 1e-11
CONVERGED = 1e-9  # last step over the point, in the measure of the Hessian
YIELDING = 1e-11  # relative
CONTRADICTED = 1e8
PATIENCE = 4.5  # steps with more bounds than unknowns, after which these contradict one another
_NONE = -1.0


@dataclasses.dataclass
class Bound:
    """Something that must not exceed zero: an affine function and, where it bends, a length."""

    row: Row  # the affine function
    bend: Any  # number: factor of the length
    across: list[Row]  # components of the vector that has this length

    @property
    def bent(self) -> bool:
        """Whether there is a length."""
        return not is_known(self.bend, 0.0)

    def at(self, x: Row) -> tuple[Any, Row, Any, Row]:
        """Value and slopes; factor and vector of whose square the second derivatives are made.

        These only where they add to convexity.
        """
        value, slopes = at(self.row, x), list(self.row[1:])
        if not self.bent:
            return value, slopes, 0.0, [0.0] * len(x)
        bx, by = self.across
        length, per_length, (cx, cy) = direction(at(bx, x), at(by, x))
        slopes = [s + self.bend * (cx * bx[1 + m] + cy * by[1 + m]) for m, s in enumerate(slopes)]
        turns = [cx * by[1 + m] - cy * bx[1 + m] for m in range(len(x))]
        factor = select(self.bend, self.bend, 0.0) * per_length
        return value + self.bend * length, slopes, factor, turns

    def numbers(self, bent: bool) -> Row:
        """All its numbers; without those of the length where no bound has one."""
        across = self.across if self.bent else 2 * [[0.0] * len(self.row)]
        return [*self.row, *([self.bend, *vec.flat(across)] if bent else [])]

    @classmethod
    def of(cls, numbers: Row, size: int) -> Bound:
        """From its numbers, as a function of so many unknowns."""
        row, rest = numbers[: 1 + size], numbers[1 + size :]
        if not rest:
            return cls(row, 0.0, [])
        return cls(row, rest[0], [rest[1 : 2 + size], rest[2 + size :]])


@dataclasses.dataclass
class Minimum:
    """Where a loop has ended."""

    # 1 at the minimum, -1 where bounds contradict one another, 0 if neither was established.
    status: Any
    x: Row
    # Square of the last step, in the measure of the Hessian: what is left of the conditions of
    # optimality.
    square: Any


def minimum(
    start: Row,
    bounds: Sequence[Bound],
    derivatives: Callable[[Row], tuple[Row, list[Row]]],
    floor: Any,
    met: float = MET,
    contradicted: float = CONTRADICTED,
) -> Minimum:
    """The minimum of a function within bounds.

    Parameters
    ----------
    start : list of number
        Where the search begins.
    derivatives : callable
        Gradient and positive definite Hessian of the function.
    floor : number
        A square in the measure of the Hessian; what is small beside it counts as zero.
    met : float
        A bound exceeded by no more is kept.
    contradicted : float
        How far multipliers may move bounds before these are taken for contradictory.
    """
    size, bent = len(start), any(bound.bent for bound in bounds)
    tables = [bound.numbers(bent) for bound in bounds]
    if not size or not bounds:
        worst = greatest([-1.0, *(bound.at(start)[0] for bound in bounds)])
        return Minimum(select(worst - met, -1.0, 1.0), start, 0.0)
    width = 2 + len(tables[0])
    empty = [_NONE, 0.0, *[0.0] * (width - 2)]

    def step(state: Row) -> tuple[Any, Row]:
        # Positive after a step that was not blocked: one more than steps with all slots full.
        free, _, _ = state[:3]
        x, slots = state[3 : 3 + size], _parts(state[3 + size :], width)
        worst, entering = _most_violated(bounds, tables, x)
        violated = select(worst - met, 1.0, 0.0)
        for slot in slots:
            violated = select(0.5 - absolute(slot[0] - entering[0]), 0.0, violated)
        slots, lacking = _entered(slots, entering, select(free, violated, 0.0))
        full = -greatest([-0.5 - slot[0] for slot in slots])
        steps = select(full, free + 1.0, 1.0)
        worse = select(steps - PATIENCE, select(worst - met, 1.0, 0.0), 0.0)
        gradient, hessian = derivatives(x)
        step_, square, slots, blocked, moves = _step(x, slots, gradient, hessian)
        # Blocked: a bound has left, and the next step is from the same point.
        x = [select(blocked, a, a + b) for a, b in zip(x, step_, strict=True)]
        measured = vec.dot(x, vec.apply(hessian, x))
        near = CONVERGED**2 * (measured + floor) - square
        done = select(near, select(worst - met, 0.0, 1.0), 0.0)
        status = select(greatest([lacking, worse, moves - contradicted]), -1.0,
                        select(blocked, 0.0, done))  # fmt: skip
        goes_on = 1.0 - absolute(status)
        return goes_on, [select(blocked, 0.0, steps), status, square, *x, *vec.flat(slots)]

    first = [0.0, 0.0, 0.0, *start, *((size + 1) * empty)]
    numbers = [*first, *vec.flat(tables), floor]
    state = repeat(graph_of(numbers), STEPS, first, step, lane_count(numbers))
    return Minimum(state[1], state[3 : 3 + size], state[2])


def _parts(numbers: Row, width: int) -> list[Row]:
    return [numbers[i : i + width] for i in range(0, len(numbers), width)]


def _most_violated(bounds: Sequence[Bound], tables: Sequence[Row], x: Row) -> tuple[Any, Row]:
    """The largest value of a bound, and a slot with this one, without multiplier."""
    # Those whose length is that of the same vector need it chosen but once.
    groups: dict[tuple[object, ...], list[tuple[Any, Row]]] = {}
    apart = 2 + len(x)
    for k, (bound, table) in enumerate(zip(bounds, tables, strict=True)):
        value, *_ = bound.at(x)
        of = tuple(number.index if isinstance(number, Number) else number
                   for number in table[apart:])  # fmt: skip
        groups.setdefault(of, []).append((value, [float(k), 0.0, *table]))
    chosen = []
    for group in groups.values():
        across = group[0][1][2 + apart :]
        value, head = _largest([(value, slot[: 2 + apart]) for value, slot in group])
        chosen.append((value, [*head, *across]))
    return _largest(chosen)


def _largest(candidates: Sequence[tuple[Any, Row]]) -> tuple[Any, Row]:
    """The largest value, the first of several, and the numbers with it."""
    worst: Any = -1e300
    numbers = candidates[0][1]
    for value, others in candidates:
        worse = value - worst
        worst = select(worse, value, worst)
        numbers = [select(worse, a, b) for a, b in zip(others, numbers, strict=True)]
    return worst, numbers


def _entered(slots: list[Row], entering: Row, wanted: Any) -> tuple[list[Row], Any]:
    """Slots with a bound in the first empty one, if wanted; positive where all were full."""
    after = []
    for slot in slots:
        here = select(wanted, select(-0.5 - slot[0], 1.0, 0.0), 0.0)
        after.append([select(here, a, b) for a, b in zip(entering, slot, strict=True)])
        wanted = select(here, 0.0, wanted)
    return after, wanted


def _step(
    x: Row, slots: list[Row], gradient: Row, hessian: list[Row]
) -> tuple[Row, Any, list[Row], Any, Any]:
    """Step to the minimum with the active bounds kept.

    Returns
    -------
    step, square
        The step, and its square in the measure of the Hessian.
    slots
        With new multipliers; without the bound whose multiplier would turn negative first, if so.
    blocked, farthest
        Positive where there is one; how far a multiplier moves a bound at most.
    """
    size, count, hessian = len(x), range(len(slots)), [list(row) for row in hessian]
    values, normals = [], []
    for slot in slots:
        value, slopes, factor, turns = Bound.of(slot[2:], size).at(x)
        values.append(value)
        normals.append(slopes)
        for m, turn in enumerate(vec.scale(turns, slot[1] * factor)):
            for n in range(1 + m):
                hessian[m][n] = hessian[m][n] + turn * turns[n]
    lower, _ = cholesky(hessian)
    # In a measure in which the Hessian is one.
    newton = solve_lower(lower, gradient)
    along = [solve_lower(lower, normal) for normal in normals]
    squares = [vec.dot(a, a) for a in along]
    absent = [select(-0.5 - slot[0], 1.0, 0.0) for slot in slots]
    matrix = [
        [vec.dot(along[s], along[t]) for t in range(s)]
        + [(1.0 + YIELDING) * squares[s] + absent[s]] for s in count
    ]  # fmt: skip
    right = [
        values[s] - vec.dot(along[s], newton) + YIELDING * squares[s] * slots[s][1] for s in count
    ]
    wanted = solve_factored(cholesky(matrix)[0], right)
    part: Any = 1.0
    leaves: Any = _NONE
    for s in count:
        old = slots[s][1]
        share = select(-wanted[s], old * reciprocal(old - wanted[s]), 1.0)
        first = part - share
        part, leaves = select(first, share, part), select(first, float(s), leaves)
    blocked = leaves + 0.5
    after, farthest = [], 0.0
    for s in count:
        multiplier = slots[s][1] + part * (wanted[s] - slots[s][1])
        gone = 0.5 - absolute(leaves - float(s))
        with_slot = [slots[s][0], multiplier, *slots[s][2:]]
        gap = [_NONE, *[0.0] * (len(with_slot) - 1)]
        after.append([select(gone, a, b) for a, b in zip(gap, with_slot, strict=True)])
        farthest = greater(multiplier * squares[s], farthest)
    moved = [-(g + total(wanted[s] * along[s][m] for s in count)) for m, g in enumerate(newton)]
    return solve_upper(lower, moved), vec.dot(moved, moved), after, blocked, farthest
