# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction and goal torque of the masticator: the engine next to general solvers (S1 Sec. 4.5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from benchmark.friction_terms import FrictionModel, FrictionTerms
from benchmark.numpy_method import NumpyMethod
from benchmark.states import Array, States
from benchmark.table import Row
from benchmark.timing import Method, percentiles, time_calls
from benchmark.torque_solvers import qp_multipliers, slsqp_multipliers, slsqp_papers_form
from masticator_dynamics import Mechanism
from papers.formulations.geometry import read_geometry

ENGINE, QP = 'engine', 'QPs, daqp'
SOLVERS: dict[str, Callable[[FrictionTerms], Array]] = {
    'SLSQP, 2 unknowns': slsqp_multipliers,
    'SLSQP, 8 unknowns': slsqp_papers_form,
    QP: qp_multipliers,
}
COLUMNS = (ENGINE, *SOLVERS)
TOLERANCE = 1e-8  # of the largest torque, and of |tau| at the optimum
WITHOUT_FRICTION, TERMS_GIVEN = 'engine, no friction', ', terms given'
NOTES = """\
Pose to torques: the solvers' terms, Eq. 50 of S1, are built in numpy within the call. Friction and
choice alone: for the engine, a call with friction minus one without, terms of friction included;
for the solvers, with all terms given. One of the two budgets must be kept.
SLSQP: scipy's, from zero, with exact derivatives and the best units; 2 unknowns: F_Z; 8 unknowns:
torques and F_Z with Eq. 50 as equality (S1 Sec. 4.5). QPs: one per quadrant of signs; the friction
of the cranks is linearised until it converges.
Number of states, out of {checked}, with the optimum missed by more than 1e-8 of |tau|:"""


@dataclasses.dataclass(frozen=True)
class Misses:
    """How often a solver misses the optimum, and its largest relative excess over it."""

    solver: str
    count: int
    worst: float

    def as_text(self) -> str:
        """One line of text."""
        return f'{self.solver}: {self.count}, the worst by {self.worst:.0e}'


class FrictionMethods:
    """The engine and the solvers on the same problem."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.model = FrictionModel(mechanism, NumpyMethod(read_geometry(mechanism.description)))

    def check(self, states: States) -> list[Misses]:
        """Check that all solve the same problem and that the engine misses no optimum.

        Only SLSQP may stay above the optimum; the result says how often it does.
        """
        terms = [self.model.terms(*row) for row in states.rows()]
        efforts = [
            self.mechanism.feedforward(*row, goal='torque', friction=True) for row in states.rows()
        ]
        ours = np.array([effort.actuated for effort in efforts])
        pairs = zip(terms, efforts, strict=True)
        same = np.array([term.torques(effort.contact)[0] for term, effort in pairs])
        difference = np.abs(same - ours).max() / np.abs(ours).max()
        if not difference <= TOLERANCE:
            raise SystemExit(f'friction: numpy and the engine differ by {difference:.3g}')
        least = np.linalg.norm(ours, axis=1)
        return [self._misses(name, terms, least) for name in SOLVERS]

    def _misses(self, name: str, terms: list[FrictionTerms], least: Array) -> Misses:
        norms = [np.linalg.norm(term.torques(SOLVERS[name](term))[0]) for term in terms]
        excess = np.array(norms) / least - 1.0
        if not excess.min() >= -TOLERANCE:
            raise SystemExit(f'{name} beats the engine by {-excess.min():.3g} of |tau|')
        missed = Misses(name, int(np.sum(excess > TOLERANCE)), float(max(excess.max(), 0.0)))
        if name == QP and missed.count:
            raise SystemExit(f'{name} misses the optimum by up to {missed.worst:.3g} of |tau|')
        return missed

    def time(self, states: States, rounds: int) -> list[Row]:
        """Time all methods in turns; returns rows of the table."""
        seconds = time_calls(self._methods(), states, rounds)
        rows = [Row('masticator with friction, goal torque, one call from Python', '', {})]
        alone = []
        for percentile, whole_budget, alone_budget in ((50, 15.0, 6.0), (10, None, None)):
            figures = percentiles(seconds, percentile, 1e6)
            whole = {name: figures[name] for name in COLUMNS}
            given = {name: figures[name + TERMS_GIVEN] for name in SOLVERS}
            more = {ENGINE: figures[ENGINE] - figures[WITHOUT_FRICTION]}
            rows.append(Row(f'pose to best torques, p{percentile}', 'µs', whole, whole_budget))
            alone.append(
                Row(f'friction and choice alone, p{percentile}', 'µs', more | given, alone_budget)
            )
        return rows + alone

    def _methods(self) -> list[Method]:
        mechanism, model = self.mechanism, self.model

        def with_terms(solve: Callable[[FrictionTerms], Array]) -> Callable[..., Array]:
            def call(*state: Array) -> Array:
                terms = model.terms(*state)
                return terms.torques(solve(terms))[0]

            return call

        def given(solve: Callable[[FrictionTerms], Array]) -> Callable[..., Array]:
            return lambda terms: terms.torques(solve(terms))[0]

        return [
            Method(WITHOUT_FRICTION, lambda *state: mechanism.feedforward(*state).actuated),
            Method(
                ENGINE,
                lambda *state: mechanism.feedforward(*state, goal='torque', friction=True).actuated,
            ),
            *(Method(name, with_terms(solve)) for name, solve in SOLVERS.items()),
            *(
                Method(name + TERMS_GIVEN, given(solve), lambda state: (model.terms(*state),))
                for name, solve in SOLVERS.items()
            ),
        ]
