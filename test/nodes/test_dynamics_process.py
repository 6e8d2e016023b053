# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics` as a process: start, parameters, life cycle, clocks, singular poses, end."""

import pathlib
import signal
import time

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.motion import path_from_state

pytest.importorskip('rclpy', reason='rclpy is not installed')

from lifecycle_msgs.msg import State, Transition
from processes import START, wait_for
from rosgraph_msgs.msg import Clock

from nodes.harness import Client, NodeProcess, nanoseconds, rows, to_time

pytestmark = [pytest.mark.waiting, pytest.mark.early]

FIVE_BAR = pathlib.Path(__file__).parents[1] / 'mechanisms/five_bar.yaml'

LONG, OPEN = 20.0, (0.0, 0.0, 0.0, 0.05)  # s, and where that leads; a busy computer takes seconds
OPTIONS = {'goal': 'joint-force', 'friction': True}

REFUSED = {
    'goal': ({'goal': 'speed'}, "'speed'"),
    'mechanism': ({'mechanism': 'rss7'}, 'rss7'),
    'range': ({'rate': 5000.0}, 'rate out of range'),
}


def test_unusable_parameters_end_the_node_with_one_line(ros_domain):
    for name, (given, _) in REFUSED.items():
        process = NodeProcess(wait=False, namespace='refused', **given)
        try:
            code = process.process.wait(START)
        finally:
            process.end()
        assert code == 1, name
        lines = [line for line in process.lines if 'loading mechanism' not in line]
        assert len(lines) == 1, lines
        assert REFUSED[name][1] in lines[0]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_while_starting_ends_the_node_cleanly(ros_domain, number):
    process = NodeProcess(wait=False, namespace='starting')
    process.wait_for_line('the first time, compiling takes', patience=START)
    assert process.end(number) == 0
    assert not process.log('Traceback')


def check_holds_home(client, mechanism):
    """Check efforts at rest at home, with and without a bite force, before any trajectory."""
    home, force = mechanism.home, (3.0, -2.0, -30.0)
    assert client.status('trajectory')[2]['mode'] == 'hold home'
    _, position, velocity, effort = rows(client.collect())
    assert np.abs(position - home.position).max() < 1e-12
    assert not velocity.any()
    assert np.abs(effort - mechanism.feedforward(home.y, **OPTIONS).actuated).max() < 1e-9
    wrench = mechanism.wrench_on_platform(home, force, (0, 0, 0), 'incisor', 'incisor')
    wanted = mechanism.feedforward(home.y, wrench=wrench, **OPTIONS).actuated
    assert np.abs(wanted - effort[0]).max() > 0.05
    for frame in ('left/incisor', 'incisor'):
        with client.biting(frame, force):
            assert client.settles_at(wanted)
    for name, messages in client.contacts.items():
        wait_for(lambda messages=messages: messages, name)
        assert messages[-1].header.frame_id == f'left/{name}'


def check_efforts(answer, mechanism):
    """Check that the effort trajectory also uses the parameters' goal and friction."""
    rest = (mechanism.home.y, np.zeros(4), np.zeros(4))
    path = path_from_state(rest, [LONG], [OPEN])
    sampled = path.sample([nanoseconds(p.time_from_start) * 1e-9 for p in answer.points])
    wanted = mechanism.feedforward_batch(*sampled, **OPTIONS).actuated
    plain = mechanism.feedforward_batch(*sampled).actuated
    assert np.abs(np.array([p.effort for p in answer.points]) - wanted).max() < 1e-6
    assert np.abs(wanted - plain).max() > 1e-4


def check_stops_where_it_is(client, mechanism):
    """Check that nothing is published while inactive, and that the mechanism then stays put."""
    last = client.states[-1].position
    client.change(Transition.TRANSITION_DEACTIVATE)
    off = client.now()
    time.sleep(0.3)
    on = client.now()
    client.change(Transition.TRANSITION_ACTIVATE)
    held = client.collect(1)[0]
    assert not [s for s in client.states if off < nanoseconds(s.header.stamp) < on]
    assert not np.any(held.velocity)
    way = np.array([last, mechanism.solve(OPEN).position])
    assert (way.min(axis=0) <= held.position).all() and (held.position <= way.max(axis=0)).all()
    assert np.abs(held.position - way[1]).max() > 0.01  # it had not arrived


def test_lifecycle_without_autostart_and_the_end_by_sigterm(ros_domain, mechanism):
    given = OPTIONS | {'autostart': False, 'frame_prefix': 'left/'}
    process = NodeProcess(wait=False, namespace='managed', **given)
    client = Client(mechanism.contacts, namespace='managed')
    try:
        change, state = client.change, client.state
        assert state() == State.PRIMARY_STATE_UNCONFIGURED
        change(Transition.TRANSITION_CONFIGURE)
        assert state() == State.PRIMARY_STATE_INACTIVE
        wait_for(lambda: client.status('cycle'), 'diagnostics')
        client.send(mechanism.independent, [0.5], [mechanism.home.y])
        client.wait_for_status('trajectory', 'ERROR', 'not active')
        assert not client.states
        change(Transition.TRANSITION_ACTIVATE)
        client.connect()
        check_holds_home(client, mechanism)
        answer = client.follow(mechanism.independent, [LONG], [OPEN])
        check_efforts(answer, mechanism)
        middle = nanoseconds(answer.header.stamp) + 1_000_000_000
        client.states_between(middle, middle)
        client.wait_for_value('trajectory', 'mode', 'running')
        check_stops_where_it_is(client, mechanism)
        change(Transition.TRANSITION_DEACTIVATE)
        change(Transition.TRANSITION_CLEANUP)
        change(Transition.TRANSITION_CONFIGURE)
        change(Transition.TRANSITION_ACTIVATE)
        again = client.collect(1)[-1]
        assert again.position == pytest.approx(mechanism.home.position, abs=1e-12)
        assert process.end(signal.SIGTERM) == 0
    finally:
        client.close()
        process.end()
    assert not process.log('Traceback')


HEAVY = ('llvmlite', 'pydantic_core', 'scipy')


def test_a_node_that_finds_its_code_loads_little(ros_domain, mechanism):
    """The first node may have to compile, so it is not checked."""
    for _ in range(2):
        process = NodeProcess(namespace='small')
        client = Client(mechanism.contacts, namespace='small')
        try:
            client.connect()
            client.follow(mechanism.independent, [0.2], [OPEN])
            client.follow(mechanism.actuated, [0.2], [mechanism.home.position])
            with client.biting('incisor', (0.0, 0.0, -20.0)):
                client.collect(200)
            maps = pathlib.Path(f'/proc/{process.process.pid}/maps').read_text()
        finally:
            client.close()
            assert process.end() == 0
    assert 'numpy' in maps
    assert not [name for name in HEAVY if f'/{name}' in maps]


def test_singular_configuration_is_refused(ros_domain):
    """With its rods in line, the motors cannot push the pin; also tests a user's mechanism file."""
    process = NodeProcess(mechanism=str(FIVE_BAR), namespace='example')
    client = Client(namespace='example')
    try:
        client.connect()
        five_bar = Mechanism.load(FIVE_BAR)
        flat = (0.0, np.sqrt(0.2**2 - 0.175**2))
        client.send(five_bar.independent, [1.0], [flat])
        _, text, _ = client.wait_for_status('trajectory', 'ERROR')
        assert 'at 1 s: actuators motor_1, motor_2 lose control at x = 0' in text
        _, position, *_ = rows(client.collect())
        assert np.abs(position - five_bar.home.position).max() < 1e-12
    finally:
        client.close()
        assert process.end() == 0


def test_simulated_time_is_followed(ros_domain, mechanism):
    process = NodeProcess(use_sim_time=True, namespace='simulated')
    client = Client(namespace='simulated')
    try:
        clock = client.node.create_publisher(Clock, '/clock', 10)
        wait_for(clock.get_subscription_count, 'a subscription to /clock')
        time.sleep(0.2)
        assert not client.states

        def follows(now):
            clock.publish(Clock(clock=to_time(now)))
            newest = client.states[-1:]
            return newest and abs(nanoseconds(newest[0].header.stamp) - now) < 50_000_000

        def advance(begin, end, step=4_000_000):
            """Advance the clock as fast as the node follows."""
            for now in range(begin, end, step):
                wait_for(lambda now=now: follows(now), 'states of the time that the clock shows')

        second = 10**9
        advance(100 * second, 100 * second + second // 5)
        client.connect()
        client.follow(mechanism.independent, [0.2], [OPEN], start=101 * second)
        advance(100 * second + second // 5, 102 * second)
        client.states_between(102 * second - second // 10, 102 * second - second // 10)
        stamps, position, velocity, _ = rows(client.states)
        assert stamps[0] >= 100 * second and stamps[-1] <= 102 * second
        moving = velocity.any(axis=1)
        assert stamps[moving].min() > 101 * second
        assert stamps[moving].max() < 101 * second + second // 5 + 2_000_000
        assert np.abs(position[-1] - mechanism.solve(OPEN).position).max() < 1e-9
        time.sleep(0.5)
        assert nanoseconds(client.states[-1].header.stamp) <= 102 * second  # the clock stands still
        client.bite('mandible', (0.0, 0.0, -40.0), stamp=102 * second)
        advance(102 * second, 102 * second + second // 50)
        wait_for(lambda: np.any(client.external[-1].effort), 'the share of the bite force')
        advance(50 * second, 50 * second + second // 5)  # and back, as when a bag starts over
        process.wait_for_line('clock jumped')
        assert not np.any(client.external[-1].effort)  # what was measured then is not fresh now
        assert nanoseconds(client.states[-1].header.stamp) < 51 * second
        assert client.states[-1].position == pytest.approx(position[-1], abs=1e-9)
    finally:
        client.close()
        assert process.end() == 0


def test_a_start_by_another_clock_is_refused_with_both_times(ros_domain, mechanism):
    """Simulated time for the node, the time of day for the planner, and the other way round."""
    process = NodeProcess(use_sim_time=True, namespace='clocks', rate=100.0)
    client = Client(namespace='clocks')
    try:
        wait_for(lambda: client.status('trajectory'), 'diagnostics')
        wait_for(client._trajectory.get_subscription_count, 'joint_trajectory')
        client.send(mechanism.independent, [0.2], [OPEN], start=1_795_611_822 * 10**9)
        text = '1.79561e+09 s ahead of the clock of this node, which says 0.000 s; up to 60 s'
        status = client.wait_for_status('trajectory', 'ERROR', text)
        assert 'it starts at 1795611822.000 s, ' in status[1]
        clock = client.node.create_publisher(Clock, '/clock', 10)
        wait_for(clock.get_subscription_count, 'a subscription to /clock')
        at_100 = Clock(clock=to_time(100 * 10**9))  # where the clock stops
        wait_for(lambda: clock.publish(at_100) or client.states, 'states')
        client.send(mechanism.independent, [0.2], [OPEN], start=160_010_000_000)
        client.wait_for_status('trajectory', 'ERROR', 'it starts at 160.010 s, 60.01 s ahead of')
        assert client.set_parameter('start_horizon', 3600.0)[0]
        client.follow(mechanism.independent, [0.2], [OPEN], start=160_010_000_000)
        assert client.set_parameter('start_horizon', float('nan'))[0] is False
    finally:
        client.close()
        assert process.end() == 0
