# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that machine code hands over: the same source for loops that have been closed otherwise.

First machine code again, which at given positions need not doubt the branch; then, for what that
leaves, floats: slower, with other factors and as many steps as it takes. What fails there is
refused.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.status import NOT_FINITE, OVERFLOW, RefusedError
from masticator_dynamics.traced.kernels import Code, Kernels, Outputs


class Reference:
    """Whatever is wanted of an evaluation, row by row.

    Parameters
    ----------
    outputs : callable
        What is wanted, ``told`` numbers: whether it counts, then status, block and amount of a
        failure (``engine/status.py``), then others.
    """

    def __init__(self, kernels: Kernels, kind: str, outputs: Outputs, told: int):
        self._outputs, self._told = outputs, told
        self._asked = kernels.asked
        self._kernels = kernels.at_positions
        self._code = Code(self._kernels, kind, outputs, told)

    def __call__(self, given: FloatArray, q: FloatArray) -> FloatArray:
        """Rows (N, told - 1) for what is asked (N, asked) at tree positions (N, n_q)."""
        asked = np.hstack([given, q])
        told = np.zeros((len(asked), self._told))
        loaded = given.shape[-1] > self._asked
        kernels = self._kernels.loaded if loaded else self._kernels
        covered = self._code.covers(asked)
        for row, out in zip(asked, told, strict=True):
            wrong = np.flatnonzero(~np.isfinite(row))
            if len(wrong):
                out[1:4] = NOT_FINITE, wrong[0], row[wrong[0]]
                continue
            if covered:
                out[:] = self._code(row)
            if out[0] != 1.0:
                self._on_floats(kernels, row, out)
        return told[:, 1:]

    def _on_floats(self, kernels: Kernels, asked: FloatArray, told: FloatArray) -> None:
        try:
            told[:] = kernels.on_floats(asked, self._outputs)
            if np.isfinite(told).all():
                return
            failed = RefusedError(OVERFLOW)
        except RefusedError as error:
            failed = error
        except (OverflowError, ValueError):  # as of the sine of what is not finite
            failed = RefusedError(OVERFLOW)
        told[1:4] = failed.status, failed.block, failed.amount
