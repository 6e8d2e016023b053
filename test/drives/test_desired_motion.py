# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What efforts are for, told beside commands that carry efforts alone."""

import numpy as np
import pytest

from drives.ideal_drives import PERIOD
from drives.supervised import DRIVES, Bench, array
from masticator_dynamics.drives.desired_motion import DesiredMotion
from masticator_dynamics.drives.drive_cycle import DriveGoal

NONE = np.zeros(6)
TURNING = array(2, 3.0, -1.0)


def desire(bench, velocity=TURNING, ahead=0.2, age=0.0):
    """A motion that leads the measured positions of crank 1 by this much, rad."""
    position = bench.home + array(1, ahead, 0.0)
    motion = DesiredMotion(bench.drives.time - age, position, np.array(velocity))
    bench.supervisor.desire(motion)


def send(bench, velocity=None):
    """Efforts alone, and velocities where given."""
    command = bench.command(effort=NONE, velocity=velocity)
    bench.supervisor.submit(command._replace(position=None))
    return bench.drives.cycle()


@pytest.fixture
def bench(mechanism):
    bench = Bench(mechanism, strict=True, mode='effort')
    send(bench)
    return bench


def test_efforts_alone_are_for_the_desired_motion(bench):
    assert not send(bench).velocity.any()
    desire(bench)
    assert (send(bench).velocity == TURNING).all()


def test_velocities_of_a_command_itself_come_first(bench):
    desire(bench)
    assert (send(bench, velocity=-TURNING).velocity == -TURNING).all()


def test_a_motion_that_is_not_told_any_more_does_not_count(bench):
    desire(bench, age=DRIVES.command_timeout)
    assert bench.report.off_desired is not None
    assert not send(bench).velocity.any() and bench.report.off_desired is None


def test_the_distance_is_that_at_the_time_of_the_measurement(bench):
    desire(bench, age=0.01)
    expected = bench.home + array(1, 0.2, 0.0) + 0.01 * TURNING - bench.drives.position
    assert bench.report.off_desired == pytest.approx(expected, abs=1e-12)
    bench.drives.position = bench.drives.position + array(1, 0.2, 0.0)
    send(bench)
    later = expected - array(1, 0.2, 0.0) + PERIOD * TURNING
    assert bench.report.off_desired == pytest.approx(later, abs=1e-12)


@pytest.mark.parametrize('number', [np.nan, np.inf])
def test_what_is_no_motion_changes_nothing(bench, number):
    desire(bench)
    for wrong in ({'velocity': array(3, number, 0.0)}, {'ahead': number}):
        desire(bench, **wrong)
        assert (send(bench).velocity == TURNING).all() and np.isfinite(
            bench.report.off_desired
        ).all()


def test_a_desired_velocity_beyond_the_limit_stops_all(bench):
    desire(bench, array(4, 31.0, 0.0))
    assert send(bench).goal is DriveGoal.STOPPED
    assert bench.report.text.startswith('crank_4: setpoint velocity')


def test_positions_tell_their_motion_themselves(mechanism):
    bench = Bench(mechanism)
    bench.send(effort=NONE)
    desire(bench)
    assert not bench.send(effort=NONE).velocity.any()
