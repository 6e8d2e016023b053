# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Control loops inside the simulated drive."""

import math

import numpy as np
import pytest
import scipy.integrate

from drives.simulated import MOTOR, SIMULATED, Axis, drives, simulation
from masticator_dynamics.drives.simulator.servo import Axes, FreeMotors, ServoTask
from masticator_dynamics.errors import InputError

RATIO = MOTOR['gear_ratio']
INERTIA = SIMULATED['inertia']
COUNTS = MOTOR['counts_per_turn'] * RATIO / (2.0 * math.pi)  # per radian of the joint
FINE = {'counts_per_turn': 4096 * 64}
LAG = 1.0 / (2.0 * math.pi * SIMULATED['current_bandwidth'])
FILTER = 1.0 / (2.0 * math.pi * 300.0)


def test_gains_are_those_of_a_spring_and_a_damper_at_the_joint():
    """Against J a = K (target - q) + D (target rate - v) with all lags, integrated separately."""
    axis = Axis(motor=FINE, step=5e-6)
    servo = axis.servo
    servo.period, servo.position_gain, servo.velocity_gain = 0.01, 3.0, 0.02
    servo.control = ServoTask.POSITION
    goal = 0.1
    servo.command(goal * 64 * COUNTS)

    def rate(t, state):
        q, v, effort, filtered = state
        # One period on the way, one beyond, one back, as a target without another after it is.
        if t < 0.02:
            slope, demand = 10.0, 10.0 * t
        elif t < 0.03:
            slope, demand = -10.0, 0.2 - 10.0 * (t - 0.02)
        else:
            slope, demand = 0.0, goal
        wanted = 3.0 * (demand - q) + 0.02 * (slope - filtered)
        return [v, effort / INERTIA, (wanted - effort) / LAG, (v - filtered) / FILTER]

    for end in (0.01, 0.02, 0.03, 0.06):
        axis.follow(end - axis.time)
        pieces = [t for t in (0.0, 0.02, 0.03) if t < end] + [end]
        state = np.zeros(4)
        for first, last in zip(pieces, pieces[1:], strict=False):
            found = scipy.integrate.solve_ivp(
                rate, (first, last - 1e-12), state, rtol=1e-9, atol=1e-12
            )
            state = found.y[:, -1]
        assert axis.position == pytest.approx(state[0], abs=1e-3 * goal)
        assert axis.velocity == pytest.approx(state[1], abs=2e-3 * goal / 0.01)


def test_torque_offset_carries_a_load_that_the_position_gain_would_yield_to():
    yielding, carried = Axis(load=0.3, motor=FINE), Axis(load=0.3, motor=FINE)
    carried.servo.torque_offset = 1000.0 * 0.3 / RATIO / MOTOR['rated_torque']
    for axis in (yielding, carried):
        axis.servo.control = ServoTask.POSITION
        axis.follow(0.5)
    assert yielding.position == pytest.approx(-0.3 / 3.0, rel=1e-3)
    assert carried.position == pytest.approx(0.0, abs=2e-3)
    assert carried.effort == pytest.approx(0.3, rel=1e-3)


def test_torque_mode_adds_target_and_offset():
    axis = Axis(inertia=1.0)
    axis.servo.control = ServoTask.TORQUE
    axis.servo.target_torque, axis.servo.torque_offset = 500.0, 250.0
    axis.follow(0.05)
    assert axis.effort == pytest.approx(0.75 * MOTOR['rated_torque'] * RATIO)
    assert axis.servo.torque == pytest.approx(750.0)


def test_a_drive_that_averages_tells_the_mean_since_it_was_sampled():
    """Of a step of torque the mean is the impulse over the time: momentum over inertia, exactly."""
    axis = Axis()
    servo = axis.servo
    servo._averages = True
    servo.control, servo.target_torque = ServoTask.TORQUE, 600.0
    servo.sample()
    for _ in range(3):
        before = axis.velocity
        axis.follow(0.002)
        assert servo.torque != pytest.approx(1000.0 * axis.motor_torque / MOTOR['rated_torque'])
        servo.sample()
        mean = INERTIA * (axis.velocity - before) / 0.002 / RATIO
        assert servo.torque == pytest.approx(1000.0 * mean / MOTOR['rated_torque'])
        servo.target_torque -= 400.0


def test_no_voltage_is_no_torque():
    axis = Axis()
    axis.servo.target_torque = axis.servo.torque_offset = 500.0
    axis.follow(0.05)
    assert axis.effort == 0.0 and axis.velocity == 0.0


def test_max_torque_limits_and_says_so():
    axis = Axis(inertia=1.0)
    servo = axis.servo
    servo.control, servo.target_torque, servo.max_torque = ServoTask.TORQUE, 500.0, 200.0
    axis.follow(0.05)
    assert servo.torque == pytest.approx(200.0)
    assert servo.limited
    servo.target_torque = 100.0
    axis.follow(0.05)
    assert not servo.limited


def demands(axis, duration):
    found = []
    for _ in range(round(duration / axis.step)):
        axis.follow(axis.step)
        found.append(axis.servo.demand)
    return np.array(found)


def test_targets_are_interpolated_and_a_late_one_is_bridged():
    axis = Axis(inertia=10.0)
    axis.servo.period, axis.servo.control = 0.002, ServoTask.POSITION
    for target in (40.0, 80.0):
        axis.servo.command(target)
        steps = demands(axis, 0.002)
        assert steps == pytest.approx(target - 40.0 + np.array([10.0, 20.0, 30.0, 40.0]))
    # The third is a step late: the demand has gone on, and what is left is spread evenly.
    assert demands(axis, 0.0005) == pytest.approx([90.0])
    axis.servo.command(120.0)
    assert demands(axis, 0.002) == pytest.approx([97.5, 105.0, 112.5, 120.0])


def test_demand_returns_to_the_last_target():
    axis = Axis(inertia=10.0)
    axis.servo.period, axis.servo.control = 0.002, ServoTask.POSITION
    axis.servo.command(40.0)
    found = demands(axis, 0.010)
    assert found[7] == pytest.approx(80.0)  # bridging a whole period
    assert found[11:] == pytest.approx(np.full(9, 40.0))


def test_stop_takes_velocity_over_deceleration_and_then_holds():
    axis = Axis(motor=FINE, velocity_filter=2000.0)
    servo = axis.servo
    axis.plant.velocity = np.array([10.0])
    axis.follow(0.01)
    scale = COUNTS * 64
    servo.deceleration = 200.0 * scale
    servo.control = ServoTask.STOP
    start = servo.position / scale
    axis.follow(0.049)
    assert not servo.stopped
    axis.follow(0.003)
    assert servo.stopped
    axis.follow(0.2)
    assert axis.position - start == pytest.approx(10.0**2 / (2.0 * 200.0), rel=0.005)
    assert abs(axis.velocity) < 1e-2


def test_following_error_has_a_window_and_a_time():
    axis = Axis(inertia=10.0)
    servo = axis.servo
    servo.period, servo.control = 0.001, ServoTask.POSITION
    servo.following_window, servo.following_time = 100.0, 0.01
    servo.command(90.0)
    axis.follow(0.1)
    assert not servo.following_failing
    servo.command(200.0)
    axis.follow(0.008)
    assert servo.following_failing and not servo.following_failed
    axis.follow(0.008)
    assert servo.following_failed


def test_a_stuck_encoder_shows_the_same_for_ever():
    axis = Axis()
    axis.servo.stuck = True
    axis.plant.velocity = np.array([5.0])
    axis.follow(0.1)
    assert axis.servo.position == 0 and axis.position == pytest.approx(0.5)
    axis.servo.stuck = False
    axis.follow(axis.step)
    assert axis.servo.position == pytest.approx(0.5 * COUNTS, abs=1.0)


def test_referencing_moves_numbers_and_not_the_motor():
    axis = Axis(encoder_offset=500)
    axis.servo.control = ServoTask.POSITION
    axis.follow(0.1)
    axis.servo.reference(-20)
    axis.follow(0.1)
    assert axis.servo.position == -20 and axis.servo.demand == -20.0
    assert axis.position == 0.0
    axis.servo.forget_reference()
    assert axis.servo.position == 500


def test_efforts_reach_the_plants_joints_by_name():
    plant = FreeMotors(('crank_2', 'crank_1'), np.array([1e-3, 1e-3]), 0.0005)
    axes = Axes(drives(), simulation(), plant)
    axes.servos['crank_1'].control = ServoTask.TORQUE
    axes.servos['crank_1'].target_torque = 100.0
    for _ in range(10):
        axes.advance()
    assert axes.time == pytest.approx(0.005)
    assert plant.velocity[0] == 0.0 and plant.velocity[1] > 0.0


@pytest.mark.parametrize(
    ('joints', 'step', 'message'),
    [
        (
            ('crank_1',),
            0.0005,
            'the plant has the joints crank_1, the drives file crank_1, crank_2',
        ),
        (('crank_1', 'crank_2'), 0.001, 'the plant has a step of 0.001 s'),
    ],
)
def test_a_plant_that_does_not_fit_is_refused(joints, step, message):
    with pytest.raises(InputError, match=message):
        Axes(drives(), simulation(), FreeMotors(joints, np.ones(len(joints)), step))


def test_targets_do_not_disturb_a_stop():
    """A drive that stops does the same with them as without, and comes to rest."""
    quiet, disturbed = Axis(motor=FINE), Axis(motor=FINE)
    for axis in (quiet, disturbed):
        servo = axis.servo
        servo.period, servo.deceleration = 0.004, 20.0 * 64 * COUNTS
        servo.position_gain, servo.velocity_gain = 3.0, 0.02
        servo.control = ServoTask.POSITION
        for cycle in range(25):
            servo.command(0.5 * 0.004 * (cycle + 1) * 64 * COUNTS)
            axis.follow(0.004)
        assert axis.velocity > 0.1
        servo.control = ServoTask.STOP
        for _ in range(100):
            if axis is disturbed:
                servo.command(100.0 * COUNTS)
            axis.follow(0.004)
        assert servo.stopped
    assert disturbed.position == quiet.position
