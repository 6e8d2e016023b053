# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of a mechanism whose incisor (or any other point) follows a recording."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.errors import InputError, LimitError, MasticatorError
from masticator_dynamics.limits.ranges import range_room
from masticator_dynamics.motion.array_checks import checked_rows, checked_times
from masticator_dynamics.motion.least_contact_motion import LeastContactMotion
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.motion.smoothing import smooth_within

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism


RECORDING_STEP = 1e-5  # m; jaw trackers resolve about a hundredth of a millimetre
LARGEST_DEVIATION = 2e-4  # m; where joints would otherwise be too fast or leave their ranges
_AROUND = 0.005  # s before and after a joint is too fast
_BISECTIONS = 7


@dataclasses.dataclass(frozen=True)
class IncisorTrack:
    """A motion that follows a recording, and how well it does."""

    path: MotionPath  # in independent coordinates, C4 with knots at the recorded times
    times: FloatArray  # (N,), recorded times, s
    error_max: float  # largest distance of the frame from the recorded points, m
    error_rms: float  # root mean square of that distance over all samples, m
    # Smallest distance of a contact to the ends of its range, m (inf without ranges).
    socket_margin: float
    # (N,), how far smoothing was allowed to move a coordinate of each sample, m.
    tolerance: FloatArray
    # (N,), distance of the frame from each smoothed sample that keeping ranges costs, m; 0 where
    # none.
    deviation: FloatArray


def track_incisor(
    mechanism: 'Mechanism',
    times: npt.ArrayLike,
    displacement: npt.ArrayLike,
    *,
    frame: str = 'incisor',
    tolerance: float = RECORDING_STEP,
    largest_deviation: float = LARGEST_DEVIATION,
    criterion: str = 'contacts',
) -> IncisorTrack:
    """Follow a recorded displacement with the origin of a frame.

    The recording is smoothed so that no coordinate of a sample moves by more than `tolerance`;
    every sample is solved for the best pose by a criterion, by default the one with the least
    contact motion (see `LeastContactMotion`); and one C4 spline of degree five goes through the
    poses: unlike position, velocity and acceleration solved one after the other (S1 Eqs. 56, 60,
    62), its derivatives are consistent. Where a joint would exceed its velocity limit, as at
    tooth contact, the tolerance is raised nearby just enough to slow it down, up to
    `largest_deviation`. Where a pose leaves the range of a contact or a joint, it is replaced by
    the nearest one inside: on the recording if there is one, otherwise off it by no more than
    `largest_deviation` (or `tolerance`, where that is larger); its neighbours follow smoothly.
    Where the recording changes by no more than the tolerance over its first (last) interval, the
    motion starts (ends) at rest.

    Parameters
    ----------
    mechanism : Mechanism
        With three or more independent coordinates.
    times : (N,) array
        s, strictly increasing.
    displacement : (N, 3) array
        Of the frame's origin from its position at home (occlusion), m, base axes.
    frame : str
        Link whose origin follows the recording.
    tolerance : float
        How far smoothing may move a coordinate of a sample, m; a good value is the step to which
        the recording is rounded. A larger one softens sudden stops such as tooth contact.
    largest_deviation : float
        How far the tolerance may be raised to keep joint velocity limits, and how far the frame
        may stay away from the recording to keep ranges, m.
    criterion : 'contacts', 'lateral' or 'coordinates'
        What the coordinates that the frame leaves free minimise.

    Raises
    ------
    InputError
        For malformed arrays, naming coordinate and time.
    ReachError
        When the mechanism cannot follow, naming time and amount.
    LimitError
        When a contact or a joint leaves its range nevertheless, naming the worst, its time and
        the amount.
    """
    t = checked_times(times)
    axes = tuple(f'{frame}_{axis}' for axis in 'xyz')
    recorded = checked_rows(displacement, 'position', t, axes)
    if not (np.isfinite(tolerance) and tolerance >= 0.0):
        raise InputError(f'tolerance is {tolerance} m, expected a number that is not negative')
    follower = LeastContactMotion(mechanism, frame, criterion)
    largest = max(largest_deviation, tolerance)
    (path, deviation), allowed = _slow_enough(follower, t, recorded, tolerance, largest)
    return _judged(follower, path, recorded, allowed, deviation)


def _slow_enough(
    follower: LeastContactMotion,
    times: FloatArray,
    recorded: FloatArray,
    tolerance: float,
    largest: float,
) -> tuple[tuple[MotionPath, FloatArray], FloatArray]:
    """Path that keeps joint velocity limits if it can, with its deviations and tolerances (N,)."""
    rests = _rests(recorded, tolerance)
    allowed = np.full(len(times), tolerance)
    smoothed = _smooth_path(follower, times, recorded, allowed, rests, largest)
    fast = _too_fast(follower, smoothed[0])
    near = (np.abs(times[:, None] - fast) <= _AROUND).any(axis=1)
    if not near.any():
        return smoothed, allowed
    low, high = max(tolerance, 1e-7), largest
    trial = high
    for _ in range(_BISECTIONS):
        tried = np.where(near, trial, tolerance)
        candidate = _smooth_path(follower, times, recorded, tried, rests, largest)
        if _too_fast(follower, candidate[0]).size == 0:
            smoothed, allowed, high = candidate, tried, trial
        elif trial == largest:
            break  # in vain; the limit check will refuse the path
        else:
            low = trial
        trial = float(np.sqrt(low * high))
    return smoothed, allowed


def _smooth_path(
    follower: LeastContactMotion,
    times: FloatArray,
    recorded: FloatArray,
    allowed: FloatArray,
    rests: tuple[bool, bool],
    largest: float,
) -> tuple[MotionPath, FloatArray]:
    """Spline through the poses of the smoothed recording, at rest where it is; deviations."""
    smoothed = smooth_within(times, recorded, allowed, rest_start=rests[0], rest_end=rests[1])
    targets = follower.home_position + smoothed
    poses, deviation = _inside(follower, times, targets, largest)
    still = (np.zeros(poses.shape[1]), np.zeros(poses.shape[1]))
    path = MotionPath.through(
        times,
        poses,
        start=still if rests[0] else None,
        end=still if rests[1] else None,
        names=follower.mechanism.independent,
    )
    return path, deviation


def _inside(
    follower: LeastContactMotion, times: FloatArray, targets: FloatArray, largest: float
) -> tuple[FloatArray, FloatArray]:
    """Poses (N, n) inside all ranges, and how far they are off their targets (N,), m."""
    mechanism = follower.mechanism
    poses = follower.solve(targets, times)
    before = range_room(mechanism, mechanism.feedforward_batch(poses))
    if not before.outside.any():
        return poses, np.zeros(len(times))
    moved = moved_inside(follower, poses, targets, times)
    effort = mechanism.feedforward_batch(moved)
    deviation, after = follower.distances(effort.q, targets), range_room(mechanism, effort)
    if not after.outside.any() and deviation.max() <= largest:
        return moved, deviation
    k = int(np.argmin(before.room))
    worst = max(mechanism.range_violations(mechanism.solve(poses[k])), key=lambda v: v.excess)
    what = f'at t = {times[k]:.6g} s: {worst}, the worst of {before.outside.sum()} samples'
    if after.outside.any():
        raise LimitError(f'{what}; no motion inside was found nearby')
    k = int(np.argmax(deviation))
    raise LimitError(
        f'{what}; the nearest motion inside stays {deviation[k] * 1e3:.3g} mm away from the '
        f'recording at t = {times[k]:.6g} s, {largest * 1e3:.3g} mm are allowed'
    )


def _too_fast(follower: LeastContactMotion, path: MotionPath) -> FloatArray:
    """Find times, also between samples, at which a joint exceeds its velocity limit."""
    times = np.union1d(path.knots, (path.knots[1:] + path.knots[:-1]) / 2.0)
    speeds = np.abs(follower.joint_velocities(path, times))
    result: FloatArray = times[np.any(speeds > follower.mechanism.limits.velocity, axis=1)]
    return result


def _rests(recorded: FloatArray, tolerance: float) -> tuple[bool, bool]:
    """Whether the recording is indistinguishable from one that starts, ends at rest."""
    if len(recorded) < 2:
        return True, True
    steps = np.abs(np.diff(recorded, axis=0)).max(axis=1)
    return bool(steps[0] <= tolerance), bool(steps[-1] <= tolerance)


def _judged(
    follower: LeastContactMotion,
    path: MotionPath,
    recorded: FloatArray,
    allowed: FloatArray,
    deviation: FloatArray,
) -> IncisorTrack:
    """Evaluate the track sample by sample; raise where something leaves its range."""
    mechanism, times = follower.mechanism, path.knots
    worst = []
    for time, *state in zip(times, *path.sample(times), strict=True):
        violations = mechanism.range_violations(mechanism.solve(*state))
        if violations:
            worst.append((time, max(violations, key=lambda v: v.excess)))
    if worst:
        time, violation = max(worst, key=lambda entry: entry[1].excess)
        raise LimitError(f'at t = {time:.6g} s: {violation}, the worst of {len(worst)} samples')
    motion = follower.at(path.sample(times)[0], times)
    distance = follower.distances(motion.q, follower.home_position + recorded)
    margin = follower.margin(motion.q)
    return IncisorTrack(
        path, times, float(distance.max()), rms(distance), margin, allowed, deviation
    )


MARGIN = 1e-6  # m or rad; between two samples the path bulges by less
_SPREAD = 0.02  # s, over which a correction of one sample rises and falls on either side
_ROUNDS = 10
_NEARNESS = 1e-3  # weight of the platform's motion against the frame's distance from its target
_MM = 1e3  # SLSQP needs numbers of the order of one


def moved_inside(
    follower: LeastContactMotion, poses: FloatArray, targets: FloatArray, times: FloatArray
) -> FloatArray:
    """Poses (N, n) inside all ranges, where there are any, with the frame as near as possible.

    Every pose outside is replaced by the one inside whose frame is nearest to its target: exactly
    on it where the free coordinates suffice. Poses around it follow, so that the motion stays
    smooth. Poses for which none is found inside stay as they are.

    Parameters
    ----------
    follower : LeastContactMotion
        Knows the mechanism, the frame and the free coordinates.
    poses, targets : (N, n) and (N, 3) array
        Independent coordinates, and where the frame's origin should be, m.
    times : (N,) array
        s.
    """
    mechanism = follower.mechanism
    for _ in range(_ROUNDS):
        outside = range_room(mechanism, mechanism.feedforward_batch(poses)).outside
        corrections = np.zeros_like(poses)
        for k in np.flatnonzero(outside):
            corrections[k] = _nearest_inside(follower, poses[k], targets[k]) - poses[k]
        if not corrections.any():
            break
        poses = poses + _spread(corrections, times)
    return poses


def _nearest_inside(
    follower: LeastContactMotion, pose: FloatArray, target: FloatArray
) -> FloatArray:
    """Pose (n,) inside all ranges whose frame is nearest to a target (3,), or the one given."""
    from scipy.optimize import minimize  # only here: it takes long to import

    def at(moved: FloatArray) -> FloatArray:
        return np.asarray(pose + moved / (_MM * follower.scale))

    def distance(moved: FloatArray) -> tuple[float, FloatArray]:
        position, jacobian = follower.placed(at(moved))
        error = _MM * (position - target)
        value = float(error @ error + _NEARNESS**2 * moved @ moved)
        return value, 2.0 * (error @ jacobian + _NEARNESS**2 * moved)

    inside = {
        'type': 'ineq',
        'fun': lambda moved: _MM * (follower.room(at(moved))[0] - MARGIN),
        'jac': lambda moved: follower.room(at(moved))[1],
    }
    try:
        optimum = minimize(
            distance, np.zeros(len(pose)), jac=True, method='SLSQP', constraints=[inside],
            options={'ftol': 1e-12, 'maxiter': 100},
        )  # fmt: skip
        stays_inside = follower.room(at(optimum.x))[0].min() > 0.0
    except MasticatorError:  # out of reach on the way
        return pose
    return at(optimum.x) if stays_inside else pose


def _spread(corrections: FloatArray, times: FloatArray) -> FloatArray:
    """Smooth curves (N, n) no smaller than the corrections (N, n), and zero far from them."""
    from scipy import ndimage  # only here: it takes long to import

    reach = max(1, round(_SPREAD / (2.0 * float(np.median(np.diff(times))))))
    window = np.hanning(2 * reach + 3)[1:-1]
    window /= window.sum()

    def envelope(sizes: FloatArray) -> FloatArray:
        raised = ndimage.maximum_filter1d(sizes, 2 * reach + 1, axis=0, mode='nearest')
        return np.asarray(ndimage.convolve1d(raised, window, axis=0, mode='nearest'))

    return envelope(np.maximum(corrections, 0.0)) - envelope(np.maximum(-corrections, 0.0))
