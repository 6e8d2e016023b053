# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters of controllers and of ros2_canopen: names, joints, units and refusals."""

from __future__ import annotations

import configparser
import math
import os
import pathlib
from typing import Any

import pytest
import samples
import yaml

from masticator_dynamics.description import load_description
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.ros.ros2_control import controllers_for, controllers_of, require_mode

CONTROLLERS = samples.ROOT / 'config/controllers.yaml'
BUS = samples.ROOT / 'config/ros2_canopen_bus.yml'

# Parameters and their types, as declared in ros2_control 4.46 and ros2_controllers 4.42 (branches
# jazzy): controller_manager_parameters.yaml, joint_state_broadcaster_parameters.yaml,
# joint_trajectory_controller_parameters.yaml, forward_command_controller_parameters.yaml. Those of
# joint_trajectory_controller that stand in the file are the same in 4.22, the first version with
# efforts in trajectories.
STRINGS = list
TOLERANCES = {'trajectory': float, 'goal': float, 'max_deceleration_on_cancel': float}
DECLARED: dict[str, dict[str, Any]] = {
    'controller_manager': {
        'update_rate': int,
        'enforce_command_limits': bool,
        'joint_state_broadcaster': {'type': str},
        'joint_trajectory_controller': {'type': str},
        'effort_forward_controller': {'type': str},
        'feedforward_controller': {'type': str},
    },
    'joint_state_broadcaster': {
        'use_local_topics': bool,
        'joints': STRINGS,
        'extra_joints': STRINGS,
        'interfaces': STRINGS,
        'use_urdf_to_filter': bool,
        'frame_id': str,
        'publish_dynamic_joint_states': bool,
    },
    'joint_trajectory_controller': {
        'joints': STRINGS,
        'command_joints': STRINGS,
        'command_interfaces': STRINGS,
        'state_interfaces': STRINGS,
        'allow_partial_joints_goal': bool,
        'interpolate_from_desired_state': bool,
        'allow_integration_in_goal_trajectories': bool,
        'set_last_command_interface_value_as_state_on_activation': bool,
        'action_monitor_rate': float,
        'interpolation_method': str,
        'allow_nonzero_velocity_at_trajectory_end': bool,
        'cmd_timeout': float,
        'constraints': {
            'stopped_velocity_tolerance': float,
            'goal_time': float,
            **{f'crank_{index}': TOLERANCES for index in range(1, 7)},
        },
    },
    'effort_forward_controller': {'joints': STRINGS},
    'feedforward_controller': {'joints': STRINGS, 'largest_step': float},
}
# Classes by the names in the plugin descriptions of the same versions.
TYPES = {
    'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
    'joint_trajectory_controller': 'joint_trajectory_controller/JointTrajectoryController',
    'effort_forward_controller': 'effort_controllers/JointGroupEffortController',
    'feedforward_controller': 'masticator_control/FeedforwardController',
}


def content_of(text: str) -> dict[str, dict[str, Any]]:
    """Parameters by node name, from YAML as ROS reads it."""
    found = {}
    for name, content in yaml.safe_load(text).items():
        assert name.startswith('/**/') and set(content) == {'ros__parameters'}
        found[name.removeprefix('/**/')] = content['ros__parameters']
    return found


SHIPPED = content_of(CONTROLLERS.read_text(encoding='utf-8'))


def check(given: dict[str, Any], declared: dict[str, Any], where: str) -> None:
    assert set(given) <= set(declared), where
    for name, value in given.items():
        if isinstance(declared[name], dict):
            check(value, declared[name], f'{where}.{name}')
        else:
            # rcl does not take an integer for a double.
            assert type(value) is declared[name], f'{where}.{name}'


@pytest.mark.parametrize('node', DECLARED)
def test_parameters_are_declared_with_these_types(node: str) -> None:
    check(SHIPPED[node], DECLARED[node], node)


def test_all_nodes_of_the_file_are_known() -> None:
    assert set(SHIPPED) == set(DECLARED)
    types = {name: SHIPPED['controller_manager'][name]['type'] for name in TYPES}
    assert types == TYPES


@pytest.mark.parametrize('mechanism', ['masticator', 'rss6'])
def test_joints_are_the_actuated_ones_in_their_order(mechanism: str) -> None:
    actuated = list(load_description(mechanism).actuated)
    trajectory = SHIPPED['joint_trajectory_controller']
    assert trajectory['joints'] == SHIPPED['effort_forward_controller']['joints'] == actuated
    assert SHIPPED['feedforward_controller']['joints'] == actuated
    assert [key for key in trajectory['constraints'] if key in actuated] == actuated


def test_trajectories_are_tracked_more_closely_than_drives_allow() -> None:
    drives = load_drives('drives.yaml')
    for joint, drive in drives.drives.items():
        tolerance = SHIPPED['joint_trajectory_controller']['constraints'][joint]
        assert tolerance['goal'] < tolerance['trajectory'] < drive.limits.following_error
        # It holds the measured position when it gives up: the feedforward must take that step.
        assert tolerance['trajectory'] < SHIPPED['feedforward_controller']['largest_step']
    assert SHIPPED['controller_manager']['update_rate'] == drives.cycle_rate


def test_what_is_told_is_the_file_but_for_rate_and_canopen() -> None:
    description = load_description('masticator')

    def told(hardware: str, **given: Any) -> dict[str, dict[str, Any]]:
        options = {'controller': 'trajectory'} | given
        return content_of(controllers_for(CONTROLLERS, description, hardware=hardware, **options))

    assert told('topic') == told('mock') == told('topic', controller='effort') == SHIPPED
    slow = told('topic', rate=250.0)
    assert slow['controller_manager'].pop('update_rate') == 250
    del slow['controller_manager']
    assert slow == {name: SHIPPED[name] for name in slow} and len(slow) == 4
    canopen = told('canopen')['joint_trajectory_controller']
    assert canopen == SHIPPED['joint_trajectory_controller'] | {'command_interfaces': ['position']}


@pytest.mark.parametrize(
    ('controller', 'commanded'), [('trajectory', ['position', 'effort']), ('effort', ['effort'])]
)
def test_the_feedforward_controller_stands_between_trajectories_and_hardware(
    controller: str, commanded: list[str]
) -> None:
    """Interfaces by which joint_trajectory_controller commands are those that ours exports."""
    told = content_of(
        controllers_for(
            CONTROLLERS, load_description('masticator'), hardware='topic', controller=controller,
            exported='jaw',
        )
    )  # fmt: skip
    behind, before = told['feedforward_controller'], told['joint_trajectory_controller']
    assert behind['mechanism'] == 'jaw' and behind['command_interfaces'] == commanded
    assert before['command_interfaces'] == ['position', 'velocity', 'acceleration']
    assert before['command_joints'] == [f'feedforward_controller/{j}' for j in behind['joints']]
    names = controllers_of(controller, 'jaw')
    assert names == ('feedforward_controller', 'joint_trajectory_controller')


@pytest.mark.parametrize(
    ('given', 'error', 'reason'),
    [
        ({'hardware': 'canopen', 'exported': 'jaw'}, InputError, 'needs efforts'),
        ({'hardware': 'canopen', 'controller': 'effort'}, InputError, 'per mille'),
        ({'hardware': 'gazebo'}, InputError, "hardware 'gazebo' does not exist"),
        ({'controller': 'pid'}, InputError, "controller 'pid' does not exist; there are: traj"),
        ({'rate': 2.5}, InputError, 'rate 2.5 Hz'),
        ({'rate': 0.0}, InputError, 'rate 0 Hz'),
        ({'rate': math.inf}, InputError, 'rate inf Hz'),
        ({'rate': math.nan}, InputError, 'rate nan Hz'),
        ({'file': 'nowhere.yaml'}, DescriptionError, 'nowhere.yaml: No such file'),
    ],
)
def test_what_cannot_work_is_refused(
    given: dict[str, Any], error: type[Exception], reason: str
) -> None:
    options = {'hardware': 'topic', 'controller': 'trajectory', 'file': CONTROLLERS} | given
    with pytest.raises(error, match=reason):
        controllers_for(options.pop('file'), load_description('masticator'), **options)


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ('crank_5, crank_6]', 'crank_6, crank_5]', 'crank_6, crank_5; masticator has'),
        ('crank_5, crank_6]', 'crank_5]', 'joints: crank_1.*crank_5; masticator has'),
        ('/**/joint_trajectory_controller:', '/**/other:', 'has no ros__parameters'),
        ('/**/controller_manager:', '[', 'controllers.yaml: not YAML: '),
    ],
)
def test_controllers_of_another_mechanism_are_refused(
    tmp_path: pathlib.Path, old: str, new: str, reason: str
) -> None:
    file = tmp_path / 'controllers.yaml'
    text = CONTROLLERS.read_text(encoding='utf-8')
    assert old in text
    file.write_text(text.replace(old, new), encoding='utf-8')
    with pytest.raises(DescriptionError, match=reason):
        controllers_for(
            file, load_description('masticator'), hardware='topic', controller='trajectory'
        )


def test_drives_must_take_what_the_controller_commands(tmp_path: pathlib.Path) -> None:
    require_mode('drives.yaml', 'trajectory')
    with pytest.raises(InputError, match='mode is position; controller effort needs effort'):
        require_mode('drives.yaml', 'effort')
    text = (samples.ROOT / 'config/drives.yaml').read_text(encoding='utf-8')
    other = tmp_path / 'torque.yaml'
    other.write_text(text.replace('mode: position', 'mode: effort'), encoding='utf-8')
    require_mode(other, 'effort')
    with pytest.raises(InputError, match='mode is effort; controller trajectory needs position'):
        require_mode(other, 'trajectory')


def test_ros2_canopen_has_the_drives_of_the_robot() -> None:
    """Names, node numbers and units are those of config/drives.yaml; none occurs twice."""
    bus = yaml.safe_load(BUS.read_text(encoding='utf-8'))
    drives = load_drives('drives.yaml').drives
    assert list(bus['nodes']) == list(drives) == list(load_description('masticator').actuated)
    assert bus['master']['node_id'] not in {drive.node_id for drive in drives.values()}
    for name, drive in drives.items():
        node, motor = bus['nodes'][name], drive.motor
        assert node['node_id'] == drive.node_id
        turn = motor.direction * motor.counts_per_turn * motor.gear_ratio
        for kind in ('pos', 'vel'):
            # A turn of the joint, to the drive and back.
            assert node[f'scale_{kind}_to_dev'] * math.tau == pytest.approx(turn, rel=1e-12)
            assert node[f'scale_{kind}_from_dev'] * turn == pytest.approx(math.tau, rel=1e-12)
        rated = motor.direction * motor.rated_torque * motor.gear_ratio
        assert 1000.0 * node['scale_eff_from_dev'] == pytest.approx(rated, rel=1e-9)
        # cogen would overwrite what stands in both.
        assert not set(node) & set(bus['defaults'])


def test_ros2_canopen_maps_what_its_driver_moves() -> None:
    """At most eight bytes per PDO; the modes of the two interfaces; one SYNC per period."""
    size = {0x6040: 2, 0x6041: 2, 0x6060: 1, 0x6061: 1, 0x6064: 4, 0x606C: 4, 0x6071: 2,
            0x6077: 2, 0x607A: 4}  # fmt: skip
    bus = yaml.safe_load(BUS.read_text(encoding='utf-8'))
    defaults, mapped = bus['defaults'], {}
    for direction in ('tpdo', 'rpdo'):
        for pdo in defaults[direction].values():
            objects = [entry['index'] for entry in pdo['mapping']]
            assert sum(size[index] for index in objects) <= 8
            mapped.setdefault(direction, []).extend(objects)
    assert sorted(mapped['tpdo']) == [0x6041, 0x6061, 0x6064, 0x606C, 0x6077]
    assert sorted(mapped['rpdo']) == [0x6040, 0x6060, 0x6071, 0x607A]
    eds = configparser.ConfigParser()
    eds.read(BUS.parent / defaults['dcf'], encoding='utf-8')
    written = [f'{e["index"]:X}sub{e["sub_index"]}' for e in defaults['sdo']]
    objects = [f'{index:X}' for pdos in mapped.values() for index in pdos]
    assert set(written + objects) <= set(eds.sections())
    assert (defaults['position_mode'], defaults['effort_mode']) == (8, 10)
    assert bus['master']['sync_period'] == 1000 * defaults['period']


@pytest.mark.parametrize('node', [name for name in DECLARED if name != 'controller_manager'])
@pytest.mark.parametrize('namespace', ['', '/left'])
def test_ros_reads_the_files_in_any_namespace(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, node: str, namespace: str
) -> None:
    """As written and as passed on, by rcl's own parser, which knows less YAML than Python's."""
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    monkeypatch.setenv('ROS_DOMAIN_ID', str(1 + os.getpid() % 101))
    rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed (extra "ros", or ROS 2)')
    handed = controllers_for(
        CONTROLLERS, load_description('masticator'), hardware='topic', controller='trajectory'
    )
    (tmp_path / 'handed.yaml').write_text(handed, encoding='utf-8')
    for file in (CONTROLLERS, tmp_path / 'handed.yaml'):
        context = rclpy.Context()
        rclpy.init(args=['--ros-args', '--params-file', str(file)], context=context)
        try:
            made = rclpy.create_node(
                node,
                namespace=namespace,
                context=context,
                automatically_declare_parameters_from_overrides=True,
            )
            read = {name: made.get_parameter(name).value for name in flat(SHIPPED[node])}
            made.destroy_node()
        finally:
            rclpy.shutdown(context=context)
        assert read == flat(SHIPPED[node])


def flat(parameters: dict[str, Any], above: str = '') -> dict[str, Any]:
    """Parameters by their full names (a.b.c)."""
    found = {}
    for name, value in parameters.items():
        nested = (
            flat(value, f'{above}{name}.') if isinstance(value, dict) else {above + name: value}
        )
        found |= nested
    return found
