# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Buses on real sockets."""

import contextlib
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import tracemalloc

import can
import msgpack
import pytest
from can.interfaces.udp_multicast.utils import pack_message
from hypothesis import given
from hypothesis import strategies as st

from drives.loopback import datagrams, python_can
from masticator_dynamics.drives.can_bus import error_frame_words, is_data_frame, open_bus
from masticator_dynamics.drives.configuration import Bus
from masticator_dynamics.errors import DriveError

pytestmark = pytest.mark.waiting

PATIENCE = 60.0  # s


def has_socketcan():
    try:
        socket.socket(socket.PF_CAN, socket.SOCK_RAW, socket.CAN_RAW).close()
    except OSError:
        return False
    return True


@pytest.fixture
def multicast(free_port):
    return Bus(interface='udp_multicast', channel='239.74.163.2', port=free_port)


def receive(bus, identifier):
    message = bus.recv(PATIENCE)
    assert message.arbitration_id == identifier
    return bytes(message.data)


def send(bus, identifier, data):
    bus.send(can.Message(arbitration_id=identifier, is_extended_id=False, data=data))


def test_two_multicast_buses_exchange_frames(multicast):
    with open_bus(multicast) as here, open_bus(multicast) as there:
        for number in range(200):
            send(here, 0x181, bytes((number, 7)))
            assert receive(there, 0x181) == bytes((number, 7))
            send(there, 0x201, bytes((number, 8)))
            assert receive(here, 0x201) == bytes((number, 8))


def test_own_frames_do_not_come_back(multicast):
    with open_bus(multicast) as here, open_bus(multicast) as there:
        send(here, 1, b'')
        assert receive(there, 1) == b''  # it was on its way
        assert here.recv(0.0) is None


def test_a_frame_that_is_sent_needs_little_memory(multicast):
    """In a node, whose large memory is locked and given back at once, 1 MB takes 0.1 ms."""
    message = can.Message(arbitration_id=0x181, data=bytes(8), is_extended_id=False)
    with open_bus(multicast) as here:
        tracemalloc.start()
        try:
            here.send(message)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 20_000


def test_frames_are_those_of_python_can(multicast):
    theirs = python_can(multicast.channel, multicast.port)
    with open_bus(multicast) as here, theirs:
        message = can.Message(arbitration_id=0x181, data=bytes(range(8)), is_extended_id=False)
        here.send(message)
        seen = theirs.recv(PATIENCE)
        seen.timestamp = message.timestamp
        assert seen.equals(message, check_channel=False, check_direction=False)


def test_another_port_is_another_bus(multicast):
    other = Bus(interface='udp_multicast', channel=multicast.channel, port=multicast.port + 1)
    with open_bus(multicast) as here, open_bus(multicast) as near, open_bus(other) as there:
        send(here, 1, b'')
        assert receive(near, 1) == b''
        assert there.recv(0.0) is None


def test_what_is_no_frame_is_ignored_and_counted(multicast):
    with open_bus(multicast) as here, open_bus(multicast) as there:
        with datagrams() as stranger:
            for garbage in (b'', b'garbage', bytes(range(256)), b'\xc1' * 1400):
                stranger.sendto(garbage, (multicast.channel, multicast.port))
        send(there, 0x181, b'\x01')
        assert receive(here, 0x181) == b'\x01'
        assert here.ignored == 4


PLAIN = {
    'arbitration_id': 0x181, 'dlc': 1, 'data': b'\x01', 'is_extended_id': False,
    'is_remote_frame': False, 'is_error_frame': False, 'is_fd': False,
}  # fmt: skip


@pytest.mark.parametrize(
    'change',
    [
        {'data': 200_000_000},  # python-can would make that many bytes of it
        {'data': [1]},
        {'data': 'x'},
        {'arbitration_id': 385.0},
        {'arbitration_id': 64.5, 'is_error_frame': True},
        {'arbitration_id': True},
        {'arbitration_id': 2**63},
        {'is_error_frame': [0]},
        {'dlc': 1.0},
        {'check': False},
    ],
    ids=str,
)
def test_a_packet_whose_numbers_are_of_another_type_is_no_frame(multicast, change):
    with open_bus(multicast) as here, open_bus(multicast) as there:
        tracemalloc.start()
        with datagrams() as stranger:
            packet = msgpack.packb(PLAIN | change)
            stranger.sendto(packet, (multicast.channel, multicast.port))
        send(there, 0x182, b'')
        assert receive(here, 0x182) == b''
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert here.ignored == 1 and peak < 1_000_000


@pytest.fixture(scope='module')
def room():
    """Two buses of ours, and a socket that receives the packets of both."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('', 0))
        port = probe.getsockname()[1]
    group = Bus(interface='udp_multicast', channel='239.74.163.2', port=port)
    with open_bus(group) as here, open_bus(group) as there, datagrams() as sender:
        yield here, there, lambda packet: sender.sendto(packet, (group.channel, port))


FRAMES = st.builds(
    can.Message,
    arbitration_id=st.sampled_from([0, 0x7F, 0x80, 0xFF, 0x100, 0x181, 0x7FF]),
    is_extended_id=st.sampled_from([False, False, True]),
    timestamp=st.sampled_from([0.0, 0.0, 1.5]),
    # The last one looks like the beginning of the data.
    channel=st.sampled_from([None, None, 'can0', 'ädataā']),
    data=st.binary(max_size=8),
)


@given(st.lists(FRAMES, min_size=1, max_size=8))
def test_frames_are_the_same_whatever_came_before(room, messages):
    """What is packed and read once is all but the data: python-can's packets are read, too."""
    here, there, send = room
    for message in (*messages, *messages):
        here.send(message)
        read = there.recv(PATIENCE)
        send(pack_message(message))
        for again in (read, there.recv(PATIENCE), here.recv(PATIENCE)):
            assert 0.0 <= time.time() - again.timestamp < PATIENCE  # when it came
            again.timestamp = message.timestamp
            assert again.equals(message, check_channel=False, check_direction=False)


@pytest.mark.parametrize(
    'change',
    [
        {'dlc': 2}, {'data': b'\1\2'}, {'data': b''}, {'is_extended_id': True},
        {'is_remote_frame': True, 'data': b''}, {'is_fd': True}, {'arbitration_id': 0x182},
    ],
    ids=str,
)  # fmt: skip
def test_a_packet_like_one_that_came_before_is_read_for_itself(room, multicast, change):
    """As by a bus that has read none."""
    here, _, send = room
    send(msgpack.packb(PLAIN))
    assert receive(here, 0x181) == b'\1'
    with open_bus(multicast) as new, datagrams() as stranger:
        packet = msgpack.packb(PLAIN | change)
        for each in (packet, msgpack.packb(PLAIN | {'arbitration_id': 7})):
            send(each)
            stranger.sendto(each, (multicast.channel, multicast.port))
        ours, theirs = here.recv(PATIENCE), new.recv(PATIENCE)
        while here.recv(0.0):
            pass
        theirs.timestamp = ours.timestamp
        assert ours.equals(theirs, check_channel=False)


@pytest.mark.parametrize(
    'kind', ['is_extended_id', 'is_remote_frame', 'is_error_frame', 'is_fd', None]
)
def test_canopen_has_one_kind_of_frame(kind):
    flags = {'is_extended_id': False} | ({kind: True} if kind else {})
    assert is_data_frame(can.Message(arbitration_id=0x701, **flags)) == (kind is None)


def test_packets_for_one_machine_alone_are_no_frames(multicast):
    with open_bus(multicast) as here, open_bus(multicast) as there:
        send(there, 0x182, b'')
        frame = pack_message(can.Message(arbitration_id=0x181, data=b'', is_extended_id=False))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(frame, ('127.0.0.1', multicast.port))
        send(there, 0x183, b'')
        seen = [here.recv(PATIENCE).arbitration_id for _ in range(2)]
        assert seen == [0x182, 0x183]


def test_a_flood_of_what_is_no_frame_holds_nobody_up(multicast):
    """A wait for a frame without time limit returns from time to time."""
    with open_bus(multicast) as here:
        with datagrams() as stranger:
            for _ in range(120):
                stranger.sendto(b'garbage', (multicast.channel, multicast.port))
        assert here.recv(None) is None
        assert 0 < here.ignored < 120


def test_frames_of_other_drives_are_left_out_on_demand(multicast):
    with open_bus(multicast) as here, open_bus(multicast) as there:
        here.set_filters([{'can_id': 0x182, 'can_mask': 0x7FF}])
        send(there, 0x181, b'')
        send(there, 0x182, b'\x02')
        assert receive(here, 0x182) == b'\x02'
        assert here.ignored == 0


def test_a_bus_that_is_closed_while_somebody_waits(multicast):
    bus = open_bus(multicast)
    bus.shutdown()
    with pytest.raises(can.CanOperationError, match='failed to receive'):
        bus.recv(PATIENCE)
    with pytest.raises(can.CanOperationError, match='failed to send'):
        send(bus, 1, b'')


def test_frames_do_not_leave_the_machine(multicast):
    with open_bus(multicast) as bus:
        assert bus._sender.getsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL) == 0


def interfaces_of(group):
    """Interfaces on which this machine has joined a group, as the kernel lists them."""
    number = f'{int.from_bytes(socket.inet_aton(group), sys.byteorder):08X}'
    joined, interface = set(), ''
    for line in pathlib.Path('/proc/self/net/igmp').read_text(encoding='ascii').splitlines()[1:]:
        fields = line.split()
        if line[0] != '\t':
            interface = fields[1]
        elif fields[0] == number:
            joined.add(interface)
    return joined


def test_a_group_is_joined_on_the_loopback_interface_alone(free_port):
    group = f'239.75.{free_port >> 8}.{free_port & 255}'  # nobody else's
    with open_bus(Bus(interface='udp_multicast', channel=group, port=free_port)) as bus:
        assert interfaces_of(group) == {'lo'}
        for each in (bus._receiver, bus._sender):
            option = each.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
            assert option.rstrip(b'\0') == b'lo'


def test_what_comes_from_another_interface_is_not_heard(multicast):
    """Another process has joined the group there, and hears it; Linux would let all hear it."""
    packet = pack_message(can.Message(arbitration_id=0x000, data=b'\x02\x00'))  # NMT: stop all
    where = multicast.channel, multicast.port
    with open_bus(multicast) as here, open_bus(multicast) as near, contextlib.ExitStack() as opened:
        theirs, stranger = (
            opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2)
        )
        stranger.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        theirs.bind(where)
        request = socket.inet_aton(multicast.channel) + bytes(4)
        try:
            theirs.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
        except OSError as error:
            pytest.skip(f'this machine has no other interface: {error}')
        if interfaces_of(multicast.channel) == {'lo'}:
            pytest.skip('this machine leads groups to the loopback interface')
        theirs.settimeout(PATIENCE)
        for _ in range(20):
            stranger.sendto(packet, where)
            assert theirs.recv(4096) == packet
        send(near, 0x181, b'\x01')
        assert receive(here, 0x181) == b'\x01'  # whatever was sent before it would have come first
        assert here.recv(0.0) is None and here.ignored == 0


def test_ipv6_groups_are_refused():
    bus = Bus(interface='udp_multicast', channel='ff15::4a:a302')
    with pytest.raises(DriveError, match='carries no IPv6 groups'):
        open_bus(bus)


@pytest.mark.parametrize('channel', ['can0', '127.0.0.1', ''])
def test_no_multicast_address(channel):
    with pytest.raises(DriveError, match='is no multicast address'):
        open_bus(Bus(interface='udp_multicast', channel=channel))


ONE_FRAME = """
from masticator_dynamics.drives.can_bus import data_frame, open_bus
from masticator_dynamics.drives.configuration import Bus
bus = Bus(interface='udp_multicast', channel='239.74.163.2')
with open_bus(bus) as here, open_bus(bus) as there:
    here.send(data_frame(0x181))
    print(there.recv(30.0).arbitration_id)
"""


def in_a_network_of_its_own(*before):
    """A process that opens the bus where there are neither routes nor interfaces but lo, down."""
    isolated = ['unshare', '--net', '--map-root-user']
    if subprocess.run([*isolated, 'true'], capture_output=True).returncode:
        pytest.skip('this machine lets nobody make a network without routes (unshare --net)')
    program = [*isolated, 'sh', '-c', '; '.join([*before, 'exec "$0" -c "$1"'])]
    return subprocess.run([*program, sys.executable, ONE_FRAME], capture_output=True, text=True)


def test_a_loopback_interface_that_is_down():
    ended = in_a_network_of_its_own()
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert 'DriveError: bus udp_multicast 239.74.163.2 port 43113: cannot use the loopback' in last
    assert 'ip link set lo up' in last


@pytest.mark.skipif(shutil.which('ip') is None, reason='iproute2 is not installed')
def test_no_route_is_needed():
    ended = in_a_network_of_its_own('ip link set lo up')
    assert (ended.returncode, ended.stdout) == (0, '385\n'), ended.stderr


def test_a_port_that_somebody_has_for_himself(free_port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(('239.74.163.2', free_port))
        with pytest.raises(DriveError, match=f'port {free_port}: cannot be opened: .*in use'):
            open_bus(Bus(interface='udp_multicast', channel='239.74.163.2', port=free_port))


def test_no_can_device():
    with pytest.raises(DriveError) as caught:
        open_bus(Bus(channel='can99'))
    reason = 'there is no device can99' if has_socketcan() else 'this kernel has no SocketCAN'
    assert str(caught.value).startswith(f'bus socketcan can99: {reason}')


@pytest.mark.parametrize(
    ('identifier', 'text'),
    [
        (0x040, 'bus-off'),
        (0x044, 'bus-off'),
        (0x020, 'no drive acknowledges'),
        (0x001, 'cannot send'),
        (0x004, ''),  # a counter has passed a limit; the bus goes on
        (0x100, ''),  # restarted
    ],
)
def test_error_frames(identifier, text):
    said = error_frame_words(can.Message(arbitration_id=identifier, is_error_frame=True))
    assert (text in said) if text else said == ''


def test_buses_within_one_process():
    bus = Bus(interface='virtual', channel='within one process')
    with open_bus(bus) as one, open_bus(bus) as other:
        one.send(can.Message(arbitration_id=0x181, is_extended_id=False, data=b'\x01'))
        assert receive(other, 0x181) == b'\x01'
        assert one.recv(0.0) is None  # which is how another master's frames are known
