# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts that keep limits: the best that do, else those for the nearest motion.

Machine code finds them (``traced/limited_efforts.py``); the rows that it hands over are computed on
floats, and refused, one by one.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.evaluation.failures import in_row, pose_text
from masticator_dynamics.engine.evaluation.packing import followed
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator
from masticator_dynamics.engine.evaluation.row_kinds import GoalKind
from masticator_dynamics.engine.status import RefusedError
from masticator_dynamics.errors import LimitError, MasticatorError
from masticator_dynamics.limits.load_limits import LoadLimits, load_ranges

TOLERANCE = 1e-9  # of a limit
NEAR = 0.5 * TOLERANCE  # by so much the efforts of the nearest motion may exceed limits


class WithinLimits:
    """Rows of the best efforts of a mechanism within limits.

    Parameters
    ----------
    kind : GoalKind
        Its best efforts without limits.
    limits : LoadLimits
        What to keep.

    Attributes
    ----------
    codes : list of (Code, array)
        Machine code for efforts, and numbers that follow its inputs, in the order in which they
        are tried: those that keep the limits by themselves; the best within them, those of the
        nearest motion, last.
    """

    def __init__(self, mechanism: Evaluator, kind: GoalKind, limits: LoadLimits):
        self._mechanism, self.kind, self.limits = mechanism, kind, limits
        (finite, packed), choice, of = limits.packed, kind.choice, mechanism.kernels
        kept, best, near = (np.append(packed, slack) for slack in (TOLERANCE, 0.0, NEAR))
        self.codes = [
            *((of.within(*choice, proven, finite), kept) for proven in kind.ways),
            (of.limited(*choice, finite, whole=False), best),
            (of.limited(*choice, finite, 'nearest', whole=False), near),
        ]
        self._searches = {
            how: (of.limited(*choice, finite, how), near if how == 'nearest' else best)
            for how in ('', 'nearest', 'excess', 'thorough')
        }

    def rows(
        self, nearest: bool, inputs: FloatArray, numbers: IntArray | None = None,
        q: FloatArray | None = None,
    ) -> FloatArray:  # fmt: skip
        """Whole rows (..., width) within the limits.

        Parameters
        ----------
        nearest : bool
            Where limits cannot be met, change the motion as little as possible instead of raising.
        inputs : array, shape (..., 3 n_y + 6) or longer
            Input rows.
        numbers : array of int, shape (N,), optional
            Which rows of a larger batch these are, for messages.
        q : array, shape (n_q,), optional
            Of a single row: where the loops are closed.

        Raises
        ------
        LimitError
            Without ``nearest``, for the first row whose limits cannot be met; names those in the
            way, and the least by which they are exceeded.
        """
        many = inputs.ndim > 1
        table = inputs if many else inputs[None]
        rows = np.empty((len(table), self.kind.width))
        outputs = self._by_code('', table, q)
        rows[:] = outputs[:, 1:]
        if nearest and (late := np.flatnonzero(outputs[:, 0] == -1.0)).size:
            outputs[late] = self._by_code('nearest', table[late], q)
            rows[late] = outputs[late, 1:]
        for i in np.flatnonzero(outputs[:, 0] != 1.0):
            try:
                rows[i] = self._row(table[i], outputs[i, 0] == 0.0, nearest, q)
            except MasticatorError as error:
                number = int(i if numbers is None else numbers[i])
                raise in_row(error, number if many else None, many) from None
        return rows if many else rows[0]

    def _by_code(self, how: str, rows: FloatArray, q: FloatArray | None) -> FloatArray:
        """Outputs (N, ...), the first 1 where machine code is certain; zeros at positions."""
        code, numbers = self._searches[how]
        inputs = followed(rows, numbers)
        if q is None and code.covers(inputs):
            return code.one_by_one(inputs)
        return np.zeros((len(rows), code.outputs))

    def _row(
        self, inputs: FloatArray, undecided: bool, nearest: bool, q: FloatArray | None
    ) -> FloatArray:
        """A row that machine code handed over undecided, or one without an answer.

        The first are tried again where loops are closed, in as many steps as it takes.
        """
        solver = self._mechanism.solver
        if undecided:
            closed = solver.motions(inputs)[self._mechanism.slices['q']] if q is None else q
            outputs = self._outputs_at('', inputs, closed)
            if outputs[0] == 1.0:
                return outputs[1:]
        whole = (solver.rows if q is None else solver.fallback)(self.kind, inputs, q=q)
        effort = Effort(self._mechanism, inputs.copy(), whole.copy(), self.kind.slices)
        ranges = list(load_ranges(self._mechanism, effort, self.limits))
        if not any((group.signed_excess() > TOLERANCE).any() for group in ranges):
            return whole
        least = self._at('excess', inputs, effort.q)
        excess = np.nan if least is None else float(least[self.kind.slices['optimality']][0])
        if not excess > TOLERANCE:  # it was not found, or another search may end within limits
            row = self._on_floats('thorough', inputs, effort.q)
            if row is not None:
                return row
        if nearest and (row := self._on_floats('nearest', inputs, effort.q)) is not None:
            return row
        raise LimitError(self._obstacle(inputs, least, excess))

    def _at(self, how: str, row: FloatArray, q: FloatArray) -> FloatArray | None:
        """A row at tree positions, by machine code or on floats; None where there is no answer."""
        outputs = self._outputs_at(how, row, q)
        return outputs[1:] if outputs[0] == 1.0 else self._on_floats(how, row, q)

    def _outputs_at(self, how: str, row: FloatArray, q: FloatArray) -> FloatArray:
        """Outputs of machine code at tree positions, the first 1 where it is certain."""
        code, numbers = self._searches[how]
        inputs = np.concatenate([row, q, numbers])
        outputs: FloatArray = code.at_positions.where_covered(inputs)[0]
        return outputs

    def _on_floats(self, how: str, row: FloatArray, q: FloatArray) -> FloatArray | None:
        code, numbers = self._searches[how]
        try:
            return code.at_positions.on_floats(np.concatenate([row, q, numbers]))[1:]
        except RefusedError:
            return None

    def _obstacle(self, inputs: FloatArray, row: FloatArray | None, excess: float) -> str:
        """Which limits are in the way of the motion, and the least by which they are exceeded."""
        pose = pose_text(self._mechanism, inputs)
        if row is None:
            return f'no efforts keep the limits at {pose}'
        effort = Effort(self._mechanism, inputs.copy(), row, self.kind.slices)
        beyond = [
            str(group.violation(int(i)))
            for group in load_ranges(self._mechanism, effort, self.limits)
            for i in np.flatnonzero(group.signed_excess() > 0.999 * excess)
        ]
        return (
            f'no efforts keep the limits at {pose}; at the least, {excess:.3g} of a limit too '
            f'much: {"; ".join(beyond)}'
        )
