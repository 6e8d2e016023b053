# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command simulate-drives as a process, and a client on its bus that works on raw frames."""

import contextlib
import math
import pathlib
import signal
import struct

import can
import processes
import pytest
import yaml
from processes import SimulatedDrives, simulated_bus

from drives.cia_client import (
    BOOTED,
    OPERATIONAL_STATE,
    PRE_OPERATIONAL_STATE,
    RESET_NODE,
    START,
    SYNC,
    Client,
)
from drives.loopback import python_can
from drives.test_can_bus import has_socketcan

pytestmark = pytest.mark.waiting
ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = ROOT / 'config'
VCAN = 'vcan0'


def vcan_missing():
    if not has_socketcan():
        return 'this kernel has no SocketCAN (AF_CAN)'
    if not pathlib.Path('/sys/class/net', VCAN).exists():
        return f'there is no device {VCAN} (ip link add {VCAN} type vcan; ip link set {VCAN} up)'
    return ''


def simulator(folder, bus, wait=True):
    """simulate-drives on a bus."""
    data = yaml.safe_load((CONFIG / 'drives.yaml').read_text())
    data['bus'] = bus
    file = folder / 'drives.yaml'
    file.write_text(yaml.safe_dump(data))
    return SimulatedDrives(file, wait)


@contextlib.contextmanager
def simulator_on(folder, bus):
    on_lo = bus['interface'] == 'udp_multicast'
    listening = python_can(bus['channel'], bus['port']) if on_lo else can.Bus(**bus)
    with listening as listener:
        with simulator(folder, bus, wait=False) as process:  # its boot is listened to
            yield process, Client(listener)


@pytest.fixture(scope='module', params=['udp_multicast', 'socketcan'])
def started(request, tmp_path_factory):
    """The process, once its drives have booted, and a client that was started before it."""
    if request.param == 'socketcan':
        if reason := vcan_missing():
            pytest.skip(reason)
        bus = {'interface': 'socketcan', 'channel': VCAN}
    else:
        bus = simulated_bus()
    with simulator_on(tmp_path_factory.mktemp('drives'), bus) as found:
        found[0].wait_for_line('ready: 6 drives on bus', processes.START)
        wait_for_boot(found[1])
        yield found


def wait_for_boot(client):
    for node in range(1, 7):
        client.wait(0x700 + node, lambda data: data == bytes([BOOTED]))


@pytest.fixture
def running(started):
    """Both, with drives as they are after power-on, whatever an earlier test or try left."""
    process, client = started
    assert process.tell('clear all') == 'ok: clear all'
    client.forget()
    client.nmt(RESET_NODE)
    wait_for_boot(client)
    client.forget()
    return started


def test_drives_boot_and_answer(running):
    _, client = running
    for node in range(1, 7):
        assert client.read(node, 0x1018, 4) == node
        assert client.status(node) == 0x0250
        assert client.read(node, 0x6077, 0, 'h') == 0
    assert client.upload(3, 0x1008) == b'Generic CiA 402 servo drive'


def test_heartbeats_tell_nmt_states(running):
    _, client = running
    client.write(1, 0x1017, 0, 'H', 50)
    assert client.wait(0x701) == bytes([PRE_OPERATIONAL_STATE])
    client.nmt(START, 1)
    client.wait(0x701, lambda data: data[0] == OPERATIONAL_STATE)


def test_abort_codes(running):
    _, client = running
    for index, subindex, data, code in (
        (0x5000, 0, b'\x00', 0x06020000),
        (0x1018, 7, b'\x00', 0x06090011),
        (0x6064, 0, bytes(4), 0x06010002),
        (0x607A, 0, bytes(2), 0x06070013),
    ):
        with client.aborts(code):
            client.download(1, index, subindex, data)


def test_torque_moves_a_free_motor_as_its_inertia_lets_it(running):
    """J a = tau, integrated over the angle, so that only the drive's own clock matters.

    J w^2 / 2 is the work of the torque, less the losses that simulated_drives.yaml states.
    """
    _, client = running
    client.map_pdo(2, 0x1400, 0x1600, 0x202, [0x60710010])
    client.map_pdo(2, 0x1800, 0x1A00, 0x182, [0x60640020, 0x606C0020])
    client.nmt(START, 2)
    client.enable(2, 10)

    def exchange(torque):
        client.forget()
        client.send(0x202, struct.pack('<h', torque))
        client.send(SYNC)
        position, speed = struct.unpack('<ii', client.wait(0x182))
        return position / 4096 * 2.0 * math.pi, speed / 4096 * 2.0 * math.pi

    while abs(exchange(0)[1]) > 1.0:  # rad/s: a try that failed may have left it turning
        pass
    start, _ = exchange(0)
    while True:
        position, speed = exchange(100)
        turned = position - start
        if turned > 12.0:
            break
    assert client.read(2, 0x6077, 0, 'h') == 100
    client.control(2, 0)
    motor = 0.1 * 0.0882 - 0.002  # N m, less Coulomb's friction
    viscous = 1e-6 * speed * turned * 2.0 / 3.0  # speed grows as the root of the way
    work = 0.8 * (motor * turned - viscous)
    assert 0.5 * 1.0e-4 / 4.8**2 * speed**2 == pytest.approx(work, rel=0.02)


@pytest.mark.parametrize(
    ('line', 'code'), [('fault crank_3 0x2310', 0x2310), ('over-temperature crank_4', 0x4310)]
)
def test_faults_come_by_lines(running, line, code):
    process, client = running
    node = int(line.split()[1][-1])
    assert process.tell(line) == f'ok: {line}'
    data = client.wait(0x80 + node)
    assert struct.unpack_from('<H', data) == (code,)
    assert client.state(node) == 'fault'
    assert process.tell('clear all') == 'ok: clear all'
    client.control(node, 0x80)
    client.wait_state(node, 'switch on disabled')


def test_bus_off_and_back(running):
    process, client = running
    assert process.tell('bus-off crank_5') == 'ok: bus-off crank_5'
    client.forget()
    client.send(0x605, struct.pack('<BHB4x', 0x40, 0x6041, 0))
    client.status(6)  # another answers, and so does not this one
    assert not client.data_of(0x585)
    process.tell('clear crank_5')
    assert struct.unpack_from('<H', client.wait(0x85)) == (0x8140,)
    client.control(5, 0x80)
    client.wait_state(5, 'switch on disabled')


def test_lines_that_make_no_sense_change_nothing(running):
    process, client = running
    assert process.tell('explode crank_1').startswith("error: 'explode' is none of heartbeat")
    assert process.tell('drop crank_7 0.1').startswith('error: there is no drive crank_7')
    assert client.state(1) == 'switch on disabled'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_good_order(tmp_path, number):
    with simulator_on(tmp_path, simulated_bus()) as (process, client):
        process.wait_for_line('ready', processes.START)
        process.process.stdin.close()  # nobody has to talk to it
        assert client.state(1) == 'switch on disabled'
        assert process.end(number) == 0
        assert process.lines[-1].startswith('ended: ')
        assert 'Traceback' not in process.text


@pytest.mark.parametrize(
    ('bus', 'message'),
    [
        ({'interface': 'udp_multicast', 'channel': '10.0.0.1'}, 'is no multicast address'),
        ({'interface': 'socketcan', 'channel': 'can77'}, 'bus socketcan can77'),
    ],
)
def test_a_bus_that_is_not_there(tmp_path, bus, message):
    with simulator(tmp_path, bus, wait=False) as process:
        assert process.wait(processes.START) == 2
    (line,) = process.lines
    assert line.startswith('masticator: error: ') and message in line
