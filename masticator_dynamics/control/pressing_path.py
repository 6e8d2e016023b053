# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a mechanism moves while a point of it presses: one way, prepared before it begins.

Force control is then control of one number, the travel of the point along the pressing direction.
The way is checked for ranges of joints and sockets like any other motion, and everything that the
law and the cycle need of it is in a table by travel: a cycle interpolates a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector
from masticator_dynamics.errors import InputError, LimitError, MasticatorError
from masticator_dynamics.limits.ranges import refuse_outside
from masticator_dynamics.motion.path import MotionPath

if TYPE_CHECKING:
    from masticator_dynamics.engine.evaluation.results import Motion
    from masticator_dynamics.limits.load_limits import LoadLimits
    from masticator_dynamics.mechanism import Mechanism

_STEP, _MOST_ROWS, _LEAST_ROWS = 1e-4, 400, 20  # m between rows of the table
_SLOWEST = 1e-3  # closing velocity per velocity of the fastest motion, below which nothing moves
# The drive layer leads positions by two cycles: a step of acceleration changes the step from
# setpoint to setpoint five times as fast; a fifth is left for the bends of the way and for commands
# half a cycle older or younger than the one before (5.7 in a crack in real time, at 250 Hz).
_LED = 6.0

State = tuple[FloatArray, FloatArray, FloatArray]


@dataclasses.dataclass(frozen=True)
class Servos:
    """The position loops under the path, (n_u,) each in the order of the actuated joints."""

    gain: FloatArray  # N m/rad or N/m
    # Largest that may be commanded, rad/s and rad/s^2, or m.
    velocity: FloatArray
    acceleration: FloatArray
    period: float = 0.002  # of their cycle, s


class PressingPath:
    """The way of a point along a direction, by its travel from where it starts.

    Parameters
    ----------
    mechanism : Mechanism
        For one thread.
    frame : str
        URDF link of the platform at whose origin it presses.
    direction : array_like, shape (3,)
        In which it presses, base axes, of any length.
    start : array_like, shape (n_y,)
        Independent positions where it begins.
    length : float
        Travel that is prepared, m.
    servos : Servos
    towards : array_like, shape (n_y,), optional
        Go straight in the independent positions towards these and beyond, so that the point is
        hard pressed there, teeth on teeth. Otherwise the point goes straight along the direction;
        of the motions that do this, the one of least kinetic energy.

    Attributes
    ----------
    length : float
        m.
    hard : float
        Travel at which something hard may be met, m; inf: nowhere.
    stiffest : float
        Largest stiffness of the drives at the point, N/m.
    velocity, least_acceleration : float
        Of the travel that no drive is too slow for anywhere, m/s and m/s^2.

    Raises
    ------
    InputError
        For an unknown frame, or a direction in which it cannot move.
    LimitError, ReachError
        If the way leaves a range, saying after which travel.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        frame: str,
        direction: npt.ArrayLike,
        start: npt.ArrayLike,
        length: float,
        servos: Servos,
        towards: npt.ArrayLike | None = None,
    ):
        self.frame, self._mechanism = frame, mechanism
        if frame not in mechanism.frames:
            raise InputError(f'no frame {frame!r}; there are: {", ".join(mechanism.frames)}')
        if not (length > 0.0 and np.isfinite(length)):
            raise InputError(f'a travel of {length} m cannot be prepared')
        self.direction = _unit(direction)
        y = as_finite_vector(start, 'start', len(mechanism.independent))
        rows = int(np.clip(round(length / _STEP), _LEAST_ROWS, _MOST_ROWS)) + 1
        travels = np.linspace(0.0, length, rows)
        self.hard = np.inf
        if towards is None:
            positions, rates = self._straight(y, travels)
        else:
            end = as_finite_vector(towards, 'towards', len(y))
            positions, rates = self._to(y, end, travels)
        self.path = MotionPath.through(travels, positions, rates, names=mechanism.independent)
        self.length = length
        self._refuse_outside(travels)
        self._per_row = (rows - 1) / length
        self._table = np.array([self._row(s, servos) for s in travels.tolist()])
        lead = np.abs(self._table[:, self._lead]).max(axis=0)
        self.stiffest = float(self._table[:, 0].max())
        self.velocity = float((servos.velocity / np.maximum(lead, 1e-12)).min())
        self.least_acceleration = float(self._table[:, 1].min())

    def state(self, travel: float, velocity: float, acceleration: float) -> State:
        """Independent positions, velocities and accelerations (n_y,) of a travel and its rates."""
        y, slope, bend = self.path(min(max(travel, 0.0), self.length))
        return y, slope * velocity, slope * acceleration + bend * velocity**2

    def stiffness(self, travel: float) -> float:
        """Of the drives' position loops at the point, N/m."""
        return float(self._at(travel)[0])

    def acceleration(self, travel: float) -> float:
        """That no drive is too slow for there, m/s^2."""
        return float(self._at(travel)[1])

    def measured(self, positions: FloatArray, near: float) -> float:
        """Travel, m, from measured positions (n_u,) of the actuated joints.

        One Newton step from a travel that is near: that of the cycle before.
        """
        row = self._at(near)
        return near + float(row[self._feel] @ (positions - row[self._joints]))

    def wrench(self, travel: float, force: float) -> FloatArray:
        """On the platform (6,), base axes, of what is pressed with a force, N."""
        return force * self._at(travel)[-6:]

    def refuse_beyond_motors(
        self, most: float, scale: float | None, limits: LoadLimits | None = None
    ) -> None:
        """Refuse a force, N, that motors cannot give somewhere on the way.

        Parameters
        ----------
        limits : LoadLimits, optional
            Within which efforts are chosen: motors to spare may share what least norm asks of one.

        Raises
        ------
        InputError
            With joint, effort and limit, times a scale.
        """
        mechanism, travels = self._mechanism, np.linspace(0.0, self.length, 11)
        rows = np.array([self.state(s, 0.0, 0.0)[0] for s in travels.tolist()])
        still, wrenches = np.zeros_like(rows), [self.wrench(s, most) for s in travels.tolist()]
        wrench = np.array(wrenches)
        try:
            if limits is not None:
                mechanism.feedforward_batch(rows, still, still, wrench, limits=limits)
            else:
                batch = mechanism.feedforward_batch(rows, still, still, wrench)
                refuse_outside(mechanism, travels, batch, scale)
        except MasticatorError as error:
            _, _, what = str(error).partition(': ')
            raise InputError(f'{most:g} N at {self.frame} are beyond the motors: {what}') from None

    def felt(self, force: npt.ArrayLike) -> tuple[float, float]:
        """How much of a force (3,) on the point, base axes, presses, and how much is lateral, N."""
        f = np.asarray(force, dtype=float)
        along = float(self.direction @ f)
        return -along, float(np.linalg.norm(f - along * self.direction))

    def _at(self, travel: float) -> FloatArray:
        place = min(max(travel * self._per_row, 0.0), len(self._table) - 1.000001)
        k = int(place)
        row = self._table[k]
        return row + (place - k) * (self._table[k + 1] - row)

    def _row(self, travel: float, servos: Servos) -> FloatArray:
        mechanism = self._mechanism
        count = len(mechanism.actuated)
        self._joints, self._feel = slice(2, 2 + count), slice(2 + count, 2 + 2 * count)
        self._lead = slice(2 + 2 * count, 2 + 3 * count)
        y, slope, _ = self.path(travel)
        motion = mechanism.solve(y)
        turned = motion.tangent[mechanism.actuated_rows]
        closing = self.direction @ mechanism.frame_jacobian(motion, self.frame)[:3]
        compliance = np.linalg.solve(turned.T @ (servos.gain[:, None] * turned), closing)
        feel = closing @ np.linalg.pinv(turned)
        wrench = mechanism.wrench_on_platform(
            motion, -self.direction, np.zeros(3), point=self.frame
        )
        joints = motion.q[mechanism.actuated_rows]
        stiffness, lead = 1.0 / float(closing @ compliance), turned @ slope
        fast = float((servos.acceleration / np.maximum(np.abs(lead), 1e-12)).min()) / _LED
        return np.concatenate([[stiffness, fast], joints, feel, lead, wrench])

    def _to(self, y: FloatArray, end: FloatArray, travels: FloatArray) -> tuple[FloatArray, ...]:
        """Positions and rates (N, n_y) by travel, on the line to an end and beyond."""
        mechanism, way = self._mechanism, end - y
        if not way.any():
            raise InputError('it is already where it should press; nothing is left to travel')
        height = [
            float(self.direction @ mechanism.frame_pose(mechanism.solve(p), self.frame).position)
            for p in (y, end)
        ]
        self.hard = height[1] - height[0]
        if not self.hard > 0.0:
            raise InputError(
                f'on its way {self.frame} moves {self.hard:.3g} m along the direction: '
                'the wrong way'
            )
        return self._integrated(y, travels, lambda motion: way)

    def _straight(self, y: FloatArray, travels: FloatArray) -> tuple[FloatArray, ...]:
        mechanism = self._mechanism

        def way(motion: Motion) -> FloatArray:
            mass = mechanism.mass_matrix(motion)
            place = mechanism.frame_jacobian(motion, self.frame)[:3]
            weighted = np.linalg.solve(mass, place.T)
            closing = weighted @ np.linalg.pinv(place @ weighted, rcond=1e-9) @ self.direction
            missed = place @ closing - self.direction
            if not np.linalg.norm(missed) < 1e-6:
                raise InputError(
                    f'{self.frame} cannot move straight along {_told(self.direction)}: it would '
                    f'miss that by {np.linalg.norm(missed):.2g} m per m'
                )
            return closing

        return self._integrated(y, travels, way)

    def _integrated(
        self, y: FloatArray, travels: FloatArray, way: Callable[[Motion], FloatArray]
    ) -> tuple[FloatArray, ...]:
        """Follow ways (n_y,) of any length by fourth-order Runge-Kutta steps of the travel."""
        step, positions, rates = travels[1] - travels[0], [y], []

        def rate(y: FloatArray) -> FloatArray:
            motion = self._mechanism.solve(y)
            along = way(motion)
            row = self.direction @ self._mechanism.frame_jacobian(motion, self.frame)[:3]
            closing = float(row @ along)
            if not closing > _SLOWEST * np.linalg.norm(row) * np.linalg.norm(along):
                raise InputError(f'{self.frame} cannot be moved along {_told(self.direction)}')
            return np.asarray(along / closing)

        for travel in travels[:-1].tolist():
            y = positions[-1]
            try:
                a = rate(y)
                b = rate(y + 0.5 * step * a)
                c = rate(y + 0.5 * step * b)
                d = rate(y + step * c)
            except InputError:
                raise
            except MasticatorError as error:
                raise type(error)(
                    f'{self.frame} cannot travel farther than {1e3 * travel:.3g} mm: {error}'
                ) from None
            rates.append(a)
            positions.append(y + step * (a + 2.0 * b + 2.0 * c + d) / 6.0)
        rates.append(rate(positions[-1]))
        return np.array(positions), np.array(rates)

    def _refuse_outside(self, travels: FloatArray) -> None:
        """Refuse a way outside of the ranges of joints and sockets."""
        positions = self.path.sample(travels)[0]
        still = np.zeros_like(positions)
        batch = self._mechanism.feedforward_batch(positions, still, still)
        try:
            refuse_outside(self._mechanism, travels, batch, None)
        except LimitError as error:
            when, _, what = str(error).partition(': ')
            travel = float(when.split()[1])
            raise LimitError(
                f'{self.frame} cannot travel {1e3 * self.length:.3g} mm: after '
                f'{1e3 * travel:.3g} mm {what}'
            ) from None


def _unit(direction: npt.ArrayLike) -> FloatArray:
    vector = as_finite_vector(direction, 'direction', 3)
    size = float(np.linalg.norm(vector))
    if not size > 1e-9:
        raise InputError(f'the pressing direction {_told(vector)} has no length')
    return vector / size


def _told(direction: FloatArray) -> str:
    return f'({", ".join(f"{component:.3g}" for component in direction)})'
