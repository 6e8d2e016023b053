# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mass matrix, bias and energies of closed mechanisms, in independent or actuated coordinates.

By machine code of the equations of motion at given tree positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, consecutive
from masticator_dynamics.engine.evaluation.failures import failure, in_row, pose_text
from masticator_dynamics.engine.evaluation.results import (
    Effort,
    Evaluator,
    Motion,
    check_motion,
    numbers_of,
)
from masticator_dynamics.engine.status import WEAK_ACTUATION
from masticator_dynamics.engine.traced.equations_of_motion import TracedEquationsOfMotion
from masticator_dynamics.engine.traced.kernels import MOST_OPERATIONS, Kernels
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.reference import Reference
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.engine.traced.vectors import Vector, flat
from masticator_dynamics.errors import ActuationError, InputError, SingularityError


def parts(freedoms: int) -> dict[str, slice]:
    """Slice of each output of :func:`equations_code`, after its first four numbers."""
    return consecutive(
        {'mass': freedoms * freedoms, 'bias': freedoms, 'gravity': freedoms, 'energy': 2}
    )


def equations_code(kernels: Kernels) -> RowCode:
    """From y_dot and the tree positions of a closed mechanism: its equations of motion.

    Outputs are whether they are valid, status, block and amount of a failure, then :func:`parts`.
    """
    return _code(
        'equations of motion', kernels, parts(kernels.freedoms)['energy'].stop,
        lambda run, y_dot: [
            *flat(run.mass), *run.bias(), *run.gravity(), *run.energy(y_dot)
        ],
    )  # fmt: skip


def _code(
    kind: str,
    kernels: Kernels,
    outputs: int,
    results: Callable[[TracedEquationsOfMotion, Vector], list[Any]],
) -> RowCode:
    freedoms, inputs = kernels.freedoms, kernels.freedoms + kernels.tree

    def function(row: Vector, share: bool) -> list[Any]:
        description, structure = kernels.recorded(row[inputs:])
        y_dot, q = row[:freedoms], row[freedoms:inputs]
        y = [q[structure.index(name)] for name in description.independent]
        motion, wrench = (y, y_dot, [0.0] * freedoms), [0.0] * 6
        run = TracedEquationsOfMotion(description, structure, row, motion, wrench, (), False, q)
        numbers = results(run, y_dot)
        return [run.valid(), 0.0, -1.0, 0.0, *numbers]

    return RowCode(
        kind, inputs, 4 + outputs, function, lambda: kernels.identity[:-1],
        largest=MOST_OPERATIONS, constants=kernels.constants,
        impossible='' if freedoms else 'it has no freedoms',
    )  # fmt: skip


Space = Literal['independent', 'actuated']


class EquationsOfMotion:
    """The equations of motion of one mechanism, at given tree positions."""

    def __init__(self, mechanism: Evaluator):
        self._mechanism = mechanism
        self.equations = equations_code(mechanism.kernels)
        # Of all joints, where the independent ones have no acceleration.
        self._rates = _code(
            'tree accelerations', mechanism.kernels, mechanism.kernels.tree,
            lambda run, _: run.accelerations(),
        )  # fmt: skip
        self._parts = parts(len(mechanism.independent))
        at_home = np.linalg.norm(
            mechanism.structure.home_tangent(mechanism.independent_rows), axis=0
        )
        self._usual = np.where(at_home > 0.0, at_home, 1.0)

    def part(self, motion: Motion | Effort, name: str) -> FloatArray:
        """Mass matrix, bias, gravity or energy, (..., length)."""
        check_motion(self._mechanism, motion)
        inputs = np.concatenate([motion.y_dot, motion.q], axis=-1)
        return self._found(self.equations, motion, inputs)[..., self._parts[name]]

    def tangent_rate(self, motion: Motion | Effort) -> FloatArray:
        """The rate of the tangent (..., n_q, n_y).

        Without independent accelerations those of the tree are a quadratic form of y_dot,
        sum over j, k of H_jk y_dot_j y_dot_k with the second derivatives H of the positions, and
        the rate is sum over j of H_jk y_dot_j: a difference of two values of the form, without
        error of truncation. They are taken at speeds of about 1 m/s or rad/s, where rounding of
        gravity does not matter.
        """
        check_motion(self._mechanism, motion)
        steps = np.eye(len(self._usual)) / self._usual
        speed = (np.abs(motion.y_dot) * self._usual).max(axis=-1)[..., None]
        along = motion.y_dot / np.where(speed > 0.0, speed, 1.0)
        rates = along[..., None, None, :] + np.stack([steps, -steps])
        q = np.broadcast_to(motion.q[..., None, None, :], (*rates.shape[:-1], motion.q.shape[-1]))
        inputs = np.concatenate([rates, q], axis=-1)
        ahead, behind = np.moveaxis(self._found(self._rates, motion, inputs), -3, 0)
        by_freedom = (ahead - behind) * (0.25 * self._usual[:, None] * speed[..., None])
        return np.asarray(by_freedom.swapaxes(-1, -2))

    def _found(self, code: RowCode, motion: Motion | Effort, inputs: FloatArray) -> FloatArray:
        """Outputs (..., outputs) for inputs; raises where there are none."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        outputs = code.where_covered(inputs if inputs.ndim == 1 else rows)
        handed_over = np.flatnonzero(outputs[:, 0] != 1.0)
        if len(handed_over):
            answers = Reference(code)(rows[handed_over])
            failed = np.flatnonzero(answers[:, 0])
            if len(failed):
                poses = motion.y.reshape(-1, motion.y.shape[-1])
                row = int(handed_over[failed[0]]) * len(poses) // len(rows)
                error = failure(self._mechanism, answers[failed[:1]], poses[row])
                raise in_row(error, row, motion.y.ndim > 1)
            outputs[handed_over, 1:] = answers
        return outputs[:, 4:].reshape(*inputs.shape[:-1], code.outputs - 4)


def answers(mechanism: Evaluator, space: Space = 'independent', *, part: str) -> list[Answer]:
    """Machine code for a part of the equations of motion of one motion."""
    if space != 'independent':
        return []
    n, code = len(mechanism.independent), mechanism.made(EquationsOfMotion).equations
    q = numbers_of(mechanism)['q']
    length = parts(n)[part].stop - parts(n)[part].start
    shape = (n, n) if part == 'mass' else (length,)
    return [Answer(code, 4 + parts(n)[part].start, shape, {'motion': [(n, n), q]})]


def mass_matrix(mechanism: Evaluator, motion: Motion | Effort, space: Space) -> FloatArray:
    """See :meth:`Mechanism.mass_matrix`."""
    count = len(mechanism.independent)
    flat = mechanism.made(EquationsOfMotion).part(motion, 'mass')
    mass = flat.reshape(*flat.shape[:-1], count, count)
    if _of_actuated(space):
        inverse = _independent_from_motors(mechanism, motion)
        return np.asarray(inverse.swapaxes(-1, -2) @ mass @ inverse)
    return mass


def bias(mechanism: Evaluator, motion: Motion | Effort, space: Space, part: str) -> FloatArray:
    """See :meth:`Mechanism.bias` and :meth:`Mechanism.gravity`."""
    force = mechanism.made(EquationsOfMotion).part(motion, part)
    if not _of_actuated(space):
        return force
    inverse = _independent_from_motors(mechanism, motion)
    if part == 'bias':  # the motors turn evenly: independent accelerations are not zero then
        drift = motion.a - (motion.tangent @ motion.y_ddot[..., None])[..., 0]
        rows, ratios = _motors(mechanism)
        y_ddot = -(inverse @ (ratios * drift[..., rows])[..., None])
        force = force + (mass_matrix(mechanism, motion, 'independent') @ y_ddot)[..., 0]
    return np.asarray((inverse.swapaxes(-1, -2) @ force[..., None])[..., 0])


def _of_actuated(space: Space) -> bool:
    if space == 'independent':
        return False
    if space not in get_args(Space):
        raise InputError(f'space is {space!r}, expected one of {", ".join(get_args(Space))}')
    return space == 'actuated'


def _motors(mechanism: Evaluator) -> tuple[list[int], FloatArray]:
    """Tree indices of the powered actuators, and their ratios."""
    chosen = [mechanism.actuated.index(name) for name in mechanism.driving]
    return mechanism.tree_indices(mechanism.driving), mechanism.transmission_ratios[chosen]


def _independent_from_motors(mechanism: Evaluator, motion: Motion | Effort) -> FloatArray:
    """Independent velocities per motor velocity (..., n_y, n_y)."""
    rows, ratios = _motors(mechanism)
    freedoms, rank = len(mechanism.independent), mechanism.home_rank()
    if len(rows) != freedoms or rank < freedoms:
        raise ActuationError(
            f'{mechanism.name} has {len(rows)} powered actuators, which control {rank} of '
            f'{freedoms} degrees of freedom: they are no coordinates of it'
        )
    jacobian = ratios[:, None] * motion.tangent[..., rows, :]
    at_home = mechanism.structure.home_tangent(mechanism.independent_rows)[rows]
    usual = np.linalg.norm(ratios[:, None] * at_home, axis=0)
    smallest = np.linalg.svd(jacobian / usual, compute_uv=False)[..., -1]
    if (smallest < WEAK_ACTUATION).any():
        many = motion.y.ndim > 1
        row = int(np.argmax(smallest < WEAK_ACTUATION))
        y, amount = (motion.y[row], smallest[row]) if many else (motion.y, smallest)
        error = SingularityError(
            f'actuators {", ".join(mechanism.driving)} lose control at {pose_text(mechanism, y)}: '
            f'a freedom moves them {float(amount):.2g} times as much as at home'
        )
        raise in_row(error, row, many)
    return np.asarray(np.linalg.inv(jacobian))
