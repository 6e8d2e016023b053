# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses that bring a frame's origin to given points while the contacts move least."""

from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import FrameChain
from masticator_dynamics.errors import InputError, ReachError, SingularityError
from masticator_dynamics.motion.path import MotionPath

if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.results import Motion
    from masticator_dynamics.mechanism import Mechanism

_MARGIN = 0.1  # fraction of a contact's range, at either end, entered only if necessary
_STIFFNESS = 4.0
# What the free coordinates minimise: weights of the contacts' displacements along base axes, and of
# the coordinates' own.
CRITERIA = {
    'contacts': ((1.0, 1.0, 1.0), 0.1),
    'lateral': ((0.1, 1.0, 0.1), 0.1),
    'coordinates': ((0.0, 0.0, 0.0), 1.0),
}
_LARGEST_STEP = 0.02  # m
_CONVERGED = 1e-10  # m
_UNRESOLVED = 1e-9  # m
_ITERATIONS = 100
_RANK = 1e-6


class LeastContactMotion:
    """Solves for the independent coordinates that put one frame's origin at given points.

    Three equations leave n - 3 coordinates free (masticator: one). They are chosen to minimise

        sum |w (T_k - T_k,home)|^2 + c^2 |s (y - y_home)|^2 + reluctance

    over the contacts k with frame origins T_k. The default criterion, 'contacts', has w = (1, 1, 1)
    and c = 0.1: for the masticator the condyles move as little as the incisor allows, forward,
    sideways and in yaw alike. The second term (s converts coordinates to metres of platform
    motion; c is one without contacts) decides what the contacts leave open. 'lateral' gives
    sideways motion ten times the weight, w = (0.1, 1, 0.1); 'coordinates' keeps the platform
    itself near home, w = 0 and c = 1. The reluctance is zero in the inner 80 % of every contact
    range and rises smoothly towards its ends, so the free coordinates keep a contact inside where
    they can, and the solution stays a smooth function of the target.

    Parameters
    ----------
    mechanism : Mechanism
    frame : str
        Link whose origin is placed.
    criterion : 'contacts', 'lateral' or 'coordinates'
        What is minimised.
    """

    def __init__(self, mechanism: 'Mechanism', frame: str, criterion: str = 'contacts'):
        if criterion not in CRITERIA:
            raise InputError(f'no criterion {criterion!r}; there are: {", ".join(CRITERIA)}')
        if len(mechanism.independent) < 3:
            raise InputError(
                f'{mechanism.name} has {len(mechanism.independent)} independent coordinates; '
                f'placing {frame} takes at least 3'
            )
        self.mechanism, self.frame = mechanism, frame
        self.home = np.array(mechanism.home.y, dtype=float)
        self._chain = FrameChain(mechanism, frame)
        self.home_position = mechanism.frame_pose(mechanism.home, frame).position
        contacts = mechanism.description.contacts
        self._contacts = [FrameChain(mechanism, contact.frame) for contact in contacts]
        self._contact_homes = [chain.poses(mechanism.home.q)[0] for chain in self._contacts]
        self._ranges = [_bounds(contact.range) for contact in contacts]
        axes, self._weight = CRITERIA[criterion]
        self._axes = np.array(axes)
        if not contacts:
            self._weight = 1.0
        self.scale = self._metres_per_unit()

    def _metres_per_unit(self) -> FloatArray:
        """How far a unit of each coordinate moves the platform, rotation included, m per unit."""
        mechanism, platform = self.mechanism, self.mechanism.description.platform
        origin = mechanism.frame_pose(mechanism.home, platform).position
        lever = max(float(np.linalg.norm(self.home_position - origin)), 1e-3)
        jacobian = mechanism.frame_jacobian(mechanism.home, platform)
        turning = lever * np.linalg.norm(jacobian[3:], axis=0)
        shifting = np.linalg.norm(jacobian[:3], axis=0)
        scale: FloatArray = np.maximum(np.hypot(shifting, turning), 1e-6)
        return scale

    def solve(self, targets: FloatArray, times: FloatArray) -> FloatArray:
        """Independent coordinates (N, n) that put the frame's origin at `targets`.

        Every row is solved from home, by Gauss-Newton with limited steps, independently of the
        others. Rows are solved together because that is some twenty times as fast.

        Parameters
        ----------
        targets : (N, 3) array
            m, base axes.
        times : (N,) array
            s, for messages.

        Raises
        ------
        ReachError, SingularityError
            When a point cannot be reached, naming its time and the remaining distance.
        """
        poses = np.tile(self.home, (len(targets), 1))
        open_rows = np.arange(len(targets))
        for _ in range(_ITERATIONS):
            motion = self.at(poses[open_rows], times[open_rows])
            step, missing = self._step(motion, targets[open_rows])
            size = np.linalg.norm(step, axis=1)
            limited = step * np.minimum(1.0, _LARGEST_STEP / np.maximum(size, 1e-300))[:, None]
            poses[open_rows] += limited / self.scale
            still = (size >= _CONVERGED) | (missing >= _UNRESOLVED)
            if not still.any():
                return poses
            open_rows, amount = open_rows[still], np.maximum(size, missing)[still][0]
        point = np.array2string(targets[open_rows[0]], precision=5)
        raise ReachError(
            f'at t = {times[open_rows[0]]:.6g} s: {self.frame} cannot be brought to {point} m: '
            f'{amount * 1e3:.3g} mm are missing'
        )

    def at(self, poses: FloatArray, times: FloatArray) -> 'Motion':
        """The mechanism at rest at independent positions (N, n); errors name the time."""
        try:
            return self.mechanism.attempt(poses).all()
        except (ReachError, SingularityError) as error:
            raise type(error)(f'at t = {times[error.row]:.6g} s: {error.without_row}') from error

    def _step(self, motion: 'Motion', targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gauss-Newton steps (N, n) in metres, and errors (N,) that no coordinate acts on, m."""
        position, jacobian = self._chain.jacobians(motion.q, motion.tangent)
        jacobian = jacobian / self.scale
        inverse = _inverse(jacobian)
        error = targets - position
        step = _times(inverse, error)
        missing = np.linalg.norm(error - _times(jacobian, step), axis=1)
        free: FloatArray = np.eye(len(self.home)) - inverse @ jacobian
        residual, slope = self._criterion(motion)
        change = _inverse(slope @ free)
        step = step - _times(free, _times(change, residual + _times(slope, step)))
        return step, missing

    def _criterion(self, motion: 'Motion') -> tuple[FloatArray, FloatArray]:
        """Residuals of the criterion (N, r), m, and their derivatives by the scaled coordinates."""
        residuals = [self._weight * self.scale * (motion.y - self.home)]
        slopes = [np.tile(self._weight * np.eye(len(self.home)), (len(motion.y), 1, 1))]
        contacts = zip(self._contacts, self._contact_homes, self._ranges, strict=True)
        for chain, home_position, (lower, upper) in contacts:
            position, jacobian = chain.jacobians(motion.q, motion.tangent)
            jacobian = jacobian / self.scale
            margin = _MARGIN * (upper - lower)  # infinite where there is no range
            with np.errstate(invalid='ignore'):  # fmax and fmin take 0 where there is no range
                above = np.fmax(position - upper + margin, 0.0)
                below = np.fmin(position - lower - margin, 0.0)
            depth = above + below
            ratio = np.abs(depth) / margin
            residuals += [self._axes * (position - home_position), _STIFFNESS * ratio * depth]
            slopes += [
                self._axes[:, None] * jacobian,
                2.0 * _STIFFNESS * ratio[:, :, None] * jacobian,
            ]
        return np.concatenate(residuals, axis=1), np.concatenate(slopes, axis=1)

    def distances(self, q: FloatArray, targets: FloatArray) -> FloatArray:
        """Distances (N,) of the frame at tree positions (N, n_q) from targets (N, 3), m."""
        return np.asarray(np.linalg.norm(self._chain.poses(q)[0] - targets, axis=1))

    def placed(self, pose: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Position (3,) of the frame at a pose (n,), and its derivatives by scaled coordinates."""
        motion = self.mechanism.solve(pose)
        position, jacobian = self._chain.jacobians(motion.q[None], motion.tangent[None])
        return position[0], jacobian[0] / self.scale

    def room(self, pose: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distance (r,) to every end of a range at a pose (n,), m or rad, and its derivatives.

        Derivatives are by the scaled coordinates; ranges are those of contacts and tree joints.
        """
        motion, limits = self.mechanism.solve(pose), self.mechanism.limits
        values, slopes = [motion.q], [motion.tangent / self.scale]
        for chain in self._contacts:
            position, jacobian = chain.jacobians(motion.q[None], motion.tangent[None])
            values.append(position[0])
            slopes.append(jacobian[0] / self.scale)
        lower, upper = (
            np.concatenate([joints, *(ends[side] for ends in self._ranges)])
            for side, joints in enumerate((limits.lower, limits.upper))
        )
        value, slope = np.concatenate(values), np.concatenate(slopes)
        room, slope = np.concatenate([value - lower, upper - value]), np.vstack([slope, -slope])
        ends = np.isfinite(room)
        return room[ends], slope[ends]

    def joint_velocities(self, path: MotionPath, times: FloatArray) -> FloatArray:
        """Velocities (N, n_q) of the tree joints along a path, rad/s or m/s."""
        poses, rates, _ = path.sample(times)
        return _times(self.at(poses, times).tangent, rates)

    def margin(self, q: FloatArray) -> float:
        """Smallest distance of a contact to the ends of its range at tree positions (N, n_q), m.

        Negative outside, infinite without ranges.
        """
        margin = np.inf
        for chain, (lower, upper) in zip(self._contacts, self._ranges, strict=True):
            position, _ = chain.poses(q)
            margin = min(margin, (position - lower).min(), (upper - position).min())
        return float(margin)


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Matrix by vector, row by row."""
    product: FloatArray = np.einsum('kij,kj->ki', matrices, vectors)
    return product


def _inverse(matrices: FloatArray) -> FloatArray:
    """Pseudo-inverses, row by row."""
    return np.asarray(np.linalg.pinv(matrices, rcond=_RANK), dtype=np.float64)


def _bounds(contact_range: object) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end per base axis, m; infinite where the description gives none."""
    ends = [getattr(contact_range, axis) or (-np.inf, np.inf) for axis in 'xyz']
    lower, upper = np.array(ends, dtype=float).T
    return lower, upper
