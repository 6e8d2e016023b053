# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Independent positions at which a frame has a pose, or as much of one as is asked for.

Descents are machine code (``traced/inverse_kinematics.py``); where they begin, and the words for
what cannot be reached, are here.
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
    ORTHONORMAL,
    TOLERANCE,
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
    frame, position, rotation
        As for :meth:`Mechanism.inverse_kinematics`, which says what is raised.

    Attributes
    ----------
    numbers : array, shape (12,)
        Position and rotation, NaN where they do not matter.
    """

    def __init__(self, frame: str, position: npt.ArrayLike | None, rotation: npt.ArrayLike | None):
        self.frame = frame
        place = np.full(3, np.nan) if position is None else as_floats(position, 'position')
        if place.shape != (3,):
            raise InputError(f'position has shape {place.shape}, needed is (3,)')
        if np.isinf(place).any():
            raise InputError(f'position is {place}, not finite')
        axes, turned = _axes(rotation)
        if np.isnan(place).all() and not turned:
            raise InputError(f'neither a position nor a rotation is given for {frame}')
        self.numbers = np.append(place, axes)
        self._turning = 'axis' if turned == 1 else 'rotation'

    def unreached(self, missing: FloatArray) -> str:
        """What is missing (6,), m and rad, in words."""
        place, turn = missing[:3], missing[3:]
        parts = []
        if np.abs(place).max() > TOLERANCE:
            by_axis = ', '.join(
                f'{axis} {x * 1e3:.6g}'
                for axis, x in zip('xyz', place, strict=True)
                if abs(x) > max(TOLERANCE, 1e-6 * np.abs(place).max())
            )
            parts.append(f'its position by {np.linalg.norm(place) * 1e3:.6g} mm ({by_axis})')
        if np.abs(turn).max() > TOLERANCE:
            parts.append(f'its {self._turning} by {np.linalg.norm(turn):.6g} rad')
        return ' and '.join(parts)


class Pose(NamedTuple):
    """The end of a descent, and what is missing there."""

    reached: bool
    y: FloatArray
    size: float  # m; a radian counts as the mechanism's size
    missing: FloatArray  # (6,), m and rad, base axes


class Descent:
    """Machine code for descents of a frame, and what follows a pose and a start in its inputs."""

    def __init__(self, mechanism: Evaluator, frame: str):
        chain, self.extent = frame_chain(mechanism, frame), mechanism.structure.extent()
        home = chain.twists(mechanism.home.q) @ mechanism.home.tangent
        home[3:] *= self.extent
        usual = np.linalg.norm(home, axis=0)
        self.scale = np.where(usual > 1e-9 * usual.max(initial=1.0), usual, self.extent)
        self.quick = placed_frame(mechanism.kernels, frame)
        self.thorough = placed_frame(mechanism.kernels, frame, from_home=True)

    def numbers(self, descends: bool = True) -> FloatArray:
        """What follows the start: size, m that the frame moves at home, whether to move at all."""
        return np.array([self.extent, *self.scale, float(descends)])

    def __call__(self, task: Task, start: FloatArray, descends: bool = True) -> Pose | None:
        """Where a descent ends; None where the loops do not close at the start."""
        inputs, count = [*task.numbers, *start, *self.numbers(descends)], len(start)

        def by(code: RowCode) -> FloatArray:
            return code.where_covered(np.array(inputs))[0]

        outputs = by(self.quick)
        if not outputs[1 + count]:
            outputs = by(self.thorough)
        if not outputs[1 + count]:
            outputs = self.thorough.on_floats(np.array(inputs))
        size = float(outputs[2 + count])
        pose = Pose(outputs[0] == 1.0, outputs[1 : 1 + count], size, outputs[3 + count :])
        return pose if np.isfinite(size) else None


def _descents(mechanism: Evaluator) -> OnDemand[str, Descent]:
    """By frame."""
    return OnDemand(lambda frame: Descent(mechanism, frame))


def answers(mechanism: Evaluator, frame: str) -> list[Answer]:
    """Machine code for :meth:`Mechanism.inverse_kinematics`; :func:`reach` has the rest.

    Raises
    ------
    InputError
        For an unknown frame.
    """
    frame_chain(mechanism, frame)
    descent = mechanism.made(_descents)[frame]
    return [Answer(descent.quick, 1, (len(mechanism.independent),), numbers=descent.numbers())]


def reach(
    mechanism: Evaluator,
    frame: str,
    position: npt.ArrayLike | None,
    rotation: npt.ArrayLike | None,
    start: npt.ArrayLike | None,
) -> FloatArray:
    """See :meth:`Mechanism.inverse_kinematics`."""
    frame_chain(mechanism, frame)
    task, descent = Task(frame, position, rotation), mechanism.made(_descents)[frame]
    count = len(mechanism.independent)
    here = mechanism.home.y if start is None else as_finite_vector(start, 'start', count)
    best = descent(task, here)
    if best is None:
        raise ReachError(f'the loops do not close at the start, {pose_text(mechanism, here)}')
    for begin in () if best.reached else _scattered(mechanism, descent, task):
        best = min(best, descent(task, begin) or best, key=lambda pose: pose.size)
        if best.reached:
            break
    if best.reached:
        return best.y
    best = _closest(descent, task, best)
    raise ReachError(
        f'{frame} cannot be placed as asked: closest found is {pose_text(mechanism, best.y)}, '
        f'which misses {task.unreached(best.missing)}'
    )


def _scattered(mechanism: Evaluator, descent: Descent, task: Task) -> list[FloatArray]:
    """Closed poses (n_y,) around home, those at which least is missing."""
    rows, home = mechanism.independent_rows, mechanism.home.y
    low, high = mechanism.limits.lower[rows], mechanism.limits.upper[rows]
    far = np.minimum(descent.extent / descent.scale, np.pi)
    low = np.where(np.isfinite(low), low, home - far)
    high = np.where(np.isfinite(high), high, home + far)
    # Fewer and fewer of the poses of a parallel mechanism close, the farther away from home.
    part = np.random.default_rng(0).uniform(size=(SCATTERED, 1 + len(home)))
    places = home + part[:, :1] * (low + part[:, 1:] * (high - low) - home)
    poses = [descent(task, place, descends=False) for place in places]
    closed = sorted((pose for pose in poses if pose), key=lambda pose: pose.size)
    return [pose.y for pose in closed[:TRIED]]


def _closest(descent: Descent, task: Task, pose: Pose) -> Pose:
    """A pose at which less is missing, also along the edge of what the loops can close."""
    from scipy.optimize import minimize

    def at(step: FloatArray) -> Pose | None:
        return descent(task, pose.y + step / descent.scale, descends=False)

    def size(step: FloatArray) -> float:
        there = at(step)
        return there.size if there else np.inf

    for length in descent.extent * np.array([0.1, 0.01, 1e-3, 1e-4]):
        corners = length * np.vstack([np.zeros(len(pose.y)), np.eye(len(pose.y))])
        options = {'initial_simplex': corners, 'maxfev': 400, 'xatol': 1e-9, 'fatol': 1e-9}
        step = minimize(size, corners[0], method='Nelder-Mead', options=options).x
        pose = at(step) or pose
    return pose


def _axes(rotation: npt.ArrayLike | None) -> tuple[FloatArray, int]:
    """Wanted axes as columns (3, 3), NaN where none is, and how many are asked for."""
    axes = np.full((3, 3), np.nan)
    if rotation is None:
        return axes, 0
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
    if asked.all() and np.linalg.det(axes) < 0.0:
        raise InputError('rotation is a reflection: its determinant is -1')
    return axes, int(asked.sum())
