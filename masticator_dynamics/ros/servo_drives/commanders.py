# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who commands the drives: one node at a time may."""

from __future__ import annotations

from rclpy.node import Node

from masticator_dynamics.drives.drive_cycle import Goal
from masticator_dynamics.drives.drive_report import MOVING
from masticator_dynamics.drives.findings import Finding
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.ros.common.askers import who_publishes


class Commanders:
    """Publishers of ``~/command``, of which two would pull the robot to and fro.

    Parameters
    ----------
    node : rclpy.node.Node
    supervisor : Supervisor
        Stops the drives.
    """

    def __init__(self, node: Node, supervisor: Supervisor):
        self._node, self._supervisor = node, supervisor
        self._topic = node.resolve_topic_name('~/command')

    def conflict(self) -> str:
        """Who command at the same time, or ''."""
        count = self._node.count_publishers(self._topic)
        if count < 2:
            return ''
        return f'{self._topic} has {count} publishers ({who_publishes(self._node, self._topic)})'

    def look(self) -> None:
        """Stop drives that are enabled while there is more than one."""
        conflict = self.conflict()
        if conflict and self._supervisor.report().phase in MOVING:
            self._supervisor.stop(Finding('commands', 'commanders', conflict, Goal.STOPPED))
