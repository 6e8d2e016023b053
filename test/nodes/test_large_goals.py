# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Goals of any size are refused with a reason, and their memory returns."""

import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('control_msgs', reason='control_msgs is part of a ROS 2 installation')

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from processes import wait_for
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from nodes.test_large_messages import private

pytestmark = pytest.mark.waiting

Goal, Result = FollowJointTrajectory.Goal, FollowJointTrajectory.Result
POINT = JointTrajectoryPoint(positions=[0.0] * 6, velocities=[0.0] * 6)
LARGE = {
    'points': Goal(trajectory=JointTrajectory(joint_names=list('abcdef'), points=[POINT] * 30_000)),
    'names': Goal(trajectory=JointTrajectory(joint_names=['joint'] * 200_000)),
    'tolerances': Goal(path_tolerance=[JointTolerance(name='crank_1')] * 50_000),
    'text': Goal(trajectory=JointTrajectory(joint_names=['x' * 10_000_000])),
}
REASONS = {
    'points': "unknown joint 'a'",
    'names': "unknown joint 'joint'",
    'tolerances': 'joint_names is empty',
    'text': "unknown joint 'xxx",
}


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
        for what, reason in REASONS.items():
            result = refused(LARGE[what])
            assert result.error_code == Result.INVALID_JOINTS
            assert reason in result.error_string and len(result.error_string) < 1000
        at_home.wait_for_value('trajectory', 'rejected', lambda n: int(n) >= count + 4)
        time.sleep(1.0)
        # Of the 150 MB, an allocator keeps pieces; as much again would come with a further round.
        assert private(node.process.pid) < before + 45
    finally:
        at_home.ask(action.destroy)
