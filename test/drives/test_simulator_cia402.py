# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""State machine, option codes and modes of the simulated drive (CiA 402-2), over SDO and PDO."""

import math
import struct

import pytest

from drives import virtual
from drives.cia_client import RESET_NODE, START, SYNC, state_of
from drives.simulated import MOTOR

CSP, CST, HOMING = 8, 10, 6
DISABLE, QUICK_STOP, SHUTDOWN, SWITCH_ON, ENABLE, RESET = 0x00, 0x02, 0x06, 0x07, 0x0F, 0x80
OFF, READY, ON, ENABLED, STOPPING, REACTING, FAULT = (
    'switch on disabled', 'ready to switch on', 'switched on', 'operation enabled',
    'quick stop active', 'fault reaction active', 'fault',
)  # fmt: skip
COUNTS = MOTOR['counts_per_turn'] * MOTOR['gear_ratio'] / (2.0 * math.pi)


@pytest.fixture
def bench():
    with virtual.opened() as found:
        yield found


def bring(bench, state):
    """Bring the drive from switch on disabled to a state by legal transitions."""
    client = bench.client
    client.write(1, 0x605A, 0, 'h', 6)
    client.write(1, 0x6060, 0, 'b', CST)
    words = {OFF: [], READY: [SHUTDOWN], ON: [SHUTDOWN, SWITCH_ON]}
    words[ENABLED] = [*words[ON], ENABLE]
    words[STOPPING] = [*words[ENABLED], QUICK_STOP]
    if state == FAULT:
        bench.simulator.inject('fault crank_1 0x2310')
    for word in words.get(state, []):
        client.control(1, word)
    assert client.state(1) == state


# Row by row the figure of CiA 402-2; what is not in it does nothing.
FIGURE = {
    OFF: {SHUTDOWN: READY},
    READY: {SWITCH_ON: ON, ENABLE: ENABLED, QUICK_STOP: OFF, DISABLE: OFF},
    ON: {ENABLE: ENABLED, SHUTDOWN: READY, QUICK_STOP: OFF, DISABLE: OFF},
    ENABLED: {SWITCH_ON: ON, SHUTDOWN: READY, QUICK_STOP: STOPPING, DISABLE: OFF},
    STOPPING: {ENABLE: ENABLED, DISABLE: OFF},
    FAULT: {RESET: OFF},
}


@pytest.mark.parametrize('word', [DISABLE, QUICK_STOP, SHUTDOWN, SWITCH_ON, ENABLE, RESET])
@pytest.mark.parametrize('state', list(FIGURE))
def test_every_command_in_every_state(bench, state, word):
    bring(bench, state)
    bench.client.control(1, word)
    bench.advance(0.05)
    asked = DISABLE if word == RESET and state != FAULT else word
    assert bench.client.state(1) == FIGURE[state].get(asked, state)


@pytest.mark.parametrize('state', [OFF, READY, ON, ENABLED, STOPPING])
def test_a_fault_ends_every_state(bench, state):
    bring(bench, state)
    bench.simulator.inject('fault crank_1 0x7305')
    bench.advance(0.002)
    assert bench.client.state(1) == FAULT
    assert bench.servo().torque == pytest.approx(0.0, abs=1e-2)


def test_fault_reset_takes_an_edge(bench):
    bench.client.control(1, RESET)
    bench.simulator.inject('fault crank_1 0x7305')
    bench.advance(0.01)
    bench.client.control(1, RESET)
    assert bench.client.state(1) == FAULT
    bench.client.control(1, 0)
    bench.client.control(1, RESET)
    assert bench.client.state(1) == OFF


def slow_down(bench):
    """Enabled in torque mode at 10 rad/s, with 100 rad/s^2 set: 0.1 s to standstill."""
    bring(bench, ENABLED)
    bench.client.write(1, 0x6085, 0, 'I', round(100.0 * COUNTS))
    bench.spin(10.0)


def speed(bench):
    return abs(float(bench.simulator.axes.plant.velocity[0]))


@pytest.mark.parametrize(('option', 'after'), [(2, OFF), (6, STOPPING)])
def test_quick_stop_options(bench, option, after):
    slow_down(bench)
    bench.client.write(1, 0x605A, 0, 'h', option)
    bench.client.control(1, QUICK_STOP)
    bench.advance(0.05)
    assert bench.client.state(1) == STOPPING and speed(bench) == pytest.approx(5.0, abs=1.0)
    if after == OFF:
        bench.client.control(1, ENABLE)  # comes too early
        assert bench.client.state(1) == STOPPING
        bench.client.control(1, QUICK_STOP)
    bench.advance(0.1)
    assert bench.client.state(1) == after
    if after == STOPPING:
        bench.advance(0.2)
        assert speed(bench) < 0.1
        assert bench.client.status(1) & 0x0400  # at standstill


@pytest.mark.parametrize('option', [0, 2])
def test_fault_reaction_options(bench, option):
    slow_down(bench)
    bench.client.write(1, 0x605E, 0, 'h', option)
    bench.simulator.inject('fault crank_1 0x8611')
    bench.advance(0.05)
    if option == 0:
        assert bench.client.state(1) == FAULT and speed(bench) == pytest.approx(10.0, rel=0.05)
        return
    assert bench.client.state(1) == REACTING and speed(bench) == pytest.approx(5.0, abs=1.0)
    bench.client.control(1, DISABLE)  # a reaction is not interrupted
    bench.advance(0.01)
    assert bench.client.state(1) == REACTING
    bench.advance(0.1)
    assert bench.client.state(1) == FAULT


def test_what_cannot_slow_down_lets_go(bench):
    slow_down(bench)
    bench.client.write(1, 0x605E, 0, 'h', 2)
    bench.simulator.inject('fault crank_1 0x2310')
    bench.advance(0.01)
    assert bench.client.state(1) == FAULT
    assert bench.servo().torque == pytest.approx(0.0, abs=1e-6)


def exchange(bench, word, position, torque=0):
    client = bench.client
    client.send(0x201, struct.pack('<Hih', word, position, torque))
    client.send(SYNC)
    bench.advance(0.002)
    return struct.unpack('<Hih', client.wait(0x181))


def start_csp(bench):
    client = bench.client
    client.map_cyclic(1)
    client.write(1, 0x60C2, 1, 'B', 2)
    client.write(1, 0x6060, 0, 'b', CSP)
    client.nmt(START)
    for word in (SHUTDOWN, SWITCH_ON, ENABLE, ENABLE):
        status, position, _ = exchange(bench, word, 0)
    assert state_of(status) == ENABLED and position == 0


def test_position_follows_over_pdos(bench):
    start_csp(bench)
    for k in range(500):
        target = round(0.5 * COUNTS * (1.0 - math.cos(2.0 * math.pi * 2.0 * k * 0.002)))
        status, position, _ = exchange(bench, ENABLE, target)
    assert status & 0x3C6F == 0x1027  # follows, no error, no limit
    assert abs(position - target) < 0.02 * COUNTS
    assert bench.client.read(1, 0x6064, 0, 'i') == pytest.approx(position, abs=100)
    plant = bench.simulator.axes.plant
    assert plant.position[0] * COUNTS == pytest.approx(position, abs=0.02 * COUNTS)


def test_enabling_holds_the_measured_position_until_a_target_comes(bench):
    bench.spin(5.0)
    bench.advance(0.1)
    bench.spin(0.0)
    before = float(bench.simulator.axes.plant.position[0])
    assert before > 0.3
    bench.client.enable(1, CSP)
    bench.advance(0.2)
    assert bench.simulator.axes.plant.position[0] == pytest.approx(before, abs=0.01)


def test_following_error_beyond_its_window_is_a_fault(bench):
    start_csp(bench)
    client = bench.client
    client.write(1, 0x6065, 0, 'I', round(0.1 * COUNTS))
    client.write(1, 0x6066, 0, 'H', 10)
    client.write(1, 0x6072, 0, 'H', 20)  # too weak to follow
    client.write(1, 0x605E, 0, 'h', 0)
    client.forget()
    codes, seen = [], 0
    for k in range(300):
        status, _, _ = exchange(bench, ENABLE, round(20.0 * k * 0.002 * COUNTS))
        seen |= status
        codes += bench.emergencies()
        if codes:
            break
    assert codes == [(0x8611, 0x21)]
    assert seen & 0x2000 and seen & 0x0800  # the error was told before, and the limit
    assert client.state(1) == FAULT


def test_torque_over_pdos_turns_an_inertia(bench):
    """J a = tau, where tau is the target in per mille of the rated torque, through the gear."""
    client = bench.client
    client.map_pdo(1, 0x1400, 0x1600, 0x201, [0x60400010, 0x60710010])
    client.map_pdo(1, 0x1800, 0x1A00, 0x181, [0x60410010, 0x60640020, 0x60770010])
    client.write(1, 0x6060, 0, 'b', CST)
    client.nmt(START)
    positions, per_mille = [], 50
    for word in [SHUTDOWN, SWITCH_ON] + [ENABLE] * 102:
        client.send(0x201, struct.pack('<Hh', word, per_mille))
        client.send(SYNC)
        bench.advance(0.002)
        status, position, torque = struct.unpack('<Hih', client.wait(0x181))
        positions.append(position / COUNTS)
    assert state_of(status) == ENABLED and torque == per_mille
    acceleration = per_mille / 1000.0 * MOTOR['rated_torque'] * MOTOR['gear_ratio'] / 2e-4
    found = (positions[-1] - 2.0 * positions[-51] + positions[-101]) / 0.1**2
    assert found == pytest.approx(acceleration, rel=2e-3)


@pytest.mark.parametrize('method', [35, 37])
def test_homing_calls_the_present_position_home(bench, method):
    client = bench.client
    client.write(1, 0x6060, 0, 'b', HOMING)
    client.write(1, 0x6098, 0, 'b', method)
    client.write(1, 0x607C, 0, 'i', -1234)
    assert client.status(1) & 0x3400 == 0x0400  # not started
    client.control(1, 0x10)
    assert client.status(1) & 0x3400 == 0x1400
    assert client.read(1, 0x6064, 0, 'i') == -1234
    client.write(1, 0x6060, 0, 'b', CSP)
    assert client.status(1) & 0x1000 == 0
    client.enable(1, CSP)
    bench.advance(0.1)
    assert client.read(1, 0x6064, 0, 'i') == -1234
    assert bench.simulator.axes.plant.position[0] == pytest.approx(0.0, abs=1e-3)
    client.nmt(RESET_NODE)
    assert client.read(1, 0x6064, 0, 'i') == 0


def test_homing_without_a_method_fails(bench):
    bench.client.write(1, 0x6060, 0, 'b', HOMING)
    bench.client.control(1, 0x10)
    assert bench.client.status(1) & 0x3400 == 0x2400


def test_status_word_warns_of_heat(bench):
    slave = bench.simulator.slaves['crank_1']
    slave.added_heat = 70.0
    assert bench.client.status(1) & 0x0080
    assert bench.client.read(1, 0x2002, 0, 'h') == 950
    assert bench.client.state(1) == OFF
