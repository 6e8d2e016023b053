# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a robot moved and what its motors did, from positions and efforts of its motors.

Positions of all motors, redundant ones included, give the independent coordinates by least squares.
A Butterworth filter run forward and backward takes the noise without a delay; what is compared with
the measured efforts must go through the same filter.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.identification.robot_log import RobotLog
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.low_pass import SAMPLES, Filter
from masticator_dynamics.motion.motion_rows import rows_at

_SEEDS = 0.1  # s between poses that are searched from home
_STEPS = 3  # of Gauss-Newton from there
_ROUNDING = 1e-3  # of a rate
_SPREAD = 2.0  # periods of the cutoff by which lost rows spoil their neighbours
_LEFT = 0.5  # part of the rows that lost ones must leave
_FEWEST = 20  # rows that the filter's ends must leave
DEFAULT_CUTOFF = 15.0  # Hz
_ROWS = 10.0  # of a recording, per period of that: derivatives of fewer are mostly noise
_WHITE = 1.5  # of the squares that white noise leaves behind the filter: what noise alone may have


@dataclasses.dataclass(frozen=True)
class MeasuredMotion:
    """A part of a log, as motion of the closed mechanism."""

    time: FloatArray  # (N,), s
    motion: Motion  # filtered positions with their derivatives, N rows
    effort: FloatArray  # (N, n_u), as measured, not filtered; behind a gear, as felt at the joint
    # (N, n_u), friction of a motor that is felt at its joint, as a part of it: other than 1 behind
    # a gear.
    felt: FloatArray
    wrench: FloatArray | None  # (N, 6), on the platform, as measured
    # (N, n_u), measured positions minus those of the closed mechanism, rad or m: what redundant
    # encoders say about one another.
    misfit: FloatArray
    smooth: Filter
    measured: npt.NDArray[np.bool_] | None = None  # (N,), of the log

    @property
    def kept(self) -> npt.NDArray[np.intp]:
        """Rows to learn from, as many as the filter leaves apart.

        They are free of what it does at the ends, and around lost rows.
        """
        rows = np.arange(len(self.time))[self.smooth.kept(len(self.time))]
        if self.measured is None:
            return rows
        reach = int(np.ceil(_SPREAD / self.smooth.cutoff * self.smooth.rate))
        spoilt = np.convolve(~self.measured, np.ones(2 * reach + 1), mode='same') > 0.5
        return rows[~spoilt[rows]]

    def sooner(self, lag: float) -> MeasuredMotion:
        """The same with efforts that were recorded late by so much, s; at its end the last stay."""
        from scipy.interpolate import CubicSpline

        when = np.clip(self.time + lag, self.time[0], self.time[-1])
        return dataclasses.replace(self, effort=CubicSpline(self.time, self.effort)(when))

    @property
    def effort_rate(self) -> FloatArray:
        """How fast efforts change (N, n_u), N m/s or N/s."""
        return np.asarray(np.gradient(self.effort, 1.0 / self.smooth.rate, axis=0))

    @property
    def senses_noise_alone(self) -> bool:
        """Whether there is a force sensor that shows nothing but white noise without an offset."""
        if self.wrench is None:
            return False
        impulse = np.arange(len(self.time)) == len(self.time) // 2
        passed = float((self.smooth(impulse.astype(float)) ** 2).sum())
        slow, whole = ((rows**2).mean(axis=0) for rows in (self.smooth(self.wrench), self.wrench))
        return bool((slow <= _WHITE * passed * whole).all())


def usual_cutoff(*logs: RobotLog) -> float:
    """Cutoff for recordings, Hz: the usual one, or what their rows allow."""
    return min(DEFAULT_CUTOFF, *(log.rate / _ROWS for log in logs))


def measured_motion(
    mechanism: Mechanism, log: RobotLog, cutoff: float, motors: Scaling | None = None
) -> MeasuredMotion:
    """The motion of a log with even steps in time.

    Parameters
    ----------
    mechanism : Mechanism
        What moved.
    log : RobotLog
        Positions and efforts of its motors.
    cutoff : float
        Of the filter, Hz.
    motors : Scaling, optional
        Of drives that measured the efforts.

    Raises
    ------
    InputError
        If the positions are not those of this mechanism, or rows are too few for the cutoff.
    """
    if log.rate < SAMPLES * cutoff * (1.0 - _ROUNDING):
        raise InputError(
            f'{log.source}: {log.rate:.3g} rows per second; a cutoff of {cutoff:g} Hz needs '
            f'{SAMPLES * cutoff:g}: a lower --cutoff, {log.rate / SAMPLES:.3g} at most, or a '
            'recording with more'
        )
    smooth = Filter(cutoff, log.rate)
    _refuse_short(log, smooth)
    y, misfit = _independent(mechanism, log)
    motion = mechanism.solve_batch(*_with_derivatives(smooth(y), log.rate))
    effort, felt = log.effort, np.ones_like(log.effort)
    if motors is not None:
        effort, felt = motors.felt(effort, motion.v[:, mechanism.actuated_rows])
    parts = log.time, motion, effort, felt, log.wrench, misfit, smooth, log.measured
    series = MeasuredMotion(*parts)
    if len(series.kept) < _LEFT * len(log.time[smooth.kept(len(log.time))]):
        raise InputError(
            f'{log.source}: gaps leave too little: {len(series.kept)} rows without their influence'
        )
    return series


def _refuse_short(log: RobotLog, smooth: Filter) -> None:
    """Refuse recordings of which the filter's ends leave too little."""
    inside = smooth.kept(len(log.time))
    edge, needed = inside.start, 2 * inside.start + _FEWEST * inside.step
    if len(log.time) < needed:
        raise InputError(
            f'{log.source}: a part of {len(log.time) / log.rate:.3g} s is too short for a cutoff '
            f'of {smooth.cutoff:.3g} Hz, which spoils {edge / log.rate:.3g} s at both ends: '
            f'{needed / log.rate:.3g} s are needed, or a higher --cutoff, '
            f'{log.rate / SAMPLES:.3g} Hz at most'
        )


def _independent(mechanism: Mechanism, log: RobotLog) -> tuple[FloatArray, FloatArray]:
    """Independent coordinates (N, n_y) of measured positions, and what does not fit (N, n_u)."""
    every = max(1, round(_SEEDS * log.rate))
    rows = np.unique([*range(0, len(log.time), every), len(log.time) - 1])
    try:
        seeds = mechanism.forward_kinematics_batch(log.position[rows], np.inf).y
        y = rows_at(log.time, log.time[rows], seeds)
        scale = np.abs(_rates(mechanism, mechanism.home)).max(axis=-1)
        scale[scale == 0.0] = 1.0
        for _ in range(_STEPS):
            motion = mechanism.solve_batch(y)
            rates = _rates(mechanism, motion) / scale[:, None]
            error = (log.position - motion.position) / scale
            y = y + (np.linalg.pinv(rates) @ error[..., None])[..., 0]
        misfit = log.position - mechanism.solve_batch(y).position
    except MasticatorError as error:
        raise InputError(
            f'{log.source}: the positions are not poses of {mechanism.name}: {error}'
        ) from error
    return y, misfit


def _rates(mechanism: Mechanism, motion: Motion) -> FloatArray:
    """Of the motors' joints (..., n_u, n_y) per unit independent velocity, whatever their gears."""
    return np.asarray(motion.tangent[..., mechanism.actuated_rows, :])


def _with_derivatives(y: FloatArray, rate: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows with velocities and accelerations, from a spline of degree five."""
    from scipy.interpolate import make_interp_spline

    time = np.arange(len(y)) / rate
    spline = make_interp_spline(time, y, k=5)
    return y, spline(time, 1), spline(time, 2)
