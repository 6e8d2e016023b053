# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated drives with chosen data."""

import math

import numpy as np

from masticator_dynamics.drives.configuration import Drive, Drives
from masticator_dynamics.drives.simulator.servo import Axes, FreeMotors, ServoTask
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive, SimulationSettings

MOTOR = {
    'rated_torque': 0.1, 'peak_torque': 0.3, 'gear_ratio': 5.0, 'efficiency': 1.0,
    'counts_per_turn': 4096,
}  # fmt: skip
LIMITS = {'velocity': 30.0, 'effort': 0.9, 'effort_rate': 100.0, 'following_error': 0.2}
SIMULATED = {
    'torque_constant': 0.02, 'resistance': 0.5, 'supply_voltage': 1000.0,
    'current_bandwidth': 1000.0, 'thermal': {'resistance': 5.0, 'time_constant': 50.0},
    'gains': {'position': 3.0, 'velocity': 0.05}, 'inertia': 2e-4,
}  # fmt: skip


def drive(node_id=1, **motor):
    return Drive(node_id=node_id, motor={**MOTOR, **motor}, limits=LIMITS)


def drives(count=2, **bus):
    settings = {f'crank_{i}': drive(i) for i in range(1, count + 1)}
    return Drives(schema=1, bus=bus, drives=settings)


def simulated(**changes):
    return SimulatedDrive(**{**SIMULATED, **changes})


def simulation(count=2, step=0.0005, **changes):
    settings = {f'crank_{i}': simulated(**changes) for i in range(1, count + 1)}
    return SimulationSettings(schema=1, step=step, drives=settings)


class Loaded(FreeMotors):
    """An inertia that turns freely except for a constant load, N m, or is held."""

    load, held = 0.0, False

    def advance(self, efforts):
        if not self.held:
            super().advance(efforts - self.load)


class Axis:
    """A servo with such an inertia."""

    def __init__(self, motor=None, step=0.0005, load=0.0, **changes):
        data = simulation(1, step, **changes)
        settings = Drives(schema=1, bus={}, drives={'crank_1': drive(**(motor or {}))})
        self.plant = Loaded(('crank_1',), np.array([data.drives['crank_1'].inertia]), step)
        self.plant.load = load
        self._axes = Axes(settings, data, self.plant)
        self.servo = self._axes.servos['crank_1']
        self._rated = settings.drives['crank_1'].motor.rated_torque
        self._constant = data.drives['crank_1'].torque_constant
        self.step = step

    @property
    def time(self):
        return self._axes.time

    @property
    def position(self):
        return float(self.plant.position[0])

    @property
    def velocity(self):
        return float(self.plant.velocity[0])

    @property
    def effort(self):
        return float(self._axes.efforts[0])

    @property
    def motor_torque(self):
        """Before friction, at the end of the last step, N m."""
        return self._constant * self.servo.current

    def drive_with(self, demand):
        """Make a step with a demanded motor torque, N m, that no setting limits."""
        self.servo.control, self.servo.max_torque = ServoTask.TORQUE, math.inf
        self.servo.target_torque = 1000.0 * demand / self._rated
        self._axes.advance()

    def turned(self, demand, velocity):
        """Effort at the joint, N m, in such a step at a constant velocity, rad/s."""
        self.plant.held, self.plant.velocity = True, np.array([velocity])
        self.drive_with(demand)
        self.plant.held = False
        return self.effort

    def shown(self, position):
        """Encoder counts at a joint position, rad."""
        self.plant.position = np.array([position])
        self.turned(0.0, 0.0)
        return self.servo.position

    def follow(self, duration):
        """Make steps of the servo."""
        for _ in range(round(duration / self.step)):
            self._axes.advance()
