# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Physics of the simulated motor, each against a derivation by hand."""

import math

import numpy as np
import pytest

from drives.simulated import MOTOR, SIMULATED, Axis, drive
from masticator_dynamics.drives.scaling import Scaling

RATIO = MOTOR['gear_ratio']
INERTIA = SIMULATED['inertia']
LAG = 1.0 / (2.0 * math.pi * SIMULATED['current_bandwidth'])


@pytest.mark.parametrize('step', [0.0001, 0.0005, 0.002])
def test_torque_follows_a_step_with_the_lag_of_the_current_loop(step):
    axis = Axis(step=step)
    for k in range(1, 8):
        axis.drive_with(0.1)
        assert axis.motor_torque == pytest.approx(0.1 * (1.0 - math.exp(-k * step / LAG)))


@pytest.mark.parametrize('step', [0.0001, 0.0005, 0.002])
def test_momentum_is_the_integral_of_the_lagging_torque_whatever_the_step(step):
    axis = Axis(step=step)
    for _ in range(round(0.01 / step)):
        axis.drive_with(0.1)
    t = 0.01
    impulse = RATIO * 0.1 * (t - LAG * (1.0 - math.exp(-t / LAG)))
    assert INERTIA * axis.velocity == pytest.approx(impulse, rel=1e-12)


def test_torque_is_clipped_to_the_peak():
    axis = Axis()
    for _ in range(20):
        axis.drive_with(5.0)
    assert axis.motor_torque == pytest.approx(MOTOR['peak_torque'])
    assert axis.servo.saturated
    axis.drive_with(0.1)
    assert not axis.servo.saturated


def test_supply_voltage_limits_speed_as_back_emf_grows():
    """J dw/dt = K i with i = (U - K w) / R: w tends to U / K with the time constant J R / K^2."""
    voltage, constant = 2.0, SIMULATED['torque_constant']
    inertia = INERTIA / RATIO**2  # at the motor
    settling = inertia * SIMULATED['resistance'] / constant**2
    axis = Axis(step=1e-5, supply_voltage=voltage, current_bandwidth=1e5)
    for _ in range(round(settling / axis.step)):
        axis.drive_with(0.3)
    free = voltage / constant / RATIO
    assert axis.velocity == pytest.approx(free * (1.0 - math.exp(-1.0)), rel=2e-3)
    for _ in range(round(10.0 * settling / axis.step)):
        axis.drive_with(0.3)
    assert axis.velocity == pytest.approx(free, rel=1e-3)
    assert axis.motor_torque == pytest.approx(0.0, abs=1e-4)


def test_viscous_friction_brakes_exponentially():
    axis = Axis(step=1e-4, friction={'viscous': 2e-5})
    axis.plant.velocity = np.array([20.0])
    for _ in range(1000):
        axis.drive_with(0.0)
    expected = 20.0 * math.exp(-2e-5 * RATIO**2 / INERTIA * 0.1)
    assert axis.velocity == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_coulomb_friction_brakes_evenly_and_holds(sign):
    axis = Axis(step=1e-4, friction={'coulomb': 0.004})
    axis.plant.velocity = np.array([sign * 20.0])
    deceleration = 0.004 * RATIO / INERTIA
    stop = 20.0 / deceleration
    for _ in range(round(0.5 * stop / axis.step)):
        axis.drive_with(0.0)
    assert axis.velocity == pytest.approx(sign * 10.0, rel=1e-3)
    for _ in range(round(stop / axis.step)):
        axis.drive_with(0.0)
    assert abs(axis.velocity) < 1e-3
    for _ in range(1000):
        axis.drive_with(0.9 * 0.004 * sign)  # less than it takes to break away
    assert abs(axis.velocity) < 0.2  # creeps, as the smoothed law does


@pytest.mark.parametrize('direction', [1, -1])
@pytest.mark.parametrize(
    ('torque', 'velocity'), [(0.1, 5.0), (0.1, -5.0), (-0.2, 3.0), (0.1, 0.02)]
)
def test_gear_passes_on_what_the_drive_layer_believes(direction, torque, velocity):
    axis = Axis(motor={'efficiency': 0.8, 'direction': direction}, inertia=1.0)
    for _ in range(50):
        effort = axis.turned(torque, velocity)
    motor = drive(efficiency=0.8, direction=direction).motor
    per_mille = np.array([1000.0 * torque / motor.rated_torque])
    expected = Scaling([motor]).effort_from_per_mille(per_mille, np.array([velocity]))
    assert effort == pytest.approx(expected[0], rel=1e-9)


def test_gear_loses_a_fifth_of_the_power_either_way():
    axis = Axis(motor={'efficiency': 0.8}, inertia=1.0)
    for velocity, share in ((5.0, 0.8), (-5.0, 1.0 / 0.8)):
        for _ in range(50):
            effort = axis.turned(0.1, velocity)
        assert effort * velocity == pytest.approx(share * 0.1 * RATIO * velocity)


@pytest.mark.parametrize('load', [0.0, 0.4, -0.8])
def test_losses_do_not_chatter_on_little_inertia(load):
    """A velocity braked by losses goes to rest without changing sign."""
    axis = Axis(
        motor={'efficiency': 0.8}, friction={'coulomb': 0.01}, inertia=1e-5, load=load, step=0.0005
    )
    for _ in range(100):  # the current settles
        axis.turned(load / RATIO, 0.0)
    axis.plant.velocity = np.array([0.5])
    velocities = []
    for _ in range(400):
        axis.drive_with(load / RATIO)
        velocities.append(axis.velocity)
    assert min(velocities) > -1e-9
    assert np.all(np.diff(velocities) <= 1e-12)
    assert velocities[-1] < 0.01


def test_winding_heats_the_motor_exponentially():
    axis = Axis()
    seconds, current = 30.0, 0.1 / SIMULATED['torque_constant']
    for _ in range(round(seconds / axis.step)):
        axis.turned(0.1, 0.0)
    rise = 5.0 * SIMULATED['resistance'] * current**2
    expected = 25.0 + rise * (1.0 - math.exp(-seconds / 50.0))
    assert axis.servo.temperature == pytest.approx(expected, rel=1e-5)


def test_heat_of_a_step_is_that_of_the_current_on_its_way():
    """The mean of (I (1 - exp(-t/T)))^2 over a step, integrated by hand."""
    axis, step = Axis(step=0.0005), 0.0005
    axis.turned(0.1, 0.0)
    x = step / LAG
    share = 1.0 - 2.0 / x * (1.0 - math.exp(-x)) + 0.5 / x * (1.0 - math.exp(-2.0 * x))
    watts = SIMULATED['resistance'] * (0.1 / SIMULATED['torque_constant']) ** 2 * share
    rise = 5.0 * watts * (1.0 - math.exp(-step / 50.0))
    assert axis.servo.temperature - 25.0 == pytest.approx(rise, rel=1e-6)


def test_electrical_work_is_motion_and_friction():
    """Work of the torque at the motor's shaft equals kinetic energy plus friction losses."""
    coulomb, viscous = 0.002, 1e-5
    axis = Axis(step=1e-5, friction={'coulomb': coulomb, 'viscous': viscous})
    work = lost = 0.0
    for k in range(20000):
        torque, before = axis.motor_torque, axis.velocity
        axis.drive_with(0.1 * math.sin(30.0 * k * axis.step) + 0.02)
        mean = 0.5 * (before + axis.velocity) * RATIO
        work += 0.5 * (torque + axis.motor_torque) * mean * axis.step
        lost += (coulomb * abs(mean) + viscous * mean**2) * axis.step
    motion = 0.5 * INERTIA * axis.velocity**2
    assert motion > 0.01 and lost > 0.01
    assert work == pytest.approx(motion + lost, rel=2e-3)


@pytest.mark.parametrize('direction', [1, -1])
def test_encoder_counts_to_the_nearest(direction):
    axis = Axis(motor={'direction': direction, 'zero': 0.3})
    scaling = Scaling([drive(direction=direction, zero=0.3).motor])
    for position in np.linspace(-2.0, 2.0, 997):
        counts = axis.shown(position)
        shown = scaling.position_from_counts(np.array([float(counts)]))[0]
        assert abs(shown - position) <= 0.5001 * 2.0 * math.pi / (4096 * RATIO)
    assert axis.shown(0.3) == 0


def test_encoder_may_be_off():
    assert Axis(encoder_offset=77).shown(0.0) == 77
