# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Feedforward efforts of a mechanism, its links for TF, and RViz if wanted."""

from launch.actions import OpaqueFunction
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from masticator_dynamics.description import load_description
from masticator_dynamics.ros import launching

ARGUMENTS = (
    ('mechanism', 'masticator', 'Name of a shipped mechanism, or path to a mechanism YAML'),
    ('rate', '', 'Control cycles per second, Hz; empty: as in params_file'),
    ('goal', '', 'How redundant actuators share the load; empty: as in params_file'),
    ('friction', '', 'Take friction into account (true or false); empty: as in params_file'),
    ('limits', '', 'Keep loads within limits (true or false); empty: as in params_file'),
    ('publish_joint_states', '', 'Publish all joints (true or false); empty: as in params_file'),
    ('namespace', '', 'Namespace of all nodes and topics'),
    ('frame_prefix', '', 'Before every frame, such as left/: several robots on one TF'),
    ('use_sim_time', 'false', 'Follow the time on /clock'),
    ('params_file', '', 'Parameters of node dynamics; empty: config/dynamics.yaml'),
    ('robot_state_publisher', 'true', 'Publish the links on TF, and robot_description'),
    ('gui', 'false', 'RViz with the mechanism and the forces on it; auto: where it can be shown'),
    ('plots', 'false', 'rqt_plot with the efforts of node dynamics, one curve per actuated joint'),
)


def generate_launch_description() -> LaunchDescription:
    """Arguments, then nodes for their values."""
    return LaunchDescription([*launching.declare(ARGUMENTS), OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[Node]:
    """Nodes for the values that the arguments have at launch."""
    value = launching.values(context, ARGUMENTS)
    description = load_description(value['mechanism'])
    nodes = [launching.dynamics_node(value)]
    if launching.is_true(value['robot_state_publisher']):
        nodes.append(launching.robot_state_publisher(description, value))
    if launching.wants_gui(value):
        nodes.append(launching.rviz(description, value))
    if launching.is_true(value['plots']):
        nodes.append(launching.plots(description, value))
    return launching.checked(context, nodes)
