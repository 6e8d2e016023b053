# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Finding, checking and setting up drives that another process simulates."""

import math
import os
import pathlib
import re
import subprocess
import sys
import time

import can
import numpy as np
import pytest
import yaml
from processes import wait_for

from drives.robot import Robot, connected, content, exchanging
from masticator_dynamics.drives import bring_up, objects
from masticator_dynamics.drives.bring_up import cycle_time, largest_per_mille
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.drive_cycle import DriveGoal
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.objects import NmtState, Object
from masticator_dynamics.drives.other_master import emergency_words
from masticator_dynamics.errors import DriveError
from masticator_dynamics.files.share import share_directory

pytestmark = [pytest.mark.waiting, pytest.mark.early]
EDS = share_directory() / 'config' / 'cia402_servo.eds'


def told_fault(network, name):
    return emergency_words(int(network.channel(name).read(objects.ERROR_CODE)))


@pytest.fixture(scope='module')
def running(tmp_path_factory, module_port):
    robot = Robot(tmp_path_factory.mktemp('network'), content(module_port))
    yield robot
    robot.end()


def altered(robot, change):
    """A copy of the robot's drives file with a change, in the same folder."""
    data = yaml.safe_load(robot.file.read_text(encoding='utf-8'))
    change(data)
    file = robot.file.with_name('altered.yaml')
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    return file


def refusal(file):
    network = DriveNetwork(load_drives(file), file)
    with pytest.raises(DriveError) as caught:
        network.connect()
    network.close()  # nothing is left open
    return str(caught.value)


def test_what_is_written_is_there(robot):
    """Values read back equal those derived by hand from the file."""
    with connected(robot) as network:
        counts = 4096 * 4.8 / (2.0 * math.pi)  # per rad
        expected = {
            objects.CONSUMER_HEARTBEAT: 126 << 16 | 1000,
            objects.PRODUCER_HEARTBEAT: 100,
            objects.QUICK_STOP_OPTION: 2,
            objects.HALT_OPTION: 1,
            objects.FAULT_OPTION: 0,
            objects.CONNECTION_LOST_OPTION: 1,
            objects.QUICK_STOP_DECELERATION: round(300.0 * counts),
            objects.FOLLOWING_ERROR_WINDOW: round(0.2 * counts),
            objects.MAX_TORQUE: 3000,
            objects.POSITION_GAIN: float(np.float32(16.0)),
            objects.VELOCITY_GAIN: float(np.float32(0.08)),
            objects.MODE_DISPLAY: 8,
        }
        for name in network.names:
            for entry, value in expected.items():
                assert network.channel(name).read(entry) == value, f'{name} {entry}'
            # 20 ms: 0x60C2 is value * 10**index s.
            channel = network.channel(name)
            value, index = map(channel.read, (objects.CYCLE_TIME, objects.CYCLE_TIME_INDEX))
            assert value * 10.0**index == pytest.approx(0.02)


def pdo(network, name, parameters, mapping):
    def read(index, subindex):
        return network.channel(name).read(Object(index, subindex, 'PDO'))

    mapped = [f'{read(mapping, k + 1):08X}' for k in range(read(mapping, 0))]
    return read(parameters, 1), read(parameters, 2), mapped


def test_pdo_mapping(robot):
    with connected(robot) as network:
        for node_id, name in enumerate(network.names, start=1):
            assert pdo(network, name, 0x1800, 0x1A00) == (
                0x180 + node_id, 1, ['60410010', '60640020', '60770010']
            )  # fmt: skip
            assert pdo(network, name, 0x1400, 0x1600) == (
                0x200 + node_id, 1, ['60400010', '607A0020', '60B20010']
            )  # fmt: skip
        assert network.nmt_states == [NmtState.OPERATIONAL] * 6


def test_effort_mode(robot):
    file = altered(robot, lambda data: data.update(mode='effort'))
    with connected(robot, file) as network:
        assert network.channel('crank_5').read(objects.MODE_DISPLAY) == 10
        _, _, mapped = pdo(network, 'crank_5', 0x1400, 0x1600)
        assert mapped == ['60400010', '60710010']


ENABLE_AND_DIE = """
import os, sys
from drives.robot import Told
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.drive_faults import DriveGoal
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.network import DriveNetwork
network = DriveNetwork(load_drives(sys.argv[1]), sys.argv[1])
network.connect()
told = Told()
CyclicExchange(network, told).start()
told.reach(DriveGoal.ENABLED, 'operation enabled')
network.watch(False)
os._exit(7)
"""


def test_drives_that_a_dead_process_left_enabled_are_set_free(other_robot):
    """The process had told them to monitor neither heartbeat nor SYNC."""
    robot = other_robot(lambda text: text)
    ended = subprocess.run(
        [sys.executable, '-c', ENABLE_AND_DIE, robot.file],
        env=os.environ | {'PYTHONPATH': str(pathlib.Path(__file__).parents[1])},
    )
    assert ended.returncode == 7
    with connected(robot) as network:
        for name in network.names:
            state = int(network.channel(name).read(objects.STATUS_WORD)) & 0x6F
            assert state == 0x40, told_fault(network, name)


def test_temperatures(robot):
    with connected(robot) as network:
        assert network.temperature(2) == pytest.approx(25.0, abs=0.2)
        robot.inject('over-temperature crank_3')
        wait_for(lambda: network.temperature(2) > 90.0, 'temperature of crank_3')
        assert network.temperature(3) < 30.0


def test_a_drive_in_fault_stays_so_and_says_why(robot):
    robot.inject('fault crank_3 0x2310')
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.states() and told.newest.fresh.all(), 'feedback')
        assert told.states() == ['switch on disabled'] * 2 + ['fault'] + ['switch on disabled'] * 3
        assert told_fault(network, 'crank_3') == 'continuous overcurrent (0x2310)'
        told.goal = DriveGoal.ENABLED
        wait_for(lambda: told.states().count('operation enabled') == 5, 'five enabled')
        assert told.states()[2] == 'fault'
        told.reach(DriveGoal.RESET, 'switch on disabled')
        assert told_fault(network, 'crank_3') == 'no error (0x0000)'
        told.reach(DriveGoal.ENABLED, 'operation enabled')


def test_absent_drive(robot):
    def add(data):
        data['drives']['crank_7'] = {**data['drives']['crank_1'], 'node_id': 17}
        data['drives']['crank_8'] = {**data['drives']['crank_1'], 'node_id': 18}

    message = refusal(altered(robot, add))
    assert message.startswith('crank_7 (node 17), crank_8 (node 18): do not answer on bus udp_mul')


def test_wrong_rated_torque(robot):
    def change(data):
        data['drives']['crank_4']['motor'].update(rated_torque=0.1)

    assert refusal(altered(robot, change)) == (
        'crank_4 (node 4): 0x6076 motor rated torque is 0.088 N m, '
        'the drives file says 0.1 N m'
    )  # fmt: skip


def test_unit_of_rated_torque(robot):
    def change(data):
        data['drives']['crank_4']['motor'].update(rated_torque_unit=1e-6)

    assert '0x6076 motor rated torque is 8.8e-05 N m' in refusal(altered(robot, change))


def test_wrong_encoder(robot):
    def change(data):
        data['drives']['crank_2']['motor'].update(counts_per_turn=2048)

    assert refusal(altered(robot, change)) == (
        'crank_2 (node 2): 0x608F:01 encoder increments are 4096 in 1 turns, '
        'the drives file says 2048 per turn'
    )


def use_eds(robot, edit):
    """A drives file whose crank_6 has an edited EDS."""
    text = edit(EDS.read_text(encoding='utf-8'))
    robot.file.with_name('vendor.eds').write_text(text, encoding='utf-8')
    return altered(robot, lambda data: data['drives']['crank_6'].update(eds='vendor.eds'))


def test_eds_of_another_product(robot):
    file = use_eds(robot, lambda text: text.replace('VendorNumber=0x0000', 'VendorNumber=0x0123'))
    assert re.match(
        r'crank_6 \(node 6\): 0x1018:01 vendor id is 0x[0-9A-F]{8}, its EDS is for 0x01230000',
        refusal(file),
    )


@pytest.fixture
def other_robot(tmp_path, free_port):
    """Makes a robot whose crank_6 is as an edited EDS describes."""
    robots = []

    def make(edit, **changes):
        data = content(free_port) | changes
        data['drives']['crank_6']['eds'] = 'vendor.eds'
        text = edit(EDS.read_text(encoding='utf-8'))
        (tmp_path / 'vendor.eds').write_text(text, encoding='utf-8')
        robots.append(Robot(tmp_path, data))
        return robots[-1]

    yield make
    for robot in robots:
        robot.end()


def test_object_that_only_the_eds_has(other_robot):
    """The drive does not know the object."""
    robot = other_robot(lambda text: re.sub(r'\[605D\][^[]*', '', text))
    file = altered(robot, lambda data: data['drives']['crank_6'].update(eds='cia402_servo.eds'))
    assert refusal(file).startswith(
        'crank_6 (node 6): cannot write 1 to 0x605D halt option code: 0x06020000'
    )
    with connected(robot) as network:  # its own EDS does without
        assert network.nmt_states == [NmtState.OPERATIONAL] * 6


def test_a_drive_without_a_thermometer_of_the_known_kind(other_robot):
    robot = other_robot(lambda text: re.sub(r'\[2002\][^[]*', '', text))
    with connected(robot) as network:
        assert math.isnan(network.temperature(5))
        assert network.temperature(4) == pytest.approx(25.0, abs=0.2)


def test_nothing_is_asked_of_drives_that_are_not_connected(robot):
    network = DriveNetwork(load_drives(robot.file), robot.file)
    with pytest.raises(DriveError, match='is not connected'), network.receiving_by_caller():
        pass


def test_mode_that_is_not_supported(other_robot):
    only_position = r'\1DefaultValue=0x000000A0'
    robot = other_robot(
        lambda text: re.sub(r'(\[6502\][^[]*?)DefaultValue=\S+', only_position, text),
        mode='effort',
    )
    assert refusal(robot.file) == (
        'crank_6 (node 6): does not support cyclic synchronous torque (mode 10)'
    )


def test_no_cia_402_drive(other_robot):
    robot = other_robot(
        lambda text: re.sub(r'(\[1000\][^[]*?)DefaultValue=\S+', r'\1DefaultValue=0x00000191', text)
    )
    assert refusal(robot.file) == (
        'crank_6 (node 6): is no CiA 402 drive but a device of CiA 401'
    )  # fmt: skip


def test_restore_after_a_loss(robot):
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        robot.inject('bus-off crank_3')
        wait_for(lambda: told.newest.missed[2] >= 5, 'loss')
        assert (told.newest.missed[[0, 1, 3, 4, 5]] == 0).sum() >= 4
        with pytest.raises(DriveError, match=r'crank_3 \(node 3\): does not answer'):
            wait_for(lambda: told.newest.heartbeat_age[2] > 1.0, 'heartbeat')
            network.restore(network.lost())
        robot.inject('clear crank_3')
        network.restore(network.lost())
        wait_for(lambda: told.newest.fresh.all(), 'feedback')
        told.reach(DriveGoal.RESET, 'switch on disabled')
        told.reach(DriveGoal.ENABLED, 'operation enabled')


def test_a_drive_that_has_restarted_is_lost_whatever_it_says_since(robot):
    """Its settings and its home are gone, even if somebody else has started it."""
    with connected(robot) as network:
        time.sleep(0.2)
        assert network.lost() == ()
        heartbeat = {'arbitration_id': 0x702, 'is_extended_id': False}
        network._take(can.Message(**heartbeat, is_remote_frame=True))  # no sign of life
        network._take(can.Message(**heartbeat, data=b''))
        assert network.lost() == ()
        with network.receiving_by_caller():
            last = network.heard[1]
            for none in (b'', b'\x05\x05', b'\x42'):  # too short, too long, of no state
                network._take(can.Message(**heartbeat, data=none))
            assert network.heard[1] == last and network.nmt_states[1] == NmtState.OPERATIONAL
        for state in (NmtState.BOOT_UP, NmtState.OPERATIONAL):
            network._take(can.Message(**heartbeat, data=bytes((state,))))
        assert network.lost() == ('crank_2',)
        network.restore(network.lost())
        assert network.lost() == ()


def test_a_drive_that_restarts_while_another_is_set_up_is_not_started(robot, monkeypatch):
    set_up = bring_up.set_up

    def restart(channel, *given):
        set_up(channel, *given)
        if channel.title.startswith('crank_1'):
            booted = {'arbitration_id': 0x701, 'is_extended_id': False, 'data': b'\0'}
            network._take(can.Message(**booted))

    with connected(robot) as network:
        monkeypatch.setattr(bring_up, 'set_up', restart)
        with pytest.raises(DriveError, match=r'crank_1 \(node 1\): has restarted while .* set up'):
            network.restore(network.names)
        monkeypatch.undo()
        network.restore(network.lost())
        assert network.lost() == ()


def test_homing_takes_the_present_position_for_home(robot):
    home = np.linspace(-0.5, 0.7, 6)
    with connected(robot) as network, exchanging(network) as (_, told):
        wait_for(lambda: told.newest is not None and told.newest.fresh.all(), 'feedback')
        network.begin_homing(home)
        told.goal = DriveGoal.HOMING
        wait_for(lambda: (told.newest.status_word & 0x1000).all(), 'homed')
        assert set(told.states()) == {'switch on disabled'}
        told.goal = DriveGoal.TORQUE_FREE
        network.end_homing()
        wait_for(lambda: abs(told.newest.position - home).max() < 4e-4, 'positions')
        assert max(abs(feedback.velocity).max() for feedback in told.kept) < 0.5
        assert network.powered() == ()
        told.reach(DriveGoal.ENABLED, 'operation enabled')
        assert network.powered() == network.names
        assert network.channel('crank_1').read(objects.MODE_DISPLAY) == 8


def test_homing_that_one_drive_refuses_leaves_none_in_its_mode(other_robot):
    """A drive left in homing mode could be enabled with the others, but would not follow."""
    robot = other_robot(lambda text: re.sub(r'\[6098\][^[]*', '', text))
    file = altered(robot, lambda data: data['drives']['crank_6'].update(eds='cia402_servo.eds'))
    with connected(robot, file) as network:
        with pytest.raises(DriveError, match=r'crank_6 .* 0x6098'):
            network.begin_homing(np.zeros(6))
        modes = [network.channel(name).read(objects.MODE_DISPLAY) for name in network.names]
        assert modes == [8] * 6


def test_drives_that_need_not_watch_do_not_fault_without_exchange(tmp_path, free_port):
    """There is neither heartbeat nor SYNC between two exchanges."""
    data = content(free_port)
    data['heartbeat'] = {'period': 0.1, 'timeout': 1.0}  # 50 missing SYNCs take a second, too
    robot = Robot(tmp_path, data)

    def begin_and_end(network):
        with exchanging(network) as (_, told):
            wait_for(lambda: len(told.kept) > 20, 'cycles')
            network.watch(watching)

    try:
        with connected(robot) as network:
            for watching in (False, True):
                begin_and_end(network)
                time.sleep(3.0)
                assert bool(network.emergencies) == watching
                faults = [told_fault(network, name) for name in network.names]
                assert all(('no error' in fault) != watching for fault in faults)
    finally:
        robot.end()


@pytest.mark.parametrize(
    ('rate', 'expected'),
    [(500.0, (2, -3)), (250.0, (4, -3)), (1000.0, (1, -3)), (400.0, (25, -4)), (10.0, (100, -3))],
)
def test_cycle_time(rate, expected):
    value, index = cycle_time(rate)
    assert (value, index) == expected
    assert value * 10.0**index * rate == pytest.approx(1.0)


def test_cycle_time_that_no_drive_can_be_told():
    assert cycle_time(0.001) is None


def test_largest_torque_is_never_above_the_peak():
    for drive in load_drives('drives.yaml').drives.values():
        assert largest_per_mille(drive) * 0.001 * 0.0882 <= 0.2646 + 1e-12
        assert largest_per_mille(drive) == 3000
