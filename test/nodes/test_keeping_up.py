# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A thread that stalls is named in a message, once, before the drives stop."""

import signal
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from processes import needs_multicast

from masticator_dynamics.ros.common import diagnostics
from nodes.drives_harness import Robot, told, write_drives
from nodes.harness import NodeProcess

pytestmark = pytest.mark.waiting

pytest.importorskip('can', reason='python-can is not installed')
needs_bus = needs_multicast


def test_it_is_told_once_of_each_and_again_after_a_quiet_minute(monkeypatch):
    now, lines = [100.0], []
    monkeypatch.setattr(diagnostics.time, 'monotonic', lambda: now[0])
    watch = diagnostics.KeepingUp(lines.append)

    def look(who, stood):
        watch.look(who, stood, 0.02, 'drives stop')

    look('A stood still', 0.02)
    assert not lines
    for _ in range(5):  # 150 s, never quiet for a minute
        look('A stood still', 0.03)
        now[0] += 30.0
    look('B stood still', 0.1)
    assert [line.split(' (')[0] for line in lines] == [
        'A stood still for 30 ms', 'B stood still for 100 ms',
    ]  # fmt: skip
    assert 'drives stop' in lines[0] and 'check-robot' in lines[0]
    now[0] += 60.0
    look('A stood still', 0.04)
    assert lines[-1].startswith('A stood still for 40 ms')


def test_a_thread_that_the_kernel_held_back_is_told_as_such():
    lines = []
    watch = diagnostics.KeepingUp(lines.append)
    watch.look('A stood still', 0.03, 0.05, 'drives stop', 0.01)
    assert not lines
    watch.look('A stood still', 0.048, 0.05, 'drives stop', 0.046)
    (line,) = lines
    assert line.startswith('A stood still for 48 ms (drives stop); the kernel held its thread back')
    assert 'for 46 ms' in line and 'sched_rt_runtime_us' in line


def stand_still(node, seconds):
    """Simulate a stall of a busy computer."""
    node.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    node.process.send_signal(signal.SIGCONT)


def told_once(node, text, seconds=0.2):
    stand_still(node, seconds)
    node.wait_for_line(text)
    stand_still(node, seconds)
    time.sleep(0.3)
    (line,) = node.log(text)
    assert 'this computer does not keep up' in line and 'WARN' in line


def test_node_dynamics_tells(node):
    told_once(node, 'the control cycle stood still for')


@needs_bus
def test_the_twin_tells(ros_domain, tmp_path):
    twin = NodeProcess('twin', namespace='slow', drives=write_drives(tmp_path))
    try:
        told_once(twin, 'the twin stood still for')
    finally:
        assert twin.end() == 0, twin.lines


@needs_bus
def test_servo_drives_tells_of_itself_and_of_whoever_commands(ros_domain, mechanism, tmp_path):
    robot = Robot(mechanism, tmp_path, 'starved', changes={'command_timeout': 0.5})
    try:
        peer, pauses = robot.enabled(), []

        def motion(t):
            time.sleep(pauses.pop() if pauses else 0.0)
            return {'position': peer.chewing(t)}

        with peer.following(motion):
            pauses.append(1.5)
            told(robot, 'until reset')
        texts = ('has been silent for', ': all drives ')
        silent, stopped = (next(k for k, line in enumerate(robot.node.lines) if text in line)
                           for text in texts)  # fmt: skip
        assert silent < stopped
        assert 'drives stop after 500 ms' in robot.node.lines[silent]
        told_once(robot.node, 'the cycle of the drives stood still for')
    finally:
        robot.close()
