# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``servo_drives``: CANopen drives on one side, joint commands and states on the other."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from masticator_dynamics.errors import InputError
from masticator_dynamics.optional import remedy
from masticator_dynamics.ros.common.managed_node import (
    Autostart,
    Declaration,
    ManagedNode,
    MechanismName,
    Runtime,
)
from masticator_dynamics.ros.middleware import refuse_pieces


@dataclasses.dataclass(frozen=True)
class ServoDrivesSettings:
    """Values of the parameters; units are in their descriptions."""

    mechanism: MechanismName = 'masticator'
    drives: Annotated[str, Declaration('Path of a drives file, or name of a shipped one.')] = (
        'drives.yaml'
    )
    bus_interface: Annotated[
        str,
        Declaration(
            "Instead of the drives file's; empty: as the file says.",
            constraints='socketcan, udp_multicast or virtual',
            name='bus.interface',
        ),
    ] = ''
    bus_channel: Annotated[
        str,
        Declaration(
            "Device or address instead of the drives file's; empty: as it says.", name='bus.channel'
        ),
    ] = ''
    bus_port: Annotated[
        int,
        Declaration(
            "Of udp_multicast instead of the drives file's; 0: as it says.", name='bus.port'
        ),
    ] = 0
    wait_for_drives: Annotated[
        float,
        Declaration(
            'How long to wait for a bus and drives that are not there when the node is '
            'configured, s.',
            interval=(0.0, 3600.0),
        ),
    ] = 10.0
    auto_enable: Annotated[
        bool, Declaration('Enable the drives when the node becomes active, without a service.')
    ] = False
    forward_effort: Annotated[
        bool,
        Declaration(
            'Efforts beside positions go to the drives; false: positions only, for comparisons.'
        ),
    ] = True
    add_bite_effort: Annotated[
        bool,
        Declaration(
            'Add external_effort of node dynamics to commanded efforts: the bite force, past a '
            'trajectory controller.'
        ),
    ] = False
    added_effort_timeout: Annotated[
        float,
        Declaration(
            'Age of external_effort, s, beyond which nothing is added.',
            read_only=False,
            interval=(0.001, 10.0),
        ),
    ] = 0.05
    approach_velocity: Annotated[
        float,
        Declaration(
            'Velocity that no joint exceeds on the way to a command, by service ~/approach, rad/s.',
            read_only=False,
            interval=(0.01, 10.0),
        ),
    ] = 1.0
    loop_check_rate: Annotated[
        float,
        Declaration(
            'How often the measured positions of enabled drives are checked to close the '
            'loops, Hz; '
            '0: never.',
            interval=(0.0, 100.0),
        ),
    ] = 20.0
    zeros_duration: Annotated[
        float,
        Declaration(
            'Longest time in which service ~/calibrate_zeros records while the mechanism is moved '
            'by hand, s; it ends sooner once zeros are known.',
            read_only=False,
            interval=(1.0, 3600.0),
            name='zeros.duration',
        ),
    ] = 60.0
    zeros_tolerance: Annotated[
        float,
        Declaration(
            'Standard deviation of each coordinate of the mechanism, m: what limits how well '
            'encoders tell their zeros.',
            read_only=False,
            interval=(0.0, 1e-2),
            name='zeros.tolerance',
        ),
    ] = 1e-5
    zeros_largest_error: Annotated[
        float,
        Declaration(
            'Half of the 95 % interval of a zero beyond which ~/calibrate_zeros refuses, rad or m.',
            read_only=False,
            interval=(1e-6, 0.1),
            name='zeros.largest_error',
        ),
    ] = 0.005
    autostart: Autostart = True


def create(node: ManagedNode, settings: ServoDrivesSettings) -> Runtime:
    """Make the runtime; `InputError` if what it needs is not installed."""
    try:
        from masticator_dynamics.ros.servo_drives.drive_runtime import DriveRuntime
    except ModuleNotFoundError as error:
        raise InputError(remedy(error) or str(error)) from error
    return DriveRuntime(node, settings)


def make_node() -> ManagedNode:
    """Make the node, which large messages do not reach."""
    node = ManagedNode('servo_drives', ServoDrivesSettings, create)
    if not refuse_pieces():
        node.get_logger().warning('large messages are not kept away: each may delay a cycle')
    return node
