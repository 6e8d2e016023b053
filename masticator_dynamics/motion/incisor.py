# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of a mechanism whose incisor (or any other point) follows a recording."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.errors import (
    ClosureError,
    InputError,
    LimitError,
    ReachError,
    SingularityError,
)
from masticator_dynamics.motion.checks import checked_rows, checked_times
from masticator_dynamics.motion.least_contact_motion import LeastContactMotion
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.motion.smoothing import smooth_within

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

FloatArray = npt.NDArray[np.float64]

RECORDING_STEP = 1e-5  # m; jaw trackers resolve about a hundredth of a millimetre


@dataclasses.dataclass(frozen=True)
class IncisorTrack:
    """A motion that follows a recording, and how well it does.

    Attributes
    ----------
    path : MotionPath
        In independent coordinates, C4 with knots at the recorded times.
    times : (N,) array
        Recorded times, s.
    error_max, error_rms : float
        Distance of the frame from the recorded points, m, over all samples.
    socket_margin : float
        Smallest distance of a contact to the ends of its range, m (inf without ranges).
    """

    path: MotionPath
    times: FloatArray
    error_max: float
    error_rms: float
    socket_margin: float


def track_incisor(
    mechanism: 'Mechanism',
    times: npt.ArrayLike,
    displacement: npt.ArrayLike,
    *,
    frame: str = 'incisor',
    tolerance: float = RECORDING_STEP,
) -> IncisorTrack:
    """Follow a recorded displacement with the origin of a frame.

    The recording is smoothed so that no sample moves by more than `tolerance`, every sample is
    solved for the pose with the least contact motion (see `LeastContactMotion`), and one C4
    spline of degree five goes through the poses: unlike position, velocity and acceleration
    solved one after the other (S1 Eqs. 56, 60, 62), its derivatives belong together. Where the
    recording changes by no more than the tolerance over its first (last) interval, the motion
    starts (ends) at rest.

    Parameters
    ----------
    mechanism : Mechanism
        With three or more independent coordinates.
    times : (N,) array
        s, strictly increasing.
    displacement : (N, 3) array
        Of the frame's origin from where it is at home (occlusion), m, base axes.
    frame : str
        Link whose origin follows.
    tolerance : float
        How far smoothing may move a coordinate of a sample, m; the step to which the recording
        is rounded suits. A larger one softens sudden stops such as tooth contact.

    Raises
    ------
    InputError
        For malformed arrays, naming coordinate and time.
    ReachError
        When the mechanism cannot follow, naming time and amount.
    LimitError
        When a contact or a joint leaves its range, naming it, the time and the amount.
    """
    t = checked_times(times)
    axes = tuple(f'{frame}_{axis}' for axis in 'xyz')
    recorded = checked_rows(displacement, 'position', t, axes)
    if not (np.isfinite(tolerance) and tolerance >= 0.0):
        raise InputError(f'tolerance is {tolerance} m, expected a number that is not negative')
    follower = LeastContactMotion(mechanism, frame)
    rest_start, rest_end = _rests(recorded, tolerance)
    smoothed = smooth_within(t, recorded, tolerance, rest_start=rest_start, rest_end=rest_end)
    poses = _poses(follower, t, smoothed)
    rest = (np.zeros(poses.shape[1]), np.zeros(poses.shape[1]))
    path = MotionPath.through(
        t,
        poses,
        start=rest if rest_start else None,
        end=rest if rest_end else None,
        names=mechanism.independent,
    )
    return _judged(follower, path, t, recorded)


def _rests(recorded: FloatArray, tolerance: float) -> tuple[bool, bool]:
    """Whether the recording cannot be told from one that starts, ends at rest."""
    if len(recorded) < 2:
        return True, True
    steps = np.abs(np.diff(recorded, axis=0)).max(axis=1)
    return bool(steps[0] <= tolerance), bool(steps[-1] <= tolerance)


def _poses(follower: LeastContactMotion, times: FloatArray, smoothed: FloatArray) -> FloatArray:
    """Independent coordinates (N, n) at the samples, each started from the ones before."""
    poses = np.empty((len(times), len(follower.home)))
    y = follower.home
    for k, (time, point) in enumerate(zip(times, smoothed, strict=True)):
        try:
            y = poses[k] = follower.solve(follower.home_position + point, y)
        except (ReachError, ClosureError, SingularityError) as error:
            raise type(error)(f'at t = {time:.6g} s: {error}') from error
    return poses


def _judged(
    follower: LeastContactMotion, path: MotionPath, times: FloatArray, recorded: FloatArray
) -> IncisorTrack:
    """Measure the track sample by sample; refuse it where something leaves its range."""
    mechanism = follower.mechanism
    distance, margin = np.empty(len(times)), np.inf
    outside: list[str] = []
    for k, time in enumerate(times):
        motion = mechanism.solve(*path(time))
        position = mechanism.frame_pose(motion, follower.frame).position
        distance[k] = np.linalg.norm(position - follower.home_position - recorded[k])
        margin = min(margin, follower.contact_margin(motion))
        violations = mechanism.range_violations(motion)
        if violations:
            outside.append(f'at t = {time:.6g} s: ' + '; '.join(str(v) for v in violations))
    if outside:
        further = f' (and at {len(outside) - 1} more samples)' if len(outside) > 1 else ''
        raise LimitError(outside[0] + further)
    rms = float(np.sqrt(np.mean(distance**2)))
    return IncisorTrack(path, times, float(distance.max()), rms, margin)
