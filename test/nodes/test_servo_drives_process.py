# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `servo_drives` from start to end: signals, life cycle, other modes, bad files."""

import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from lifecycle_msgs.msg import State as LifeCycle
from lifecycle_msgs.msg import Transition
from processes import START, needs_multicast, wait_for
from sensor_msgs.msg import JointState

from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.scaling import Scaling
from nodes.drives_harness import (
    CRANKS,
    EMERGENCY,
    LONG,
    MASTER,
    POWERED,
    RPDO,
    SILENCE,
    SYNC_LOSS,
    Robot,
    leaves,
    on_time,
    told,
    told_to_slow_down,
    write_drives,
)
from nodes.harness import NodeProcess, to_time

pytestmark = [
    pytest.mark.waiting,
    pytest.mark.early,
    needs_multicast,
]


def test_a_killed_node_leaves_drives_that_stop_by_themselves(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'killed')
    try:
        with robot.enabled().chew():
            robot.node.end(signal.SIGKILL)
        begin = robot.trace.last(MASTER)
        codes = {
            k: wait_for(
                lambda k=k: [f for f in robot.trace.since(begin, EMERGENCY + k) if any(f[2][:2])],
                f'EMCY of {k}', LONG,
            )[0]
            for k in range(1, 7)
        }  # fmt: skip
        assert all(int.from_bytes(data[:2], 'little') == 0x8130 for _, _, data in codes.values())
        end = max(t for t, _, _ in codes.values())
        assert on_time('process killed', begin, end, robot.stated['process'])
        begin = time.time()
        robot.trace.send(0x080)  # a SYNC of ours: what are they doing?
        robot.trace.wait_until_left(begin, states=POWERED)
    finally:
        robot.close()


def test_nothing_is_compiled_when_drives_may_be_enabled(
    ros_domain, mechanism, tmp_path, monkeypatch
):
    """Everything is compiled when the node is configured; starts with an empty cache."""
    cache = tmp_path / 'cache'
    cache.mkdir(mode=0o700)
    monkeypatch.setenv('MASTICATOR_CACHE_DIR', str(cache))
    robot = Robot(mechanism, tmp_path, 'cold')
    try:
        before = {str(file) for file in cache.rglob('*')}
        peer = robot.enabled()
        with peer.chew():
            time.sleep(2.0)
        peer.command(position=peer.chewing(0.0) + 0.02)  # far off, and the loops stay open
        time.sleep(1.0)
        robot.ask('disable')
        assert before and {str(file) for file in cache.rglob('*')} == before
    finally:
        robot.close()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_in_good_order(ros_domain, mechanism, tmp_path, number):
    robot = Robot(mechanism, tmp_path, 'ended')
    try:
        with robot.enabled().chew():
            begin = time.time()
            assert robot.node.end(number) == 0
        robot.trace.wait_until_left(begin, states=POWERED)
        states = {state for k in range(1, 7) for _, state in robot.trace.states(begin, k)}
        assert told_to_slow_down(robot, begin)
        assert not {state for state in states if 'FAULT' in state.name}
        managed = [data for _, _, data in robot.trace.since(begin, 0x000)]
        assert {data[1] for data in managed if data[0] == 0x80} == set(range(1, 7))
        time.sleep(SILENCE + 0.15)  # longer than they would wait for a heartbeat
        codes = [f for k in range(1, 7) for f in robot.trace.since(begin, EMERGENCY + k)]
        assert not [f for f in codes if any(f[2][:2])]
    finally:
        robot.close()


def refused(peer, reason):
    return wait_for(lambda: reason in peer.request('enable')[1], f'refusal: {reason}', LONG)


def test_life_cycle(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'managed', wait=False, autostart=False)
    peer = robot.peer
    try:
        assert peer.state() == LifeCycle.PRIMARY_STATE_UNCONFIGURED
        peer.change(Transition.TRANSITION_CONFIGURE)
        assert peer.request('enable') == (False, 'the node is not active')
        for activated in range(2):
            peer.change(Transition.TRANSITION_ACTIVATE)
            peer.connect()
            if not activated:
                refused(peer, 'crank_6 are not homed since they were switched on')
                robot.ask('home')
            robot.ask('enable')
            begin = time.time()
            with peer.hold():
                peer.change(Transition.TRANSITION_DEACTIVATE)
                ended = time.time()
                robot.trace.wait_until_left(begin, states=POWERED)
            time.sleep(SYNC_LOSS + 0.2)  # longer than they would wait for SYNC
            assert not robot.trace.since(ended, 0x080)  # no SYNC any more
            assert not [
                f for k in range(1, 7) for f in robot.trace.since(begin, EMERGENCY + k)
                if any(f[2][:2])
            ]  # fmt: skip
        peer.change(Transition.TRANSITION_CLEANUP)
        peer.change(Transition.TRANSITION_CONFIGURE)
    finally:
        assert robot.close() == 0


def test_a_drive_that_has_gone_while_inactive_is_named(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'gone', wait=False, autostart=False)
    peer = robot.peer
    try:
        peer.change(Transition.TRANSITION_CONFIGURE)
        peer.change(Transition.TRANSITION_ACTIVATE)
        peer.connect()
        peer.change(Transition.TRANSITION_DEACTIVATE)
        robot.drives.fault('bus-off crank_3')
        with pytest.raises(AssertionError):
            peer.change(Transition.TRANSITION_ACTIVATE)
        assert peer.state() == LifeCycle.PRIMARY_STATE_INACTIVE
        robot.node.wait_for_line('cannot be activated: crank_3', LONG)
        robot.drives.fault('clear all')
        peer.change(Transition.TRANSITION_ACTIVATE)
        robot.ask('reset', 'home', 'enable')
    finally:
        assert robot.close() == 0


def test_a_drive_in_fault_at_the_start(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'faulty', wait=False, autostart=False)
    try:
        robot.drives.fault('fault crank_2 0x3210')
        robot.peer.change(Transition.TRANSITION_CONFIGURE)
        robot.peer.change(Transition.TRANSITION_ACTIVATE)
        robot.peer.connect()
        told(robot, 'crank_2: is in fault')
        success, message = robot.peer.request('enable')
        assert not success and 'crank_2' in message
        robot.drives.fault('clear all')
        robot.ask('reset', 'home', 'enable')
    finally:
        robot.close()


def test_effort_mode(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'efforts', changes={'mode': 'effort'}, loop_check_rate=0.0)
    peer = robot.peer
    try:
        robot.ask('home', 'enable')
        effort = 0.02 * np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.0])
        begin = time.time()
        with peer.following(lambda t: {'position': (), 'effort': effort}):

            def pulls():
                newest = peer.states[-1]
                return newest.velocity[0] > 0.5 and newest.velocity[1] < -0.5

            wait_for(pulls, 'motion', LONG)
        leaves(robot, begin)
        told(robot, 'stopped until reset')
    finally:
        assert robot.close() == 0


def test_bite_effort_is_added_past_a_trajectory_controller(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'biting', add_bite_effort=True)
    peer, added = robot.peer, 0.06 * np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    efforts = peer.node.create_publisher(JointState, 'external_effort', 10)
    scaling = Scaling([drive.motor for drive in load_drives(robot.file).drives.values()])

    def torques():
        """Torque offsets of the latest PDOs for drives at rest, N m at the cranks."""
        newest = [robot.trace.since(0.0, RPDO + node)[-1][2] for node in range(1, 7)]
        raw = np.array([int.from_bytes(data[6:8], 'little', signed=True) for data in newest])
        return scaling.effort_from_per_mille(raw.astype(float), np.zeros(6))

    def near(expected):
        # The gear's efficiency counts as soon as a drive moves a little.
        return np.abs(torques() - expected).max() < 0.25 * np.abs(expected).max() + 2e-3

    try:
        wait_for(efforts.get_subscription_count, 'external_effort', LONG)
        robot.ask('home', 'enable')
        with peer.hold():

            def sent():
                state = JointState(name=CRANKS, effort=added.tolist())
                state.header.stamp = to_time(peer.now())
                efforts.publish(state)
                time.sleep(0.01)
                return near(added)

            wait_for(sent, 'added efforts', LONG)
            wait_for(lambda: np.abs(torques()).max() == 0.0, 'nothing when too old', LONG)
    finally:
        assert robot.close() == 0


def test_what_cannot_be_used_ends_the_node_with_a_sentence(ros_domain, tmp_path):
    file = write_drives(tmp_path)
    other = tmp_path / 'other'
    other.mkdir()
    fewer = write_drives(other)
    fewer.write_text(fewer.read_text().replace('crank_6:', 'crank_7:'))
    cases = (
        ({'drives': file}, 'do not answer on bus udp_multicast'),
        ({'drives': file, 'bus__interface': 'socketcan', 'bus__channel': 'can9'}, 'can9'),
        ({'drives': file, 'bus__channel': '10.0.0.1'}, '10.0.0.1 is no multicast address'),
        ({'drives': fewer}, 'the actuated joints of masticator are crank_1'),
        ({'drives': tmp_path / 'none.yaml'}, 'none.yaml'),
        ({'drives': file, 'bus__interface': 'lin'}, 'bus'),
    )
    for parameters, reason in cases:
        process = NodeProcess(
            'servo_drives', wait=False, namespace='refused', wait_for_drives=0.0, **parameters
        )
        try:
            assert process.process.wait(START) == 1, parameters
        finally:
            process.end()
        assert process.log(reason), (reason, process.lines)
        assert not process.log('Traceback'), process.lines
