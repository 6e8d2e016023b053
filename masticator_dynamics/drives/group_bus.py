# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""python-can's bus of multicast datagrams, for frames of the group and nothing else."""

from __future__ import annotations

import socket

import can
from can.interfaces.udp_multicast import UdpMulticastBus
from can.interfaces.udp_multicast.bus import SO_TIMESTAMPNS, GeneralPurposeUdpMulticastBus

_IN_A_ROW = 100  # packets that are no frames, dropped before who waits has a say


class GroupBus(UdpMulticastBus):
    """Within this machine; packets to its port that are not for the group do not come.

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
    """Bound to the group's address instead of to any."""

    def _create_socket(self, address_family: socket.AddressFamily) -> socket.socket:
        any_address = super()._create_socket(address_family)
        any_address.close()
        sock = socket.socket(address_family, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if self.timestamp_nanosecond:
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.bind((self.group, self.port))
        address = socket.inet_pton(address_family, self.group)
        if self.ip_version == 4:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self.hop_limit)
            request = address + socket.inet_aton('0.0.0.0')
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
        else:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, self.hop_limit)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, address + bytes(4))
        return sock
