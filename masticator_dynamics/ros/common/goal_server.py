# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The server of an action whose goals somebody looks after from time to time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action.server import ActionServer, GoalResponse
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics.ros.common.guard import guard_of

_LOOK = 0.05  # s


class GoalServer(ActionServer):
    """Goals wait without a thread or coroutine, at which the executor would look all the time.

    Parameters
    ----------
    active : callable
        Whether goals are accepted; one that is refused when it is looked at says why.
    look : callable
        Looks after the goals, twenty times a second once there are some; returns whether any are
        left.
    """

    def __init__(
        self,
        node: LifecycleNode,
        kind: type,
        name: str,
        active: Callable[[], bool],
        look: Callable[[], bool],
        **options: Any,
    ):
        self._name, self._active, self._look = name, active, look
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # a simulated one may stand still
        self._timer = node.create_timer(_LOOK, self._look_after, clock=steady)
        self._timer.cancel()
        super().__init__(
            node, kind, name, lambda handle: None, goal_callback=self._answer, **options
        )

    def destroy(self) -> None:
        """Destroy action and timer."""
        self._node.destroy_timer(self._timer)
        super().destroy()

    def look_after_it(self) -> None:
        """Begin to look, if nobody does: a timer that every goal set back would never fire."""
        if self._timer.is_canceled():
            self._timer.reset()

    def _answer(self, goal: Any) -> GoalResponse:
        return GoalResponse.ACCEPT if self._active() else GoalResponse.REJECT

    def _look_after(self) -> None:
        if not self._look():
            self._timer.cancel()

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
