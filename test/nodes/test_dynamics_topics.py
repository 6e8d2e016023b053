# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of node `dynamics`, and its response to bite forces."""

import threading
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from geometry_msgs.msg import WrenchStamped
from processes import wait_for
from rcl_interfaces.srv import DescribeParameters
from rclpy.qos import ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from masticator_dynamics.ros.dynamics.dynamics_topics import WrenchInput
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce
from nodes.harness import SHOWN_EVERY, NodeProcess, Peer, nanoseconds, rows
from nodes.urdf_loops import gaps

pytestmark = [pytest.mark.waiting, pytest.mark.early]

FORCE, TORQUE = (3.0, -2.0, -30.0), (0.1, -0.2, 0.05)
OPEN = (0.001, 0.0005, 0.01, 0.08)


def opened(client, mechanism):
    """Hold an open, twisted pose; returns the motion there."""
    client.finish(client.follow(mechanism.independent, [0.3], [OPEN]))
    return mechanism.solve(OPEN)


def test_state_and_effort_are_of_the_same_cycle(at_home, mechanism):
    opened(at_home, mechanism)
    state = at_home.states[-1]
    assert state.name == list(mechanism.actuated)
    answer = at_home.follow(mechanism.independent, [0.4], [mechanism.home.y])
    at_home.finish(answer)
    at_home.check_complete([nanoseconds(s.header.stamp) for s in at_home.states])
    count = min(len(at_home.states), len(at_home.efforts)) - 10
    by_state = {tuple(s.effort) for s in at_home.states}
    assert sum(tuple(e.data) in by_state for e in at_home.efforts[-count:]) >= count - 10


@pytest.mark.parametrize('frame', ['molar_left', 'maxilla', 'crank_3_link'])
def test_bite_force_acts_in_axes_and_at_point_of_its_frame(at_home, mechanism, frame):
    motion = opened(at_home, mechanism)
    wrench = mechanism.wrench_on_platform(motion, FORCE, TORQUE, frame, frame)
    with at_home.biting(frame, FORCE, TORQUE):
        assert at_home.settles_at(mechanism.feedforward(OPEN, wrench=wrench).actuated)


def test_point_frame_overrides_the_point(at_home, mechanism):
    motion = opened(at_home, mechanism)
    wrench = mechanism.wrench_on_platform(motion, FORCE, TORQUE, 'maxilla', 'incisor')
    assert at_home.set_parameter('bite_force.point_frame', 'incisor') == (True, '')
    try:
        with at_home.biting('maxilla', FORCE, TORQUE):
            assert at_home.settles_at(mechanism.feedforward(OPEN, wrench=wrench).actuated)
    finally:
        at_home.set_parameter('bite_force.point_frame', '')
    successful, reason = at_home.set_parameter('bite_force.point_frame', 'incisors')
    assert not successful and 'incisors' in reason


def test_stale_bite_force_counts_as_zero_with_a_diagnostic(at_home, mechanism, node):
    free = mechanism.feedforward(mechanism.home.y).actuated
    wrench = mechanism.wrench_on_platform(
        mechanism.home, FORCE, (0, 0, 0), 'molar_right', 'molar_right'
    )
    with at_home.biting('molar_right', FORCE):
        at_home.wait_for_status('bite force', 'OK', 'fresh')
        assert at_home.settles_at(mechanism.feedforward(mechanism.home.y, wrench=wrench).actuated)
    lines = len(node.log('stale'))
    at_home.wait_for_status('bite force', 'ERROR', 'stale: older than 0.2 s')
    assert at_home.settles_at(free)
    wait_for(lambda: len(node.log('stale')) > lines, 'a line in the log')
    # By its stamp, not by its arrival.
    at_home.bite('molar_right', FORCE, stamp=at_home.now() - 300_000_000)
    assert np.abs(rows(at_home.collect(150))[3] - free).max() < 1e-9
    assert len(node.log('stale')) < lines + 10  # told when it begins, not in every cycle
    with at_home.biting('molar_right', FORCE):
        at_home.wait_for_status('bite force', 'OK', 'fresh')


PUSHES = {
    'crank_3_link': (0.5, -1.0, 2.0, 0.01, 0.02, -0.01),
    'molar_left': (1.0, 2.0, -8.0, 0.0, 0.1, 0.0),
}


def in_base(mechanism, motion):
    """PUSHES in base axes."""
    turns = {link: mechanism.frame_pose(motion, link).rotation for link in PUSHES}
    return {link: (np.reshape(w, (2, 3)) @ turns[link].T).ravel() for link, w in PUSHES.items()}


def test_external_wrenches_of_all_frames_count_with_the_bite_force(at_home, mechanism):
    motion = opened(at_home, mechanism)
    frame = 'molar_right'
    wrench = mechanism.wrench_on_platform(motion, FORCE, TORQUE, frame, frame)
    links, free = in_base(mechanism, motion), mechanism.feedforward(OPEN).actuated
    with at_home.pushing(PUSHES):
        pushed = mechanism.feedforward(OPEN, link_wrenches=links).actuated
        assert at_home.settles_at(pushed)
        with at_home.biting(frame, FORCE, TORQUE):
            both = mechanism.feedforward(OPEN, wrench=wrench, link_wrenches=links).actuated
            assert at_home.settles_at(both)
            share = at_home.external[-1]
            assert share.name == list(mechanism.actuated)
            assert np.abs(np.array(share.effort) - (both - free)).max() < 1e-9
            stamps = {nanoseconds(s.header.stamp) for s in at_home.states}
            assert nanoseconds(at_home.external[-50].header.stamp) in stamps
    assert at_home.settles_at(free)
    wait_for(lambda: not any(at_home.external[-1].effort), 'a share of zero')


def test_external_wrenches_are_stale_frame_by_frame(at_home, mechanism, node):
    links, home = in_base(mechanism, mechanism.home), mechanism.home.y
    with at_home.pushing(PUSHES):
        assert at_home.settles_at(mechanism.feedforward(home, link_wrenches=links).actuated)
        # One more frame, once; what it said counts no more after 0.2 s.
        at_home.push('incisor', (0.0, 0.0, -5.0, 0.0, 0.0, 0.0))
        at_home.wait_for_status('external wrench', 'ERROR', 'stale: older than 0.2 s')
        # This computer may have held up the others, too; they are fresh again, and it is not.
        at_home.wait_for_value('external wrench', 'stale frames', 'incisor')
        assert at_home.settles_at(mechanism.feedforward(home, link_wrenches=links).actuated)
    assert any('incisor' in line for line in node.wait_for_line('external_wrench is stale'))


def test_a_wrench_of_megabytes_is_refused_and_the_next_one_counts(at_home, node):
    right = serialize_message(WrenchStamped(header=Header(frame_id='molar_right')))
    at_home.wait_for_value('messages', 'unreadable', lambda count: True)
    before = int(at_home.status('messages')[2]['unreadable'])

    def refused():
        at_home.bite_message(right + bytes(1_000_000))  # best effort: it may get lost
        time.sleep(0.1)
        return int(at_home.status('messages')[2]['unreadable']) > before

    wait_for(refused, 'a refusal')
    reason = at_home.status('messages')[2]['last unreadable']
    assert 'bite_force' in reason and reason.endswith('bytes; at most 4096 are read')
    with at_home.biting('molar_right', FORCE):
        at_home.wait_for_status('bite force', 'OK', 'fresh')


def test_wrenches_are_not_read_by_the_cycle(ros_domain, mechanism):
    """Fetching one of 10 MB takes up to 20 ms."""
    threads, kept, peer = [], BiteForce(mechanism), Peer('dynamics')
    take, kept.timeout = kept.take, 60.0
    kept.take = lambda *measured: (threads.append(threading.current_thread().name), take(*measured))
    wrenches = WrenchInput(peer.node, 'bite_force', kept, time.time_ns, 'left/')
    publisher = peer.node.create_publisher(WrenchStamped, 'bite_force', 1)
    try:
        message = WrenchStamped(header=Header(frame_id='left/molar_right'))
        message.wrench.force.z = -7.0

        def heard():
            publisher.publish(message)
            time.sleep(0.05)
            return kept.fresh(time.time_ns())

        measured = wait_for(heard, 'a wrench')
    finally:
        wrenches.destroy()
        peer.close()
    assert measured.frame == 'molar_right' and tuple(measured.wrench) == (0, 0, -7, 0, 0, 0)
    assert set(threads) == {'bite_force'}


def test_a_cycle_that_reads_wrenches_wakes_no_other_thread(ros_domain, mechanism):
    """Without cycles, when nobody else would notice what is refused, the thread reads them."""
    threads, kept, peer = [], BiteForce(mechanism), Peer('dynamics')
    take = kept.take
    kept.take = lambda *measured: (threads.append(threading.current_thread().name), take(*measured))
    wrenches = WrenchInput(peer.node, 'bite_force', kept, time.time_ns, '', by_cycle=True)
    publisher = peer.node.create_publisher(WrenchStamped, 'bite_force', 1)
    message = WrenchStamped(header=Header(frame_id='molar_right'))
    here = threading.current_thread().name
    try:

        def cycle():
            publisher.publish(message)
            time.sleep(0.002)
            wrenches.read()
            return len(threads) > 100

        wait_for(cycle, 'wrenches')
        assert set(threads[-100:]) == {here}
        message.wrench.force.z = float('nan')
        publisher.publish(message)
        wait_for(lambda: wrenches.rejections.rejected, 'a refusal')
        assert threads[-1] == 'bite_force'
    finally:
        wrenches.destroy()
        peer.close()


def test_an_external_wrench_in_an_unknown_frame_is_refused(at_home, node):
    at_home.push('molar', np.ones(6))
    _, text, _ = at_home.wait_for_status('external wrench', 'ERROR', 'rejected')
    assert "no frame 'molar'" in text
    node.wait_for_line('external_wrench rejected')


def test_effort_beyond_limits_is_clamped_with_a_warning(at_home, mechanism, node):
    force, frame = (0.0, 0.0, -800.0), 'molar_left'
    wrench = mechanism.wrench_on_platform(mechanism.home, force, (0, 0, 0), frame, frame)
    wanted = mechanism.feedforward(mechanism.home.y, wrench=wrench).actuated
    limit = 0.5 * mechanism.limits.effort[mechanism.tree_indices(mechanism.actuated)]
    checks = zip(mechanism.actuated, np.abs(wanted) > limit, strict=True)
    beyond = [name for name, too_much in checks if too_much]
    assert beyond and len(beyond) < 6
    assert at_home.set_parameter('effort_limit_scale', 0.5) == (True, '')
    try:
        with at_home.biting(frame, force):
            assert at_home.settles_at(np.clip(wanted, -limit, limit))
            _, text, values = at_home.wait_for_status('effort', 'WARN', 'clamped')
            line = node.wait_for_line('effort clamped')[-1]
    finally:
        at_home.set_parameter('effort_limit_scale', 1.0)
    assert line.startswith('[WARN]')
    for name in mechanism.actuated:
        assert (name in line) == (name in text) == (name in beyond)
        assert (int(values[f'clamped cycles {name}']) > 0) == (name in beyond)
    at_home.wait_for_status('effort', 'OK')


def test_trajectory_that_needs_too_much_effort_is_refused(at_home, mechanism):
    """Gravity alone needs more than a thousandth of the motors' limits."""
    assert at_home.set_parameter('effort_limit_scale', 0.001) == (True, '')
    try:
        at_home.send(mechanism.independent, [0.5], [OPEN])
        _, text, _ = at_home.wait_for_status('trajectory', 'ERROR', 'effort')
    finally:
        at_home.set_parameter('effort_limit_scale', 1.0)
    for word in (' s: crank_', '[-0.005, 0.005] N m'):
        assert word in text, text


def test_contact_forces_are_those_of_the_sockets_in_condyle_axes(at_home, mechanism):
    motion = opened(at_home, mechanism)
    effort = mechanism.feedforward(OPEN)
    for contact, force in zip(mechanism.description.contacts, effort.contact, strict=True):
        del at_home.contacts[contact.name][:]
        wait_for(lambda name=contact.name: len(at_home.contacts[name]) > 20, contact.name)
        message = at_home.contacts[contact.name][-1]
        assert message.header.frame_id == contact.frame
        vector = message.wrench.force
        rotation = mechanism.frame_pose(motion, contact.frame).rotation
        in_base = rotation @ (vector.x, vector.y, vector.z)
        assert np.abs(in_base - np.array(contact.normal) * force).max() < 1e-9
        torque = message.wrench.torque
        assert (torque.x, torque.y, torque.z) == (0.0, 0.0, 0.0)
        stamps = [nanoseconds(m.header.stamp) for m in at_home.contacts[contact.name]]
        assert np.median(np.diff(stamps)) == SHOWN_EVERY


def test_contact_multipliers_come_with_every_state(at_home, mechanism):
    opened(at_home, mechanism)
    messages = at_home.record(JointState, 'contact_multipliers')
    wait_for(lambda: len(messages) > 50, 'contact_multipliers')
    last = messages[-1]
    assert last.name == list(mechanism.contacts)
    assert last.effort == pytest.approx(mechanism.feedforward(OPEN).contact, abs=1e-9)
    stamps = [nanoseconds(m.header.stamp) for m in messages[:50]]
    wait_for(lambda: nanoseconds(at_home.states[-1].header.stamp) >= stamps[-1], 'states')
    states = [nanoseconds(m.header.stamp) for m in at_home.states]
    assert stamps == [stamp for stamp in states if stamps[0] <= stamp <= stamps[-1]]


def test_joint_states_show_all_joints_of_the_closed_mechanism(at_home, mechanism):
    at_home.finish(at_home.follow(mechanism.independent, [0.3], [OPEN]))
    joints = [j for j in at_home.joints if np.any(j.velocity)][-1]
    assert joints.name == list(mechanism.tree_joints)
    y, y_dot = (
        np.array(row)[mechanism.tree_indices(mechanism.independent)]
        for row in (joints.position, joints.velocity)
    )
    motion = mechanism.solve(y, y_dot)
    assert joints.position == pytest.approx(motion.q, abs=1e-9)
    assert joints.velocity == pytest.approx(motion.v, abs=1e-9)
    assert np.median(np.diff([nanoseconds(j.header.stamp) for j in at_home.joints])) == SHOWN_EVERY
    length, rate = gaps(mechanism.description, joints)
    assert length < 1e-6 and rate < 1e-6


def test_joint_states_can_be_switched_off(at_home):
    assert at_home.set_parameter('publish_joint_states', False) == (True, '')
    off = at_home.now()
    try:
        at_home.collect(500)
    finally:
        at_home.set_parameter('publish_joint_states', True)
    on = at_home.now()
    wait_for(lambda: nanoseconds(at_home.joints[-1].header.stamp) > on, 'joint_states')
    stamps = np.array([nanoseconds(j.header.stamp) for j in at_home.joints])
    # What was due just before may be late on a busy computer.
    assert not ((off < stamps) & (stamps < off + 800_000_000)).any()


def test_diagnostics_tell_of_everything(at_home, mechanism):
    at_home.send(mechanism.independent, [0.5], [[0.0] * 3])
    at_home.wait_for_status('trajectory', 'ERROR')
    status = {s.name: s for s in at_home.reports()[-1].status}
    names = (
        'cycle', 'trajectory', 'bite force', 'external wrench', 'effort', 'joint states',
        'messages', 'connections',
    )  # fmt: skip
    assert set(status) == {f'dynamics: {name}' for name in names}
    assert {s.hardware_id for s in status.values()} == {'masticator'}
    cycle = {v.key: v.value for v in status['dynamics: cycle'].values}
    assert int(cycle['cycles']) > 1000
    assert int(cycle['late cycles']) >= 0 and int(cycle['skipped cycles']) >= 0
    assert 0.0 < float(cycle['cycle time p50 (us)']) <= float(cycle['cycle time p99 (us)'])
    assert 0.0 <= float(cycle['closure residual (m)']) < 1e-9
    assert 0.0 <= float(cycle['balance residual (N m)']) < 1e-6


def test_parameters_are_described(client):
    names = {
        'mechanism': True,
        'rate': True,
        'goal': True,
        'friction': True,
        'limits': True,
        'bite_force.timeout': False,
        'bite_force.point_frame': False,
        'effort_limit_scale': False,
        'closure_tolerance': False,
        'start_horizon': False,
        'trajectory_efforts': True,
        'publish_joint_states': False,
        'visual_rate': True,
        'frame_prefix': True,
        'autostart': True,
    }
    request = DescribeParameters.Request(names=list(names))
    answer = client.call(DescribeParameters, 'dynamics/describe_parameters', request)
    for descriptor, read_only in zip(answer.descriptors, names.values(), strict=True):
        assert descriptor.description.endswith('.'), descriptor.name
        assert descriptor.read_only == read_only, descriptor.name
        if descriptor.type == 3:
            (interval,) = descriptor.floating_point_range
            assert interval.from_value < interval.to_value
    assert not client.set_parameter('rate', 250.0)[0]
    assert not client.set_parameter('effort_limit_scale', 1.5)[0]


def test_publishers_are_reliable_and_the_bite_force_is_taken_from_any(client, mechanism):
    node = client.node
    topics = ['feedforward_effort', 'feedforward_state', 'feedforward_trajectory', 'joint_states']
    topics += ['contact_multipliers', 'external_effort']
    topics += [f'contact_force/{c}' for c in mechanism.contacts]
    topics += [f'joint_force/{j}' for j in mechanism.actuated] + ['/diagnostics']
    for topic in topics:
        (publisher,) = node.get_publishers_info_by_topic(topic)
        assert publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE, topic
    for topic in ('bite_force', 'external_wrench'):
        (subscription,) = node.get_subscriptions_info_by_topic(topic)
        assert subscription.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT, topic


def test_topics_are_relative_to_the_namespace(ros_domain):
    process = NodeProcess(namespace='robot_1', mechanism='rcid', rate=200.0)
    try:
        from masticator_dynamics import Mechanism
        from nodes.harness import Client

        rcid = Mechanism.load('rcid')
        client = Client(namespace='robot_1')
        try:
            client.connect()
            y = rcid.home.y + [0.002, 0.0, 0.004, 0.02, 0.0, 0.01]
            client.finish(client.follow(rcid.independent, [0.3], [y]))
            stamps, position, _, effort = rows(client.collect())
            assert not (np.diff(stamps) % 5_000_000).any()
            assert np.diff(stamps).min() == 5_000_000
            wanted = rcid.feedforward(y)
            assert np.abs(position - wanted.position).max() < 1e-9
            assert np.abs(effort - wanted.actuated).max() < 1e-9
            assert client.states[-1].name == [f'slider_{i}' for i in range(1, 7)]
        finally:
            client.close()
    finally:
        assert process.end() == 0
