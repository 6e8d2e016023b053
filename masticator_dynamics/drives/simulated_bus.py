# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A robot's drives file at another rate, or on a bus where only simulated drives answer."""

from __future__ import annotations

import pathlib
import socket
from typing import Any

import yaml

from masticator_dynamics.drives.configuration import find_file, load_drives

GROUP = '239.74.163.2'  # python-can's own multicast group; frames do not leave the machine


def on_simulated_bus(path: str | pathlib.Path, port: int, rate: float | None = None) -> str:
    """Text of a drives file whose bus connects processes of this machine but no robot.

    A file that names such a bus already (``udp_multicast``, or a virtual CAN device ``vcan...``)
    keeps it; a real device or the bus within one process is replaced. Encoders become absolute:
    a simulated robot needs no homing.

    Parameters
    ----------
    path : str or pathlib.Path
        As for `load_drives`.
    port : int
        UDP port of the bus, a different one for each robot.
    rate : float, optional
        In place of ``cycle_rate``, Hz.

    Raises
    ------
    DescriptionError
        As `load_drives`.
    """
    bus = load_drives(path).bus
    content = _content(path, rate)
    virtual_device = bus.interface == 'socketcan' and bus.channel.startswith('vcan')
    if bus.interface != 'udp_multicast' and not virtual_device:
        content['bus'] = {'interface': 'udp_multicast', 'channel': GROUP, 'port': port}
    for drive in content['drives'].values():
        drive['motor']['absolute'] = True  # simulated encoders know their position
    return yaml.safe_dump(content, sort_keys=False)


def at_rate(path: str | pathlib.Path, rate: float) -> str:
    """Text of a drives file with another ``cycle_rate`` (Hz); raises as `load_drives`."""
    load_drives(path)
    return yaml.safe_dump(_content(path, rate), sort_keys=False)


def _content(path: str | pathlib.Path, rate: float | None) -> dict[str, Any]:
    """Content of a drives file, usable from another folder, at another rate."""
    file = find_file(path)
    content: dict[str, Any] = yaml.safe_load(file.read_text(encoding='utf-8'))
    if rate is not None:
        content['cycle_rate'] = rate
    for drive in content['drives'].values():
        beside = file.parent / str(drive.get('eds', ''))
        if beside.is_file():
            drive['eds'] = str(beside.absolute())
    return content


def free_port() -> int:
    """A UDP port that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('', 0))
        return int(probe.getsockname()[1])
