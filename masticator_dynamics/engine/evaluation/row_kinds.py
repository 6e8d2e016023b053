# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which code computes rows of output, with a goal for efforts or without, and what is in them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.traced.effort_goals import GOALS, check_goals
from masticator_dynamics.engine.traced.kernels import Code, Kernels
from masticator_dynamics.engine.traced.reference import Reference
from masticator_dynamics.engine.traced.row_code import RowCode


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
    goals : mapping of str to float
        Weights of the squares of the goals' norms.
    friction : bool
        Friction of contacts and actuated joints.

    Attributes
    ----------
    choice : (mapping, bool)
        These goals, and friction.
    ways : tuple of bool
        Whether to ask for a proof, see :meth:`Kernels.best`, in the order in which it is tried.

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
        rubs = friction and any(c.friction.coulomb for c in model.description.contacts)
        motors = any(weight and GOALS[name].of_motor for name, weight in goals.items())
        free = len(model.driving) > len(model.independent)
        self.ways = (True, False) if rubs and motors and free else (False,)
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
