# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A process that publishes measured cranks at 500 Hz and counts what the nodes answer.

A process of its own, as light as it gets: what it cannot take in nobody has answered. Prints how
many states were sent, completed and answered with coupling indices, and the longest wait for a
completed state (ms).
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
from masticator_dynamics.nodes.direct_subscription import DirectSubscription

STEP = 0.002  # s


def main(namespace, seconds):
    rclpy.init()
    node = rclpy.create_node('drives', namespace=namespace)
    publisher = node.create_publisher(JointState, 'joint_states_in', 50)
    topics = ((JointState, 'joint_states'), (Float64MultiArray, 'inertia_coupling/mci'))
    inputs = [DirectSubscription(node, *topic, QoSProfile(depth=2000)) for topic in topics]
    mechanism = Mechanism.load('masticator')
    times = np.arange(0.0, seconds, STEP)
    wave = np.sin(np.outer(times, [2.0, 3.0, 1.0, 6.0]))
    rows = mechanism.feedforward_batch([0.002, 0.001, 0.01, 0.06] + wave * [1e-3, 1e-3, 0.01, 0.05])
    positions = rows.position.tolist()
    message = JointState(name=list(mechanism.actuated))
    stamps, indices, ended = {}, [], threading.Event()

    def receive():
        while not ended.is_set():
            inputs[0].wait(0.05)
            for state, received in inputs[0].take():
                stamp = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
                stamps[stamp] = received - stamp
            indices.extend(inputs[1].take())

    def send(position):
        message.header.stamp = node.get_clock().now().to_msg()
        message.position = position
        publisher.publish(message)

    receiver = threading.Thread(target=receive)
    receiver.start()
    while not indices:  # until all is connected
        send(positions[0])
        time.sleep(0.05)
    time.sleep(0.5)
    stamps.clear()
    indices.clear()
    begin = time.monotonic()
    for due, position in zip(times, positions, strict=True):
        time.sleep(max(begin + due - time.monotonic(), 0.0))
        send(position)
    time.sleep(0.5)
    ended.set()
    receiver.join()
    print(len(times), len(stamps), len(indices), max(stamps.values()) * 1e-6)


if __name__ == '__main__':
    main(sys.argv[1], float(sys.argv[2]))
