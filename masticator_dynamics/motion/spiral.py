# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spiral along which S3 moves the planar 4-RRR: slow and curved at first, then faster."""

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_number
from masticator_dynamics.errors import InputError
from masticator_dynamics.motion.array_checks import shown
from masticator_dynamics.motion.path import MotionPath

COORDINATES = ('x', 'y', 'phi')
_KNOTS = 801  # quintics between them follow the default spiral to 1e-12 m


@dataclasses.dataclass(frozen=True)
class Spiral:
    """Motion (x, y, phi) on a spiral about the origin, phi constant (S3 Sec. 4).

    Polar coordinates of the point are radius * (t / duration)^2 and turn * t / duration. It starts
    from rest, with acceleration, and ends in motion. S3 prints the ends (0, 0) and (1.2, -17.5) mm,
    0.4 s and phi = 2 pi / 3; that the angle grows at a constant rate, to one whole turn more than
    the end needs, is our reading of its figures.

    Parameters
    ----------
    radius : float
        At the end, m.
    turn : float
        Polar angle at the end, rad.
    duration : float
        s.
    phi : float
        Orientation of the platform, rad.

    Raises
    ------
    InputError
        For a duration that is not positive, or numbers that are not finite.
    """

    radius: float = 17.541e-3
    turn: float = math.radians(273.92 + 360.0)
    duration: float = 0.4
    phi: float = 2.0 * math.pi / 3.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for field in dataclasses.fields(self):
            as_number(getattr(self, field.name), f'{field.name} of the spiral')
        if self.duration <= 0.0:
            raise InputError(f'duration of the spiral is {self.duration} s, not positive')

    def sample(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration, (N, 3) each, at times (N,) in s.

        Raises
        ------
        InputError
            For times outside 0 to the duration.
        """
        t = np.asarray(times, dtype=float)
        if t.ndim != 1 or not ((t >= 0.0) & (t <= self.duration)).all():
            raise InputError(
                f'times of the spiral must be between 0 and {self.duration} s, not {shown(t)}'
            )
        # The point is Re, Im of r exp(i angle); its derivatives follow by the product rule.
        s = t / self.duration
        r, r_dot, r_ddot = (self.radius * part for part in (s**2, 2.0 * s, np.full_like(s, 2.0)))
        direction, turn = np.exp(1j * self.turn * s), 1j * self.turn
        rows = (
            r * direction,
            (r_dot + turn * r) * direction / self.duration,
            (r_ddot + 2.0 * turn * r_dot + turn**2 * r) * direction / self.duration**2,
        )
        angles = (self.phi, 0.0, 0.0)
        position, velocity, acceleration = (
            np.column_stack([row.real, row.imag, np.full_like(t, angle)])
            for row, angle in zip(rows, angles, strict=True)
        )
        return position, velocity, acceleration

    def path(self) -> MotionPath:
        """Return the spiral as a path that can be sampled at any time."""
        times = np.linspace(0.0, self.duration, _KNOTS)
        return MotionPath.through(times, *self.sample(times), names=COORDINATES)
