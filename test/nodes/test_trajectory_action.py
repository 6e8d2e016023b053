# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Action `follow_joint_trajectory` of node `dynamics`, as MoveIt and planners use it."""

import time
import types

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('control_msgs', reason='control_msgs is part of a ROS 2 installation')

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from lifecycle_msgs.msg import Transition
from processes import wait_for
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.motion import MotionPath, chewing_stroke
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion, Piece
from masticator_dynamics.ros.dynamics.trajectory_action import TrajectoryAction
from nodes.harness import Client, NodeProcess, nanoseconds, to_time

pytestmark = pytest.mark.waiting

TIMES = np.linspace(0.0, 1.2, 13)
STROKE = chewing_stroke(strokes=1, period=1.2, opening=0.08).sample(TIMES)
Result = FollowJointTrajectory.Result


class Sent:
    """A goal that was sent, its feedback and its result."""

    def __init__(self, planner, message, **given):
        goal = FollowJointTrajectory.Goal(trajectory=message, **given)
        self.feedback, self._ask = [], planner.client.ask
        accepted = self._ask(
            planner.action.send_goal_async, goal, lambda told: self.feedback.append(told.feedback)
        )
        wait_for(accepted.done, 'answer to the goal')
        self.handle = accepted.result()
        self.accepted = self.handle.accepted
        self._ended = self._ask(self.handle.get_result_async) if self.accepted else None

    @property
    def ended(self):
        return self._ended.done()

    def end(self):
        """Wait for the end; returns status, error code and text."""
        wait_for(self._ended.done, 'end of the goal')
        answer = self._ended.result()
        return answer.status, answer.result.error_code, answer.result.error_string

    def cancel(self):
        wait_for(self._ask(self.handle.cancel_goal_async).done, 'answer to cancel')


class Planner:
    """A client of the action and one of the topics."""

    def __init__(self, client):
        self.client = client
        self.action = ActionClient(client.node, FollowJointTrajectory, 'follow_joint_trajectory')
        assert self.action.wait_for_server(60.0)

    def send(self, names, times, positions, start=0, **given):
        return Sent(self, trajectory(names, times, positions, start), **given)

    def stroke(self, mechanism, **given):
        return self.send(mechanism.independent, TIMES[1:], STROKE[0][1:], **given)


def trajectory(names, times, positions, start=0):
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = to_time(start)
    for seconds, row in zip(times, positions, strict=True):
        point = JointTrajectoryPoint(positions=[float(value) for value in row])
        ns = round(seconds * 1e9)
        point.time_from_start = Duration(sec=ns // 10**9, nanosec=ns % 10**9)
        message.points.append(point)
    return message


@pytest.fixture(name='planner')
def fixture_planner(at_home):
    planner = Planner(at_home)
    yield planner
    # From another thread, the executor may just be about to look at what is gone, and end.
    at_home.ask(planner.action.destroy)


def test_a_goal_in_degrees_of_freedom_is_followed_and_told_of(planner, mechanism):
    client, names = planner.client, [mechanism.independent[i] for i in (2, 0, 3, 1)]
    before = len(client.trajectories)
    sent = planner.send(names, TIMES[1:], STROKE[0][1:, [2, 0, 3, 1]])
    assert sent.end() == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL, '')
    # One trajectory in cranks with efforts, as for a message: for controller and added effort.
    (out,) = client.trajectories[before:]
    assert out.joint_names == list(mechanism.actuated)
    assert all(len(point.effort) == 6 for point in out.points)
    assert len(sent.feedback) > 10
    for feedback in sent.feedback:
        assert feedback.joint_names == names
        desired, actual, error = (
            np.array(p.positions) for p in (feedback.desired, feedback.actual, feedback.error)
        )
        assert np.abs(desired - actual - error).max() < 1e-12
        assert np.abs(error).max() < 1e-4  # no robot: measured is what is told
    actual = np.array([feedback.actual.positions for feedback in sent.feedback])
    assert np.ptp(actual, axis=0).max() > 0.005  # it moves


def test_a_goal_in_cranks_is_one_in_degrees_of_freedom(planner, mechanism):
    batch = mechanism.feedforward_batch(*STROKE)
    sent = planner.send(mechanism.actuated, TIMES[1:], batch.position[1:])
    assert sent.end()[:2] == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
    ends = sent.feedback[-1].actual.positions
    assert np.abs(np.array(ends) - batch.position[-1]).max() < 1e-4


def test_what_is_refused_says_why(planner, mechanism):
    names, count = mechanism.independent, int(planner.client.status('trajectory')[2]['rejected'])
    home = [mechanism.home.y]

    def refused(code, text, *args, **given):
        assert (sent := planner.send(*args, **given)).accepted
        status, error, why = sent.end()
        assert (status, error) == (GoalStatus.STATUS_ABORTED, code) and text in why, why

    refused(Result.INVALID_JOINTS, "unknown joint 'knee'", ['knee'], [0.5], [[0.0]])
    refused(Result.INVALID_GOAL, 'time does not increase', names, [0.5, 0.5], home * 2)
    late = planner.client.now() - 5 * 10**9
    refused(Result.OLD_HEADER_TIMESTAMP, 'ended 4', names, [0.5], home, start=late)
    planner.client.wait_for_value('trajectory', 'rejected', lambda n: int(n) == count + 3)
    knee = [JointTolerance(name='knee', position=0.1)]
    refused(Result.INVALID_JOINTS, 'tolerance of', names, [0.5], home, path_tolerance=knee)


def test_a_cancelled_goal_comes_to_rest_on_its_way(planner, mechanism):
    client = planner.client
    # Half as fast, lest it turn just when it is cancelled.
    before = len(client.trajectories)
    sent = planner.send(mechanism.independent, 2.0 * TIMES[1:], STROKE[0][1:])
    wait_for(lambda: len(sent.feedback) > 5, 'feedback')
    asked = client.now()
    sent.cancel()
    status, _, text = sent.end()
    assert (status, text) == (GoalStatus.STATUS_CANCELED, 'cancelled and at rest')
    first, stop = client.trajectories[before:]
    start, last = nanoseconds(stop.header.stamp), stop.points[-1]
    assert asked < start < nanoseconds(first.header.stamp) + 2_300_000_000
    assert np.abs(last.velocities).max() < 1e-6 and len(last.effort) == 6
    rest = start + nanoseconds(last.time_from_start) + 10_000_000
    states = client.states_between(start - 50_000_000, rest)
    velocity = np.array([state.velocity for state in states])
    assert np.abs(velocity[0]).max() > 0.05 and np.abs(velocity[-1]).max() < 1e-6
    stamps = np.array([nanoseconds(state.header.stamp) for state in states])
    steps = np.abs(np.diff(velocity, axis=0)).max(axis=1) / (np.diff(stamps) * 1e-9)
    assert steps.max() < 100.0  # rad/s^2: it does not leap
    # What was asked for is not reached, and the next goal begins from there.
    assert np.abs(np.array(states[-1].position) - mechanism.home.position).max() > 1e-3
    assert planner.send(mechanism.independent, [0.8], [mechanism.home.y]).end()[1] == 0


def test_a_newer_motion_ends_a_goal_whoever_sends_it(planner, mechanism):
    first = planner.stroke(mechanism)
    wait_for(lambda: first.feedback, 'feedback')
    second = planner.send(mechanism.independent, [0.8], [mechanism.home.y])
    status, code, text = first.end()
    assert (status, text) == (GoalStatus.STATUS_ABORTED, 'pre-empted by a newer trajectory')
    assert code != Result.SUCCESSFUL
    wait_for(lambda: second.feedback, 'feedback')
    planner.client.follow(mechanism.independent, [0.5], [mechanism.home.y])  # on the topic
    assert second.end()[2] == 'pre-empted by a newer trajectory'


def test_goals_that_are_replaced_again_and_again_are_told_of_one_by_one(planner, mechanism):
    """Not when there is time: a client keeps ten results that it has not read."""
    sent = []
    for k in range(40):
        sent.append(planner.send(mechanism.independent, [5.0], [[0.0, 0.0, 0.0, 0.01 * (k % 2)]]))
        time.sleep(0.01)
    wait_for(lambda: all(one.ended for one in sent[:30]), 'the results of those replaced', 0.5)
    assert sent[-1].end()[1] == Result.SUCCESSFUL
    ends = {one.end()[2].partition(' by a newer')[0] for one in sent[:-1]}
    assert ends <= {'pre-empted', 'overtaken'}


def test_a_goal_for_later_has_its_turn_and_can_be_cancelled_alone(planner, mechanism):
    now = planner.stroke(mechanism)
    start = planner.client.now() + 3 * 10**9
    later = planner.send(mechanism.independent, [0.8], [mechanism.home.y], start=start)
    last = planner.send(mechanism.independent, [0.8], [mechanism.home.y], start=start + 2 * 10**9)
    assert now.end()[1] == Result.SUCCESSFUL
    last.cancel()
    assert last.end()[0] == GoalStatus.STATUS_CANCELED
    assert later.end()[1] == Result.SUCCESSFUL
    assert planner.client.now() > start


class Robot:
    """Publishes joint states that lag behind the motion by a given angle of crank_1."""

    def __init__(self, client, mechanism, off):
        self.off, self._names = off, list(mechanism.tree_joints)
        self._row = self._names.index('crank_1')
        self._publisher = client.node.create_publisher(JointState, 'joint_states', 10)
        self._home, self._client = mechanism.home.q, client
        self._timer = client.node.create_timer(0.01, self._publish)

    def _publish(self):
        off = self.off  # the test sets it from another thread
        if off is None:
            return
        message = JointState(name=self._names)
        message.header.stamp = to_time(self._client.now())
        q = self._home.copy()
        q[self._row] += off
        message.position, message.velocity = q.tolist(), [0.0] * len(q)
        self._publisher.publish(message)


def test_measured_joints_decide_and_nothing_measured_is_no_success(ros_domain, mechanism):
    node = NodeProcess(namespace='measured', publish_joint_states=False)
    client = Client(namespace='measured')
    try:
        client.connect()
        planner, names = Planner(client), mechanism.independent
        home = ([0.4], [mechanism.home.y])
        _, code, text = planner.send(names, *home).end()
        assert code == Result.GOAL_TOLERANCE_VIOLATED and 'no joint_states' in text
        robot = Robot(client, mechanism, 0.0)
        assert planner.send(names, *home).end()[1] == Result.SUCCESSFUL
        robot.off = 0.05
        _, code, text = planner.send(names, *home).end()
        assert code == Result.GOAL_TOLERANCE_VIOLATED and 'crank_1 is 0.05 rad off' in text
        wide = [JointTolerance(name='crank_1', position=0.06)]
        assert planner.send(names, *home, goal_tolerance=wide).end()[1] == Result.SUCCESSFUL
        narrow = [JointTolerance(name='crank_1', position=0.04)]
        _, code, text = planner.send(names, *home, path_tolerance=narrow).end()
        assert code == Result.PATH_TOLERANCE_VIOLATED and 'tolerance 0.04 rad' in text
        robot.off = None
        begin = time.monotonic()
        patient = Duration(sec=2)
        _, code, text = planner.send(names, *home, goal_time_tolerance=patient).end()
        assert code == Result.GOAL_TOLERANCE_VIOLATED and 'no joint_states' in text
        assert time.monotonic() - begin > 2.4
        client.change(Transition.TRANSITION_DEACTIVATE)
        assert not planner.send(names, *home).accepted
    finally:
        client.close()
        assert node.end() == 0, node.lines


def test_a_node_that_is_deactivated_ends_its_goals(ros_domain, mechanism):
    node, client = NodeProcess(namespace='ending'), Client(namespace='ending')
    try:
        client.connect()
        sent = Planner(client).stroke(mechanism)
        wait_for(lambda: sent.feedback, 'feedback')
        client.change(Transition.TRANSITION_DEACTIVATE)
        assert sent.end()[::2] == (GoalStatus.STATUS_ABORTED, 'the node is not active any more')
    finally:
        client.close()
        assert node.end() == 0, node.lines


def test_a_stop_ends_when_it_should_although_the_clock_is_set_back_by_an_hour():
    second, now = 10**9, [10**13]
    motion = ExecutedMotion([0.0])
    rest = np.zeros((2, 1))
    piece = Piece(now[0], MotionPath.through([0.0, 1.0], [[0.0], [1.0]], rest, rest))
    assert motion.replace(piece, motion.schedule, now[0])
    ended, action = [], object.__new__(TrajectoryAction)
    action._queue = types.SimpleNamespace(now=lambda: now[0], motion=motion)
    action._end = lambda handle, code, text: ended.append(text) or True
    stop = types.SimpleNamespace(piece=piece)
    goal = types.SimpleNamespace(handle=None, stop_requested=True, stop=stop)
    now[0] += second // 2
    assert not action._look_at_stop(goal, None)
    motion.shift(-3600 * second)
    now[0] -= 3600 * second
    assert not action._look_at_stop(goal, None) and not ended
    now[0] += second
    assert action._look_at_stop(goal, None) and ended == ['cancelled and at rest']
