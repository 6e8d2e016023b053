# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction that is neither constant nor viscous is named, by the motor that has it."""

import dataclasses

import numpy as np
import pytest

from identification.hard_truths import arm, measured, sines
from masticator_dynamics import Mechanism
from masticator_dynamics.identification.identify import identify

SECONDS, SEED, NOISE = 24.0, 5, 0.01


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """An arm with constant and viscous friction; its velocities, and efforts without friction."""
    file = arm(tmp_path_factory.mktemp('arm'))
    centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
    rows = sines(Mechanism.load(file), centre, reach, SECONDS, 1)
    load = np.asarray(Mechanism.load(file).feedforward_batch(*rows).actuated)
    return measured(file, rows, SEED, noise=NOISE), rows[1], load


def _said(robot, extra: np.ndarray) -> tuple[str, ...]:
    log = dataclasses.replace(robot.log, effort=robot.log.effort + extra)
    end = round(0.75 * len(log.time))
    parts = log.part(slice(0, end)), log.part(slice(end, None))
    return identify(robot.description, *parts, cutoff=10.0).friction


def test_constant_and_viscous_friction_is_enough_where_there_is_no_other(robot) -> None:
    assert _said(robot[0], np.zeros(4)) == ()


@pytest.mark.parametrize('motor', [0, 1])
def test_stiction_of_a_motor(robot, motor) -> None:
    """Friction that is half as large again near rest, as Stribeck found."""
    measured_, velocity, load = robot
    v = velocity[:, motor] / np.sqrt((velocity[:, motor] ** 2).mean())
    usual = np.sqrt((load[:, motor] ** 2).mean()) + 1.0
    extra = np.zeros_like(load)
    extra[:, motor] = 0.2 * usual * np.sign(v) * np.exp(-((v / 0.3) ** 2))
    (told,) = _said(measured_, extra)
    assert told.startswith(f'joint_{motor}: friction that is other near rest ')


@pytest.mark.parametrize('motor', [1, 2])
def test_losses_of_a_gear(robot, motor) -> None:
    """A tenth of what the gear passes on; joint_0 passes on next to nothing."""
    measured_, velocity, load = robot
    extra = np.zeros_like(load)
    extra[:, motor] = 0.1 * np.abs(load[:, motor]) * np.sign(velocity[:, motor])
    (told,) = _said(measured_, extra)
    assert told.startswith(f'joint_{motor}: friction that grows with the load would leave ')
    share = float(told.split('would leave ')[1].split()[0])
    assert share < 3.0, 'nearly the noise'
