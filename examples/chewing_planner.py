#!/usr/bin/env python3
# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A planner: sends a chewing stroke to node ``dynamics``, reads the torques, sends the next.

Run it beside the node: ``python3 examples/chewing_planner.py``. A planner of your own needs no
more than the two topics; where its positions come from is its own matter.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during imports: an end, no stack trace
# ruff: noqa: E402
import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.motion import chewing_stroke

LEAD = Duration(seconds=0.5)  # a trajectory is checked as a whole before it starts


class ChewingPlanner(Node):
    """One stroke after another, each sent when the one before has come to rest."""

    def __init__(self) -> None:
        super().__init__('chewing_planner')
        self.stroke = chewing_stroke(strokes=1, period=1.0, opening=0.12)
        self.peak, self.heard, self.sent = np.zeros(1), False, False
        self.refusal, self.checks = '', f'{self.get_namespace()}/dynamics: trajectory'.lstrip('/')
        self.trajectory = self.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self.create_subscription(JointState, 'feedforward_state', self.read, 50)
        self.create_subscription(DiagnosticArray, '/diagnostics', self.watch, 50)
        self.create_timer(2.0, self.send)

    def send(self) -> None:
        """Publish a stroke in the jaw's degrees of freedom, m and rad, to a node that is active."""
        if not self.heard:
            text = 'waiting for feedforward_state: node dynamics is not active yet'
            self.get_logger().info(text, throttle_duration_sec=10.0)
            return
        self.heard = False
        if self.sent:
            torques = ', '.join(f'{torque:.3f}' for torque in self.peak)
            self.get_logger().info(self.refusal or f'largest torques of the stroke, N m: {torques}')
        self.sent, self.peak = True, np.zeros(1)
        message = JointTrajectory(joint_names=['x', 'y', 'alpha', 'beta'])
        message.header.stamp = (self.get_clock().now() + LEAD).to_msg()
        times = np.linspace(0.0, 1.0, 51)
        for time, *rows in zip(times, *self.stroke.sample(times), strict=True):
            point = JointTrajectoryPoint(time_from_start=Duration(seconds=float(time)).to_msg())
            point.positions, point.velocities, point.accelerations = (row.tolist() for row in rows)
            message.points.append(point)
        self.trajectory.publish(message)

    def read(self, state: JointState) -> None:
        """Torques of the motors at state.header.stamp, in the order of state.name."""
        self.heard = True
        self.peak = np.maximum(self.peak, np.abs(state.effort))

    def watch(self, diagnostics: DiagnosticArray) -> None:
        """Why node dynamics refused the last stroke, or nothing."""
        for status in diagnostics.status:
            if status.name == self.checks:
                refused = status.level == DiagnosticStatus.ERROR
                self.refusal = f'the stroke was refused: {status.message}' if refused else ''


def main() -> None:
    """Run until Ctrl-C."""
    rclpy.init()
    try:
        rclpy.spin(ChewingPlanner())
    except Exception:
        if rclpy.ok():  # otherwise it is what Ctrl-C has led to, wherever that came
            raise


if __name__ == '__main__':
    main()
