# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ros2_control itself with simulated drives: a goal with efforts, from launch to end.

Needs a ROS 2 installation with ros2_control, which is not on PyPI.
"""

import importlib.util
import shutil

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed (pip extra "ros", or ROS 2)')

from processes import ROOT, START, Process, wait_for
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.motion import chewing_stroke
from nodes.harness import Peer

pytestmark = pytest.mark.waiting

MODULES = ('launch_ros', 'ros2launch', 'control_msgs', 'controller_manager_msgs')
# Without Python of their own: found by the index of installed packages.
PACKAGES = (
    'controller_manager',
    'joint_state_broadcaster',
    'joint_state_topic_hardware_interface',
    'joint_trajectory_controller',
    'robot_state_publisher',
)
LIST = '/controller_manager/list_controllers'
SWITCH = '/controller_manager/switch_controller'
PERIOD = 2.0  # s, of the stroke
STEP = 0.02  # s, between points: crank-space interpolation over more opens the loops


def missing():
    """Packages started by robot.launch.py that are not installed."""
    from ament_index_python.packages import get_package_prefix

    names = [name for name in MODULES if importlib.util.find_spec(name) is None]
    for name in PACKAGES:
        try:
            get_package_prefix(name)
        except (LookupError, OSError):  # OSError: there is no index at all
            names.append(name)
    return names + ([] if shutil.which('ros2') else ['the command ros2'])


@pytest.fixture(scope='module')
def robot(ros_domain):
    """robot.launch.py with simulated drives, and a client."""
    absent = missing()
    if absent:
        pytest.skip(f'no ROS 2 installation with ros2_control: {", ".join(absent)} not installed')
    arguments = ['hardware:=topic', 'simulate:=true', 'gui:=false']
    launched = Process('ros2', 'launch', ROOT / 'launch/robot.launch.py', *arguments)
    peer = Peer('servo_drives')
    try:
        yield peer
    finally:
        print(launched.text)  # shown when a test fails
        peer.close()
        launched.end()  # launch ends what it has started


def states_of_controllers(peer):
    from controller_manager_msgs.srv import ListControllers

    answer = peer.call(ListControllers, LIST, ListControllers.Request())
    return {controller.name: controller.state for controller in answer.controller}


def begin(peer):
    """Start as a user would, whatever an earlier test left, even drives stopped until reset.

    The controller meanwhile forgets the position it held.
    """
    from controller_manager_msgs.srv import SwitchController

    def switch(**controllers):
        strict = SwitchController.Request.STRICT
        request = SwitchController.Request(strictness=strict, **controllers)
        assert peer.call(SwitchController, SWITCH, request).ok

    own = ['joint_trajectory_controller']
    if states_of_controllers(peer)[own[0]] == 'active':
        switch(deactivate_controllers=own)
    for request in ('disable', 'reset', 'enable'):
        answer = peer.call(Trigger, f'servo_drives/{request}', Trigger.Request())
        assert answer.success, (request, answer.message)
    switch(activate_controllers=own)


def trajectory(mechanism):
    """A chewing stroke in crank positions, velocities and efforts, from home to home."""
    times = np.arange(1, round(PERIOD / STEP) + 1) * STEP
    rows = chewing_stroke(strokes=1, period=PERIOD, opening=0.1).sample(times)
    batch = mechanism.feedforward_batch(*rows)
    message = JointTrajectory(joint_names=list(mechanism.actuated))
    columns = (batch.position, batch.velocity, batch.actuated)
    for time, position, velocity, effort in zip(times, *columns, strict=True):
        point = JointTrajectoryPoint(
            positions=position.tolist(), velocities=velocity.tolist(), effort=effort.tolist()
        )
        point.time_from_start.sec = int(time)
        point.time_from_start.nanosec = round((time - int(time)) * 1e9)
        message.points.append(point)
    # What joint_trajectory_controller takes for at rest is a float's epsilon.
    message.points[-1].velocities = [0.0] * len(message.joint_names)
    return message


def test_the_goal_is_a_motion_that_the_controller_takes(mechanism):
    """Without ros2_control: times increase, it ends at rest at home, and has efforts."""
    message = trajectory(mechanism)
    stamps = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points]
    assert np.all(np.diff(stamps) > 0.0) and stamps[-1] == pytest.approx(PERIOD, abs=1e-9)
    positions = np.array([point.positions for point in message.points])
    assert np.abs(positions[-1]).max() < 1e-9 and np.ptp(positions, axis=0).min() > 0.02
    velocities = np.gradient(positions, STEP, axis=0)[1:-1]
    given = np.array([point.velocities for point in message.points])[1:-1]
    assert np.abs(velocities - given).max() < 0.05 * np.abs(given).max()
    efforts = np.array([point.effort for point in message.points])
    assert efforts.shape == (100, 6) and np.abs(efforts).max() > 0.01


def test_a_goal_with_efforts_ends_within_tolerance(robot, mechanism):
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionClient

    wanted = {'joint_state_broadcaster', 'joint_trajectory_controller'}
    wait_for(lambda: LIST in dict(robot.node.get_service_names_and_types()), LIST, START)
    wait_for(lambda: states_of_controllers(robot).keys() >= wanted, 'controllers', 2 * START)
    measured = robot.record(JointState, 'joint_state_broadcaster/joint_states')
    whole = robot.record(JointState, 'joint_states')
    wait_for(lambda: measured and np.all(np.isfinite(measured[-1].position)), 'states', START)
    begin(robot)

    client = ActionClient(
        robot.node, FollowJointTrajectory, 'joint_trajectory_controller/follow_joint_trajectory'
    )
    assert client.wait_for_server(60.0)
    message = trajectory(mechanism)
    goal = FollowJointTrajectory.Goal(trajectory=message)
    sent = robot.ask(client.send_goal_async, goal)
    wait_for(sent.done, 'answer to the goal', 60.0)
    assert sent.result().accepted
    ended = robot.ask(sent.result().get_result_async)
    wait_for(ended.done, 'end of the goal', PERIOD + 60.0)
    result = ended.result().result
    assert result.error_code == FollowJointTrajectory.Result.SUCCESSFUL, result.error_string

    settings = yaml.safe_load((ROOT / 'config/controllers.yaml').read_text())
    limits = settings['/**/joint_trajectory_controller']['ros__parameters']['constraints']
    last = dict(zip(measured[-1].name, measured[-1].position, strict=True))
    for joint, goal in zip(message.joint_names, message.points[-1].positions, strict=True):
        assert abs(last[joint] - goal) < limits[joint]['goal'], joint
    # It has moved, and all joints of the closed mechanism have been shown.
    moved = np.ptp([state.position for state in measured], axis=0)
    assert moved.max() > 0.02
    assert set(whole[-1].name) == set(mechanism.tree_joints)
