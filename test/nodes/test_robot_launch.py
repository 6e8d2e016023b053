# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""robot.launch.py and twin.launch.py: who gets what on which topic, and what is refused."""

import pytest

from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.errors import MasticatorError
from nodes.launch_files import command_lines, executed, needs_launch, only, parameters, remappings

TRAJECTORY = {'feedforward_trajectory': 'joint_trajectory_controller/joint_trajectory'}
EFFORT = {'feedforward_effort': 'effort_forward_controller/commands'}
FILES = {'bus_config': '/b.yml', 'master_config': '/m.dcf'}


@needs_launch
@pytest.mark.parametrize(
    ('given', 'controller', 'feedforward', 'active'),
    [
        ({}, 'joint_trajectory_controller', TRAJECTORY, False),
        ({'active': 'true'}, 'joint_trajectory_controller', TRAJECTORY, True),
        ({'simulate': 'true'}, 'joint_trajectory_controller', TRAJECTORY, True),
        ({'hardware': 'mock'}, 'joint_trajectory_controller', TRAJECTORY, True),
        ({'hardware': 'mock', 'controller': 'effort'}, 'effort_forward_controller', EFFORT, True),
        ({'hardware': 'canopen', **FILES}, 'joint_trajectory_controller', {}, False),
    ],
)
def test_one_controller_gets_the_feedforward(given, controller, feedforward, active):
    """On a robot it waits for homing; only node dynamics is remapped, to that controller."""
    lines = command_lines('robot', given | {'gui': 'false', 'rate': '250'})
    assert remappings(only(lines, 'dynamics_node')) == feedforward
    broadcaster, own = (words for name, words in lines if name == 'spawner')
    assert broadcaster[0] == 'joint_state_broadcaster' and '--inactive' not in broadcaster
    assert own[0] == controller and ('--inactive' not in own) is active
    manager = only(lines, 'ros2_control_node')
    settings = parameters(manager, 'controller_manager')
    assert settings['update_rate'] == 250 and settings[controller]['type']
    assert parameters(only(lines, 'dynamics_node'), 'dynamics')['rate'] == 250.0
    claimed = ['position'] if given.get('hardware') == 'canopen' else ['position', 'effort']
    trajectory = parameters(manager, 'joint_trajectory_controller')
    assert trajectory['command_interfaces'] == claimed


@needs_launch
def test_measured_joint_states_go_through_completion_once():
    """Broadcaster, completion, joint_states: nobody else publishes there, and nothing loops."""
    lines = command_lines('robot', {'gui': 'false'})
    completion = only(lines, 'joint_state_completion_node')
    assert remappings(completion) == {'joint_states_in': 'joint_state_broadcaster/joint_states'}
    broadcaster = parameters(only(lines, 'ros2_control_node'), 'joint_state_broadcaster')
    assert broadcaster['use_local_topics'] is True
    assert parameters(only(lines, 'dynamics_node'), 'dynamics')['publish_joint_states'] is False


@needs_launch
def test_the_controller_manager_gets_the_block_from_robot_state_publisher():
    words = only(command_lines('robot', {'gui': 'false'}), 'robot_state_publisher')
    robot = parameters(words, 'robot_state_publisher')['robot_description']
    assert '<plugin>joint_state_topic_hardware_interface/JointStateTopicSystem</plugin>' in robot


@needs_launch
def test_the_twin_is_the_robot_with_its_drives_simulated():
    (include,) = executed('twin', {'gui': 'false', 'food': 'nut', 'rate': '250'})[1]
    passed = dict(include.launch_arguments)
    assert passed.items() >= {'simulate': 'true', 'hardware': 'topic', 'food': 'nut'}.items()
    assert set(passed) <= set(executed('robot', passed)[0])
    twin = only(command_lines('robot', passed), 'twin_node')
    assert parameters(twin, 'twin')['food'] == 'nut'


@needs_launch
def test_a_twin_never_shares_the_bus_of_a_robot():
    robot = command_lines('robot', {'gui': 'false'})
    real = parameters(only(robot, 'servo_drives_node'), 'servo_drives')
    assert load_drives(real['drives']).bus.interface == 'socketcan'
    assert real['add_bite_effort'] is True
    given = {'gui': 'false', 'simulate': 'true', 'food': 'nut'}
    runs = [command_lines('robot', given) for _ in range(2)]
    ports = set()
    for lines in runs:
        twin = parameters(only(lines, 'twin_node'), 'twin')
        assert (
            twin['drives'] == parameters(only(lines, 'servo_drives_node'), 'servo_drives')['drives']
        )
        assert twin['food'] == 'nut'
        bus = load_drives(twin['drives']).bus
        assert bus.interface == 'udp_multicast'
        ports.add(bus.port)
    assert len(ports) == 2


@needs_launch
@pytest.mark.parametrize(
    ('given', 'reason'),
    [
        ({'hardware': 'gazebo'}, "hardware 'gazebo' does not exist"),
        ({'controller': 'velocity'}, "controller 'velocity' does not exist"),
        ({'hardware': 'mock', 'simulate': 'true'}, 'simulate needs hardware topic'),
        ({'hardware': 'canopen'}, 'bus_config and master_config are needed'),
        ({'hardware': 'canopen', 'controller': 'effort', **FILES}, 'per mille'),
        ({'controller': 'effort'}, 'mode is position; controller effort needs effort'),
        ({'mechanism': 'rcid'}, 'crank_1, .*; rcid has, in this order, slider_1'),
        ({'mechanism': 'rrr4'}, 'has no <ros2_control> block'),
        ({'drives': 'nowhere.yaml'}, 'nowhere.yaml'),
        ({'rate': '0.5'}, 'whole numbers'),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(given, reason):
    with pytest.raises(MasticatorError, match=reason):
        executed('robot', given | {'gui': 'false'})
