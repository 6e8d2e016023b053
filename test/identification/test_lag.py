# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts that are recorded a little late: of filters and clocks, by less than rows are apart."""

import dataclasses
import pathlib

import numpy as np
import pytest

from identification.hard_truths import RATE, Measured, arm, measured, sines
from masticator_dynamics import Mechanism
from masticator_dynamics.identification.identify import Identified, identify
from masticator_dynamics.identification.unknowns import LAG

CENTRE, REACH = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])


def _robot(folder: pathlib.Path, seed: int, noise: float, lag: float = 0.0) -> Measured:
    """A robot whose efforts come late, s; a negative lag: early."""
    file = arm(folder)
    mechanism = Mechanism.load(file)
    now, then = (sines(mechanism, CENTRE, REACH, 30.0, 1, late) for late in (0.0, lag))
    robot = measured(file, then, seed, noise=noise)
    position = np.array(mechanism.solve_batch(now[0]).position)
    return dataclasses.replace(robot, log=dataclasses.replace(robot.log, position=position))


def _identified(robot: Measured) -> Identified:
    end = round(0.75 * len(robot.log.time))
    parts = robot.log.part(slice(0, end)), robot.log.part(slice(end, None))
    return identify(robot.description, *parts, cutoff=10.0)


@pytest.mark.parametrize('lag', [1.0 / RATE, -1.0 / RATE])
def test_rotors_and_friction_are_not_taken_for_a_lag_of_a_row(lag, tmp_path) -> None:
    robot = _robot(tmp_path, 3, 0.005, lag)
    found = _identified(robot)
    assert found.errors[1] < 0.007
    for name, deviation in found.deviations.items():
        if name.endswith(('.rotor_inertia', '.friction', '.damping')):
            assert found.values[name] == pytest.approx(robot.truth[name], abs=4.0 * deviation), name
    (told,) = found.remarks
    way, amount = told.removeprefix('all motors: efforts ').split(' positions by ')
    assert way == ('lag' if lag > 0.0 else 'run ahead of')
    assert float(amount.split(' ms')[0]) == pytest.approx(1e3 * abs(lag), abs=0.3)
    assert not any(name == LAG for name in (*found.values, *found.deviations))


def test_without_a_lag_none_is_told(tmp_path) -> None:
    for seed in range(3):
        found = _identified(_robot(tmp_path, seed, 0.02))
        row = found.unknowns.names.index(LAG)
        lag = (found.unknowns.spread @ found.x)[row]
        deviation = found.learnt.unsure(found.unknowns.spread)[row]
        assert found.remarks == () and abs(lag) < 3.0 * deviation < 0.003
