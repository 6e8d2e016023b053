# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Listeners that come and go do not delay a publishing node.

JOINS=200 is the slow form: a delay would occur by chance, about once in a hundred joins.
"""

import os
import pathlib
import random
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

import rclpy
from processes import wait_for
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

from masticator_dynamics.motion import chewing_stroke

pytestmark = pytest.mark.waiting

JOINS = int(os.environ.get('JOINS', '4'))
AT_ONCE = 4
LONGEST = 20e-3  # s; less than the hold by far


class Guests:
    """Listeners with their own participants, by default over shared memory and UDP."""

    def __init__(self, topic: str):
        self.topic, self.left, self.heard = topic, JOINS, 0
        self.lock = threading.Lock()
        threads = [threading.Thread(target=self.come_and_go) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def come_and_go(self) -> None:
        while True:
            with self.lock:
                self.left -= 1
                if self.left < 0:
                    return
            heard = self.visit(f'guest_{self.left}')
            with self.lock:
                self.heard += heard

    def visit(self, name: str) -> bool:
        """Subscribe a second after joining, as `ros2 topic echo` does."""
        context, messages = rclpy.Context(), []
        rclpy.init(context=context)
        node = rclpy.create_node(name, context=context)
        time.sleep(1.2 + random.random())
        node.create_subscription(JointState, self.topic, messages.append, 10)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        end = time.monotonic() + 20.0
        while not messages and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.05)
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
        return bool(messages)


def test_the_node_has_no_port_in_shared_memory(node) -> None:
    """Without a port, none is checked, which makes the delay impossible rather than rare."""
    assert 'fastrtps_port' not in pathlib.Path(f'/proc/{node.process.pid}/maps').read_text()


def test_listeners_come_and_go_while_the_jaw_chews(node, client, mechanism) -> None:
    times = [0.01 * k for k in range(5001)]
    strokes = chewing_stroke(strokes=100, period=0.5, opening=0.02).sample(times)
    client.follow(mechanism.independent, times, *strokes, start=client.now() + 5_000_000_000)
    before = largest_lateness(client)
    guests = Guests('feedforward_state')
    assert guests.heard == JOINS
    if JOINS >= 100:  # on a computer that does nothing else
        assert largest_lateness(client) < max(LONGEST, before)


def largest_lateness(client) -> float:
    """Largest lateness of recent cycles, s."""
    wait_for(lambda: client.status('cycle'), 'diagnostics')
    return float(client.status('cycle')[2]['cycle lateness max (us)']) * 1e-6
