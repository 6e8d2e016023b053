# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of the nodes, as a share of a core and per cycle, of two checkouts side by side.

``python -m benchmark.processor [--against CHECKOUT] [--rates 125 250] [--parts dynamics robot]``

Node ``dynamics`` chews alone: nobody listens, as many do as with rqt, food bites at 500 Hz. Then
the whole robot chews: twin, servo drives, dynamics and completion. Processor time is the kernel's
count of what each thread ran, so it tells little of what else a computer does, but for caches.
``floor`` is a process that does only part of what a node's middleware, bus and clock take: it wakes
once a cycle, publishes messages that nobody hears, looks for as many, and frames pass a socket.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from benchmark.node_loop import Listener
from masticator_dynamics import Mechanism
from masticator_dynamics.robot.recording.nodes import ClosedLoop, NodeSetup
from masticator_dynamics.robot.recording.processes import node_arguments
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription

HERE = pathlib.Path(__file__).resolve().parents[1]
WATCHED = {
    'feedforward_effort': Float64MultiArray,
    'feedforward_state': JointState,
    'contact_multipliers': JointState,
    'external_effort': JointState,
}
BITES = 500.0  # Hz
SETTLE = 1.5  # s
ATTEMPTS = 3

# What each process of a robot does in a cycle, for its floor: messages published and taken, frames
# sent and received on the bus.
FLOORS = {
    'twin': (1, 0, 6, 7),
    'servo_drives': (1, 4, 7, 6),
    'dynamics': (1, 0, 0, 0),
    'joint_state_completion': (1, 1, 0, 0),
}


def thread_times(process: int) -> dict[str, float]:
    """Processor time of each thread of a process so far by name and number, s."""
    times = {}
    for task in pathlib.Path(f'/proc/{process}/task').iterdir():
        with contextlib.suppress(FileNotFoundError):
            name = (task / 'comm').read_text().strip()
            times[f'{name} {task.name}'] = int((task / 'schedstat').read_text().split()[0]) * 1e-9
    return times


@dataclasses.dataclass
class Meter:
    """Processor time of processes between two looks."""

    processes: dict[str, int]  # process ids by name

    def look(self) -> None:
        """Begin."""
        self._begin = time.monotonic()
        self._before = {name: thread_times(pid) for name, pid in self.processes.items()}

    def shares(self) -> dict[str, dict[str, float]]:
        """Share of a core of each thread since then, by process."""
        passed = time.monotonic() - self._begin
        return {
            name: {
                thread: (now - self._before[name].get(thread, 0.0)) / passed
                for thread, now in thread_times(pid).items()
            }
            for name, pid in self.processes.items()
        }


@contextlib.contextmanager
def started(checkout: pathlib.Path, nodes: list[NodeSetup]) -> Iterator[dict[str, int]]:
    """Nodes of a checkout, active; process ids by name."""
    environment = dict(os.environ) | {'PYTHONPATH': str(checkout), 'PYTHONUNBUFFERED': '1'}
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    processes: dict[str, subprocess.Popen[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for node in nodes:
                command = node_arguments(f'{node.name}_node', node.parameters, *node.remappings)
                log = pathlib.Path(folder) / node.name
                with log.open('wb') as stream:
                    processes[node.name] = subprocess.Popen(
                        [sys.executable, *command], env=environment, cwd=checkout, stdout=stream,
                        stderr=stream,
                    )  # fmt: skip
                while node.ready not in log.read_text(errors='replace'):
                    if processes[node.name].poll() is not None:
                        raise SystemExit(f'{node.name} ended: {log.read_text(errors="replace")}')
                    time.sleep(0.05)
            yield {name: process.pid for name, process in processes.items()}
        finally:
            for process in reversed(processes.values()):
                process.terminate()
                process.wait()


class Player:
    """Has node dynamics chew; bites or listens as rqt does."""

    def __init__(self, mechanism: Mechanism):
        self._listener = Listener(mechanism, False)
        self._node = rclpy.create_node('processor')
        self._bite = self._node.create_publisher(WrenchStamped, 'bite_force', 10)
        message = WrenchStamped()
        message.header.frame_id, message.wrench.force.z = 'molar_left', -30.0
        self._data = serialize_message(message)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Receive what rqt would show."""
        topics = [
            DirectSubscription(self._node, kind, topic, QoSProfile(depth=10))
            for topic, kind in WATCHED.items()
        ]
        yield
        for topic in topics:
            topic.destroy()

    def chew(self, seconds: float) -> None:
        """Send strokes, once somebody hears them."""
        while not self._listener._publisher.get_subscription_count():
            time.sleep(0.05)
        time.sleep(SETTLE)
        self._listener.chew(seconds)

    def enable(self) -> None:
        """Enable the drives; those of a busy computer may have been stopped while they began."""
        for _ in range(ATTEMPTS):
            if self.ask('enable').success:
                return
            print(f'drives are reset: {self.ask("reset").message}', file=sys.stderr)
        raise SystemExit('the drives cannot be enabled')

    def ask(self, service: str) -> Trigger.Response:
        """What a service of the drives answers."""
        client = self._node.create_client(Trigger, f'servo_drives/{service}')
        client.wait_for_service()
        answer = client.call_async(Trigger.Request())
        rclpy.spin_until_future_complete(self._node, answer)
        return answer.result()

    def bite(self, seconds: float) -> None:
        """Publish the force of food for some time."""
        begin = time.monotonic()
        for k in range(round(seconds * BITES)):
            self._bite.publish(self._data)
            time.sleep(max(begin + k / BITES - time.monotonic(), 0.0))

    def close(self) -> None:
        """End."""
        for topic in self._listener._received:
            topic.destroy()
        self._listener.close()
        self._node.destroy_node()


def show(title: str, checkout: str, rate: float, shares: dict[str, float], threads: bool) -> None:
    """Print a process's line, and those of its threads."""
    total = sum(shares.values())
    print(f'{title:38}{checkout:8}{100 * total:7.1f} %{1e6 * total / rate:8.0f}', flush=True)
    for name, share in sorted(shares.items(), key=lambda item: -item[1]) if threads else ():
        if share > 0.002:
            print(f'    {name:50}{100 * share:7.1f} %{1e6 * share / rate:8.0f}', flush=True)


def dynamics_alone(
    checkout: pathlib.Path, label: str, rate: float, seconds: float, threads: bool
) -> None:
    """Node dynamics: nobody listens, many do, food bites."""
    mechanism = Mechanism.load('masticator')
    nodes = [NodeSetup('dynamics', 'efforts of ', {'rate': rate})]
    with started(checkout, nodes) as processes:
        player, meter = Player(mechanism), Meter(processes)
        for topic in player._listener._received:  # they would listen
            topic.destroy()
        player._listener._received.clear()
        player.chew(4.0 * seconds + 10.0)
        time.sleep(SETTLE)
        meter.look()
        time.sleep(seconds)
        show(f'dynamics {rate:g} Hz', label, rate, meter.shares()['dynamics'], threads)
        with player.watching():
            time.sleep(SETTLE)
            meter.look()
            time.sleep(seconds)
            shares = meter.shares()['dynamics']
        show(f'dynamics {rate:g} Hz, watched', label, rate, shares, threads)
        player.bite(0.5)
        meter.look()
        player.bite(seconds)
        shares = meter.shares()['dynamics']
        show(f'dynamics {rate:g} Hz, bite {BITES:g} Hz', label, rate, shares, threads)
        player.close()


def robot(checkout: pathlib.Path, label: str, rate: float, seconds: float, threads: bool) -> None:
    """All nodes of a robot that chews in simulation, drives and completion at a rate (Hz)."""
    for _ in range(ATTEMPTS):
        shares = robot_shares(checkout, rate, seconds)
        if shares:
            break
        print(f'{label}: drives have stopped meanwhile, once more', file=sys.stderr)
    for name, of_threads in shares.items():
        show(f'robot {rate:g} Hz: {name}', label, rate, of_threads, threads)


def robot_shares(
    checkout: pathlib.Path, rate: float, seconds: float
) -> dict[str, dict[str, float]]:
    """Shares of a core by process and thread; empty if the drives stopped, which costs less."""
    mechanism = Mechanism.load('masticator')
    completion = NodeSetup(
        'joint_state_completion', 'completing ', {}, ('joint_states_in:=servo_drives/state',)
    )
    with tempfile.TemporaryDirectory() as folder:
        twin, dynamics, drives = ClosedLoop(rate).nodes(pathlib.Path(folder), mechanism)
        with started(checkout, [twin, drives, dynamics, completion]) as processes:
            player, meter = Player(mechanism), Meter(processes)
            player.enable()
            player.chew(seconds + 10.0)
            time.sleep(2.0 * SETTLE)
            meter.look()
            time.sleep(seconds)
            shares = meter.shares()
            went_on = player.ask('enable').message.startswith('already enabled')
            player.close()
    return shares if went_on else {}


_FLOOR_TOPICS = 'floor_in', 'floor_out'


def run_floor(rate: float, published: int, taken: int, sent: int, received: int) -> None:
    """Be a process that only wakes, publishes, takes, and has frames come and go."""
    rclpy.init()
    node = rclpy.create_node('floor')
    publisher = node.create_publisher(JointState, _FLOOR_TOPICS[1], 10)
    inputs = [
        DirectSubscription(node, JointState, _FLOOR_TOPICS[0], QoSProfile(depth=10))
        for _ in range(taken)
    ]
    message = JointState(name=[f'joint_{k}' for k in range(6)], position=[0.0] * 6)
    message.velocity = message.effort = message.position
    data, (one, other) = serialize_message(message), socket.socketpair(type=socket.SOCK_DGRAM)
    due = time.monotonic()
    while True:
        due += 1.0 / rate
        time.sleep(max(due - time.monotonic(), 0.0))
        for _ in range(max(sent, received)):
            one.send(data[:150])
            other.recv(1024)
        for topic in inputs:
            for _ in topic.take_serialized():
                pass
        for _ in range(published):
            publisher.publish(data)


def floor(name: str, rate: float, seconds: float) -> None:
    """Print the floor of a node at a rate."""
    command = [sys.executable, '-m', 'benchmark.processor', '--floor', str(rate)]
    process = subprocess.Popen(
        [*command, *map(str, FLOORS[name])], cwd=HERE, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(2.0 * SETTLE)
        meter = Meter({name: process.pid})
        meter.look()
        time.sleep(seconds)
        show(f'floor {rate:g} Hz: {name}', '', rate, meter.shares()[name], False)
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Print a line for each process, rate and checkout."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--against', type=pathlib.Path, help='another checkout')
    parser.add_argument('--rates', type=float, nargs='+', default=[125.0, 250.0, 500.0])
    parser.add_argument('--parts', nargs='+', default=['dynamics', 'robot', 'floor'])
    parser.add_argument('--seconds', type=float, default=3.0)
    parser.add_argument('--threads', action='store_true')
    parser.add_argument('--floor', type=float, nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    if options.floor:
        rate, *counts = options.floor
        run_floor(rate, *map(int, counts))
    checkouts = {'this': HERE}
    if options.against:
        checkouts['other'] = options.against.resolve()
    rclpy.init()
    print(f'{"":46}{"of a core":>9}{"us/cycle":>8}')
    runs = {'dynamics': dynamics_alone, 'robot': robot}
    for rate in options.rates:
        for part in filter(runs.__contains__, options.parts):
            for label, checkout in checkouts.items():
                runs[part](checkout, label, rate, options.seconds, options.threads)
        if 'floor' in options.parts:
            for name in FLOORS:
                floor(name, rate, options.seconds)
    rclpy.shutdown()


if __name__ == '__main__':
    main()
