# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A bite from quantised positions and torques of the motors.

``EMPTY_MINUTES`` sets how long the jaw chews nothing.
"""

import functools
import os

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.bite_observer import BiteObserver, ObserverSettings

EMPTY_MINUTES = float(os.environ.get('EMPTY_MINUTES', '0.2'))
RATE, POINT = 250.0, 'molar_left'
KNOWN = ObserverSettings()
UNSURE = ObserverSettings(friction_error=0.3)


def chewing(time, strokes=1.2):
    """Positions, velocities and accelerations of the jaw."""
    w = 2.0 * np.pi * strokes
    size, middle = np.array([0.001, 0.0008, 0.02, 0.08]), np.array([-0.001, 0.0, 0.0, 0.1])
    phase = w * time[:, None] + np.array([0.0, 0.7, 1.9, 0.0])
    return (
        middle + size * np.sin(phase), size * w * np.cos(phase), -size * w**2 * np.sin(phase)
    )  # fmt: skip


@functools.cache
def recorded(bite, friction=1.0, seconds=6.0, point=POINT):
    """Time, positions and torques of the motors in steps of the drives, and the force, N.

    By inverse dynamics, with friction times a factor: observed is by forward dynamics.
    """
    model = samples.mechanism('masticator')
    time = np.arange(0.0, seconds, 1.0 / RATE)
    motion = chewing(time)
    share = np.maximum(0.0, np.sin(2.0 * np.pi * 1.2 * time + np.pi)) ** 2
    force = bite * share[:, None] * np.array([0.15, 0.1, -1.0])
    q, platform = model.solve_batch(motion[0]).q, model.description.platform
    arm = model.frame_chain(point).poses(q)[0] - model.frame_chain(platform).poses(q)[0]
    numbers = {
        name: value * friction
        for name, value in model.parameters(friction=True).items()
        if name.endswith(('coulomb', 'viscous')) and value
    }
    plant = model if friction == 1.0 else model.with_parameters(numbers)
    wrench = np.hstack([force, np.cross(arm, force)])
    effort = plant.feedforward_batch(*motion, wrench, friction=True)
    return (
        time,
        np.round(effort.position / KNOWN.count) * KNOWN.count,
        np.round(effort.actuated / KNOWN.torque_step) * KNOWN.torque_step,
        force,
    )


def observed(recording, settings=KNOWN, point=POINT):
    """Estimates after the first second, and the true force at their times."""
    time, position, effort, force = recording
    observer = BiteObserver(samples.mechanism('masticator'), point, settings)
    found = [observer.step(*sample) for sample in zip(time, position, effort, strict=True)]
    assert found[:2] == [None, None] and None not in found[2:]
    first = round(RATE)
    return found[2 + first :], force[1 + first : -1]


def errors(estimates, force):
    return np.array([e.force for e in estimates]) - force


def rms(values):
    return float(np.sqrt(np.mean(np.sum(np.atleast_2d(values.T) ** 2, axis=0))))


@pytest.mark.parametrize('bite', samples.swept([0.0, 30.0, 60.0], [60.0]))
def test_a_bite_with_known_friction(bite) -> None:
    estimates, force = observed(recorded(bite))
    off = errors(estimates, force)
    assert rms(off[:, 2]) < 0.3 and rms(off) < 0.6
    inside = np.abs(off) < np.array([e.bound for e in estimates])
    assert inside.mean() > 0.9
    assert not any(e.model_fault(KNOWN) for e in estimates)


@pytest.mark.parametrize(
    ('bite', 'friction'),
    samples.swept_rows([(0.0, 1.3), (30.0, 1.3), (60.0, 0.7)], [(0.0, 1.3), (60.0, 0.7)]),
)
def test_friction_that_is_wrong_is_bounded_and_told(bite, friction) -> None:
    estimates, force = observed(recorded(bite, friction), UNSURE)
    off = errors(estimates, force)
    assert rms(off[:, 2]) < 0.6 and rms(off) < 1.2
    assert (np.abs(off) < np.array([e.bound for e in estimates])).mean() > 0.9
    assert estimates[-1].friction_excess == pytest.approx(friction - 1.0, abs=0.08)
    if not bite:  # too little friction to be sure
        return
    # Whoever thinks that friction is known to 5 % is told that it is not.
    sure = ObserverSettings(friction_error=0.05)
    told = estimates[-1].model_fault(sure)
    assert f'{"more" if friction > 1.0 else "less"} than described' in told
    assert (estimates[-1].guarded(sure) == 0.0).all()


def test_contact_begins_within_ten_milliseconds_of_one_newton() -> None:
    estimates, force = observed(recorded(30.0))
    contact = np.array([e.contact for e in estimates])
    large = np.abs(force[:, 2]) > 1.0
    begun = np.flatnonzero(large[1:] & ~large[:-1]) + 1
    assert len(begun) > 3
    for row in begun:
        # One sample later, since an estimate is of the sample before.
        late = (np.argmax(contact[row:]) + 1) / RATE
        assert contact[row:].any() and late <= 0.010
    assert not contact[np.abs(force[:, 2]) == 0.0][:-1].mean() > 0.02  # while it decays


def test_no_bite_in_empty_chewing() -> None:
    estimates, _ = observed(recorded(0.0, seconds=1.0 + 60.0 * EMPTY_MINUTES))
    assert not any(e.contact for e in estimates)
    assert not any(e.guarded(KNOWN).any() for e in estimates)


def test_one_sample_must_show_more_than_two_for_a_contact() -> None:
    time, position, effort, _ = recorded(0.0)
    bitten, force = recorded(30.0)[2:]
    row = int(np.argmax(np.linalg.norm(force, axis=1)))
    per_newton = (bitten - effort)[row] / np.linalg.norm(force[row])
    near = slice(row - 60, row + 5)

    def is_contact(push: float, samples_long: int) -> bool:
        pushed = effort.copy()
        pushed[row : row + samples_long] += push * per_newton
        observer = BiteObserver(samples.mechanism('masticator'), POINT, KNOWN)
        found = map(observer.step, time[near], position[near], pushed[near])
        return any(estimate.contact for estimate in found if estimate)

    once, lasting = (next(p for p in np.arange(0.3, 4.0, 0.1) if is_contact(p, n)) for n in (1, 3))
    assert KNOWN.least_force <= lasting <= 1.0
    assert 1.15 * lasting < once


def test_what_is_fed_forward_is_less_than_the_force_by_its_bound() -> None:
    estimates, force = observed(recorded(30.0))
    fed = np.array([e.guarded(KNOWN) for e in estimates])
    assert (fed[np.abs(force[:, 2]) == 0.0][20:] == 0.0).mean() > 0.97
    size, told = np.linalg.norm(fed, axis=1), np.linalg.norm([e.force for e in estimates], axis=1)
    assert (size <= told).all() and size.max() > 25.0


def test_a_load_elsewhere_is_not_taken_for_food_without_a_word() -> None:
    estimates, _ = observed(recorded(30.0, point='molar_right'), KNOWN, POINT)
    told = [e.model_fault(KNOWN) for e in estimates]
    assert np.mean([bool(text) for text in told]) > 0.5


def test_an_encoder_that_has_slipped_is_told() -> None:
    time, position, effort, force = recorded(0.0)
    slipped = position + np.where(time[:, None] > 2.0, 0.02, 0.0) * np.eye(6)[2]
    estimates, _ = observed((time, slipped, effort, force))
    assert 'encoders disagree' in estimates[-1].model_fault(KNOWN)
    assert (estimates[-1].guarded(KNOWN) == 0.0).all()


def test_a_jaw_at_rest_says_nothing_about_friction() -> None:
    """Friction is rounding alone there, and no reason to take anything for an error of it."""
    model = samples.mechanism('masticator')
    observer = BiteObserver(model, POINT, KNOWN)
    steps = [observer.step(k / RATE, model.home.position, np.zeros(6)) for k in range(100)]
    last = steps[-1]
    assert (last.friction_excess, last.friction_sd) == (0.0, np.inf)
    # No motor gives torque: what holds the jaw up is taken for the food.
    assert last.contact and np.linalg.norm(last.force) > 0.5


def test_gaps_and_repeated_samples() -> None:
    time, position, effort, _ = recorded(0.0)
    observer = BiteObserver(samples.mechanism('masticator'), POINT)
    found = [observer.step(*sample) for sample in zip(time[:9], position, effort, strict=False)]
    assert found[-1] is not None
    assert observer.step(time[8], position[8], effort[8]) is None  # the same again
    assert observer.step(time[9], position[9], effort[9]) is not None
    assert observer.step(time[9] + 1.0, position[10], effort[10]) is None  # begins anew
    assert observer.step(time[9] + 1.004, position[11], effort[11]) is None
    assert observer.step(time[9] + 1.008, position[12], effort[12]) is not None


def test_points_and_mechanisms_that_cannot_be_observed() -> None:
    with pytest.raises(InputError, match="no frame 'tooth'"):
        BiteObserver(samples.mechanism('masticator'), 'tooth')
    with pytest.raises(InputError, match='2 degrees of freedom'):
        BiteObserver(samples.mechanism('five_bar'), samples.mechanism('five_bar').frames[0])
