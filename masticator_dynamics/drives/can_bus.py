# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The python-can bus of a drives file: opened, or why that fails, and what receives from it."""

from __future__ import annotations

import errno
import ipaddress
import pathlib
import socket
import time
from collections.abc import Callable

import can

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.configuration import Bus
from masticator_dynamics.drives.group_bus import GroupBus
from masticator_dynamics.errors import AbsentError, DriveError

_INTERFACE_UP = 1  # IFF_UP
# Classes of error frames (linux/can/error.h)
_TRANSMIT_TIMEOUT, _NO_ACKNOWLEDGE, _BUS_OFF = 0x001, 0x020, 0x040


def open_bus(bus: Bus) -> can.BusABC:
    """Open a bus; the caller shuts it down.

    Raises
    ------
    AbsentError
        The device does not exist, or is down.
    DriveError
        The kernel has no SocketCAN, no multicast route, or the bus cannot be opened.
    """
    if bus.interface == 'socketcan':
        _check_device(bus)
    elif bus.interface == 'udp_multicast':
        _check_route(bus)
    try:
        if bus.interface == 'udp_multicast':
            return GroupBus(bus.channel, bus.port)
        return can.Bus(interface=bus.interface, channel=bus.channel)
    except (OSError, ValueError, can.CanError) as error:
        reason = ' '.join(str(error.__cause__ or error).split())
        raise DriveError(bus_title(bus), f'cannot be opened: {reason}') from error


def bus_title(bus: Bus) -> str:
    """Name of a bus for messages: ``bus socketcan can0``."""
    port = f' port {bus.port}' if bus.interface == 'udp_multicast' else ''
    return f'bus {bus.interface} {bus.channel}{port}'


def is_data_frame(message: can.Message) -> bool:
    """Whether a frame is of classic CAN, with data and 11 bits of identifier: CANopen's only kind.

    An extended identifier is another one, even if its number is that of a drive's heartbeat.
    """
    others = message.is_extended_id, message.is_remote_frame, message.is_error_frame, message.is_fd
    return not any(others)


def error_frame_words(message: can.Message) -> str:
    """What a SocketCAN error frame says; empty when the bus still works."""
    if message.arbitration_id & _BUS_OFF:
        return 'bus-off: the controller has left the bus after too many errors'
    if message.arbitration_id & _NO_ACKNOWLEDGE:
        return 'no drive acknowledges frames: no power, cable open, or wrong bit rate'
    if message.arbitration_id & _TRANSMIT_TIMEOUT:
        return 'the controller cannot send'
    return ''


def _check_device(bus: Bus) -> None:
    try:
        socket.socket(getattr(socket, 'PF_CAN', 29), socket.SOCK_RAW, 1).close()
    except OSError as error:
        if error.errno not in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT):
            raise DriveError(bus_title(bus), error.strerror or str(error)) from error
        raise DriveError(
            bus_title(bus),
            'this kernel has no SocketCAN (modules can and can_raw); '
            'udp_multicast goes between processes of this machine',
        ) from None
    device = pathlib.Path('/sys/class/net') / bus.channel
    if not device.exists():
        raise AbsentError(bus_title(bus), f'there is no device {bus.channel}')
    if not int((device / 'flags').read_text(encoding='ascii'), 16) & _INTERFACE_UP:
        raise AbsentError(
            bus_title(bus),
            f'is down: ip link set {bus.channel} up type can bitrate {bus.bitrate}',
        )


def _check_route(bus: Bus) -> None:
    """Check the route: joining a group succeeds without one, and each frame sent would fail."""
    try:
        group = ipaddress.ip_address(bus.channel)
    except ValueError:
        group = None
    if group is None or not group.is_multicast:
        raise DriveError(bus_title(bus), f'{bus.channel} is no multicast address (239.0.0.0/8)')
    family = socket.AF_INET if group.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((bus.channel, bus.port))
    except OSError as error:
        raise DriveError(
            bus_title(bus),
            f'no route for multicast ({error.strerror}); within this machine: '
            f'ip link set lo multicast on; ip route add {bus.channel} dev lo',
        ) from error


# What python-can raises when a bus breaks; some interfaces raise ValueError for a closed socket.
BUS_ERRORS = (can.CanError, OSError, ValueError)
_LOOK = 0.05  # s; how soon the thread notices that it is to end


class Receiver(real_time.Worker):
    """Receives from a bus; outlives its errors, unlike python-can's notifier.

    Parameters
    ----------
    bus : can.BusABC
    take : callable
        Called with each frame, in the receiver's thread.
    """

    def __init__(self, bus: can.BusABC, take: Callable[[can.Message], None]):
        super().__init__('receiver', self._run, real_time.SERVICE)
        self._bus, self._take = bus, take

    def _run(self) -> None:
        while not self.ended.is_set():
            try:
                message = self._bus.recv(_LOOK)
            except BUS_ERRORS:  # whoever waits for an answer will report that none came
                time.sleep(_LOOK)
                continue
            if message is not None:
                self._take(message)
