# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that machine code hands over: the same source again, however long it takes.

First machine code of another kind: loops closed from home in as many steps as it takes, or at the
positions found, where it need not doubt the branch. Then, for what that leaves, floats: slower,
with other factors. What fails there is refused.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.status import NOT_FINITE, OVERFLOW, RefusedError
from masticator_dynamics.traced.kernels import Code, Kernels, Outputs


class Careful:
    """Whatever is wanted of an evaluation, row by row.

    Parameters
    ----------
    code : Code
        Tells whether it counts, then status, block and amount of a failure
        (``engine/status.py``), then others.
    asked : int, optional
        How many numbers of a row matter; all unless told.
    """

    def __init__(self, code: Code, asked: int | None = None):
        self._code, self._asked, self.told = code, asked, code.told

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Rows (N, told - 1) for what is asked (N, asked), all of which must be finite."""
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
        except (OverflowError, ValueError):  # as of the sine of what is not finite
            failed = RefusedError(OVERFLOW)
        told[1:4] = failed.status, failed.block, failed.amount


class Reference(Careful):
    """The same for loops that have been closed.

    Parameters
    ----------
    outputs : callable
        What is wanted, ``told`` numbers, as of :class:`Careful`.
    """

    def __init__(self, kernels: Kernels, kind: str, outputs: Outputs, told: int):
        super().__init__(Code(kernels.at_positions, kind, outputs, told))

    def at(self, given: FloatArray, q: FloatArray) -> FloatArray:
        """Rows (N, told - 1) for what is asked (N, asked) at tree positions (N, n_q)."""
        return self(np.hstack([given, q]))
