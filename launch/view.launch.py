# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Move a mechanism by hand: sliders over its independent coordinates, loops closed, in RViz.

Or see a recording of one.
"""

import pathlib

from launch.actions import LogInfo
from launch_ros.actions import Node

from masticator_dynamics.description import load_description
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros import launching
from masticator_dynamics.ros.rviz_configuration import DRAWINGS
from masticator_dynamics.ros.sliders import REMAPPINGS, slider_urdf

ARGUMENTS = (
    *launching.shared('mechanism'),
    ('bag', '', 'A recording that is played in place of sliders: a folder of rosbag2'),
    ('gui', 'auto', 'Sliders and RViz; without, joint_states_in comes from elsewhere'),
    *launching.shared('namespace', 'frame_prefix', 'use_sim_time'),
)

# What a recording may hold, and is made here.
MADE_HERE = ('tf', 'tf_static', '.*robot_description', '.*frame_path/path')


def start_nodes(value: launching.Values) -> list:
    """Nodes for the values that the arguments have at launch."""
    bag, shown = value['bag'], launching.wants_gui(value)
    if bag:
        value['use_sim_time'] = 'true'  # that of the recording
        if not pathlib.Path(bag).exists():
            raise InputError(f'there is no bag {bag}')
    description = load_description(value['mechanism'])
    frame = 'incisor' if 'incisor' in description.tree.links else description.platform
    prefix = {'frame_prefix': value['frame_prefix']}
    nodes = [
        launching.own_node('frame_path', value, {'frame': frame, 'aside': 0.06, **prefix}),
        launching.robot_state_publisher(description, value),
    ]
    if bag:
        nodes += ['ros2bag', played(value)]
    else:
        moved = sliders(description, value) if shown else nothing_moves(description.independent)
        nodes += [launching.joint_state_completion(value), moved]
    if shown:
        drawings = list(DRAWINGS) if bag else ['frame_path']
        nodes.append(launching.rviz(description, value, drawings))
    return nodes


def nothing_moves(joints) -> LogInfo:
    """What is said without sliders."""
    names = ', '.join(joints)
    text = f'nothing moves until somebody publishes {names} on joint_states_in'
    return LogInfo(msg=f'without sliders {text}')


def played(value: launching.Values):
    """Play the recording again and again, with its time."""
    left_out = f'/({"|".join(MADE_HERE)})'
    options = ['--loop', '--clock', '50', '--exclude-regex', left_out]
    return launching.process('bag', ['ros2', 'bag', 'play', value['bag'], *options])


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
