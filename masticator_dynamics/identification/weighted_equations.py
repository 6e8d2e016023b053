# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations for the unknowns: what motors gave, minus what the file's numbers say they must give.

Rows are generalised forces through the filter, thinned out to what the filter leaves, and weighted:
the sum of their squares is that of the smallest errors of efforts, each in units of its usual size,
that explain them. Internal efforts, which move nothing, are therefore no error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.effort_regressor import powers, regressor
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.identification.measured_motion import MeasuredMotion
from masticator_dynamics.identification.unknowns import Unknowns, Usual
from masticator_dynamics.mechanism import Mechanism

_NEAR_REST = 0.25  # of the usual velocity
_AT_REST = 30.0  # errors of efforts there, in units of those of moving motors
_CHUNK = 2000  # rows whose columns are in memory together with their inputs

Progress = Callable[[int], None]


@dataclasses.dataclass(frozen=True)
class Equations:
    """``given = matrix @ x`` up to errors; M rows in time with n_y equations each.

    Attributes
    ----------
    time : array, shape (M,)
        s.
    pose : array, shape (M, n_y)
        Independent coordinates.
    given : array, shape (M, n_y)
        What the file's numbers leave unexplained.
    matrix : array, shape (M, n_y, n_x)
    whole : array, shape (M, n_y)
        The measured efforts, likewise weighted.
    back : array, shape (M, n_u, n_y)
        Smallest efforts for such an error, N m or N.
    effort : array, shape (M, n_u)
        The part of measured efforts that moves the mechanism, filtered, N m or N.
    trust : array, shape (M, n_y, n_y)
        Times the rows: the same, where errors of motors that turn around count for less. Near rest
        dry friction is anything between its two values.
    """

    time: FloatArray
    pose: FloatArray
    given: FloatArray
    matrix: FloatArray
    whole: FloatArray
    back: FloatArray
    effort: FloatArray
    trust: FloatArray

    def left(self, x: FloatArray) -> FloatArray:
        """What unknowns x leave unexplained, (M, n_y)."""
        return np.asarray(self.given - self.matrix @ x)

    def error(self, x: FloatArray) -> float:
        """RMS error of efforts relative to their RMS."""
        return float(np.sqrt((self.left(x) ** 2).sum() / (self.whole**2).sum()))


def usual_sizes(mechanism: Mechanism, measured: MeasuredMotion) -> Usual:
    """RMS over time and motors of a kind (turning, sliding)."""
    kinds = np.array(mechanism.effort_units)
    effort, velocity = np.empty(len(kinds)), np.empty(len(kinds))
    smooth = measured.smooth(measured.effort)
    for kind in set(mechanism.effort_units):
        same = kinds == kind
        effort[same] = np.sqrt((smooth[:, same] ** 2).mean())
        velocity[same] = np.sqrt((measured.motion.v[:, mechanism.actuated_rows[same]] ** 2).mean())
    wrench = measured.wrench
    if wrench is not None:
        parts = np.sqrt((wrench.reshape(-1, 2, 3) ** 2).sum(axis=2).mean(axis=0))
        wrench = np.repeat(parts, 3)
    return Usual(effort, velocity, wrench)


def equations(
    mechanism: Mechanism,
    measured: MeasuredMotion,
    unknowns: Unknowns,
    usual: Usual,
    progress: Progress = lambda rows: None,
) -> Equations:
    """Equations of a measured motion.

    Parameters
    ----------
    mechanism : Mechanism
        With the file's numbers.
    measured : MeasuredMotion
    unknowns : Unknowns
    usual : Usual
        Sizes that errors are counted in.
    progress : callable
        Called with the number of rows that were done since it was called.
    """
    count, n_y = len(measured.time), len(mechanism.independent)
    forces = np.empty((count, n_y, 1 + unknowns.spread.shape[1]))
    for start in range(0, count, _CHUNK):
        part = slice(start, min(start + _CHUNK, count))
        matrix, supplied = _columns(mechanism, measured, part, unknowns)
        first = len(mechanism.parameters(friction=True))
        needed = matrix[..., :first] @ unknowns.values[:first]
        forces[part, :, 0] = supplied - needed
        forces[part, :, 1:] = matrix @ unknowns.spread
        progress(part.stop - part.start)
    kept = measured.kept
    forces = measured.smooth(forces)[kept]
    rates = powers(mechanism, measured.motion)[kept]
    sized = rates * usual.effort
    weights = np.linalg.inv(np.linalg.cholesky(sized @ np.swapaxes(sized, -1, -2)))
    effort = measured.smooth(powers(mechanism, measured.motion) @ measured.effort[..., None])[kept]
    back = usual.effort[:, None] * np.linalg.pinv(weights @ sized)
    return Equations(
        measured.time[kept],
        measured.motion.y[kept],
        (weights @ forces[..., :1])[..., 0],
        weights @ forces[..., 1:],
        (weights @ effort)[..., 0],
        back,
        (back @ weights @ effort)[..., 0],
        _trust(weights @ rates, usual, _doubt(mechanism, measured, usual)[kept]),
    )


def _doubt(mechanism: Mechanism, measured: MeasuredMotion, usual: Usual) -> FloatArray:
    """Part (N, n_u) of the time around each row in which a motor is near rest."""
    rates = measured.motion.v[:, mechanism.actuated_rows]
    near = np.abs(rates) < _NEAR_REST * usual.velocity
    return np.clip(measured.smooth(near.astype(float)), 0.0, 1.0)


def _trust(rates: FloatArray, usual: Usual, doubt: FloatArray) -> FloatArray:
    """Weights (M, n_y, n_y) for efforts whose errors grow with the doubt."""
    errors = usual.effort * np.sqrt(1.0 + (_AT_REST * doubt) ** 2)
    sized = rates * errors[:, None, :]
    return np.asarray(np.linalg.inv(np.linalg.cholesky(sized @ np.swapaxes(sized, -1, -2))))


def _columns(
    mechanism: Mechanism, measured: MeasuredMotion, part: slice, unknowns: Unknowns
) -> tuple[FloatArray, FloatArray]:
    """Columns (N, n_y, n_p) of all parameters, and forces (N, n_y) that are supplied."""
    whole = measured.motion
    motion = mechanism.solve_batch(whole.y[part], whole.y_dot[part], whole.y_ddot[part])
    effort = measured.effort[part]
    wrench = None if measured.wrench is None else measured.wrench[part]
    columns = regressor(mechanism, motion, True, effort, wrench)
    names, found = columns.names, columns.generalized
    for k, joint in enumerate(mechanism.actuated):
        own = [n in (f'{joint}.friction', f'{joint}.damping') for n in names]
        found[..., own] *= measured.felt[part, k, None, None]
    by_motor = powers(mechanism, motion)
    supplied = (by_motor @ effort[..., None])[..., 0]
    more = []
    if f'{mechanism.actuated[0]}.effort_scale' in unknowns.names:
        more.append(-by_motor * effort[:, None, :])
    if wrench is not None:
        by_wrench, turned = _by_wrench(mechanism, motion)
        pushed = by_wrench @ wrench[..., None]
        supplied = supplied + pushed[..., 0]
        if 'sensor.scale' in unknowns.names:
            more += [-pushed, -by_wrench @ turned]
    return np.concatenate([found, *more], axis=-1), supplied


def _by_wrench(mechanism: Mechanism, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Generalised forces (N, n_y, 6) per wrench on the platform; its axes, twice (N, 6, 6)."""
    chain = FrameChain(mechanism, mechanism.description.platform)
    _, screws = chain.screws(motion.q)
    twists = chain.summed(screws, motion.tangent)
    _, rotation = chain.poses(motion.q)
    axes = np.zeros((len(rotation), 6, 6))
    axes[:, :3, :3] = axes[:, 3:, 3:] = rotation
    return np.swapaxes(twists, -1, -2), axes
