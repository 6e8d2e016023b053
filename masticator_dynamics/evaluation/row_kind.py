# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of rows: which code computes them, and where their numbers are."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import consecutive
from masticator_dynamics.evaluation.goals import GOALS, check_goals
from masticator_dynamics.evaluation.model import Model
from masticator_dynamics.traced.kernels import Code, Kernels
from masticator_dynamics.traced.reference import Reference

if TYPE_CHECKING:
    from masticator_dynamics.traced.load_tables import Tables


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
    weights : array, shape (4,)
        In the order of ``GOALS``.

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
        self.weights = np.array([goals.get(goal, 0.0) for goal in GOALS])
        self._model, self._kernels, self._choice = model, kernels, (goals, friction)
        actuated, contacts = len(model.actuated), len(model.contacts)
        lengths = {
            'optimality': 1, 'friction': actuated, 'contact_friction': 3 * contacts,
            'bearing_force': 3 * actuated, 'shortfall': len(model.independent),
        }  # fmt: skip
        self.slices |= consecutive(lengths, self.slices['tangent'].stop)
        assert self.slices['shortfall'].stop == self.width

    @functools.cached_property
    def tables(self) -> Tables:
        """What each load case does."""
        from masticator_dynamics.traced.load_tables import Tables

        free = len(self._model.driving) - len(self._model.independent)
        return Tables(self._kernels, self._model.description, *self._choice, free)
