# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts of which machine code has computed what is commonly used, and the rest when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray, consecutive
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator, read_only
from masticator_dynamics.engine.traced import kernels

if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.row_kinds import RowKind

# What `Kernels.motion` returns, in this order.
_OF_MOTION = ('q', 'v', 'a', 'tangent')


class QuickEffort(Effort):
    """An effort whose commonly used parts machine code computed; the rest follows on demand.

    For a single call, generated code fills in the slots, see ``traced/python_entry.py``.

    Parameters
    ----------
    inputs, outputs : array, shape (..., inputs) and (..., outputs)
        Input and output of the machine code, see ``traced/kernels.py``.
    handed_over : (array of int, array), optional
        Rows of a batch that machine code handed over, and the whole rows computed for them.
    """

    __slots__ = ('_left', '_motions', '_numbers', '_whole', 'actuated')
    VIEW: ClassVar[str] = 'actuated'

    kind: ClassVar[RowKind | None] = None  # of whole rows; least norm unless set
    within: ClassVar[Any] = None  # the limits that the efforts keep, if any
    nearest: ClassVar[bool] = False  # whether the motion may give way to them
    actuated: FloatArray
    _numbers: bytes | tuple[FloatArray, FloatArray]  # input and output
    _whole: FloatArray
    _left: tuple[IntArray, FloatArray] | None
    _motions: FloatArray  # of a batch: positions, velocities, accelerations, tangent

    def __init__(
        self,
        mechanism: Evaluator,
        inputs: FloatArray,
        outputs: FloatArray,
        handed_over: tuple[IntArray, FloatArray] | None = None,
    ):
        self.mechanism, self._left = mechanism, handed_over
        self._numbers = read_only(inputs), read_only(outputs)
        efforts = kernels.EFFORT + mechanism.kernels.actuators
        self.actuated = outputs[..., kernels.EFFORT : efforts]

    @property
    def _kind(self) -> RowKind:
        return self.kind or self.mechanism.solver.least_norm

    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """Input and output of the machine code."""
        if isinstance(self._numbers, tuple):
            return self._numbers
        numbers, inputs = np.frombuffer(self._numbers), self.mechanism.kernels.inputs
        return numbers[:inputs], numbers[inputs:]

    @property
    def _given(self) -> FloatArray:  # type: ignore[override]
        return self._parts()[0]

    @property
    def _slices(self) -> dict[str, slice]:  # type: ignore[override]
        return self._kind.slices

    @property
    def _rows(self) -> FloatArray:  # type: ignore[override]
        try:
            return self._whole
        except AttributeError:
            inputs, outputs = self._parts()
            whole = (
                self.within.rows(self.nearest, inputs)
                if self.within
                else self.mechanism.solver.rows(self._kind, inputs)
            )
        if handed_over := getattr(self, '_left', None):
            whole[handed_over[0]] = handed_over[1]
        # The two codes round differently: keep the numbers that were already returned.
        whole[..., 3:5] = outputs[..., kernels.CLOSURE : kernels.EFFORT]
        forces = slice(self._slices['effort'].start, self._slices['multipliers'].stop)
        whole[..., forces] = outputs[..., kernels.EFFORT :]
        self._whole = read_only(whole)
        return self._whole

    def _field(self, name: str) -> FloatArray:
        if name == 'multipliers':
            first = kernels.EFFORT + self.mechanism.kernels.actuators
            return self._parts()[1][..., first:]
        if name in _OF_MOTION and self._given.ndim > 1:
            whole = ((part, self._slices[part]) for part in _OF_MOTION)
            places = consecutive({part: where.stop - where.start for part, where in whole})
            return self._batch_motions()[:, places[name]]
        return super()._field(name)

    def _batch_motions(self) -> FloatArray:
        """Motions of a batch, computed when first asked for."""
        try:
            return self._motions
        except AttributeError:
            code = self.mechanism.kernels.motion
        motions = code(self._given[:, : self.mechanism.kernels.inputs])
        if self._left is not None:
            rows, answers = self._left
            of_answers = [answers[:, self._slices[name]] for name in _OF_MOTION]
            motions[rows] = np.concatenate(of_answers, axis=1)
        self._motions = read_only(motions)
        return self._motions

    @property
    def closure_residual(self) -> FloatArray:
        """Largest gap of a loop or contact (...), m."""
        return self._parts()[1][..., kernels.CLOSURE]

    @property
    def balance_residual(self) -> FloatArray:
        """Largest generalised force left unbalanced (...), N or N m."""
        return self._parts()[1][..., kernels.BALANCE]
