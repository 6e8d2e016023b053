# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The mechanism simulated in time: efforts in, motion out, in steps of fixed length."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives.simulator.driven_steps import DrivenPlant
from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector, as_floats
from masticator_dynamics.engine.traced.simulation_data import Regularisation
from masticator_dynamics.errors import InputError, MasticatorError, SimulationError
from masticator_dynamics.motion.motion_rows import rows_at
from masticator_dynamics.robot.twin.food import BROKEN, GAP, Food, pack_food, relax
from masticator_dynamics.robot.twin.sockets import SocketEvent, Sockets
from masticator_dynamics.robot.twin.stops import Stops, check_start, pack_stops
from masticator_dynamics.robot.twin.twin_dynamics import TwinDynamics

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

MOST_REBOUNDS = 4  # in one Runge-Kutta step
_TURNS = 30  # of the search for when a contact is met
_TOUCH = 1e-11  # m, of its end
_LEAST = 1e-9  # part of a step
_REST = 1e-3  # m/s; what rebounds more slowly stays
_MANY = 1000  # steps
LONGEST_SUBSTEP = 2.5e-4  # s; stops and regularised friction are stiff


class MechanismPlant:
    """A mechanism driven by efforts, with friction, food and stops.

    Parameters
    ----------
    mechanism : Mechanism
        Its scratch memory is used: one thread for both.
    step : float
        Length of :meth:`advance`, s, in one or more Runge-Kutta steps of equal length.
    friction : bool or Regularisation
        Of contacts and actuated joints, by the description.
    food : Food, optional
        Between the molars; for mechanisms with such frames.
    stops : bool or Stops
        At the ends of joint and socket ranges, before dead points of limbs, and teeth on teeth.
    start : array_like, shape (n_y,) or (2, n_y), optional
        Independent positions, and velocities; default: home at rest.
    longest_substep : float
        Of a Runge-Kutta step, s.
    restitution : float
        Of contacts that only push, when landed on: fraction of the speed that is returned.
    in_fixture : bool
        Stay at the start until the first effort, like a robot in its homing fixture, where the jaw
        would otherwise hang open.

    Attributes
    ----------
    joints : tuple of str
        Actuated joints.
    step : float
        s.
    time : float
        Since the start, s.
    events : list of SocketEvent
        Contacts that were left and landed on.

    Raises
    ------
    InputError
        For invalid numbers, a start inside a stop, or food where there are no molars.
    SimulationError
        If the start cannot be evaluated.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        step: float = 1e-3,
        friction: bool | Regularisation = False,
        food: Food | None = None,
        stops: bool | Stops = True,
        start: npt.ArrayLike | None = None,
        longest_substep: float = LONGEST_SUBSTEP,
        restitution: float = 0.0,
        in_fixture: bool = False,
    ):
        if not 0.0 <= restitution < 1.0:
            raise InputError(f'restitution is {restitution}, expected 0 or more and less than 1')
        for name, value in (('step', step), ('longest_substep', longest_substep)):
            if not (value > 0.0 and math.isfinite(value)):
                raise InputError(f'{name} is {value} s, expected a positive number')
        self.mechanism = mechanism
        self.joints = mechanism.actuated
        self.step = step
        self._steps_done = 0
        self.substeps = math.ceil(step / longest_substep - 1e-9)
        self.events: list[SocketEvent] = []
        self._restitution, self._in_fixture = restitution, in_fixture
        chosen = (Stops() if stops else None) if isinstance(stops, bool) else stops
        mass = mechanism.mass_matrix(mechanism.home) if chosen else np.zeros(0)
        packed = pack_stops(chosen, mechanism, mass)
        self._bolus, self._food = food, pack_food(food, mechanism)
        self._sockets = Sockets(mechanism, friction, packed, food is not None)
        self._state = _start(mechanism, start)
        self._none = np.zeros(6)
        self._begun = False  # whether the state is where `driven` looks for it
        self._run(np.zeros((1, len(self.joints))), 0)
        if chosen:
            check_start(packed, chosen, mechanism, self.tree_positions)

    def advance(self, efforts: npt.ArrayLike) -> None:
        """Advance by one step.

        Parameters
        ----------
        efforts : array_like, shape (n_u,) or (2 * substeps + 1, n_u)
            N m or N, of motors where there is a transmission: held over the step, or given at the
            start and the middle of every Runge-Kutta step and at the end.

        Raises
        ------
        InputError
            For efforts that are not finite numbers, or too many or too few.
        SimulationError
            If the mechanism gets where its equations cannot be evaluated; the plant then stays at
            the last state where they could.
        """
        rows = as_floats(efforts, 'efforts')
        rows = rows[None] if rows.ndim == 1 else rows
        if rows.shape not in ((1, len(self.joints)), (2 * self.substeps + 1, len(self.joints))):
            raise InputError(
                f'efforts have shape {np.shape(efforts)}, needed is ({len(self.joints)},) or '
                f'({2 * self.substeps + 1}, {len(self.joints)})'
            )
        if not math.isfinite(np.vdot(rows, rows)) and not np.isfinite(rows).all():
            raise InputError(f'efforts are {rows}, not finite numbers')
        self._in_fixture = self._in_fixture and not rows.any()
        if self._in_fixture:
            return
        if self._sockets.pushing:
            for k in range(self.substeps):
                part = rows if len(rows) == 1 else rows[2 * k : 2 * k + 3]
                self._go_on(part, k * self.step / self.substeps, self.step / self.substeps)
        else:
            self._run(rows, self.substeps)
        if self._bolus is not None:
            relax(self._food, self._bolus, self.step)
        self._steps_done += 1

    def driven(self) -> DrivenPlant | None:
        """How servos and this plant move on together, in machine code.

        None where contacts can be left, which is looked for after each part of a step.
        """
        return None if self._sockets.pushing else self._dynamics.driven(self.substeps)

    def begin(self) -> int:
        """Put the state where that code looks for it; returns how many steps it may make now."""
        if self._in_fixture:
            return 0
        relaxes = self._bolus is not None and bool(self._bolus.relaxing_share)
        if relaxes or not self._begun:
            self._dynamics.begin(self._state, self._food, self.step / self.substeps)
        return 1 if relaxes else _MANY

    def end(self, steps: int, failed: bool) -> None:
        """Take the state after so many steps; ``failed`` if the code could not make the next."""
        self._dynamics.end(self._state, self._food, failed)
        self._begun = not failed
        if steps and self._bolus is not None:
            relax(self._food, self._bolus, self.step)
        self._steps_done += steps

    def _go_on(self, efforts: FloatArray, since: float, length: float) -> None:
        """One Runge-Kutta step, split where contacts are landed on; ``since`` the step began."""
        done, sockets = 0.0, self._sockets
        for landings in itertools.count():
            before, food = self._state.copy(), self._food.copy()
            heights = {name: sockets.gap(name) for name in sorted(sockets.left)}
            self._run(_part(efforts, done), 1, (1.0 - done) * length)
            met = {
                name: heights[name] / (heights[name] - sockets.gap(name))
                for name in heights
                if sockets.gap(name) < 0.0
            }
            if not met:
                break
            contact = min(met, key=lambda name: met[name])
            part, low, high = 0.0, 0.0, 1.0
            below, above = sockets.gap(contact), heights[contact]
            for _ in range(_TURNS):  # where it is met, by false position
                part = low + (high - low) * max(above, 0.0) / (max(above, 0.0) - below)
                self._state[:], self._food[:] = before, food
                ahead = max(part, _LEAST) * (1.0 - done)
                self._run(_part(efforts, done, done + ahead), 1, ahead * length)
                gap = sockets.gap(contact)
                if abs(gap) < _TOUCH:
                    break
                if gap > 0.0:
                    low, above = part, gap
                else:
                    high, below = part, gap
            done += part * (1.0 - done)
            self._land(contact, self.time + since + done * length, landings < MOST_REBOUNDS)
            self._run(_part(efforts, done)[:1], 0)
        pulled = sockets.pulled()
        if pulled:
            now = self.time + since + length
            self.events += [SocketEvent(now, name, landed=False) for name in sorted(pulled)]
            self._state = sockets.change(sockets.left | pulled)
            self._run(efforts[-1:], 0)

    def _land(self, contact: str, time: float, rebounds: bool) -> None:
        """The impact on a contact; if little speed would be returned, none is."""
        sockets = self._sockets
        back = self._restitution if rebounds else 0.0
        if back * sockets.speed(contact, self._state) < _REST:
            back = 0.0
        speed, energy = sockets.impact(contact, self._state, back)
        self.events.append(SocketEvent(time, contact, True, speed, energy))
        self._run(np.zeros((1, len(self.joints))), 0)  # velocities of all joints
        if back == 0.0:
            self._state = sockets.change(sockets.left - {contact})

    def _run(self, efforts: FloatArray, steps: int, length: float | None = None) -> None:
        self._begun = False
        try:
            self._dynamics.run(
                self._state, efforts, self._none, self._food,
                steps, self.step / self.substeps if length is None else length,
            )  # fmt: skip
        except MasticatorError as error:
            raise SimulationError(
                f'the twin cannot go on after {self.time:.6g} s: {error}'
            ) from error

    @property
    def _dynamics(self) -> TwinDynamics:
        return self._sockets.dynamics

    @property
    def time(self) -> float:
        """Time since the start, s."""
        return self._steps_done * self.step

    @property
    def position(self) -> FloatArray:
        """Positions (n_u,) of the actuated joints, rad or m."""
        return self._dynamics.tree('q')[self.mechanism.actuated_rows]

    @property
    def velocity(self) -> FloatArray:
        """Velocities (n_u,) of the actuated joints."""
        return self._dynamics.tree('v')[self.mechanism.actuated_rows]

    @property
    def state(self) -> tuple[FloatArray, FloatArray]:
        """Independent positions and velocities, (n_y,) each."""
        rows = self.mechanism.tree_indices(self.mechanism.independent)
        return self._dynamics.tree('q')[rows], self._dynamics.tree('v')[rows]

    @property
    def acceleration(self) -> FloatArray:
        """Independent accelerations (n_y,) under the last efforts."""
        return self._dynamics.field('y_ddot')[: len(self.mechanism.independent)].copy()

    @property
    def row(self) -> FloatArray:
        """The whole row of the motion, see ``mechanism.slices``; the next step overwrites it."""
        return self._dynamics.row

    @property
    def tree_positions(self) -> FloatArray:
        """Positions (n_q,) of all joints, in the order of ``mechanism.tree_joints``."""
        return self._dynamics.tree('q').copy()

    @property
    def tree_velocities(self) -> FloatArray:
        """Velocities (n_q,) of all joints."""
        return self._dynamics.tree('v').copy()

    @property
    def contact(self) -> FloatArray:
        """Multipliers (n_c,) of the contacts under the last efforts, N; 0 where one is left."""
        return self._sockets.multipliers()

    @property
    def bite_wrench(self) -> FloatArray:
        """The food's wrench on the platform (6,): force and torque, base axes, about its origin."""
        return self._dynamics.field('wrench').copy()

    @property
    def food_force(self) -> FloatArray:
        """Force (3,) of the food on the tooth, N, base axes."""
        return np.array([0.0, 0.0, -self._dynamics.field('food')[0]])

    @property
    def food_gap(self) -> float:
        """Distance of the tooth from occlusion along base z, m; NaN without food."""
        return float(self._food[GAP]) if len(self._food) else math.nan

    @property
    def food_broken(self) -> bool:
        """Whether the bite between the teeth has broken."""
        return bool(len(self._food) and self._food[BROKEN])

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy, J; the latter of gravity only, 0 at the base's origin."""
        kinetic, potential, _ = self._dynamics.field('report').tolist()
        return kinetic, potential


def _start(mechanism: Mechanism, start: npt.ArrayLike | None) -> FloatArray:
    """State (2 n_y,) to start from."""
    count = len(mechanism.independent)
    if start is None:
        return np.concatenate([mechanism.home.y, np.zeros(count)])
    state = as_floats(start, 'start')
    if state.ndim == 1:
        return np.concatenate([as_finite_vector(state, 'start', count), np.zeros(count)])
    if state.shape != (2, count):
        raise InputError(f'start has shape {state.shape}, needed is ({count},) or (2, {count})')
    return as_finite_vector(state.ravel(), 'start', 2 * count).copy()


def _part(efforts: FloatArray, first: float, last: float = 1.0) -> FloatArray:
    """Efforts between two parts of a step: held, or linear between start, middle and end."""
    if len(efforts) == 1:
        return efforts
    times = np.array([0.0, 0.5, 1.0])
    instants = first + (last - first) * times
    return rows_at(instants, times, efforts)
