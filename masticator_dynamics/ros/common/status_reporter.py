# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topic ``/diagnostics`` of a node, published once per second and on every change."""

from __future__ import annotations

import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics.drives import real_time
from masticator_dynamics.ros.common.connections import Connections
from masticator_dynamics.ros.common.diagnostics import ERROR, OK, WARN, Status
from masticator_dynamics.ros.common.direct_subscription import NO_PUBLISHER_EVENTS, RELIABLE
from masticator_dynamics.ros.common.guard import guard_of
from masticator_dynamics.ros.common.node_clock import NodeClock

_REPORT = 1.0  # s between reports without change


class StatusReporter:
    """Publishes statuses once per second, and when a level, message or value in words changes.

    Parameters
    ----------
    hardware : str
        What the statuses are about: the mechanism's name.
    collect : callable
        Returns the current statuses; called every ``look`` once the node is configured, from a
        thread of its own: the executor would take three times as long as a look does.
    look : float
        How soon a change is reported, s.
    """

    def __init__(
        self,
        node: LifecycleNode,
        hardware: str,
        collect: Callable[[], list[Status]],
        look: float = 0.2,
    ):
        self._node, self._hardware, self._collect = node, hardware, collect
        self._name = node.get_fully_qualified_name().lstrip('/')
        self._connections = Connections(node)
        self._guard, self._now = guard_of(node), NodeClock(node)
        self._publisher = node.create_publisher(
            DiagnosticArray, '/diagnostics', RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
        )
        self._reported = -10.0
        self._summary: list[tuple[bytes, str, tuple[str, ...]]] = []
        self._every = look
        self._wait: Callable[[], None] = lambda: None
        # This thread may hold Python's lock when a cycle needs it.
        self._thread = real_time.Worker('diagnostics', self._repeat, real_time.SERVICE)
        self._thread.start()

    def look_when(self, wait: Callable[[], None]) -> None:
        """Look whenever ``wait`` returns, which knows when that disturbs nobody."""
        self._wait = wait

    def destroy(self) -> None:
        """End the thread and destroy the topic."""
        self._thread.stop()
        self._node.destroy_publisher(self._publisher)

    def _repeat(self) -> None:
        while not self._thread.ended.wait(self._every):
            if getattr(self._node, 'loading', False):  # nothing is there yet to look at
                continue
            self._wait()
            try:
                self._look()
            except Exception as error:  # whatever it was, the next look may succeed
                self._guard.take('diagnostics', error, message=False)

    def _look(self) -> None:
        self._connections.look()
        statuses, now = [*self._collect(), self._messages()], time.monotonic()
        statuses.append(self._connections.status)
        # A message about what was refused hides the mode; numbers change all the time.
        summary = [(s.level, s.message, s.words) for s in statuses]
        if summary != self._summary or now - self._reported >= _REPORT:
            self._summary, self._reported = summary, now
            message = DiagnosticArray(status=[self._as_message(status) for status in statuses])
            message.header.stamp = self._now.stamp()
            self._publisher.publish(message)

    def _as_message(self, status: Status) -> DiagnosticStatus:
        values = [KeyValue(key=key, value=_text(value)) for key, value in status.values.items()]
        return DiagnosticStatus(
            level=status.level, name=f'{self._name}: {status.what}', message=status.message,
            hardware_id=self._hardware, values=values,
        )  # fmt: skip

    def _messages(self) -> Status:
        """Messages that could not be read, requests that were refused, callbacks that failed."""
        unreadable, requests = self._guard.unreadable, self._guard.requests
        failures = self._guard.failures
        values: dict[str, object] = {
            'unreadable': unreadable.rejected,
            'last unreadable': unreadable.last or 'none',
            'refused requests': requests.rejected,
            'last refused request': requests.last or 'none',
            'internal errors': failures.rejected,
            'last internal error': failures.last or 'none',
        }
        if failures.rejected:
            return Status('messages', ERROR, f'internal error: {failures.last}', values)
        if requests.recent and not unreadable.alarming:
            text = f'request refused ({requests.rejected}): {requests.last}'
            return Status('messages', WARN, text, values)
        return unreadable.status('messages', OK, 'all can be read', values, 'unreadable')


def _text(value: object) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)
