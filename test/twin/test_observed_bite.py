# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The bite observer behind simulated drives: what they tell, through gears with friction."""

import dataclasses

import numpy as np
import pytest
import samples

from masticator_dynamics.identification.bite_observer import BiteObserver, measured_by
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.motion.motion_rows import MotionRows
from masticator_dynamics.robot.twin.control_chain import CommandedMotion, ControlKind
from masticator_dynamics.robot.twin.study import StudySetting

RATE = 500.0  # Hz, of the drives; every other sample is observed
SMOOTH = np.full(5, 0.2)


def told_by_drives(setting):
    """Positions, rad, and efforts, N m, as the drives of the twin tell them, and its record."""
    record = setting.run(ControlKind.FRICTION, setting.gains)
    settings, motors = measured_by(setting.drives)
    settings = dataclasses.replace(settings, friction_error=0.3)
    velocity = np.gradient(record.measured, 1.0 / RATE, axis=0)
    velocity = np.column_stack([np.convolve(v, SMOOTH, 'same') for v in velocity.T])
    # As the node of the drives tells efforts: gears pass on a part, friction is not known there.
    per_mille = motors.per_mille_from_effort(record.effort, 0.0 * velocity)
    told = motors.effort_from_per_mille(per_mille, velocity)
    told[1:] = 0.5 * (told[1:] + told[:-1])
    return settings, motors, record, told


@pytest.fixture(scope='module')
def observed():
    """Estimates while the twin chews, and the food's force along base z at their times, N."""
    setting = StudySetting.shipped(chewing_stroke(strokes=2), 'soft', RATE)
    settings, motors, record, told = told_by_drives(setting)
    observer = BiteObserver(setting.model, setting.food.frame, settings, motors)
    time = np.arange(len(told)) / RATE
    samples = zip(time[::2], record.measured[::2], told[::2], strict=True)
    found = [observer.step(*sample) for sample in samples]
    first = round(RATE / 2)
    return settings, found[2 + first :], -record.bite[::2][1 + first : -1]


def test_a_bite_is_felt_through_gears_and_position_loops(observed) -> None:
    settings, found, bite = observed
    off = np.array([e.force for e in found])
    off[:, 2] -= bite
    print('RMS', np.sqrt((off**2).mean(axis=0)), 'N')
    assert bite.min() < -20.0
    assert np.sqrt((off[:, 2] ** 2).mean()) < 1.0 and np.sqrt((off**2).sum(axis=1).mean()) < 1.5
    assert (np.abs(off) < np.array([e.bound for e in found])).mean() > 0.9
    assert not any(e.model_fault(settings) for e in found)
    contact = np.array([e.contact for e in found])
    assert contact[bite < -10.0].mean() > 0.95
    fed = np.array([e.guarded(settings)[2] for e in found])
    assert fed.min() < -15.0


STILL = 0.6  # s
FAULTS = {
    'reads 0': lambda effort: 0.0 * effort,
    'other sign': lambda effort: -effort,
    'frozen': lambda effort: np.full_like(effort, effort[len(effort) * 2 // 3]),
    '10 mN m off': lambda effort: effort + 0.01,
    '30 mN m off': lambda effort: effort - 0.03,
}


@pytest.fixture(scope='module')
def empty():
    """A jaw that is held still, and then chews nothing: how to observe it with other efforts."""
    shipped = StudySetting.shipped(chewing_stroke(strokes=1), rate=RATE)
    setting = dataclasses.replace(shipped, food=None)
    moved, held = setting.reference, round(STILL * RATE)
    rest = np.zeros((held, moved.y.shape[1]))
    rows = rest + moved.y[0], rest, rest
    rows = [
        np.vstack(pair) for pair in zip(rows, (moved.y, moved.y_dot, moved.y_ddot), strict=True)
    ]
    time = np.arange(len(rows[0])) / RATE
    vars(setting)['reference'] = CommandedMotion.at(setting.model, MotionRows(time, *rows))
    settings, motors, record, told = told_by_drives(setting)

    def observe(efforts):
        observer = BiteObserver(setting.model, 'molar_left', settings, motors)
        samples = zip(time[::2], record.measured[::2], efforts[::2], strict=True)
        estimates = (observer.step(*sample) for sample in samples)
        return [estimate for estimate in estimates if estimate]

    return settings, told, observe


def test_a_sound_robot_that_chews_nothing_feels_nothing(empty) -> None:
    settings, told, observe = empty
    estimates = observe(told)
    assert estimates[-1].torque_errors.measured
    assert np.abs(estimates[-1].torque_errors.zero).max() < 1e-3
    for each in estimates:
        assert not each.contact and not each.guarded(settings).any()
        assert not each.model_fault(settings)


@pytest.mark.parametrize('fault', samples.swept(FAULTS, ['other sign', '10 mN m off']))
def test_one_wrong_torque_is_not_fed_forward_as_a_bite(empty, fault) -> None:
    """Without what is watched: up to 6 N."""
    settings, told, observe = empty
    worst = []
    for motor in range(6):
        wrong = told.copy()
        wrong[:, motor] = FAULTS[fault](told[:, motor])
        # After the standstill, which shows zeros.
        moving = [e for e in observe(wrong) if e.time > STILL]
        worst.append(max(np.linalg.norm(e.guarded(settings)) for e in moving))
    print(fault, np.round(worst, 2), 'N')
    assert max(worst) < 1.0


@pytest.mark.parametrize('motor', samples.swept(range(6), [1, 4]))
def test_a_zero_that_is_off_is_measured_at_standstill_and_named(empty, motor) -> None:
    settings, told, observe = empty
    wrong = told + 0.03 * np.eye(6)[motor]
    last = observe(wrong)[-1]
    assert last.torque_errors.zero == pytest.approx(0.03 * np.eye(6)[motor], abs=1e-3)
    assert last.model_fault(settings)
    text = last.torque_errors.fault(last.joints, settings.torque_error)
    assert text.startswith(f'crank_{motor + 1} told +0.03 at standstill')


@pytest.mark.parametrize('motor', samples.swept(range(6), [1, 4]))
def test_a_torque_that_goes_wrong_in_motion_is_named_by_what_presses(empty, motor) -> None:
    settings, told, observe = empty
    wrong = told.copy()
    late = np.arange(len(told)) > (STILL + 0.2) * RATE
    wrong[late, motor] += 0.05
    last = observe(wrong)[-1]
    assert np.abs(last.torque_errors.zero).max() < 1e-3
    text = last.torque_errors.fault(last.joints, settings.torque_error)
    assert 'press against one another' in text and f'crank_{motor + 1} by ' in text
    assert not last.guarded(settings).any()
    assert last.torque_errors.alone[motor] == pytest.approx(0.05, rel=0.2)
