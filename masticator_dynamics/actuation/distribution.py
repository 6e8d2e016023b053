# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A goal of one mechanism, with friction or without: how rows are computed, and what is in them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.actuation.goals import GOALS, check_goals
from masticator_dynamics.model import Model
from masticator_dynamics.traced.kernels import Kernels
from masticator_dynamics.traced.reference import Reference

if TYPE_CHECKING:
    from masticator_dynamics.traced.tables import Tables


class Distribution:
    """The best efforts for a goal.

    Parameters
    ----------
    goals : mapping of str to float
        Weights of the squares of the goals' norms.

    Attributes
    ----------
    code : Code
        What is told first by machine code.
    reference : Reference
        Tells the same of rows that it hands over.
    width : int
        Of a row of output.
    slices : dict of str to slice
        Of a row of output, those of a row without a goal included.
    weights : array, shape (4,)
        In the order of ``GOALS``.

    Raises
    ------
    InputError, ActuationError
        As :func:`check_goals`.
    """

    def __init__(
        self,
        model: Model,
        kernels: Kernels,
        goals: Mapping[str, float],
        friction: bool,
    ):
        description, driving = model.description, len(model.driving)
        check_goals(description, goals, driving, friction)
        self.code = kernels.distribution(goals, friction)
        self.weights = np.array([goals.get(goal, 0.0) for goal in GOALS])
        self._model, self._kernels, self._asked = model, kernels, (goals, friction)
        code = self.code
        self.reference = Reference(kernels, code.kind, code.outputs, code.told)
        actuated, contacts = len(model.actuated), len(model.contacts)
        lengths = {
            'optimality': 1, 'friction': actuated, 'contact_friction': 3 * contacts,
            'bearing_force': 3 * actuated, 'shortfall': len(model.independent),
        }  # fmt: skip
        self.slices = dict(model.slices)
        self.width = self.slices['tangent'].stop
        for name, length in lengths.items():
            self.slices[name] = slice(self.width, self.width + length)
            self.width += length

    @functools.cached_property
    def tables(self) -> Tables:
        """What each cause of efforts does."""
        from masticator_dynamics.traced.tables import Tables

        free = len(self._model.driving) - len(self._model.independent)
        return Tables(self._kernels, self._model.description, *self._asked, free)
