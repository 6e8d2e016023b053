# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the wiring of topics are told: second publishers, QoS and types that do not fit."""

import contextlib
import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from processes import needs_multicast, wait_for  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.qos import (  # noqa: E402
    DurabilityPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from masticator_dynamics.ros.common.connections import Connections  # noqa: E402
from masticator_dynamics.ros.common.diagnostics import ERROR, OK, WARN  # noqa: E402
from nodes.drives_harness import FOLLOWING, POWERED, Robot, told, write_drives  # noqa: E402
from nodes.harness import NodeProcess, Peer  # noqa: E402

pytestmark = [pytest.mark.waiting, pytest.mark.early]

BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
RELIABLE = QoSProfile(depth=5)


def qos(**policies):
    return QoSProfile(depth=5, **policies)


@contextlib.contextmanager
def a_node(name, namespace=''):
    """A node with a participant of its own, as in a process of its own."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node(name, namespace=namespace, context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def settled(node, level, *texts):
    """Wait until the status of a node's connections is as given; texts are parts of it."""
    connections, begin = Connections(node), time.monotonic()

    def seen():
        connections.look()
        status = connections.status
        looked = time.monotonic() - begin > 1.0  # at every topic
        fits = looked and status.level == level and all(text in status.message for text in texts)
        return fits and status

    return wait_for(seen, f'{level} {texts}', 20.0)


MISMATCHES = {
    'best effort': (RELIABLE, BEST_EFFORT, 'Best effort publisher and reliable subscription'),
    'durability': (
        qos(durability=DurabilityPolicy.TRANSIENT_LOCAL), RELIABLE,
        'Volatile publisher and transient local subscription',
    ),
    'deadline': (
        qos(deadline=Duration(seconds=1)), RELIABLE, 'Subscription deadline is less than publisher',
    ),
    'liveliness': (
        qos(liveliness=LivelinessPolicy.MANUAL_BY_TOPIC), RELIABLE,
        "Publisher's liveliness is automatic and subscription's is manual by topic",
    ),
}  # fmt: skip


@pytest.mark.parametrize('case', MISMATCHES)
def test_a_publisher_that_is_not_received_is_named_with_the_reason(ros_domain, case):
    wanted, offered, reason = MISMATCHES[case]
    with a_node('mine', 'wired') as mine, a_node('planner') as planner:
        mine.create_subscription(String, 'words', print, wanted)
        planner.create_publisher(String, '/wired/words', wanted)
        settled(mine, OK)
        planner.create_publisher(String, '/wired/words', offered)
        settled(mine, ERROR, '/wired/words is not received from /planner: ', reason)


@pytest.mark.parametrize('case', MISMATCHES)
def test_a_subscriber_that_is_not_reached_is_named_with_the_reason(ros_domain, case):
    wanted, offered, reason = MISMATCHES[case]
    with a_node('mine', 'wired') as mine, a_node('viewer') as viewer:
        mine.create_publisher(String, 'words', offered)
        viewer.create_subscription(String, '/wired/words', print, offered)
        settled(mine, OK)
        viewer.create_subscription(String, '/wired/words', print, wanted)
        settled(mine, WARN, '/wired/words does not reach /viewer: ', reason)


def test_what_one_of_two_subscriptions_receives_is_received(ros_domain):
    """As ``~/emergency_stop``, which has one for each kind of publisher."""
    with a_node('mine') as mine, a_node('operator') as operator:
        for each in (RELIABLE, BEST_EFFORT):
            mine.create_subscription(Bool, '~/emergency_stop', print, each)
        publisher = operator.create_publisher(Bool, '/mine/emergency_stop', BEST_EFFORT)
        wait_for(publisher.get_subscription_count, 'the subscription')
        settled(mine, OK)


@pytest.mark.parametrize('names', [('first', 'second'), ('state_publisher', 'state_publisher')])
def test_two_descriptions_of_a_robot_are_told(ros_domain, names):
    """The controller manager may load the one that is not meant, and efforts then go nowhere."""
    latched = qos(durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with (
        a_node('mine', 'wired') as mine,
        a_node(names[0], 'wired') as first,
        a_node(names[1]) as second,
    ):
        mine.create_publisher(String, 'words', RELIABLE)
        first.create_publisher(String, 'robot_description', latched)
        second.create_publisher(String, '/robot_description', latched)  # of another robot
        settled(mine, OK)
        publisher = second.create_publisher(String, '/wired/robot_description', latched)
        text = f'/wired/robot_description is published by /{names[1]} and /wired/{names[0]}: '
        settled(mine, ERROR, text)
        second.destroy_publisher(publisher)
        settled(mine, OK)


def test_another_type_on_a_topic_is_told(ros_domain):
    with a_node('mine') as mine, a_node('stranger') as stranger:
        mine.create_subscription(String, 'words', print, 10)
        mine.create_publisher(String, 'said', 10)
        stranger.create_publisher(Bool, 'words', 10)
        stranger.create_subscription(Bool, 'said', print, 10)
        settled(mine, ERROR, '/words is not received from /stranger: its type is std_msgs/msg/Bool')
        settled(mine, ERROR, '/said does not reach /stranger: its type is std_msgs/msg/Bool')


def test_publishers_of_other_topics_are_none_of_its_business(ros_domain):
    """Of another namespace, or of topics that all nodes share; and it does not accuse itself."""
    with a_node('mine', 'left') as mine, a_node('mine', 'right') as other:
        for node in (mine, other):
            node.create_publisher(String, 'words', 10)
            node.create_publisher(String, '/tf', 10)
            node.create_publisher(String, '/diagnostics', 10)
        mine.create_publisher(String, 'words', 10)
        wait_for(lambda: mine.count_publishers('/right/words'), 'the other')
        settled(mine, OK)
        with a_node('mine', 'left') as double:
            double.create_publisher(String, 'words', 10)
            settled(mine, ERROR, '/left/words is also published by another node /left/mine')
        settled(mine, OK)
        other.create_publisher(String, '/left/words', BEST_EFFORT)
        settled(mine, ERROR, '/left/words is also published by /right/mine')


def test_two_nodes_dynamics_of_one_name_tell_of_each_other(ros_domain):
    """Started at the same time; a third in another namespace has nothing to do with them."""
    given = {'rate': 100.0, 'wait': False}
    nodes = [NodeProcess(namespace=name, **given) for name in ('twice', 'twice', 'alone')]
    twice, alone = Peer('dynamics', 'twice'), Peer('dynamics', 'alone')
    try:
        for node in nodes:
            node.wait_until_ready()
        topics = ('feedforward_state', 'feedforward_effort', 'joint_states')
        for topic in topics:
            text = f'/twice/{topic} is also published by another node /twice/dynamics'
            for node in nodes[:2]:
                node.wait_for_line(text)
        twice.wait_for_status('connections', 'ERROR', 'by another node /twice/dynamics')
        alone.wait_for_status('connections', 'OK')
        assert nodes[1].end() == 0
        twice.wait_for_status('connections', 'OK')
        assert not nodes[2].log('also published')
        check_planners(nodes[2], alone)
    finally:
        twice.close()
        alone.close()
        assert [node.end() for node in nodes] == [0, 0, 0]


@needs_multicast
def test_drives_follow_one_commander(ros_domain, mechanism, tmp_path):
    robot, topic = Robot(mechanism, tmp_path, 'two'), '/two/servo_drives/command'
    try:
        # Both to the end: in one process the next participant may have the identity of one that has
        # gone, and is not heard of until that one is forgotten.
        with a_node('second') as second, a_node('third', 'elsewhere') as third:
            publisher = second.create_publisher(JointState, topic, 1)
            wait_for(lambda: second.count_publishers(topic) == 2, 'both')
            robot.ask('home')
            named = '/two/servo_drives/command has 2 publishers (/second or /two/client)'
            wait_for(lambda: named in refused(robot, 'enable'), named)  # once the node knows
            second.destroy_publisher(publisher)
            third.create_publisher(JointState, '/elsewhere/servo_drives/command', 1)
            with robot.enabled().chew():
                peer = robot.peer
                wait_for(lambda: peer.phase() == FOLLOWING, FOLLOWING)
                begin = time.time()
                time.sleep(1.0)
                assert peer.phase() == FOLLOWING
                third.create_publisher(JointState, topic, BEST_EFFORT)
                level, message, values = told(
                    robot, 'has 2 publishers (/elsewhere/third or /two/cl'
                )
                assert values['cause'] == 'commanders' and 'stopped until reset' in message
            assert robot.trace.wait_until_left(begin, states=POWERED)
        with robot.enabled().chew():
            wait_for(lambda: peer.phase() == FOLLOWING, FOLLOWING)
    finally:
        assert robot.close() == 0


def refused(robot, request):
    """Why a request is refused, or ''."""
    success, why = robot.peer.request(request)
    return '' if success else why


def check_planners(node, peer):
    """A best-effort planner is told; a robot's measured states do not collide with silence."""
    with a_node('planner') as planner:
        planner.create_publisher(JointTrajectory, '/alone/joint_trajectory', BEST_EFFORT)
        text = '/alone/joint_trajectory is not received from /planner: Best effort publisher'
        peer.wait_for_status('connections', 'ERROR', text)
        node.wait_for_line(text)
    assert peer.set_parameter('publish_joint_states', False)[0]
    with a_node('robot') as robot:
        robot.create_publisher(JointState, '/alone/joint_states', 10)
        peer.wait_for_status('connections', 'OK')
        states = peer.record(JointState, 'joint_states')
        assert peer.set_parameter('publish_joint_states', True)[0]
        peer.wait_for_status('connections', 'ERROR', '/alone/joint_states is also published by')
        wait_for(lambda: states, 'joint states')


@needs_multicast
@pytest.mark.parametrize(('food', 'publishers'), [({}, 0), ({'food': 'soft'}, 1)])
def test_a_twin_without_food_leaves_its_force_to_others(ros_domain, tmp_path, food, publishers):
    """A publisher that never sends is no sensor of the food's force."""
    twin = NodeProcess('twin', namespace='mouth', drives=write_drives(tmp_path), **food)
    try:
        with a_node('listener') as listener:
            wait_for(lambda: listener.count_publishers('/mouth/twin/joint_states'), 'the twin')
            assert listener.count_publishers('/mouth/bite_force') == publishers
    finally:
        assert twin.end() == 0, twin.lines
