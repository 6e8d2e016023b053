# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations for the unknowns: what motors gave, minus what the file's numbers say they must give.

Rows are generalised forces through the filter, thinned out to what the filter leaves. Their errors
are judged as the smallest errors of efforts that explain them, so that internal efforts, which move
nothing, are no error.
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

_CHUNK = 2000  # rows whose columns are in memory together with their inputs

Progress = Callable[[int], None]


@dataclasses.dataclass(frozen=True)
class Equations:
    """``force = matrix @ x`` up to errors; M rows in time with n_y equations each."""

    time: FloatArray  # (M,), s
    pose: FloatArray  # (M, n_y), independent coordinates
    velocity: FloatArray  # (M, n_u), of the motors' joints, rad/s or m/s
    # (M, n_y), generalised forces that the file's numbers leave unexplained, N m or N.
    force: FloatArray
    matrix: FloatArray  # (M, n_y, n_x)
    rates: FloatArray  # (M, n_y, n_u), generalised forces per unit effort of each motor
    # (M, n_u, n_y), smallest efforts for a generalised force, in units of the usual ones.
    back: FloatArray
    # (M, n_u), the part of measured efforts that moves the mechanism, filtered, N m or N.
    effort: FloatArray
    usual: FloatArray  # (n_u,), efforts of motors of its kind, N m or N

    def left(self, x: FloatArray | float) -> FloatArray:
        """Generalised forces (M, n_y) that unknowns x leave unexplained; 0.0: those of the file."""
        return np.asarray(self.force - (self.matrix @ x if np.ndim(x) else 0.0))

    def errors(self, x: FloatArray | float) -> FloatArray:
        """Errors of efforts (M, n_u), N m or N."""
        return np.asarray((self.back @ self.left(x)[..., None])[..., 0])

    def error(self, x: FloatArray | float) -> float:
        """RMS error of efforts relative to their RMS, each in units of what is usual."""
        parts = (rows / self.usual for rows in (self.errors(x), self.effort))
        error, effort = (float((rows**2).sum()) for rows in parts)
        return float(np.sqrt(error / effort))

    def error_by_motor(self, x: FloatArray | float) -> FloatArray:
        """The same (n_u,) of each motor."""
        error, effort = ((rows**2).sum(axis=0) for rows in (self.errors(x), self.effort))
        return np.asarray(np.sqrt(error / np.maximum(effort, np.finfo(float).tiny)))

    def scaled(self, sizes: FloatArray) -> Equations:
        """The same for unknowns counted in other units: sizes (n_x,) in the present ones."""
        return dataclasses.replace(self, matrix=self.matrix * sizes)


def usual_sizes(mechanism: Mechanism, measured: MeasuredMotion) -> Usual:
    """RMS over time of each motor, and of all motors of a kind (turning, sliding)."""
    kinds = np.array(mechanism.effort_units)
    effort = np.sqrt((measured.smooth(measured.effort) ** 2).mean(axis=0))
    velocity, acceleration = (
        np.sqrt((rates[:, mechanism.actuated_rows] ** 2).mean(axis=0))
        for rates in (measured.motion.v, measured.motion.a)
    )
    of_kind = np.empty(len(kinds))
    for kind in set(mechanism.effort_units):
        of_kind[kinds == kind] = np.sqrt((effort[kinds == kind] ** 2).mean())
    wrench = measured.wrench
    if wrench is not None:
        parts = np.sqrt((wrench.reshape(-1, 2, 3) ** 2).sum(axis=2).mean(axis=0))
        wrench = np.repeat(parts, 3)
    return Usual(effort, of_kind, velocity, acceleration, wrench)


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
    used = measured.kept
    forces = measured.smooth(forces)[used]
    rates = powers(mechanism, measured.motion)
    effort = measured.smooth(rates @ measured.effort[..., None])[used]
    rates = rates[used]
    back = usual.of_kind[:, None] * np.linalg.pinv(rates * usual.of_kind)
    return Equations(
        measured.time[used],
        measured.motion.y[used],
        measured.motion.v[used][:, mechanism.actuated_rows],
        forces[..., 0],
        forces[..., 1:],
        rates,
        back,
        (back @ effort)[..., 0],
        usual.of_kind,
    )


def _columns(
    mechanism: Mechanism, measured: MeasuredMotion, part: slice, unknowns: Unknowns
) -> tuple[FloatArray, FloatArray]:
    """Columns (N, n_y, n_p) of all parameters, and forces (N, n_y) that are supplied."""
    whole = measured.motion
    motion = mechanism.solve_batch(whole.y[part], whole.y_dot[part], whole.y_ddot[part])
    effort = measured.effort[part]
    wrench = None if measured.wrench is None else measured.wrench[part]
    columns = regressor(mechanism, motion, True, effort, wrench)
    names, generalized = columns.names, columns.generalized
    for k, joint in enumerate(mechanism.actuated):
        own_friction = [n in (f'{joint}.friction', f'{joint}.damping') for n in names]
        generalized[..., own_friction] *= measured.felt[part, k, None, None]
    by_motor = powers(mechanism, motion)
    supplied = (by_motor @ effort[..., None])[..., 0]
    change = measured.effort_rate[part, :, None]
    more = [-by_motor, -by_motor @ change]
    if f'{mechanism.actuated[0]}.effort_scale' in unknowns.names:
        more.append(-by_motor * effort[:, None, :])
    if wrench is not None:
        by_wrench, turned = _by_wrench(mechanism, motion)
        pushed = by_wrench @ wrench[..., None]
        supplied = supplied + pushed[..., 0]
        if 'sensor.scale' in unknowns.names:
            more += [-pushed, -by_wrench @ turned]
    return np.concatenate([generalized, *more], axis=-1), supplied


def _by_wrench(mechanism: Mechanism, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Generalised forces (N, n_y, 6) per wrench on the platform; its axes, twice (N, 6, 6)."""
    chain = FrameChain(mechanism, mechanism.description.platform)
    _, screws = chain.screws(motion.q)
    twists = chain.summed(screws, motion.tangent)
    _, rotation = chain.poses(motion.q)
    axes = np.zeros((len(rotation), 6, 6))
    axes[:, :3, :3] = axes[:, 3:, 3:] = rotation
    return np.swapaxes(twists, -1, -2), axes
