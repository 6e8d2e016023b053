# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``dynamics`` at 1 kHz, chewing, beside a busy process: how punctual, and how large it is.

``python -m benchmark.node_loop [ROUNDS]``. With and without real-time priority by turns. What the
host of a virtual machine took away meanwhile (``steal``) is told, since no priority helps against
it.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from trajectory_msgs.msg import JointTrajectory

from benchmark.control_loop import busy_processes
from masticator_dynamics import Mechanism
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.nodes.common.trajectory_cdr import encode

RATE, SECONDS = 1000, 10.0
WAYS = ('FIFO', 'ordinary')
_NODE = """
import os
{way}
from masticator_dynamics.nodes import dynamics_node
from masticator_dynamics.nodes.common import process
process.leave(dynamics_node.main())
"""
_DENIED = 'os.sched_setscheduler = None; del os.sched_setscheduler'


@contextlib.contextmanager
def node(way: str) -> Iterator[subprocess.Popen[bytes]]:
    """The node, permitted to have real-time priority, or not."""
    program = _NODE.format(way='' if way == 'FIFO' else _DENIED)
    arguments = ['--ros-args', '-p', f'rate:={float(RATE)}']
    process = subprocess.Popen(
        [sys.executable, '-c', program, *arguments], stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


class Listener:
    """Sends the motion, and keeps what the node says of its cycle."""

    def __init__(self, mechanism: Mechanism):
        self.values: dict[str, str] = {}
        self._mechanism, self._node = mechanism, rclpy.create_node('node_loop')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._publisher = self._node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 10)

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == 'dynamics: cycle':
                self.values = {pair.key: pair.value for pair in status.values}

    def listen(self, seconds: float) -> None:
        """Take what comes for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def chew(self) -> None:
        """Ask for strokes that last as long as a turn."""
        times = np.arange(0.0, SECONDS + 10.0, 0.01)
        stroke = chewing_stroke(strokes=40, period=0.5, opening=0.02)
        position, *rates = stroke.sample(times)
        rows = (position, *rates, np.zeros_like(position))  # efforts are not used
        self._publisher.publish(encode(0, self._mechanism.independent, times, rows))

    def close(self) -> None:
        """End."""
        self._executor.shutdown()
        self._node.destroy_node()


def memory(process: int) -> tuple[float, float]:
    """Resident memory of a process, MB, and its share where pages are shared."""
    lines = pathlib.Path(f'/proc/{process}/smaps_rollup').read_text(encoding='ascii').splitlines()
    found = {line.split()[0]: int(line.split()[1]) * 1e-3 for line in lines[1:]}
    return found['Rss:'], found['Pss:']


def stolen() -> float:
    """Time, s, that the host has taken from this machine's processors so far."""
    first, *_ = pathlib.Path('/proc/stat').read_text(encoding='ascii').splitlines()
    return int(first.split()[8]) / os.sysconf('SC_CLK_TCK')


def turn(mechanism: Mechanism, way: str) -> dict[str, float]:
    """One run of the node: percentiles of done after due, us, memory, MB, time stolen, ms."""
    with node(way) as process:
        listener = Listener(mechanism)
        try:
            while not listener.values:
                listener.listen(0.2)
            listener.chew()
            listener.listen(SECONDS / 2)
            before = stolen()
            listener.listen(SECONDS / 2)  # longer than the statistics look back
            resident, share = memory(process.pid)
            values = listener.values
            found = {p: float(values[f'cycle lateness {p} (us)']) for p in ('p50', 'p99', 'max')}
            found['computing p50'] = float(values['cycle time p50 (us)'])
            granted = values['real-time scheduling']
            assert granted == str(way == 'FIFO'), 'real-time priority is not permitted here'
            return {**found, 'stolen': 1e3 * (stolen() - before), 'RSS': resident, 'PSS': share}
        finally:
            listener.close()


def main() -> None:
    """Print a line for each turn."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    mechanism = Mechanism.load('masticator')
    rclpy.init()
    print(f'Node dynamics at {RATE} Hz, done after due in us, beside one busy process')
    with busy_processes(1):
        for _ in range(rounds):
            for way in WAYS:
                found = turn(mechanism, way)
                text = ', '.join(f'{name} {value:.0f}' for name, value in found.items())
                print(f'{way:9}{text}', flush=True)
    rclpy.shutdown()


if __name__ == '__main__':
    main()
