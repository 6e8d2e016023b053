# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``servo_drives``: CANopen drives on one side, joint commands and states on the other."""

from __future__ import annotations

import dataclasses
import sys

from masticator_dynamics.drives.optional import remedy
from masticator_dynamics.errors import InputError
from masticator_dynamics.nodes.common import process
from masticator_dynamics.nodes.common.declarations import AUTOSTART, MECHANISM, Declaration
from masticator_dynamics.nodes.common.managed_node import ManagedNode, Runtime

DECLARATIONS = (
    MECHANISM,
    Declaration('drives', 'drives.yaml', 'Path of a drives file, or name of a shipped one.'),
    Declaration(
        'bus.interface',
        '',
        "Instead of the drives file's; empty: as the file says.",
        constraints='socketcan, udp_multicast or virtual',
    ),
    Declaration(
        'bus.channel', '', "Device or address instead of the drives file's; empty: as it says."
    ),
    Declaration('bus.port', 0, "Of udp_multicast instead of the drives file's; 0: as it says."),
    Declaration(
        'wait_for_drives',
        10.0,
        'How long to wait for a bus and drives that are not there when the node is configured, s.',
        interval=(0.0, 3600.0),
    ),
    Declaration(
        'auto_enable', False, 'Enable the drives when the node becomes active, without a service.'
    ),
    Declaration(
        'forward_effort',
        True,
        'Efforts beside positions go to the drives; false: positions only, for comparisons.',
    ),
    Declaration(
        'add_bite_effort',
        False,
        'Add what efforts of node dynamics have beyond those of its trajectory: the bite force, '
        'past a trajectory controller.',
    ),
    Declaration(
        'added_effort_timeout',
        0.05,
        'Age of feedforward_state, s, beyond which nothing is added.',
        read_only=False,
        interval=(0.001, 10.0),
    ),
    Declaration(
        'approach_velocity',
        1.0,
        'Velocity that no joint exceeds on the way to a command, by service ~/approach, rad/s.',
        read_only=False,
        interval=(0.01, 10.0),
    ),
    Declaration(
        'loop_check_rate',
        20.0,
        'How often the measured positions of enabled drives are checked to close the loops, Hz; '
        '0: never.',
        interval=(0.0, 100.0),
    ),
    AUTOSTART,
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Values of the parameters; units are in their descriptions."""

    mechanism: str
    drives: str
    bus_interface: str
    bus_channel: str
    bus_port: int
    wait_for_drives: float
    auto_enable: bool
    forward_effort: bool
    add_bite_effort: bool
    added_effort_timeout: float
    approach_velocity: float
    loop_check_rate: float
    autostart: bool


def create(node: ManagedNode, settings: Settings) -> Runtime:
    """Make the runtime, if what it needs is installed (`InputError`)."""
    try:
        from masticator_dynamics.nodes.servo_drives.drive_runtime import DriveRuntime
    except ModuleNotFoundError as error:
        raise InputError(remedy(error) or str(error)) from error
    return DriveRuntime(node, settings)


def main() -> int:
    """Run the node; returns the exit code."""
    return process.run(lambda: ManagedNode('servo_drives', DECLARATIONS, Settings, create))


if __name__ == '__main__':
    sys.exit(main())
