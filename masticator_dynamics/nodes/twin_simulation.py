# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The twin's thread: drives, mechanism and food, in step with the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.can_bus import bus_title, open_bus
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.simulator.simulation_file import load_simulation
from masticator_dynamics.drives.simulator.simulator import DriveSimulator
from masticator_dynamics.errors import MasticatorError, in_words
from masticator_dynamics.twin import MechanismPlant, load_food

_PATIENCE = 5.0  # s for the thread to end


class TwinSimulation:
    """Simulated drives with a mechanism on their shafts.

    Parameters
    ----------
    mechanism : Mechanism
        With the rotors of the drives. Only the thread uses it from :meth:`start` to :meth:`stop`.
    drives : Drives
    drives_file, simulation_file : str
        File that they were read from, and file with the data of their motors.
    food : str
        Name or path; empty: none.
    friction : bool
        Of contacts and actuated joints.
    fixture : bool
        Hold the mechanism until the first effort.
    period : float
        Time of the plant between two calls of ``report``, s.
    report : callable
        Called in the thread, between two steps.
    log : callable
        Takes sentences for people.

    Attributes
    ----------
    plant : MechanismPlant
    simulator : DriveSimulator
        The drives.
    food_frame : str
        Where the food acts; empty: no food.
    title : str
        Description for people.
    error : str
        Why the simulation ended by itself; empty if it has not.

    Raises
    ------
    MasticatorError
        For files that cannot be used, or a bus that cannot be opened.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        drives: Drives,
        drives_file: str,
        simulation_file: str,
        food: str,
        *,
        friction: bool,
        fixture: bool,
        period: float,
        report: Callable[[], None],
        log: Callable[[str], None],
    ):
        simulation = load_simulation(simulation_file, drives)
        bolus = load_food(food) if food else None
        self.food_frame = bolus.frame if bolus else ''
        self.plant = MechanismPlant(
            mechanism, step=simulation.step, friction=friction, food=bolus, in_fixture=fixture
        )
        self._period, self._report, self._log = period, report, log
        self.title = f'{len(drives.drives)} drives on {bus_title(drives.bus)}'
        self.error = ''
        self._bus = open_bus(drives.bus)
        try:
            self.simulator = DriveSimulator(
                drives,
                simulation,
                self._bus,
                self.plant,
                drives_file,
                answer=log,
                report=log,
            )
        except MasticatorError:
            self._bus.shutdown()
            raise
        self._next = 0.0
        self._looked, self.slow = 0.0, False
        self._on = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether time is advancing."""
        return self._on.is_set()

    @property
    def in_use(self) -> bool:
        """Whether it is running and somebody is using the drives."""
        return self.running and self.simulator.in_use

    @property
    def abandoned(self) -> bool:
        """Whether it is running, and whatever used the drives has vanished without notice."""
        return self.running and self.simulator.abandoned

    def start(self) -> None:
        """Start or resume time."""
        self.error = ''
        self._on.set()
        self._thread = threading.Thread(target=self._run, name='twin', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop time."""
        self._on.clear()
        if self._thread is not None:
            self._thread.join(_PATIENCE)
            self._thread = None

    def close(self) -> None:
        """Release the bus."""
        self.stop()
        self._bus.shutdown()

    def figures(self) -> dict[str, object]:
        """Figures for diagnostics; notes whether time was given up since the last call."""
        clock = self.simulator.real_time
        self.slow, self._looked = clock.given_up > self._looked, clock.given_up
        force = self.plant.food_force
        return {
            'simulated time (s)': f'{self.simulator.time:.1f}',
            'steps late (%)': f'{100.0 * clock.late / max(clock.steps, 1):.2f}',
            'time given up (s)': f'{clock.given_up:.3f}',
            'bite force (N)': f'{float(force @ force) ** 0.5:.2f}',
        }

    def _run(self) -> None:
        try:
            self.simulator.run(self._keep_on)
        except Exception as error:  # whatever it was, the node must report that time stands still
            self.error = in_words(error)
            self._log(f'the simulation ended: {self.error}')
        finally:
            self._on.clear()

    def _keep_on(self) -> bool:
        time = self.simulator.time
        if time >= self._next:
            # Due times stay on their grid, even when the simulator had to catch up.
            self._next += self._period * (1 + (time - self._next) // self._period)
            self._report()
        return self._on.is_set()
