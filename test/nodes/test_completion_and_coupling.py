# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes `joint_state_completion`, `inertia_coupling` and `frame_path` as processes."""

import math
import signal
import time

import numpy as np
import pytest
import samples

pytest.importorskip('rclpy', reason='rclpy is not installed')

from lifecycle_msgs.msg import Transition
from processes import PYTHON, Process, wait_for
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import Marker

from nodes.harness import Client, NodeProcess, Sender, nanoseconds, send_until, to_time
from nodes.urdf_loops import gaps

pytestmark = pytest.mark.waiting

NAN = math.nan
MECHANISMS = ('masticator', 'rss6', 'rcid')
CRANKS = [f'crank_{k}' for k in range(1, 7)]
OPEN = np.array([0.002, 0.001, 0.01, 0.06])
NARROW = 1e-4  # m; closure tolerance of the completion under test


@pytest.fixture(scope='module')
def processes(ros_domain):
    """Processes, all started at once, since starting is mostly waiting."""
    given = {'wait': False, 'namespace': 'masticator'}
    started = {
        'masticator': NodeProcess('joint_state_completion', closure_tolerance=NARROW, **given),
        'coupling': NodeProcess('inertia_coupling', **given),
        'path': NodeProcess(
            'frame_path', frame='incisor', frame_prefix='left/', duration=1.0, **given
        ),
    }
    for name in ('rss6', 'rcid'):
        started[name] = NodeProcess(
            'joint_state_completion', wait=False, namespace=name, mechanism=name
        )
    for process in started.values():
        process.wait_until_ready()
    yield started
    for process in started.values():
        assert process.end() == 0
        assert not process.log('Traceback')


@pytest.fixture(scope='module')
def completions(processes):
    senders = {
        name: Sender(
            'joint_state_completion', 'joint_states_in', (JointState, 'joint_states'), name
        )
        for name in MECHANISMS
    }
    yield senders
    for sender in senders.values():
        sender.close()


@pytest.fixture(scope='module')
def completion(completions):
    return completions['masticator']


@pytest.fixture(scope='module')
def coupling(processes):
    answers = (Float64MultiArray, 'inertia_coupling/mci')
    sender = Sender('inertia_coupling', 'joint_states', answers, 'masticator')
    yield sender
    sender.close()


def test_states_that_are_not_measured_yet_are_no_error(completions, processes):
    """ros2_control sends NaN until its hardware is ready; later, NaN is a fault."""
    sender, node = completions['rss6'], processes['rss6']
    for transition in ('DEACTIVATE', 'CLEANUP', 'CONFIGURE', 'ACTIVATE'):  # measures nothing yet
        sender.change(getattr(Transition, f'TRANSITION_{transition}'))
    lines = len(node.log('rejected'))

    def warned():
        level, text, values = sender.status('joint_states_in')
        return level == 'WARN' and 'all are NaN' in text and values

    values = send_until(lambda: sender.send(CRANKS, [NAN] * 6), warned, 'a warning')
    assert values['rejected'] == '0' and len(node.log('rejected')) == lines
    sender.ask(CRANKS, [0.0] * 6)
    sender.wait_for_status('joint_states_in', 'OK')
    assert 'all are NaN' in sender.refused(CRANKS, [NAN] * 6)


@pytest.mark.parametrize('name', MECHANISMS)
def test_completed_states_close_every_loop_of_the_urdf(completions, name):
    """With robot_state_publisher, every link has a pose and every loop is closed."""
    mechanism, sender = samples.mechanism(name), completions[name]
    description = mechanism.description
    moving = {joint.name for joint in description.tree.joints if joint.type != 'fixed'}
    for state in samples.states(name, 3, seed=150):
        motion = mechanism.solve(state.y, state.y_dot)
        for names, position, velocity in (
            (mechanism.actuated, motion.position, motion.velocity),
            (mechanism.independent, state.y, state.y_dot),
        ):
            answer = sender.ask(names, position, velocity)
            assert set(answer.name) == moving and len(answer.name) == len(moving)
            length, rate = gaps(description, answer)
            assert length < 1e-6 and rate < 1e-6
            given = [list(answer.name).index(joint) for joint in names]
            assert np.array(answer.position)[given] == pytest.approx(position, abs=1e-7)
            assert np.array(answer.velocity)[given] == pytest.approx(velocity, abs=1e-6)
    # The gauge itself: a hundredth of a degree more of one joint is seen.
    answer.position[-1] += 2e-4
    assert gaps(description, answer)[0] > 1e-6


def test_stamps_are_those_of_the_input(completion):
    home = [0.0] * 6
    assert completion.ask(CRANKS, home, stamp=123_000_000_456).header.stamp == to_time(
        123_000_000_456
    )
    before = completion.now()
    stamp = nanoseconds(completion.ask(CRANKS, home, stamp=0).header.stamp)
    assert before <= stamp <= completion.now()


def test_joints_come_in_any_order_among_others(completion, mechanism):
    motion = mechanism.solve(OPEN)
    names = [*CRANKS[::-1], 'neck', 'alpha', 'gamma']
    answer = completion.ask(names, [*motion.position[::-1], NAN, 0.3, 0.4])
    assert np.array(answer.position) == pytest.approx(motion.q, abs=1e-9)


def test_velocities_that_nobody_measured_are_left_out(completion):
    assert len(completion.ask(CRANKS, [0.0] * 6).velocity) == 0
    assert len(completion.ask(CRANKS, [0.0] * 6, [NAN] * 6).velocity) == 0
    assert len(completion.ask(CRANKS, [0.0] * 6, [0.0] * 6).velocity) == 24


BAD = {
    'missing': ((CRANKS[:5], [0.0] * 5), 'missing: crank_6'),
    'nothing': (([], []), 'missing: x, y, alpha, beta'),
    'doubled': (([*CRANKS, 'crank_3'], [0.0] * 7), "'crank_3' is named 2 times"),
    'NaN': ((CRANKS, [0.0, 0.0, NAN, 0.0, 0.0, 0.0]), 'position of crank_3 is nan'),
    'length': ((CRANKS, [0.0] * 5), '5 positions for 6 joints'),
    'velocities': ((CRANKS, [0.0] * 6, [0.0] * 7), '7 velocities for 6 joints'),
    'open loops': ((CRANKS, [0.0, 0.05, 0.0, 0.0, 0.0, 0.0]), 'the loops stay open by'),
    'out of reach': ((CRANKS, [2.0] * 6), 'no closed configuration'),
    'sliders too far': ((['x', 'y', 'alpha', 'beta'], [0.5, 0, 0, 0]), 'cannot close'),
    'absurd': ((['x', 'y', 'alpha', 'beta'], [1e300, 0, 0, 0]), 'rejected'),
}


@pytest.mark.parametrize('case', BAD)
def test_bad_states_are_refused_by_name_and_change_nothing(completion, case):
    arguments, words = BAD[case]
    assert words in completion.refused(*arguments)
    answer = completion.ask(CRANKS, [0.0] * 6)
    assert np.abs(answer.position).max() < 1e-9


def test_the_tolerance_may_be_changed(completion):
    off = [0.0, 0.01, 0.0, 0.0, 0.0, 0.0]  # a crank half a degree off
    assert 'the loops stay open by' in completion.refused(CRANKS, off)
    assert not completion.set_parameter('closure_tolerance', 1.0)[0]
    assert completion.set_parameter('closure_tolerance', 1e-3) == (True, '')
    try:
        answer = completion.ask(CRANKS, off, [0.0] * 6)
        assert gaps(samples.mechanism('masticator').description, answer)[0] < 1e-6
        _, _, values = wait_for(
            lambda: (
                (s := completion.status('joint_states_in'))
                and float(s[2]['closure residual (m)']) > NARROW
                and s
            ),
            'residual',
        )
        assert values['read as'] == 'actuated'
    finally:
        completion.set_parameter('closure_tolerance', NARROW)


PUBLISHER = """
import rclpy, time
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('drives', namespace='masticator')
publisher = node.create_publisher(JointState, 'joint_states_in', 10)
message = JointState(name=[f'crank_{k}' for k in range(1, 7)], position=[0.0] * 6)
while True:
    publisher.publish(message)
    time.sleep(0.01)
"""


def test_a_killed_publisher_is_noticed_and_another_taken(completion):
    for _ in range(2):
        count = len(completion.answers)
        with Process(*PYTHON, '-c', PUBLISHER):
            wait_for(lambda count=count: len(completion.answers) > count + 20, 'answers')
            completion.wait_for_status('joint_states_in', 'OK', 'active')
        completion.wait_for_status('joint_states_in', 'WARN', 'nothing comes on joint_states_in')


def test_coupling_is_that_of_the_command(coupling, mechanism):
    for state in samples.states('masticator', 4, seed=151):
        motion = mechanism.solve(state.y)
        wanted = mechanism.inertia_coupling(motion)
        for names, position in (
            (CRANKS, motion.position),
            (mechanism.tree_joints, motion.q),
        ):
            answer = coupling.ask(names, position)
            assert np.array(answer.data) == pytest.approx(wanted, rel=1e-7)


def test_coupling_has_a_status_for_each_joint(coupling, mechanism):
    """At home the values are 0.44, 0.44, 0.4995, 0.4995, 0.266, 0.266; see the index's tests."""
    coupling.wait_for_status('crank_1', 'STALE', 'no joint_states')
    coupling.ask(CRANKS, [0.0] * 6)
    coupling.wait_for_status('crank_3', 'OK')
    assert coupling.set_parameter('warn_above', 0.3) == (True, '')
    assert coupling.set_parameter('error_above', 0.47) == (True, '')
    try:
        levels = dict(zip(CRANKS, ['WARN'] * 2 + ['ERROR'] * 2 + ['OK'] * 2, strict=True))

        def as_expected():
            coupling.ask(CRANKS, [0.0] * 6)
            found = {crank: coupling.status(crank) for crank in CRANKS}
            return found if {c: s[0] for c, s in found.items()} == levels else None

        found = wait_for(as_expected, levels)
        home = mechanism.inertia_coupling(mechanism.home)
        for crank, value in zip(CRANKS, home, strict=True):
            values = found[crank][2]
            assert float(values['mci']) == pytest.approx(value, rel=1e-5)
            assert (values['warn above'], values['error above']) == ('0.3', '0.47')
        assert 'above 0.47' in found['crank_3'][1]
        successful, reason = coupling.set_parameter('warn_above', 0.5)
        assert not successful and 'warn_above 0.5 is above error_above 0.47' in reason
        assert not coupling.set_parameter('error_above', -1.0)[0]
    finally:
        coupling.set_parameter('error_above', 1.0986)
        coupling.set_parameter('warn_above', 0.6931)


def test_bad_states_reach_no_coupling(coupling):
    assert 'position of crank_2 is nan' in coupling.refused(CRANKS, [0.0, NAN, 0, 0, 0, 0])
    assert len(coupling.ask(CRANKS, [0.0] * 6).data) == 6


def test_the_path_of_a_frame_is_drawn(completion, processes, mechanism):
    markers = completion.record(Marker, 'frame_path/path')
    poses = [mechanism.solve([0.0, 0.0, 0.0, beta]) for beta in np.linspace(0.0, 0.1, 11)]
    wanted = [mechanism.frame_pose(motion, 'incisor').position for motion in poses]
    wait_for(lambda: completion.node.count_publishers('frame_path/path'), 'frame_path/path')

    def path():
        """Draw a path from its beginning; best effort may have lost a state on a busy computer."""
        completion.ask(CRANKS, poses[0].position, stamp=10**9)  # back in time: a new path
        for k, motion in enumerate(poses):
            completion.ask(CRANKS, motion.position, stamp=10**9 + (k + 1) * 150_000_000)
        time.sleep(0.5)
        return markers[-1] if markers and len(markers[-1].points) == 7 else None

    newest = wait_for(path, 'path')
    drawn = np.array([(p.x, p.y, p.z) for p in newest.points])
    # The last second of the path: seven points 0.15 s apart.
    assert drawn == pytest.approx(np.array(wanted[-7:]), abs=1e-7)
    assert newest.header.frame_id == 'left/maxilla'
    assert newest.type == Marker.LINE_STRIP and newest.scale.x > 0.0 and newest.color.a == 1.0


def test_a_path_of_fifty_points_a_second_is_drawn_half_as_often(completion, processes, mechanism):
    """By the stamps: a bag of it stays small."""
    markers = completion.record(Marker, 'frame_path/path')
    pose, start = mechanism.home.position, 10**9

    def drawn():
        """Half a second of states 10 ms apart; best effort may lose some on a busy computer."""
        markers.clear()
        for k in range(51):
            completion.ask(CRANKS, pose, stamp=start + k * 10_000_000)
        time.sleep(0.5)
        return markers if len(markers) == 13 else None

    messages = wait_for(drawn, 'thirteen drawings')
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages]
    assert np.diff(stamps) == pytest.approx(40e6)
    assert len(messages[-1].points) == 25


def test_qualities_of_service_and_descriptions(completion, coupling):
    node = completion.node
    for topic in ('joint_states_in', 'joint_states'):
        for info in node.get_subscriptions_info_by_topic(topic):
            if info.node_name != 'client':
                assert info.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    for topic in ('joint_states', 'inertia_coupling/mci', 'frame_path/path', '/diagnostics'):
        publishers = node.get_publishers_info_by_topic(topic)
        assert publishers
        for info in publishers:
            assert info.qos_profile.reliability == ReliabilityPolicy.RELIABLE


def test_dynamics_warns_when_the_completion_has_died(ros_domain):
    """As robot.launch.py starts it: joint_states are those that are measured."""
    given = {'namespace': 'left', 'wait': False}
    completion = NodeProcess('joint_state_completion', **given)
    dynamics = NodeProcess('dynamics', publish_joint_states=False, rate=100.0, **given)
    peer = Client(namespace='left')
    try:
        for process in (completion, dynamics):
            process.wait_until_ready()
        peer.wait_for_status('joint states', 'OK', 'published')
        completion.end(signal.SIGKILL)
        peer.wait_for_status('joint states', 'WARN', 'nobody publishes /left/joint_states')
        dynamics.wait_for_line('nobody publishes /left/joint_states any more')
        completion = NodeProcess('joint_state_completion', **given)
        peer.wait_for_status('joint states', 'OK', 'published')
    finally:
        peer.close()
        assert completion.end() == dynamics.end() == 0
    assert not dynamics.log('Traceback')
