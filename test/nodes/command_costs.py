# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of messages on ``servo_drives/command`` for the cycle's thread, in a separate process.

Prints a line for each poll that found messages: CPU time of the thread, s, and how many messages
so far were accepted, refused, and not converted because of their size.
"""

import time
import types

import rclpy
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics.ros import middleware
from masticator_dynamics.ros.common.guard import Guard
from masticator_dynamics.ros.middleware import refuse_pieces
from masticator_dynamics.ros.servo_drives.drive_topics import DriveTopics

CRANKS = tuple(f'crank_{k}' for k in range(1, 7))


def main():
    middleware.prepare()
    rclpy.init()
    node = LifecycleNode('servo_drives')
    node.guard = Guard(node)
    supervisor = types.SimpleNamespace(joints=CRANKS, submit=id, not_finite=int, emergency_stop=int)
    command = DriveTopics(node, supervisor, 'position')
    assert refuse_pieces() > 0
    node.get_logger().info('as every node does before it works')
    print('ready', flush=True)
    before = None
    while True:
        begin = time.thread_time()
        command.poll()
        taken = time.thread_time() - begin
        rejections = command.rejections
        counts = rejections.accepted, rejections.rejected, node.guard.unreadable.rejected
        if counts != before:
            print(taken, *counts, flush=True)
        before = counts
        time.sleep(0.002)


if __name__ == '__main__':
    main()
