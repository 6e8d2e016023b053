# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Some runs of the study: the simulated robot reaches what docs/force.md says of it."""

import dataclasses
import functools
import io
import math

import numpy as np
import pytest
import samples

from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import ForceBounds, ForceGoal, Reason, State
from masticator_dynamics.drives.configuration import changed
from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.twin import force_study
from masticator_dynamics.robot.twin.force_run import SimulatedSensor, press


def test_the_shipped_robot_presses_as_well_as_wanted() -> None:
    study = force_study.study_force(force_study.cases('20 N/mm, step'), processes=1)
    assert len(study.figures) == 5 and all(figure.reached for figure in study.figures)
    text = study.text()
    assert all(figure.name in text for figure in study.figures) and 'not reached' not in text
    picture = io.BytesIO()
    force_study.plot_force_study(picture, study)
    assert picture.getvalue().startswith(b'\x89PNG')


def test_a_crack_is_told_and_the_jaw_turns() -> None:
    brittle = force_study.shipped(30e3, 0.007, break_compression=0.0016, broken_force=0.25)
    record, numbers = force_study.crack(brittle, 100.0)
    assert record.release.reason is Reason.CRACKED
    assert numbers['release'] <= 4.0 and numbers['turns'] <= 6.0 and numbers['travel'] <= 0.25


CRACKS = [(8e3, 48.0), (30e3, 30.0), (200e3, 20.0), (200e3, 40.0)]


@pytest.mark.parametrize(
    ('stiffness', 'force'), samples.swept_rows(CRACKS, [(30e3, 30.0), (200e3, 20.0)])
)
def test_a_crack_leads_no_farther_than_it_may(stiffness, force) -> None:
    """Though nothing is left of the food, whatever it was."""
    brittle = force_study.shipped(
        stiffness, 0.009, break_compression=force / stiffness, broken_force=0.0
    )
    record, numbers = force_study.crack(brittle, None, after=0.25e-3, most=70.0)
    assert record.release.reason is Reason.CRACKED
    assert 0.1 < numbers['travel'] <= 0.25


def test_a_sensor_of_the_other_sign_never_presses_hard() -> None:
    sensor = SimulatedSensor(factor=-1.0)
    record, numbers = force_study.fault(sensor, 0.0)
    assert record.release.reason is Reason.OPPOSITE and numbers['peak'] < 10.0


class Numb(ForceControl):
    """From a force on, N, the sensor says its noise and no more: a wire is off."""

    enough = 15.0

    def step(self, now, reference):  # type: ignore[no-untyped-def]
        if self.peak > self.enough:
            now = now._replace(force=0.2 * math.sin(1e4 * now.time))
        return super().step(now, reference)


@pytest.mark.parametrize(('stiffness', 'most'), [(2e4, 95.0), (2e5, 130.0)])
def test_a_sensor_that_feels_no_more_does_not_press_far(stiffness, most) -> None:
    """The law goes on as fast as it may: what position loops push is noticed at any speed."""
    setting = force_study.shipped(stiffness, 0.010)
    goal = ForceGoal(most=40.0, duration=1.0, on_crack=False)
    record = press(setting, goal, lambda time: 40.0, control=Numb)
    assert record.release.reason is Reason.NO_WAY
    assert 'drives do not follow' in record.release.text
    assert record.force.max() < most
    above = record.fine_time[record.force > 40.0 + ForceBounds().leash]
    assert np.ptp(above) < 0.1


def test_teeth_that_meet_are_not_pushed_into() -> None:
    """With encoders so fine that their counts do not shake the jaw: 30 N are asked."""
    setting = force_study.shipped(1e3, 0.002, renewal_gap=0.05)
    drives = {
        name: changed(d, motor=changed(d.motor, counts_per_turn=4 * d.motor.counts_per_turn))
        for name, d in setting.drives.drives.items()
    }
    fine = dataclasses.replace(
        setting, drives=changed(setting.drives, drives=drives), clearance=0.003
    )
    record = press(fine, ForceGoal(most=60.0, duration=0.4), lambda time: 30.0)
    assert record.force.max() < 32.5
    assert record.controlled[1][-200:].mean() == pytest.approx(30.0, abs=0.3)


def test_hard_teeth_are_held_without_chatter() -> None:
    """With the shipped encoders, of which a count is 2.5 um where 10 N/um meet."""
    setting = dataclasses.replace(
        force_study.shipped(1e3, 0.002, renewal_gap=0.05), clearance=0.003
    )
    record = press(setting, ForceGoal(most=120.0, duration=0.8), lambda time: 60.0)
    time, force = record.controlled
    assert force.max() < 63.5 and force[time > 0.2].std() < 1.3
    assert force[time > 0.2].mean() == pytest.approx(60.0, abs=0.3)


def test_food_that_gives_way_between_hard_teeth_is_pressed_until_they_bear() -> None:
    yields = force_study.shipped(20e3, 0.004, yield_force=30.0)
    goal = ForceGoal(most=90.0, duration=2.5, on_crack=False)
    record = press(yields, goal, lambda time: 45.0, longest=4.0)
    time, force = record.controlled
    assert force[time > 2.2].mean() == pytest.approx(45.0, abs=0.5)
    assert force.max() < 50.0 and record.gap.min() < 1e-5


def test_other_noise_is_another_run_and_the_median_is_told() -> None:
    (case,) = force_study.cases('teeth')
    runs = [dataclasses.replace(case, run=functools.cache(case.run))]
    study = force_study.study_force(runs, processes=1, seeds=(1, 2, 3))
    values = sorted(runs[0].run(seed=seed)[1]['peak'] for seed in (1, 2, 3))
    (figure,) = study.figures
    assert (figure.value, figure.worst) == (values[1], values[2]) and values[0] < values[2]
    with pytest.raises(InputError, match='no run has'):
        force_study.cases('teath')


def test_a_late_sensor_makes_it_slower_and_stays_stable() -> None:
    """8 ms, with which the prototype overshot by 28 %."""
    setting = force_study.shipped(200e3, 0.006)
    late = dataclasses.replace(setting, sensor=SimulatedSensor(late=0.008))
    record, numbers = force_study.step(late, 60.0, 0.5)
    assert record.release.reason is Reason.DONE
    assert numbers['ripple'] < 1.0 and numbers['steady error'] < 1.0


def test_the_sum_of_the_record_is_that_of_the_food() -> None:
    """Force and gap of the record obey the food's spring where it is pressed slowly."""
    setting = force_study.shipped(20e3, 0.008)
    record = press(setting, ForceGoal(most=60.0, duration=0.4), lambda time: 30.0)
    held = (record.fine_time > record.began(State.FORCE) + 0.3) & (
        record.fine_time < record.began(State.RELEASE)
    )
    assert np.abs(record.force - 20e3 * (0.008 - record.gap))[held].max() < 0.5


def test_runs_that_there_are_none_of() -> None:
    with pytest.raises(InputError, match="no run has 'crak' in its title: 2 N/mm, step"):
        force_study.cases('crak')


@pytest.mark.parametrize('rate', [250.0, 500.0])
def test_joints_that_come_late_are_no_other_food(rate) -> None:
    """As over ROS, where joints are 3 to 6 ms old; 200 N/mm overshot by a third."""
    setting = force_study.shipped(200e3, 0.004, rate=rate)
    late = dataclasses.replace(setting, joints_late=0.003)
    record, numbers = force_study.step(late, 60.0)
    assert record.release.reason is Reason.DONE
    assert numbers['overshoot'] < 5.0 and numbers['settled'] < 75.0
