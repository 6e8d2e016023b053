# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Feedforward efforts of a mechanism, its links for TF, and RViz if wanted."""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode, Node

from launch import LaunchContext, LaunchDescription
from masticator_dynamics.description import load_description
from masticator_dynamics.share import share_directory

ARGUMENTS = (
    ('mechanism', 'masticator', 'Name of a shipped mechanism, or path to a mechanism YAML'),
    ('rate', '', 'Control cycles per second, Hz; empty: as in params_file'),
    ('goal', '', 'How redundant actuators share the load; empty: as in params_file'),
    ('friction', '', 'Take friction into account (true or false); empty: as in params_file'),
    ('namespace', '', 'Namespace of all nodes and topics'),
    ('use_sim_time', 'false', 'Follow the time on /clock'),
    ('params_file', str(share_directory() / 'config/dynamics.yaml'), 'Parameters of node dynamics'),
    ('robot_state_publisher', 'true', 'Publish the links on TF, and robot_description'),
    ('rviz', 'false', 'Show the mechanism and the forces on it in RViz'),
)


def generate_launch_description() -> LaunchDescription:
    """Arguments, then nodes for their values."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, default, description in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[Node]:
    """Nodes for the values that the arguments have at launch."""
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    sim_time = {'use_sim_time': value['use_sim_time'].lower() == 'true'}
    given = {'mechanism': value['mechanism']}
    if value['rate']:
        given['rate'] = float(value['rate'])
    if value['goal']:
        given['goal'] = value['goal']
    if value['friction']:
        given['friction'] = value['friction'].lower() == 'true'
    return [
        LifecycleNode(
            package='masticator_dynamics',
            executable='dynamics_node',
            name='dynamics',
            namespace=value['namespace'],
            parameters=[value['params_file'], sim_time, given],
            output='screen',
        ),
        Node(
            condition=IfCondition(LaunchConfiguration('robot_state_publisher')),
            package='robot_state_publisher',
            executable='robot_state_publisher',
            namespace=value['namespace'],
            parameters=[
                sim_time,
                {
                    # Expanded with the xacro arguments of the mechanism's file.
                    'robot_description': load_description(value['mechanism']).urdf_xml,
                },
            ],
            output='screen',
        ),
        Node(
            condition=IfCondition(LaunchConfiguration('rviz')),
            package='rviz2',
            executable='rviz2',
            namespace=value['namespace'],
            arguments=['-d', str(share_directory() / 'rviz/masticator.rviz')],
            parameters=[sim_time],
            output='screen',
        ),
    ]
