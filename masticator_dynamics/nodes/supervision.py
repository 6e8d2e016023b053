# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Watches the runtime from outside its cycle: logs what happened there, publishes diagnostics."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.lifecycle import LifecycleNode

from masticator_dynamics.nodes.diagnostics import (
    ERROR,
    OK,
    WARN,
    Rejections,
    cycle_values,
    make_status,
)
from masticator_dynamics.nodes.publishers import NO_PUBLISHER_EVENTS, RELIABLE
from masticator_dynamics.nodes.runtime import Runtime

_LOOK = 0.05  # s; how soon a change is reported
_REPORT = 1.0  # s between reports without change
_LATE_PART = 0.001  # of the cycles, above which there is a warning


class Supervision:
    """Topic ``/diagnostics``, once per second and on change.

    Parameters
    ----------
    node : LifecycleNode
    runtime : Runtime
    """

    def __init__(self, node: LifecycleNode, runtime: Runtime):
        self._node, self._runtime = node, runtime
        self._publisher = node.create_publisher(
            DiagnosticArray, '/diagnostics', RELIABLE, event_callbacks=NO_PUBLISHER_EVENTS
        )
        self._reported = self._clamp_logged = -10.0
        self._summary: tuple[object, ...] = ()
        self._clamped: tuple[str, ...] = ()
        self._bite_state = 'none'
        # A steady clock: a simulated one may stand still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(_LOOK, self._look, clock=steady)

    def destroy(self) -> None:
        """Give topic and timer back."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._clamp_logged > 1.0:
            self._clamp_logged = now
            self._log_clamped()
        self._log_stale()
        statuses = [self._cycle(), self._trajectory(), self._bite_force(), self._efforts()]
        mode = self._runtime.motion.mode(self._runtime.now())
        summary = (mode, *((s.level, s.message) for s in statuses))
        if summary != self._summary or now - self._reported >= _REPORT:
            self._summary, self._reported = summary, now
            message = DiagnosticArray(status=statuses)
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._publisher.publish(message)

    def _status(
        self, what: str, level: bytes, message: str, values: dict[str, object]
    ) -> DiagnosticStatus:
        name = f'{self._node.get_fully_qualified_name().lstrip("/")}: {what}'
        return make_status(name, self._runtime.mechanism.name, level, message, values)

    def _cycle(self) -> DiagnosticStatus:
        runtime = self._runtime
        counts = runtime.scheduler.counts
        values = cycle_values(runtime.scheduler, runtime.answer)
        if runtime.errors:
            message = f'{runtime.errors} cycles failed'
            return self._status('cycle', ERROR, message, values)
        if counts.late + counts.skipped > _LATE_PART * counts.run + 1:
            return self._status('cycle', WARN, 'more than 0.1 % of the cycles were late', values)
        return self._status('cycle', OK, 'active' if runtime.active else 'not active', values)

    def _trajectory(self) -> DiagnosticStatus:
        runtime, rejections = self._runtime, self._runtime.trajectory_input.rejections
        mode = runtime.motion.mode(runtime.now())
        values = {'mode': mode, **rejections.values()}
        if runtime.cycle.failure:
            message = f'stopped: {runtime.cycle.failure}'
            return self._status('trajectory', ERROR, message, values)
        return self._input_status('trajectory', rejections, OK, mode, values)

    def _bite_force(self) -> DiagnosticStatus:
        runtime, rejections = self._runtime, self._runtime.bite_input.rejections
        now = runtime.now()
        state, age = runtime.bite.state(now), runtime.bite.age(now)
        values = {
            'state': state,
            'age (s)': 'none' if age is None else age,
            'timeout (s)': runtime.bite.timeout,
            **rejections.values(),
        }
        level, message = OK, state
        if state == 'stale':
            level, message = ERROR, f'stale: older than {runtime.bite.timeout:g} s, counts as zero'
        return self._input_status('bite force', rejections, level, message, values)

    def _input_status(
        self,
        what: str,
        rejections: Rejections,
        level: bytes,
        message: str,
        values: dict[str, object],
    ) -> DiagnosticStatus:
        if rejections.alarming:
            level, message = ERROR, f'rejected ({rejections.rejected}): {rejections.last}'
        return self._status(what, level, message, values)

    def _efforts(self) -> DiagnosticStatus:
        runtime = self._runtime
        counts = zip(runtime.mechanism.actuated, runtime.clamp.counts.tolist(), strict=True)
        values: dict[str, object] = {f'clamped cycles {name}': count for name, count in counts}
        if self._clamped:
            return self._status('effort', WARN, f'clamped: {", ".join(self._clamped)}', values)
        return self._status('effort', OK, 'within limits', values)

    def _log_clamped(self) -> None:
        """One line per second for all motors, so that none hides another."""
        clamp, names, lines = self._runtime.clamp, [], []
        rows = zip(
            self._runtime.mechanism.actuated,
            clamp.take_largest().tolist(),
            clamp.limits.tolist(),
            clamp.units,
            strict=True,
        )
        for name, wanted, limit, unit in rows:
            if wanted > 0.0:
                names.append(name)
                lines.append(f'{name} to {limit:.6g} {unit} ({wanted:.6g} {unit} needed)')
        self._clamped = tuple(names)
        if lines:
            self._node.get_logger().warning(f'effort clamped: {"; ".join(lines)}')

    def _log_stale(self) -> None:
        runtime = self._runtime
        now = runtime.now()
        before, self._bite_state = self._bite_state, runtime.bite.state(now)
        if self._bite_state == 'stale' and before != 'stale':
            self._node.get_logger().error(
                f'bite_force is stale: {runtime.bite.age(now):.3g} s old, timeout is '
                f'{runtime.bite.timeout:g} s; it counts as zero'
            )
