# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lateness and memory of node ``dynamics`` chewing at 1 kHz next to a busy process.

``python -m benchmark.node_loop [ROUNDS]`` takes turns with real-time priority, with priority and a
bite force, and without priority. Efforts and states each have a listener, as on a robot. The time
that a virtual machine's host took away (``steal``) is shown, since no priority helps against it;
so is the floor: how late an idle C++ thread with the same priority wakes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from benchmark.control_loop import busy_processes
from benchmark.floor import CompilerMissingError, compiled
from benchmark.states import Array
from masticator_dynamics import Mechanism
from masticator_dynamics.drives import real_time
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription

RATE, SECONDS = 1000, 10.0
SCHEDULING = ('FIFO', 'FIFO, biting', 'ordinary')
_NODE = """
import os, sys
{scheduling}
from masticator_dynamics.ros import dynamics_node
from masticator_dynamics.ros.common import process
sys.exit(process.run(dynamics_node.make_node))
"""
_DENIED = 'os.sched_setscheduler = None; del os.sched_setscheduler'


@contextlib.contextmanager
def node(scheduling: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the node, with or without permission for real-time priority."""
    program = _NODE.format(scheduling=_DENIED if scheduling == 'ordinary' else '')
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
    """Sends motion and bite force, and keeps the diagnostics of the node's cycle."""

    def __init__(self, mechanism: Mechanism, biting: bool):
        self.values: dict[str, str] = {}
        self.latest = 0.0  # largest lateness that was told, us
        self.answered = 0  # trajectories that were accepted or refused
        self._biting = biting
        self._mechanism, self._node = mechanism, rclpy.create_node('node_loop')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._publisher = self._node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self._bite = self._node.create_publisher(WrenchStamped, 'bite_force', 10)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._take, 10)
        # The middleware receives these messages, but they are not converted here.
        self._received = [
            DirectSubscription(self._node, kind, topic, QoSProfile(depth=10))
            for kind, topic in (
                (Float64MultiArray, 'feedforward_effort'),
                (JointState, 'feedforward_state'),
            )
        ]

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == 'dynamics: cycle':
                self.values = {pair.key: pair.value for pair in status.values}
                told = self.values.get('cycle lateness max (us)', '0')
                self.latest = max(self.latest, float(told))
            elif status.name == 'dynamics: trajectory':
                counts = {pair.key: pair.value for pair in status.values}
                self.answered = int(counts['accepted']) + int(counts['rejected'])

    def listen(self, seconds: float) -> None:
        """Receive messages for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._biting:  # often enough that the bite force never times out
                message = WrenchStamped()
                message.header.frame_id, message.wrench.force.z = 'molar_left', -30.0
                self._bite.publish(message)
            self._executor.spin_once(timeout_sec=0.05)

    def chew(self, seconds: float = SECONDS + 10.0, period: float = 0.5) -> int:
        """Publish strokes that last so long, 100 points a second; return the message's bytes."""
        times = np.arange(0.0, seconds, 0.01)
        stroke = chewing_stroke(strokes=round(seconds / period), period=period, opening=0.02)
        message = JointTrajectory(joint_names=list(self._mechanism.independent))
        for after_start, *rows in zip(times.tolist(), *stroke.sample(times), strict=True):
            position, velocity, acceleration = (row.tolist() for row in rows)
            point = JointTrajectoryPoint(
                positions=position, velocities=velocity, accelerations=acceleration
            )
            after = point.time_from_start
            after.sec, after.nanosec = divmod(round(after_start * 1e9), 1_000_000_000)
            message.points.append(point)
        self._publisher.publish(message)
        return len(serialize_message(message))

    def close(self) -> None:
        """End the listener."""
        self._executor.shutdown()
        self._node.destroy_node()


def memory(process: int) -> tuple[float, float]:
    """Resident memory of a process, MB, and its proportional share of it (PSS), MB."""
    lines = pathlib.Path(f'/proc/{process}/smaps_rollup').read_text(encoding='ascii').splitlines()
    found = {line.split()[0]: int(line.split()[1]) * 1e-3 for line in lines[1:]}
    return found['Rss:'], found['Pss:']


def stolen() -> float:
    """Time that the host has taken from this machine's processors so far, s."""
    first, *_ = pathlib.Path('/proc/stat').read_text(encoding='ascii').splitlines()
    return int(first.split()[8]) / os.sysconf('SC_CLK_TCK')


def turn(mechanism: Mechanism, scheduling: str) -> dict[str, float]:
    """Run the node once: percentiles of lateness, us, memory, MB, and stolen time, ms."""
    with node(scheduling) as process:
        listener = Listener(mechanism, scheduling == 'FIFO, biting')
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
            assert granted == str(scheduling != 'ordinary'), (
                'real-time priority is not permitted here'
            )
            return {**found, 'stolen': 1e3 * (stolen() - before), 'RSS': resident, 'PSS': share}
        finally:
            listener.close()


@contextlib.contextmanager
def floor() -> Iterator[Callable[[], Array] | None]:
    """Function that measures how late (s) an idle thread wakes; None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            wake = compiled('wake_floor.cpp', pathlib.Path(folder)).wake
        except CompilerMissingError as error:
            print(f'no floor: {error}')
            yield None
            return

        def late() -> Array:
            count = round(RATE * SECONDS / 2)
            found = np.empty(count)
            with real_time.requested(real_time.DYNAMICS):
                wake(count, round(1e9 / RATE), found.ctypes.data_as(ctypes.c_void_p))
            return found * 1e-9

        yield late


def show(name: str, found: dict[str, float]) -> None:
    """Print a line."""
    print(f'{name:14}{", ".join(f"{key} {value:.0f}" for key, value in found.items())}', flush=True)


def main() -> None:
    """Print a line for each turn."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    mechanism = Mechanism.load('masticator')
    rclpy.init()
    print(f'Node dynamics at {RATE} Hz, done after due in us, beside one busy process')
    with busy_processes(1), floor() as late:
        for _ in range(rounds):
            for scheduling in SCHEDULING:
                show(scheduling, turn(mechanism, scheduling))
            if late is not None:
                before, seconds = stolen(), late()
                p50, p99 = np.percentile(seconds, (50.0, 99.0)) * 1e6
                show('floor', {
                    'p50': p50, 'p99': p99, 'max': 1e6 * seconds.max(),
                    'stolen': 1e3 * (stolen() - before),
                })  # fmt: skip
    rclpy.shutdown()


if __name__ == '__main__':
    main()
