# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot itself, or its twin: drives, ros2_control, feedforward, and its measured states.

By default every host of the network may command it, in the same ROS domain: it says so when it
starts, and docs/robot.md how to keep others out.
"""

import os

from launch.actions import LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch_ros.actions import Node

from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.robot.recording.nodes import at_rate, free_port, on_simulated_bus
from masticator_dynamics.ros import launching, ros2_control
from masticator_dynamics.ros.exported_mechanisms import exported_as, installed_sources
from masticator_dynamics.ros.middleware import who_may_command

ARGUMENTS = (
    *launching.shared('mechanism'),
    ('hardware', 'topic', 'topic: node servo_drives; mock: none at all; canopen: ros2_canopen'),
    *launching.shared('controller', 'feedforward', 'controllers'),
    ('active', '', 'Activate the controller at once; empty: not on a robot, which is homed first'),
    ('drives', 'drives.yaml', 'Drives of the robot: a path, or a file in config/; topic only'),
    *launching.shared('on_exit'),
    ('simulate', 'false', 'Start the twin instead of a robot; topic only'),
    *launching.shared('food'),
    ('observe_bite', 'false', 'Start node bite_observer on what the drives measure; topic only'),
    ('bus_config', '', "Path of ros2_canopen's bus.yml; canopen only"),
    ('master_config', '', "Path of ros2_canopen's master.dcf; canopen only"),
    ('can_interface', 'can0', 'CAN device; canopen only, the others have it in drives'),
    ('rate', '', 'Of controllers, dynamics and drives, Hz; empty: of their files, simulated 250'),
    *launching.shared('goal', 'friction', 'limits', 'params_file', 'namespace', 'frame_prefix'),
    ('use_sim_time', 'false', 'Follow the time on /clock; mock only, drives keep real time'),
    *launching.shared('gui', 'plots'),
)
CANOPEN_ARGUMENTS = ('bus_config', 'master_config', 'can_interface')
# What node dynamics publishes, and where the controller takes it from.
FEEDFORWARD = {
    'trajectory': ('feedforward_trajectory', 'joint_trajectory_controller/joint_trajectory'),
    'effort': ('feedforward_effort', 'effort_forward_controller/commands'),
}
MEASURED = ('joint_states_in', 'joint_state_broadcaster/joint_states')
# Packages of which only plugins are used.
PLUGINS = {
    'topic': 'joint_state_topic_hardware_interface',
    'mock': 'hardware_interface',
    'canopen': 'canopen_ros2_control',
    'trajectory': 'joint_trajectory_controller',
    'effort': 'effort_controllers',
    'controller': 'masticator_control',
}
COMPILING = 900.0  # s for the twin to be there: its first start compiles


def start_nodes(value: launching.Values) -> list:
    """Nodes for the values that the arguments have at launch."""
    # Joint states are the measured ones.
    value |= {'publish_joint_states': 'false'}
    hardware, simulate = value['hardware'], launching.is_true(value['simulate'])
    if simulate and hardware != 'topic':
        raise InputError(f'simulate needs hardware topic; {hardware} has no drives to simulate')
    if launching.is_true(value['use_sim_time']) and hardware != 'mock':
        raise InputError('use_sim_time needs hardware mock: drives and the twin keep real time')
    files = {name: value[name] for name in CANOPEN_ARGUMENTS if value[name]}
    description = ros2_control.description_for(value['mechanism'], hardware, files)
    controllers = value['controllers'] or str(share_directory() / 'config/controllers.yaml')
    rate = ros2_control.common_rate(
        value['rate'],
        simulated=simulate or hardware == 'mock',
        controllers=controllers,
        drives=value['drives'] if hardware == 'topic' else '',
    )
    value |= {'controllers': controllers, 'rate': str(rate)}
    if hardware == 'topic':
        ros2_control.require_mode(value['drives'], value['controller'])
        value['drives'] = drives_file(value['drives'], rate, simulate)
    if value['controller'] == 'effort' and not (value['friction'] or value['params_file']):
        value['friction'] = 'true'  # no position loop makes up for what efforts leave out
    value['exported'] = exported(description, value)
    started = [
        LogInfo(msg=f'may command this robot: {who_may_command(os.environ)} (docs/robot.md)'),
        launching.robot_state_publisher(description, value),
        *control(description, value, simulate),
        *launching.dynamics_node(value, remappings=feedforward(value)),
        launching.joint_state_completion(value, [MEASURED]),
    ]
    if hardware == 'topic':
        started += drives(value, simulate)
    if launching.wants_gui(value):
        started.append(launching.rviz(description, value, ['dynamics']))
    if launching.is_true(value['plots']):
        started += launching.plots(description, value)
    kinds = (value['feedforward'], 'trajectory') if value['exported'] else (value['controller'],)
    plugins = (PLUGINS[hardware], *(PLUGINS[kind] for kind in kinds), 'joint_state_broadcaster')
    return [*started, *plugins]


def exported(description, value: launching.Values) -> str:
    """The mechanism that the feedforward controller loads; empty where node dynamics does it."""
    if value['feedforward'] == 'node':
        return ''
    if value['limits'] and launching.is_true(value['limits']):
        raise InputError('limits needs feedforward node: the controller clamps efforts only')
    if not launching.installed('masticator_control'):
        raise InputError('feedforward controller needs the package masticator_control')
    return exported_as(
        description,
        installed_sources(),
        drives=value['drives'] if value['hardware'] == 'topic' else '',
        goal=value['goal'] or 'torque',
        friction=bool(value['friction']) and launching.is_true(value['friction']),
    )


def feedforward(value: launching.Values) -> list[tuple[str, str]]:
    """The one topic that the controller listens to, and servo_drives for the bite force.

    None with canopen, which takes no efforts.
    """
    if value['hardware'] == 'canopen':
        return []
    return [FEEDFORWARD['trajectory' if value['exported'] else value['controller']]]


def control(description, value: launching.Values, simulate: bool) -> list:
    """The controller manager, the broadcaster, and the one controller that claims the efforts.

    That controller comes when there are measured states: without any, it holds nothing, and says
    that it has reached every goal.
    """
    parameters = ros2_control.controllers_for(
        value['controllers'],
        description,
        hardware=value['hardware'],
        controller=value['controller'],
        rate=float(value['rate']),
        exported=value['exported'],
    )
    # No name: it would be given to every controller in the process.
    file = str(launching.temporary_file(parameters, '.yaml'))
    manager = launching.program(value, 'controller_manager', 'ros2_control_node', [file])
    unattended = simulate or value['hardware'] == 'mock'
    active = launching.is_true(value['active']) if value['active'] else unattended
    names = ros2_control.controllers_of(value['controller'], value['exported'])
    states = launching.wait_for_joint_states(value, description.actuated, [MEASURED])
    together = ['--activate-as-group'] if active and len(names) > 1 else []
    own = spawner(value, *names, *(together if active else ['--inactive']))
    return [
        *launching.needs(manager, 'the controller manager'),
        spawner(value, 'joint_state_broadcaster'),
        *launching.then(states, own),
    ]


def spawner(value: launching.Values, *given: str) -> Node:
    """Load controllers into the manager of this namespace, and end; options may follow names."""
    arguments = [*given, '--controller-manager', 'controller_manager']
    return launching.program(value, 'controller_manager', 'spawner', arguments=arguments)


def drives_file(file: str, rate: float, simulate: bool) -> str:
    """The drives at the common rate, with the twin on a bus of this machine."""
    if simulate:
        return str(launching.temporary_file(on_simulated_bus(file, free_port(), rate), '.yaml'))
    if load_drives(file).cycle_rate == rate:
        return file
    return str(launching.temporary_file(at_rate(file, rate), '.yaml'))


def drives(value: launching.Values, simulate: bool) -> list:
    """Node servo_drives on the robot's bus, or with the twin on a bus of this machine."""
    # A trajectory's efforts know nothing of the bite force; on top of them comes what it adds.
    added = value['controller'] == 'trajectory' and not value['exported']
    given = {'drives': value['drives'], 'add_bite_effort': added}
    if simulate:  # nobody can get hurt
        given |= {'auto_enable': True, 'wait_for_drives': COMPILING}
    started = servo_drives(value, given)
    if simulate:
        twin = {'drives': value['drives'], 'frame_prefix': value['frame_prefix']}
        twin['rate'] = float(value['rate'])
        if value['food']:
            twin['food'] = value['food']
        started += launching.needs(launching.own_node('twin', value, twin), 'twin')
    if launching.is_true(value['observe_bite']):
        of = {'mechanism': value['mechanism'], 'drives': value['drives']}
        states = [('joint_states', 'servo_drives/state')]
        started.append(launching.own_node('bite_observer', value, of, remappings=states))
    return started


def servo_drives(value: launching.Values, given: dict[str, object]) -> list:
    """The node, and what follows its end: drives without it stop, and nobody else speaks for them.

    Once it has ended it never enables by itself again.
    """
    remappings = feedforward(value)
    if value['on_exit'] == 'shutdown':
        node = launching.own_node('servo_drives', value, given, '', remappings)
        return launching.needs(node, 'servo_drives')
    first = launching.own_node('servo_drives', value, given, '', remappings)
    again = launching.own_node(
        'servo_drives',
        value,
        given | {'auto_enable': False},
        '',
        remappings,
        respawn=True,
        respawn_delay=1.0,
    )
    text = 'servo_drives has ended and is started again: reset and enable the drives by hand'
    event = OnProcessExit(target_action=first, on_exit=[LogInfo(msg=text), again])
    return [first, RegisterEventHandler(event)]


generate_launch_description = launching.described(ARGUMENTS, start_nodes)
