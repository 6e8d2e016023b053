# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot without a robot: everything as in robot.launch.py, with simulated drives and food."""

from launch.actions import IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchContext, LaunchDescription
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.ros import launching

# Handed on to robot.launch.py as they are.
ARGUMENTS = (
    ('mechanism', 'masticator', 'Name of a shipped mechanism, or path to a mechanism YAML'),
    ('controller', 'trajectory', 'trajectory (position and effort) or effort (nothing but effort)'),
    ('controllers', '', 'Parameters of the controllers; empty: config/controllers.yaml'),
    ('drives', 'drives.yaml', 'Drives as on the robot, moved to a bus of this machine'),
    ('food', '', 'What the twin has between its teeth; empty: as in config/twin.yaml'),
    ('on_exit', 'shutdown', 'If servo_drives ends: shutdown of all, or respawn, not enabled'),
    ('rate', '250', 'Of controllers, dynamics and drives, Hz'),
    ('goal', '', 'How redundant actuators share the load; empty: as in params_file'),
    ('friction', '', 'Take friction into account (true or false); empty: as in params_file'),
    ('limits', '', 'Keep loads within limits (true or false); empty: as in params_file'),
    ('params_file', '', 'Parameters of node dynamics; empty: config/dynamics.yaml'),
    ('namespace', '', 'Namespace of all nodes and topics'),
    ('frame_prefix', '', 'Before every frame, such as left/: several robots on one TF'),
    ('use_sim_time', 'false', 'Refused when true: the twin keeps real time'),
    ('gui', 'auto', 'RViz with the mechanism and the forces on it; auto: where it can be shown'),
    ('plots', 'false', 'rqt_plot with the efforts of node dynamics, one curve per actuated joint'),
)


def generate_launch_description() -> LaunchDescription:
    """Arguments, then nodes for their values."""
    return LaunchDescription([*launching.declare(ARGUMENTS), OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[IncludeLaunchDescription]:
    """The robot's launch file with the twin in its place."""
    passed = launching.values(context, ARGUMENTS) | {'hardware': 'topic', 'simulate': 'true'}
    source = PythonLaunchDescriptionSource(str(share_directory() / 'launch/robot.launch.py'))
    return [IncludeLaunchDescription(source, launch_arguments=passed.items())]
