# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts of a mechanism with their derivatives, for planners, estimators and optimal control.

First order and exact: the recorded arithmetic is differentiated (``traced/derivatives.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_flag
from masticator_dynamics.engine.evaluation.failures import in_row, pose_text
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator
from masticator_dynamics.engine.evaluation.row_kinds import GoalKind, RowKind
from masticator_dynamics.engine.evaluation.shown import arrays_text
from masticator_dynamics.engine.traced import kernels
from masticator_dynamics.engine.traced.effort_goals import Goal
from masticator_dynamics.engine.traced.numbers import TooLargeError
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.errors import InputError, SingularityError


def _part(table: str, part: int) -> Any:
    return property(lambda self: getattr(self, table)[part])


class EffortDerivatives:
    """Efforts and contact multipliers at one state, or at many (a leading axis N).

    Derivatives are total ones along the closed loops: dependent joints, and their velocities and
    accelerations, follow the independent ones.

    For a single call, generated code fills in the slots, see ``traced/python_entry.py``.

    Parameters
    ----------
    inputs, outputs : array, shape (..., inputs) and (..., outputs)
        Input and output of the machine code, see ``traced/kernels.py``.

    Attributes
    ----------
    actuated : array, shape (..., n_u)
        Efforts, N m or N, as :attr:`Effort.actuated`.
    by_y, by_y_dot, by_y_ddot : array, shape (..., n_u, n_y)
        Derivatives of the efforts by independent positions (per rad or m) and by the time
        derivatives of these.
    by_wrench : array, shape (..., n_u, 6)
        Derivatives by force and torque on the platform, base axes.
    contact : array, shape (..., n_contacts)
        Multipliers, N, as :attr:`Effort.contact`.
    contact_by_y, contact_by_y_dot, contact_by_y_ddot, contact_by_wrench : array
        Their derivatives, shaped likewise.
    """

    __slots__ = ('_numbers', 'actuated', 'mechanism')

    VIEW: ClassVar[str] = 'actuated'
    before: ClassVar[int] = 1  # outputs before the efforts
    with_contacts: ClassVar[bool] = False  # whether those of the contacts follow

    def __init__(self, mechanism: Evaluator, inputs: FloatArray, outputs: FloatArray):
        self.mechanism, self._numbers = mechanism, (inputs, outputs)
        self.actuated = outputs[..., self.before : self.before + len(mechanism.actuated)]

    def __repr__(self) -> str:
        """Class, names and shapes."""
        return arrays_text(self, ('actuated', 'by_y', 'by_y_dot', 'by_y_ddot', 'by_wrench'))

    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """Input and output of the machine code."""
        if isinstance(self._numbers, tuple):
            return self._numbers
        numbers, inputs = np.frombuffer(self._numbers), self.mechanism.kernels.inputs
        return numbers[:inputs], numbers[inputs:]

    def _split(self, table: FloatArray, count: int) -> tuple[FloatArray, ...]:
        """Values and derivatives by each kind of input, from rows of values and derivatives."""
        n, inputs = len(self.mechanism.independent), self.mechanism.kernels.inputs
        slopes = table[..., count : count * (1 + inputs)]
        slopes = slopes.reshape(*table.shape[:-1], count, inputs)
        parts = [slopes[..., a:b] for a, b in ((0, n), (n, 2 * n), (2 * n, 3 * n), (3 * n, None))]
        return table[..., :count], *parts

    @property
    def _of_efforts(self) -> tuple[FloatArray, ...]:
        return self._split(self._parts()[1][..., self.before :], len(self.mechanism.actuated))

    @property
    def _of_contacts(self) -> tuple[FloatArray, ...]:
        mechanism, (inputs, outputs) = self.mechanism, self._parts()
        if self.with_contacts:
            first = self.before + len(mechanism.actuated) * (1 + mechanism.kernels.inputs)
            table = outputs[..., first:]
        else:
            code = mechanism.kernels.contact_derivatives(mechanism.contact_rows.tolist())
            table = _derived(mechanism, code, inputs)[..., 1:]
        return self._split(table, len(mechanism.contacts))

    by_y, by_y_dot, by_y_ddot, by_wrench = (_part('_of_efforts', i) for i in range(1, 5))
    contact, contact_by_y, contact_by_y_dot, contact_by_y_ddot, contact_by_wrench = (
        _part('_of_contacts', i) for i in range(5)
    )


def derivatives_kind(
    mechanism: Evaluator, goal: Goal, friction: bool
) -> tuple[RowCode, type[EffortDerivatives]]:
    """Machine code of efforts with derivatives, and the class of its results."""
    if goal == 'torque' and not as_flag(friction, 'friction'):
        return mechanism.kernels.derivatives, EffortDerivatives
    before = 1 + len(mechanism.contacts) + len(mechanism.tree_joints)
    parts = {'__slots__': (), 'before': before, 'with_contacts': True}
    code = mechanism.solver.distribution(goal, friction).derivatives
    return code, type('EffortDerivatives', (EffortDerivatives,), parts)


def effort_derivatives(
    mechanism: Evaluator, inputs: FloatArray, goal: Goal, friction: bool
) -> EffortDerivatives:
    """Efforts with their derivatives for input rows (..., 3 n_y + 6).

    Raises
    ------
    SingularityError
        Where the efforts have no derivative, or one with hardly a digit.
    """
    code, result = derivatives_kind(mechanism, goal, friction)
    if result is EffortDerivatives:
        outputs = _derived(mechanism, mechanism.kernels.derivatives, inputs)
    else:
        outputs = _of_best(mechanism, code, inputs, mechanism.solver.distribution(goal, friction))
    return result(mechanism, inputs, outputs)


def _derived(mechanism: Evaluator, code: kernels.Code, inputs: FloatArray) -> FloatArray:
    """Outputs for all rows: by machine code, or at loops closed from home."""

    def at_closed(rows: FloatArray, closed: FloatArray) -> FloatArray:
        return outputs_of(code.at_positions, np.hstack([rows, closed[:, mechanism.slices['q']]]))

    outputs = _with_handed_over(mechanism, code, inputs, mechanism.solver.least_norm, at_closed)
    check_valid(mechanism, inputs, outputs)
    return outputs.reshape(*inputs.shape[:-1], outputs.shape[1])


def _with_handed_over(
    mechanism: Evaluator, code: RowCode, inputs: FloatArray, kind: RowKind,
    slower: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:  # fmt: skip
    """Outputs (N, outputs) by machine code; of rows that it hands over, from their whole rows."""
    outputs = code.where_covered(inputs)
    refused = np.flatnonzero(outputs[:, 0] != 1.0)
    if len(refused):
        many, rows = inputs.ndim > 1, np.atleast_2d(inputs)[refused]
        whole = mechanism.solver.fallback(kind, rows if many else inputs, refused if many else None)
        outputs[refused] = slower(rows, np.atleast_2d(whole))
    return outputs


def outputs_of(code: RowCode, inputs: FloatArray) -> FloatArray:
    """By machine code, or in numpy where there is too much of it."""
    if code.available:
        return code(inputs)
    try:
        return code.in_numpy(inputs)
    except TooLargeError as error:
        raise InputError(f'too large to be differentiated: {error}') from None


def check_valid(
    mechanism: Evaluator, inputs: FloatArray, outputs: FloatArray, what: str = 'derivatives'
) -> None:
    """Refuse rows too near a singularity, for what; inputs (..., n) begin with the pose."""
    wrong = np.flatnonzero((outputs[:, 0] != 1.0) | ~np.isfinite(outputs).all(axis=1))
    if len(wrong):
        pose = pose_text(mechanism, np.atleast_2d(inputs)[wrong[0]])
        error = SingularityError(f'too near a singularity for {what} at {pose}')
        raise in_row(error, int(wrong[0]), inputs.ndim > 1)


# The best efforts for a goal


def _of_best(mechanism: Evaluator, code: RowCode, inputs: FloatArray, kind: GoalKind) -> FloatArray:
    """Outputs of the code of the best efforts for all rows."""

    def at_best(rows: FloatArray, whole: FloatArray) -> FloatArray:
        effort = Effort(mechanism, rows, whole, kind.slices)
        parts = rows, effort.q, effort.actuated - effort.friction, effort.contact
        return outputs_of(kind.derivatives_at_best, np.concatenate(parts, axis=-1))

    outputs = _with_handed_over(mechanism, code, inputs, kind, at_best)
    names = [*mechanism.contacts, *mechanism.tree_joints]
    first = 1 + len(names)
    check_smooth(mechanism, inputs, outputs[:, 1:first], names)
    check_valid(mechanism, inputs, outputs)
    return outputs.reshape(*inputs.shape[:-1], outputs.shape[1])


def check_smooth(
    mechanism: Evaluator, inputs: FloatArray, margins: FloatArray, names: Sequence[str]
) -> None:
    """Refuse rows with friction that has no derivative."""
    if (margins > 0.0).all():
        return
    row, place = np.argwhere(~(margins > 0.0))[0]
    pose = pose_text(mechanism, np.atleast_2d(inputs)[row])
    error = SingularityError(
        f'friction has no derivative at {pose}: {names[place]} is at rest, or nothing presses there'
    )
    raise in_row(error, int(row), inputs.ndim > 1)
