# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Independent positions at which a frame has a pose, or as much of one as is asked for.

Levenberg-Marquardt on the closed mechanism (Siciliano, Robotics, 2009, Sec. 3.7; Marquardt 1963).
Every step closes the loops from home, so that the answer is on home's branch. The first descent is
machine code (``traced/inverse_kinematics.py``); what follows where it does not arrive is here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector, as_floats
from masticator_dynamics.engine.evaluation.failures import pose_text
from masticator_dynamics.engine.evaluation.frames import frame_chain
from masticator_dynamics.engine.evaluation.model import OnDemand
from masticator_dynamics.engine.evaluation.results import Evaluator
from masticator_dynamics.engine.traced.inverse_kinematics import (
    DAMPED,
    DAMPING,
    ITERATIONS,
    LARGEST_STEP,
    LEAST_DAMPING,
    MOST_DAMPING,
    ORTHONORMAL,
    PROGRESS,
    SMALLEST,
    TOLERANCE,
    UNDAMPED,
    placed_frame,
)
from masticator_dynamics.engine.traced.python_entry import Answer
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.errors import InputError, ReachError

SCATTERED, TRIED = 200, 8  # poses around home, and how many of the best begin another search


class Task:
    """A pose that a frame is to have, or parts of it.

    Parameters
    ----------
    mechanism : Mechanism
    frame, position, rotation
        As for :meth:`Mechanism.inverse_kinematics`, which says what is raised.
    """

    def __init__(
        self,
        mechanism: Evaluator,
        frame: str,
        position: npt.ArrayLike | None,
        rotation: npt.ArrayLike | None,
    ):
        self.frame, self._chain = frame, frame_chain(mechanism, frame)
        self._position = np.full(3, np.nan) if position is None else as_floats(position, 'position')
        if self._position.shape != (3,):
            raise InputError(f'position has shape {self._position.shape}, needed is (3,)')
        if np.isinf(self._position).any():
            raise InputError(f'position is {self._position}, not finite')
        self._placed = ~np.isnan(self._position)
        self._axes, self._turned = _axes(rotation)
        if not (self._placed.any() or self._turned.any()):
            raise InputError(f'neither a position nor a rotation is given for {frame}')
        self.extent = mechanism.structure.extent()

    @property
    def numbers(self) -> tuple[FloatArray, FloatArray]:
        """Position (3,) and rotation (9,), NaN where they do not matter."""
        return self._position, self._axes.ravel()

    def errors(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is missing at tree positions (n_q,): m and rad (3,), base axes."""
        position, rotation = self._chain.poses(q)
        missing = np.where(self._placed, self._position - position, 0.0)
        if not self._turned.any():
            return missing, np.zeros(3)
        if self._turned.sum() == 1:
            here, there = (axes[:, self._turned][:, 0] for axes in (rotation, self._axes))
            return missing, _between(here, there)
        # Imported here: it takes longer than everything else.
        from scipy.spatial.transform import Rotation

        return missing, Rotation.from_matrix(self._axes @ rotation.T).as_rotvec()

    def reached(self, q: FloatArray) -> bool:
        """Whether nothing is missing."""
        return all(np.abs(error).max() <= TOLERANCE for error in self.errors(q))

    def size(self, q: FloatArray) -> float:
        """Size of what is missing, m; a radian counts as the mechanism's size."""
        missing, turn = self.errors(q)
        return float(np.hypot(np.linalg.norm(missing), self.extent * np.linalg.norm(turn)))

    def jacobian(self, q: FloatArray, tangent: FloatArray) -> FloatArray:
        """What a step reduces of both errors (6, n_y), m: radians times the mechanism's size."""
        jacobian = self._chain.summed(self._chain.screws(q)[1], tangent)
        jacobian[:3][~self._placed] = 0.0
        if self._turned.sum() == 1:  # about the axis itself it may turn
            axis = self._chain.poses(q)[1][:, self._turned][:, 0]
            jacobian[3:] -= np.outer(axis, axis @ jacobian[3:])
        jacobian[3:] *= self.extent * self._turned.any()
        return jacobian

    def unreached(self, q: FloatArray) -> str:
        """What is missing, in words."""
        missing, turn = self.errors(q)
        parts = []
        if np.abs(missing).max() > TOLERANCE:
            by_axis = ', '.join(
                f'{axis} {x * 1e3:.6g}'
                for axis, x in zip('xyz', missing, strict=True)
                if abs(x) > max(TOLERANCE, 1e-6 * np.abs(missing).max())
            )
            parts.append(f'its position by {np.linalg.norm(missing) * 1e3:.6g} mm ({by_axis})')
        if np.abs(turn).max() > TOLERANCE:
            kind = 'axis' if self._turned.sum() == 1 else 'rotation'
            parts.append(f'its {kind} by {np.linalg.norm(turn):.6g} rad')
        return ' and '.join(parts)


class _Search(NamedTuple):
    """Machine code for the poses of a frame, and what follows a pose and a start in its inputs."""

    code: RowCode
    extent: float  # of the mechanism, m
    scale: FloatArray  # (n_y,), m that the frame moves at home per unit of each coordinate

    @property
    def numbers(self) -> FloatArray:
        return np.append(self.extent, self.scale)


def _searches(mechanism: Evaluator) -> OnDemand[str, _Search]:
    """By frame."""

    def search(frame: str) -> _Search:
        chain, extent = frame_chain(mechanism, frame), mechanism.structure.extent()
        home = chain.summed(chain.screws(mechanism.home.q)[1], mechanism.home.tangent)
        home[3:] *= extent
        usual = np.linalg.norm(home, axis=0)
        scale = np.where(usual > 1e-9 * usual.max(initial=1.0), usual, extent)
        return _Search(placed_frame(mechanism.kernels, frame), extent, scale)

    return OnDemand(search)


def answers(mechanism: Evaluator, frame: str) -> list[Answer]:
    """Machine code for :meth:`Mechanism.inverse_kinematics`; :func:`reach` has the rest.

    Raises
    ------
    InputError
        For an unknown frame.
    """
    frame_chain(mechanism, frame)
    search = mechanism.made(_searches)[frame]
    return [Answer(search.code, 1, (len(mechanism.independent),), numbers=search.numbers)]


class _Pose(NamedTuple):
    """A closed pose and the size of what is missing there."""

    y: FloatArray
    row: FloatArray
    size: float


def reach(mechanism: Evaluator, task: Task, start: npt.ArrayLike | None) -> FloatArray:
    """See :meth:`Mechanism.inverse_kinematics`."""
    count = len(mechanism.independent)
    here = mechanism.home.y if start is None else as_finite_vector(start, 'start', count)
    code, numbers = (of := mechanism.made(_searches)[task.frame]).code, of.numbers
    if code.available:
        reached, *y = code(np.concatenate([*task.numbers, here, numbers]))
        if reached == 1.0:
            return np.array(y)
    search = _PoseSearch(mechanism, task)
    begin = search.at(here)
    if begin is None:
        raise ReachError(f'the loops do not close at the start, {pose_text(mechanism, here)}')
    best = search.descend(begin)
    if not search.reached(best):
        for begin in search.scattered():
            best = min(best, search.descend(begin), key=lambda pose: pose.size)
            if search.reached(best):
                break
    if search.reached(best):
        return best.y.copy()
    best = search.closest(best)
    q = best.row[mechanism.slices['q']]
    raise ReachError(
        f'{task.frame} cannot be placed as asked: closest found is '
        f'{pose_text(mechanism, best.y)}, which misses {task.unreached(q)}'
    )


class _PoseSearch:
    """Searches for a pose at which a task is done."""

    def __init__(self, mechanism: Evaluator, task: Task):
        self._mechanism, self._task = mechanism, task
        self._q, self._tangent = mechanism.slices['q'], mechanism.slices['tangent']
        self._scale = mechanism.made(_searches)[task.frame].scale

    def at(self, y: FloatArray) -> _Pose | None:
        """The pose at a place, or None where the loops do not close."""
        _, row = self._mechanism.solver.at_rest(y)
        return None if row[0] else _Pose(y, row, self._task.size(row[self._q]))

    def reached(self, pose: _Pose) -> bool:
        return self._task.reached(pose.row[self._q])

    def descend(self, pose: _Pose) -> _Pose:
        """The pose at which a search that begins here ends: done, or with no way down."""
        damping = DAMPING
        for _ in range(ITERATIONS):
            if pose.size < SMALLEST:
                break
            step = self._step(pose, damping)
            lower = self.at(pose.y + step)
            if lower is not None and lower.size < pose.size:
                done = lower.size > (1.0 - PROGRESS) * pose.size
                pose, damping = lower, damping * UNDAMPED
                if done:
                    break
            else:
                damping = max(damping, LEAST_DAMPING) * DAMPED
                if damping > MOST_DAMPING:
                    break
        return pose

    def closest(self, pose: _Pose) -> _Pose:
        """A pose at which less is missing, also along the edge of what the loops can close."""
        from scipy.optimize import minimize

        def size(step: FloatArray) -> float:
            there = self.at(pose.y + step / self._scale)
            return np.inf if there is None else there.size

        for length in self._task.extent * np.array([0.1, 0.01, 1e-3, 1e-4]):
            corners = length * np.vstack([np.zeros(len(pose.y)), np.eye(len(pose.y))])
            options = {'initial_simplex': corners, 'maxfev': 400, 'xatol': 1e-9, 'fatol': 1e-9}
            step = minimize(size, corners[0], method='Nelder-Mead', options=options).x
            pose = self.at(pose.y + step / self._scale) or pose
        return pose

    def scattered(self) -> list[_Pose]:
        """Closed poses around home, those at which least is missing."""
        mechanism, home = self._mechanism, self._mechanism.home.y
        rows = mechanism.independent_rows
        low, high = mechanism.limits.lower[rows], mechanism.limits.upper[rows]
        far = np.minimum(self._task.extent / self._scale, np.pi)
        low = np.where(np.isfinite(low), low, home - far)
        high = np.where(np.isfinite(high), high, home + far)
        # Fewer and fewer of the poses of a parallel mechanism close, the farther away from home.
        part = np.random.default_rng(0).uniform(size=(SCATTERED, 1 + len(home)))
        places = home + part[:, :1] * (low + part[:, 1:] * (high - low) - home)
        poses = [pose for pose in map(self.at, places) if pose is not None]
        return sorted(poses, key=lambda pose: pose.size)[:TRIED]

    def _step(self, pose: _Pose, damping: float) -> FloatArray:
        """A step (n_y,) of damped least squares, not longer than is sensible."""
        q = pose.row[self._q]
        missing, turn = self._task.errors(q)
        tangent = pose.row[self._tangent].reshape(len(q), -1)
        jacobian = self._task.jacobian(q, tangent) / self._scale
        wanted = np.concatenate([missing, self._task.extent * turn])
        across, values, along = np.linalg.svd(jacobian, full_matrices=False)
        largest = float(values.max(initial=1e-300))
        regular = np.where(values > 1e-9 * largest, values, 0.0)
        step = along.T @ (regular / (values**2 + damping * largest**2) * (across.T @ wanted))
        longest = LARGEST_STEP * self._task.extent
        return np.asarray(
            step * (longest / max(float(np.linalg.norm(step)), longest)) / self._scale
        )


def _axes(rotation: npt.ArrayLike | None) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Wanted axes as columns (3, 3), and which of them are asked for (3,)."""
    axes = np.full((3, 3), np.nan)
    if rotation is None:
        return axes, np.zeros(3, bool)
    wanted = as_floats(rotation, 'rotation')
    if wanted.shape not in ((3,), (3, 3)):
        raise InputError(
            f'rotation has shape {wanted.shape}, needed is (3, 3), or (3,) for an axis'
        )
    if wanted.ndim == 1:
        length = np.linalg.norm(wanted)
        if not (np.isfinite(length) and length > 0.0):
            raise InputError(f'rotation is {wanted}, which is no direction')
        axes[:, 2] = wanted / length
    else:
        axes[:] = wanted
    asked = ~np.isnan(axes).all(axis=0)
    columns = axes[:, asked]
    deviation = np.abs(columns.T @ columns - np.eye(len(columns.T))).max(initial=0.0)
    if not deviation <= ORTHONORMAL:
        raise InputError(f'rotation has columns that are not orthonormal, by {deviation:.6g}')
    if asked.sum() == 2:
        k = int(np.flatnonzero(~asked)[0])
        axes[:, k] = np.cross(axes[:, (k + 1) % 3], axes[:, (k + 2) % 3])
    if asked.all() and np.linalg.det(axes) < 0.0:
        raise InputError('rotation is a reflection: its determinant is -1')
    return axes, asked


def _between(here: FloatArray, there: FloatArray) -> FloatArray:
    """The rotation vector, rad, that turns one unit vector into another the short way."""
    across = np.cross(here, there)
    sine = float(np.linalg.norm(across))
    if sine == 0.0:
        if here @ there > 0.0:
            return np.zeros(3)
        across = np.cross(here, np.eye(3)[np.abs(here).argmin()])
    return np.asarray(across / np.linalg.norm(across) * np.arctan2(sine, here @ there))
