# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of any size hold up no thread, are refused with a reason, and their memory returns."""

import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('control_msgs', reason='control_msgs is part of a ROS 2 installation')

from control_msgs.action import FollowJointTrajectory  # noqa: E402
from control_msgs.msg import JointTolerance  # noqa: E402
from masticator_dynamics.ros.dynamics.goal_requests import GoalServer  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.node import Node  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from nodes.harness import Peer, wait_for  # noqa: E402
from nodes.test_large_messages import Ticking, private  # noqa: E402

Goal, Result = FollowJointTrajectory.Goal, FollowJointTrajectory.Result
POINT = JointTrajectoryPoint(positions=[0.0] * 6, velocities=[0.0] * 6)
LARGE = {
    'points': Goal(trajectory=JointTrajectory(joint_names=list('abcdef'), points=[POINT] * 30_000)),
    'names': Goal(trajectory=JointTrajectory(joint_names=['joint'] * 200_000)),
    'tolerances': Goal(path_tolerance=[JointTolerance(name='crank_1')] * 50_000),
    'text': Goal(trajectory=JointTrajectory(joint_names=['x' * 10_000_000])),
}


@pytest.mark.parametrize('what', LARGE)
def test_other_threads_go_on_while_a_goal_is_received(ros_domain, what):
    """The least of several: a busy computer holds up threads, too."""
    peer, node = Peer('dynamics'), None
    shares, taken = [], []
    try:
        node = Node('receiver', context=peer.node.context)
        server = GoalServer(node, FollowJointTrajectory, 'large_goal')
        client = ActionClient(peer.node, FollowJointTrajectory, 'large_goal')
        assert client.wait_for_server(60.0)
        kind = FollowJointTrajectory.Impl.SendGoalService.Request
        for _ in range(4):
            peer.ask(client.send_goal_async, LARGE[what])
            time.sleep(0.5)  # until it has arrived
            with Ticking() as other:
                time.sleep(0.02)
                begin, other.longest = time.perf_counter(), 0.0
                _, request = server._handle.take_goal_request(kind)
                seconds = time.perf_counter() - begin
                time.sleep(0.005)  # it has to run to know
                if request is not None:
                    taken.append(request)
                    shares.append((other.longest, seconds))
        client.destroy()
        server.destroy()
    finally:
        if node is not None:
            node.destroy_node()
        peer.close()
    assert taken and min(longest / seconds for longest, seconds in shares) < 0.3, shares


def test_large_goals_are_refused_with_a_reason_and_their_memory_returns(node, at_home):
    action = ActionClient(at_home.node, FollowJointTrajectory, 'follow_joint_trajectory')
    assert action.wait_for_server(60.0)

    def refused(goal):
        accepted = at_home.ask(action.send_goal_async, goal)
        wait_for(accepted.done, 'answer to the goal')
        ended = at_home.ask(accepted.result().get_result_async)
        wait_for(ended.done, 'end of the goal')
        return ended.result().result

    try:
        before = private(node.process.pid)
        for goal in [*LARGE.values()] * 3:
            refused(goal)
        count = int(at_home.status('trajectory')[2]['rejected'])
        for what in ('names', 'tolerances', 'text'):
            result = refused(LARGE[what])
            assert result.error_code == Result.INVALID_GOAL
            assert 'bytes besides the points; at most 8192 are read' in result.error_string
        result = refused(LARGE['points'])
        assert result.error_code == Result.INVALID_JOINTS
        assert "unknown joint 'a'" in result.error_string
        at_home.wait_for_value('trajectory', 'rejected', lambda n: int(n) >= count + 4)
        time.sleep(1.0)
        # Of the 150 MB, an allocator keeps pieces; as much again would come with a further round.
        assert private(node.process.pid) < before + 45
    finally:
        action.destroy()
