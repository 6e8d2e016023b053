# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the middleware: no subscriber blocks publishers, and memory is given back.

Has the kernel drop fragmented messages, those too large for one datagram, where no valid message
exceeds a datagram of 64 kB: fetching one of 10 MB from the middleware takes 20 ms, in which no
other Python thread runs.
"""

from __future__ import annotations

import array
import contextlib
import os
import pathlib
import socket
import struct
from collections.abc import Mapping

from masticator_dynamics.files.share import share_directory

PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE'  # the only name that Jazzy's Fast DDS 2.14 knows
HEEDED = 'RMW_FASTRTPS_USE_QOS_FROM_XML'  # so that memory settings in profiles count, too
RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_OURS = ('', 'rmw_fastrtps_cpp', 'rmw_fastrtps_dynamic_cpp')


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables to set before ROS starts: Fast DDS over UDP alone, within the same range.

    Parameters
    ----------
    environment : mapping of str to str
        The current one; if it names profiles, another middleware, or static peers within this
        computer, the user has decided otherwise.

    Returns
    -------
    dict of str to str
        Empty if nothing is to be set.
    """
    if environment.get(PROFILES) or environment.get('RMW_IMPLEMENTATION', '') not in _OURS:
        return {}
    config = share_directory() / 'config'
    deprecated = environment.get('ROS_LOCALHOST_ONLY', '') == '1'
    if not deprecated and environment.get(RANGE, '').upper() != 'LOCALHOST':
        return {PROFILES: str(config / 'fastdds.xml'), HEEDED: '1'}
    if environment.get('ROS_STATIC_PEERS'):
        return {}
    local = {PROFILES: str(config / 'fastdds_localhost.xml'), HEEDED: '1'}
    local[RANGE] = 'SYSTEM_DEFAULT'
    return local | ({'ROS_LOCALHOST_ONLY': '0'} if deprecated else {})


def prepare() -> None:
    """Apply the settings to this process and those that it starts."""
    os.environ.update(settings(os.environ))


def who_may_command(environment: Mapping[str, str]) -> str:
    """Who reaches the topics and services of nodes that are started in an environment, in a line.

    Parameters
    ----------
    environment : mapping of str to str
        With or without :func:`settings`, which say the same in another way.
    """
    domain = environment.get('ROS_DOMAIN_ID') or '0'
    peers = environment.get('ROS_STATIC_PEERS')
    reach = environment.get(RANGE, '').upper() or 'SUBNET'
    profile = pathlib.Path(environment.get(PROFILES, '')).name
    if environment.get('ROS_LOCALHOST_ONLY') == '1' or profile == 'fastdds_localhost.xml':
        reach = 'LOCALHOST'
    if environment.get('ROS_SECURITY_ENABLE', '').lower() == 'true':
        if environment.get('ROS_SECURITY_STRATEGY', '') == 'Enforce':
            return 'nodes with keys of your keystore alone (SROS 2)'
    if reach == 'OFF':
        return 'nobody but its own process (ROS_AUTOMATIC_DISCOVERY_RANGE=OFF)'
    if reach == 'LOCALHOST':
        hosts = f'this computer and of {peers} (ROS_STATIC_PEERS)' if peers else 'this computer'
        return f'every program of {hosts} in ROS domain {domain}'
    return (
        f'every host that this one reaches by network, in ROS domain {domain}; '
        f'{RANGE}=LOCALHOST keeps to this computer, SROS 2 to those with a key'
    )


_SO_ATTACH_FILTER = 26  # of Linux's asm-generic/socket.h
_UDP_HEADER, _RTPS_HEADER = 8, 20  # bytes; then come submessages
_PIECE, _PIECE_OF_MANY = 0x16, 0x17  # DATA_FRAG and the obsolete NOKEY_DATA_FRAG
_PADDING, _TIME = 0x01, 0x09  # submessages that may be empty; empty others extend to the end
_LOOKED_AT = 24  # submessages; the kernel accepts no long programs; discovery sends more at once
_KEEP, _DROP = (0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0)

Instruction = tuple[int, int, int, int]


def refuse_pieces() -> int:
    """Have the kernel drop message fragments for this process; return for how many sockets.

    For Fast DDS over UDP, once its participant exists and before there are other UDP sockets.
    """
    program = b''.join(struct.pack('HBBI', *instruction) for instruction in _program())
    stored = array.array('B', program)
    attached = struct.pack('HL', len(program) // 8, stored.buffer_info()[0])
    count = 0
    for entry in pathlib.Path('/proc/self/fd').iterdir():
        with contextlib.suppress(OSError):  # closed in the meantime, or the kernel has no room
            if not os.readlink(entry).startswith('socket:'):
                continue
            with socket.socket(fileno=os.dup(int(entry.name))) as open_socket:
                if open_socket.type == socket.SOCK_DGRAM and open_socket.family in _FAMILIES:
                    open_socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
                    count += 1
    return count


_FAMILIES = (socket.AF_INET, socket.AF_INET6)


def _program() -> list[Instruction]:
    """Classic BPF on a datagram from its UDP header on: one submessage after another."""
    (magic,) = struct.unpack('>I', b'RTPS')
    program = [
        (0x20, 0, 0, _UDP_HEADER),  # load 32 bits
        (0x15, 1, 0, magic),  # RTPS: skip one instruction
        _KEEP,
        (0x01, 0, 0, _UDP_HEADER + _RTPS_HEADER),  # X: where the submessage begins
    ]
    return program + _LOOKED_AT * _one_submessage() + [_KEEP]


def _one_submessage() -> list[Instruction]:
    """Drop a fragment; keep after the last submessage; otherwise set X to the next one's start."""
    return [
        (0x80, 0, 0, 0),  # A: length of the datagram
        (0x14, 0, 0, 4),  # less the head of a submessage
        (0x3D, 1, 0, 0),  # not less than X: skip one
        _KEEP,  # the datagram ends here
        (0x50, 0, 0, 0),  # A: kind
        (0x15, 1, 0, _PIECE),
        (0x15, 0, 1, _PIECE_OF_MANY),
        _DROP,
        (0x03, 0, 0, 1),  # M[1] = X
        (0x02, 0, 0, 2),  # M[2] = kind
        (0x50, 0, 0, 1),  # A: flags
        (0x45, 2, 0, 1),  # little endian: skip two
        (0x48, 0, 0, 2),  # A: 16 bits
        (0x05, 0, 0, 6),  # continue after the other byte order
        (0x50, 0, 0, 3),
        (0x64, 0, 0, 8),  # A <<= 8
        (0x02, 0, 0, 0),  # M[0] = A
        (0x50, 0, 0, 2),
        (0x61, 0, 0, 0),  # X = M[0]
        (0x4C, 0, 0, 0),  # A |= X
        (0x15, 0, 5, 0),  # not empty: skip five
        (0x60, 0, 0, 2),  # A: kind
        (0x15, 2, 0, _PADDING),
        (0x15, 1, 0, _TIME),
        _KEEP,  # it extends to the end
        (0x00, 0, 0, 0),  # A: 0
        (0x04, 0, 0, 4),  # A += 4
        (0x61, 0, 0, 1),  # X = M[1]
        (0x0C, 0, 0, 0),  # A += X
        (0x07, 0, 0, 0),  # X = A
    ]
