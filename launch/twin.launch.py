# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot without a robot: everything as in robot.launch.py, with simulated drives and food."""

from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchContext
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.ros import launching

# Handed on to robot.launch.py as they are.
ARGUMENTS = (
    *launching.shared('mechanism', 'controller', 'controllers'),
    ('drives', 'drives.yaml', 'Drives as on the robot, moved to a bus of this machine'),
    *launching.shared('food', 'on_exit'),
    ('rate', '250', 'Of controllers, dynamics and drives, Hz'),
    *launching.shared('goal', 'friction', 'limits', 'params_file', 'namespace', 'frame_prefix'),
    ('use_sim_time', 'false', 'Refused when true: the twin keeps real time'),
    *launching.shared('gui', 'plots'),
)


def start_nodes(context: LaunchContext, value: launching.Values) -> list[IncludeLaunchDescription]:
    """The robot's launch file with the twin in its place."""
    passed = value | {'hardware': 'topic', 'simulate': 'true'}
    source = PythonLaunchDescriptionSource(str(share_directory() / 'launch/robot.launch.py'))
    return [IncludeLaunchDescription(source, launch_arguments=passed.items())]


generate_launch_description = launching.described(ARGUMENTS, start_nodes)
