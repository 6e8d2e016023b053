# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Move a mechanism by hand: sliders over its independent coordinates, loops closed, in RViz."""

from launch.actions import LogInfo
from launch_ros.actions import Node

from masticator_dynamics.description import load_description
from masticator_dynamics.ros import launching
from masticator_dynamics.ros.sliders import REMAPPINGS, slider_urdf

ARGUMENTS = (
    *launching.shared('mechanism'),
    (
        'gui',
        'auto',
        'Sliders and RViz; without, joint_states_in comes from elsewhere',
    ),
    *launching.shared('namespace', 'frame_prefix', 'use_sim_time'),
)


def start_nodes(value: launching.Values) -> list:
    """Nodes for the values that the arguments have at launch."""
    description = load_description(value['mechanism'])
    frame = 'incisor' if 'incisor' in description.tree.links else description.platform
    prefix = {'frame_prefix': value['frame_prefix']}
    nodes = [
        launching.joint_state_completion(value),
        launching.own_node('frame_path', value, {'frame': frame, 'aside': 0.06, **prefix}),
        launching.robot_state_publisher(description, value),
    ]
    if launching.wants_gui(value):
        rviz = launching.rviz(description, value, ['frame_path'])
        return [*nodes, sliders(description, value), rviz]
    joints = ', '.join(description.independent)
    text = f'without sliders nothing moves until somebody publishes {joints} on joint_states_in'
    return [*nodes, LogInfo(msg=text)]


def sliders(description, value) -> Node:
    """One slider for each independent coordinate: a robot made of these joints alone.

    joint_state_publisher_gui shows a slider for every joint of its URDF; its parameter
    dependent_joints takes none away.
    """
    file = launching.temporary_file(slider_urdf(description), '.urdf')
    home = {name: float(description.home.get(name, 0.0)) for name in description.independent}
    return launching.program(
        value,
        'joint_state_publisher_gui',
        'joint_state_publisher_gui',
        [{'zeros': home, 'rate': 50}],
        window=True,
        arguments=[str(file)],
        remappings=REMAPPINGS,
    )


generate_launch_description = launching.described(ARGUMENTS, start_nodes)
