# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The best free efforts within one pattern of contact signs, and whether no others are better.

Most rows have contacts so loaded that one pattern can be shown to hold the lowest minimum, without
a look at the others. Half the weighted squares F are of forces u that are affine in the free
efforts x and in the loads |m| of the contacts, and of the friction of joints, which is a length::

    u(x) = e + N x + K |m(x)| + p |b(x)|,    m(x) = q + P x + C |m(x)|

Let F be minimal within a pattern at x*, and let another x be t away, in the length that N gives::

    F(x) - F(x*) = w u*.(u - u*) + 1/2 w (u - u*)^2

The square is at least (1 - s)^2 t^2, with s the slope of all friction. The product is zero to the
first order within the pattern. What bends adds at least -1/2 r t^2, with r from

    |b + c| <= |b| + c.b/|b| + c^2 / (2 |b|)

and where a multiplier changes its sign, F falls by at most 2 h per newton of the load that it then
has, which is at most a t - |m*|, with a the multiplier's slope. F is above F(x*) for every t if

    (1 - s)^2 - r  >  sum of h a^2 / |m*|

Multipliers that this one changes raise h by a few percent. The proof needs the minimum itself only
to a part in a million, so the last step but one will do for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.best_pattern import CONVERGED
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.matrices import inverse
from masticator_dynamics.engine.traced.numbers import (
    absolute,
    greater,
    greatest,
    is_known,
    lane_sum,
    reciprocal,
    select,
    sign_of,
    square_root,
    total,
)
from masticator_dynamics.engine.traced.sign_pattern import (
    PatternGoal,
    Row,
    SignPattern,
    Terms,
    at,
)

STEPS = 3
_LEAST = 1e-300  # N, of a load


def proven(
    cases: LoadCases, goal: PatternGoal, conditions: list[Any], *_: bool
) -> tuple[Row, Row, Any]:
    """As ``best_pattern.best_of``, for rows where one pattern is certainly the best."""
    terms = Terms.of(cases, goal)
    x, before, step = terms.start, terms.start, terms.start
    signs = _likely_signs(terms, x)
    pattern = SignPattern(terms, signs, faces=False)
    for _step in range(STEPS):
        step, _ = pattern.newton(x)
        before, x = x, vec.subtract(x, step)
    conditions += _certainties(terms, pattern, signs, before)
    conditions.append(pattern.margin(x))
    size = terms.size + vec.dot(x, x)
    conditions.append(size * CONVERGED**2 - vec.dot(step, step))
    return x, pattern.contacts(x), 0.0


def _likely_signs(terms: Terms, x: Row) -> Row:
    """Of the multipliers at free efforts, with what friction adds to them."""
    free = terms.free
    plain = [at(row[: 1 + free], x) for row in terms.contacts]
    loads = [absolute(m) for m in plain]
    multipliers = [
        m + vec.dot(row[1 + free :], loads) for m, row in zip(plain, terms.contacts, strict=True)
    ]
    return [
        select(sliding, sign_of(m), 1.0)
        for m, sliding in zip(multipliers, terms.sliding, strict=True)
    ]


def _certainties(terms: Terms, pattern: SignPattern, signs: Row, x: Row) -> list[Any]:
    """Numbers that are all positive where the pattern's minimum is certainly the lowest.

    Parameters
    ----------
    x : list of number
        Free efforts at the minimum.
    """
    free, count = terms.free, range(len(signs))
    square = _squares(terms)
    coulomb = [row[1 + free :] for row in terms.contacts]
    # What a load that turns at zero adds to multipliers, and all loads.
    turned = [[vec.dot(row, column) for column in zip(*coulomb, strict=True)]
              for row in pattern.answers]  # fmt: skip
    loads = [[float(i == j) + signs[i] * turned[i][j] for j in count] for i in count]
    slope, bends, saved = _of_friction(terms, pattern, loads, x, square)
    mixed = [total(absolute(c) for c in row) for row in coulomb]
    own = [square_root(square(row[1 : 1 + free])) for row in terms.contacts]
    most, largest = 1.0 - greatest(mixed), greatest(own)
    spread = largest * reciprocal(most)
    flat, by_load = slope
    rest = 1.0 - flat - total(
        part * (alone + share * spread)
        for part, alone, share in zip(by_load, own, mixed, strict=True)
    )  # fmt: skip
    others = [2.0 * total(absolute(row[i]) for row in turned) for i in count]
    alone = 1.0 - greatest(others)
    more = greatest(saved) * reciprocal(alone)
    fall = total(
        (save + other * more) * (square(row[1:]) * reciprocal(greater(sign * at(row, x), _LEAST)))
        for save, other, row, sign in zip(saved, others, pattern.multipliers, signs, strict=True)
    )
    return [most, alone, rest, rest * rest - bends - fall]


def _squares(terms: Terms) -> Any:
    """Squared slope of what is affine in the free efforts, in the length that the forces give."""
    free, goal = terms.free, terms.goal
    if not (goal.forces or goal.contacts) and all(is_known(w, 1.0) for w in goal.efforts):
        return lambda row: vec.dot(row, row)  # they are orthonormal
    rows = [(weight, row, lanes) for weight, row, _, _, _, lanes in _forces(terms)]
    metric, _ = inverse(
        [[total(lane_sum(w * (row[1 + m] * row[1 + n]), lanes) for w, row, lanes in rows)
          for n in range(free)] for m in range(free)],
        np.eye(free),
    )  # fmt: skip
    return lambda row: vec.dot(row, vec.apply(metric, row))


def _forces(terms: Terms) -> list[tuple[Any, Row, list[Row], Any, Any, int]]:
    """Weight, row, force across the axis, friction per newton of it, drag, lanes of what counts."""
    goal = terms.goal
    others = [(goal.forces, row) for row in terms.observed]
    others += [(goal.contacts, row) for row in terms.contacts]
    return [
        *zip(goal.efforts, terms.efforts, terms.across, goal.per_newton, goal.drag, goal.lanes,
             strict=False),
        *((weight, row, [], 0.0, 0.0, 1) for weight, row in others if weight),
    ]  # fmt: skip


def _of_friction(
    terms: Terms, pattern: SignPattern, loads: list[Row], x: Row, square: Any
) -> tuple[tuple[Any, Row], Any, Row]:
    """What friction does to the forces: its slopes, s, how it bends, r, and what it saves, h.

    Slopes are of the joints' friction by the free efforts, and of all friction by each load.
    """
    free, count = terms.free, range(len(loads))
    by_x, bends = 0.0, 0.0
    by_load, saved = [0.0 for _ in count], [0.0 for _ in count]
    for i, (weight, row, across, per_newton, drag, lanes) in enumerate(_forces(terms)):
        force, bent = at(pattern.combined(row), x) + drag, not is_known(per_newton, 0.0)
        rubs, pull = absolute(per_newton), 0.0
        if bent:
            force, per_length, *_ = pattern.bent_effort(i, x)
            pull = weight * (force * per_newton)
            plain = total(square(b[1 : 1 + free]) for b in across)
            by_x = by_x + lane_sum(weight * (rubs * rubs * plain), lanes)
            curl = total(square(b[1:]) for b in pattern.across(i)) * per_length
            # Without length there is no end to how it bends.
            curl = select(per_length, curl, 1.0 / _LEAST)
            bends = bends + lane_sum(greater(-pull, 0.0) * curl, lanes)
        for k in count:
            amount = absolute(row[1 + free + k])
            turns = [[row[1 + free + c], loads[c][k]] for c in count]
            save = -(weight * force) * total(a * b for a, b in turns)
            if bent:
                amount = amount + rubs * total(absolute(b[1 + free + k]) for b in across)
                hindered = total(
                    absolute(total(b[1 + free + c] * loads[c][k] for c in count)) for b in across
                )
                save = save + absolute(pull) * hindered
            by_load[k] = by_load[k] + lane_sum(weight * (amount * amount), lanes)
            saved[k] = saved[k] + lane_sum(save, lanes)
    roots = [square_root(part) for part in by_load]
    return (square_root(by_x), roots), bends, [greater(save, 0.0) for save in saved]
