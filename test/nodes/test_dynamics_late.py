# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `dynamics` when trajectories come late, or are over in a moment: nothing ever leaps."""

import re

import numpy as np
import pytest
import samples

from masticator_dynamics.motion import chewing_stroke, path_from_state

pytest.importorskip('rclpy', reason='rclpy is not installed')

from processes import wait_for

from nodes.harness import Client, NodeProcess, rows

pytestmark = pytest.mark.clock

MS = 1_000_000
TIMES = np.linspace(0.0, 0.4, 5)
STROKE = chewing_stroke(strokes=1, period=0.4, opening=0.05).sample(TIMES)


def meant(mechanism, times, *sampled):
    """Largest speed of a crank in a motion from home that begins in time, rad/s."""
    rest = mechanism.home.y, *np.zeros((2, 4))
    path = path_from_state(rest, times, *sampled)
    motion = mechanism.feedforward_batch(*path.sample(np.linspace(0.0, path.end, 4001)))
    return float(np.abs(motion.velocity).max())


def fastest(states):
    """Largest speed of a crank: as published, and from one position to the next, rad/s."""
    stamps, position, velocity, _ = rows(states)
    mean = np.diff(position, axis=0) / (np.diff(stamps)[:, None] * 1e-9)
    return max(float(np.abs(velocity).max()), float(np.abs(mean).max()))


def sent(client, mechanism, late, times=TIMES, sampled=STROKE):
    """Send a motion late (ns), and wait until it is over or refused; whether it was accepted."""
    before, rejected = len(client.trajectories), int(client.status('trajectory')[2]['rejected'])
    client.send(mechanism.independent, times, *sampled, start=client.now() - late if late else 0)

    def answered():
        refused = int(client.status('trajectory')[2]['rejected']) > rejected
        return refused or client.trajectories[before:]

    answer = wait_for(answered, 'an answer')
    if answer is True:
        return False
    client.finish(answer[0])
    return True


@pytest.mark.parametrize('seconds', [0.001, 0.005, 0.019])
def test_a_motion_that_is_over_in_a_moment_is_refused(at_home, mechanism, seconds):
    """One point at rest: it is too fast only on its way there."""
    begin = at_home.now()
    assert not sent(at_home, mechanism, 0, [seconds], [[(0.0, 0.0, 0.0, 0.05)]])
    _, text, _ = at_home.status('trajectory')
    assert re.search(r'at 0.\d+ s: crank_\d velocity -?\d+.* is outside \[-40, 40\] rad/s', text)
    assert fastest(at_home.states_between(begin, at_home.now())) < 1e-6


@pytest.mark.parametrize('count', samples.swept([20, 60], [20]))
def test_motions_that_come_nearly_too_late_make_nothing_leap(at_home, mechanism, count):
    """Each of 0.4 s, and 0.3 to 0.4 s late."""
    random, begin, there = np.random.default_rng(0), at_home.now(), [[(0.0, 0.0, 0.0, 0.05)]]
    for late in random.uniform(300.0, 400.0, count):
        sent(at_home, mechanism, round(late * MS), [0.4], there)
        there[0] = [(0.0, 0.0, 0.0, 0.06 - there[0][0][3])]  # there and back
    own = meant(mechanism, [0.4], [(0.0, 0.0, 0.0, 0.05)])
    assert fastest(at_home.states_between(begin, at_home.now())) <= 1.002 * own


def test_a_stroke_that_comes_a_little_late_is_joined_and_says_so(at_home, node, mechanism):
    begin = at_home.now()
    accepted = [sent(at_home, mechanism, late * MS) for late in (1, 2, 5, 10, 20, 40)]
    own = meant(mechanism, TIMES, *STROKE)
    assert fastest(at_home.states_between(begin, at_home.now())) <= 1.002 * own
    assert any(accepted)
    line = node.wait_for_line('points left out')[-1]
    assert re.search(r'accepted: 5 points, .*, late by 0.\d+ s: \d of 5 points left out', line)


def test_one_that_cannot_catch_up_is_told_what_it_would_take(at_home, mechanism):
    begin, there = at_home.now() + 600 * MS, ([2.0], [[(0.0, 0.0, 0.0, 0.03)]])
    at_home.states_between(begin, begin)  # at rest at home when it should have begun
    assert not sent(at_home, mechanism, 500 * MS, *there)
    _, text, _ = at_home.status('trajectory')
    found = re.search(
        r'late by (\d.\d+) s: joining it within [\d.]+ s takes ([\d.]+) rad/s²? of \w+, '
        r'([\d.]+) times as much as it has itself \(late_scale allows 1 times\)', text
    )  # fmt: skip
    assert found, text
    assert float(found[3]) > 1.0
    assert fastest(at_home.states_between(begin, at_home.now())) < 1e-6
    assert at_home.set_parameter('late_scale', 0.5)[0] is False
    assert at_home.set_parameter('late_scale', 100.0)[0]
    try:
        assert sent(at_home, mechanism, 500 * MS, *there), at_home.status('trajectory')
    finally:
        assert at_home.set_parameter('late_scale', 1.0)[0]


def test_the_first_trajectory_does_not_wait_for_the_process_that_checks_it(ros_domain, mechanism):
    """The process is ready before anybody can see that the node is active."""
    client = Client(namespace='first')
    node = NodeProcess(namespace='first')
    try:
        wait_for(lambda: client.status('trajectory'), 'diagnostics')
        for report in client.reports():
            values = {status.name.partition(': ')[2]: status for status in report.status}
            if values['cycle'].message == 'active':
                states = {entry.key: entry.value for entry in values['trajectory'].values}
                assert states['process that checks them'] == 'ready'
        client.connect()
        client.finish(client.follow(mechanism.independent, [0.2], [mechanism.home.y]))
        assert not node.log('waits: the process')
    finally:
        client.close()
        assert node.end() == 0
