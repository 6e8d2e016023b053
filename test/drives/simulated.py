# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated drives with chosen data."""

import numpy as np

from masticator_dynamics.drives.configuration import Drive, Drives
from masticator_dynamics.drives.simulator.plant import FreeMotors
from masticator_dynamics.drives.simulator.servo import Servo
from masticator_dynamics.drives.simulator.simulation import SimulatedDrive, Simulation

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
    return Simulation(schema=1, step=step, drives=settings)


class Axis:
    """A servo on an inertia that turns freely, apart from a constant load, N m."""

    def __init__(self, motor=None, step=0.0005, load=0.0, **changes):
        data = simulated(**changes)
        self.servo = Servo(drive(**(motor or {})), data, step, ambient=25.0)
        self.motor = self.servo.motor
        self.plant = FreeMotors(('crank_1',), np.array([data.inertia]), step)
        self.step, self.load, self.time = step, load, 0.0
        self.effort = 0.0

    @property
    def position(self):
        return float(self.plant.position[0])

    @property
    def velocity(self):
        return float(self.plant.velocity[0])

    def drive_with(self, demand):
        """A step with a demanded torque of the motor, N m, past the servo."""
        self.effort = self.motor.advance(demand, self.velocity)
        self._move()

    def follow(self, duration):
        """Steps of the servo."""
        for _ in range(round(duration / self.step)):
            self.effort = self.servo.advance(self.position, self.velocity)
            self._move()

    def _move(self):
        self.plant.advance(np.array([self.effort - self.load]))
        self.time += self.step
