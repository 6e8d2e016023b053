# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The python-can bus of a drives file: opened, or why that fails, and what receives from it.

One kind is ours: multicast datagrams in python-can's format, without one's own frames.
"""

from __future__ import annotations

import array
import errno
import ipaddress
import operator
import pathlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable

import can
from can.interfaces.udp_multicast.utils import is_msgpack_installed

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.configuration import Bus
from masticator_dynamics.errors import AbsentError, DriveError

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

    Packets are those of python-can's ``udp_multicast``, on the loopback interface alone: nobody
    else on the network can command simulated drives, or hear them. They are read without first
    polling for them, which would double the cost. All of a frame but its data is packed and read
    once: drives and masters send the same frames for hours, with other data.

    Parameters
    ----------
    group : str
        Multicast address of IPv4.

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
        self._packets: dict[tuple[object, ...], tuple[bytes, bytes]] = {}  # before and after data
        self._frames: dict[bytes, int] = {}  # identifiers of data frames
        self._receiver, self._sender = _sockets(group, port)
        super().__init__(group)

    def recv(self, timeout: float | None = None) -> can.Message | None:
        """The next frame; None if there is none within the timeout, s."""
        end = time.monotonic() + timeout if timeout else None
        useless = 0
        while useless < _IN_A_ROW:
            try:
                data, ancillary, _, _ = self._receiver.recvmsg(_LARGEST, _ROOM, _NOW)
            except BlockingIOError:
                remaining = timeout if end is None else end - time.monotonic()
                if remaining is not None and remaining <= 0.0:
                    return None
                self._wait(remaining)
                continue
            except OSError as error:
                raise can.CanOperationError('failed to receive from socket') from error
            message = self._frame(data, _received(ancillary))
            if message is None:
                self.ignored += 1
            elif self._filters is None or self._matches_filters(message):
                return message
            useless += 1
        return None

    def _wait(self, seconds: float | None) -> None:
        try:
            select.select([self._receiver], [], [], seconds)
        except (OSError, ValueError) as error:  # closed meanwhile
            raise can.CanOperationError('failed to wait for socket') from error

    def _frame(self, packet: bytes, time: float) -> can.Message | None:
        """A packet as a frame received at a time; None if it is not a frame."""
        at = packet.find(_DATA, _AFTER_TIME) + len(_DATA) + 1
        if not _AFTER_TIME < at < len(packet):
            return _read(packet, time)
        end = at + packet[at - 1]
        around = b'%b%b%b' % (packet[:_TIME], packet[_AFTER_TIME:at], packet[end:])
        identifier = self._frames.get(around)
        if identifier is not None:
            return can.Message(time, identifier, False, data=packet[at:end])
        message = _read(packet, time)
        if message is None or not (packet.startswith(_HEAD) and _is_plain(message)):
            return message
        if message.data == packet[at:end]:
            if len(self._frames) > _KEPT:
                self._frames.clear()
            self._frames[around] = message.arbitration_id
        return message

    def send(self, msg: can.Message, timeout: float | None = None) -> None:
        """Send to all members but this one."""
        data, around = bytes(msg.data), _AROUND(msg)
        parts = self._packets.get((len(data), around))
        if parts is None:
            with self._packing:
                packet = self._packer.pack({name: getattr(msg, name) for name in _FIELDS})
            end = len(packet) - _FLAGS
            parts = packet[: end - len(data)], packet[end:]
            if len(self._packets) > _KEPT:
                self._packets.clear()
            self._packets[len(data), around] = parts
        try:
            self._sender.sendto(b'%b%b%b' % (parts[0], data, parts[1]), self._destination)
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
_KEPT = 1024  # kinds of frames that a bus remembers
# Of a packet: what comes before its timestamp, where this begins and ends, what comes before the
# length of its data and these.
_HEAD = b'\x8b\xa9timestamp\xcb'
_TIME, _AFTER_TIME = len(_HEAD), len(_HEAD) + 8
_DATA = b'\xa4data\xc4'
# Bytes of the three flags that come after its data, and all but these data.
_FLAGS = sum(2 + len(name) for name in _FIELDS[-3:])
_AROUND = operator.attrgetter(*(name for name in _FIELDS if name != 'data'))


def _is_plain(message: can.Message) -> bool:
    """Whether a frame differs from others of its identifier in its data alone."""
    return (
        is_data_frame(message)
        and message.channel is None
        and message.dlc == len(message.data)
        and not (message.bitrate_switch or message.error_state_indicator)
    )


def _received(ancillary: list[tuple[int, int, bytes]]) -> float:
    """When the kernel received a packet, s since 1970."""
    if not ancillary:
        return time.time()
    seconds, nanoseconds = _STAMP.unpack(ancillary[0][2])
    return float(seconds + 1e-9 * nanoseconds)


def _read(packet: bytes, received: float) -> can.Message | None:
    """Any packet as a frame; None if it is not a frame."""
    try:
        fields = msgpack.unpackb(packet)
        if all(type(fields[name]) is kind for name, kind in _TYPES.items()):
            return can.Message(**fields | {'timestamp': received}, check=True)
    except Exception:  # anything may come over a network
        pass
    return None


def _sockets(group: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A receiving socket, bound to the group's address and not to any, and one to send from.

    Both are bound to the loopback interface: a group joined there is not enough, since Linux hands
    packets of a group that any process has joined elsewhere to all of its sockets.
    """
    sender, receiver = _loopback_socket(), _loopback_socket()
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT, _SO_TIMESTAMPNS):
        receiver.setsockopt(socket.SOL_SOCKET, option, 1)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
    sender.bind(('', 0))
    _leave_out(receiver, sender.getsockname()[1])
    receiver.bind((group, port))
    # struct ip_mreqn
    request = struct.pack('=4s4si', socket.inet_aton(group), bytes(4), socket.if_nametoindex('lo'))
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
    return receiver, sender


def _loopback_socket() -> socket.socket:
    """A datagram socket that neither reaches nor hears another machine."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'lo')
    return bound


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
        The kernel has no SocketCAN, the loopback interface is down, or the bus cannot be opened.
    """
    if bus.interface == 'socketcan':
        _check_device(bus)
    elif bus.interface == 'udp_multicast':
        _check_group(bus)
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
    return not (
        message.is_extended_id or message.is_remote_frame or message.is_error_frame or message.is_fd
    )


def data_frame(identifier: int, data: bytes = b'') -> can.Message:
    """A frame of that kind."""
    return can.Message(arbitration_id=identifier, is_extended_id=False, data=data)


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


def _check_group(bus: Bus) -> None:
    """Check group and interface: joining succeeds while lo is down, and each frame would fail."""
    try:
        group = ipaddress.ip_address(bus.channel)
    except ValueError:
        group = None
    if group is None or not group.is_multicast:
        raise DriveError(bus_title(bus), f'{bus.channel} is no multicast address (239.0.0.0/8)')
    if group.version != 4:
        reason = 'the loopback interface carries no IPv6 groups: use one of 239.0.0.0/8'
        raise DriveError(bus_title(bus), reason)
    try:
        with _loopback_socket() as probe:
            probe.connect((bus.channel, bus.port))
    except OSError as error:
        remedy = 'is it down? (ip link set lo up)'
        raise DriveError(
            bus_title(bus), f'cannot use the loopback interface ({error.strerror}); {remedy}'
        ) from error


# What python-can raises when a bus breaks; some interfaces raise ValueError for a closed socket.
BUS_ERRORS = (can.CanError, OSError, ValueError)
_LOOK = 0.05  # s; how soon the thread notices that it is to end


class Receiver(real_time.Worker):
    """Receives from a bus; outlives its errors, unlike python-can's notifier.

    Parameters
    ----------
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
