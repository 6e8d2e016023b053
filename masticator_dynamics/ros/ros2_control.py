# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mechanism's description and controllers for ros2_control, checked together.

Needs neither ROS nor `launch`; the launch files use the results.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import yaml

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.modes import MODES
from masticator_dynamics.errors import DescriptionError, InputError
from masticator_dynamics.files.yaml_file import read_mapping

HARDWARE = ('mock', 'topic', 'canopen')
CONTROLLERS = {
    'trajectory': 'joint_trajectory_controller',
    'effort': 'effort_forward_controller',
}
# Where the efforts of a motion come from: node dynamics, or a controller behind the one of
# trajectories, which has the dynamics as C.
FEEDFORWARD = ('node', 'controller')
FEEDFORWARD_CONTROLLER = 'feedforward_controller'
SIMULATED_RATE = 250.0  # Hz, which two processor cores sustain with drives and mechanism simulated
_POSITIONS = {'trajectory': True, 'effort': False}  # whether controllers command these to drives
_COMMANDED = {'trajectory': ['position', 'effort'], 'effort': ['effort']}  # by the feedforward


def description_for(
    mechanism: str | pathlib.Path, hardware: str, files: Mapping[str, str] | None = None
) -> MechanismDescription:
    """Read a mechanism whose URDF has a ``<ros2_control>`` block for the hardware.

    Parameters
    ----------
    mechanism : str or pathlib.Path
        Name or file, as for `load_description`.
    hardware : str
        One of `HARDWARE`.
    files : mapping of str to str, optional
        ``bus_config``, ``master_config`` and ``can_interface``, which canopen needs.

    Raises
    ------
    InputError
        For any other hardware.
    DescriptionError
        When the description is wrong, or the block is missing or not of the actuated joints.
    """
    _one_of('hardware', hardware, HARDWARE)
    arguments = {'ros2_control': hardware, **(files or {})}
    description = load_description(mechanism, arguments)
    joints = controlled_joints(description.urdf_xml)
    if not joints:
        raise DescriptionError(
            description.urdf_file,
            '',
            'has no <ros2_control> block; urdf/ros2_control.xacro has a macro that makes one',
        )
    if joints != description.actuated:
        raise DescriptionError(
            description.urdf_file,
            'ros2_control',
            f'its joints are {", ".join(joints)}, not the actuated ones in their order: '
            f'{", ".join(description.actuated)}',
        )
    return description


def controlled_joints(urdf_xml: str) -> tuple[str, ...]:
    """Names of the joints in all ``<ros2_control>`` blocks of a URDF text, in order."""
    root = ElementTree.fromstring(urdf_xml)
    return tuple(joint.attrib['name'] for joint in root.findall('ros2_control/joint'))


def controllers_for(
    file: str | pathlib.Path,
    description: MechanismDescription,
    *,
    hardware: str,
    controller: str,
    rate: float | None = None,
    exported: str = '',
) -> str:
    """Parameters of the controller manager and its controllers, as YAML text.

    Parameters
    ----------
    file : str or pathlib.Path
        A file such as ``config/controllers.yaml``.
    description : MechanismDescription
        Whose actuated joints the controller must have, in their order.
    hardware, controller : str
        One of `HARDWARE`, one of `CONTROLLERS`. On canopen a trajectory controller commands
        positions alone: ros2_canopen refuses to start position and effort of a joint together.
    rate : float, optional
        Hz, in place of the file's ``update_rate``; whole.
    exported : str
        Mechanism of the feedforward controller, which then stands behind the one of trajectories;
        empty: there is none.

    Raises
    ------
    InputError
        For any other hardware or controller, a rate that is not a whole number, or efforts on
        canopen.
    DescriptionError
        When the file cannot be read, or is not for this mechanism.
    """
    _one_of('hardware', hardware, HARDWARE)
    _one_of('controller', controller, tuple(CONTROLLERS))
    if hardware == 'canopen' and exported:
        raise InputError(
            'feedforward controller needs efforts, which hardware canopen does not take'
        )
    if hardware == 'canopen' and controller == 'effort':
        raise InputError(
            'controller effort cannot be used with hardware canopen: ros2_canopen sends efforts in '
            'per mille of the rated torque, not in N m; hardware topic converts them'
        )
    content = read_mapping(file)
    name = controllers_of(controller, exported)[-1]
    settings = _parameters(content, name, file)
    _require_joints(settings, name, description, file)
    if exported:
        behind = _parameters(content, FEEDFORWARD_CONTROLLER, file)
        _require_joints(behind, FEEDFORWARD_CONTROLLER, description, file)
        behind['mechanism'] = exported
        behind['command_interfaces'] = _COMMANDED[controller]
        settings['command_interfaces'] = ['position', 'velocity', 'acceleration']
        settings['command_joints'] = [
            f'{FEEDFORWARD_CONTROLLER}/{joint}' for joint in settings['joints']
        ]
    if hardware == 'canopen':
        settings['command_interfaces'] = ['position']
    if rate is not None:
        if not (rate > 0.0 and float(rate).is_integer()):
            raise InputError(
                f'rate {rate:g} Hz: the controller manager takes whole numbers above 0'
            )
        _parameters(content, 'controller_manager', file)['update_rate'] = int(rate)
    return yaml.safe_dump(content, sort_keys=False)


def controllers_of(controller: str, exported: str) -> tuple[str, ...]:
    """Names of the controllers that move the robot, the one that commands the hardware first."""
    if exported:
        return FEEDFORWARD_CONTROLLER, CONTROLLERS['trajectory']
    return (CONTROLLERS[controller],)


def _require_joints(
    settings: Mapping[str, Any],
    name: str,
    description: MechanismDescription,
    file: str | pathlib.Path,
) -> None:
    joints = tuple(settings.get('joints', ()))
    if joints != description.actuated:
        raise DescriptionError(
            file,
            f'{name}.joints',
            f'{", ".join(joints)}; {description.name} has, in this order, '
            f'{", ".join(description.actuated)}',
        )


def common_rate(
    stated: str, *, simulated: bool, controllers: str | pathlib.Path, drives: str = ''
) -> float:
    """The one rate, Hz, of the controller manager, node dynamics and the drives.

    Parameters
    ----------
    stated : str
        Launch argument ``rate``; empty: as in the files, or `SIMULATED_RATE`.
    simulated : bool
        Whether there is no robot.
    controllers : str or pathlib.Path
        A file such as ``config/controllers.yaml``.
    drives : str
        The drives file; empty: none.

    Raises
    ------
    InputError
        For what is not a number, or when the two files disagree and no rate is given.
    DescriptionError
        As `load_drives`, or when ``controllers`` has no ``update_rate``.
    """
    if stated:
        try:
            return float(stated)
        except ValueError:
            raise InputError(f'rate {stated!r} is not a number') from None
    if simulated:
        return SIMULATED_RATE
    manager = _parameters(read_mapping(controllers), 'controller_manager', controllers)
    rate = float(manager.get('update_rate', 0.0))
    if drives:
        cycle_rate = load_drives(drives).cycle_rate
        if cycle_rate != rate:
            raise InputError(
                f'{drives}: cycle_rate is {cycle_rate:g} Hz, but {controllers}: update_rate is '
                f'{rate:g} Hz; rate:={cycle_rate:g} makes all of them one'
            )
    return rate


def require_mode(drives: str | pathlib.Path, controller: str) -> None:
    """Refuse a drives file whose mode does not take what the controller commands.

    Raises
    ------
    InputError
        Naming file, mode and controller.
    DescriptionError
        As `load_drives`.
    """
    _one_of('controller', controller, tuple(CONTROLLERS))
    mode = load_drives(drives).mode
    wanted = [name for name, m in MODES.items() if m.positions == _POSITIONS[controller]]
    if mode not in wanted:
        needed = ' or '.join(wanted)
        raise InputError(f'{drives}: mode is {mode}; controller {controller} needs {needed}')


def _one_of(what: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f'{what} {value!r} does not exist; there are: {", ".join(choices)}')


def _parameters(content: dict[str, Any], node: str, file: str | pathlib.Path) -> dict[str, Any]:
    """Parameters of a node, whatever its namespace."""
    for key, value in content.items():
        if key.rsplit('/', 1)[-1] == node and isinstance(value, dict):
            settings = value.get('ros__parameters')
            if isinstance(settings, dict):
                return settings
    raise DescriptionError(file, node, 'has no ros__parameters')
