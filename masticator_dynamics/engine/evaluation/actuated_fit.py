# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From actuated to independent positions, even with more actuators than degrees of freedom."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_number, as_slice, as_vector
from masticator_dynamics.engine.evaluation.failures import pose_text
from masticator_dynamics.engine.evaluation.results import Evaluator, Motion
from masticator_dynamics.engine.traced.actuated_step import fit_code
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.row_code import RowCode, RowInPlace
from masticator_dynamics.engine.traced.small_functions import least_squares, travels
from masticator_dynamics.errors import (
    ClosureError,
    InputError,
    ReachError,
    SingularityError,
)

ITERATIONS = 100
LARGEST_CHANGE = 0.3  # of an actuated joint in one step, rad; part of its travel when sliding
MOST_POSES = 20 * ITERATIONS  # solved on the way
CONVERGED = 1e-12  # change of an actuated position, rad or m


@dataclasses.dataclass(frozen=True)
class ForwardKinematics:
    """Independent positions ``y`` (N, n_y) and the largest gaps, ``closure_residual`` (N,), m."""

    y: FloatArray
    closure_residual: FloatArray


def closest_motion(
    mechanism: Evaluator, u: npt.ArrayLike, tolerance: float
) -> tuple[Motion, float]:
    """Closed pose, at rest, whose actuated positions fit ``u`` best, and its residual.

    Gauss-Newton on the closed mechanism, from home, so that it stays on home's branch. The
    residual is the largest gap (m) that opens when the actuated joints of the closed mechanism
    are set to ``u``.

    Parameters
    ----------
    u : (n_u,) array_like
        Actuated positions, m and rad.
    tolerance : float
        Largest gap that is accepted, m.

    Raises
    ------
    InputError, ReachError, ClosureError
        For malformed input; when nothing close to ``u`` is found; when the gap is above
        ``tolerance`` (m).
    """
    target = as_vector(u, 'u', len(mechanism.actuated))
    if not np.isfinite(target).all():
        bad = int(np.flatnonzero(~np.isfinite(target))[0])
        raise InputError(f'{mechanism.actuated[bad]} is {target[bad]}, not a finite number')
    motion = mechanism.made(ActuatedFit).closest(target)
    residual = gap(mechanism, motion, target)
    if residual > as_number(tolerance, 'tolerance', finite=False):
        worst = int(np.argmax(np.abs(motion.position - target)))
        unit = mechanism.structure.tree.joints[mechanism.actuated_rows[worst]].unit
        raise ClosureError(
            f'the loops stay open by {residual * 1e3:.6g} mm (tolerance {tolerance * 1e3:.6g} mm); '
            f'farthest off is {mechanism.actuated[worst]}, by '
            f'{target[worst] - motion.position[worst]:.6g} {unit}'
        )
    return motion, residual


def answers(mechanism: Evaluator, tolerance: float) -> list[Answer]:
    """Machine code for :meth:`Mechanism.forward_kinematics`; :func:`closest_motion` has the rest.

    Raises
    ------
    InputError
        For a tolerance that is no number.
    """
    largest = np.array([as_number(tolerance, 'tolerance', finite=False)])
    code = mechanism.made(_fit_code)
    return [Answer(code, 2, (len(mechanism.independent),), numbers=largest)]


def _fit_code(mechanism: Evaluator) -> RowCode:
    return fit_code(mechanism.kernels)


def closest_pose(mechanism: Evaluator, u: FloatArray, tolerance: float) -> tuple[FloatArray, float]:
    """Independent positions (n_y,) and residual of :func:`closest_motion`, by machine code."""
    target = as_vector(u, 'u', len(mechanism.actuated))
    largest = as_number(tolerance, 'tolerance', finite=False)
    quick = quick_pose(mechanism, target, largest)
    if quick is not None:
        return quick
    motion, residual = closest_motion(mechanism, target, largest)
    return motion.y.copy(), residual


def quick_pose(
    mechanism: Evaluator, target: FloatArray, tolerance: float
) -> tuple[FloatArray, float] | None:
    """The same for finite positions (n_u,); None where :func:`closest_motion` is to decide."""
    code = mechanism.made(_fit_code)
    if not code.available:
        return None
    answer = code(np.concatenate((target, (tolerance,))))
    return (answer[2:], answer.item(1)) if answer.item(0) == 1.0 else None


class ActuatedFit:
    """Independent coordinates that fit actuated ones best, by least squares.

    Parameters
    ----------
    mechanism : Mechanism
        Holds scratch memory: for one thread alone.
    used : (n_u,) array of bool, optional
        The actuated joints that count; default: all.
    """

    def __init__(self, mechanism: Evaluator, used: npt.NDArray[np.bool_] | None = None):
        self._mechanism = mechanism
        self._used = np.ones(len(mechanism.actuated), bool) if used is None else used
        self._actuated = mechanism.actuated_rows[self._used]
        joints = mechanism.structure.tree.joints
        self._scale = np.array(travels(joints[j] for j in self._actuated))
        self._position = as_slice(mechanism.slices['q'].start + mechanism.actuated_rows)
        at_home = mechanism.jacobian_actuated_from_independent(mechanism.home)[self._used]
        self._usual = np.linalg.norm(at_home / self._scale[:, None], axis=0)
        freedoms = np.arange(len(mechanism.independent))
        first = mechanism.slices['tangent'].start + len(freedoms) * self._actuated
        self._places = (first[:, None] + freedoms).ravel()  # of the Jacobian in a row
        self._units = np.concatenate([self._scale, self._usual])
        self._fitted = least_squares(len(self._actuated), len(freedoms))
        self._home = mechanism.home.given(), mechanism.home.row()
        self._left = 0  # number of poses that may still be solved

    def closest(
        self, target: FloatArray, poses: int = MOST_POSES, near: Motion | None = None
    ) -> Motion:
        """Closed pose whose actuated positions fit the target (n_u,) best, from home or `near`.

        Raises
        ------
        ReachError
            When none is found, or not within that many solved poses.
        """
        inputs, row = self._home if near is None else (near.given(), near.row())
        self._left = poses
        for _ in range(ITERATIONS):
            step, change = self._step(row, (target - row[self._position])[self._used])
            if change < CONVERGED:
                return Motion(self._mechanism, inputs.copy(), row.copy(), self._mechanism.slices)
            if change > LARGEST_CHANGE:
                step *= LARGEST_CHANGE / change
            inputs, row = self._reachable(inputs, row, step)
            if self._left <= 0:
                break
        names = self._mechanism.actuated
        raise ReachError(
            'no closed configuration found near '
            + ', '.join(f'{n} = {v:.6g}' for n, v in zip(names, target, strict=True))
        )

    def velocity(self, motion: Motion, u_dot: FloatArray) -> FloatArray:
        """Independent velocities (n_y,) that fit actuated ones (n_u,) best at a closed motion.

        Least squares of the actuated Jacobian, joints weighted as for positions; m/s and rad/s.

        Raises
        ------
        SingularityError
            When the actuated velocities do not determine the independent ones at this pose.
        """
        velocity, change = self._fit(motion.rows, u_dot)
        if change < 0.0:
            pose = pose_text(self._mechanism, motion.y)
            raise SingularityError(f'actuated velocities do not determine the motion at {pose}')
        return velocity

    def step(self, row: FloatArray, error: FloatArray) -> FloatArray:
        """Step (n_y,) of Gauss-Newton from a row of the engine, for errors (n_u,) of the joints.

        What it leaves of them, to first order, is :meth:`remainders` times the errors.
        """
        return self._step(row, error)[0]

    def remainders(self, row: FloatArray) -> FloatArray:
        """Remainders (n_u, n_u), as columns, of an error of 1 at each actuated joint alone."""
        jacobian = self._jacobian(row) / self._scale[:, None]
        errors = np.eye(len(jacobian))
        remainders = errors - jacobian @ np.linalg.lstsq(jacobian, errors, rcond=None)[0]
        return np.asarray(remainders * self._scale[:, None] / self._scale)

    def _jacobian(self, row: FloatArray) -> FloatArray:
        return row[self._places].reshape(-1, len(self._usual))

    def _step(self, row: FloatArray, error: FloatArray) -> tuple[FloatArray, float]:
        """Step (n_y,) that reduces a position error (n_u,), and how far it moves the actuators."""
        step, change = self._fit(row, error)
        if change < 0.0:  # the smallest of all that fit
            jacobian = self._jacobian(row) / self._scale[:, None]
            step[:] = np.linalg.lstsq(jacobian, error / self._scale, rcond=None)[0]
            change = float(np.abs(jacobian @ step).max())
        return step, change

    def _fit(self, row: FloatArray, error: FloatArray) -> tuple[FloatArray, float]:
        """Step (n_y,), and how far it moves the actuators; negative where it is undetermined."""
        fitted = self._fitted(np.concatenate([row[self._places], error, self._units]))
        return fitted[1:], fitted.item(0)

    def _reachable(
        self, inputs: FloatArray, row: FloatArray, step: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Next row of the engine: the step, halved until the loops close there."""
        y = inputs[: len(step)]
        for _ in range(min(20, self._left)):
            self._left -= 1
            there = self._mechanism.solver.at_rest(y + step)
            if not there[1].item(0):
                return there
            step = 0.5 * step
        return inputs, row


class FitInPlace(ActuatedFit):
    """Fits of one measurement after another, whose numbers stay where they are in memory.

    What takes a microsecond in a loop takes ten and more where it runs once in milliseconds: the
    less code and memory it touches, the better.
    """

    def __init__(self, mechanism: Evaluator):
        super().__init__(mechanism)
        code = mechanism.made(_fit_code)
        self._pose = RowInPlace(code, len(self._scale) + 1) if code.available else None
        self._rates = RowInPlace(self._fitted, self._fitted.inputs)
        self._rates.inputs[-len(self._units) :] = self._units

    def pose(self, target: FloatArray, tolerance: float) -> tuple[FloatArray, float]:
        """:func:`closest_pose` of finite positions (n_u,)."""
        if self._pose is not None:
            inputs = self._pose.inputs
            inputs[:-1], inputs[-1] = target, tolerance
            answer = self._pose()
            if answer.item(0) == 1.0:
                return answer[2:], answer.item(1)
        return closest_pose(self._mechanism, target, tolerance)

    def _fit(self, row: FloatArray, error: FloatArray) -> tuple[FloatArray, float]:
        inputs, count = self._rates.inputs, len(self._places)
        inputs[:count], inputs[count : count + len(error)] = row[self._places], error
        fitted = self._rates()
        return fitted[1:], fitted.item(0)


def gap(mechanism: Evaluator, motion: Motion, target: FloatArray) -> float:
    """Largest gap when the actuated joints of a closed motion are moved to a target (n_u,), m.

    Parameters
    ----------
    motion : Motion
        A closed pose.
    target : (n_u,) array
        Actuated positions, m and rad.
    """
    q = motion.q.copy()
    q[mechanism.actuated_rows] = target
    return mechanism.largest_gap(q)
