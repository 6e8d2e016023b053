# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Everything for one robot: efforts, inertia, TF, and on demand RViz, a record, a planner."""

import sys
import time

from launch.actions import ExecuteProcess

from masticator_dynamics.description import load_description
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.ros import launching
from masticator_dynamics.ros.rviz_configuration import DRAWINGS

# Handed on to dynamics.launch.py as they are.
DYNAMICS_ARGUMENTS = (
    *launching.shared('mechanism', 'rate', 'goal', 'friction', 'limits', 'params_file'),
    *launching.shared('namespace', 'frame_prefix', 'use_sim_time', 'gui', 'plots'),
)
ARGUMENTS = (
    *DYNAMICS_ARGUMENTS,
    ('record', 'false', 'Record the topics of this robot to a bag in the present folder'),
    ('measured', 'false', 'A robot is there: complete its measured joint_states_in'),
    ('use_fake_planner', 'false', 'Start examples/chewing_planner.py (masticator only)'),
)

RECORDED = (
    'joint_trajectory', 'bite_force', 'feedforward_effort', 'feedforward_state',
    'feedforward_trajectory', 'contact_force/.*', 'joint_force/.*', 'joint_states',
    'joint_states_in', 'inertia_coupling/mci', 'inertia_estimator/load_inertia',
    'robot_description', 'dynamics/markers', 'inertia_coupling/markers', 'frame_path/path',
)  # fmt: skip


def start_nodes(value: launching.Values) -> list:
    """Nodes for the values that the arguments have at launch."""
    measured = launching.is_true(value['measured'])
    description = load_description(value['mechanism'])
    frame = 'incisor' if 'incisor' in description.tree.links else description.platform
    passed = {name: value[name] for name, _, _ in DYNAMICS_ARGUMENTS}
    # What the robot measures takes the place of what it is told to do.
    passed['publish_joint_states'] = 'false' if measured else ''
    passed['gui'] = 'false'  # here, with what all nodes draw
    prefix = {'frame_prefix': value['frame_prefix']}
    started = [
        *launching.of_file('dynamics', passed),
        launching.own_node('inertia_coupling', value, prefix),
        launching.own_node('inertia_estimator', value),
        launching.own_node('frame_path', value, {'frame': frame, 'aside': 0.06, **prefix}),
    ]
    if measured:
        started.append(launching.joint_state_completion(value))
    if launching.wants_gui(value):
        started.append(launching.rviz(description, value, list(DRAWINGS)))
    if launching.is_true(value['record']):
        started += ['ros2bag', record(value)]
    if launching.is_true(value['use_fake_planner']):
        started.append(planner(value))
    return started


def record(value: launching.Values) -> ExecuteProcess:
    """Record by name: topics appear at any time, and other robots have theirs."""
    namespace = value['namespace'].strip('/')
    below = f'/{namespace}/' if namespace else '/'
    topics = f'^({below}({"|".join(RECORDED)})|/tf|/tf_static|/diagnostics)$'
    bag = time.strftime('masticator_%Y-%m-%d_%H-%M-%S')
    clock = ['--use-sim-time'] if launching.is_true(value['use_sim_time']) else []
    command = ['ros2', 'bag', 'record', '-o', bag, *clock, '--regex', topics]
    return launching.process('bag', command)


def planner(value: launching.Values) -> ExecuteProcess:
    """The example, as a process of its own."""
    script = share_directory() / 'examples/chewing_planner.py'
    clock = f'use_sim_time:={str(launching.is_true(value["use_sim_time"])).lower()}'
    namespace = f'__ns:=/{value["namespace"].strip("/")}'
    arguments = ['--ros-args', '-r', namespace, '-p', clock]
    command = [sys.executable, str(script), *arguments]
    return launching.process('chewing_planner', command)


generate_launch_description = launching.described(ARGUMENTS, start_nodes)
