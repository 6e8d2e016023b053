# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Misbehaving answers of a drive, from a CANopen node that a test controls.

The node is canopen's own server of an EDS, without a drive behind it.
"""

import copy
import functools
import itertools
import time

import pytest

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.bring_up import set_mode, set_up
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.objects import Mode, Object
from masticator_dynamics.drives.sdo import SdoChannel
from masticator_dynamics.drives.watches import PATIENCE
from masticator_dynamics.errors import DriveError
from masticator_dynamics.files.share import share_directory

pytestmark = [pytest.mark.waiting, pytest.mark.early]

can = pytest.importorskip('can', reason='python-can is not installed')
canopen = pytest.importorskip('canopen', reason='canopen is not installed')

EDS = str(share_directory() / 'config' / 'cia402_servo.eds')
DRIVES = load_drives('drives.yaml')
DRIVE = DRIVES.drives['crank_1']
CHANNELS = itertools.count()


class Served:
    """A node with the shipped EDS and the channel to it."""

    def __init__(self):
        self.networks = [canopen.Network(), canopen.Network()]
        for network in self.networks:
            network.NOTIFIER_CYCLE = 0.02  # s; else closing takes a second
            network.connect(interface='virtual', channel=f'sdo-{next(CHANNELS) // 2}')
        self.node = self.networks[0].create_node(1, EDS)
        self.asked = self.networks[1].add_node(1, EDS)
        self.channel = SdoChannel('crank_1', self.asked)
        self.holds(objects.RATED_TORQUE, round(DRIVE.motor.rated_torque * 1000.0))
        self.holds(objects.ENCODER_TURNS, 1)
        self.holds(objects.ENCODER_INCREMENTS, DRIVE.motor.counts_per_turn)

    def holds(self, entry, value):
        variable = self.node.object_dictionary.get_variable(entry.index, entry.subindex)
        self.node.set_data(entry.index, entry.subindex, variable.encode_raw(value))

    def answers(self, entry, value):
        """Make the node always return this value, whatever is written."""

        def answer(index, subindex, od):
            return value if (index, subindex) == (entry.index, entry.subindex) else None

        self.node.add_read_callback(answer)

    def obeys_modes(self):
        """Make the displayed mode follow the requested one."""

        def follow(index, subindex, od, data):
            if index == objects.MODE.index:
                self.node.set_data(objects.MODE_DISPLAY.index, 0, data)

        self.node.add_write_callback(follow)

    def lacks(self, entry):
        """Remove an object from the EDS and the node."""
        for one in (self.node, self.asked):
            one.object_dictionary = copy.deepcopy(one.object_dictionary)
            found = one.object_dictionary[entry.index]
            if entry.subindex:
                del found.subindices[entry.subindex]
            else:
                del one.object_dictionary.indices[entry.index]

    def close(self):
        for network in self.networks:
            network.disconnect()


@pytest.fixture
def served():
    found = Served()
    yield found
    found.close()


def refusal(action, *given):
    with pytest.raises(DriveError) as caught:
        action(*given)
    assert str(caught.value).startswith('crank_1 (node 1): ')
    return str(caught.value)


def test_a_value_that_comes_back_otherwise_is_not_taken_as_written(served):
    served.answers(objects.MAX_TORQUE, 2000)
    said = refusal(served.channel.write, objects.MAX_TORQUE, 3000)
    assert said.endswith('max torque: wrote 3000, read back 2000')
    assert objects.MAX_TORQUE not in served.channel.expected


def test_a_value_that_has_no_room_is_not_sent(served):
    before = served.channel.read(objects.MAX_TORQUE)
    assert refusal(served.channel.write, objects.MAX_TORQUE, 70000).endswith('70000 does not fit')
    assert served.channel.read(objects.MAX_TORQUE) == before


def test_an_object_that_the_eds_lacks(served):
    nobodys = Object(0x1400, 9, 'of nobody')
    assert not served.channel.has(nobodys)
    assert refusal(served.channel.write, nobodys, 1).endswith('is not in its EDS')
    # The drive has it all the same.
    del served.asked.object_dictionary.indices[objects.MAX_TORQUE.index]
    assert refusal(served.channel.read, objects.MAX_TORQUE).endswith('is not in its EDS')


def test_bytes_of_another_length_than_the_eds_says(served):
    served.answers(objects.RATED_TORQUE, b'\1')
    said = refusal(served.channel.read, objects.RATED_TORQUE)
    assert said.endswith('1 bytes came, other than its EDS says')


def test_a_text_is_no_number(served):
    served.answers(Object(0x1008, 0, 'device name'), 'servo')
    said = refusal(served.channel.read, Object(0x1008, 0, 'device name'))
    assert said.endswith('5 bytes came, other than its EDS says')


def test_a_mode_that_never_comes_is_told_after_two_seconds(served):
    served.answers(objects.MODE_DISPLAY, 6)
    said = refusal(set_mode, served.channel, Mode.CYCLIC_SYNCHRONOUS_POSITION)
    assert 'stays 6, asked for was 8' in said


def without_gains(rate=DRIVES.cycle_rate):
    drive = type(DRIVE)(**dict(DRIVE) | {'gains': None})
    fields = {k: v for k, v in dict(DRIVES).items() if k != 'schema_'}
    return drive, type(DRIVES)(schema=1, **fields | {'cycle_rate': rate})


def test_a_drive_with_the_least_that_it_must_have_is_set_up(served):
    """There are no gains in the file, and no resolution, cycle time or further PDOs in the EDS."""
    served.obeys_modes()
    kept = served.channel.read(objects.POSITION_GAIN)
    for entry in (
        objects.ENCODER_INCREMENTS, objects.CYCLE_TIME,
        *(Object(index + k, 0, '') for index in (0x1400, 0x1800) for k in (1, 2, 3)),
    ):  # fmt: skip
        if served.channel.has(entry) or entry.index in served.node.object_dictionary:
            served.lacks(Object(entry.index, 0, ''))
    set_up(served.channel, *without_gains())
    assert served.channel.read(objects.POSITION_GAIN) == kept
    assert served.channel.read(objects.MAX_TORQUE) == 3000
    assert served.channel.read(objects.MODE_DISPLAY) == Mode.CYCLIC_SYNCHRONOUS_POSITION


def test_a_rate_that_no_cycle_time_is_for(served):
    served.obeys_modes()
    assert refusal(set_up, served.channel, *without_gains(rate=333.0)).endswith(
        'cannot express 333 Hz'
    )


@pytest.mark.parametrize(
    ('pause', 'reason'),
    [(0.0, 'more than 10 segments came'), (0.1, 'segments go on after 0.3 s')],
)
def test_segments_without_end_are_not_read_for_ever(pause, reason):
    """A node that uses the answers' identifier could otherwise send segments for ever."""
    channel = f'segments-{next(CHANNELS)}'
    network = canopen.Network()
    network.connect(interface='virtual', channel=channel)
    sdo = SdoChannel('crank_1', network.add_node(1, EDS))
    asked = []

    def answer(identifier, data, timestamp):
        if data[0] == 0x80:  # given up, which needs no answer
            return
        asked.append(bytes(data))
        first, last = data[0] == 0x40, len(asked) > 500
        time.sleep(pause)
        head = b'\x40' + data[1:4] if first else bytes([data[0] & 0x10 | last])
        stranger.send_message(0x581, bytes(head).ljust(8, b'\x01'))

    stranger = canopen.Network()
    stranger.connect(interface='virtual', channel=channel)
    stranger.subscribe(0x601, answer)
    begin = time.monotonic()
    try:
        assert reason in refusal(functools.partial(sdo.read, patient=False), objects.STATUS_WORD)
        assert time.monotonic() - begin < PATIENCE  # else slow reading would count as hanging
    finally:
        for one in (network, stranger):
            one.disconnect()
    assert len(asked) < 40


def test_emergencies_are_told_whatever_their_length_and_kept_by_nobody():
    network = DriveNetwork(DRIVES, str(share_directory() / 'config' / 'drives.yaml'))
    network._network = canopen.Network()
    network._add_nodes()
    for size in range(9):
        data = bytes((0x10, 0x23, 0x03, 0, 0, 0, 0, 0))[:size]
        network._take(can.Message(arbitration_id=0x81, is_extended_id=False, data=data))
    found = [(one.drive, one.code, one.register) for one in network.emergencies]
    assert found == [('crank_1', 0x2310, register) for register in (0, *[3] * 6)]
    emergencies = network._network.nodes[1].emcy
    assert not emergencies.log and not emergencies.active
