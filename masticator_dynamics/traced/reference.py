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
from masticator_dynamics.traced.kernels import Code, Kernels, Outputs


class Careful:
    """Any outputs of an evaluation, row by row.

    Parameters
    ----------
    code : Code
        Gives whether the row is valid, then status, block and amount of a failure
        (``engine/status.py``), then other outputs.
    asked : int, optional
        How many numbers of a row matter; by default all.
    """

    def __init__(self, code: Code, asked: int | None = None):
        self._code, self._asked, self.told = code, asked, code.told

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Rows (N, told - 1) for inputs (N, asked), all of which must be finite."""
        asked, finite = rows[:, : self._asked], np.isfinite(rows)
        covered = self._code.covers(asked)
        told = self._code.one_by_one(asked) if covered else np.zeros((len(rows), self.told))
        for i in np.flatnonzero((told[:, 0] != 1.0) | ~finite.all(axis=1)):
            if finite[i].all():
                self._on_floats(asked[i], told[i])
            else:
                wrong = np.argmin(finite[i])
                told[i, 1:4] = NOT_FINITE, wrong, rows[i, wrong]
        return told[:, 1:]

    def _on_floats(self, asked: FloatArray, told: FloatArray) -> None:
        try:
            told[:] = self._code.on_floats(asked)
            if np.isfinite(told).all():
                return
            failed = RefusedError(OVERFLOW)
        except RefusedError as error:
            failed = error
        except (OverflowError, ValueError):  # e.g. from the sine of infinity
            failed = RefusedError(OVERFLOW)
        told[1:4] = failed.status, failed.block, failed.amount


class Reference(Careful):
    """The same for loops that are already closed.

    Parameters
    ----------
    outputs : callable
        Gives the ``told`` outputs, as in :class:`Careful`.
    """

    def __init__(self, kernels: Kernels, kind: str, outputs: Outputs, told: int):
        super().__init__(Code(kernels.at_positions, kind, outputs, told))

    def at(self, given: FloatArray, q: FloatArray) -> FloatArray:
        """Rows (N, told - 1) for inputs (N, asked) at tree positions (N, n_q)."""
        return self(np.hstack([given, q]))
