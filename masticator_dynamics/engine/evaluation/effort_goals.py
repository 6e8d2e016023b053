# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals for choosing among efforts: which suit a mechanism, which code computes rows for each."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.traced.goals import GOALS
from masticator_dynamics.engine.traced.kernels import Code, Kernels
from masticator_dynamics.engine.traced.reference import Reference
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.errors import ActuationError, InputError

MOST_CONTACTS = 5  # with friction; their signs make patterns
Goal = str | Mapping[str, float]  # a name, or weights of the squares of several


def goal_weights(goal: Goal) -> tuple[str, dict[str, float]]:
    """A goal's unique name, and the weights of the squares that it minimises."""
    if isinstance(goal, str):
        return goal, {goal: 1.0}
    if isinstance(goal, Mapping):
        return repr(sorted(goal.items(), key=str)), dict(goal)
    raise InputError(f'goal is {goal!r:.60}, neither a name nor weights by name')


def check_goals(
    description: MechanismDescription, goals: Mapping[str, float], driving: int, friction: bool
) -> None:
    """Refuse goals that a mechanism cannot serve.

    Parameters
    ----------
    goals : mapping of str to float
        Weights of the squares of the goals' norms.
    driving : int
        Number of powered actuators.

    Raises
    ------
    InputError
        For an unknown goal or an invalid weight.
    ActuationError
        If a goal does not determine the efforts of this mechanism.
    """
    _check_weights(goals)
    if friction and driving < len(description.actuated):
        raise ActuationError(
            f'{description.name}: friction with {driving} of {len(description.actuated)} actuators '
            'driving is not covered: idle joints would have to be dragged along'
        )
    if friction and len(description.contacts) > MOST_CONTACTS:
        raise ActuationError(
            f'{description.name}: friction of {len(description.contacts)} contacts is not covered, '
            f'at most {MOST_CONTACTS} are: their signs make too many patterns'
        )
    free = driving - len(description.independent)
    _check_terms(description, goals, free)


def _check_weights(goals: Mapping[str, float]) -> None:
    for name, weight in goals.items():
        if name not in GOALS:
            raise InputError(f'no goal {name!r}; there are: {", ".join(GOALS)}')
        number = isinstance(weight, int | float) and np.isfinite(weight)
        if not (number and weight >= 0.0):
            raise InputError(
                f'goal {name!r} has weight {weight!r}; a number of 0 or more is needed'
            )
    if not any(goals.values()):
        raise InputError('a goal needs a weight above 0')


def _check_terms(description: MechanismDescription, goals: Mapping[str, float], free: int) -> None:
    """Refuse goals that leave efforts undetermined."""
    terms = sum(GOALS[goal].terms(description) for goal, weight in goals.items() if weight)
    if terms < free:
        names = ', '.join(goal for goal, weight in goals.items() if weight)
        raise ActuationError(
            f'{description.name}: goal {names} looks at {terms} forces and cannot choose '
            f'among {free} free efforts'
        )


class RowKind:
    """How rows of output are computed, and what is in them.

    Parameters
    ----------
    code : Code
        Machine code, which is tried first.
    slices : mapping of str to slice
        Where each quantity is in a row.
    fallback : Code, optional
        Computes the same for rows that the first hands over.

    Attributes
    ----------
    reference : Reference
        Computes the same for rows that machine code hands over.
    width : int
        Numbers in a row.
    """

    def __init__(self, code: Code, slices: Mapping[str, slice], fallback: Code | None = None):
        self.code, self.slices = code, dict(slices)
        self.reference = Reference((fallback or code).at_positions)
        self.width = code.outputs - 1


class GoalKind(RowKind):
    """The best efforts for a goal; its rows begin like those without a goal.

    Parameters
    ----------
    model : Model
        The mechanism.
    kernels : Kernels
        Its machine code.
    goals : mapping of str to float
        Weights of the squares of the goals' norms.
    friction : bool
        Friction of contacts and actuated joints.

    Attributes
    ----------
    choice : (mapping, bool)
        These goals, and friction.

    Raises
    ------
    InputError, ActuationError
        As :func:`check_goals`.
    """

    def __init__(self, model: Model, kernels: Kernels, goals: Mapping[str, float], friction: bool):
        check_goals(model.description, goals, len(model.driving), friction)
        code = kernels.distribution(goals, friction)
        fallback = kernels.distribution(goals, friction, exhaustive=True)
        super().__init__(code, model.slices, fallback)
        self._kernels, self.choice = kernels, (goals, friction)
        self._contact_rows = model.contact_rows.tolist()
        actuated, contacts = len(model.actuated), len(model.contacts)
        lengths = {
            'optimality': 1, 'friction': actuated, 'contact_friction': 3 * contacts,
            'bearing_force': 3 * actuated, 'shortfall': len(model.independent),
        }  # fmt: skip
        self.slices |= consecutive(lengths, self.slices['tangent'].stop)
        assert self.slices['shortfall'].stop == self.width

    @functools.cached_property
    def derivatives(self) -> Code:
        """See :meth:`Kernels.best_derivatives`."""
        return self._kernels.best_derivatives(*self.choice, self._contact_rows)

    @functools.cached_property
    def derivatives_at_best(self) -> RowCode:
        """See :meth:`Kernels.derivatives_at_best`."""
        return self._kernels.derivatives_at_best(*self.choice, self._contact_rows)
