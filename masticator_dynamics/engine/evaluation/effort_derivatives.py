# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts of a mechanism with their derivatives, for planners, estimators and optimal control.

First order and exact: the recorded arithmetic is differentiated (``traced/derivatives.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_flag, consecutive
from masticator_dynamics.engine.evaluation.accelerations import JUMP
from masticator_dynamics.engine.evaluation.failures import in_row, pose_text
from masticator_dynamics.engine.evaluation.results import Effort, Evaluator
from masticator_dynamics.engine.evaluation.row_kinds import GoalKind, RowKind
from masticator_dynamics.engine.traced import kernels
from masticator_dynamics.engine.traced.effort_distribution import ON_A_FACE
from masticator_dynamics.engine.traced.effort_goals import Goal
from masticator_dynamics.engine.traced.numbers import TooLargeError
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.simulation import derivatives_code
from masticator_dynamics.engine.traced.simulation_data import Setting
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
        return _shapes(self, ('actuated', 'by_y', 'by_y_dot', 'by_y_ddot', 'by_wrench'))

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


class AccelerationDerivatives:
    """Accelerations at one state, or at many (a leading axis N), with their derivatives.

    These are along the closed loops. Generated code makes those at one state.

    Parameters
    ----------
    outputs : array, shape (..., n_y + n_y * (2 * n_y + n_u + 6))

    Attributes
    ----------
    y_ddot : array, shape (..., n_y)
        As :meth:`Mechanism.forward_dynamics`.
    by_y, by_y_dot : array, shape (..., n_y, n_y)
    by_effort : array, shape (..., n_y, n_u)
    by_wrench : array, shape (..., n_y, 6)
        Their derivatives.
    """

    __slots__ = ('_numbers', 'mechanism', 'y_ddot')
    VIEW: ClassVar[str] = 'y_ddot'

    def __init__(self, mechanism: Evaluator, outputs: FloatArray):
        self.mechanism, self._numbers = mechanism, outputs
        self.y_ddot = outputs[..., : len(mechanism.independent)]

    def __repr__(self) -> str:
        """Names and shapes."""
        return _shapes(self, ('y_ddot', 'by_y', 'by_y_dot', 'by_effort', 'by_wrench'))

    def _by(self, name: str) -> FloatArray:
        outputs = self._numbers
        if isinstance(outputs, bytes):
            outputs = np.frombuffer(outputs)[1:]
        n = len(self.mechanism.independent)
        widths = {'y': n, 'y_dot': n, 'effort': len(self.mechanism.actuated), 'wrench': 6}
        places = consecutive({part: n * width for part, width in widths.items()}, n)
        return outputs[..., places[name]].reshape(*outputs.shape[:-1], n, widths[name])

    by_y, by_y_dot, by_effort, by_wrench = (
        property(functools.partial(lambda name, self: self._by(name), name))
        for name in ('y', 'y_dot', 'effort', 'wrench')
    )


def _shapes(derivatives: object, names: Sequence[str]) -> str:
    shapes = ', '.join(f'{name} {getattr(derivatives, name).shape}' for name in names)
    return f'{type(derivatives).__name__}: {shapes}'


def answers_for_accelerations(mechanism: Evaluator, friction: bool) -> list[Answer]:
    """Machine code for one state; see :meth:`Mechanism.forward_dynamics_derivatives`."""
    law = JUMP.transitions if as_flag(friction, 'friction') else None
    code = derivatives_code(mechanism.kernels, Setting(True, law) if law else Setting())
    return [Answer(code, 1, (len(mechanism.independent),), result=AccelerationDerivatives)]


def acceleration_derivatives(
    mechanism: Evaluator, state: FloatArray, efforts: FloatArray, friction: FloatArray
) -> AccelerationDerivatives:
    """From input rows (..., 3 n_y + 6) with the accelerations that efforts (..., n_u) cause.

    Friction: amounts (..., 0 or n_u + n_contacts).

    Raises
    ------
    SingularityError
        Too near a singularity, or where friction has no derivative.
    """
    n, rubs = len(mechanism.independent), bool(friction.shape[-1])
    q = mechanism.solver.motions(state)[..., mechanism.slices['q']]
    code = mechanism.kernels.imbalance_derivatives(rubs)
    inputs = np.concatenate([state, q, efforts, friction], axis=-1)
    outputs = np.atleast_2d(_outputs(code, inputs))
    names = [*mechanism.contacts, *mechanism.tree_joints] if rubs else []
    first = 1 + len(names)
    _check_smooth(mechanism, state, outputs[:, 1:first], names)
    _check_valid(mechanism, state, outputs)
    slopes = outputs[:, first:].reshape(*state.shape[:-1], -1)
    parts = state[..., 2 * n : 3 * n], slopes
    return AccelerationDerivatives(mechanism, np.concatenate(parts, axis=-1))


def _derived(mechanism: Evaluator, code: kernels.Code, inputs: FloatArray) -> FloatArray:
    """Outputs for all rows: by machine code, or at loops closed from home."""

    def at_closed(rows: FloatArray, closed: FloatArray) -> FloatArray:
        return _outputs(code.at_positions, np.hstack([rows, closed[:, mechanism.slices['q']]]))

    outputs = _with_handed_over(mechanism, code, inputs, mechanism.solver.least_norm, at_closed)
    _check_valid(mechanism, inputs, outputs)
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


def _outputs(code: RowCode, inputs: FloatArray) -> FloatArray:
    """By machine code, or in numpy where there is too much of it."""
    if code.available:
        return code(inputs)
    try:
        return code.in_numpy(inputs)
    except TooLargeError as error:
        raise InputError(f'too large to be differentiated: {error}') from None


def _check_valid(mechanism: Evaluator, inputs: FloatArray, outputs: FloatArray) -> None:
    if (outputs[:, 0] == 1.0).all() and np.isfinite(outputs).all():
        return
    wrong = np.flatnonzero((outputs[:, 0] != 1.0) | ~np.isfinite(outputs).all(axis=1))
    pose = pose_text(mechanism, np.atleast_2d(inputs)[wrong[0]])
    error = SingularityError(f'too near a singularity for derivatives at {pose}')
    raise in_row(error, int(wrong[0]), inputs.ndim > 1)


# The best efforts for a goal


def _of_best(mechanism: Evaluator, code: RowCode, inputs: FloatArray, kind: GoalKind) -> FloatArray:
    """Outputs of the code of the best efforts for all rows."""
    friction = kind.choice[1]

    def at_best(rows: FloatArray, whole: FloatArray) -> FloatArray:
        effort = Effort(mechanism, rows, whole, kind.slices)
        best = effort.actuated - effort.friction, _signs(mechanism, effort, friction)
        return _outputs(kind.derivatives_at_best, np.concatenate([rows, effort.q, *best], axis=-1))

    outputs = _with_handed_over(mechanism, code, inputs, kind, at_best)
    names = [*mechanism.contacts, *mechanism.tree_joints]
    first = 1 + len(names)
    _check_smooth(mechanism, inputs, outputs[:, 1:first], names)
    _check_valid(mechanism, inputs, outputs)
    return outputs.reshape(*inputs.shape[:-1], outputs.shape[1])


def _check_smooth(
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


def _signs(mechanism: Evaluator, effort: Effort, friction: bool) -> FloatArray:
    """Of the contacts' multipliers (N, n_contacts), 0 where friction holds one at zero."""
    laws = [contact.friction for contact in mechanism.description.contacts]
    rubs = np.array([friction and law.coulomb > 0.0 for law in laws], dtype=bool)
    largest = np.abs(effort.contact).max(axis=-1, keepdims=True, initial=0.0)
    held = rubs & (np.abs(effort.contact) <= ON_A_FACE * largest)
    return np.where(held, 0.0, np.where(rubs, np.sign(effort.contact), 1.0))
