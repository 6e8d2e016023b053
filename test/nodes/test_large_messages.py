# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of any size cost a cycle little, and their memory is returned."""

import os
import pathlib
import re
import subprocess
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from processes import PYTHON, ROOT, START, Process, wait_for
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.ros import middleware
from nodes.command_costs import CRANKS
from nodes.harness import NodeProcess, Peer

pytestmark = pytest.mark.waiting

TIMES = 4.0  # what a right command takes of the cycle's thread; the largest that is read: twice
SIZES = (1_000, 7_000, 20_000, 60_000)  # bytes; one datagram each
READ = 8192  # bytes; larger ones are refused before they are converted
LARGE = (108_000, 1_000_000, 10_000_000)  # bytes
GOOD = serialize_message(JointState(name=list(CRANKS), position=[0.0] * 6))


def of_names(size):
    """A valid message that is expensive to convert."""
    return serialize_message(JointState(name=['x'] * ((size - len(GOOD)) // 8)))


class Costs(Process):
    """Output lines of `nodes.command_costs`, and a publisher."""

    def __init__(self):
        program = *PYTHON, '-m', 'nodes.command_costs'
        super().__init__(*program, cwd=ROOT / 'test', stderr=subprocess.DEVNULL)
        self.peer = Peer('servo_drives')
        self.publisher = self.peer.node.create_publisher(JointState, 'servo_drives/command', 10)
        self.wait_for_line('ready', START)
        wait_for(self.publisher.get_subscription_count, 'a subscription')
        self.send(GOOD)  # the first fills caches

    def counts(self):
        return [int(part) for part in self.lines[-1].split()[1:]]

    def send(self, content):
        """Publish until the message is received; CPU time of the poll that received it, s."""
        before = len(self.lines)

        def heard():
            self.publisher.publish(content)  # best effort: it may get lost
            time.sleep(0.05)
            return self.lines[before:]

        return max(float(line.split()[0]) for line in wait_for(heard, 'a look'))

    def close(self):
        self.kill()
        self.peer.close()


@pytest.fixture(name='costs', scope='module')
def fixture_costs(ros_domain):
    costs = Costs()
    yield costs
    costs.close()


@pytest.mark.parametrize('size', SIZES)
def test_a_message_takes_little_of_the_cycle(costs, size):
    """The smallest of several costs, as the caches of a busy computer are sometimes cold."""
    right = min(costs.send(GOOD) for _ in range(10))
    before = costs.counts()
    assert min(costs.send(of_names(size)) for _ in range(10)) < TIMES * right
    _, refused, unread = np.subtract(costs.counts(), before)
    assert (unread if size > READ else refused) >= 10


def test_what_comes_in_pieces_is_not_even_fetched(costs):
    costs.send(GOOD)  # nothing of an earlier test comes after this
    before = costs.counts()[1:]
    for size in LARGE:
        for content in (of_names(size), GOOD + bytes(size)):
            for _ in range(5):
                costs.publisher.publish(content)
                time.sleep(0.02)
        accepted = costs.counts()[0]
        costs.send(GOOD)
        assert costs.counts()[0] > accepted
        assert costs.counts()[1:] == before


LISTENER = """
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory
rclpy.init()
node = rclpy.create_node('listener')
qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
node.create_subscription(
    JointTrajectory, 'long', lambda message: print(message.header.stamp.sec), qos)
rclpy.spin(node)
"""
STROKES, SENT = 60, 10


@pytest.mark.skipif(
    int(pathlib.Path('/proc/sys/net/core/rmem_max').read_text()) < 2_000_000,
    reason='net.core.rmem_max is too small for these messages',
)
def test_long_trajectories_reach_readers_that_are_best_effort(ros_domain):
    """As joint_trajectory_controller's is: what is lost is not sent again."""
    environment = os.environ | middleware.settings(os.environ)
    point = JointTrajectoryPoint(positions=[0.1] * 6, velocities=[0.1] * 6, accelerations=[0.1] * 6)
    message = JointTrajectory(joint_names=list(CRANKS), points=[point] * (60 * STROKES))
    assert len(serialize_message(message)) > 600_000
    peer = Peer('listener')
    try:
        with Process(*PYTHON, '-c', LISTENER, env=environment) as listener:
            publisher = peer.node.create_publisher(JointTrajectory, 'long', 10)
            wait_for(publisher.get_subscription_count, 'a subscription', START)
            time.sleep(1.0)
            for k in range(SENT):
                message.header.stamp.sec = k
                publisher.publish(message)
                time.sleep(0.3)
            expected = [str(k) for k in range(SENT)]
            wait_for(lambda: listener.lines == expected, f'all of {listener.lines}', 5.0)
    finally:
        peer.close()


def private(pid):
    """Unshared memory of a process, MB."""
    text = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text(encoding='ascii')
    return sum(map(int, re.findall(r'Private_\w+: +(\d+) kB', text))) / 1024.0


def test_memory_returns_after_a_storm(ros_domain):
    """By default the middleware would keep 40 MB of it."""
    process = NodeProcess('joint_state_completion')
    peer = Peer('joint_state_completion')
    try:
        publisher = peer.node.create_publisher(JointState, 'joint_states_in', 10)
        wait_for(publisher.get_subscription_count, 'a subscription')

        def refused():
            publisher.publish(GOOD + bytes(LARGE[0]))
            time.sleep(0.05)
            status = peer.status('messages')
            return status and status[2]['unreadable'] != '0'

        wait_for(refused, 'a refusal')
        time.sleep(1.0)
        before = private(process.pid)
        for k in range(400):
            publisher.publish(GOOD + bytes(LARGE[2 if k % 20 == 0 else 0]))
            time.sleep(0.01)
        wait_for(lambda: int(peer.status('messages')[2]['unreadable']) > 50, 'refusals')
        time.sleep(2.0)
        after = private(process.pid)
    finally:
        peer.close()
        assert process.end() == 0
    assert after < 1.2 * before, (before, after)
