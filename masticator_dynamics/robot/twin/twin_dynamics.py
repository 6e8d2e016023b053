# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of motion with friction, stops and food, evaluated and integrated in machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from masticator_dynamics.drives.simulator.driven_steps import DrivenPlant
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.accelerations import refusal
from masticator_dynamics.engine.traced import simulation
from masticator_dynamics.engine.traced.forward_dynamics import ForwardDynamics as Evaluated
from masticator_dynamics.engine.traced.machine_code import Library
from masticator_dynamics.engine.traced.row_code import address
from masticator_dynamics.engine.traced.simulation_data import Regularisation, Setting, reported
from masticator_dynamics.engine.traced.stops_and_food import NO_STOPS, Bolus, PackedStops
from masticator_dynamics.robot.twin.food import FORCE, GAP

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism

_NO_WRENCH = np.zeros(6)
_NO_FOOD = np.zeros(0)


class _Inputs:
    """Inputs of the code, see ``traced.simulation_data.Given``, in the same place for every run."""

    def __init__(self, *sizes: int):
        self.numbers = np.zeros(sum(sizes))
        parts = np.split(self.numbers, np.cumsum(sizes)[:-1])
        self._state, self._yields, self.efforts, self._rest, self._wrench, self._last = parts
        self.address = address(self.numbers)

    def fill(
        self,
        state: FloatArray,
        efforts: FloatArray,
        wrench: FloatArray,
        food: FloatArray,
        last: float,
    ) -> None:
        """Set all of them; efforts (n_u,) are held, or given (3, n_u)."""
        self._state[:], self._wrench[:], self._last[0] = state, wrench, last
        self.efforts.reshape(-1, efforts.shape[-1])[:] = efforts
        if len(food):
            count = len(self._yields)
            self._yields[:], self._rest[:] = food[:count], food[count : count + len(self._rest)]


class TwinDynamics:
    """The equations of motion M(y) y_ddot = J^T effort + T^T wrench - bias of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        Its scratch memory is used: one thread for both.
    friction : bool or Regularisation
        Friction of contacts and actuated joints, by the laws of the inverse dynamics.
    food : bool
        Whether there is any; see :func:`masticator_dynamics.robot.twin.food.pack_food`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        friction: bool | Regularisation = False,
        stops: PackedStops = NO_STOPS,
        food: bool = False,
    ):
        self.mechanism = mechanism
        description, freedoms = mechanism.description, len(mechanism.independent)
        chosen = Regularisation() if friction is True else friction
        transitions = chosen.transitions if chosen else (0.0, 0.0, 0.0)
        setting = Setting(bool(friction), transitions, stops, food)
        self._code = simulation.Simulation(description, mechanism.structure, setting)
        self._state = Bolus.STATE if food else 0
        slices = reported(freedoms, len(mechanism.actuated), len(mechanism.contacts))
        first = 1 + self._state + mechanism.slices['tangent'].stop
        self._fields = {k: slice(first + s.start, first + s.stop) for k, s in slices.items()}
        self._report = np.zeros(self._fields['mass'].stop)
        self.row = self._report[1 + self._state : first]
        actuators = len(mechanism.actuated)
        rest = Bolus.WIDTH - self._state if food else 0
        self._stepping, self._reporting = (
            _Inputs(2 * freedoms, self._state, count, rest, 6, 1)
            for count in (3 * actuators, actuators)
        )
        self._stepped = np.empty(1 + 2 * freedoms + self._state)
        self._before = np.zeros(2 * freedoms + self._state)
        self._at = address(self._stepped), address(self._report)

    def field(self, name: str) -> FloatArray:
        """A view of results of the last run, see ``traced.simulation_data.reported``.

        The next run overwrites it.
        """
        return self._report[self._fields[name]]

    def tree(self, name: str) -> FloatArray:
        """A view of the whole row of the last run; the next run overwrites them."""
        return self.row[self.mechanism.slices[name]]

    def run(
        self,
        state: FloatArray,
        efforts: FloatArray,
        wrench: FloatArray = _NO_WRENCH,
        food: FloatArray = _NO_FOOD,
        steps: int = 0,
        length: float = 0.0,
    ) -> None:
        """Advance ``state`` (y, then y_dot) by steps of ``length`` s and evaluate it there.

        Parameters
        ----------
        state : array, shape (2 n_y,)
            Positions and velocities, m and rad; overwritten.
        efforts : array, shape (1, n_u) or (2 * steps + 1, n_u)
            Held, or at every step's start and middle, and at the end.
        wrench : array, shape (6,)
            On the platform besides the food's, N and N m, base axes, about its origin.
        food : array
            As packed; it yields and breaks.
        steps : int
            0: only evaluate the state.
        length : float
            Of a step, s.

        Raises
        ------
        ReachError, SingularityError, InputError, ActuationError
            If the state, or one on the way, cannot be evaluated; ``state`` and ``food`` are then
            unchanged.
        """
        now, eaten = state, food.copy()
        if steps:
            now = self._moved_on(state, efforts, wrench, eaten, steps, length)
        self._evaluate_report(now, efforts[-1], wrench, eaten)
        state[:], food[:] = now, eaten

    def driven(self, times: int) -> DrivenPlant | None:
        """How this moves on together with servos, in so many parts of a step."""
        code, stepping, reporting = self._code.code, self._stepping, self._reporting
        if code is None:
            return None
        freedoms, actuators = len(self.mechanism.independent), len(self.mechanism.actuated)
        settled = slice(2 * freedoms, 2 * freedoms + self._state)
        first = settled.stop + np.arange(actuators)
        rows = 1 + self._state + self.mechanism.actuated_rows
        return DrivenPlant(
            code.address('step'), code.address('report'), times, stepping.numbers, self._stepped,
            reporting.numbers, self._report, settled.stop, settled, self._before,
            self.mechanism.slices['q'].start + rows, self.mechanism.slices['v'].start + rows,
            first + actuators * np.arange(3)[:, None], first,
        )  # fmt: skip

    def begin(self, state: FloatArray, food: FloatArray, length: float) -> None:
        """Set the inputs of `driven`, but for efforts; ``length`` (s) of a part of a step."""
        for inputs, last in ((self._stepping, length), (self._reporting, 1.0)):
            inputs.fill(state, inputs.efforts, _NO_WRENCH, food, last)

    def end(self, state: FloatArray, food: FloatArray, failed: bool) -> None:
        """Take state and food from there; or what they were before a step that failed."""
        numbers = self._before if failed else self._stepping.numbers
        state[:], count = numbers[: len(state)], len(state) + self._state
        food[: self._state] = numbers[len(state) : count]
        if self._state:
            food[GAP], food[FORCE] = self.field('gap')[0], self.field('food')[0]

    def _moved_on(
        self,
        state: FloatArray,
        efforts: FloatArray,
        wrench: FloatArray,
        food: FloatArray,
        steps: int,
        length: float,
    ) -> FloatArray:
        """The state after that many steps; ``food`` yields."""
        held, changing = len(efforts) == 1, len(state) + self._state
        inputs, outputs, code = self._stepping, self._stepped, self._code.code
        inputs.fill(state, efforts[0] if held else efforts[:3], wrench, food, length)
        for k in range(steps):
            if k and not held:
                inputs.efforts[:] = efforts[2 * k : 2 * k + 3].ravel()
            if code is not None:
                code.of_row('step')(inputs.address, self._at[0])
            if code is None or outputs[0] != 1.0:
                numbers = inputs.numbers[:-1].tolist()
                outputs[:] = simulation.step(self._rates, numbers, self._code.sizes, length)
            inputs.numbers[:changing] = outputs[1:]
        food[: self._state] = outputs[1 + len(state) :]
        return outputs[1 : 1 + len(state)]

    def _rates(self, inputs: list[float]) -> list[float]:
        """Rates at a stage of a step."""
        outputs = np.empty(1 + len(self.mechanism.independent) + self._state)
        return self._evaluate('rates', np.array(inputs), outputs, simulation.rates_of).tolist()

    def _evaluate_report(
        self, state: FloatArray, efforts: FloatArray, wrench: FloatArray, food: FloatArray
    ) -> None:
        self._reporting.fill(state, efforts, wrench, food, 1.0)
        inputs, at = self._reporting.numbers, (self._reporting.address, self._at[1])
        self._evaluate('report', inputs, self._report, simulation.report_of, at)
        if self._state:
            food[: self._state] = self._report[1 : 1 + self._state]
            food[GAP], food[FORCE] = self.field('gap')[0], self.field('food')[0]

    def _evaluate(
        self,
        name: str,
        inputs: FloatArray,
        outputs: FloatArray,
        compute: Callable[[Evaluated], list[Any]],
        at: tuple[int, int] | None = None,
    ) -> FloatArray:
        """Fill ``outputs`` by machine code; where that hands over, with loops closed from home.

        ``at``: where both are in memory, if that is known.
        """
        at = at or (address(inputs), address(outputs))
        if self._ran(self._code.code, name, at, outputs):
            return outputs
        count = len(self.mechanism.independent)
        motion = self.mechanism.solve(inputs[:count], inputs[count : 2 * count])
        at_positions = np.concatenate([inputs, motion.q])
        at = address(at_positions), at[1]
        if self._ran(self._code.code_at_positions, name, at, outputs):
            return outputs
        # On floats friction may take long to settle; what fails then is reported.
        evaluated = self._code.evaluated(at_positions.tolist())
        numbers = np.array(compute(evaluated))
        if numbers[0] != 1.0:
            raise refusal(self.mechanism, evaluated, inputs)
        outputs[:] = numbers
        return outputs

    @staticmethod
    def _ran(code: Library | None, name: str, at: tuple[int, int], outputs: FloatArray) -> bool:
        """Whether there is a function, and its outputs are valid."""
        if code is None:
            return False
        code.of_row(name)(*at)
        return bool(outputs[0] == 1.0)
