# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Action ``~/apply_force`` of node `dynamics`, with a robot of springs at the other end."""

import collections
import math
import threading
import time

import interfaces
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from processes import wait_for
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from masticator_dynamics import Mechanism
from masticator_dynamics.control.pressing_path import PressingPath, Servos
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.scaling import with_rotors
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription
from nodes.harness import Client, NodeProcess, nanoseconds, to_time

pytestmark = pytest.mark.clock  # its robot answers in each cycle

STIFFNESS = 2e4
OPEN = [0.0, 0.0, 0.0, 0.08]


@pytest.fixture(scope='module')
def robot(ros_domain):
    """The node with a client that answers as measured joints and a spring on the tooth do."""
    interfaces.apply_force()
    process = NodeProcess(
        drives='drives.yaml', publish_joint_states=False, force__sensor_noise=0.0,
        bite_force__timeout=0.5,
    )  # fmt: skip
    found = Robot()
    yield found
    found.close()
    assert process.end() == 0
    assert not process.log('Traceback')


class Robot(Client):
    """Joints are where they were commanded a cycle ago; food lies 1 mm above the tooth."""

    def __init__(self):
        super().__init__()
        self.mechanism = Mechanism(with_rotors('masticator', load_drives('drives.yaml')))
        motion, ones = self.mechanism.solve(OPEN), np.ones(6)
        # Quick enough for 500 Hz, unlike closing the loops of measured joints.
        self._path = PressingPath(
            self.mechanism, 'molar_left', [0.0, 0.0, 1.0], OPEN, 0.0055,
            Servos(ones, ones, ones), self.mechanism.home.y,
        )  # fmt: skip
        self._axes = self.mechanism.frame_pose(motion, 'molar_left').rotation
        self._near = 0.0
        self.connect()
        self._joints = self.node.create_publisher(JointState, 'joint_states', 10)
        self.force = self.node.create_publisher(WrenchStamped, 'force_reference', 10)
        self.action = ActionClient(self.node, interfaces.apply_force(), '/dynamics/apply_force')
        assert self.action.wait_for_server(30.0)
        self.food, self.silent, self.numb = math.inf, False, False
        self.aside = 0.0  # N m
        self.ahead = 0  # ns, of one stamp of joints
        self.twice = 0.0  # rad, of a crank that stands in the message a second time
        self.felt = collections.deque(maxlen=100_000)
        self._ended_too = threading.Event()
        self._answers = threading.Thread(target=self._answer, daemon=True)
        self._answers.start()

    def close(self):
        self._ended_too.set()
        self._answers.join()
        super().close()

    def _answer(self):
        states = DirectSubscription(
            self.node, JointState, 'feedforward_state', QoSProfile(depth=10)
        )
        while not self._ended_too.is_set():
            states.wait(0.05)
            for state, _ in list(states.take())[-1:]:
                if not self.silent:
                    self._tell(state)
        states.destroy()

    def _tell(self, state):
        joints = JointState(header=Header(), name=state.name, position=state.position)
        joints.header.stamp = to_time(nanoseconds(state.header.stamp) + self.ahead)
        self.ahead = 0
        if self.twice:
            joints.name = [*state.name, 'crank_1']
            joints.position = [*state.position, state.position[0] + self.twice]
        self._joints.publish(joints)
        travel = self._path.measured(np.array(state.position), self._near)
        self._near = min(max(travel, 0.0), self._path.length)
        force = max(STIFFNESS * (travel - self.food), 0.0)
        pull = self._axes.T @ [0.0, 0.0, -force]
        if not self.numb:
            stamp = nanoseconds(state.header.stamp)
            self.bite('molar_left', pull, (self.aside, 0.0, 0.0), stamp)
        self.felt.append(force)

    def open(self):
        """Open the mouth, put food 1 mm above the tooth."""
        self.food = math.inf
        self.finish(self.follow(self.mechanism.independent, [0.5], [OPEN]))
        wait_for(lambda: len(self.felt) > 10, 'measured forces')
        self.food = 0.001

    def goal(self, **changes):
        """A goal of 40 N for 0.5 s, or another."""
        goal = interfaces.apply_force().Goal(
            frame='molar_left', towards_home=True, times=[0.0], forces=[40.0], duration=0.5,
            longest_approach=0.003, largest_travel=0.0025,
        )  # fmt: skip
        goal.direction.z = 1.0
        for name, value in changes.items():
            setattr(goal, name, value)
        return goal

    def request(self, goal):
        return self.ask(self.action.send_goal_async, goal)

    def result_of(self, handle):
        future = wait_for(lambda: handle.done() and handle.result(), 'goal')
        future = self.ask(future.get_result_async)
        return wait_for(lambda: future.done() and future.result().result, 'result')


def test_it_presses_and_lets_go(robot):
    robot.open()
    result = robot.result_of(robot.request(robot.goal()))
    assert result.reason == 'done', result.message
    since = np.array(result.time) - result.time[0]
    held = np.array(result.force)[(since > 0.3) & (since < 0.5)]
    assert len(held) > 50 and np.abs(held - 40.0).max() < 1.0
    assert len(result.time) == len(result.wanted_force) == len(result.travel_measured)
    assert result.stiffness == pytest.approx(STIFFNESS, rel=0.2)
    # Trajectories have their turn again.
    robot.finish(robot.follow(robot.mechanism.independent, [0.5], [OPEN]))


def test_where_it_may_crack_it_loads_so_fast_that_it_may_go_on_until_it_turns(robot):
    rates = []
    for allowed in (0.0, math.inf):
        robot.open()
        goal = robot.goal(end_on_crack=True, largest_travel_after_crack=allowed)
        result = robot.result_of(robot.request(goal))
        assert result.reason == 'done', result.message
        wanted = np.array(result.wanted_force)
        risen = np.diff(wanted)[wanted[:-1] > 0.0]  # 0 until force control begins
        rates.append(risen.max() / np.median(np.diff(result.time)))
    # 0.25 mm within the two cycles of 250 Hz and more that a command takes until it arrives.
    assert rates[0] < 0.25e-3 / 0.008 * 1.2 * STIFFNESS < 0.6 * rates[1]


def test_turns_a_second_goal_and_cancelling(robot):
    robot.open()
    first = robot.request(robot.goal(duration=0.0))
    wait_for(lambda: max(list(robot.felt)[-20:]) > 30.0, 'force')
    second = robot.result_of(robot.request(robot.goal()))
    assert second.reason == 'refused' and 'presses; that goal must end first' in second.message
    before = len(robot.trajectories)
    robot.publish(trajectory_of(robot))
    status = wait_for(
        lambda: (s := robot.status('trajectory')) and 'molar_left presses' in str(s) and s,
        'refusal',
    )
    assert status and len(robot.trajectories) == before
    handle = first.result()
    handle.cancel_goal_async()
    result = robot.result_of(first)
    assert result.reason == 'cancelled'


def test_bounds_that_are_lowered_while_it_presses_hold_at_once(robot):
    robot.open()
    handle = robot.request(robot.goal(duration=0.0))
    wait_for(lambda: min(list(robot.felt)[-20:]) > 39.0, 'force')
    robot.set_parameter('force.most', 20.0)
    try:
        wait_for(lambda: abs(np.mean(list(robot.felt)[-20:]) - 20.0) < 1.0, 'less force')
        robot.set_parameter('force.torque', 0.001)
        robot.aside = 0.1
        assert robot.result_of(handle).reason == 'torque'
    finally:
        robot.aside = 0.0
        robot.set_parameter('force.most', 120.0)
        robot.set_parameter('force.torque', 3.0)


def test_a_second_sensor_ends_it(robot):
    """One that says 0 as often as the other says 40 N would have it press with 60 to 80 N."""
    robot.open()
    robot.felt.clear()
    handle = robot.request(robot.goal(duration=0.0, largest_travel=0.004))
    wait_for(lambda: min(list(robot.felt)[-20:], default=0.0) > 39.0, 'force')
    second = robot.node.create_publisher(WrenchStamped, 'bite_force', 10)
    timer = robot.node.create_timer(0.002, lambda: second.publish(nothing(robot)))
    try:
        result = robot.result_of(handle)
        assert result.reason == 'several publishers'
        assert 'the force has 2 publishers' in result.message
        assert max(robot.felt) < 45.0 and robot.felt[-1] == 0.0
        refused = robot.result_of(robot.request(robot.goal()))
        assert refused.reason == 'refused' and 'bite_force has 2 publishers' in refused.message
    finally:
        robot.node.destroy_timer(timer)
        robot.node.destroy_publisher(second)
    robot.open()
    assert robot.result_of(robot.request(robot.goal())).reason == 'done'


def test_a_second_publisher_of_joints_ends_it(robot):
    """A bag that is played: joints that jump to and fro would be what the law presses by."""
    robot.open()
    handle = robot.request(robot.goal(duration=0.0))
    wait_for(lambda: min(list(robot.felt)[-20:]) > 39.0, 'force')
    robot.felt.clear()
    played = robot.node.create_publisher(JointState, 'joint_states', 10)
    message = JointState(name=list(robot.mechanism.actuated), position=[0.0] * 6)

    def play():
        message.header.stamp = to_time(robot.now())
        played.publish(message)

    timer = robot.node.create_timer(0.02, play)
    try:
        result = robot.result_of(handle)
        assert result.reason == 'several publishers', result.message
        assert 'joint_states has 2 publishers' in result.message
        assert max(robot.felt) < 45.0
        refused = robot.result_of(robot.request(robot.goal()))
        assert refused.reason == 'refused' and 'joint_states has 2 publishers (' in refused.message
    finally:
        robot.node.destroy_timer(timer)
        robot.node.destroy_publisher(played)
    robot.open()
    assert robot.result_of(robot.request(robot.goal())).reason == 'done'


def test_a_second_publisher_of_the_wanted_force_ends_it(robot):
    """Two wishes in turn: nobody has asked for what would come of them."""
    robot.open()
    message = WrenchStamped()
    message.header.frame_id = 'maxilla'
    message.wrench.force.z = 25.0

    def stream():
        message.header.stamp = to_time(robot.now())
        robot.force.publish(message)

    timer, streamed = robot.node.create_timer(0.01, stream), robot.goal(times=[], forces=[])
    streamed.duration, second = 0.0, None
    try:
        handle = robot.request(streamed)
        wait_for(lambda: min(list(robot.felt)[-20:]) > 24.0, 'force')
        second = robot.node.create_publisher(WrenchStamped, 'force_reference', 10)
        result = robot.result_of(handle)
        assert result.reason == 'several publishers', result.message
        assert 'force_reference has 2 publishers' in result.message
        refused = robot.result_of(robot.request(streamed))
        assert 'force_reference has 2 publishers (' in refused.message
        # A goal that brings its forces does not care.
        assert robot.result_of(robot.request(robot.goal())).reason == 'done'
    finally:
        robot.node.destroy_timer(timer)
        if second is not None:
            robot.node.destroy_publisher(second)


def test_joints_with_one_stamp_from_the_future_are_followed(robot):
    """As of a computer whose clock was set meanwhile: that message is not the newest until then."""
    robot.open()
    handle = robot.request(robot.goal())
    wait_for(lambda: max(list(robot.felt)[-20:], default=0.0) > 5.0, 'contact')
    robot.ahead = 5_000_000_000
    result = robot.result_of(handle)
    assert result.reason == 'done', result.message
    assert max(result.travel_measured) > 0.0025


def test_joints_that_are_named_twice_are_not_followed(robot):
    robot.open()
    handle = robot.request(robot.goal(duration=0.0))
    wait_for(lambda: min(list(robot.felt)[-20:], default=0.0) > 39.0, 'force')
    robot.twice = 0.5
    try:
        result = robot.result_of(handle)
    finally:
        robot.twice = 0.0
    assert result.reason == 'joints not measured', result.message


def test_deactivated_while_it_presses_it_lets_go_first(robot):
    """Activated at once, before drives stop, it would hold what it pressed, with nobody to look."""
    robot.open()
    handle = robot.request(robot.goal(duration=0.0))
    wait_for(lambda: min(list(robot.felt)[-20:], default=0.0) > 39.0, 'force')
    robot.change(Transition.TRANSITION_DEACTIVATE)
    robot.change(Transition.TRANSITION_ACTIVATE)
    before = len(robot.felt)
    wait_for(lambda: len(robot.felt) > before + 50, 'measured forces')
    assert max(list(robot.felt)[-50:]) == 0.0
    result = robot.result_of(handle)
    assert result.reason == 'cancelled' and result.message == 'the node is not active any more'
    robot.open()
    assert robot.result_of(robot.request(robot.goal())).reason == 'done'


def nothing(robot):
    message = WrenchStamped()
    message.header.frame_id, message.header.stamp = 'molar_left', to_time(robot.now())
    return message


def trajectory_of(robot):
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(joint_names=list(robot.mechanism.independent))
    message.points = [JointTrajectoryPoint(positions=OPEN)]
    message.points[0].time_from_start.sec = 1
    return message


def test_a_streamed_force_is_followed_and_its_silence_lets_go(robot):
    robot.open()
    handle = robot.request(robot.goal(times=[], forces=[], duration=0.0))
    message = WrenchStamped()
    message.header.frame_id = 'maxilla'
    message.wrench.force.z = 25.0
    end = time.monotonic() + 2.0
    while time.monotonic() < end:
        message.header.stamp = to_time(robot.now())
        robot.force.publish(message)
        time.sleep(0.01)
    assert np.mean(list(robot.felt)[-50:]) == pytest.approx(25.0, abs=1.5)
    result = robot.result_of(handle)
    assert result.reason == 'no wanted force'


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'forces': [math.nan]}, 'forces[0] is nan N; 0 or more is needed'),
        ({'forces': [-5.0]}, 'forces[0] is -5.0 N'),
        ({'times': [0.0, 1.0]}, '2 times and 1 forces'),
        ({'times': [0.0, 0.0], 'forces': [1.0, 2.0]}, 'times[1] is 0.0 s, not after 0.0 s'),
        ({'forces': [121.0]}, '121 N are asked; parameter force.most allows 120 N'),
        ({'frame': 'molar'}, "no frame 'molar'"),
        ({'longest_approach': 0.5}, 'molar_left cannot travel farther than'),
        ({'longest_approach': 0.0, 'largest_travel': 0.0}, 'a travel of 0.0 m'),
        ({'duration': math.inf}, 'duration is inf'),
        ({'stiffness': -1.0}, 'stiffness is -1.0'),
        ({'relaxation': math.nan}, 'relaxation is nan'),
        ({'relaxation': 1.0, 'duration': 0.0}, 'a duration is needed'),
        ({'tolerance': -1.0}, 'tolerance is -1.0'),
        ({'largest_travel_after_crack': math.nan}, 'largest_travel_after_crack is nan'),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(robot, changes, message):
    result = robot.result_of(robot.request(robot.goal(**changes)))
    assert result.reason == 'refused' and message in result.message


def test_a_force_beyond_the_motors_is_refused(robot):
    robot.set_parameter('force.most', 900.0)
    result = robot.result_of(robot.request(robot.goal(forces=[850.0])))
    robot.set_parameter('force.most', 120.0)
    assert result.reason == 'refused'
    assert '850 N at molar_left are beyond the motors: crank_' in result.message


def test_an_observer_is_refused_where_it_does_not_tell_the_force(robot):
    robot.open()
    robot.set_parameter('force.source', 'observer')
    result = robot.result_of(robot.request(robot.goal()))
    wide = robot.result_of(robot.request(robot.goal(tolerance=40.0)))
    robot.set_parameter('force.source', 'sensor')
    assert result.reason == wide.reason == 'refused'
    assert 'with 40 N to 4 N; at rest the motors tell its force only to ' in result.message
    assert 'a force was measured never: no bite_force_estimate' in wide.message


def test_a_direction_that_leads_away_is_refused(robot):
    goal = robot.goal()
    goal.direction.z = -1.0
    robot.open()
    result = robot.result_of(robot.request(goal))
    assert result.reason == 'refused' and 'the wrong way' in result.message


def test_without_a_sensor_nothing_is_pressed(robot):
    robot.open()
    robot.silent = True
    time.sleep(0.7)
    result = robot.result_of(robot.request(robot.goal()))
    robot.silent = False
    assert result.reason == 'refused' and 'joints were measured' in result.message


def test_without_a_force_sensor_nothing_is_pressed(robot):
    robot.open()
    robot.numb = True
    time.sleep(0.7)
    result = robot.result_of(robot.request(robot.goal()))
    robot.numb = False
    assert result.reason == 'refused' and ' s ago: no bite_force' in result.message
