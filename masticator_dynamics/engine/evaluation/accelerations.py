# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: accelerations of a closed mechanism for efforts and wrenches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_flag
from masticator_dynamics.engine.evaluation.failures import failure, in_row, pose_text
from masticator_dynamics.engine.evaluation.model import OnDemand
from masticator_dynamics.engine.evaluation.packing import packed
from masticator_dynamics.engine.evaluation.results import Evaluator
from masticator_dynamics.engine.status import JAMMED, OVERFLOW
from masticator_dynamics.engine.traced.forward_dynamics import INDEPENDENT, ForwardDynamics
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.simulation import acceleration_code
from masticator_dynamics.engine.traced.simulation_data import Regularisation, Setting
from masticator_dynamics.errors import InputError, MasticatorError, SingularityError

JUMP = Regularisation(contact=0.0, turning=0.0, sliding=0.0)  # as inverse dynamics


class Accelerations:
    """Independent accelerations of one mechanism with one law of friction.

    Parameters
    ----------
    mechanism : Mechanism
    setting : Setting
        Without stops and food.
    """

    def __init__(self, mechanism: Evaluator, setting: Setting):
        self._mechanism, self._setting = mechanism, setting
        of = mechanism.kernels, setting
        self.code, self._at_positions = acceleration_code(*of), acceleration_code(*of, True)

    def __call__(self, inputs: FloatArray, many: bool) -> FloatArray:
        """Accelerations (N, n_y) for rows of y, y_dot, efforts and wrench; then the friction.

        That is what :meth:`ForwardDynamics.friction` says, where there is any. Rows that machine
        code hands over have their loops closed from home.
        """
        outputs = self.code.where_covered(inputs if many else inputs[0])
        for row in np.flatnonzero(outputs[:, 0] != 1.0):
            try:
                outputs[row] = self._closed_from_home(inputs[row])
            except MasticatorError as error:
                raise in_row(error, int(row), many) from None
        return outputs[:, 1:]

    def _closed_from_home(self, inputs: FloatArray) -> FloatArray:
        count = len(self._mechanism.independent)
        motion_inputs = np.zeros(3 * count + 6)
        motion_inputs[: 2 * count] = inputs[: 2 * count]
        motion = self._mechanism.solver.motions(motion_inputs)
        q = motion[self._mechanism.slices['q']]
        at_positions = np.concatenate([inputs, q])
        if self._at_positions.covers(at_positions):
            outputs = self._at_positions(at_positions)
            if outputs[0] == 1.0:
                return outputs
        # On floats friction may take long to settle; what fails then is reported.
        of = self._mechanism.description, self._mechanism.structure
        numbers = [*inputs.tolist(), 1.0, *q.tolist()]
        evaluated = ForwardDynamics(*of, numbers, self._setting, False, True)
        if evaluated.valid() != 1.0:
            raise refusal(self._mechanism, evaluated, inputs)
        friction = evaluated.friction() if self._setting.friction else []
        return np.array([1.0, *evaluated.y_ddot, *friction])


def refusal(
    mechanism: Evaluator, evaluated: ForwardDynamics, inputs: FloatArray
) -> MasticatorError:
    """Why accelerations of a state that is closed cannot be computed.

    Parameters
    ----------
    mechanism : Mechanism
    evaluated : ForwardDynamics
        On floats, not valid.
    inputs : array
        Begins with y and y_dot.
    """
    inertias = np.linalg.eigvalsh(np.array(evaluated.mass))
    if inertias[0] <= INDEPENDENT * inertias[-1]:
        names, pose = ', '.join(mechanism.independent), pose_text(mechanism, inputs)
        return SingularityError(
            f'the mass matrix of {names} is singular at {pose}: its least inertia is '
            f'{max(inertias[0], 0.0):.2g}, its largest {inertias[-1]:.6g}'
        )
    finite = bool(np.isfinite(np.array(evaluated.y_ddot)).all())
    status = JAMMED if finite and not evaluated.converged > 0.0 else OVERFLOW
    return failure(mechanism, np.array([status, -1.0, 0.0]), inputs)


def _by_friction(mechanism: Evaluator) -> OnDemand[Regularisation | None, Accelerations]:
    """Accelerations of a mechanism by law of friction; None: without."""
    return OnDemand(
        lambda law: Accelerations(mechanism, Setting(True, law.transitions) if law else Setting())
    )


def forward_dynamics(
    mechanism: Evaluator,
    state: tuple[npt.ArrayLike | None, ...],
    friction: bool | Regularisation,
    many: bool,
) -> tuple[FloatArray, FloatArray]:
    """Accelerations (..., n_y), see :meth:`Mechanism.forward_dynamics`, and amounts of friction.

    Parameters
    ----------
    mechanism : Mechanism
    state : tuple of array_like, shape (..., n)
        y, y_dot, efforts and wrench, which may be None.
    friction : bool or Regularisation
    many : bool
        Whether these are rows (N, n).
    """
    law = _law(friction)
    table = _table(mechanism, state, many)
    answers = mechanism.made(_by_friction)[law](table, many)
    answers = answers if many else answers[0]
    return answers[..., : len(mechanism.independent)], answers[..., len(mechanism.independent) :]


def _law(friction: bool | Regularisation) -> Regularisation | None:
    if isinstance(friction, Regularisation):
        return friction
    return JUMP if as_flag(friction, 'friction') else None


def answers(mechanism: Evaluator, friction: bool | Regularisation) -> list[Answer]:
    """Machine code for one state; see :meth:`Mechanism.forward_dynamics`."""
    code = mechanism.made(_by_friction)[_law(friction)].code
    return [Answer(code, 1, (len(mechanism.independent),))]


def _table(mechanism: Evaluator, state: tuple[npt.ArrayLike | None, ...], many: bool) -> FloatArray:
    """Rows (N, 2 n_y + n_u + 6) of finite numbers."""
    freedoms = len(mechanism.independent)
    names = ('Y', 'Y_dot', 'efforts', 'W') if many else ('y', 'y_dot', 'effort', 'wrench')
    lengths = (freedoms, freedoms, len(mechanism.actuated), 6)
    table = np.atleast_2d(packed(zip(names, state, lengths, strict=True), many))
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        what = f'{_column(mechanism, column)} is {table[row, column]}, not a finite number'
        raise in_row(InputError(what), row, many)
    return table


def _column(mechanism: Evaluator, column: int) -> str:
    """What a number in a row is."""
    return [
        *mechanism.independent,
        *(f'{name}_dot' for name in mechanism.independent),
        *(f'effort of {name}' for name in mechanism.actuated),
        *(f'wrench {component}' for component in ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')),
    ][column]
