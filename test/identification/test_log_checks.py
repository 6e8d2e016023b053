# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings from which nothing true can be learnt are refused, with what was seen."""

import dataclasses

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from identification.robots import chewing
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.measured_motion import (
    measured_motion,
    usual_cutoff,
)
from masticator_dynamics.identification.robot_log import RobotLog, checked, parted


@pytest.fixture(scope='module')
def log(mechanism) -> RobotLog:
    effort = mechanism.feedforward_batch(*chewing(4.0))
    time = np.arange(len(effort.y)) / 500.0
    return RobotLog('run.csv', time, np.array(effort.position), np.array(effort.actuated), None)


def _clipped(log: RobotLog) -> np.ndarray:
    effort = log.effort.copy()
    effort[:, 2] = np.minimum(effort[:, 2], np.quantile(effort[:, 2], 0.9))
    return effort


def _turned(log: RobotLog, rows: slice, angle: float) -> RobotLog:
    position = log.position.copy()
    position[rows, 1] += angle
    return dataclasses.replace(log, position=position)


CASES = {
    'glitch': (
        lambda g: _turned(g, slice(700, 701), 0.3),
        'of crank_2 jumps by 0.303 rad in 2 ms after 1.398 s: a reading that is none',
    ),
    'turns cut off': (
        lambda g: _turned(g, slice(700, None), -2.0 * np.pi), 'whole turns are cut off'
    ),
    'rows cut out': (
        lambda g: dataclasses.replace(
            g.part(slice(None, -100)),
            position=np.vstack([g.position[:1010], g.position[1110:] + 0.2]),
        ),
        'or rows that were cut out',
    ),
    'short': (lambda g: g.part(slice(0, 500)), '0.998 s were recorded; 2 s are needed'),
    'rest': (lambda g: dataclasses.replace(g, position=0.0 * g.position), 'at rest: no motor'),
    'silent': (
        lambda g: dataclasses.replace(g, effort=g.effort * ([1.0] * 5 + [0.0])),
        'the effort of crank_6 never changes',
    ),
    'clipped': (
        lambda g: dataclasses.replace(g, effort=_clipped(g)), 'the effort of crank_3 is clipped'
    ),
    'gap': (
        lambda g: dataclasses.replace(g, time=g.time + 0.5 * (g.time > 2.0)),
        '1 gaps, the first of 0.502 s after 2.000 s',
    ),
    'clock': (
        lambda g: dataclasses.replace(g, time=g.time - 0.5 * (g.time > 2.0)),
        'the clock steps back by 0.498 s in row 1002',
    ),
    'degrees': (
        lambda g: dataclasses.replace(g, position=np.rad2deg(g.position)),
        'seem to be in degrees, or of motors before',
    ),
    'swapped': (
        lambda g: dataclasses.replace(g, position=g.position[:, [0, 1, 4, 3, 2, 5]]),
        'they close when crank_3 and crank_5 are swapped',
    ),
    'other': (
        lambda g: dataclasses.replace(g, position=g.position[:, [1, 2, 3, 4, 5, 0]]),
        'these are not positions of masticator',
    ),
}  # fmt: skip


@pytest.mark.parametrize('case', CASES)
def test_what_was_seen_is_said(mechanism, log, case) -> None:
    spoil, said = CASES[case]
    with pytest.raises(InputError, match='run.csv: ') as raised:
        checked(mechanism, spoil(log))
    assert said in str(raised.value)


def test_a_good_recording_stays_as_it_is(mechanism, log) -> None:
    kept = checked(mechanism, log)
    assert kept.position == pytest.approx(log.position)
    assert kept.effort == pytest.approx(log.effort)


def _without(log: RobotLog, lost: np.ndarray) -> RobotLog:
    rows = np.flatnonzero(~lost)
    return dataclasses.replace(
        log, time=log.time[rows], position=log.position[rows], effort=log.effort[rows]
    )


def test_lost_rows_are_worked_around(mechanism, log) -> None:
    """What is learnt from is as if nothing was lost: short gaps are bridged, long ones left out."""
    lost = np.random.default_rng(0).uniform(size=len(log.time)) < 0.05
    lost[[0, -1]] = False
    lost[400:405] = lost[1000:1050] = True
    found = checked(mechanism, _without(log, lost))
    assert found.time == pytest.approx(log.time, abs=1e-12)
    assert found.measured is not None
    assert set(np.flatnonzero(~found.measured)) >= set(range(1000, 1050))
    assert np.count_nonzero(~found.measured) < 70
    assert len(found.doubts) == 1 and 'of 0.102 s after 1.998 s' in found.doubts[0]
    whole, other = (measured_motion(mechanism, one, 15.0) for one in (log, found))
    assert 0.5 * len(whole.kept) < len(other.kept) < len(whole.kept)
    size = np.abs(whole.motion.y_ddot).max(axis=0)
    off = np.abs(whole.motion.y_ddot - other.motion.y_ddot) / size
    assert off[other.kept].max() < 0.01 < off.max()
    again = checked(mechanism, found.part(slice(900, None)))  # parts of it are checked again
    assert np.count_nonzero(~again.measured) == np.count_nonzero(~found.measured[900:])


def test_many_lost_rows_are_refused(mechanism, log) -> None:
    lost = np.arange(len(log.time)) % 50 < 10  # gaps everywhere, 20 % of the rows
    lost[0] = False
    with pytest.raises(InputError, match='gaps, the first of .* together 2..0 % of the time'):
        checked(mechanism, _without(log, lost))
    few = np.arange(len(log.time)) % 200 < 9  # less than that, but nothing is far from one
    few[0] = False
    with pytest.raises(InputError, match='gaps leave too little'):
        measured_motion(mechanism, checked(mechanism, _without(log, few)), 15.0)


def test_rows_must_suffice_for_the_cutoff(mechanism, log) -> None:
    slow = checked(mechanism, log.part(slice(0, None, 25)))
    assert usual_cutoff(slow) == pytest.approx(2.0)
    assert len(measured_motion(mechanism, slow, 5.0).kept) > 40
    assert usual_cutoff(log) == 15.0
    with pytest.raises(InputError, match='20 rows per second; a cutoff of 15 Hz needs 60: .*, 5 a'):
        measured_motion(mechanism, slow, 15.0)
    few = r'a part of 4 s is too short for .* 2 Hz, which spoils 2 s at both ends: 6 s .* 5 Hz at'
    with pytest.raises(InputError, match=few):
        measured_motion(mechanism, slow, 2.0)


def test_a_short_log_is_told_what_it_lacks(log) -> None:
    with pytest.raises(InputError, match=r'3.998 s were recorded; .* record 8 s, or .* --held-out'):
        parted(log, 0.25)
    long = dataclasses.replace(log, time=2.5 * log.time)
    first, last = parted(long, 0.25)
    assert len(first.time) + len(last.time) == len(log.time) and len(last.time) == 500
    # Just long enough: what is to judge by is so, too, whatever the rows' rate.
    for step in (25, 10, 1):
        thin = log.part(slice(0, None, step))
        exact = dataclasses.replace(thin, time=np.linspace(0.0, 8.0, len(thin.time)))
        assert np.ptp(parted(exact, 0.25)[1].time) >= 2.0


@pytest.mark.parametrize('seed', range(3))
def test_times_that_are_less_even_than_rows_are_not_believed(log, mechanism, seed) -> None:
    """As a program stamps rows when it comes to them: noise of speeds times that was left."""
    step = log.time[1]
    late = np.random.default_rng(seed).uniform(0.0, 0.8 * step, len(log.time))
    found = checked(mechanism, dataclasses.replace(log, time=log.time + late))
    (doubt,) = found.doubts
    assert doubt.startswith('run.csv: times differ from even ones by up to ')
    assert 'rows are taken as 2 ms apart' in doubt
    np.testing.assert_array_equal(found.position, log.position)
    np.testing.assert_allclose(found.time, log.time, atol=step)
    assert np.ptp(np.diff(found.time)) < 1e-6 * step


@pytest.mark.parametrize('seed', range(3))
def test_rows_that_are_as_uneven_as_their_times_are_moved(log, mechanism, seed) -> None:
    step = log.time[1]
    late = np.random.default_rng(seed).uniform(0.0, 0.8 * step, len(log.time))
    late[[0, -1]] = 0.0
    when = log.time + late
    uneven = CubicSpline(log.time, log.position)(when), CubicSpline(log.time, log.effort)(when)
    robot = dataclasses.replace(log, time=when, position=uneven[0], effort=uneven[1])
    found = checked(mechanism, robot)
    assert found.doubts == ()
    there = CubicSpline(log.time, log.position)(found.time)
    np.testing.assert_allclose(found.position, there, atol=2e-5)
