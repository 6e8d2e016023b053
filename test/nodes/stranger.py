# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A client that keeps requesting services of `servo_drives` that move or free the robot.

``python -m nodes.stranger 1000`` prints how many of that many requests were answered.
"""

import itertools
import sys
import time

import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

PATIENCE = 5.0  # s for those services that can be seen at all, and for late answers
LASTING = 0.02  # s between requests, so that all of them meet a node that could answer


def tried(count):
    """Number of requests that were answered."""
    rclpy.init()
    node = rclpy.create_node('stranger')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    leave = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_DEACTIVATE))
    asked = [
        (node.create_client(Trigger, f'servo_drives/{name}'), Trigger.Request())
        for name in ('enable', 'home', 'reset', 'approach')
    ] + [(node.create_client(ChangeState, 'servo_drives/change_state'), leave)]
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not all(client.service_is_ready() for client, _ in asked):
        executor.spin_once(timeout_sec=0.1)
    futures = []
    for client, request in itertools.islice(itertools.cycle(asked), count):
        futures.append(client.call_async(request))
        executor.spin_once(timeout_sec=LASTING)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not all(future.done() for future in futures):
        executor.spin_once(timeout_sec=0.1)
    answered = sum(future.done() for future in futures)
    node.destroy_node()
    rclpy.shutdown()
    return answered


if __name__ == '__main__':
    print(tried(int(sys.argv[1])))
