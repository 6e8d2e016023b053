# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of efforts by what is asked of them: a goal, friction, limits, wrenches on links."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray, as_flag
from masticator_dynamics.engine.evaluation.model import VariableModel
from masticator_dynamics.engine.evaluation.quick_effort import QuickEffort
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator
from masticator_dynamics.engine.evaluation.row_kinds import GoalKind
from masticator_dynamics.engine.evaluation.row_solver import RowSolver
from masticator_dynamics.engine.traced import kernels
from masticator_dynamics.engine.traced.effort_goals import Goal, goal_weights
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.row_code import NONE
from masticator_dynamics.errors import InputError

# The rest is imported where it is used: a process that only computes efforts needs none of it.
if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.row_kinds import RowKind
    from masticator_dynamics.limits.load_limits import LoadLimits
    from masticator_dynamics.limits.within_limits import WithinLimits

LinkWrenches = Mapping[str, npt.ArrayLike]
MOST_LIMITS = 8  # limits and goals of a mechanism whose code is kept at hand


@dataclasses.dataclass(frozen=True)
class EffortOptions:
    """Keywords of `Mechanism.inverse_dynamics`, which documents them, and of related methods."""

    goal: Goal = 'torque'
    friction: bool = False
    limits: LoadLimits | bool = False
    nearest: bool = False

    def __post_init__(self) -> None:
        """Refuse flags that are none, and the nearest motion within no limits."""
        as_flag(self.friction, 'friction')
        if as_flag(self.nearest, 'nearest') and self.limits is False:
            raise InputError('nearest=True needs limits')

    @property
    def least_norm(self) -> bool:
        """Whether these are the frictionless efforts of least norm."""
        return self.goal == 'torque' and not self.friction


class EffortRows(Evaluator):
    """What computes efforts for options, and keeps it; `Mechanism` documents the options."""

    def __init__(
        self,
        description: MechanismDescription,
        actuators: Sequence[str] | None = None,
        variable: VariableModel | None = None,
    ):
        super().__init__(description, actuators, variable)
        self._told_of_ranges = False
        self._answers: dict[object, list[Answer]] = {}
        self._freedoms = len(self.independent)
        code_of = variable.code_of if variable else None
        structure = code_of.of.structure if code_of else self.structure
        self.kernels = kernels.Kernels(description, structure, self.driving, code_of)
        self.solver = RowSolver(self, self.kernels)

    def effort_answers(self, options: EffortOptions) -> list[Answer]:
        """What machine code has for efforts alone: each is asked where those before are not sure.

        Inputs are those of a row; see ``traced/python_entry.py``.
        """
        goal = options.goal if isinstance(options.goal, str) else goal_weights(options.goal)[0]
        # The answers keep the limits, so that no others come to lie in their place.
        key = goal, options.friction, id(options.limits), options.nearest
        if key in self._answers:
            return self._answers[key]
        kind, result = self._kind(options), cast(type, QuickEffort)
        within = None
        if options.limits is not False:
            from masticator_dynamics.limits.load_limits import limits_for
            from masticator_dynamics.limits.within_limits import WithinLimits

            within = WithinLimits(self, cast(GoalKind, kind), limits_for(self, options.limits))
        codes = [(self.kernels.evaluate, NONE)]
        if within:
            codes = within.codes if options.nearest else within.codes[:-1]
        elif isinstance(kind, GoalKind):
            codes = [(self.kernels.best(*kind.choice, proven), NONE) for proven in kind.ways]
        if isinstance(kind, GoalKind):
            parts = {'__slots__': (), 'kind': kind, 'within': within, 'nearest': options.nearest}
            result = type('QuickEffort', (QuickEffort,), parts)
        if len(self._answers) == MOST_LIMITS:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = [
            Answer(code, kernels.EFFORT, (len(self.actuated),), numbers=numbers, result=result,
                   kept=self.kernels.inputs)
            for code, numbers in codes
        ]  # fmt: skip
        return self._answers[key]

    def batch_answers(self, options: EffortOptions) -> list[Answer]:
        """Those of them that serve a batch: a search within limits goes row by row."""
        answers = self.effort_answers(options)
        return answers if options.limits is False else answers[: -1 - options.nearest]

    def _within(self, options: EffortOptions) -> WithinLimits:
        """What computes whole rows within limits."""
        result: Any = self.effort_answers(options)[0].result
        return result.within

    def _with_links(
        self, inputs: FloatArray, wrenches: LinkWrenches, q: FloatArray | None = None
    ) -> FloatArray:
        """Rows (..., 3 n_y + 6) with wrenches on all bodies appended, at tree positions."""
        from masticator_dynamics.engine.evaluation.frames import wrenches_on_bodies

        if q is None:
            q = self.solver.motions(inputs)[..., self.slices['q']]
        return np.concatenate([inputs, wrenches_on_bodies(self, q, wrenches)], axis=-1)

    def _kind(self, options: EffortOptions) -> RowKind:
        """Kind of rows that hold the efforts for these options."""
        if options.limits is False and options.least_norm:
            return self.solver.least_norm
        return self.solver.distribution(options.goal, options.friction)

    def _effort(
        self,
        inputs: FloatArray,
        options: EffortOptions,
        solve: Callable[..., FloatArray],
        q: FloatArray | None = None,
    ) -> Effort:
        """Efforts from the rows that a method of the solver returns, within limits if requested."""
        if options.limits is False:
            rows = solve(self._kind(options), inputs, q=q)
        else:
            rows = self._within(options).rows(options.nearest, inputs, q=q)
        self._tell_of_ranges(rows[..., self.slices['q']])
        return Effort(self, inputs, rows, self._kind(options).slices)

    def _tell_of_ranges(self, q: FloatArray) -> None:
        """Warn, once, if coordinates or motors are outside their ranges."""
        if not self._told_of_ranges:
            from masticator_dynamics.limits.ranges import warn_outside

            self._told_of_ranges = warn_outside(self, q)

    @property
    def load_limits(self) -> LoadLimits:
        """What motors, bearings and contacts may carry, from the description."""
        from masticator_dynamics.limits.load_limits import LoadLimits

        return self.made(LoadLimits.of)
