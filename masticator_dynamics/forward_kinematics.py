# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From actuated to independent positions, also where actuators outnumber freedoms."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_floats
from masticator_dynamics.errors import (
    ClosureError,
    InputError,
    MasticatorError,
    ReachError,
    SingularityError,
)

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism
    from masticator_dynamics.results import Motion

ITERATIONS = 100
LARGEST_CHANGE = 0.3  # of an actuated joint in one step, rad; of its home travel when sliding
CONVERGED = 1e-12  # change of an actuated position, rad or m


@dataclasses.dataclass(frozen=True)
class ForwardKinematics:
    """Independent positions ``y`` (..., n_y) and what the loops lack, ``closure_residual`` (m)."""

    y: FloatArray
    closure_residual: FloatArray


def forward_kinematics(
    mechanism: Mechanism, u: npt.ArrayLike, tolerance: float
) -> ForwardKinematics:
    """Gauss-Newton on the closed mechanism, from home, so that it stays on home's branch.

    The residual is the largest gap that opens when the actuated joints of the closed mechanism
    are set to ``u``.

    Raises
    ------
    InputError, ReachError, ClosureError
        For malformed input; when nothing close to ``u`` is found; when the gap is above
        ``tolerance`` (m).
    """
    target = as_floats(u, 'u')
    if target.shape != (len(mechanism.actuated),):
        raise InputError(f'u has shape {target.shape}, needed is ({len(mechanism.actuated)},)')
    for name, value in zip(mechanism.actuated, target, strict=True):
        if not np.isfinite(value):
            raise InputError(f'{name} is {value}, not a finite number')
    motion = closest_motion(mechanism, target)
    residual = gap(mechanism, motion, target)
    if residual > tolerance:
        worst = int(np.argmax(np.abs(motion.position - target)))
        raise ClosureError(
            f'the loops stay open by {residual * 1e3:.6g} mm (tolerance {tolerance * 1e3:.6g} mm); '
            f'farthest off is {mechanism.actuated[worst]}, by '
            f'{target[worst] - motion.position[worst]:.6g} {_unit(mechanism, worst)}'
        )
    return ForwardKinematics(motion.y.copy(), np.array(residual))


def forward_kinematics_batch(
    mechanism: Mechanism, U: npt.ArrayLike, tolerance: float
) -> ForwardKinematics:
    """:func:`forward_kinematics` of rows (N, n_u); errors name the row."""
    rows = as_floats(U, 'U')
    if rows.ndim != 2:
        raise InputError(f'U has shape {rows.shape}, needed (N, {len(mechanism.actuated)})')
    y, residual = np.empty((len(rows), len(mechanism.independent))), np.empty(len(rows))
    for row, u in enumerate(rows):
        try:
            answer = forward_kinematics(mechanism, u, tolerance)
        except MasticatorError as error:
            named = type(error)(f'row {row + 1}: {error}')
            named.row = row
            raise named from None
        y[row], residual[row] = answer.y, answer.closure_residual
    return ForwardKinematics(y, residual)


def independent_velocity(mechanism: Mechanism, motion: Motion, u_dot: npt.ArrayLike) -> FloatArray:
    """Independent velocities (n_y,) that fit actuated velocities (n_u,) best at a closed motion.

    Least squares of the actuated Jacobian, joints weighted as for positions.

    Raises
    ------
    SingularityError
        When the actuated velocities do not determine the independent ones at this pose.
    """
    scale = _scales(mechanism)
    jacobian = mechanism.jacobian_actuated_from_independent(motion) / scale[:, None]
    answer = np.linalg.lstsq(jacobian, as_floats(u_dot, 'u_dot') / scale, rcond=None)
    if answer[2] < jacobian.shape[1]:
        pose = zip(mechanism.independent, motion.y, strict=True)
        raise SingularityError(
            'actuated velocities do not determine the motion at '
            + ', '.join(f'{name} = {value:.6g}' for name, value in pose)
        )
    return np.asarray(answer[0], dtype=np.float64)


def closest_motion(
    mechanism: Mechanism, target: FloatArray, used: npt.NDArray[np.bool_] | None = None
) -> Motion:
    """Closed motion whose actuated positions fit a target (n_u,) best, all of them or some.

    Raises
    ------
    ReachError
        When nothing is found that fits best.
    """
    rows = slice(None) if used is None else used
    scale = _scales(mechanism)[rows]
    motion = mechanism.home
    for _ in range(ITERATIONS):
        error = target[rows] - motion.position[rows]
        jacobian = mechanism.jacobian_actuated_from_independent(motion)[rows] / scale[:, None]
        step = np.asarray(np.linalg.lstsq(jacobian, error / scale, rcond=None)[0], dtype=float)
        change = float(np.abs(jacobian @ step).max())
        step = step * min(1.0, LARGEST_CHANGE / max(change, 1e-300))
        if change < CONVERGED:
            return motion
        motion = _reachable_step(mechanism, motion, step)
    raise ReachError(
        'no closed configuration found near '
        + ', '.join(f'{n} = {v:.6g}' for n, v in zip(mechanism.actuated, target, strict=True))
    )


def _reachable_step(mechanism: Mechanism, motion: Motion, step: FloatArray) -> Motion:
    """The step, halved until the loops can close there."""
    for _ in range(20):
        try:
            return mechanism.solve(motion.y + step)
        except MasticatorError:
            step = 0.5 * step
    return motion


def gap(mechanism: Mechanism, motion: Motion, target: FloatArray) -> float:
    """Largest gap when the actuated joints of a closed motion are moved to a target (n_u,), m."""
    q = motion.q.copy()
    q[mechanism.tree_indices(mechanism.actuated)] = target
    return mechanism.largest_gap(q)


def _scales(mechanism: Mechanism) -> FloatArray:
    """One rad for turning, a tenth of the travel for sliding actuators: comparable steps."""
    scales = []
    for j in mechanism.tree_indices(mechanism.actuated):
        joint = mechanism.structure.tree.joints[j]
        travel = joint.upper - joint.lower
        sliding = travel if np.isfinite(travel) and travel > 0.0 else 1.0
        scales.append(sliding if joint.type == 'prismatic' else 1.0)
    return np.array(scales)


def _unit(mechanism: Mechanism, index: int) -> str:
    return mechanism.structure.tree.joints[
        mechanism.tree_indices(mechanism.actuated[index : index + 1])[0]
    ].unit
