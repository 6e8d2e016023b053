# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated drive as a CiA 301 slave, seen by a client that works on raw frames."""

import struct

import can
import pytest

from drives import virtual
from drives.cia_client import (
    BOOTED,
    OPERATIONAL_STATE,
    PRE_OPERATIONAL,
    PRE_OPERATIONAL_STATE,
    RESET_COMMUNICATION,
    RESET_NODE,
    START,
    STOP,
    STOPPED_STATE,
    SYNC,
)

NO_OBJECT, NO_SUBINDEX, READ_ONLY, WRITE_ONLY = 0x06020000, 0x06090011, 0x06010002, 0x06010001
TOO_LONG, TOO_SHORT, TOO_HIGH, TOO_LOW, BAD = (
    0x06070012, 0x06070013, 0x06090031, 0x06090032, 0x06090030,
)  # fmt: skip
TOGGLE, UNKNOWN_COMMAND = 0x05030000, 0x05040001
NOT_MAPPABLE, PDO_TOO_LONG, NOT_NOW = 0x06040041, 0x06040042, 0x08000022


@pytest.fixture
def bench():
    with virtual.opened() as found:
        yield found


def heartbeats(bench, node=1):
    return [data[0] for data in bench.client.data_of(0x700 + node)]


# NMT and heartbeat


def test_drives_boot_and_wait_to_be_started(bench):
    assert heartbeats(bench, 1) == [BOOTED] and heartbeats(bench, 2) == [BOOTED]
    assert bench.client.status(1) == 0x0250
    bench.client.send(SYNC)
    bench.advance(0.01)
    assert not bench.client.data_of(0x181)  # no PDO before it is operational


@pytest.mark.parametrize(
    ('command', 'state'),
    [
        (START, OPERATIONAL_STATE),
        (STOP, STOPPED_STATE),
        (PRE_OPERATIONAL, PRE_OPERATIONAL_STATE),
    ],
)
def test_nmt_commands_reach_one_or_all(bench, command, state):
    client = bench.client
    for node in (1, 2):
        client.write(node, 0x1017, 0, 'H', 10)
    client.nmt(START if command != START else STOP)
    bench.advance(0.03)
    client.nmt(command, 2)
    client.forget()
    bench.advance(0.1)
    assert set(heartbeats(bench, 2)) == {state}
    assert state not in heartbeats(bench, 1)
    client.nmt(command)
    bench.advance(0.02)
    client.forget()
    bench.advance(0.1)
    assert set(heartbeats(bench, 1)) == set(heartbeats(bench, 2)) == {state}


def test_heartbeat_keeps_its_period(bench):
    bench.client.write(1, 0x1017, 0, 'H', 20)
    bench.client.forget()
    bench.advance(1.0)
    assert len(heartbeats(bench)) in (50, 51)
    bench.client.write(1, 0x1017, 0, 'H', 0)
    bench.client.forget()
    bench.advance(0.1)
    assert not heartbeats(bench)


def test_a_stopped_drive_answers_no_sdo(bench):
    bench.client.nmt(STOP, 1)
    bench.advance(0.01)
    bench.client.forget()
    bench.client.send(0x601, struct.pack('<BHB4x', 0x40, 0x1000, 0))
    bench.advance(0.1)
    assert not bench.client.frames
    bench.client.nmt(PRE_OPERATIONAL, 1)
    assert bench.client.read(1, 0x1000) == 0x00020192


@pytest.mark.parametrize(('command', 'gain'), [(RESET_NODE, 3.0), (RESET_COMMUNICATION, 7.0)])
def test_reset_brings_defaults_back(bench, command, gain):
    client = bench.client
    client.write(1, 0x1017, 0, 'H', 20)
    client.write(1, 0x2001, 1, 'f', 7.0)
    client.map_cyclic(1)
    client.forget()
    client.nmt(command, 1)
    bench.advance(0.1)
    assert heartbeats(bench) == [BOOTED]
    assert client.read(1, 0x1017, 0, 'H') == 0
    assert client.read(1, 0x1A00, 0, 'B') == 1 and client.read(1, 0x1A00, 2) == 0
    assert client.read(1, 0x2001, 1, 'f') == gain
    assert bench.servo().position_gain == gain


# SDO


def test_objects_say_what_the_drive_is(bench):
    client = bench.client
    assert client.read(2, 0x1018, 4) == 2
    assert client.upload(1, 0x1008) == b'Generic CiA 402 servo drive'  # in segments
    assert client.read(1, 0x6076) == 100 and client.read(1, 0x6072, 0, 'H') == 3000
    assert client.read(1, 0x6502) >> 7 & 1 and client.read(1, 0x6502) >> 9 & 1
    assert client.read(1, 0x608F, 1) == 4096
    assert client.read(1, 0x2002, 0, 'h') == 250


def test_what_is_written_is_read(bench):
    client = bench.client
    for index, subindex, kind, value in (
        (0x607A, 0, 'i', -123456), (0x6072, 0, 'H', 900), (0x6060, 0, 'b', 8),
        (0x2001, 2, 'f', 0.125), (0x6085, 0, 'I', 4000000000),
    ):  # fmt: skip
        client.write(1, index, subindex, kind, value)
        assert client.read(1, index, subindex, kind) == value


@pytest.mark.parametrize(
    ('index', 'subindex', 'code'),
    [(0x5FFF, 0, NO_OBJECT), (0x1018, 9, NO_SUBINDEX)],
)
def test_reading_what_is_not_there(bench, index, subindex, code):
    with bench.client.aborts(code):
        bench.client.upload(1, index, subindex)


@pytest.mark.parametrize(
    ('index', 'subindex', 'data', 'code'),
    [
        (0x5FFF, 0, bytes(4), NO_OBJECT),
        (0x6041, 0, bytes(2), READ_ONLY),
        (0x1008, 0, b'name', READ_ONLY),
        (0x6040, 0, bytes(1), TOO_SHORT),
        (0x6040, 0, bytes(4), TOO_LONG),
        (0x605A, 0, struct.pack('<h', 7), TOO_HIGH),
        (0x605A, 0, struct.pack('<h', -1), TOO_LOW),
        (0x605A, 0, struct.pack('<h', 3), BAD),
        (0x6060, 0, struct.pack('<b', 1), BAD),
        (0x6098, 0, struct.pack('<b', 17), BAD),
        (0x2001, 1, struct.pack('<f', float('nan')), BAD),
        (0x1005, 0, struct.pack('<I', 0x40000080), BAD),
    ],
)
def test_writing_what_may_not_be(bench, index, subindex, data, code):
    with bench.client.aborts(code):
        bench.client.download(1, index, subindex, data)


def test_expedited_download_without_a_size_means_the_objects(bench):
    answer = bench.client.request(1, struct.pack('<BHBi', 0x22, 0x607A, 0, -77))
    assert answer[0] == 0x60
    assert bench.client.read(1, 0x607A, 0, 'i') == -77


def test_segments_have_a_toggle_bit_and_can_be_given_up(bench):
    client = bench.client
    begin = struct.pack('<BHB4x', 0x40, 0x1008, 0)
    client.request(1, begin)
    answer = client.request(1, struct.pack('<B7x', 0x70))  # toggle is 0 first
    assert answer == struct.pack('<BHBI', 0x80, 0x1008, 0, TOGGLE)
    client.request(1, begin)
    client.send(0x601, struct.pack('<BHBI', 0x80, 0x1008, 0, 0x08000000))
    answer = client.request(1, struct.pack('<B7x', 0x60))
    assert struct.unpack_from('<I', answer, 4)[0] == UNKNOWN_COMMAND


@pytest.mark.parametrize('head', [0x21, 0x00, 0xA0, 0xC2])
def test_transfers_in_blocks_and_downloads_in_segments_are_refused(bench, head):
    answer = bench.client.request(1, struct.pack('<BHBBB2x', head, 0x1008, 0, 20, 0))
    assert answer[0] == 0x80 and struct.unpack_from('<I', answer, 4)[0] == UNKNOWN_COMMAND


# PDO


def test_mapping_keeps_to_its_rules(bench):
    client = bench.client
    with client.aborts(NOT_NOW):  # the PDO is valid
        client.write(1, 0x1A00, 0, 'B', 0)
    client.write(1, 0x1800, 1, 'I', 0x80000181)
    with client.aborts(NOT_NOW):  # the mapping is not empty
        client.write(1, 0x1A00, 1, 'I', 0x60640020)
    client.write(1, 0x1A00, 0, 'B', 0)
    for entry, code in (
        (0x5FFF0020, NO_OBJECT), (0x10180420, NOT_MAPPABLE), (0x60640010, NOT_MAPPABLE),
    ):  # fmt: skip
        with client.aborts(code):
            client.write(1, 0x1A00, 1, 'I', entry)
    for number in (1, 2, 3):
        client.write(1, 0x1A00, number, 'I', 0x60640020)
    with client.aborts(PDO_TOO_LONG):
        client.write(1, 0x1A00, 0, 'B', 3)
    client.write(1, 0x1A00, 0, 'B', 2)
    with client.aborts(BAD):
        client.write(1, 0x1800, 1, 'I', 0x20000181)  # of 29 bits
    client.write(1, 0x1800, 1, 'I', 0x19F)
    with client.aborts(BAD):  # not while it is valid
        client.write(1, 0x1800, 1, 'I', 0x1AF)
    client.write(1, 0x1400, 1, 'I', 0x80000201)
    client.write(1, 0x1600, 0, 'B', 0)
    with client.aborts(NOT_MAPPABLE):  # may not be written
        client.write(1, 0x1600, 1, 'I', 0x60640020)


def test_pdos_come_with_every_sync(bench):
    client = bench.client
    client.map_pdo(1, 0x1800, 0x1A00, 0x181, [0x60640020])
    client.map_pdo(2, 0x1801, 0x1A01, 0x282, [0x60640020, 0x60410010])
    with client.aborts(BAD):  # only with every one
        client.write(1, 0x1800, 2, 'B', 3)
    client.nmt(START)
    bench.advance(0.01)
    client.forget()
    for _ in range(12):
        client.send(SYNC)
        bench.advance(0.002)
    assert len(client.data_of(0x181)) == len(client.data_of(0x282)) == 12
    assert client.data_of(0x282)[0] == struct.pack('<iH', 0, 0x0250)


def test_rpdos_wait_for_sync(bench):
    client = bench.client
    client.map_pdo(1, 0x1400, 0x1600, 0x201, [0x60400010])
    client.nmt(START)
    client.send(0x201, struct.pack('<H', 0x0006))
    bench.advance(0.01)
    assert client.state(1) == 'switch on disabled'
    client.send(SYNC)
    bench.advance(0.002)
    assert client.state(1) == 'ready to switch on'


def test_samples_are_those_of_sync_and_commands_come_after(bench):
    client = bench.client
    client.map_cyclic(1)
    client.nmt(START)
    client.send(0x201, struct.pack('<Hih', 0x0006, 0, 0))
    bench.advance(0.002)
    client.forget()
    for expected in (0x0250, 0x0231):
        client.send(SYNC)
        bench.advance(0.002)
        status, position, torque = struct.unpack('<Hih', client.wait(0x181))
        assert (status, position, torque) == (expected, 0, 0)


def test_too_short_an_rpdo_is_an_error_and_changes_nothing(bench):
    client = bench.client
    client.map_pdo(1, 0x1400, 0x1600, 0x201, [0x60400010, 0x607A0020])
    client.nmt(START)
    client.send(0x201, b'\x06\x00')
    client.send(SYNC)
    bench.advance(0.01)
    assert client.state(1) == 'switch on disabled'
    assert bench.emergencies() == [(0x8210, 0x11)]
    client.send(0x201, struct.pack('<Hi', 6, 99))
    client.send(SYNC)
    bench.advance(0.01)
    assert bench.emergencies() == [(0x0000, 0x00)]
    assert client.read(1, 0x607A, 0, 'i') == 99


# EMCY


def test_errors_are_told_and_registered(bench):
    client, device = bench.client, bench.simulator.slaves['crank_1'].device
    device.fault(0x3210)
    bench.advance(0.01)
    assert bench.emergencies() == [(0x3210, 0x05)]
    assert client.read(1, 0x1001, 0, 'B') == 0x05 and client.read(1, 0x603F, 0, 'H') == 0x3210
    device.fault(0x4310)
    bench.advance(0.01)
    assert bench.emergencies() == [(0x4310, 0x0D)]
    client.control(1, 0x80)
    assert bench.emergencies() == [(0x0000, 0x00)]
    assert client.read(1, 0x603F, 0, 'H') == 0 and client.read(1, 0x1001, 0, 'B') == 0


# What the drive listens to


def watch(bench, milliseconds=50):
    bench.client.write(1, 0x1016, 1, 'I', 126 << 16 | milliseconds)


def test_losing_the_masters_heartbeat_is_a_fault(bench):
    watch(bench)
    bench.advance(0.5)
    assert not bench.emergencies()  # watches from the first one on
    for _ in range(10):
        bench.client.send(0x700 + 126, b'\x05')
        bench.advance(0.04)
    assert not bench.emergencies()
    bench.advance(0.02)
    assert bench.emergencies() == [(0x8130, 0x11)]
    assert bench.client.state(1) == 'fault' and bench.client.state(2) == 'switch on disabled'
    bench.client.control(1, 0x80)
    assert bench.client.state(1) == 'switch on disabled'


@pytest.mark.parametrize(
    ('option', 'state'),
    [(0, 'operation enabled'), (1, 'fault')],
)
def test_what_a_lost_connection_does_is_optional(bench, option, state):
    client = bench.client
    client.write(1, 0x6007, 0, 'h', option)
    client.write(1, 0x605E, 0, 'h', 0)
    watch(bench)
    client.send(0x700 + 126, b'\x05')
    client.enable(1, 8)
    client.forget()
    bench.advance(0.1)
    assert bench.emergencies() == [(0x8130, 0x11)]
    assert client.state(1) == state
    client.send(0x700 + 126, b'\x05')
    bench.advance(0.01)
    assert bench.emergencies() == ([] if option == 1 else [(0x0000, 0x00)])


def test_losing_sync_is_a_fault_where_it_is_watched(bench):
    client = bench.client
    client.map_cyclic(1)
    client.write(1, 0x1006, 0, 'I', 2000)
    client.nmt(START)
    for _ in range(100):
        client.send(0x201, struct.pack('<Hih', 0x0006, 0, 0))
        client.send(SYNC)
        bench.advance(0.002)
    assert client.state(1) == 'ready to switch on'
    client.forget()
    bench.advance(0.2)
    assert bench.emergencies() == [(0x8700, 0x21)]
    assert client.state(1) == 'fault'


def test_the_watch_for_sync_begins_with_the_next_one(bench):
    client = bench.client
    client.map_cyclic(1)
    client.nmt(START)
    client.send(SYNC)
    bench.advance(1.0)
    client.write(1, 0x1006, 0, 'I', 2000)
    client.forget()
    bench.advance(1.0)
    assert not bench.emergencies()
    client.send(SYNC)
    bench.advance(0.2)
    assert bench.emergencies() == [(0x8700, 0x21)]


@pytest.mark.parametrize('command', [STOP, RESET_COMMUNICATION])
def test_a_drive_that_is_taken_out_of_operation_lets_go(bench, command):
    bench.client.write(1, 0x605E, 0, 'h', 0)
    bench.client.enable(1, 10)
    bench.client.write(1, 0x6071, 0, 'h', 100)
    bench.advance(0.01)
    assert bench.servo().torque > 50.0
    bench.client.nmt(command, 1)
    bench.advance(0.02)
    assert bench.servo().torque == pytest.approx(0.0, abs=1e-6)


def test_frames_of_other_kinds_are_left_alone(bench):
    for message in (
        can.Message(arbitration_id=0x601, is_remote_frame=True, is_extended_id=False),
        can.Message(arbitration_id=0x601, data=bytes(8), is_extended_id=True),
        can.Message(arbitration_id=0x601, data=bytes(8), is_extended_id=False, is_fd=True),
        can.Message(arbitration_id=0x601, data=b'\x40', is_extended_id=False),
        can.Message(arbitration_id=0x000, data=b'\x01', is_extended_id=False),
        can.Message(arbitration_id=0x7E5, data=bytes(8), is_extended_id=False),
    ):
        bench.client.bus.send(message)
    bench.client.forget()
    bench.advance(0.02)
    assert not bench.client.collect()
