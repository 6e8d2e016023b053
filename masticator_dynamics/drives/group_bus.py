# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A CAN bus of multicast datagrams in python-can's format, without one's own frames."""

from __future__ import annotations

import array
import select
import socket
import struct
import threading
import time
from typing import Any

import can
from can.interfaces.udp_multicast.utils import is_msgpack_installed

try:
    import msgpack
except ImportError:  # told when a bus is opened
    msgpack = None

_IN_A_ROW = 100  # packets dropped before control returns to the caller
_LARGEST = 4096  # bytes of a packet
# Of Linux's asm-generic/socket.h.
_SO_ATTACH_FILTER, _SO_TIMESTAMPNS = 26, 35
_STAMP = struct.Struct('@ll')  # struct timespec
_ROOM = socket.CMSG_SPACE(_STAMP.size)
# What python-can writes.
_FIELDS = (
    'timestamp', 'arbitration_id', 'is_extended_id', 'is_remote_frame', 'is_error_frame', 'channel',
    'dlc', 'data', 'is_fd', 'bitrate_switch', 'error_state_indicator',
)  # fmt: skip
# What it relies on: it would make a million bytes of the number 1000000.
_TYPES = {
    'arbitration_id': int, 'dlc': int, 'data': bytes, 'is_extended_id': bool,
    'is_remote_frame': bool, 'is_error_frame': bool, 'is_fd': bool,
}  # fmt: skip


class GroupBus(can.BusABC):
    """A bus within this machine; as with CAN hardware, one's own frames do not come back.

    Packets are those of python-can's ``udp_multicast``. They are read without first polling for
    them, which would double the cost.

    Parameters
    ----------
    group : str
        Multicast address.
    port : int

    Attributes
    ----------
    ignored : int
        Packets of the group that were not frames.
    """

    def __init__(self, group: str, port: int):
        is_msgpack_installed()
        self.ignored = 0
        # A new one for each frame has a new buffer of 1 MB: 0.1 ms in a process that gives large
        # memory back at once.
        self._packer, self._packing = msgpack.Packer(), threading.Lock()
        self._destination = group, port
        self._receiver, self._sender = _sockets(group, port)
        super().__init__(group)

    def recv(self, timeout: float | None = None) -> can.Message | None:
        """The next frame; None if there is none within the timeout, s."""
        end = None if timeout is None else time.monotonic() + timeout
        useless = 0
        while useless < _IN_A_ROW:
            try:
                data, ancillary, _, _ = self._receiver.recvmsg(_LARGEST, _ROOM, _NOW)
            except BlockingIOError:
                remaining = None if end is None else end - time.monotonic()
                if remaining is not None and remaining <= 0.0:
                    return None
                self._wait(remaining)
                continue
            except OSError as error:
                raise can.CanOperationError('failed to receive from socket') from error
            message = _frame(data, ancillary)
            if message is None:
                self.ignored += 1
            elif self._matches_filters(message):
                return message
            useless += 1
        return None

    def _wait(self, seconds: float | None) -> None:
        try:
            select.select([self._receiver], [], [], seconds)
        except (OSError, ValueError) as error:  # closed meanwhile
            raise can.CanOperationError('failed to wait for socket') from error

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """Send to all members but this one."""
        with self._packing:
            packet = self._packer.pack({name: getattr(msg, name) for name in _FIELDS})
        try:
            self._sender.sendto(packet, self._destination)
        except OSError as error:
            raise can.CanOperationError('failed to send via socket') from error

    def fileno(self) -> int:
        """File descriptor of the receiving socket."""
        return self._receiver.fileno()

    def shutdown(self) -> None:
        """Close both sockets."""
        super().shutdown()
        self._receiver.close()
        self._sender.close()


_NOW = socket.MSG_DONTWAIT


def _frame(data: bytes, ancillary: list[tuple[int, int, bytes]]) -> can.Message | None:
    """A packet as a frame with the time the kernel received it; None if it is not a frame."""
    replaced: dict[str, Any] = {'timestamp': time.time()}
    for _, _, stamp in ancillary:
        seconds, nanoseconds = _STAMP.unpack(stamp)
        replaced['timestamp'] = seconds + 1e-9 * nanoseconds
    try:
        fields = msgpack.unpackb(data)
        if all(type(fields[name]) is kind for name, kind in _TYPES.items()):
            return can.Message(**fields | replaced, check=True)
    except Exception:  # anything may come over a network
        pass
    return None


def _sockets(group: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A receiving socket, bound to the group's address and not to any, and one to send from."""
    ((family, *_),) = {info[:1] for info in socket.getaddrinfo(group, port, type=socket.SOCK_DGRAM)}
    sender, receiver = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT, _SO_TIMESTAMPNS):
        receiver.setsockopt(socket.SOL_SOCKET, option, 1)
    address = socket.inet_pton(family, group)
    # Frames do not leave the machine: zero hops.
    if family == socket.AF_INET:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        request = address + socket.inet_aton('0.0.0.0')
        joining = socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request
    else:
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 0)
        joining = socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, address + bytes(4)
    sender.bind(('', 0))
    _leave_out(receiver, sender.getsockname()[1])
    receiver.bind((group, port))
    receiver.setsockopt(*joining)
    return receiver, sender


def _leave_out(sock: socket.socket, port: int) -> None:
    """Have the kernel drop what was sent from a port, so that no thread wakes up for it.

    A classic BPF program on the UDP header: load the source port, compare, drop or accept.
    """
    program = b''.join(
        struct.pack('HBBI', *instruction)
        for instruction in (
            (0x28, 0, 0, 0),  # load 16 bits at offset 0: the source port
            (0x15, 0, 1, port),  # another one: skip one instruction
            (0x06, 0, 0, 0),  # keep 0 bytes: drop
            (0x06, 0, 0, 0xFFFFFFFF),  # keep all
        )
    )
    stored = array.array('B', program)
    attached = struct.pack('HL', len(program) // 8, stored.buffer_info()[0])
    sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
