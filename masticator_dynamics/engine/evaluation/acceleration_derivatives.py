# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Accelerations with their derivatives; by implicit functions, see `traced/derivatives.py`."""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_flag, consecutive
from masticator_dynamics.engine.evaluation.accelerations import JUMP
from masticator_dynamics.engine.evaluation.effort_derivatives import (
    check_smooth,
    check_valid,
    outputs_of,
)
from masticator_dynamics.engine.evaluation.results import Evaluator
from masticator_dynamics.engine.evaluation.shown import arrays_text
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.simulation import derivatives_code
from masticator_dynamics.engine.traced.simulation_data import Setting


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
        return arrays_text(self, ('y_ddot', 'by_y', 'by_y_dot', 'by_effort', 'by_wrench'))

    def _by(self, name: str) -> FloatArray:
        outputs = self._numbers
        if isinstance(outputs, bytes):
            outputs = np.frombuffer(outputs)[1:]
        n = len(self.mechanism.independent)
        widths = {'y': n, 'y_dot': n, 'effort': len(self.mechanism.actuated), 'wrench': 6}
        places = consecutive({part: n * width for part, width in widths.items()}, n)
        return outputs[..., places[name]].reshape(*outputs.shape[:-1], n, widths[name])

    by_y, by_y_dot, by_effort, by_wrench = (
        property(functools.partial(lambda name, self: self._by(name), name), doc='See the class.')
        for name in ('y', 'y_dot', 'effort', 'wrench')
    )


def answers(mechanism: Evaluator, friction: bool) -> list[Answer]:
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
    outputs = np.atleast_2d(outputs_of(code, inputs))
    names = [*mechanism.contacts, *mechanism.tree_joints] if rubs else []
    first = 1 + len(names)
    check_smooth(mechanism, state, outputs[:, 1:first], names)
    check_valid(mechanism, state, outputs)
    slopes = outputs[:, first:].reshape(*state.shape[:-1], -1)
    parts = state[..., 2 * n : 3 * n], slopes
    return AccelerationDerivatives(mechanism, np.concatenate(parts, axis=-1))
