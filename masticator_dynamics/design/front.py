# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Search for the best geometry, or for a front: those that no other one excels in all objectives.

Every generation is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.design.judge import DesignStatus
from masticator_dynamics.design.space import Space
from masticator_dynamics.design.study_file import StudySearch
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.optional import needed

_MOST = 2000  # of a front that are kept: those that differ most in the first objective
_AT_ONCE = 500


def violation(
    table: FloatArray, columns: Sequence[str], bounds: Mapping[str, tuple[float, float]]
) -> FloatArray:
    """How much rows (N,) violate constraints, summed; infinite where there is no figure."""
    violations = np.where(table[:, columns.index('status')] == DesignStatus.JUDGED, 0.0, np.inf)
    for name, (low, high) in bounds.items():
        value = table[:, columns.index(name)]
        violations += np.nan_to_num(np.maximum(low - value, 0.0) + np.maximum(value - high, 0.0))
    return violations


class Front:
    """Rows of tables that are feasible and excelled by no other.

    Parameters
    ----------
    columns : sequence of str
        Of the tables.
    objectives : mapping of str to float
        Columns to be made small, with 1, or large, with -1.
    bounds : mapping
        Least and largest values of columns.
    """

    def __init__(
        self,
        columns: Sequence[str],
        objectives: Mapping[str, float],
        bounds: Mapping[str, tuple[float, float]],
    ):
        self.columns, self._objectives, self.bounds = list(columns), dict(objectives), bounds
        self.rows: FloatArray = np.zeros((0, len(self.columns)))

    def costs(self, table: FloatArray) -> FloatArray:
        """Objectives (N, m), all to be made small."""
        columns = [sign * table[:, self.columns.index(n)] for n, sign in self._objectives.items()]
        return np.column_stack(columns) if columns else np.zeros((len(table), 0))

    def add(self, table: FloatArray) -> None:
        """Take in what belongs to the front, and drop what no longer does."""
        if not self._objectives:
            return
        costs = self.costs(table)
        good = (violation(table, self.columns, self.bounds) == 0.0) & np.isfinite(costs).all(1)
        rows = np.flatnonzero(good)
        for k in range(0, len(rows), _AT_ONCE):
            some = rows[k : k + _AT_ONCE]
            front_costs = self.costs(self.rows)
            excelled = np.asarray((front_costs[None] <= costs[some][:, None]).all(axis=2))
            some = some[~excelled.any(axis=1)]
            if len(some):
                self.rows = self._reduced(np.vstack([self.rows, table[some]]))

    def _reduced(self, rows: FloatArray) -> FloatArray:
        costs = self.costs(rows)
        _, first = np.unique(costs, axis=0, return_index=True)
        rows, costs = rows[first], costs[first]  # by the first objective
        no_worse = (costs[:, None] <= costs[None]).all(axis=2)
        better = (costs[:, None] < costs[None]).any(axis=2)
        rows = rows[~(no_worse & better).any(axis=0)]
        if len(rows) > _MOST:
            rows = rows[np.linspace(0, len(rows) - 1, _MOST).round().astype(int)]
        return rows

    def best(self) -> FloatArray | None:
        """The row that comes closest to the best of each objective, in widths of the front."""
        if not len(self.rows):
            return None
        costs = self.costs(self.rows)
        low, high = costs.min(axis=0), costs.max(axis=0)
        far = (costs - low) / np.where(high > low, high - low, 1.0)
        row: FloatArray = self.rows[int(np.square(far).sum(axis=1).argmin())]
        return row


_WORST = 1e30  # of a geometry that cannot be judged

Judged = Callable[[int, FloatArray], FloatArray]  # from generation and numbers from 0 to 1


def search(
    settings: StudySearch,
    space: Space,
    front: Front,
    judged: Judged,
    progress: Callable[[int], None],
) -> None:
    """Search for geometries that are better than those of a front, and add them to it.

    One figure: differential evolution. Several: NSGA-II.

    Parameters
    ----------
    front : Front
        Of the samples.
    judged : callable
        Gives the table of a generation.
    progress : callable
        Called with the number of generations done.
    """
    needed('pymoo.config').Config.warnings['not_compiled'] = False  # it prints advice
    generations = itertools.count()

    class Geometries(needed('pymoo.core.problem').Problem):  # type: ignore[misc]
        def _evaluate(self, x: FloatArray, out: dict[str, Any], *_: Any, **__: Any) -> None:
            """Costs (S, m) and violation (S, 1) of numbers (S, d)."""
            generation = next(generations)
            table = judged(generation, np.atleast_2d(x))
            front.add(table)
            progress(min(generation + 1, settings.generations))
            violated = violation(table, front.columns, front.bounds)
            out['F'] = np.nan_to_num(front.costs(table), nan=_WORST, posinf=_WORST)
            out['G'] = np.minimum(violated, _WORST)[:, None]

    start, objectives = _start(settings, space, front), front.costs(front.rows).shape[1]
    made = Geometries(n_var=start.shape[1], n_obj=objectives, n_ieq_constr=1, xl=0.0, xu=1.0)
    if objectives == 1:
        kind = needed('pymoo.algorithms.soo.nonconvex.de').DE
    else:
        kind = needed('pymoo.algorithms.moo.nsga2').NSGA2
    needed('pymoo.optimize').minimize(
        made,
        kind(pop_size=len(start), sampling=start),
        ('n_gen', settings.generations),
        seed=settings.seed,
    )


def _start(settings: StudySearch, space: Space, front: Front) -> FloatArray:
    """The first generation: from the front of the samples, filled up with others."""
    count, d, rows = settings.population, len(space.axes), front.rows
    if len(rows) > count // 2:
        rows = rows[np.linspace(0, len(rows) - 1, count // 2).round().astype(int)]
    rng = np.random.default_rng(settings.seed)
    others = rng.uniform(size=(count - len(rows), d))
    return np.vstack([space.fractions(rows[:, :d]), others])
