# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which files open: with all joints, or with the actuated ones alone; numbers that are none."""

import json

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.bag import Event
from masticator_dynamics.files.bag_writer import write_mcap
from masticator_dynamics.files.message_types import message_type
from masticator_dynamics.identification.robot_log import read_log
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.view.played_run import load_run

RATE, STATE = 100.0, 'sensor_msgs/msg/JointState'  # Hz


@pytest.fixture(scope='module')
def jaw():
    return Mechanism.load('masticator')


@pytest.fixture(scope='module')
def chewed(jaw):
    path = chewing_stroke(strokes=1, period=0.5)
    return jaw.feedforward_batch(*path.sample(np.arange(51) / RATE))


def record(file, topics, stamp_of=lambda k: round(1e9 * k / RATE), often=1):
    """Joint states (names, positions, efforts) by topic, one message every 10 ms, so often."""
    state, header, stamp = map(
        message_type, (STATE, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time')
    )
    nothing = np.zeros(0)
    headers = [header(stamp(*divmod(stamp_of(k), 10**9)), '') for k in range(51)]
    events = [
        Event(topic, round(1e9 * k / RATE), 0, k, state(
            headers[k], list(names), np.array(position[k]), nothing,
            np.array(effort[k]) if len(effort) else nothing,
        ))
        for topic, (names, position, effort) in topics.items()
        for k in np.repeat(np.arange(len(position)), often).tolist()
    ]  # fmt: skip
    write_mcap(file, dict.fromkeys(topics, STATE), events)


def test_a_recording_of_the_closed_loop_opens(jaw, chewed, tmp_path) -> None:
    file = tmp_path / 'closed_loop.mcap'
    drives = (jaw.actuated, chewed.position, chewed.actuated)
    record(file, {
        '/feedforward_state': drives,
        '/servo_drives/state': (jaw.actuated, chewed.position, 2.0 * chewed.actuated),
        '/twin/joint_states': (jaw.tree_joints, chewed.q, []),
    })  # fmt: skip
    run = load_run(file, None)
    assert run.mechanism.name == 'masticator'
    np.testing.assert_array_equal(run.q, chewed.q)
    np.testing.assert_allclose(run.efforts, 2.0 * chewed.actuated)  # as the drives measure them
    assert run.time[-1] == pytest.approx(0.5) and not run.doubts


def test_actuated_joints_alone_are_completed(jaw, chewed, tmp_path) -> None:
    file = tmp_path / 'measured.mcap'
    record(file, {'/servo_drives/state': (jaw.actuated[::-1], chewed.position[:, ::-1], [])})
    for mechanism in (None, 'masticator'):
        run = load_run(file, mechanism)
        assert run.mechanism.name == 'masticator'
        np.testing.assert_allclose(run.q, chewed.q, atol=1e-8)
    other = Mechanism.load('rss6')  # has the same cranks, and freedoms that the jaw has not
    away = np.linspace(0.0, 1.0, 51)[:, None] * [0.0, 0.0, -0.01, 0.0, 0.0, 0.01]
    moved = other.feedforward_batch(other.home.y + away)
    record(file, {'/servo_drives/state': (other.actuated, moved.position, [])})
    assert load_run(file, None).mechanism.name == 'rss6'


def test_times_are_those_that_every_reader_takes(jaw, chewed, tmp_path) -> None:
    """Messages that came twice, and without times of their own."""
    file, drives = tmp_path / 'times.mcap', (jaw.actuated, chewed.position, chewed.actuated)
    for stamps in ({'often': 2}, {'stamp_of': lambda k: 0}):
        record(file, {'/servo_drives/state': drives}, **stamps)
        run, log = load_run(file, 'masticator'), read_log(str(file), jaw)
        np.testing.assert_array_equal(run.time, log.time)
        np.testing.assert_allclose(run.time, np.arange(51) / RATE, atol=1e-9)
        np.testing.assert_allclose(run.efforts, log.effort)
        assert run.doubts == log.doubts
    assert 'no time in their headers' in ' '.join(run.doubts)
    record(file, {'/servo_drives/state': drives}, stamp_of=lambda k: 10**9 * (60 - k))
    with pytest.raises(InputError, match='in reverse order'):
        load_run(file, 'masticator')


def test_tables_of_other_commands_open(jaw, chewed, tmp_path) -> None:
    motion, efforts, page = tmp_path / 'm.csv', tmp_path / 'efforts.csv', tmp_path / 'page.html'
    rows = np.column_stack([np.arange(51) / RATE, chewed.y])
    np.savetxt(motion, rows, delimiter=',', header='time,x,y,alpha,beta', comments='')
    words = ['--motion', str(motion), '--output', str(efforts)]
    assert main(['inverse-dynamics', 'masticator', *words]) == 0
    run = load_run(efforts, None)
    np.testing.assert_allclose(run.q, chewed.q, atol=1e-8)
    assert run.efforts.shape == (51, 6) and set(run.forces) == set(jaw.contacts)
    assert main(['view', str(efforts), '--html', str(page)]) == 0 and page.exists()
    efforts.write_text('time,position_motor_9\n0,1\n')
    with pytest.raises(InputError, match='no shipped mechanism has these joints'):
        load_run(efforts, None)


def test_numbers_that_are_none_are_said(jaw, chewed, tmp_path, capsys) -> None:
    file, page = tmp_path / 'odd.mcap', tmp_path / 'page.html'
    q, effort = chewed.q.copy(), chewed.actuated.copy()
    q[0, 3], q[20:23], effort[7, 0] = np.nan, np.inf, np.nan
    record(file, {
        'joint_states': (jaw.tree_joints, q, []), 'drive_states': (jaw.actuated, q[:, :6], effort),
    })  # fmt: skip
    run = load_run(file, None)
    assert np.isfinite(run.q).all() and np.isfinite(run.efforts).all()
    np.testing.assert_array_equal(run.q[[0, 20, 22]], chewed.q[[1, 19, 19]])
    positions, efforts = run.doubts
    assert 'joint_states: positions of 4 of 51 messages are not finite' in positions
    assert 'drive_states: forces of 1 of 51 messages' in efforts
    assert main(['view', str(file), '--html', str(page)]) == 0
    assert capsys.readouterr().err.splitlines() == list(run.doubts)
    curves = page.read_text().split('id="curves">', 1)[1].split('</script>', 1)[0]
    json.loads(curves, parse_constant=lambda name: pytest.fail(f'{name} is no JSON'))
    record(file, {'joint_states': (jaw.tree_joints, np.full_like(q, np.nan), [])})
    with pytest.raises(InputError, match='not finite in any message'):
        load_run(file, None)


def test_a_recording_without_joints_is_refused(jaw, chewed, tmp_path) -> None:
    file = tmp_path / 'contacts.mcap'
    record(file, {'contacts': (jaw.contacts, chewed.contact, chewed.contact)})
    with pytest.raises(InputError, match='no shipped mechanism has these joints'):
        load_run(file, None)
    with pytest.raises(InputError, match='no positions of the joints of masticator'):
        load_run(file, 'masticator')
