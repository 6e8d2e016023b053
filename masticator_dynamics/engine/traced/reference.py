# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that machine code hands over: the same source again, however long it takes.

First other machine code: loops closed from home in as many steps as it takes, or at the positions
found, where the branch is certain. Then, for what remains, floats: slower, with other
factorisations. What fails there is refused.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.status import NOT_FINITE, OVERFLOW, RefusedError
from masticator_dynamics.engine.traced.row_code import RowCode


class Reference:
    """Any outputs of an evaluation, row by row.

    Parameters
    ----------
    code : RowCode
        Gives whether the row is valid, then status, block and amount of a failure
        (``engine/status.py``), then other outputs.
    inputs : int, optional
        How many numbers of an input row matter; by default all.
    """

    def __init__(self, code: RowCode, inputs: int | None = None):
        self._code, self._inputs = code, inputs

    def __call__(self, rows: FloatArray, to_failure: bool = False) -> FloatArray:
        """Output rows, or row, without the first number; all of the input must be finite.

        ``to_failure``: what follows a row that fails on floats is not looked at and fails likewise.
        """
        if rows.ndim == 1:
            return self._row(rows)
        inputs, finite = rows[:, : self._inputs], np.isfinite(rows)
        if self._code.covers(inputs):
            outputs = self._code.one_by_one(inputs)
        else:
            outputs = np.zeros((len(rows), self._code.outputs))
        for i in np.flatnonzero(~((outputs[:, 0] > 0.0) & finite.all(axis=1))):
            if finite[i].all():
                self._on_floats(inputs[i], outputs[i])
            else:
                wrong = np.argmin(finite[i])
                outputs[i, 1:4] = NOT_FINITE, wrong, rows[i, wrong]
            if to_failure and outputs[i, 1]:
                outputs[i + 1 :] = outputs[i]
                break
        return outputs[:, 1:]

    def _row(self, row: FloatArray) -> FloatArray:
        """One row, which inner loops ask for: mostly it needs nothing but the code."""
        inputs = row[: self._inputs]
        if self._code.covers(inputs) and np.isfinite(row).all():
            output = self._code(inputs)
            if output.item(0) > 0.0:
                return output[1:]
        return self(row[None])[0]

    def _on_floats(self, inputs: FloatArray, outputs: FloatArray) -> None:
        try:
            outputs[:] = self._code.on_floats(inputs)
            if np.isfinite(outputs).all():
                return
            failed = RefusedError(OVERFLOW)
        except RefusedError as error:
            failed = error
        except (OverflowError, ValueError):  # e.g. from the sine of infinity
            failed = RefusedError(OVERFLOW)
        outputs[1:4] = failed.status, failed.block, failed.amount

    def at(self, inputs: FloatArray, q: FloatArray, to_failure: bool = False) -> FloatArray:
        """The same for input rows at tree positions (N, n_q), which the code must expect."""
        return self(np.hstack([inputs, q]), to_failure)
