# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of results: by machine code, and by other code where machine code hands over.

Input rows are y, y_dot, y_ddot and wrench (..., 3 n_y + 6); with wrenches on links, those on all
bodies follow (``packing.py``, ``frames.py``). Output rows are laid out by ``Model.slices``; for a
goal, more numbers follow (``row_kinds.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, IntArray, as_finite_vector, as_flag
from masticator_dynamics.engine.evaluation.model import Model
from masticator_dynamics.engine.evaluation.row_kinds import GoalKind, RowKind
from masticator_dynamics.engine.traced import kernels
from masticator_dynamics.engine.traced.effort_goals import Goal, goal_weights
from masticator_dynamics.engine.traced.reference import Reference

# Rows by machine code, up to a millisecond each: an error does not wait for all the rows after it.
# On floats, up to tens of milliseconds each, it waits for none.
_TOGETHER = 32


class RowSolver:
    """Computes output rows for one mechanism."""

    def __init__(self, model: Model, machine_code: kernels.Kernels):
        self._model, self._kernels = model, machine_code
        self._freedoms = len(model.independent)
        self._distributions: dict[object, GoalKind] = {}

    @functools.cached_property
    def width(self) -> int:
        """Numbers in a row without a goal."""
        return self._model.slices['tangent'].stop

    @functools.cached_property
    def least_norm(self) -> RowKind:
        """Rows with the frictionless efforts of least norm."""
        return RowKind(self._kernels.everything, self._model.slices)

    def distribution(self, goal: Goal, friction: bool) -> GoalKind:
        """Rows with the efforts for a goal, with or without friction; created once."""
        name, weights = goal_weights(goal)
        key = name, as_flag(friction, 'friction')
        if key not in self._distributions:
            self._distributions[key] = GoalKind(self._model, self._kernels, weights, key[1])
        return self._distributions[key]

    # Motions

    def motions(self, inputs: FloatArray) -> FloatArray:
        """Rows (..., width) of which only the motion is valid, not the efforts."""
        return self._by_code(self._kernels.everything, inputs, self._closed)

    @functools.cached_property
    def attempt(self) -> Reference:
        """Motions (N, width); the first numbers of each report its failure, if any."""
        return Reference(self._kernels.from_home, self._kernels.inputs)

    def at_rest(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Input and output rows for a pose (n_y,) at rest, for inner loops.

        The first number of the output is 0 where the loops close, else the reason.
        """
        inputs = np.zeros(3 * self._freedoms + 6)
        inputs[: self._freedoms] = y
        return inputs, self.attempt(inputs)

    def largest_gap(self, q: npt.ArrayLike) -> Any:
        """See :meth:`Evaluator.largest_gap`."""
        many, first = np.ndim(q) == 2, 3 * self._freedoms + 6
        width = len(self._model.tree_joints)
        positions = [as_finite_vector(row, 'q', width) for row in (np.asarray(q) if many else [q])]
        inputs = np.zeros((len(positions), first + width))
        inputs[:, first:] = positions
        inputs[:, : self._freedoms] = inputs[:, first:][:, self._model.independent_rows]
        inputs = inputs if many else inputs[0]
        if self._kernels.gap.covers(inputs):
            gaps = self._kernels.gap(inputs)[..., 0]
        else:
            gaps = np.array([self._model.structure.largest_gap(row) for row in positions])
        return gaps if many else gaps.item()

    # Efforts

    def rows(self, kind: RowKind, inputs: FloatArray, *, q: FloatArray | None = None) -> FloatArray:
        """Rows (..., width) by machine code; :meth:`fallback` computes those it hands over.

        Parameters
        ----------
        kind, inputs, q
            As for :meth:`fallback`.
        """
        return self._by_code(
            kind.code,
            inputs,
            lambda refused, numbers=None: self.fallback(kind, refused, numbers, q=q),
        )

    def fallback(
        self,
        kind: RowKind,
        inputs: FloatArray,
        numbers: IntArray | None = None,
        *,
        q: FloatArray | None = None,
    ) -> FloatArray:
        """Rows (..., width) by other code and on floats: slower, but fails later.

        Parameters
        ----------
        inputs : array, shape (3 n_y + 6,) or (N, 3 n_y + 6)
            Input rows.
        numbers : array of int, shape (N,), optional
            Which rows of a larger batch these are, for messages.
        q : array, shape (n_q,), optional
            For a single row: tree positions at which the loops are closed. They are kept, on
            whatever branch they are.

        Raises
        ------
        MasticatorError
            For the first row that fails; says why.
        """
        if inputs.ndim == 1:
            return self._checked(self.unchecked(kind, inputs[None], q)[0], inputs, numbers)
        numbers = np.arange(len(inputs)) if numbers is None else numbers
        rows = np.empty((len(inputs), kind.width))
        for first in range(0, len(inputs), _TOGETHER):
            part = slice(first, first + _TOGETHER)
            unchecked = self.unchecked(kind, inputs[part], to_failure=True)
            rows[part] = self._checked(unchecked, inputs[part], numbers[part])
        return rows

    def unchecked(
        self, kind: RowKind, inputs: FloatArray, q: FloatArray | None = None,
        to_failure: bool = False,
    ) -> FloatArray:  # fmt: skip
        """The same for rows (N, ...), whose first numbers report a failure instead of an error.

        Parameters
        ----------
        kind, inputs, q
            As for :meth:`fallback`; always many rows, and all are closed at ``q``, where given.
        to_failure : bool
            Do not look at what follows the first row that fails; it is reported to fail likewise.
        """
        if q is not None:
            return kind.reference.at(inputs, q[None])
        rows = np.empty((len(inputs), kind.width))
        if kind is self.least_norm:
            motions = self.attempt(inputs, to_failure)
        else:  # closed from home only where there is no motion: often only efforts are in doubt
            motions = self._by_code(
                self._kernels.everything, inputs,
                lambda refused, _=None: self.attempt(refused, to_failure),
            )  # fmt: skip
        rows[:, : self.width] = motions
        closed = motions[:, 0] == 0.0
        at = motions[closed][:, self._model.slices['q']]
        rows[closed] = kind.reference.at(inputs[closed], at, to_failure)
        return rows

    def filled_in(
        self, outputs: FloatArray, refused: IntArray, kind: RowKind, inputs: FloatArray,
        whole: Callable[[FloatArray, IntArray], FloatArray],
    ) -> tuple[IntArray, FloatArray] | None:  # fmt: skip
        """Fill rows that machine code handed over into its output.

        Their numbers and whole rows are returned; None where there are none.

        Parameters
        ----------
        outputs : array, shape (N, outputs)
            Output of machine code, see ``traced/kernels.py``.
        refused : array of int
            Numbers of these rows.
        kind : RowKind
            What is in whole rows.
        inputs : array, shape (N, 3 n_y + 6)
            Input rows.
        whole : callable
            Whole rows for input rows and their numbers.
        """
        if len(refused):
            rows = whole(inputs[refused], refused)
            efforts = kernels.EFFORT + self._kernels.actuators
            report = rows[:, kind.slices['report']]
            outputs[refused, kernels.CLOSURE : kernels.EFFORT] = report[:, 3:5]
            outputs[refused, kernels.EFFORT : efforts] = rows[:, kind.slices['effort']]
            outputs[refused, efforts:] = rows[:, kind.slices['multipliers']]
            return refused, rows
        return None

    def bodies(self, inputs: FloatArray, q: FloatArray) -> FloatArray:
        """What it takes to carry each body (n_q, 18), for one row at tree positions (n_q,)."""
        (outputs,) = Reference(self._kernels.bodies).at(inputs[None], q[None])
        return outputs[3:].reshape(-1, 18)

    # Helpers

    @staticmethod
    def _by_code(
        code: kernels.Code, inputs: FloatArray, fallback: Callable[..., FloatArray]
    ) -> FloatArray:
        """Rows by machine code; `fallback` computes those it hands over, with their numbers."""
        if not code.covers(inputs):
            return fallback(inputs)
        outputs = code(inputs)
        if inputs.ndim == 1:
            return outputs[1:] if outputs[0] > 0.0 else fallback(inputs)
        handed_over = np.flatnonzero(~(outputs[:, 0] > 0.0))
        if len(handed_over):
            outputs[handed_over, 1:] = fallback(inputs[handed_over], handed_over)
        return outputs[:, 1:]

    def _closed(self, inputs: FloatArray, numbers: IntArray | None = None) -> FloatArray:
        """Motions from home; raises where one fails."""
        rows = self.attempt(inputs.reshape(-1, inputs.shape[-1]))
        return self._checked(rows.reshape(*inputs.shape[:-1], self.width), inputs, numbers)

    def _checked(
        self, rows: FloatArray, inputs: FloatArray, numbers: IntArray | None
    ) -> FloatArray:
        """The rows, if none has failed; raises for the first that has, with its number."""
        if rows[..., 0].any():
            from masticator_dynamics.engine.evaluation.failures import failure, in_row

            if numbers is None:
                raise failure(self._model, rows, inputs)
            first = np.flatnonzero(rows[:, 0])[0]
            error = failure(self._model, rows[first : first + 1], inputs[first])
            raise in_row(error, int(numbers[first]), True)
        return rows
