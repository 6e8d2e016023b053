# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Move a mechanism by hand: sliders over its independent coordinates, loops closed, in RViz."""

from launch_ros.actions import Node

from launch import LaunchContext
from masticator_dynamics.description import load_description
from masticator_dynamics.ros import launching
from masticator_dynamics.ros.sliders import slider_urdf

ARGUMENTS = (
    *launching.shared('mechanism'),
    (
        'gui',
        'auto',
        'Sliders and RViz; without, joint_states_in comes from elsewhere',
    ),
    *launching.shared('namespace', 'frame_prefix', 'use_sim_time'),
)


def start_nodes(context: LaunchContext, value: launching.Values) -> list[Node]:
    """Nodes for the values that the arguments have at launch."""
    description = load_description(value['mechanism'])
    frame = 'incisor' if 'incisor' in description.tree.links else description.platform
    prefix = {'frame_prefix': value['frame_prefix']}
    nodes = [
        launching.own_node('joint_state_completion', value),
        launching.own_node('frame_path', value, {'frame': frame, **prefix}),
        launching.robot_state_publisher(description, value),
    ]
    if launching.wants_gui(value):
        nodes += [sliders(description, value), launching.rviz(description, value)]
    return launching.checked(context, nodes)


def sliders(description, value) -> Node:
    """One slider for each independent coordinate: a robot made of these joints alone.

    joint_state_publisher_gui shows a slider for every joint of its URDF; its parameter
    dependent_joints takes none away.
    """
    file = launching.temporary_file(slider_urdf(description), '.urdf')
    home = {name: float(description.home.get(name, 0.0)) for name in description.independent}
    return Node(
        package='joint_state_publisher_gui',
        executable='joint_state_publisher_gui',
        namespace=value['namespace'],
        arguments=[str(file)],
        parameters=[{'zeros': home, 'rate': 50}],
        remappings=[('joint_states', 'joint_states_in')],
        output='screen',
    )


generate_launch_description = launching.described(ARGUMENTS, start_nodes)
