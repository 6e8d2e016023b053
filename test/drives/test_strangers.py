# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A stranger on the bus writes to drives, resets them, or answers in their name."""

import contextlib
import struct
import time

import can
import numpy as np
import pytest
import yaml
from processes import meanwhile, wait_for

from drives.robot import Robot, connected, content, exchanging
from drives.simulated import drives
from masticator_dynamics.drives import bring_up, objects
from masticator_dynamics.drives.can_bus import open_bus
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.objects import Nmt, Object
from masticator_dynamics.drives.other_master import Alterations, Answer, OtherMaster, SdoAnswers
from masticator_dynamics.errors import DriveError
from masticator_dynamics.files.share import share_directory

pytestmark = pytest.mark.waiting

HOME_OFFSET = bytes.fromhex('237c6000e8030000')  # 0x607C = 1000, expedited
READ_TEMPERATURE, TEMPERATURE = bytes.fromhex('4002200000000000'), bytes.fromhex('4b022000')
EDS = share_directory() / 'config' / 'cia402_servo.eds'
# Of the generic EDS, this project's own.
POLARITY = """
[607E]
ParameterName=Polarity
ObjectType=0x7
DataType=0x0005
AccessType=rw
DefaultValue=0
PDOMapping=0
"""


def frame(identifier, data=b''):
    return can.Message(arbitration_id=identifier, is_extended_id=False, data=data)


def degrees(value):
    """The answer that the motor is this warm."""
    return TEMPERATURE + struct.pack('<hxx', round(10.0 * value))


# Requests and answers


def test_each_request_has_one_answer():
    answers = SdoAnswers()
    assert answers.take(degrees(25)) is Answer.NOBODYS
    answers.requested(READ_TEMPERATURE, ours=True)
    assert answers.take(bytes.fromhex('4b41600037020000')) is Answer.NOBODYS  # of another
    assert answers.take(bytes.fromhex('6002200000000000')) is Answer.NOBODYS  # to a write
    assert answers.take(degrees(25)[:6]) is Answer.NOBODYS
    assert answers.take(b'') is Answer.NOBODYS
    assert answers.take(degrees(20)) is Answer.OURS
    assert answers.take(degrees(25)) is Answer.NOBODYS


@pytest.mark.parametrize(
    ('request_', 'answer'),
    [
        ('4002200000000000', '4b022000fa000000'),
        ('4002200000000000', '8002200000000206'),  # refused
        ('2b7260006400000', '6072600000000000'),
        ('2172600008000000', '8072600000000206'),
        ('6000000000000000', '0701020304050607'),  # segments
        ('0001020304050607', '2000000000000000'),
        ('7000000000000000', '8072600000000305'),
        ('a008100014000000', 'c208100010000000'),  # blocks
        ('a008100014000000', '8008100001000405'),
        ('c072600002000000', 'a472600014000000'),
        ('e072600002000000', '8072600001000405'),
    ],
)
def test_requests_of_others_have_answers_too(request_, answer):
    answers, answer = SdoAnswers(), bytes.fromhex(answer)
    request_ = bytes.fromhex(request_.ljust(16, '0'))
    for ours in (False, True):
        answers.requested(request_, ours=ours)
    assert [answers.take(answer) for _ in range(3)] == [
        Answer.OURS, Answer.OTHERS, Answer.NOBODYS,
    ]  # fmt: skip


def test_what_no_drive_answers_excuses_no_answer():
    answers = SdoAnswers()
    for unanswered in (b'', READ_TEMPERATURE[:7], bytes.fromhex('8002200000000000')):
        answers.requested(unanswered, ours=False)
    assert answers.take(degrees(20)) is Answer.NOBODYS


def test_an_answer_may_be_late_but_not_by_any_time(monkeypatch):
    answers, now = SdoAnswers(), 100.0
    monkeypatch.setattr(time, 'monotonic', lambda: now)
    for _ in range(2):
        answers.requested(READ_TEMPERATURE, ours=True)
    now = 104.0
    assert answers.take(degrees(25)) is Answer.OURS
    now = 106.0
    assert answers.take(degrees(25)) is Answer.NOBODYS


# What alters drives


@pytest.mark.parametrize(
    ('identifier', 'data', 'altered'),
    [
        (0x602, HOME_OFFSET, {1: '0x607C:00'}),  # expedited
        (0x601, bytes.fromhex('217c600004000000'), {0: '0x607C:00'}),  # segmented
        (0x601, bytes.fromhex('01e8030000000000'), {0: 'a segment'}),
        (0x602, bytes.fromhex('c27c600004000000'), {1: '0x607C:00'}),  # in blocks
        (0x602, bytes.fromhex('2f342100aa000000'), {1: '0x2134:00'}),  # nothing of ours
        (0x602, bytes.fromhex('23'), {1: 'a segment'}),  # of whatever length
        (0x7E5, bytes.fromhex('0401000000000000'), {0: 'LSS', 1: 'LSS'}),
        (0x000, b'\x81\x02', {1: 'NMT'}),
        (0x000, b'\x82\x00', {0: 'NMT', 1: 'NMT'}),
        (0x000, b'\x81\x05', {}),
        (0x000, b'\x81', {}),
        (0x000, b'\x01\x00', {}),
        (0x602, READ_TEMPERATURE, {}),
        (0x602, b'', {}),
        (0x202, bytes(8), {}),
        (0x080, b'', {}),
        (0x581, degrees(20), {0: 'answers in its name'}),
        (0x605, HOME_OFFSET, {}),  # no drive of ours
    ],
)
def test_what_alters_drives_stays_noted(identifier, data, altered):
    alterations = Alterations(2)
    others = OtherMaster(drives(), alterations)
    others.take(frame(identifier, data))
    for _ in range(2):
        reasons = {index: alterations.reason(index) for index in range(2)}
        assert {index for index, reason in reasons.items() if reason} == set(altered)
        assert all(words in reasons[index] for index, words in altered.items())
        others.found()


def test_a_setpoint_alters_a_drive_in_homing_mode():
    alterations = Alterations(2)
    others = OtherMaster(drives(), alterations)
    others.homing = True
    others.take(frame(0x202, bytes(8)))
    assert [bool(alterations.reason(index)) for index in range(2)] == [False, True]


def test_what_comes_during_a_set_up_outlives_it():
    alterations = Alterations(1)
    alterations.note(0, 'before')
    counts = alterations.counts()
    alterations.note(0, 'meanwhile')
    alterations.settle(0, counts[0])
    assert alterations.reason(0)
    alterations.settle(0, alterations.counts()[0])
    assert alterations.reason(0) == ''
    alterations.note(0, 'after')
    assert alterations.reason(0) == 'after'


# On a bus


@pytest.fixture(scope='module')
def running(tmp_path_factory, module_port):
    folder = tmp_path_factory.mktemp('strangers')
    data = content(module_port)
    text = EDS.read_text(encoding='utf-8')
    (folder / 'polarity.eds').write_text(text + POLARITY, encoding='utf-8')
    data['drives']['crank_2']['eds'] = 'polarity.eds'
    robot = Robot(folder, data)
    yield robot
    robot.end()


@pytest.fixture
def stranger(robot):
    with open_bus(load_drives(robot.file).bus) as bus:
        yield bus


def drain(bus):
    """Forget what came so far; a full buffer would take nothing new."""
    while bus.recv(0.0):
        pass


def write(bus, node, entry, value, size=4):
    """Write as a stranger does; the drive's answer is waited for."""
    data = int(value).to_bytes(size, 'little', signed=value < 0)
    head = 0x23 | (4 - size) << 2
    drain(bus)
    bus.send(frame(0x600 + node, struct.pack('<BHB4s', head, *entry.key, data)))
    wait_for(lambda: (answer := bus.recv(0.1)) and answer.arbitration_id == 0x580 + node, 'answer')
    time.sleep(0.05)


ZEROS = {
    'home offset': (2, objects.HOME_OFFSET, 1000, 4),
    'homing method': (2, objects.HOMING_METHOD, 35, 1),
    'polarity': (2, objects.POLARITY, 0x80, 1),
    'lower limit': (3, objects.MIN_POSITION_LIMIT, -5, 4),
    'upper limit': (3, objects.MAX_POSITION_LIMIT, 5, 4),
    'speed': (3, objects.MAX_MOTOR_SPEED, 1, 4),
}


@pytest.mark.parametrize('what', ZEROS)
@pytest.mark.parametrize('seen', [True, False])
def test_what_defines_the_zero_is_verified_and_set_again(robot, stranger, what, seen):
    node, entry, value, size = ZEROS[what]
    name = f'crank_{node}'
    with connected(robot) as network:
        network.verify()
        before = network.channel(name).read(entry)
        if seen:
            write(stranger, node, entry, value, size)
        else:
            network._channels[node - 1].command(entry, value)  # nobody is seen
            assert network.altered() == ()
        with pytest.raises(DriveError, match=rf'{name} .* 0x{entry.index:04X}.*; ~/reset sets'
                           if seen else rf'{name} .*0x{entry.index:04X}.*was set to'):  # fmt: skip
            network.verify()
        assert network.altered() == (name,)
        network.restore(network.altered())
        assert network.altered() == () and network.channel(name).read(entry) == before
        network.verify()


def test_what_was_homed_to_is_verified_and_set_again(robot, stranger):
    with connected(robot) as network:
        home = np.linspace(-0.5, 0.7, 6)
        network.begin_homing(home)
        network.end_homing()
        offset = network.channel('crank_2').read(objects.HOME_OFFSET)
        assert offset == network.scaling.counts_from_position(home)[1] != 0
        write(stranger, 2, objects.HOME_OFFSET, 7)
        network.restore(network.altered())
        assert network.channel('crank_2').read(objects.HOME_OFFSET) == offset
        network.verify()


def test_what_is_not_set_up_is_forgotten_as_well(robot, stranger):
    """A drive that somebody wrote to restarts: it has that from nobody then."""
    foreign, default = Object(0x6084, 0, 'profile deceleration'), 0
    with connected(robot) as network:
        default = network.channel('crank_5').read(foreign)
        write(stranger, 5, foreign, default + 5)
        assert network.altered() == ('crank_5',)
        network.restore(network.altered())
        assert network.channel('crank_5').read(foreign) == default


def test_a_drive_that_does_not_restart_stays_altered(robot, stranger, monkeypatch):
    monkeypatch.setattr('masticator_dynamics.drives.network._RESTART', 0.5)
    with connected(robot) as network:
        write(stranger, 5, objects.HOME_OFFSET, 5)
        robot.inject('deaf crank_5 3')
        with pytest.raises(DriveError, match=r'crank_5 .* does not restart'):
            network.restore(network.altered())
        assert network.altered() == ('crank_5',) == network.lost()
        robot.inject('clear crank_5')
        network.restore(network.altered())
        assert network.altered() == () == network.lost()


def test_a_write_during_a_set_up_is_told(robot, stranger, monkeypatch):
    set_up = bring_up.set_up

    def disturbed(channel, *given):
        set_up(channel, *given)
        if channel.title.startswith('crank_6'):
            write(stranger, 1, objects.HOME_OFFSET, 5)

    network = DriveNetwork(load_drives(robot.file), robot.file)
    with monkeypatch.context() as patch:
        patch.setattr(bring_up, 'set_up', disturbed)
        with pytest.raises(DriveError, match=r'crank_1 .*: another node wrote 0x607C:00 by SDO'):
            network.connect()
    with connected(robot) as network:
        write(stranger, 3, objects.HOME_OFFSET, 5)
        with monkeypatch.context() as patch:
            patch.setattr(bring_up, 'set_up', disturbed)
            patch.setattr(
                bring_up, 'check_identity', lambda *_: write(stranger, 3, objects.HOME_OFFSET, 6)
            )
            with pytest.raises(DriveError, match=r'crank_3 .*: another node wrote'):
                network.restore(network.altered())
        assert network.altered() == ('crank_3',)
        network.restore(network.altered())
        assert network.altered() == ()


def test_a_write_before_the_cycles_begin_is_told_in_the_first(robot, stranger):
    with connected(robot) as network:
        write(stranger, 4, objects.HOME_OFFSET, 5)
        network.listen()  # as at the activation
        with exchanging(network) as (_, told):
            wait_for(lambda: [f for f in list(told.kept) if f.other_master], 'told')
            texts = {f.other_master for f in told.kept if f.other_master}
        assert texts == {'crank_4: another node wrote 0x607C:00 by SDO; ~/reset sets it up'}


def forging(bus, answer, node=1):
    """Answer every reading of a drive's temperature before the drive does."""

    def run(ended):
        while not ended.is_set():
            message = bus.recv(0.05)
            if message is None or message.arbitration_id != 0x600 + node:
                continue
            if bytes(message.data) == READ_TEMPERATURE:
                bus.send(frame(0x580 + node, answer))

    drain(bus)
    return meanwhile(run)


@pytest.mark.parametrize('exchange', [False, True])
def test_an_answer_before_the_drives_own_is_not_believed(robot, stranger, exchange):
    with connected(robot) as network, contextlib.ExitStack() as stack:
        told = stack.enter_context(exchanging(network))[1] if exchange else None
        assert network.temperature(0) == pytest.approx(25.0, abs=0.2)
        with forging(stranger, degrees(20)):
            for _ in range(5):
                with pytest.raises(DriveError, match='another node answers, too'):
                    network.temperature(0)
        assert network.altered() == ('crank_1',)
        text = 'another node answers as crank_1 (0x581, SDO)'
        if exchange:
            wait_for(lambda: any(text in f.other_master for f in list(told.kept)), 'told')
        else:
            assert network.others.found() == text
        assert network.temperature(0) == pytest.approx(25.0, abs=0.2)


def test_an_answer_that_nobody_asked_for_is_told_and_reaches_nobody(robot, stranger):
    with connected(robot) as network:
        for _ in range(20):
            stranger.send(frame(0x586, degrees(20)))
        wait_for(network.altered, 'told')
        assert network.altered() == ('crank_6',)
        assert network._network.nodes[6].sdo.responses.empty()
        time.sleep(0.3)  # until all of them have come: a reading meanwhile is refused
        assert network.temperature(5) == pytest.approx(25.0, abs=0.2)


def test_whoever_reads_alters_nothing(robot, stranger):
    """And the answers to others' requests are no strangers'."""

    def read(ended):
        while not ended.wait(0.003):
            for node in range(1, 7):
                for request in ('4002200000000000', '4041600000000000', '4034120000000000',
                                '4008100000000000', '6000000000000000'):  # fmt: skip
                    stranger.send(frame(0x600 + node, bytes.fromhex(request)))

    with connected(robot) as network:
        with meanwhile(read):
            for _ in range(20):
                assert network.temperature(0) == pytest.approx(25.0, abs=0.2)
            network.verify()
        time.sleep(0.1)
        assert network.altered() == () and network.others.found() == ''


def test_answers_to_requests_from_before_the_start_are_no_strangers(robot, stranger, monkeypatch):
    """A tool may read all the time, also when this side's bus opens between request and answer."""
    start = DriveNetwork.listen

    def listen(network):
        stranger.send(frame(0x581, degrees(25)))
        start(network)

    monkeypatch.setattr(DriveNetwork, 'listen', listen)
    with connected(robot) as network:
        assert network.altered() == ()


@pytest.mark.parametrize('absolute', [True, False])
def test_an_absolute_drive_that_has_lost_its_zero_is_altered(robot, absolute):
    """It forgets the offset of the last homing with its power, and the zero with it."""
    data = yaml.safe_load(robot.file.read_text(encoding='utf-8'))
    for drive in data['drives'].values():
        drive['motor']['absolute'] = absolute
    file = robot.file.with_name('absolute.yaml')
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    with connected(robot, file) as network:
        network.begin_homing(np.full(6, 0.5))
        network.end_homing()
        network._manage(Nmt.RESET_NODE, 2)
        wait_for(lambda: 1 in network.booted, 'restart')
        assert network.lost() == ('crank_2',) and network.altered() == ()
        if absolute:
            with pytest.raises(DriveError, match='0x607C home offset was 0 instead of'):
                network.restore(network.lost())
            assert network.altered() == ('crank_2',)
            network.restore(network.altered())
        else:  # which has to be homed anyway
            network.restore(network.lost())
        assert network.altered() == () == network.lost()
