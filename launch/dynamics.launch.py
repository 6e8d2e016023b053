# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Feedforward efforts of a mechanism, its links for TF, and RViz if wanted."""

from masticator_dynamics.description import load_description
from masticator_dynamics.ros import launching

ARGUMENTS = (
    *launching.shared('mechanism', 'rate', 'goal', 'friction', 'limits'),
    ('publish_joint_states', '', 'Publish all joints (true or false); empty: as in params_file'),
    *launching.shared('namespace', 'frame_prefix', 'use_sim_time', 'params_file'),
    ('robot_state_publisher', 'true', 'Publish the links on TF, and robot_description'),
    ('gui', 'false', 'RViz with the mechanism and the forces on it; auto: where it can be shown'),
    *launching.shared('plots'),
)


def start_nodes(value: launching.Values) -> list:
    """Nodes for the values that the arguments have at launch."""
    description = load_description(value['mechanism'])
    nodes = launching.dynamics_node(value)
    if launching.is_true(value['robot_state_publisher']):
        nodes.append(launching.robot_state_publisher(description, value))
    if launching.wants_gui(value):
        nodes.append(launching.rviz(description, value, ['dynamics']))
    if launching.is_true(value['plots']):
        nodes += launching.plots(description, value)
    return nodes


generate_launch_description = launching.described(ARGUMENTS, start_nodes)
