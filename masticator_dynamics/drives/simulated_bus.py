# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's drives file, turned to a bus on which only simulated drives can answer."""

from __future__ import annotations

import pathlib
import socket
from typing import Any

import yaml

from masticator_dynamics.drives.configuration import find_file, load_drives

GROUP = '239.74.163.2'  # python-can's own multicast group; frames do not leave the machine


def on_simulated_bus(path: str | pathlib.Path, port: int) -> str:
    """Text of a drives file whose bus joins processes of this machine and no robot.

    A file that names such a bus already (``udp_multicast``, or a virtual CAN device ``vcan...``)
    keeps it; a real device or the bus within one process is replaced. Encoders become absolute
    ones: a simulated robot needs no homing.

    Parameters
    ----------
    path : str or pathlib.Path
        As for `load_drives`.
    port : int
        UDP port of the bus, one for each robot.

    Raises
    ------
    DescriptionError
        As `load_drives`.
    """
    bus = load_drives(path).bus
    file = find_file(path)
    content: dict[str, Any] = yaml.safe_load(file.read_text(encoding='utf-8'))
    virtual_device = bus.interface == 'socketcan' and bus.channel.startswith('vcan')
    if bus.interface != 'udp_multicast' and not virtual_device:
        content['bus'] = {'interface': 'udp_multicast', 'channel': GROUP, 'port': port}
    for drive in content['drives'].values():
        drive['motor']['absolute'] = True  # simulated encoders know where they are
        beside = file.parent / str(drive.get('eds', ''))
        if beside.is_file():  # the text may end up in another folder
            drive['eds'] = str(beside.absolute())
    return yaml.safe_dump(content, sort_keys=False)


def free_port() -> int:
    """A UDP port that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('', 0))
        return int(probe.getsockname()[1])
