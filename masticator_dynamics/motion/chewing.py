# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A built-in chewing motion for the masticator, and the food that resists it.

One stroke per period, as people chew: opening straight down and a little forward, more slowly than
closing; closing on the working side, so that in frontal view the incisor's path is a teardrop;
crushing the food; then the teeth slide home and stay closed for a moment.
"""

import dataclasses
from typing import Literal

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.path import MotionPath

Side = Literal['left', 'right']

COORDINATES = ('x', 'y', 'alpha', 'beta')
WIDEST = 0.50  # fraction of the period at which the mouth is open widest
# Fraction of period; forward x and lateral y (working side positive) in m; alpha and beta in rad.
# For an opening of 0.15 rad; the displacements scale with the opening.
_POSES = np.array(
    [
        [0.00, 0.0, 0.0, 0.0, 0.0],
        [0.24, 1.3e-3, -0.3e-3, -0.002, 0.065],
        [WIDEST, 3.0e-3, 0.2e-3, 0.002, 0.150],
        [0.64, 1.8e-3, 1.5e-3, 0.020, 0.085],
        [0.75, 0.4e-3, 0.8e-3, 0.011, 0.016],
        [0.88, 0.0, 0.0, 0.0, 0.0],
        [1.00, 0.0, 0.0, 0.0, 0.0],
    ]
)
_OPENING = 0.15
_WIDEST_ANGLE = 0.28  # rad, of beta
_WEARING = 0.1  # openings shrink by this fraction from first to last stroke
# Fractions of the period at which the food is touched, resists most and is released.
_TOUCH, _CRUSH, _RELEASE = 0.62, 0.77, 0.90
_DIRECTION = np.array([0.08, 0.12, -1.0]) / np.linalg.norm([0.08, 0.12, -1.0])


def opened_pose(mechanism: Mechanism, tooth: str, gap: float) -> FloatArray:
    """Independent positions (n_y,) of the masticator, opened about `beta` alone from home.

    Parameters
    ----------
    mechanism : Mechanism
        The masticator.
    tooth : str
        A frame.
    gap : float
        How far the tooth is below where it is at home, m.

    Raises
    ------
    InputError
        If no opening within 0.28 rad, where ranges of the cranks end, brings it that far.
    """
    from scipy.optimize import brentq  # only here: it takes long to import

    hinged = np.zeros(len(mechanism.independent))
    hinged[mechanism.independent.index('beta')] = 1.0
    height = mechanism.frame_pose(mechanism.home, tooth).position[2]

    def beyond(angle: float) -> float:
        motion = mechanism.solve(mechanism.home.y + angle * hinged)
        return float(height - mechanism.frame_pose(motion, tooth).position[2] - gap)

    if beyond(_WIDEST_ANGLE) < 0.0:
        widest = beyond(_WIDEST_ANGLE) + gap
        raise InputError(
            f'a gap of {1e3 * gap:.3g} mm is beyond the widest mouth, {1e3 * widest:.3g} mm at '
            f'{tooth}'
        )
    angle = brentq(beyond, 0.0, _WIDEST_ANGLE, xtol=1e-14) if gap else 0.0
    return mechanism.home.y + angle * hinged


def chewing_stroke(
    *, side: Side = 'left', strokes: int = 5, period: float = 1.0, opening: float = _OPENING
) -> MotionPath:
    """Chewing strokes from home to home in (x, y, alpha, beta), at rest between strokes.

    Within a stroke the motion is the C4 spline of least jerk through seven poses; strokes join
    at rest, with zero acceleration.

    Parameters
    ----------
    side : 'left' or 'right'
        Working side.
    strokes : int
        Number of strokes.
    period : float
        Duration of one stroke, s.
    opening : float
        Beta at the widest pose of the first stroke, rad; at most 0.18. At 0.15
        the incisor opens by about 18 mm and the condyles stay more than 1 mm inside their
        sockets.

    Returns
    -------
    MotionPath
        From 0 to strokes * period seconds.

    Raises
    ------
    InputError
        For numbers outside these ranges.
    """
    _check(strokes, period)
    widest, paths = _poses(side, opening), []
    for k in range(strokes):
        times = (_POSES[:, 0] + k) * period
        poses = widest * (1.0 - _WEARING * k / max(strokes - 1, 1))
        # The two closed poses are one rest; as two points of a spline they would make it overshoot.
        paths += [_between_rests(times[:-1], poses[:-1]), _between_rests(times[-2:], poses[-2:])]
    return MotionPath.joined(paths)


def opening_stroke(
    *, side: Side = 'left', start: float = 0.0, period: float = 1.0, opening: float = _OPENING
) -> MotionPath:
    """The first part of a stroke, from home at `start` (s) to its widest pose, at rest there.

    Other parameters and errors are those of :func:`chewing_stroke`.
    """
    _check(1, period)
    rows = _POSES[:, 0] <= WIDEST
    return _between_rests(start + _POSES[rows, 0] * period, _poses(side, opening)[rows])


def _poses(side: Side, opening: float) -> FloatArray:
    """Poses of a stroke (7, 4), m and rad."""
    if not 0.0 < opening <= 0.18:
        raise InputError(f'opening is {opening} rad, expected more than 0 and at most 0.18 rad')
    sign = _sign(side)
    return np.asarray(_POSES[:, 1:] * [1.0, sign, sign, 1.0] * (opening / _OPENING))


def _between_rests(times: FloatArray, poses: FloatArray) -> MotionPath:
    rest = (np.zeros(4), np.zeros(4))
    return MotionPath.through(times, poses, start=rest, end=rest, names=COORDINATES)


@dataclasses.dataclass(frozen=True)
class BiteForceProfile:
    """Force of the food on the mandible as a function of time, C2."""

    side: Side  # working side; the force acts at `frame`
    period: float  # duration of one stroke, s
    peaks: tuple[float, ...]  # largest magnitude in each stroke, N

    @property
    def frame(self) -> str:
        """URDF link at whose origin the force acts."""
        return f'molar_{self.side}'

    def __call__(self, time: float) -> FloatArray:
        """Force (3,) in N, base axes, at one time in s."""
        force: FloatArray = self.sample(np.array([time]))[0]
        return force

    def sample(self, times: npt.ArrayLike) -> FloatArray:
        """Return forces (N, 3) in N, base axes, at times (N,) in s."""
        phase, stroke = np.modf(np.asarray(times, dtype=float) / self.period)
        inside = (phase >= 0.0) & (stroke < len(self.peaks))
        peaks = np.array(self.peaks)[np.where(inside, stroke, 0).astype(int)]
        rise = _smooth_step((phase - _TOUCH) / (_CRUSH - _TOUCH))
        fall = _smooth_step((_RELEASE - phase) / (_RELEASE - _CRUSH))
        magnitude = np.where(inside, peaks * rise * fall, 0.0)
        direction: FloatArray = _DIRECTION * [1.0, _sign(self.side), 1.0]
        return magnitude[:, None] * direction


def bite_force(
    *,
    side: Side = 'left',
    strokes: int = 5,
    period: float = 1.0,
    first: float = 100.0,
    last: float = 60.0,
) -> BiteForceProfile:
    """Food that softens while it is chewed, in phase with `chewing_stroke`.

    Parameters
    ----------
    side, strokes, period
        As for `chewing_stroke`.
    first, last : float
        Largest force of the first and the last stroke, N; geometric in between. It pushes the
        mandible down, slightly forward and towards the working side.

    Raises
    ------
    InputError
        For numbers that make no sense.
    """
    _sign(side)
    _check(strokes, period)
    if not (first > 0.0 and last > 0.0 and np.isfinite(first + last)):
        raise InputError(f'forces are {first} N and {last} N, expected positive numbers')
    return BiteForceProfile(side, period, tuple(np.geomspace(first, last, strokes).tolist()))


def _smooth_step(s: FloatArray) -> FloatArray:
    """Minimum-jerk step from 0 to 1 over 0 <= s <= 1 (Flash and Hogan 1985)."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def _sign(side: str) -> float:
    if side not in ('left', 'right'):
        raise InputError(f"side is {side!r}, expected 'left' or 'right'")
    return 1.0 if side == 'left' else -1.0


def _check(strokes: int, period: float) -> None:
    if strokes < 1:
        raise InputError(f'{strokes} strokes, expected at least one')
    if not (period > 0.0 and np.isfinite(period)):
        raise InputError(f'period is {period} s, expected a positive number')
