# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``servo_drives``: CANopen drives on one side, joint commands and states on the other."""

from __future__ import annotations

import dataclasses
import sys

from masticator_dynamics.nodes.common import process
from masticator_dynamics.nodes.common.declarations import AUTOSTART, MECHANISM, Declaration
from masticator_dynamics.nodes.common.managed_node import ManagedNode
from masticator_dynamics.nodes.servo_drives.drive_runtime import DriveRuntime

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
    auto_enable: bool
    forward_effort: bool
    add_bite_effort: bool
    added_effort_timeout: float
    approach_velocity: float
    loop_check_rate: float
    autostart: bool


def main() -> int:
    """Run the node; returns the exit code."""
    return process.run(lambda: ManagedNode('servo_drives', DECLARATIONS, Settings, DriveRuntime))


if __name__ == '__main__':
    sys.exit(main())
