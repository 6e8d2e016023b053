# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot without a robot: everything as in robot.launch.py, with simulated drives and food."""

from masticator_dynamics.ros import launching

# Handed on to robot.launch.py as they are.
ARGUMENTS = (
    *launching.shared('mechanism', 'controller', 'feedforward', 'controllers'),
    ('drives', 'drives.yaml', 'Drives as on the robot, moved to a bus of this machine'),
    *launching.shared('food', 'on_exit'),
    ('rate', '250', 'Of controllers, dynamics and drives, Hz'),
    *launching.shared('goal', 'friction', 'limits', 'params_file', 'namespace', 'frame_prefix'),
    ('use_sim_time', 'false', 'Refused when true: the twin keeps real time'),
    *launching.shared('gui', 'plots'),
)


def start_nodes(value: launching.Values) -> list:
    """What the robot's launch file starts, with the twin in the robot's place."""
    return launching.of_file('robot', value | {'hardware': 'topic', 'simulate': 'true'})


generate_launch_description = launching.described(ARGUMENTS, start_nodes)
