# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The bite observer behind simulated drives: what they tell, through gears with friction."""

import dataclasses

import numpy as np
import pytest

from masticator_dynamics.identification.bite_observer import BiteObserver, measured_by
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.twin.control_chain import ControlKind
from masticator_dynamics.robot.twin.study import StudySetting

RATE = 500.0  # Hz, of the drives; every other sample is observed
SMOOTH = np.full(5, 0.2)


@pytest.fixture(scope='module')
def observed():
    """Estimates while the twin chews, and the food's force along base z at their times, N."""
    setting = StudySetting.shipped(chewing_stroke(strokes=2), 'soft', RATE)
    record = setting.run(ControlKind.FRICTION, setting.gains)
    settings, motors = measured_by(setting.drives)
    settings = dataclasses.replace(settings, friction_error=0.3)
    velocity = np.gradient(record.measured, 1.0 / RATE, axis=0)
    velocity = np.column_stack([np.convolve(v, SMOOTH, 'same') for v in velocity.T])
    # As the node of the drives tells efforts: gears pass on a part, friction is not known there.
    per_mille = motors.per_mille_from_effort(record.effort, 0.0 * velocity)
    told = motors.effort_from_per_mille(per_mille, velocity)
    told[1:] = 0.5 * (told[1:] + told[:-1])
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
