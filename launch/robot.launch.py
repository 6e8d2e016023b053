# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot itself, or its twin: drives, ros2_control, feedforward, and its measured states."""

from launch.actions import OpaqueFunction, RegisterEventHandler
from launch_ros.actions import Node
from launch_ros.event_handlers import OnStateTransition

from launch import LaunchContext, LaunchDescription
from masticator_dynamics.drives.simulated_bus import free_port, on_simulated_bus
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.ros import launching, ros2_control

ARGUMENTS = (
    ('mechanism', 'masticator', 'Name of a shipped mechanism, or path to a mechanism YAML'),
    ('hardware', 'topic', 'topic: node servo_drives; mock: none at all; canopen: ros2_canopen'),
    ('controller', 'trajectory', 'trajectory (position and effort) or effort (nothing but effort)'),
    ('controllers', '', 'Parameters of the controllers; empty: config/controllers.yaml'),
    ('active', '', 'Activate the controller at once; empty: not on a robot, which is homed first'),
    ('drives', 'drives.yaml', 'Drives of the robot: a path, or a file in config/; topic only'),
    ('simulate', 'false', 'Start the twin instead of a robot; topic only'),
    ('food', '', 'What the twin has between its teeth; empty: as in config/twin.yaml'),
    ('bus_config', '', "Path of ros2_canopen's bus.yml; canopen only"),
    ('master_config', '', "Path of ros2_canopen's master.dcf; canopen only"),
    ('can_interface', 'can0', 'CAN device; canopen only, the others have it in drives'),
    ('rate', '', 'Control cycles per second, Hz; empty: as in the files in config/'),
    ('goal', '', 'How redundant actuators share the load; empty: as in config/dynamics.yaml'),
    ('friction', '', 'Take friction into account (true or false); empty: as in the file'),
    ('limits', '', 'Keep loads within limits (true or false); empty: as in the file'),
    ('namespace', '', 'Namespace of all nodes and topics'),
    ('frame_prefix', '', 'Before every frame, such as left/: several robots on one TF'),
    ('gui', 'true', 'Show the measured mechanism and the forces on it in RViz'),
)
CANOPEN_ARGUMENTS = ('bus_config', 'master_config', 'can_interface')
# What node dynamics publishes, and where the controller takes it from.
FEEDFORWARD = {
    'trajectory': ('feedforward_trajectory', 'joint_trajectory_controller/joint_trajectory'),
    'effort': ('feedforward_effort', 'effort_forward_controller/commands'),
}


def generate_launch_description() -> LaunchDescription:
    """Arguments, then nodes for their values."""
    return LaunchDescription([*launching.declare(ARGUMENTS), OpaqueFunction(function=start_nodes)])


def start_nodes(context: LaunchContext) -> list[Node | RegisterEventHandler]:
    """Nodes for the values that the arguments have at launch."""
    value = launching.values(context, ARGUMENTS)
    # Drives keep real time, and so does the twin; joint states are the measured ones.
    value |= {'use_sim_time': 'false', 'publish_joint_states': 'false'}
    hardware, simulate = value['hardware'], launching.is_true(value['simulate'])
    if simulate and hardware != 'topic':
        raise InputError(f'simulate needs hardware topic; {hardware} has no drives to simulate')
    files = {name: value[name] for name in CANOPEN_ARGUMENTS if value[name]}
    description = ros2_control.description_for(value['mechanism'], hardware, files)
    started = [
        launching.robot_state_publisher(description, value),
        *control(description, value, simulate),
        launching.dynamics_node(value, remappings=feedforward(value)),
        launching.own_node(
            'joint_state_completion',
            value,
            remappings=[('joint_states_in', 'joint_state_broadcaster/joint_states')],
        ),
    ]
    if hardware == 'topic':
        started += drives(value, simulate)
    if launching.is_true(value['gui']):
        started.append(launching.rviz(description, value))
    return started


def feedforward(value: launching.Values) -> list[tuple[str, str]]:
    """The one topic that the controller listens to, and servo_drives for the bite force.

    None with canopen, which takes no efforts.
    """
    return [] if value['hardware'] == 'canopen' else [FEEDFORWARD[value['controller']]]


def control(description, value: launching.Values, simulate: bool) -> list[Node]:
    """The controller manager, the broadcaster, and the one controller that claims the efforts."""
    parameters = ros2_control.controllers_for(
        value['controllers'] or share_directory() / 'config/controllers.yaml',
        description,
        hardware=value['hardware'],
        controller=value['controller'],
        rate=float(value['rate']) if value['rate'] else None,
    )
    # No name: it would be given to every controller in the process.
    manager = Node(
        package='controller_manager',
        executable='ros2_control_node',
        namespace=value['namespace'],
        parameters=[str(launching.temporary_file(parameters, '.yaml'))],
        output='screen',
    )
    unattended = simulate or value['hardware'] == 'mock'
    active = launching.is_true(value['active']) if value['active'] else unattended
    controller = ros2_control.CONTROLLERS[value['controller']]
    return [
        manager,
        spawner(value, 'joint_state_broadcaster'),
        spawner(value, controller, *([] if active else ['--inactive'])),
    ]


def spawner(value: launching.Values, controller: str, *options: str) -> Node:
    """Load a controller into the manager of this namespace, and end."""
    return Node(
        package='controller_manager',
        executable='spawner',
        namespace=value['namespace'],
        arguments=[controller, '--controller-manager', 'controller_manager', *options],
        output='screen',
    )


def drives(value: launching.Values, simulate: bool) -> list[Node | RegisterEventHandler]:
    """Node servo_drives on the robot's bus, or with the twin on a bus of this machine."""
    file = value['drives']
    ros2_control.require_mode(file, value['controller'])
    if simulate:
        file = str(launching.temporary_file(on_simulated_bus(file, free_port()), '.yaml'))
    # A trajectory's efforts know nothing of the bite force; on top of them comes what it adds.
    given = {'drives': file, 'add_bite_effort': value['controller'] == 'trajectory'}
    given['auto_enable'] = simulate  # nobody can get hurt
    servo_drives = launching.own_node('servo_drives', value, given, remappings=feedforward(value))
    if not simulate:
        return [servo_drives]
    given = {'drives': file, 'frame_prefix': value['frame_prefix']}
    if value['food']:
        given['food'] = value['food']
    twin = launching.own_node('twin', value, given)
    # Drives that do not answer are a fault: first the twin.
    then = OnStateTransition(
        target_lifecycle_node=twin, goal_state='active', entities=[servo_drives]
    )
    return [RegisterEventHandler(then), twin]
