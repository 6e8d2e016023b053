# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bad messages change nothing: each causes a specific error, and the running motion continues."""

import signal
from time import sleep

import numpy as np
import pytest

from masticator_dynamics.motion import chewing_stroke, path_from_state

pytest.importorskip('rclpy', reason='rclpy is not installed')

from geometry_msgs.msg import WrenchStamped
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from nodes.harness import CYCLE, nanoseconds, rows

pytestmark = [pytest.mark.waiting, pytest.mark.early]

COORDINATES = ('x', 'y', 'alpha', 'beta')
CRANKS = tuple(f'crank_{i}' for i in range(1, 7))
TIMES = np.linspace(0.0, 200.0, 2001)  # longer than all tests of this file
CHEWING = chewing_stroke(strokes=100, period=2.0, opening=0.06)


_motion = []  # that was asked for last


@pytest.fixture
def running(client, mechanism):
    """A slow motion in progress, as (path, start)."""
    if not _motion or client.status('trajectory')[2]['mode'] != 'running':
        _motion[:] = begin(client, mechanism)  # anew, when the computer stood still meanwhile
    return _motion


def begin(client, mechanism):
    sampled = CHEWING.sample(TIMES)
    client.finish(client.follow(COORDINATES, [0.15], [mechanism.home.y]))
    start = client.now() + 10_000_000_000  # a busy computer checks slowly
    client.follow(COORDINATES, TIMES, *sampled, start=start)
    rest = (mechanism.home.y, np.zeros(4), np.zeros(4))
    client.states_between(start, start + 50_000_000)
    return path_from_state(rest, TIMES, *sampled), start


@pytest.fixture
def undisturbed(client, running, mechanism):
    """Checks afterwards that every cycle followed the running motion."""
    begin = client.now()
    answers = len(client.trajectories)
    yield client
    path, start = running
    end = nanoseconds(client.collect()[-1].header.stamp)
    stamps, position, _, effort = rows(client.states_between(begin, end))
    batch = mechanism.feedforward_batch(*path.sample((stamps - start) * 1e-9))
    assert not (np.diff(stamps) % CYCLE).any()
    assert np.abs(position - batch.position).max() < 1e-6
    assert np.abs(effort - batch.actuated).max() < 1e-6
    assert len(client.trajectories) == answers


def message(names=COORDINATES, seconds=(0.5, 1.0), positions=None, **rows):
    """A valid trajectory, opening by a few degrees, in given coordinates."""
    trajectory = JointTrajectory(joint_names=list(names))
    if positions is None:
        positions = [[0.0] * len(names)] * len(seconds)
    for k, time in enumerate(seconds):
        point = JointTrajectoryPoint(positions=list(positions[k]))
        for what, values in rows.items():
            setattr(point, what, list(values[k]))
        total = round(time * 1e9)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(total, 10**9)
        trajectory.points.append(point)
    return trajectory


def stamped(trajectory, stamp):
    trajectory.header.stamp.sec, trajectory.header.stamp.nanosec = divmod(stamp, 10**9)
    return trajectory


def at(beta=0.0, x=0.0, y=0.0, alpha=0.0):
    return [x, y, alpha, beta]


HOME = at()


def fast(seconds):
    """A fast motion that opens by 0.04 rad, from rest to rest."""
    rest = [HOME, HOME]
    return message(
        seconds=(0.5, 0.5 + seconds),
        positions=[HOME, at(beta=0.04)],
        velocities=rest,
        accelerations=rest,
    )


BAD_TRAJECTORIES = {
    'unknown joint': (message(['x', 'y', 'alpha', 'gama']), ['gama', 'unknown']),
    'missing joint': (message(['x', 'y', 'alpha']), ['beta', 'missing']),
    'missing crank': (message(CRANKS[:-1]), ['crank_6', 'missing']),
    'joint twice': (message([*COORDINATES, 'x']), ["'x'", '2 times']),
    'kinds mixed': (message(['x', 'y', 'alpha', 'crank_1']), ['crank_1', "'x'"]),
    'passive joint': (message(['x', 'y', 'alpha', 'gamma']), ['gamma']),
    'no names': (message([]), ['joint_names']),
    'no points': (message(seconds=()), ['no points']),
    'no positions': (message(positions=[[], []]), ['positions']),
    'positions too short': (
        message(positions=[HOME, HOME[:3]]),
        ['point 2', '1 s', '3 positions', '4'],
    ),
    'velocities too long': (
        message(velocities=[HOME, [0.0] * 5]),
        ['point 2', '5 velocities', '4'],
    ),
    'velocities in some points': (message(velocities=[HOME, []]), ['point 2', '0 velocities']),
    'effort too short': (message(effort=[HOME, [0.0]]), ['point 2', '1 effort']),
    'accelerations alone': (message(accelerations=[HOME, HOME]), ['accelerations', 'velocities']),
    'NaN': (message(positions=[HOME, at(beta=np.nan)]), ['beta', '1 s', 'nan']),
    'infinity': (message(velocities=[at(x=np.inf), HOME]), ['velocities of x', '0.5 s', 'inf']),
    'time stands still': (message(seconds=(0.5, 0.5)), ['point 2', '0.5 s', 'increase']),
    'time goes back': (message(seconds=(0.5, 0.25)), ['point 2', '0.25 s', 'increase']),
    'negative time': (message(seconds=(-0.5, 1.0)), ['0.5 s', 'before']),
    'too long': (message(seconds=(0.5, 1e6)), ['1e+06 s', '600 s']),
    'over': (stamped(message(), 10**9), ['ended', 'ago']),
    'out of reach': (message(positions=[HOME, at(x=0.5)]), ['cannot close', 's:', 'mm']),
    'socket': (
        # The condyles start at -2.5 mm; their sockets end at 5 mm.
        message(positions=[HOME, at(x=0.0085)]),
        ['1 s: condyle_left x position 0.006 m', '[-0.01, 0.005] m'],
    ),
    'joint range': (
        message(positions=[HOME, at(beta=0.3)], velocities=[HOME] * 2, accelerations=[HOME] * 2),
        ['1 s: crank_3 position', '1.7', 'rad'],
    ),
    'velocity': (fast(0.015), ['s: crank_', 'velocity', '40', 'rad/s']),
    'open loop': (
        message(CRANKS, positions=[[0.0] * 6, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]]),
        ['1 s', 'crank_1', 'mm', '0.1 mm'],
    ),
    'cranks of no pose': (message(CRANKS, positions=[[0.0] * 6, [1.6] * 6]), ['1 s']),
    'velocities that open loops': (
        message(
            CRANKS,
            positions=[[0.0] * 6] * 2,
            velocities=[[0.0] * 6, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
        ),
        ['1 s', 'velocity', 'crank_'],
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', BAD_TRAJECTORIES)
def test_bad_trajectory_is_refused_by_name(undisturbed, node, name):
    trajectory, words = BAD_TRAJECTORIES[name]
    before = int(undisturbed.status('trajectory')[2]['rejected'])
    undisturbed.publish(trajectory)
    _, text, _ = undisturbed.wait_for_status('trajectory', 'ERROR', f'rejected ({before + 1})')
    for word in words:
        assert word in text, text


def test_refusals_are_logged_but_do_not_flood_the_log(client, node, running):
    """A few lines at once, then one per second, with the number of others."""
    sleep(1.1)  # one line at least
    before = int(client.status('trajectory')[2]['rejected'])
    lines = len(node.log('joint_trajectory rejected'))
    for k in range(200):
        client.publish(message(['x', 'y', 'alpha', f'stranger_{k}']))
        sleep(0.002)
    client.wait_for_status('trajectory', 'ERROR', f'rejected ({before + 200})')
    logged = node.log('joint_trajectory rejected')[lines:]
    assert logged[0].startswith('[ERROR]') and "'stranger_" in logged[0]
    assert 1 <= len(logged) <= 20


def wrench(frame='molar_left', **components):
    measured = WrenchStamped()
    measured.header.frame_id = frame
    for name, value in components.items():
        part = measured.wrench.force if name[0] == 'f' else measured.wrench.torque
        setattr(part, name[1], value)
    return measured


BAD_FORCES = {
    'unknown frame': (wrench('molar', fz=-1.0), ["'molar'", 'no frame']),
    'no frame': (wrench('', fz=-1.0), ["''", 'no frame']),
    'NaN': (wrench(fy=np.nan), ['fy', 'nan']),
    'infinity': (wrench(tx=-np.inf), ['tx', 'inf']),
    'absurd': (wrench(fz=1e300), ['fz', '1e+300 N']),
}


@pytest.mark.parametrize('name', BAD_FORCES)
def test_bad_bite_force_is_refused_by_name(undisturbed, node, name):
    force, words = BAD_FORCES[name]
    before = int(undisturbed.status('bite force')[2]['rejected'])
    undisturbed.bite_message(force)
    _, text, _ = undisturbed.wait_for_status('bite force', 'ERROR', f'rejected ({before + 1})')
    for word in words:
        assert word in text, text
    node.wait_for_line('bite_force rejected')


def test_a_good_trajectory_is_followed_after_all_that(client, running):
    answer = client.follow(COORDINATES, [0.4], [HOME])
    client.wait_for_status('trajectory', 'OK')
    assert client.finish(answer) > nanoseconds(answer.header.stamp)


def test_after_a_stall_nothing_moves_until_it_is_asked_for(client, node, mechanism, running):
    """The operating system stops the process for more than a second during a motion."""
    jumps, stalls = (int(client.status('cycle')[2][key]) for key in ('clock jumps', 'stalls'))
    node.process.send_signal(signal.SIGSTOP)
    sleep(1.5)
    node.process.send_signal(signal.SIGCONT)
    client.wait_for_value('cycle', 'stalls', lambda count: int(count) > stalls)
    client.wait_for_status('trajectory', 'ERROR', 'stopped: there was no cycle for ')
    assert client.status('trajectory')[2]['mode'] == 'hold last'
    assert int(client.status('cycle')[2]['clock jumps']) == jumps
    stamps, position, velocity, _ = rows(client.collect())
    assert (position == position[0]).all() and not velocity.any()
    assert not ((stamps - stamps[0]) % CYCLE).any()
    assert abs(stamps[-1] - client.now()) < 20 * 10**9  # and not off by the stall for good
    client.follow(COORDINATES, [0.4], [HOME])
    client.wait_for_status('trajectory', 'OK')
