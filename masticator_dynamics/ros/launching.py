# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What launch files share: arguments with descriptions, and the nodes of other packages.

Imports `launch`, which a ROS 2 installation has and PyPI has not; nothing but launch files imports
this module.
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Sequence

from launch.actions import DeclareLaunchArgument
from launch.launch_context import LaunchContext
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode, Node

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.ros import middleware

Arguments = Sequence[tuple[str, str, str]]  # name, default, description
Values = dict[str, str]


def declare(arguments: Arguments) -> list[DeclareLaunchArgument]:
    """Arguments as ``ros2 launch --show-args`` lists them.

    Every launch file begins with them, so this is where the middleware's settings are made, too,
    for all that is started: nodes of other packages publish to the drives as ours do.
    """
    middleware.prepare()
    return [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, default, description in arguments
    ]


def values(context: LaunchContext, arguments: Arguments) -> Values:
    """What the arguments are at launch."""
    return {name: LaunchConfiguration(name).perform(context) for name, _, _ in arguments}


def is_true(text: str) -> bool:
    """Whether a launch argument says yes.

    Raises
    ------
    ValueError
        For neither true nor false.
    """
    if text.lower() not in ('true', 'false', '1', '0'):
        raise ValueError(f'{text!r} is neither true nor false')
    return text.lower() in ('true', '1')


def own_node(
    name: str,
    value: Values,
    parameters: dict[str, object] | None = None,
    file: str = '',
    remappings: Sequence[tuple[str, str]] = (),
) -> Node:
    """Start a node of this package with its file in config/, or another, and more parameters."""
    common = {'mechanism': value['mechanism'], 'use_sim_time': is_true(value['use_sim_time'])}
    return LifecycleNode(
        package='masticator_dynamics',
        executable=f'{name}_node',
        name=name,
        namespace=value['namespace'],
        parameters=[
            file or str(share_directory() / f'config/{name}.yaml'),
            common,
            parameters or {},
        ],
        remappings=list(remappings),
        output='screen',
    )


def dynamics_node(
    value: Values, file: str = '', remappings: Sequence[tuple[str, str]] = ()
) -> Node:
    """Start node dynamics; of its parameters only those arguments count that are not empty."""
    given: dict[str, object] = {'frame_prefix': value['frame_prefix']}
    if value.get('drives'):
        given['drives'] = value['drives']
    if value['rate']:
        given['rate'] = float(value['rate'])
    if value['goal']:
        given['goal'] = value['goal']
    for switch in ('friction', 'limits', 'publish_joint_states'):
        if value[switch]:
            given[switch] = is_true(value[switch])
    return own_node('dynamics', value, given, file, remappings)


def robot_state_publisher(description: MechanismDescription, value: Values) -> Node:
    """Links on TF and robot_description, expanded with the xacro arguments of the mechanism."""
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        namespace=value['namespace'],
        parameters=[
            {
                'robot_description': description.urdf_xml,
                'frame_prefix': value['frame_prefix'],
                'use_sim_time': is_true(value['use_sim_time']),
            }
        ],
        output='screen',
    )


def rviz(description: MechanismDescription, value: Values) -> Node:
    """RViz on the mechanism's base, with the frame prefix where its displays want it."""
    template = (share_directory() / 'rviz/masticator.rviz').read_text(encoding='utf-8')
    config = template.replace('TF Prefix: ""', f'TF Prefix: "{value["frame_prefix"]}"')
    return Node(
        package='rviz2',
        executable='rviz2',
        namespace=value['namespace'],
        arguments=[
            *('-d', str(temporary_file(config, '.rviz'))),
            *('-f', value['frame_prefix'] + description.base),
        ],
        parameters=[{'use_sim_time': is_true(value['use_sim_time'])}],
        output='screen',
    )


def temporary_file(content: str, suffix: str) -> pathlib.Path:
    """A file for a program that takes no text; left to the system's housekeeping."""
    handle, name = tempfile.mkstemp(prefix='masticator_dynamics_', suffix=suffix)
    with os.fdopen(handle, 'w', encoding='utf-8') as file:
        file.write(content)
    return pathlib.Path(name)
