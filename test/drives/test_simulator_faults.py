# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault that can be injected: its effect on the bus, and how it ends."""

import struct

import pytest

from drives import virtual
from drives.cia_client import START, SYNC
from drives.simulated import MOTOR
from masticator_dynamics.drives.simulator.simulator import NAMES
from masticator_dynamics.errors import InputError


@pytest.fixture
def bench():
    with virtual.opened() as found:
        for node in (1, 2):
            found.client.write(node, 0x1017, 0, 'H', 20)
            found.client.map_cyclic(node)
        found.client.nmt(START)
        found.advance(0.05)
        found.client.forget()
        yield found


def exchange(bench, cycles):
    """Numbers of the cycles in which PDOs of drives 1 and 2 arrived, as lists."""
    came = ([], [])
    bench.client.forget()
    for k in range(cycles):
        bench.client.send(SYNC)
        bench.advance(0.002)
        for node in (1, 2):
            came[node - 1].extend(k for _ in bench.client.data_of(0x180 + node))
        bench.client.forget()
    return came


def beats(bench, node, duration=0.2):
    bench.client.forget()
    bench.advance(duration)
    return len(bench.client.data_of(0x700 + node))


def test_heartbeat(bench):
    bench.simulator.inject('heartbeat crank_1')
    assert beats(bench, 1) == 0
    assert beats(bench, 2) in (9, 10, 11)
    assert len(exchange(bench, 5)[0]) == 5  # all else goes on
    bench.simulator.inject('clear crank_1')
    assert beats(bench, 1) in (9, 10, 11)


def test_bus_off(bench):
    bench.client.enable(1, 10)
    bench.client.forget()
    bench.simulator.inject('bus-off crank_1')
    assert beats(bench, 1) == 0
    assert [len(found) for found in exchange(bench, 5)] == [0, 5]
    assert bench.simulator.slaves['crank_1'].device.state.words == 'fault'
    assert bench.servo().torque == pytest.approx(0.0, abs=1e-6)
    bench.client.send(0x601, struct.pack('<BHB4x', 0x40, 0x1000, 0))
    bench.advance(0.05)
    assert not bench.client.data_of(0x581)
    bench.simulator.inject('clear crank_1')
    assert bench.emergencies() == [(0x8140, 0x11)]
    assert bench.client.state(1) == 'fault'
    bench.client.control(1, 0x80)
    assert bench.client.state(1) == 'switch on disabled'


def test_over_temperature(bench):
    bench.simulator.inject('over-temperature crank_2')
    bench.advance(0.01)
    assert bench.emergencies(2) == [(0x4310, 0x09)]
    assert bench.client.read(2, 0x2002, 0, 'h') == 1050
    bench.client.control(2, 0x80)
    bench.advance(0.01)
    assert bench.client.state(2) == 'fault' and not bench.emergencies(2)  # as hot as before
    bench.simulator.inject('clear crank_2')
    bench.client.control(2, 0x00)
    bench.client.control(2, 0x80)
    assert bench.client.state(2) == 'switch on disabled'
    assert bench.client.read(2, 0x2002, 0, 'h') == 250


def test_heat_of_the_winding_itself_is_a_fault_too():
    """From 25 to 30 degrees: 0.1 N m finally heats by 5 K/W * 0.5 ohm * (5 A)^2 = 62.5 K."""
    with virtual.opened(temperature_limit=30.0, inertia=1e6) as bench:
        bench.client.enable(1, 10)
        bench.client.write(1, 0x6071, 0, 'h', 1000)
        bench.client.forget()
        bench.advance(4.0)
        assert not bench.emergencies()
        bench.advance(0.5)  # 62.5 K * (1 - exp(-t / 50 s)) = 5 K at 4.17 s
        assert bench.emergencies() == [(0x4310, 0x09)]


def test_stuck_encoder(bench):
    bench.simulator.inject('stuck-encoder crank_1')
    bench.spin(5.0)
    bench.advance(0.1)
    positions = [bench.client.read(node, 0x6064, 0, 'i') for node in (1, 2)]
    assert positions[0] == 0
    assert positions[1] > 0.5 * MOTOR['counts_per_turn'] * MOTOR['gear_ratio'] / 6.28
    bench.simulator.inject('clear crank_1')
    bench.advance(0.01)
    assert bench.client.read(1, 0x6064, 0, 'i') == pytest.approx(positions[1], rel=0.2)


def test_delay(bench):
    bench.simulator.inject('delay crank_1 0.01')
    first, second = exchange(bench, 20)
    assert second == list(range(20))
    # 10 ms after its SYNC, which is 5 cycles or, by the grid of steps, a cycle more or less.
    assert first[0] in (4, 5, 6) and len(first) == 20 - first[0]
    bench.simulator.inject('clear crank_1')
    exchange(bench, 10)
    assert exchange(bench, 10)[0] == list(range(10))


def test_drop(bench):
    bench.simulator.inject('drop crank_1 0.5')
    first, second = exchange(bench, 400)
    assert 150 < len(first) < 250 and len(second) == 400
    bench.simulator.inject('drop crank_1 1')
    assert exchange(bench, 20)[0] == []
    bench.simulator.inject('clear all')
    assert exchange(bench, 20)[0] == list(range(20))


def test_fault(bench):
    bench.simulator.inject('fault crank_2 0x2310')
    bench.advance(0.01)
    assert bench.emergencies(2) == [(0x2310, 0x03)]
    assert bench.client.state(2) == 'fault' and bench.client.state(1) == 'switch on disabled'
    bench.client.control(2, 0x80)
    assert bench.client.state(2) == 'switch on disabled'
    bench.simulator.inject('fault all 29445')
    bench.advance(0.01)
    assert bench.client.state(1) == bench.client.state(2) == 'fault'


def test_lines_are_answered_in_turn(bench):
    for line in ('heartbeat  crank_1', 'nonsense', 'clear all'):
        bench.simulator.post(line)
    bench.advance(0.001)
    assert bench.lines == [
        'ok: heartbeat crank_1',
        "error: 'nonsense' is none of " + ', '.join(NAMES),
        'ok: clear all',
    ]


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('', "'' is none of heartbeat"),
        ('heartbeat', 'heartbeat needs a drive'),
        ('heartbeat crank_9', 'there is no drive crank_9, only crank_1, crank_2'),
        ('heartbeat crank_1 1', 'heartbeat needs a drive'),
        ('drop crank_1', 'drop needs a drive .* and a share'),
        ('drop crank_1 1.5', "'1.5' is not a share from 0 to 1"),
        ('drop crank_1 nan', "'nan' is not a share"),
        ('delay crank_1 -1', "'-1' is not a time in s from 0 to 60"),
        ('delay crank_1 soon', "'soon' is not a time"),
        ('fault crank_1 0', "'0' is not an error code"),
        ('fault crank_1 0x10000', 'is not an error code'),
        ('fault crank_1 1.5', 'is not an error code'),
    ],
)
def test_lines_that_make_no_sense(bench, line, message):
    with pytest.raises(InputError, match=message):
        bench.simulator.inject(line)
    bench.advance(0.05)
    assert len(bench.client.data_of(0x701)) >= 2  # nothing has happened
