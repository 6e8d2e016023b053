# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The server of an action whose goals somebody looks after from time to time."""

from __future__ import annotations

from typing import Any

from rclpy.action.server import ActionServer
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics.ros.common.guard import guard_of


class GoalServer(ActionServer):
    """Goals wait without a thread or coroutine, at which the executor would look all the time."""

    def __init__(self, node: LifecycleNode, kind: type, name: str, **options: Any):
        super().__init__(node, kind, name, lambda handle: None, **options)
        self._name = name

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Do nothing at the beginning; at the end, with a callback, send the result."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def take_data(self) -> dict[str, Any]:
        """Take what waits; what cannot be read is reported."""
        try:
            taken: dict[str, Any] = super().take_data()
        except Exception as error:  # whatever came, the others still count
            guard_of(self._node).take(self._name, error)
            return {}
        return taken

    def end(self, handle: Any, result: Any, *, reached: bool) -> None:
        """End a goal and send its result."""
        if handle.is_cancel_requested:
            handle.canceled()
        elif reached:
            handle.succeed()
        else:
            handle.abort()
        self.notify_execute(handle, lambda _: result)
