# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study of feedforward: what must hold for any figures, and the figure required."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from masticator_dynamics.drives.configuration import Drives, Gains, MotorFriction
from masticator_dynamics.drives.simulator.servo import Axes, FreeMotors, ServoTask
from masticator_dynamics.drives.simulator.simulation_file import SimulationSettings
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.twin import control_chain as chain
from masticator_dynamics.robot.twin import own_numbers, study, tuning
from masticator_dynamics.robot.twin.control_chain import ControlKind

GAINS = Gains(position=16.0, velocity=0.08)


@pytest.fixture(scope='module')
def setting() -> study.StudySetting:
    return study.StudySetting.shipped(chewing_stroke(strokes=1), 'soft', 500.0)


@pytest.fixture(scope='module')
def result(setting: study.StudySetting) -> study.FeedforwardStudy:
    return study.study_feedforward(setting, GAINS, processes=1)


def changed(model: Any, **values: Any) -> Any:
    return type(model)(**{**dict(model), **values})


def ideal_drives(drives: Drives, **values: Any) -> Drives:
    """Drives without gear losses, with encoders of 2^40 counts and torques of 15 bits."""
    found = {}
    for name, drive in drives.drives.items():
        motor = changed(
            drive.motor,
            efficiency=1.0,
            friction=MotorFriction(),
            counts_per_turn=2**40,
            rated_torque=drive.motor.peak_torque / 32.0,
        )
        found[name] = changed(drive, motor=motor)
    return Drives(schema=1, drives=found, **values)


def simulated(setting: study.StudySetting, step: float, **values: Any) -> SimulationSettings:
    """A simulation with frictionless motors."""
    drives = setting.simulation.drives
    found = {k: changed(d, friction=MotorFriction(), **values) for k, d in drives.items()}
    return SimulationSettings(schema=1, step=step, drives=found)


def test_ideal_drives_leave_what_holding_efforts_costs(setting: study.StudySetting) -> None:
    """Efforts held for h are wrong by at most h |d effort/dt|, and rounded by at most half a unit.

    The position gain turns this error into joint errors. With equal gains K, the
    mechanism rests where K J^T J dy = J^T d_effort, so |J dy| <= |d_effort| / K.
    """
    step = 2.5e-4
    perfect = dataclasses.replace(
        setting,
        food=None,
        friction=False,
        # A step to approach a target.
        drives=ideal_drives(
            setting.drives, cycle_rate=1.0 / step, command_lead=step, effort_lead=0.0
        ),
        simulation=simulated(setting, step, current_bandwidth=1e6, velocity_filter=1e6),
        delays=chain.Delays(command=0, bite=0.0),
    )
    reference = chain.CommandedMotion.of(perfect.model, perfect.path, perfect.drives.cycle_rate)
    sent = perfect.model.feedforward_batch(reference.y, reference.y_dot, reference.y_ddot).actuated
    change = np.linalg.norm(np.diff(sent, axis=0), axis=1).max()
    motor = perfect.drives.drives['crank_1'].motor
    unit = motor.rated_torque * motor.gear_ratio / 1000.0
    bound = (change + 0.5 * unit * math.sqrt(6.0)) / GAINS.position
    record = perfect.run(ControlKind.FULL, GAINS)
    error = np.linalg.norm(record.position - reference.position, axis=1)
    assert error.max() < bound
    without = perfect.run(ControlKind.NONE, GAINS)
    assert study.rms(without.error) > 50.0 * study.rms(record.error)


def test_every_kind_of_feedforward_is_better_than_the_one_before(
    result: study.FeedforwardStudy,
) -> None:
    errors = {run.name: run.incisor_rms for run in result.runs}
    assert list(errors) == [kind.name.lower() for kind in ControlKind]
    assert errors['none'] > errors['gravity'] > errors['bare'] > errors['full']


def test_full_feedforward_is_five_times_better(result: study.FeedforwardStudy) -> None:
    assert result.times_better('full') >= 5.0
    assert result.times_better('friction') >= 5.0


def test_measured_angles_close_the_loops(result: study.FeedforwardStudy) -> None:
    for run in result.runs:
        assert 0.0 < run.closure < 1e-4


def test_food_was_bitten_and_no_torque_clipped(result: study.FeedforwardStudy) -> None:
    for run in result.runs:
        assert run.record.bite.max() > 20.0
        assert run.record.limited == 0


def test_all_runs_have_the_same_gains(
    setting: study.StudySetting, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    servos_of = chain._servos

    def spied(*arguments: Any) -> Any:
        axes, servos = servos_of(*arguments)
        seen.append({(servo.position_gain, servo.velocity_gain) for servo in servos})
        return axes, servos

    monkeypatch.setattr(chain, '_servos', spied)
    short = dataclasses.replace(setting, path=chewing_stroke(strokes=1, period=0.5))
    study.study_feedforward(short, GAINS, processes=1)
    assert seen == [{(16.0, 0.08)}] * len(ControlKind)


def test_a_run_can_be_repeated_bit_for_bit(
    setting: study.StudySetting, result: study.FeedforwardStudy
) -> None:
    again = setting.run(ControlKind.FRICTION, GAINS)
    np.testing.assert_array_equal(again.error, result.runs[-1].record.error)


def test_friction_of_drives_counts_as_far_as_it_is_known(
    setting: study.StudySetting, result: study.FeedforwardStudy
) -> None:
    errors = {run.name: run.record.error for run in result.runs}
    half = dataclasses.replace(setting, known_friction=0.5).run(ControlKind.FULL, GAINS)
    none = dataclasses.replace(setting, known_friction=0.0).run(ControlKind.FULL, GAINS)
    assert study.rms(none.error) > study.rms(half.error) > study.rms(errors['full'])
    np.testing.assert_array_equal(none.error, errors['bare'])


@pytest.mark.parametrize('gains', [(16.0, 0.08), (5.0, 0.03)])
@pytest.mark.parametrize('inertia', [9e-5, 1.7e-4])
def test_gain_margin_is_where_a_servo_begins_to_swing(
    setting: study.StudySetting, gains: tuple[float, float], inertia: float
) -> None:
    position, velocity = gains
    drive, step = setting.simulation.drives['crank_1'], setting.simulation.step
    found = tuning.margins(Gains(position=position, velocity=velocity), inertia, drive, step)
    assert found.gain > 1.0
    for part, grows in ((0.93, False), (1.07, True)):
        raised = part * found.gain
        assert swings(setting, raised * position, raised * velocity, inertia) is grows


def swings(setting: study.StudySetting, position: float, velocity: float, inertia: float) -> bool:
    """Whether a motor with an inertia oscillates more and more after a small step."""
    drives, simulation = ideal_drives(setting.drives), simulated(setting, setting.simulation.step)
    joints = tuple(drives.drives)
    plant = FreeMotors(joints, np.full(len(joints), inertia), simulation.step)
    axes = Axes(drives, simulation, plant)
    servo = axes.servos['crank_1']
    servo.control = ServoTask.POSITION
    servo.position_gain, servo.velocity_gain = position, velocity
    servo.command(servo.position + 1e-6 / math.tau * 4.8 * 2**40)
    speeds = []
    for _ in range(600):
        axes.advance()
        speeds.append(abs(plant.velocity[0]))
    return bool(max(speeds[-100:]) > max(speeds[100:200]))


@pytest.mark.sweep
def test_numbers_of_the_robot_are_worth_as_much_as_the_true_ones(
    setting: study.StudySetting,
) -> None:
    """Identified while the twin with other masses and friction follows an exciting motion."""
    rows = {case.name: case for case in own_numbers.cases(setting, seed=2)}
    errors = {name: study.StudyRun.of(case, GAINS).incisor_rms for name, case in rows.items()}
    assert errors['identified'] < 1.3 * errors['true'] and errors['true'] < errors['file']
    assert errors['observed'] < 0.5 * errors['unfelt']
