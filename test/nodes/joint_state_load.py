# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A process that publishes measured cranks at 500 Hz and counts the answers.

It is a separate process and as light as possible, so that every missing answer is the node's fault.
Arguments: namespace, seconds, the topic to publish on, and the topics of the answers. Prints how
many states were sent, and how many answers came on each topic.
"""

import sys
import threading
import time

import numpy as np
import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from masticator_dynamics import Mechanism
from masticator_dynamics.ros.common.direct_subscription import DirectSubscription

STEP = 0.002  # s
QUIET = 0.5  # s without answers: no more will come
KINDS = {'joint_states': JointState}  # others are arrays


class Answers(threading.Thread):
    """Counts the messages of some topics."""

    def __init__(self, node, topics):
        super().__init__()
        self.counts = [0] * len(topics)
        self._inputs = [
            DirectSubscription(
                node, KINDS.get(topic, Float64MultiArray), topic, QoSProfile(depth=2000)
            )
            for topic in topics
        ]
        self._ended = threading.Event()

    def run(self):
        while not self._ended.wait(0.01):
            for k, source in enumerate(self._inputs):
                self.counts[k] += sum(1 for _ in source.take())

    def until_quiet(self):
        """Wait until no more messages arrive; return their number."""
        before = None
        while before != self.counts:
            before = list(self.counts)
            time.sleep(QUIET)
        return before

    def end(self):
        self._ended.set()
        self.join()


def positions(seconds):
    """Names and positions of the cranks during chewing, in steps of 2 ms."""
    mechanism = Mechanism.load('masticator')
    wave = np.sin(np.outer(np.arange(0.0, seconds, STEP), [2.0, 3.0, 1.0, 6.0]))
    rows = mechanism.feedforward_batch([0.002, 0.001, 0.01, 0.06] + wave * [1e-3, 1e-3, 0.01, 0.05])
    return list(mechanism.actuated), rows.position.tolist()


def main(namespace, seconds, source, *targets):
    rclpy.init()
    node = rclpy.create_node('drives', namespace=namespace)
    publisher = node.create_publisher(JointState, source, 50)
    names, table = positions(float(seconds))
    message = JointState(name=names)

    def send(position):
        message.header.stamp = node.get_clock().now().to_msg()
        message.position = position
        publisher.publish(message)

    answers = Answers(node, targets)
    answers.start()
    while not all(answers.counts):  # until all is connected
        send(table[0])
        time.sleep(0.05)
    before = answers.until_quiet()
    begin = time.monotonic()
    for k, position in enumerate(table):
        time.sleep(max(begin + k * STEP - time.monotonic(), 0.0))
        send(position)
    after = answers.until_quiet()
    answers.end()
    print(len(table), *(b - a for a, b in zip(before, after, strict=True)))


if __name__ == '__main__':
    main(*sys.argv[1:])
