# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The nearest motion that can be driven within limits.

Nearest in the measure of Gauss's principle of least constraint, the kinetic energy of the
difference. In each pattern of contact signs, accelerations are further unknowns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.effort_distribution import goal_of
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.limited_efforts import Pattern, over_patterns
from masticator_dynamics.engine.traced.load_bounds import LoadBounds
from masticator_dynamics.engine.traced.load_cases import LoadCases
from masticator_dynamics.engine.traced.numbers import absolute, greater, reciprocal
from masticator_dynamics.engine.traced.sign_pattern import Row, Terms

# Of a limit. Only the nearest motion keeps the limits, and rounding must not exclude it: it is
# found a little further inside than the best efforts.
INSIDE = -7e-10


def nearest(
    run: InverseDynamics, moved: Callable[[Row], InverseDynamics], y_ddot: Row,
    bounds: LoadBounds, friction: bool,
) -> tuple[InverseDynamics, Row]:  # fmt: skip
    """The evaluation of the nearest motion that is possible, and what it gives up (n_y,).

    Parameters
    ----------
    run : InverseDynamics
        The evaluation of the desired motion, with accelerations ``y_ddot`` (n_y,).
    moved : callable
        Gives the evaluation with accelerations to which some (n_y,) are added.
    friction : bool
        Whether joints and contacts have friction.
    """
    steps = [greater(absolute(x), 1.0) for x in y_ddot]  # rounding is that of the motion
    others = [moved([step if f == g else 0.0 for g in range(len(steps))])
              for f, step in enumerate(steps)]  # fmt: skip
    inside = dataclasses.replace(bounds, slack=bounds.slack + INSIDE)
    given_up = _shortfall(run, others, [reciprocal(step) for step in steps], inside, friction)
    near = moved([-x for x in given_up])
    near.forces.conditions += run.forces.conditions
    return near, given_up


def _shortfall(
    run: InverseDynamics, others: Sequence[InverseDynamics], parts: Row, bounds: LoadBounds,
    friction: bool,
) -> Row:  # fmt: skip
    """By what the desired accelerations (n_y,) differ from the nearest that are possible.

    Parameters
    ----------
    run : InverseDynamics
        The evaluation; its conditions are appended to.
    others, parts : sequence of InverseDynamics, of number
        With each acceleration of an independent joint greater by a number; one over these.
    bounds, friction
        As for :func:`nearest`.
    """
    evaluations = [(each, LoadCases(each, friction, ())) for each in (run, *others)]
    all_terms = [Terms.of(cases, goal_of(each, {}, friction)).limb_by_limb
                 for each, cases in evaluations]  # fmt: skip
    (first, *more), free = all_terms, all_terms[0].free

    def joined(base: list[Row], sources: list[list[Row]]) -> list[Row]:
        return [
            [
                *row[: 1 + free],
                *(part * (other[0] - row[0]) for other, part in zip(rows, parts, strict=True)),
                *row[1 + free :],
            ]
            for row, *rows in zip(base, *sources, strict=True)
        ]

    terms = dataclasses.replace(
        first,
        free=free + len(others),
        efforts=joined(first.efforts, [terms.efforts for terms in more]),
        aside=[
            joined(rows, [terms.aside[i] for terms in more]) for i, rows in enumerate(first.aside)
        ],
        contacts=joined(first.contacts, [terms.contacts for terms in more]),
    )
    along, *others_along = (cases.axial for _, cases in evaluations)
    inertia = _inertia(run, [cases.load.efforts for _, cases in evaluations], parts)
    away, contradicted = over_patterns(
        terms, joined(along, others_along), bounds.limb_by_limb(run), Pattern.nearest,
        run.forces.conditions, inertia,
    )  # fmt: skip
    run.forces.conditions.append(1.0 - contradicted)
    return [-x for x in away]


def _inertia(run: InverseDynamics, efforts: Sequence[Row], parts: Row) -> list[Row]:
    """Generalised forces per acceleration, from the efforts without and with some of each."""
    load, *others = efforts
    gained = [
        vec.scale(vec.subtract(other, load), part)
        for other, part in zip(others, parts, strict=True)
    ]
    rates = [[m.rates[f] for m in run.forces.motors] for f in range(len(others))]
    forces = [[run.forces.inner(rate, g) for g in gained] for rate in rates]
    count = range(len(others))
    return [[0.5 * (forces[f][g] + forces[g][f]) for g in count] for f in count]
