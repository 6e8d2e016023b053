# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Listeners that come and go delay no cycle of the demos. The slow form needs an idle computer:

``JOINS=200 pytest test/demo/test_joins.py``
"""

import functools
import os
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from nodes.test_middleware_joins import LONGEST, Guests
from rclpy.executors import SingleThreadedExecutor

from masticator_dynamics.robot.demo import run_closed_loop, run_demo
from masticator_dynamics.robot.recording import processes

pytestmark = [
    pytest.mark.clock,
    pytest.mark.skipif('JOINS' not in os.environ, reason='slow: JOINS=200 runs it'),
]

DOMAIN = 93
TOLD = 'cycle lateness max (us)', 'jitter max (us)'  # by `dynamics` and by `servo_drives`
RUNS = {
    'demo': functools.partial(run_demo, strokes=20, rate=250.0),
    'closed loop': functools.partial(run_closed_loop, strokes=20, compare=False),
}


class Watch:
    """The largest lateness of any cycle that nodes report, s."""

    def __init__(self):
        self.largest, self.messages, self._ended = 0.0, 0, threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self):
        context = rclpy.Context()
        rclpy.init(context=context)
        node = rclpy.create_node('watch', context=context)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 100)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        while not self._ended.is_set():
            executor.spin_once(timeout_sec=0.1)
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)

    def _take(self, message):
        values = [pair for status in message.status for pair in status.values if pair.key in TOLD]
        self.messages += len(values)
        self.largest = max([self.largest, *(float(pair.value) * 1e-6 for pair in values)])

    def end(self):
        self._ended.set()
        self._thread.join()
        assert self.messages
        return self.largest


@pytest.mark.parametrize('name', RUNS)
def test_listeners_come_and_go_beside_the_demos(name, tmp_path, monkeypatch):
    """Not later than in as many runs without listeners, as the computer also causes delays."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    monkeypatch.setattr(processes.random, 'randint', lambda low, high: DOMAIN)
    guests, runs, watch = [], 0, Watch()
    visits = threading.Thread(target=lambda: guests.append(Guests('feedforward_state')))
    visits.start()
    while visits.is_alive():
        RUNS[name](tmp_path)
        runs += 1
    beside, watch = watch.end(), Watch()
    for _ in range(runs):
        RUNS[name](tmp_path)
    alone = watch.end()
    print(
        f'{name}, {runs} runs: {1e3 * beside:.1f} ms with listeners, {1e3 * alone:.1f} ms without'
    )
    assert guests[0].heard == int(os.environ['JOINS'])
    assert beside < max(LONGEST, alone)
