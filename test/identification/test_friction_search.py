# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction that is neither constant nor viscous is learnt, by the motor that has it."""

import dataclasses

import numpy as np
import pytest
import samples

from identification.hard_truths import arm, measured, sines
from masticator_dynamics import Mechanism
from masticator_dynamics.drives.configuration import Motor
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.identification.identify import Identified, identify
from masticator_dynamics.identification.written import check_loads, description_files

SECONDS, SEED, NOISE = 24.0, 5, 0.01
STEP = 1.5  # half a step between velocities that are tried, each twice the one before, is 1.41


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """An arm with constant and viscous friction; its motion, and efforts without offsets."""
    file = arm(tmp_path_factory.mktemp('arm'))
    centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
    rows = sines(Mechanism.load(file), centre, reach, SECONDS, 1)
    of_robot = measured(file, rows, SEED, noise=NOISE)
    names = [f'joint_{k}.effort_offset' for k in range(4)]
    return of_robot, rows, of_robot.log.effort + [of_robot.truth[name] for name in names]


def _identified(robot, extra: np.ndarray, motors: Scaling | None = None) -> Identified:
    log = dataclasses.replace(robot.log, effort=robot.log.effort + extra)
    end = round(0.75 * len(log.time))
    parts = log.part(slice(0, end)), log.part(slice(end, None))
    return identify(robot.description, *parts, cutoff=10.0, motors=motors)


def _nearly_the_noise(found: Identified, motor: int) -> None:
    assert found.held_out.error_by_motor(found.x)[motor] < 3.0 * NOISE
    others = np.arange(4) != motor
    assert (found.held_out.error_by_motor(found.x)[others] < 4.0 * NOISE).all()


def _reaches_efforts(found: Identified, rows, effort: np.ndarray) -> None:
    """A file with what was found, loaded: its efforts are those that were measured."""
    written = description_files(found.mechanism, found.values, 'mine', 'test')
    mine = Mechanism(check_loads(written, 'mine'))
    sent = np.array(mine.feedforward_batch(*rows, friction=True).actuated)
    error = np.sqrt(((sent - effort) ** 2).mean(axis=0) / (effort**2).mean(axis=0))
    assert (error < 0.05).all()


def test_constant_and_viscous_friction_is_enough_where_there_is_no_other(robot) -> None:
    found = _identified(robot[0], np.zeros(4))
    assert found.friction == ()
    assert not any(n.endswith(('gear_loss', 'stiction')) for n in found.unknowns.names)


def test_less_than_two_per_cent_may_come_from_anything(robot) -> None:
    """Such as how a simulator lets friction turn over: no kind of friction is made of it."""
    of_robot, rows, effort = robot
    speed, extra = rows[1][:, 0], np.zeros_like(effort)
    near = 0.2 * np.sqrt((speed**2).mean())
    true = of_robot.truth['joint_0.friction']
    extra[:, 0] = 0.12 * true * np.sign(speed) / (1.0 + (speed / near) ** 2)
    found = _identified(of_robot, extra)
    assert found.friction == ()
    assert found.held_out.error_by_motor(found.x)[0] < 0.02


@pytest.mark.parametrize('motor', samples.swept([0, 1], [0]))
def test_stiction_of_a_motor(robot, motor) -> None:
    """Friction that is two and a half times as large at rest, as Stribeck found."""
    of_robot, rows, effort = robot
    speed, name = rows[1][:, motor], f'joint_{motor}'
    near = 0.2 * np.sqrt((speed**2).mean())
    true, extra = of_robot.truth[f'{name}.friction'], np.zeros_like(effort)
    extra[:, motor] = 1.5 * true * np.sign(speed) / (1.0 + (speed / near) ** 2)
    found = _identified(of_robot, extra)
    (told,) = found.friction
    assert told.startswith(f'{name}: friction that is larger near rest leaves ')
    assert found.values[f'{name}.stiction'] == pytest.approx(1.5 * true, rel=0.25)
    law = found.mechanism.description.joints[name]
    assert near / STEP < law.stiction_velocity < near * STEP
    _nearly_the_noise(found, motor)
    _reaches_efforts(found, rows, effort + extra)


@pytest.mark.parametrize('motor', samples.swept([1, 2], [1]))
def test_losses_of_a_gear(robot, motor) -> None:
    """A tenth of what the gear passes on; joint_0 passes on next to nothing."""
    of_robot, rows, effort = robot
    extra = np.zeros_like(effort)
    extra[:, motor] = 0.1 * np.abs(effort[:, motor]) * np.sign(rows[1][:, motor])
    found = _identified(of_robot, extra)
    (told,) = found.friction
    assert told.startswith(f'joint_{motor}: friction that grows with the load leaves ')
    assert found.values[f'joint_{motor}.gear_loss'] == pytest.approx(0.1, abs=0.01)
    _nearly_the_noise(found, motor)
    _reaches_efforts(found, rows, effort + extra)


@pytest.mark.parametrize('motor', samples.swept([0, 3], [3]))
def test_friction_that_grows_from_rest(robot, motor) -> None:
    of_robot, rows, effort = robot
    speed, name = rows[1][:, motor], f'joint_{motor}'
    over = 0.2 * np.sqrt((speed**2).mean())
    true, extra = of_robot.truth[f'{name}.friction'], np.zeros_like(effort)
    extra[:, motor] = true * (speed / np.sqrt(speed**2 + over**2) - np.sign(speed))
    found = _identified(of_robot, extra)
    (told,) = found.friction
    assert told.startswith(f'{name}: friction that grows from rest ')
    law = found.mechanism.description.joints[name]
    assert over / STEP < law.transition_velocity < over * STEP
    assert found.values[f'{name}.friction'] == pytest.approx(true, rel=0.1)
    _nearly_the_noise(found, motor)
    _reaches_efforts(found, rows, effort + extra)


def test_two_kinds_at_one_motor(robot) -> None:
    of_robot, rows, effort = robot
    speed = rows[1][:, 1]
    over = 0.4 * np.sqrt((speed**2).mean())
    sense = speed / np.sqrt(speed**2 + over**2)
    true, extra = of_robot.truth['joint_1.friction'], np.zeros_like(effort)
    extra[:, 1] = true * (sense - np.sign(speed))
    extra[:, 1] += 0.15 * np.abs(effort[:, 1] + extra[:, 1]) * sense
    found = _identified(of_robot, extra)
    assert len(found.friction) == 2 and all(told.startswith('joint_1') for told in found.friction)
    assert found.values['joint_1.gear_loss'] == pytest.approx(0.15, abs=0.02)
    _nearly_the_noise(found, 1)


def test_behind_drives_it_is_only_named(robot) -> None:
    """Friction is then the drives', which have no other kinds."""
    of_robot, rows, effort = robot
    extra = np.zeros_like(effort)
    extra[:, 1] = 0.1 * np.abs(effort[:, 1]) * np.sign(rows[1][:, 1])
    motor = Motor(
        rated_torque=1.0, peak_torque=3.0, gear_ratio=1.0, counts_per_turn=4096
    )  # fmt: skip
    found = _identified(of_robot, extra, Scaling([motor] * 4))
    (told,) = found.friction
    assert told.startswith('joint_1: friction that grows with the load would leave ')
    assert not any(n.endswith('gear_loss') for n in found.unknowns.names)
