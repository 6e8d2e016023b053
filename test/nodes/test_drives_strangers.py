# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A stranger on the bus alters drives: `servo_drives` sets them up and has them homed again."""

import struct
import threading
import time

import pytest
import samples

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('can', reason='python-can is not installed')

from lifecycle_msgs.msg import Transition
from processes import meanwhile, needs_multicast, wait_for

from masticator_dynamics.drives.can_bus import open_bus
from masticator_dynamics.drives.configuration import load_drives
from nodes.drives_harness import LATCHED, LONG, POWERED, Robot, can, told

pytestmark = [
    pytest.mark.waiting,
    pytest.mark.early,
    needs_multicast,
]
OFFSET = bytes.fromhex('237c6000e8030000')  # 0x607C = 1000
ATTACKS = {
    'home offset': [(0x602, OFFSET)],
    'in segments': [
        (0x602, bytes.fromhex('217c600004000000')), (0x602, bytes.fromhex('07e8030000000000')),
    ],
    'in blocks': [(0x602, bytes.fromhex('c27c600004000000'))],
    'another object': [(0x602, bytes.fromhex('2384600005000000'))],
    'no object': [(0x602, bytes.fromhex('2b34210001000000'))],
    'NMT reset': [(0x000, b'\x81\x02')],
    'LSS': [(0x7E5, bytes.fromhex('0401000000000000'))],
    'home and back': [
        (0x602, bytes.fromhex('2f60600006000000')), (0x602, bytes.fromhex('2f98600025000000')),
        (0x602, OFFSET), (0x602, bytes.fromhex('2b40600010000000')),
        (0x602, bytes.fromhex('2f60600008000000')),
    ],
}  # fmt: skip


@pytest.fixture(scope='module')
def robot(ros_domain, mechanism, tmp_path_factory):
    robot = Robot(mechanism, tmp_path_factory.mktemp('strangers'), 'strangers')
    yield robot
    assert robot.close() == 0


def attack(robot, name):
    for identifier, data in ATTACKS[name]:
        robot.trace.send(identifier, data)
        time.sleep(0.02)


def offset_of(robot, node):
    """0x607C of a drive, read by a stranger."""
    begin = time.time()

    def answer():
        robot.trace.send(0x600 + node, bytes.fromhex('407c600000000000'))
        time.sleep(0.05)
        return [d for _, _, d in robot.trace.since(begin, 0x580 + node) if d[1:3] == b'\x7c\x60']

    return struct.unpack('<i', wait_for(answer, 'home offset', LONG)[0][4:])[0]


def set_up_again(robot, begin, node):
    """Wait until a drive was restarted, and then its watch or its mode was written."""

    def seen():
        resets = [
            t for t, _, data in robot.trace.since(begin, 0x000) if data == bytes((0x81, node))
        ]
        written = robot.trace.since(resets[-1], 0x600 + node) if resets else ()
        return any(data[:4] in (b'\x23\x16\x10\x01', b'\x2f\x60\x60\x00') for *_, data in written)

    return wait_for(seen, 'set-up', LONG)


def reset(peer):
    """Reset once the stop is over; returns other reasons for which that was refused."""
    while True:
        success, message = peer.request('reset')
        if success or not message.endswith(('not yet', 'slowing down')):
            return [] if success else [message]
        time.sleep(0.05)


def lacking(peer):
    """Why drives cannot be enabled after a reset; a busy computer may stop them meanwhile."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        assert reset(peer) == []
        success, message = peer.request('enable')
        assert not success
        if not message.startswith('not carried out'):
            return message
    raise AssertionError(message)


CASES = [(name, enabled) for name in ATTACKS for enabled in (True, False)]
# That each of the others is seen for what it is, drives/test_strangers.py says.
OFTEN = [('NMT reset', True), ('home offset', False)]


@pytest.mark.parametrize('case', samples.swept(CASES, OFTEN), ids=str)
def test_whatever_is_written_is_told_undone_and_homed_again(robot, case):
    name, enabled = case
    peer = robot.enabled()
    offset = offset_of(robot, 2)
    if not enabled:
        robot.ask('disable')
    attack(robot, name)
    told(robot, 'another master is on the bus: it sends')
    success, message = peer.request('enable')
    assert not success and 'stopped until reset' in message
    robot.trace.wait_until_left(time.time(), (1, 3, 4, 5, 6), POWERED)
    begin = time.time()
    assert reset(peer) == []  # the first one that comes once the stop is over
    assert set_up_again(robot, begin, 2)
    assert offset_of(robot, 2) == offset != 1000
    success, message = peer.request('enable')
    assert not success and 'crank_2' in message and 'not homed' in message, message
    robot.ask('home', 'enable')


def test_each_further_write_needs_another_reset(robot):
    peer = robot.enabled()
    robot.ask('disable')
    attack(robot, 'home offset')
    told(robot, 'SDO writes')
    attack(robot, 'home offset')  # another one while latched: no news, but an alteration
    assert reset(peer) == []
    attack(robot, 'another object')
    told(robot, 'SDO writes')
    success, message = peer.request('home')
    assert not success and 'stopped until reset' in message
    robot.ask('reset', 'home', 'enable')


def test_writes_that_go_on_keep_drives_from_being_set_up_and_homed(robot):
    peer = robot.enabled()

    def write(ended):
        while not ended.wait(0.004):
            robot.trace.send(0x603, OFFSET)

    with meanwhile(write):
        told(robot, 'SDO writes')
        robot.at_rest()
        for _ in range(3):
            (message,) = reset(peer)
            assert 'crank_3' in message
            assert not peer.request('home')[0] and not peer.request('enable')[0]
    assert reset(peer) == []
    success, message = peer.request('enable')
    assert not success and 'crank_3 is not homed' in message
    robot.ask('home', 'enable')


@pytest.mark.parametrize('pauses', samples.swept([(0.05, 0.2), (0.0, 0.1, 0.3)], [(0.05, 0.2)]))
def test_a_write_during_homing_ends_it(robot, pauses):
    peer, results = robot.enabled(), []
    for pause in pauses:
        robot.ask('disable')
        home = threading.Thread(target=lambda: results.append(peer.request('home')))
        home.start()
        time.sleep(pause)
        robot.trace.send(0x604, OFFSET)
        home.join(LONG)
        time.sleep(0.1)
        success, message = peer.request('enable')
        assert not success, (results, message)
        message = lacking(peer)
        assert 'crank_4' in message and 'not homed' in message
        robot.ask('home', 'enable')
    assert not all(success for success, _ in results)


def forging(robot, degrees):
    """Answer every reading of crank_1's temperature before the drive does."""
    answer = b'\x4b\x02\x20\x00' + struct.pack('<hxx', round(10.0 * degrees))

    def run(ended):
        with open_bus(load_drives(robot.file).bus) as bus:
            while not ended.is_set():
                message = bus.recv(0.05)
                if message is None or message.arbitration_id != 0x601:
                    continue
                if bytes(message.data).startswith(b'\x40\x02\x20'):
                    bus.send(can.Message(arbitration_id=0x581, is_extended_id=False, data=answer))

    return meanwhile(run)


def test_a_forged_temperature_is_told_and_not_believed(robot):
    peer = robot.enabled()

    def temperature():
        return float(peer.status('drive crank_1')[2]['temperature (degC)'])

    wait_for(lambda: temperature() > 24.0, 'temperature', LONG)
    with forging(robot, 20.0):
        told(robot, 'another node answers as crank_1 (0x581, SDO)')
        end = time.monotonic() + 5.0
        while time.monotonic() < end:
            assert not temperature() < 24.0
            time.sleep(0.02)
        success, message = peer.request('enable')
        assert not success and 'another node answers as crank_1' in message
    wait_for(lambda: temperature() > 24.0, 'temperature', LONG)
    assert reset(peer) == []
    robot.ask('home', 'enable')


def test_an_absolute_drive_must_be_homed_again_only_if_altered(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'absolute', auto_enable=True)
    peer = robot.peer
    try:
        robot.node.wait_for_line('auto_enable: the loops close', LONG)
        robot.drives.fault('bus-off crank_3')
        told(robot, 'crank_3')
        robot.drives.fault('clear all')
        robot.ask('reset', 'enable')  # it keeps its position
        attack(robot, 'home offset')
        told(robot, 'SDO writes')
        assert reset(peer) == []
        success, message = peer.request('enable')
        assert not success and message.startswith('crank_2 is not homed'), message
        robot.ask('home', 'enable')
    finally:
        assert robot.close() == 0


def test_a_write_while_the_node_is_inactive_is_told_when_it_is_active(
    ros_domain, mechanism, tmp_path
):
    robot = Robot(mechanism, tmp_path, 'inactive', wait=False, autostart=False)
    peer = robot.peer
    try:
        peer.change(Transition.TRANSITION_CONFIGURE)
        for again in (False, True):
            attack(robot, 'home offset')
            peer.change(Transition.TRANSITION_ACTIVATE)
            peer.connect()
            told(robot, 'crank_2', '0x607C:00')
            assert peer.phase() == LATCHED
            for request in ('enable', 'home'):
                success, message = peer.request(request)
                assert not success and 'stopped until reset' in message
            robot.ask('reset', 'home', 'enable')
            if not again:
                peer.change(Transition.TRANSITION_DEACTIVATE)
    finally:
        assert robot.close() == 0
