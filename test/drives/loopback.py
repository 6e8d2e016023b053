# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Other programs of this machine on a simulated bus, as a route of the group to lo makes them."""

import socket
import struct

import can


def bound(stranger):
    """A datagram socket of a program that sends on the loopback interface alone."""
    stranger.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'lo')
    return stranger


def datagrams():
    return bound(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))


def python_can(channel, port):
    """python-can's own bus, which would join and send where the default route leads."""
    bus = can.Bus(interface='udp_multicast', channel=channel, port=port, hop_limit=0)
    joined = bound(bus._multicast._socket)
    request = struct.pack(
        '=4s4si', socket.inet_aton(channel), bytes(4), socket.if_nametoindex('lo')
    )
    joined.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
    return bus
