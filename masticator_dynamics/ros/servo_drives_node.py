# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``servo_drives``: CANopen drives on one side, joint commands and states on the other."""

from __future__ import annotations

import dataclasses

from masticator_dynamics.optional import needed
from masticator_dynamics.ros.common.managed_node import (
    ManagedNode,
    NodeSettings,
    Runtime,
    parameter,
)
from masticator_dynamics.ros.middleware import refuse_pieces


@dataclasses.dataclass(frozen=True)
class ServoDrivesSettings(NodeSettings):
    """Values of the parameters; units are in their descriptions."""

    drives: str = parameter('drives.yaml', 'Path of a drives file, or name of a shipped one.')
    bus_interface: str = parameter(
        '',
        "Instead of the drives file's; empty: as the file says.",
        constraints='socketcan, udp_multicast or virtual',
        name='bus.interface',
    )
    bus_channel: str = parameter(
        '', "Device or address instead of the drives file's; empty: as it says.", name='bus.channel'
    )
    bus_port: int = parameter(
        0, "Of udp_multicast instead of the drives file's; 0: as it says.", name='bus.port'
    )
    wait_for_drives: float = parameter(
        10.0,
        'How long to wait for a bus and drives that are not there when the node is configured, s.',
        interval=(0.0, 3600.0),
    )
    auto_enable: bool = parameter(
        False, 'Enable the drives when the node becomes active, without a service.'
    )
    forward_effort: bool = parameter(
        True, 'Efforts beside positions go to the drives; false: positions only, for comparisons.'
    )
    add_bite_effort: bool = parameter(
        False,
        'Add external_effort of node dynamics to commanded efforts: the bite force, past a '
        'trajectory controller.',
    )
    added_effort_timeout: float = parameter(
        0.05,
        'Age of external_effort, s, beyond which nothing is added.',
        interval=(0.001, 10.0),
        read_only=False,
    )
    approach_velocity: float = parameter(
        1.0,
        'Velocity that no joint exceeds on the way to a command, by service ~/approach, rad/s.',
        interval=(0.01, 10.0),
        read_only=False,
    )
    desired_distance: float = parameter(
        0.1,
        'Mode effort, which holds no position: distance of a joint from the motion that its '
        'efforts are for, rad or m, beyond which diagnostics warn.',
        interval=(1e-6, 10.0),
        read_only=False,
        name='desired_motion.distance',
    )
    loop_check_rate: float = parameter(
        20.0,
        'How often the measured positions of enabled drives are checked to close the loops, Hz; '
        '0: never.',
        interval=(0.0, 100.0),
    )
    zeros_duration: float = parameter(
        60.0,
        'Longest time in which service ~/calibrate_zeros records while the mechanism is moved by '
        'hand, s; it ends sooner once zeros are known.',
        interval=(1.0, 3600.0),
        read_only=False,
        name='zeros.duration',
    )
    zeros_tolerance: float = parameter(
        1e-5,
        'Standard deviation of each coordinate of the mechanism, m: what limits how well '
        'encoders tell their zeros.',
        interval=(0.0, 1e-2),
        read_only=False,
        name='zeros.tolerance',
    )
    zeros_largest_error: float = parameter(
        0.005,
        'Half of the 95 % interval of a zero beyond which ~/calibrate_zeros refuses, rad or m.',
        interval=(1e-6, 0.1),
        read_only=False,
        name='zeros.largest_error',
    )


def create(node: ManagedNode, settings: ServoDrivesSettings) -> Runtime:
    """Make the runtime; `InputError` if what it needs is not installed."""
    module = needed('masticator_dynamics.ros.servo_drives.drive_runtime')
    runtime: Runtime = module.DriveRuntime(node, settings)
    return runtime


def make_node() -> ManagedNode:
    """Make the node, which large messages do not reach."""
    node = ManagedNode('servo_drives', ServoDrivesSettings, create)
    if not refuse_pieces():
        node.get_logger().warning('large messages are not kept away: each may delay a cycle')
    return node
