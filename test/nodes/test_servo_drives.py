# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `servo_drives` as a process, with simulated drives in another, observed on their bus."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from drives.loopback import datagrams
from processes import needs_multicast, wait_for
from std_msgs.msg import Bool

from masticator_dynamics.drives.configuration import bus_load, load_drives
from nodes.drives_harness import (
    CRANKS,
    EMERGENCY,
    HEARTBEAT,
    LATE,
    LONG,
    POWERED,
    RATE,
    RPDO,
    SILENCE,
    TPDO,
    Robot,
    leaves,
    on_time,
    told,
    told_to_slow_down,
)
from nodes.harness import nanoseconds

pytestmark = [
    pytest.mark.waiting,
    pytest.mark.early,
    needs_multicast,
]


@pytest.fixture(scope='module')
def robot(ros_domain, mechanism, tmp_path_factory):
    robot = Robot(mechanism, tmp_path_factory.mktemp('robot'), 'robot')
    yield robot
    assert robot.close() == 0


# What it is for


def test_enabled_drives_follow_commands_and_tell_their_state(robot):
    peer = robot.enabled()
    assert 'the loops close within' in robot.message and 'enabled, holding' in robot.message
    with peer.chew():
        before = len(peer.states)
        wait_for(lambda: len(peer.states) - before > 200, 'states', LONG)
        states = peer.states[before : before + 200]
        peer.wait_for_status('command', 'OK', 'followed')
    assert all(list(state.name) == CRANKS for state in states)
    position = np.array([state.position for state in states])
    assert (np.ptp(position, axis=0) > 0.5 * np.ptp(chewing_positions(peer), axis=0)).all()
    stamps = np.array([nanoseconds(state.header.stamp) for state in states]) * 1e-9
    steps = np.diff(stamps)
    assert (steps > 0.0).all()
    cycles = steps * RATE  # stamps are those of SYNC, some may be left out here
    assert np.median(np.abs(cycles - np.rint(cycles))) < 0.1
    assert np.median(np.rint(cycles)) <= 2.0
    # The angles of any instant are those of one motion: the loops stay closed.
    for angles in position[::20]:
        peer.mechanism.forward_kinematics(angles, 1e-3)
    velocity = np.array([state.velocity for state in states])
    way = np.cumsum(velocity[1:] * steps[:, None], axis=0)
    assert np.abs(position[1:] - position[0] - way).max() < 0.2 * np.ptp(position)


def chewing_positions(peer):
    return np.array([peer.chewing(t) for t in np.linspace(0.0, 2.0, 50)])


def test_state_follows_the_commanded_positions(robot):
    peer = robot.enabled()
    here = peer.position()
    goal = peer.mechanism.solve(peer.mechanism.home.y + [0.0, 0.0, 0.0, 0.05]).position

    def motion(t):
        part = min(t / 0.5, 1.0)
        return {'position': here + part * part * (3.0 - 2.0 * part) * (goal - here)}

    with peer.following(motion):
        wait_for(lambda: np.abs(peer.position() - goal).max() < 0.02, 'the goal', LONG)
        reached = peer.states[-1]
    assert len(reached.effort) == 6 and np.isfinite(reached.effort).all()


def test_joints_in_another_order(robot):
    peer = robot.enabled()
    order = [3, 1, 5, 0, 4, 2]
    names = [CRANKS[k] for k in order]

    def motion(t):
        return {'names': names, 'position': peer.chewing(min(t, 0.4))[order]}

    with peer.following(motion):
        goal = peer.chewing(0.4)
        assert np.ptp(goal) > 0.05  # another order would be another pose
        wait_for(lambda: np.abs(peer.position() - goal).max() < 0.02, 'the goal', LONG)


def test_disable_makes_torque_free_and_commands_are_ignored(robot):
    peer = robot.enabled()
    begin = time.time()
    assert peer.request('disable')[0]
    robot.trace.wait_until_left(begin, states=POWERED)
    here = peer.position()
    for _ in range(20):
        peer.command(here + 0.1)
        time.sleep(0.01)
    wait_for(lambda: int(peer.status('command')[2]['while not enabled']) > 5, 'ignored', LONG)
    robot.at_rest()
    assert peer.status('supervision')[:2] == ('OK', 'torque-free')
    assert np.abs(peer.position() - here).max() < 0.02


# Faults: the reaction of all drives, when, and what is told


def emergency_of(robot, asked, node):
    return wait_for(lambda: robot.trace.since(asked, EMERGENCY + node), 'EMCY', LONG)[0][0]


@pytest.mark.parametrize(
    ('line', 'words'),
    [
        ('fault crank_3 0x2310', ['crank_3', '0x2310']),
        ('over-temperature crank_3', ['crank_3', 'temperature']),
    ],
)
def test_a_fault_of_one_drive_stops_all(robot, line, words):
    peer = robot.enabled()
    with peer.chew():
        asked = robot.drives.fault(line)
        told_at = emergency_of(robot, asked, 3)
        end = leaves(robot, asked)
        status = told(robot, 'all drives torque-free', *words)
    assert on_time(line, told_at, end, robot.stated['fault'])
    assert status[2]['drive'] == 'crank_3'
    assert peer.status('drive crank_3')[0] == 'ERROR'
    assert peer.status('drive crank_4')[0] == 'OK'
    robot.at_rest()
    assert not peer.request('enable')[0]


def test_a_lost_heartbeat_stops_all(robot):
    peer = robot.enabled()
    with peer.chew():
        asked = robot.drives.fault('heartbeat crank_3')
        end = leaves(robot, asked)
        begin = robot.trace.last(HEARTBEAT + 3)
        status = told(robot, 'crank_3: no heartbeat for', f'timeout {SILENCE:g} s')
    assert on_time('heartbeat', begin, end, robot.stated['heartbeat'])
    assert status[2]['drive'] == 'crank_3'
    refused, why = peer.request('reset')
    assert not refused and 'crank_3' in why


def test_a_drive_off_the_bus_stops_all_others_and_itself(robot):
    peer = robot.enabled()
    with peer.chew():
        asked = robot.drives.fault('bus-off crank_3')
        end = leaves(robot, asked, but=[3])
        begin = robot.trace.last(TPDO + 3)
        told(robot, 'crank_3', 'PDOs missing in a row')
        # Cycles go on, states do not.
        wait_for(lambda: robot.trace.last(TPDO + 1) > begin + 1.0, 'cycles', LONG)
        last = nanoseconds(peer.states[-1].header.stamp) * 1e-9
        assert last < begin + 6.0 / RATE + LATE
    assert on_time('bus-off', begin, end, robot.stated['lost'])
    asked = robot.drives.fault('clear crank_3')
    first = wait_for(lambda: robot.trace.states(asked, 3), 'crank_3 to come back', LONG)[0]
    assert first[1] not in POWERED  # it had stopped by itself


def test_lost_frames_of_one_drive_stop_all(robot):
    peer = robot.enabled()
    with peer.chew():
        asked = robot.drives.fault('drop crank_3 1.0')
        end = leaves(robot, asked, but=[3])
        begin = robot.trace.last(TPDO + 3)
        told(robot, 'crank_3', 'missing in a row')
        words = wait_for(lambda: robot.trace.since(end, RPDO + 3), 'the next cycle', LONG)
        assert all(data[0] & 0x0F != 0x0F for _, _, data in words)  # told to stop, too
    assert on_time('drop', begin, end, robot.stated['lost'])
    wait_for(lambda: int(peer.status('drive crank_3')[2]['lost frames']) > 20, 'lost frames', LONG)


def test_packets_that_are_no_frames_are_counted_and_stop_nothing(robot):
    peer, bus = robot.enabled(), load_drives(robot.file).bus
    wait_for(lambda: peer.status('bus'), 'diagnostics', LONG)

    def counted():
        return int(peer.status('bus')[2]['packets that were no frames'])

    before = counted()
    with datagrams() as stranger:
        for garbage in (b'', b'garbage', bytes(range(256))):
            stranger.sendto(garbage, (bus.channel, bus.port))
    wait_for(lambda: counted() == before + 3, 'all of them', LONG)
    assert peer.status('supervision')[0] == 'OK'


def test_frames_later_than_is_waited_for_stop_all(robot):
    """After 0.6 of a cycle; later than a cycle they could not be told from answers to the next."""
    peer = robot.enabled()
    with peer.chew():
        asked = robot.drives.fault(f'delay crank_3 {0.8 / RATE}')
        leaves(robot, asked, but=[3])
        told(robot, 'crank_3', 'missing in a row')


def test_a_stuck_encoder_stops_all_and_is_named(robot):
    """By the drive's following error or by loops that do not close, whichever comes first."""
    peer = robot.enabled()
    with peer.chew():
        asked = robot.drives.fault('stuck-encoder crank_3')
        leaves(robot, asked)
        status = told(robot, 'torque-free', 'crank_3')
    assert status[2]['drive'] == 'crank_3'


# Commands that stop, and commands that are refused


def test_silence_after_commands_stops_all(robot):
    peer = robot.enabled()
    begin = time.time()
    with peer.chew():
        pass
    end = leaves(robot, begin)
    assert on_time('time-out', peer.last_command, end, robot.stated['time-out'])
    limit = f'command_timeout {SILENCE:g} s'
    told(robot, 'all drives stopped until reset: commands: none for', limit)
    assert told_to_slow_down(robot, begin)
    robot.at_rest()


@pytest.mark.parametrize('way', ['topic', 'best effort', 'service'])
def test_emergency_stop_latches_until_reset(robot, way):
    peer = robot.enabled()
    with peer.chew():
        begin = time.time()
        if way == 'topic':
            peer.stops.publish(Bool(data=True))
        elif way == 'best effort':
            peer.careless_stops.publish(Bool(data=True))
        else:
            assert peer.request('emergency_stop')[0]
        end = leaves(robot, begin)
        told(robot, 'stopped until reset: operator: emergency stop')
    assert on_time(f'emergency stop by {way}', begin, end, robot.stated['emergency stop'])
    robot.at_rest()
    success, message = peer.request('enable')
    assert not success and 'emergency stop' in message
    peer.stops.publish(Bool(data=False))  # is no reset
    assert not peer.request('enable')[0]
    assert peer.request('reset')[0]
    assert peer.request('home')[0]
    assert peer.request('enable')[0]


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda p: p + [0.0, 0.5, 0.0, 0.0, 0.0, 0.0], 'crank_2: commanded'),
        (lambda p: np.where(np.arange(6) == 1, 1.69, p), 'crank_2: commanded position 1.69'),
    ],
)
def test_commands_beyond_limits_stop_all(robot, change, words):
    peer = robot.enabled()
    here = peer.position()
    begin = time.time()

    def stopped():
        peer.command(change(here))  # again: the next good one may overtake it within a cycle
        return robot.trace.left(begin, 1)

    with peer.hold():
        wait_for(stopped, 'stop', LONG)
        leaves(robot, begin)
        told(robot, 'all drives stopped', words)
    robot.at_rest()
    assert np.abs(peer.position() - here).max() < 0.05


REFUSED = {
    'five joints': ({'names': CRANKS[:5], 'count': 5}, 'missing: crank_6'),
    'unknown joint': ({'names': [*CRANKS, 'tail'], 'count': 7}, 'unknown joints: tail'),
    'twice': ({'names': [*CRANKS[:5], 'crank_1'], 'count': 6}, 'crank_1 is named 2 times'),
    'wrong length': ({'count': 4}, 'there are 4 positions for 6 joints'),
    'past': ({'age': 2.0 * SILENCE}, f's in the past (command_timeout {SILENCE:g} s)'),
    'ahead': ({'age': -2.0 * SILENCE}, 's ahead'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_bad_commands_are_refused_and_told_and_the_motion_goes_on(robot, case):
    given, words = REFUSED[case]
    peer = robot.enabled()
    here = peer.position()
    count = given.get('count', 6)
    with peer.hold():

        def refused():
            peer.command(
                [*(here + 0.05), 0.0][:count],
                names=given.get('names', CRANKS),
                stamp=peer.now() - round(given.get('age', 0.0) * 1e9),
            )
            time.sleep(0.02)
            status = peer.status('command')
            return status[0] == 'ERROR' and words in status[1]

        wait_for(refused, words, LONG)
        assert peer.phase() == 'enabled, following commands'
        assert np.abs(peer.position() - here).max() < 0.02


def test_bad_commands_alone_are_no_signs_of_life(robot):
    peer = robot.enabled()
    here = peer.position()
    begin = time.time()
    with peer.hold():
        pass

    def stopped():
        peer.command(here, stamp=peer.now() - 10**9)
        peer.command([float('nan')] * 6)
        peer.command(here[:5], names=CRANKS[:5])
        time.sleep(0.01)
        return robot.trace.left(begin, 1)

    wait_for(stopped, 'time-out', LONG)
    told(robot, 'commands: none for')


def test_no_numbers_are_ignored_at_first_and_counted_later(robot):
    """ros2_control's first commands are NaN."""
    peer = robot.peer

    def no_alarm():
        peer.command(peer.position())
        time.sleep(0.05)
        return peer.status('command')[0] == 'OK'

    wait_for(no_alarm, 'good commands', LONG)
    robot.enabled()
    here = peer.position()
    before = int(peer.status('command')[2]['not finite'])
    for _ in range(20):
        peer.command([float('nan')] * 6)
        time.sleep(0.01)
    time.sleep(1.1)  # a report is made in between
    status = peer.status('command')
    assert (status[0], int(status[2]['not finite'])) == ('OK', before)
    assert peer.phase() == 'enabled, holding until the first command'
    with peer.hold():
        for _ in range(5):
            peer.command([*here[:5], float('nan')])
        wait_for(
            lambda: int(peer.status('command')[2]['not finite']) >= before + 5, 'counted', LONG
        )
        assert peer.phase() == 'enabled, following commands'


def test_a_first_command_far_from_the_drives_is_refused(robot):
    peer, holding = robot.enabled(), 'enabled, holding until the first command'
    wait_for(lambda: peer.phase() == holding, holding, LONG)
    here, before = peer.position(), int(peer.status('command')[2]['refused'])

    def refused():
        peer.command(here + [0.0, 0.0, 0.0, 0.3, 0.0, 0.0])
        time.sleep(0.02)
        level, text, values = peer.status('command')
        fits = level == 'ERROR' and 'first command for crank_4 is 0.3 rad away' in text
        return fits and int(values['refused']) > before  # a refusal is told for seconds

    wait_for(refused, 'refusal', LONG)
    assert peer.phase() == holding
    assert np.abs(peer.position() - here).max() < 0.02


# Requests


def test_commands_that_would_open_the_loops_stop_all_and_name_the_crank(robot):
    """All cranks chew and then stop where they are, except one, which continues."""
    peer = robot.enabled()
    off, begun = np.array([0.0, 0.0, 0.0, 0.0, 0.25, 0.0]), []

    def motion(_):
        share = min((time.monotonic() - begun[0]) / 0.3, 1.0) if begun else 0.0
        return {'position': peer_home(peer) + share * off}

    with peer.following(motion):
        begun.append(time.monotonic())  # not before drives were seen to follow
        status = told(robot, 'crank_5', 'it is off by')
    assert status[2]['cause'] == 'commanded closure'
    assert np.abs(peer.position() - peer_home(peer)).max() < 0.15
    robot.ask('reset', 'home')
    assert np.abs(peer.position() - peer_home(peer)).max() < 1e-3
    robot.ask('enable')


def peer_home(peer):
    return peer.mechanism.home.position


def test_home_needs_torque_free_drives(robot):
    peer = robot.enabled()
    success, message = peer.request('home')
    assert not success and 'torque-free' in message
    success, message = peer.request('enable')
    assert success and message.startswith('already enabled')


def test_what_the_bus_and_the_drives_tell(robot):
    peer = robot.enabled()
    drive = peer.wait_for_status('drive crank_3', 'OK', 'operation enabled')[2]
    assert drive['node id'] == '3' and drive['state'] == 'operation enabled'
    assert 0.0 <= float(drive['heartbeat age (s)']) < SILENCE
    wait_for(
        lambda: 20.0 < float(peer.status('drive crank_3')[2]['temperature (degC)']) < 80.0,
        'temperature', LONG,
    )  # fmt: skip
    bus = peer.status('bus')[2]
    low, high = bus_load(load_drives(robot.file))
    assert bus['load estimate (%)'] == f'{100 * low:.0f} to {100 * high:.0f}'
    for name in ('jitter p50 (us)', 'jitter p99 (us)', 'jitter max (us)', 'cycles'):
        assert float(bus[name]) > 0.0
    assert 'udp_multicast' in bus['bus']
