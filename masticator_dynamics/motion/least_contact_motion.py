# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The pose that brings a frame's origin to a point while the contacts move least."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.errors import InputError, ReachError

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism, Motion

FloatArray = npt.NDArray[np.float64]

_MARGIN = 0.1  # part of a contact's range, at either end, that is entered only when it must be
_STIFFNESS = 4.0
_COORDINATES = 0.1
_LARGEST_STEP = 0.02  # m
_CONVERGED = 1e-10  # m
_UNRESOLVED = 1e-9  # m
_ITERATIONS = 100


class LeastContactMotion:
    """Solves for the independent coordinates that put one frame's origin at a given point.

    Three equations leave n - 3 coordinates free (masticator: one). They are chosen to minimise

        sum |T_k - T_k,home|^2 + 0.1^2 |s (y - y_home)|^2 + reluctance

    over the contacts k with frame origins T_k: for the masticator the condyles move as little as
    the incisor allows, forward, sideways and in yaw alike. The second term (s turns coordinates
    into metres of platform motion; weight one without contacts) decides what contacts leave
    open. The reluctance is zero in the inner 80 % of every contact range and rises smoothly
    towards its ends, so the free coordinates keep a contact inside where they can, and the
    solution stays a smooth function of the target.

    Parameters
    ----------
    mechanism : Mechanism
    frame : str
        Link whose origin is placed.
    """

    def __init__(self, mechanism: 'Mechanism', frame: str):
        if len(mechanism.independent) < 3:
            raise InputError(
                f'{mechanism.name} has {len(mechanism.independent)} independent coordinates; '
                f'placing {frame} takes at least 3'
            )
        self.mechanism, self.frame = mechanism, frame
        self.home = np.array(mechanism.home.y, dtype=float)
        self.home_position = mechanism.frame_pose(mechanism.home, frame).position.copy()
        self._scale = self._metres_per_unit()
        self._contacts = mechanism.description.contacts
        self._homes = [
            mechanism.frame_pose(mechanism.home, c.frame).position.copy() for c in self._contacts
        ]
        self._ranges = [_bounds(c.range) for c in self._contacts]
        self._weight = _COORDINATES if self._contacts else 1.0

    def _metres_per_unit(self) -> FloatArray:
        """How far a unit of each coordinate moves the platform, turning included, m per unit."""
        mechanism, platform = self.mechanism, self.mechanism.description.platform
        origin = mechanism.frame_pose(mechanism.home, platform).position
        lever = max(float(np.linalg.norm(self.home_position - origin)), 1e-3)
        jacobian = mechanism.frame_jacobian(mechanism.home, platform)
        turning = lever * np.linalg.norm(jacobian[3:], axis=0)
        shifting = np.linalg.norm(jacobian[:3], axis=0)
        scale: FloatArray = np.maximum(np.hypot(shifting, turning), 1e-6)
        return scale

    def solve(self, target: FloatArray, guess: FloatArray) -> FloatArray:
        """Independent coordinates (n,) with the frame's origin at `target` (3,), base axes, m.

        Raises
        ------
        ReachError
            When the point cannot be reached, naming what is missing.
        """
        y = np.array(guess, dtype=float)
        for _ in range(_ITERATIONS):
            motion = self.mechanism.solve(y)
            step, missing = self._step(motion, y, target)
            size = float(np.linalg.norm(step))
            y += step * min(1.0, _LARGEST_STEP / max(size, 1e-300)) / self._scale
            if size < _CONVERGED and missing < _UNRESOLVED:
                return y
        raise ReachError(
            f'{self.frame} cannot be brought to {np.array2string(target, precision=5)} m: '
            f'{max(missing, size) * 1e3:.3g} mm are missing'
        )

    def _step(
        self, motion: 'Motion', y: FloatArray, target: FloatArray
    ) -> tuple[FloatArray, float]:
        """Gauss-Newton step in metres, and the part of the error no coordinate acts on, m."""
        error = target - self.mechanism.frame_pose(motion, self.frame).position
        jacobian = self.mechanism.frame_jacobian(motion, self.frame)[:3] / self._scale
        left, values, right = np.linalg.svd(jacobian)
        rank = int(np.count_nonzero(values > 1e-6))
        along = left[:, :rank].T @ error
        step = right[:rank].T @ (along / values[:rank])
        free = right[rank:].T
        if free.shape[1]:
            residual, slope = self._criterion(motion, y)
            step = (
                step
                + free @ np.linalg.lstsq(slope @ free, -(residual + slope @ step), rcond=None)[0]
            )
        return step, float(np.linalg.norm(error - left[:, :rank] @ along))

    def _criterion(self, motion: 'Motion', y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Residuals of the criterion, m, and their derivatives by scaled coordinates."""
        residuals = [self._weight * self._scale * (y - self.home)]
        slopes = [self._weight * np.eye(len(y))]
        for contact, home, (lower, upper) in zip(
            self._contacts, self._homes, self._ranges, strict=True
        ):
            position = self.mechanism.frame_pose(motion, contact.frame).position
            jacobian = self.mechanism.frame_jacobian(motion, contact.frame)[:3] / self._scale
            margin = _MARGIN * (upper - lower)
            with np.errstate(invalid='ignore'):
                depth = np.fmax(position - upper + margin, 0.0)
                depth = np.where(depth > 0.0, depth, -np.fmax(lower + margin - position, 0.0))
                ratio = np.where(np.isfinite(margin), np.abs(depth) / margin, 0.0)
            residuals += [position - home, _STIFFNESS * ratio * np.where(ratio, depth, 0.0)]
            slopes += [jacobian, 2.0 * _STIFFNESS * ratio[:, None] * jacobian]
        return np.concatenate(residuals), np.concatenate(slopes)

    def contact_margin(self, motion: 'Motion') -> float:
        """Smallest distance of a contact to the ends of its range, m; negative outside."""
        margin = np.inf
        for contact, (lower, upper) in zip(self._contacts, self._ranges, strict=True):
            position = self.mechanism.frame_pose(motion, contact.frame).position
            margin = min(margin, *(position - lower), *(upper - position))
        return float(margin)


def _bounds(contact_range: object) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end per base axis, m; infinite where the description gives none."""
    ends = [getattr(contact_range, axis) or (-np.inf, np.inf) for axis in 'xyz']
    lower, upper = np.array(ends, dtype=float).T
    return lower, upper
