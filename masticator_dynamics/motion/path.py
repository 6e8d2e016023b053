# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion in independent coordinates as one function of time, twice continuously differentiable."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import factorial

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.motion.array_checks import checked_end, checked_rows, checked_times, shown
from masticator_dynamics.motion.least_jerk import QUINTIC, least_jerk_derivatives

Derivatives = tuple[npt.ArrayLike, npt.ArrayLike]

# d^k/ds^k of s^p as a factor: rows k = 0, 1, 2, columns p = 0 ... 5.
_FACTOR = np.array(
    [
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        [0.0, 0.0, 2.0, 6.0, 12.0, 20.0],
    ]
)


_JUMP = 1e-6  # relative, between paths that are joined


class MotionPath:
    """Piecewise quintic motion; immutable, cheap to sample.

    Position, velocity and acceleration are values and derivatives of one function of time,
    continuous between the first and the last knot. Outside, the path holds its end positions at
    rest; at the end times themselves it returns the derivatives of the motion.

    Parameters
    ----------
    knots : (S + 1,) array
        s, strictly increasing; S = 0 is a pose that is held.
    coefficients : (S, 6, n) array
        Of powers 0 to 5 of (t - knots[k]), in the units of the coordinates.
    hold : (n,) array, optional
        Position after the end; needed for S = 0, otherwise the end of the last segment.
    names : sequence of str
        Independent coordinates in order, for messages.
    """

    __slots__ = ('_breaks', '_first', '_last', '_table', 'coefficients', 'names', 'knots')

    def __init__(
        self,
        knots: npt.ArrayLike,
        coefficients: npt.ArrayLike,
        *,
        hold: npt.ArrayLike | None = None,
        names: Sequence[str] = (),
    ):
        self.knots = checked_times(knots)
        self.names = tuple(names)
        c = np.array(coefficients, dtype=float)
        if c.ndim != 3 or c.shape[:2] != (len(self.knots) - 1, 6):
            raise InputError(
                f'coefficients of shape {c.shape}, expected ({len(self.knots) - 1}, 6, n)'
            )
        self.coefficients = c
        self._breaks: list[float] = self.knots.tolist()
        # One row of powers times one block gives position, velocity and acceleration at once.
        table = np.zeros((len(c), 6, 3, c.shape[2]))
        for k in range(3):
            table[:, : 6 - k, k] = c[:, k:] * _FACTOR[k, k:, None]
        self._table = table.reshape(len(c), 6, 3 * c.shape[2])
        if hold is not None:
            self._last = np.array(hold, dtype=float)
            self._first = c[0, 0].copy() if len(c) else self._last
        elif len(c):
            self._first = c[0, 0].copy()
            self._last = self._segment(len(c) - 1, self._breaks[-1])[0].copy()
        else:
            raise InputError('a path without segments needs the position that it holds')
        for array in (self.knots, self.coefficients, self._first, self._last):
            array.flags.writeable = False

    @classmethod
    def constant(
        cls, position: npt.ArrayLike, *, time: float = 0.0, names: Sequence[str] = ()
    ) -> 'MotionPath':
        """Hold one pose, position (n,), at rest.

        Parameters
        ----------
        position : (n,) array_like
            Independent coordinates, m and rad.
        time : float
            Start time, s.
        names : sequence of str
            Of the coordinates, for messages.
        """
        p = checked_rows(np.array([position]), 'position', np.array([time]), names)[0]
        return cls([time], np.empty((0, 6, len(p))), hold=p, names=names)

    @classmethod
    def interpolate(
        cls, times: npt.ArrayLike, positions: npt.ArrayLike, *, names: Sequence[str] = ()
    ) -> 'MotionPath':
        """Spline through positions alone, without assumptions at the ends.

        The degree is min(5, N - 1): C4 from seven points on, one polynomial below.

        Parameters
        ----------
        times : (N,) array
            s, strictly increasing.
        positions : (N, n) array
            Independent coordinates, m and rad.
        names : sequence of str
            The n coordinates; without them messages count from 0.

        Raises
        ------
        InputError
            For wrong shapes, NaN or infinity, times that do not increase.
        """
        # Imported here: these take a third of a second and 50 MB.
        from scipy.interpolate import KroghInterpolator, make_interp_spline

        t = checked_times(times)
        p = checked_rows(positions, 'position', t, names)
        if len(t) == 1:
            return cls.constant(p[0], time=t[0], names=names)
        if len(t) <= 6:  # one polynomial; the splines of scipy before 1.12 have no even degree
            knots, degree = t[[0, -1]], len(t) - 1
            derivatives = KroghInterpolator(t, p).derivatives(t[0], degree + 1)[:, None]
        else:
            degree = 5
            spline = make_interp_spline(t, p, k=degree)
            knots = np.unique(spline.t)
            derivatives = [spline(knots[:-1], nu=k) for k in range(degree + 1)]
        coefficients = np.zeros((len(knots) - 1, 6, p.shape[1]))
        for k in range(degree + 1):
            coefficients[:, k] = derivatives[k] / factorial(k)
        return cls(knots, coefficients, hold=p[-1], names=names)

    @classmethod
    def through(
        cls,
        times: npt.ArrayLike,
        positions: npt.ArrayLike,
        velocities: npt.ArrayLike | None = None,
        accelerations: npt.ArrayLike | None = None,
        *,
        start: Derivatives | None = None,
        end: Derivatives | None = None,
        names: Sequence[str] = (),
    ) -> 'MotionPath':
        """Go through points, honouring every derivative that is given.

        Derivatives that are not given are those of the C2 motion with the least integral of
        squared jerk: with positions alone the quintic spline (C4), with velocities C3.

        Parameters
        ----------
        times : (N,) array
            s, strictly increasing.
        positions, velocities, accelerations : (N, n) array
            At the times; accelerations only together with velocities.
        start, end : pair of (n,) arrays, optional
            Velocity and acceleration at the first and last point; they override the rows of
            `velocities` and `accelerations`.
        names : sequence of str
            Independent coordinates in order, for messages.

        Raises
        ------
        InputError
            For wrong shapes, NaN or infinity (naming coordinate and time), times that do not
            increase, accelerations without velocities.
        """
        t = checked_times(times)
        p = checked_rows(positions, 'position', t, names)
        if accelerations is not None and velocities is None:
            raise InputError('accelerations are given without velocities')
        rows_by_name = (('velocity', velocities), ('acceleration', accelerations))
        derivatives = np.zeros((len(t), 2, p.shape[1]))
        prescribed = np.zeros((len(t), 2), dtype=bool)
        for k, (what, rows) in enumerate(rows_by_name):
            if rows is not None:
                derivatives[:, k] = checked_rows(rows, what, t, names, p.shape[1])
                prescribed[:, k] = True
            for index, pair in ((0, start), (-1, end)):
                if pair is not None:
                    derivatives[index, k] = checked_end(pair[k], what, p.shape[1])
                    prescribed[index, k] = True
        if len(t) == 1:
            return cls.constant(p[0], time=t[0], names=names)
        if len(t) == 2 and not prescribed.any():
            prescribed[0, 1] = True  # every parabola has no jerk: take the straight line
        return cls._hermite(t, p, least_jerk_derivatives(t, p, derivatives, prescribed), names)

    @classmethod
    def _hermite(
        cls, t: FloatArray, p: FloatArray, derivatives: FloatArray, names: Sequence[str]
    ) -> 'MotionPath':
        """One quintic per segment from positions and derivatives (N, 2, n) at its ends."""
        v, a = derivatives[:, 0], derivatives[:, 1]
        h = np.diff(t)[:, None]
        # Subtracting the start keeps full precision far from zero.
        ends = np.stack(
            [
                np.zeros_like(p[1:]),
                h * v[:-1],
                h**2 * a[:-1],
                p[1:] - p[:-1],
                h * v[1:],
                h**2 * a[1:],
            ],
            axis=1,
        )
        c = (QUINTIC @ ends) / h[:, None] ** np.arange(6.0)[None, :, None]
        c[:, 0] = p[:-1]
        return cls(t, c, hold=p[-1], names=names)

    @classmethod
    def joined(cls, paths: Iterable['MotionPath']) -> 'MotionPath':
        """One path from paths that follow each other.

        Raises
        ------
        InputError
            When one does not continue the one before: times must be equal, positions and
            derivatives equal within 1e-6 times the larger amount (at least one unit).
        """
        parts = list(paths)
        for before, after in zip(parts, parts[1:], strict=False):
            if before.end != after.start:
                raise InputError(
                    f'a path that ends at {before.end:.9g} s cannot be followed by one that '
                    f'starts at {after.start:.9g} s'
                )
            for what, ending, beginning in zip(
                ('position', 'velocity', 'acceleration'),
                before(before.end),
                after(after.start),
                strict=True,
            ):
                worst = np.max(np.abs(ending - beginning) / np.maximum(1.0, np.abs(ending)))
                if not worst <= _JUMP:
                    raise InputError(f'{what} jumps by {worst:.3g} at {after.start:.9g} s')
        knots = np.concatenate([parts[0].knots, *[part.knots[1:] for part in parts[1:]]])
        coefficients = np.concatenate([part.coefficients for part in parts])
        return cls(knots, coefficients, hold=parts[-1]._last, names=parts[0].names)

    @property
    def start(self) -> float:
        """Time of the first knot, s."""
        return self._breaks[0]

    @property
    def end(self) -> float:
        """Time of the last knot, s."""
        return self._breaks[-1]

    @property
    def dimension(self) -> int:
        """Number of coordinates n."""
        return len(self._last)

    def __call__(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration, (n,) each, at one time in s."""
        breaks = self._breaks
        if time < breaks[0] or time > breaks[-1] or len(breaks) == 1:
            position = self._first if time < breaks[0] else self._last
            return position.copy(), np.zeros(self.dimension), np.zeros(self.dimension)
        return self._segment(min(bisect_right(breaks, time), len(breaks) - 1) - 1, time)

    def _segment(self, index: int, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        s = time - self._breaks[index]
        s2 = s * s
        row = np.array((1.0, s, s2, s2 * s, s2 * s2, s2 * s2 * s)) @ self._table[index]
        n = row.shape[0] // 3
        return row[:n], row[n : 2 * n], row[2 * n :]

    def sample(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Position, velocity and acceleration, (N, n) each, at times (N,) in s."""
        t = np.asarray(times, dtype=float)
        if t.ndim != 1 or not np.isfinite(t).all():
            raise InputError(f'sample times must be finite and one-dimensional, not {shown(t)}')
        n = self.dimension
        result = np.zeros((len(t), 3, n))
        result[t < self.start, 0] = self._first
        result[t >= self.end, 0] = self._last
        inside = (t >= self.start) & (t <= self.end) & (len(self._breaks) > 1)
        if inside.any():
            index = np.searchsorted(self.knots, t[inside], side='right') - 1
            index = np.minimum(index, len(self.coefficients) - 1)
            powers = (t[inside] - self.knots[index])[:, None] ** np.arange(6.0)
            rows = np.einsum('ip,ipk->ik', powers, self._table[index])
            result[inside] = rows.reshape(-1, 3, n)
        return result[:, 0], result[:, 1], result[:, 2]
