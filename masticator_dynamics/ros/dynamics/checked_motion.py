# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A path that is evaluated at samples and stays within all ranges there and in between."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.limits.between_samples import Knots, refuse_between, refuse_interpolated
from masticator_dynamics.limits.ranges import refuse_outside
from masticator_dynamics.motion import MotionPath
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings

MESSAGE_STEP = 0.020  # s; crank-space interpolation over longer gaps opens the loops
CHECK_STEP = 0.005  # s
# Efforts are checked at samples only: from one to the next, accelerations of the coordinates are as
# on a straight line but for this part of their largest ones.
_BENT = 0.05


@dataclasses.dataclass(frozen=True)
class Samples:
    """Motion and efforts at times (N,), s, in rows; each part of a motion has rows of its own."""

    times: FloatArray  # (N,)
    # (N,), whether a trajectory controller gets the sample; knots of the path are among these.
    in_message: npt.NDArray[np.bool_]
    q: FloatArray  # (N, n_q), positions of all joints of the tree
    v: FloatArray  # (N, n_q), their velocities
    a: FloatArray  # (N, n_q), their accelerations
    effort: FloatArray  # (N, n_u)

    def __getitem__(self, rows: slice | npt.NDArray[np.bool_]) -> Samples:
        """Some of the samples."""
        return Samples(*(values[rows] for values in self._values()))

    def followed_by(self, later: Samples) -> Samples:
        """These and later ones."""
        pairs = zip(self._values(), later._values(), strict=True)
        return Samples(*(np.concatenate(pair) for pair in pairs))

    def _values(self) -> list[Any]:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]


Check = Callable[[MotionPath], Samples]


def checked(mechanism: Mechanism, path: MotionPath, settings: DynamicsSettings) -> Samples:
    """Samples of a path that is within all ranges of joints and sockets, and within efforts.

    Ranges of joints hold between samples, too, and for what a trajectory controller makes of those
    ``in_message``, which are at most 20 ms apart.

    Parameters
    ----------
    mechanism : Mechanism
        Not used by any other thread: it keeps scratch memory.
    path : MotionPath
        In independent coordinates.
    settings : DynamicsSettings
        How efforts are chosen, the part of their limits that may be used, and whether those of all
        loads are kept; otherwise only their own limits are checked, afterwards.

    Raises
    ------
    ReachError, SingularityError, LimitError
        For a motion that cannot or must not be made, naming the time.
    """
    times, in_message = _sample_times(path)
    scale, limits = settings.effort_limit_scale, settings.limits
    try:
        batch = mechanism.feedforward_batch(
            *path.sample(times), goal=settings.goal, friction=settings.friction,
            limits=limits and mechanism.load_limits.scaled(scale),
        )  # fmt: skip
    except MasticatorError as error:
        raise type(error)(f'at {times[error.row or 0]:.6g} s: {error.without_row}') from None
    # Efforts chosen within limits already keep to them, up to numerical error.
    refuse_outside(mechanism, times, batch, None if limits else scale)
    samples = Samples(times, in_message, batch.q, batch.v, batch.a, batch.actuated)
    refuse_between(mechanism, times, samples)
    refuse_interpolated(mechanism, times[in_message], samples[in_message])
    return samples


def expected_samples(times: FloatArray) -> float:
    """About how many samples a motion through points at times (N,), s, has."""
    return float(times[-1] / CHECK_STEP + 2.0 * len(times))


def _sample_times(path: MotionPath) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Times of the checks, and which of them go into the message; knots are in both.

    An even number of equal intervals lies between two that are in the message.
    """
    if path.end == path.start:
        return np.array([path.start]), np.array([True])
    gaps = np.diff(path.knots)
    coarse = np.maximum(np.ceil(gaps / MESSAGE_STEP * (1.0 - 1e-9)), 1.0).astype(int)
    fine = np.maximum(np.ceil(gaps / CHECK_STEP * (1.0 - 1e-9)), _bends(path, gaps))
    halves = np.maximum(np.ceil(fine / (2 * coarse)), 1.0).astype(int)
    pieces = 2 * coarse * halves
    segment = np.repeat(np.arange(len(gaps)), pieces)
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    times = path.knots[segment] + gaps[segment] * (within / pieces[segment])
    in_message = within % (2 * halves[segment]) == 0
    return np.append(times, path.end), np.append(in_message, True)


def _bends(path: MotionPath, gaps: FloatArray) -> FloatArray:
    """In how many parts each segment's accelerations are straight lines, nearly."""
    a = Knots(*path.sample(path.knots)).enclosing(gaps[:, None])[2]
    bent = np.abs(3.0 * a[1:3] - [2.0 * a[0] + a[3], a[0] + 2.0 * a[3]]).max(axis=0) / 3.0
    part = (bent / np.maximum(np.abs(a).max(axis=(0, 1)), 1e-300)).max(axis=1)
    return np.asarray(np.ceil(np.sqrt(np.nan_to_num(part) / _BENT)))
