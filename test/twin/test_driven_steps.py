# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Servos and mechanism in one call of machine code against one after the other."""

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.drives.simulator import servo_step
from masticator_dynamics.drives.simulator.servo import Axes, ServoTask
from masticator_dynamics.drives.simulator.simulation_file import load_simulation
from masticator_dynamics.errors import SimulationError
from masticator_dynamics.robot.twin import MechanismPlant, load_food

TOGETHER = 8


@pytest.fixture(scope='module')
def parts():
    drives = load_drives('drives.yaml')
    mechanism = Mechanism(with_rotors('masticator', drives))
    return drives, mechanism, load_simulation('simulated_drives.yaml', drives)


def axes_of(parts, together, food=None, **options):
    drives, mechanism, simulation = parts
    plant = MechanismPlant(mechanism, step=simulation.step, friction=True, food=food, **options)
    axes = Axes(drives, simulation, plant)
    if not together:
        axes._driven = None
    for servo in axes.servos.values():
        servo.control = ServoTask.POSITION
    return axes


def opened(mechanism, gap):
    """Positions of the cranks where the molar is some m below its place at home."""
    home = mechanism.home
    down = mechanism.frame_jacobian(home, 'molar_left')[2]
    return mechanism.solve(home.y - gap * down / (down @ down)).position


def chewed(axes, mechanism, cycles):
    """All that there is to see after each cycle of opening wide and closing."""
    home, seen = [servo.position for servo in axes.servos.values()], []
    scale = servo_step.INPUTS.index('counts_per_radian')
    for cycle in range(cycles):
        gap = 0.01 * (1.0 - np.cos(2.0 * np.pi * cycle / 100))
        away = opened(mechanism, gap) - mechanism.home.position
        for servo, start, angle in zip(axes.servos.values(), home, away, strict=True):
            servo.command(start + angle * servo.row[scale])
        left = TOGETHER
        while left:
            left -= axes.advance(left)
        plant = axes.plant
        rows = [servo.row.tolist() for servo in axes.servos.values()]
        others = plant.tree_positions, plant.tree_velocities, axes.efforts, plant.contact
        seen.append(np.concatenate([*rows, *others, plant.food_force, [plant.time, axes.time]]))
    return np.array(seen)


@pytest.mark.parametrize('food', ['', 'bread', 'dough'])  # the latter relaxes
def test_steps_made_together_are_those_made_one_by_one(parts, food):
    food = load_food(food) if food else None
    together, apart = (chewed(axes_of(parts, how, food), parts[1], 160) for how in (True, False))
    np.testing.assert_array_equal(together, apart)
    assert np.ptp(together[:, -20]) > 0.0  # it moves
    if food is not None:
        assert np.abs(together[:, -5:-2]).max() > 1.0  # N


def test_steps_end_where_a_drive_has_to_look(parts):
    """Not before, not after: the drive's reaction is due in the step after."""
    counts = []
    for together in (True, False):
        axes = axes_of(parts, together)
        servo = axes.servos['crank_3']
        servo.following_window, servo.following_time, servo.stuck = 5.0, 0.002, 1.0
        servo.command(servo.position + 500.0)
        count = axes.advance(1000) if together else 0
        while not together and not servo.following_failed:
            count += axes.advance()
        assert axes.asks and servo.following_failed
        counts.append(count)
    assert counts[0] == counts[1] < 100


def test_a_motor_that_is_too_hot_is_one_to_look_at(parts):
    axes = axes_of(parts, True)
    assert axes.advance(3) == 3 and not axes.asks
    axes.servos['crank_5'].temperature = 101.0
    assert axes.advance(3) == 1 and axes.asks


def test_nothing_moves_in_a_fixture_without_effort(parts):
    axes = axes_of(parts, True, in_fixture=True)
    for servo in axes.servos.values():
        servo.control = ServoTask.OFF
    before = axes.plant.tree_positions
    for _ in range(20):
        axes.advance(4)
    np.testing.assert_array_equal(axes.plant.tree_positions, before)


def test_where_the_mechanism_cannot_go_on_both_end_alike(parts):
    ends = []
    for together in (True, False):
        axes = axes_of(parts, together, stops=False)
        for servo, sign in zip(axes.servos.values(), (1, -1, 1, -1, 1, -1), strict=True):
            servo.control, servo.target_torque = ServoTask.TORQUE, 3000.0 * sign
        with pytest.raises(SimulationError) as caught:
            for _ in range(4000):
                axes.advance(TOGETHER)
        ends.append((str(caught.value), axes.plant.time, *axes.plant.tree_positions))
    assert ends[0] == ends[1]
