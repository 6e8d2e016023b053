# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""python-can's bus of multicast datagrams, for frames of others in the group and nothing else."""

from __future__ import annotations

import ctypes
import socket
import struct

import can
from can.interfaces.udp_multicast import UdpMulticastBus
from can.interfaces.udp_multicast.bus import SO_TIMESTAMPNS, GeneralPurposeUdpMulticastBus

_IN_A_ROW = 100  # packets that are no frames, dropped before who waits has a say
_SO_ATTACH_FILTER = 26  # of Linux's asm-generic/socket.h


class GroupBus(UdpMulticastBus):
    """Within this machine; as with CAN hardware, one's own frames do not come back.

    Parameters
    ----------
    group : str
        Multicast address.
    port : int

    Attributes
    ----------
    ignored : int
        Packets of the group that were no frames.
    """

    def __init__(self, group: str, port: int):
        self.ignored = 0
        super().__init__(group, port, hop_limit=0)
        self._multicast.shutdown()
        self._multicast = _Group(group, port, hop_limit=0)

    def _recv_internal(self, timeout: float | None) -> tuple[can.Message | None, bool]:
        for _ in range(_IN_A_ROW):
            try:
                return super()._recv_internal(timeout)
            except can.CanOperationError as error:
                if 'unpack' not in str(error):
                    raise
            self.ignored += 1
            timeout = 0.0
        return None, False


class _Group(GeneralPurposeUdpMulticastBus):
    """Bound to the group's address instead of to any; sends from a port of its own."""

    def _create_socket(self, address_family: socket.AddressFamily) -> socket.socket:
        any_address = super()._create_socket(address_family)
        any_address.close()
        self._sender = socket.socket(address_family, socket.SOCK_DGRAM)
        sock = socket.socket(address_family, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if self.timestamp_nanosecond:
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        address = socket.inet_pton(address_family, self.group)
        if self.ip_version == 4:
            self._sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self.hop_limit)
            request = address + socket.inet_aton('0.0.0.0')
            joining = socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request
        else:
            self._sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, self.hop_limit)
            joining = socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, address + bytes(4)
        self._sender.bind(('', 0))
        _leave_out(sock, self._sender.getsockname()[1])
        sock.bind((self.group, self.port))
        sock.setsockopt(*joining)
        return sock

    def send(self, data: bytes, timeout: float | None = None) -> None:
        """Send to all members but this one."""
        try:
            self._sender.sendto(data, self._send_destination)
        except OSError as error:
            raise can.CanOperationError('failed to send via socket') from error

    def shutdown(self) -> None:
        """Close both sockets."""
        super().shutdown()
        self._sender.close()


def _leave_out(sock: socket.socket, port: int) -> None:
    """Have the kernel drop what was sent from a port, so that nobody wakes up for it.

    A classic BPF program on the UDP header: load the source port, compare, drop or take whole.
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
    stored = ctypes.create_string_buffer(program, len(program))
    count = len(program) // 8
    sock.setsockopt(
        socket.SOL_SOCKET,
        _SO_ATTACH_FILTER,
        struct.pack('HL', count, ctypes.addressof(stored)),
    )
