# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The machine code of the servo loops against their source, run on floats."""

import numpy as np
import pytest

from drives.simulated import drives, simulation
from masticator_dynamics.drives.simulator import servo_step
from masticator_dynamics.drives.simulator.servo import Axes, ServoTask

COUNT = 5  # fills no group of lanes


@pytest.mark.parametrize('seed', range(4))
def test_all_servos_at_once_are_each_for_itself(seed):
    rng = np.random.default_rng(seed)
    axes = Axes(drives(COUNT), simulation(COUNT, supply_voltage=3.0, friction={'coulomb': 0.004}))
    for step in range(400):
        for servo in axes.servos.values():
            if step % 40 == 0:
                servo.control = rng.choice(list(ServoTask))
                servo.deceleration = 10.0 ** rng.uniform(3.0, 6.0)
                servo.following_window = 10.0 ** rng.uniform(1.0, 4.0)
                servo.torque_offset, servo.target_torque = rng.normal(0.0, 300.0, 2)
            if step % 8 == 0:
                servo.command(float(rng.integers(-500, 500)))
            servo.stuck = float(step % 100 > 90)
        rows = [list(servo.row) for servo in axes.servos.values()]
        plant = axes.plant
        for row, position, velocity in zip(rows, plant.position, plant.velocity, strict=True):
            first = len(servo_step.STATE)
            row[first : first + 2] = float(position), float(velocity)
        expected = np.array([servo_step.step(row) for row in rows])
        axes.advance()
        state = [servo.row[: len(servo_step.STATE)].tolist() for servo in axes.servos.values()]
        np.testing.assert_allclose(state, expected[:, : len(servo_step.STATE)], 1e-12, 1e-9)
        effort = expected[:, servo_step.OUTPUTS.index('effort')]
        np.testing.assert_allclose(axes.efforts, effort, 1e-11, 1e-13)
