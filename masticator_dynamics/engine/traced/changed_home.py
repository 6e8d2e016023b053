# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Home of a mechanism with other numbers, and whether equations that were left out still hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.closed_motion import Evaluation
from masticator_dynamics.engine.traced.closure_equations import gaps_of
from masticator_dynamics.engine.traced.numbers import absolute, select
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.variable import Variation


def changed_home(
    of: Variation, shifts: Sequence[Sequence[float]], allowed: Sequence[float]
) -> RowCode:
    """From `Variable.numbers` to whether they certainly are a mechanism's, and its home (n_q,).

    Inputs are parameters, and dependent positions to start from.

    Parameters
    ----------
    shifts : sequence of sequence of float
        Independent positions (n_y,) from home, at which all equations are looked at as well.
    allowed : sequence of float
        Gap of each described constraint there and at home, m or rad.
    """
    still = [0.0] * len(of.description.independent)

    def function(inputs: Sequence[Any], _: bool) -> list[Any]:
        described, structure = of.recorded(inputs)
        home = [structure.home[structure.index(name)] for name in described.independent]
        valid, positions = 1.0, list[Any]()
        for shift in (still, *shifts):
            y = vec.add(home, shift)
            run = Evaluation(described, structure, y, (y, still, still), [0.0] * 6, (), False)
            positions = positions or run.positions()
            valid = select(run.valid(), valid, 0.0)
            if shifts:
                for constraint, most in zip(structure.described, allowed, strict=True):
                    for gap in gaps_of(constraint, run.plan.body):
                        valid = select(most - absolute(gap), valid, 0.0)
        return [valid, *positions]

    return RowCode(
        'changed home', len(of.names) + len(of.dependent), 1 + len(of.structure.tree.joints),
        function, lambda: [of.identity], largest=60_000,
    )  # fmt: skip
