# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``dynamics``: feedforward efforts for a trajectory and a measured bite force.

Watches the runtime from outside its cycle: logs what happened there, publishes diagnostics.
"""

from __future__ import annotations

import collections
import functools
import time

from masticator_dynamics.limits.load_limits import largest_shortfalls
from masticator_dynamics.ros.common.diagnostics import (
    ERROR,
    OK,
    WARN,
    KeepingUp,
    Status,
    microseconds,
)
from masticator_dynamics.ros.common.managed_node import ManagedNode
from masticator_dynamics.ros.common.status_reporter import StatusReporter
from masticator_dynamics.ros.dynamics.cycle import CycleAnswer
from masticator_dynamics.ros.dynamics.cycle_scheduler import CycleScheduler
from masticator_dynamics.ros.dynamics.dynamics_topics import WrenchInput
from masticator_dynamics.ros.dynamics.measured_wrenches import MeasuredWrenches
from masticator_dynamics.ros.dynamics.runtime import DynamicsRuntime
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_input import ACTION

_STOOD_STILL = 0.05  # s; the default of added_effort_timeout
_LATE_PART = 0.001  # fraction of the cycles, above which there is a warning


class SupervisedRuntime(DynamicsRuntime):
    """The control cycle, with topic ``/diagnostics`` once per second and on change."""

    def __init__(self, node: ManagedNode, settings: DynamicsSettings):
        super().__init__(node, settings)
        self._efforts_logged = -10.0
        self._publishing = 0  # nodes that publish joint_states
        self._timing: dict[str, object] = {}
        self._effort_news = ''  # what happened to efforts in the last second, or nothing
        self._stale: collections.defaultdict[str, set[str]] = collections.defaultdict(set)
        self._keeping_up = KeepingUp(node.get_logger().warning)
        self._reporter = StatusReporter(node, self.mechanism.name, self._collect)
        self._reporter.look_when(self.scheduler.sleep_until_quiet)

    def destroy(self) -> None:
        """Destroy topics and threads."""
        self._reporter.destroy()
        super().destroy()

    def _collect(self) -> list[Status]:
        now = time.monotonic()
        if now - self._efforts_logged > 1.0:
            self._efforts_logged = now
            scheduler = self.scheduler  # this takes as long as all the rest
            self._timing = {
                **microseconds('cycle time', scheduler.durations.spread()),
                **microseconds('cycle lateness', scheduler.lateness.spread()),
            }
            self._effort_news = '; '.join((*self._log_clamped(), *self._log_limits()))
        self._keeping_up.look(
            'the control cycle stood still', self.scheduler.late.take(), _STOOD_STILL,
            'servo_drives adds no bite force meanwhile', self.scheduler.held_back.take(),
        )  # fmt: skip
        for wrenches in (self.bite_input, self.external_input):
            self._log_stale(wrenches.topic, wrenches.kept)
        return [
            self._cycle(),
            self._trajectory(),
            self._wrench('bite force', self.bite_input),
            self._wrench('external wrench', self.external_input),
            self._efforts(),
            self._joint_states(),
        ]

    def _cycle(self) -> Status:
        counts = self.scheduler.counts
        values = _cycle_values(self.scheduler, self._timing, self.answer)
        if self.errors:
            message = f'{self.errors} cycles failed'
            return Status('cycle', ERROR, message, values)
        if counts.late + counts.skipped > _LATE_PART * counts.run + 1:
            return Status('cycle', WARN, 'more than 0.1 % of the cycles were late', values)
        message = 'active' if self.trajectory_input.active else 'not active'
        return Status('cycle', OK, message, values)

    def _trajectory(self) -> Status:
        rejections = self.trajectory_input.rejections
        mode = self.motion.mode(self.now())
        values = {
            'mode': mode,
            **rejections.values(),
            'overtaken': self.trajectory_input.overtaken,
            'last asked': self.trajectory_input.asked or 'nothing',
            'process that checks them': self.trajectory_input.preparer.state,
            'failures of that process': self.trajectory_input.preparer.failures,
            'action': ACTION if self.action else 'none: control_msgs is not installed',
        }
        if self.cycle.failure:
            message = f'stopped: {self.cycle.failure}'
            return Status('trajectory', ERROR, message, values)
        failure = self.trajectory_input.preparer.failure
        level, message = (WARN, failure) if failure else (OK, mode)
        return rejections.status('trajectory', level, message, values)

    def _wrench(self, what: str, wrench_input: WrenchInput) -> Status:
        now, wrenches = self.now(), wrench_input.kept
        state, age, stale = wrenches.state(now), wrenches.age(now), wrenches.stale(now)
        values = {
            'state': state,
            'age (s)': 'none' if age is None else age,
            'timeout (s)': wrenches.timeout,
            'stale frames': ', '.join(stale) or 'none',
            **wrench_input.rejections.values(),
        }
        level, message = OK, state
        if state == 'stale':
            level, message = ERROR, f'stale: older than {wrenches.timeout:g} s, counts as zero'
        return wrench_input.rejections.status(what, level, message, values)

    def _efforts(self) -> Status:
        counts = zip(self.mechanism.actuated, self.clamp.counts.tolist(), strict=True)
        values: dict[str, object] = {f'clamped cycles {name}': count for name, count in counts}
        watch = self.watch
        if watch is not None:
            values['cycles at limits'] = watch.bound
            values['cycles in which the motion gave way'] = watch.gave_way
            values['cycles in which nothing kept limits'] = watch.unmet
        if self._effort_news:
            return Status('effort', WARN, self._effort_news, values)
        return Status('effort', OK, 'within limits', values)

    def _joint_states(self) -> Status:
        """Whether anybody says where all joints are: RViz, planners and goals need it."""
        here = self._settings.publish_joint_states
        topic = self._node.resolve_topic_name('joint_states')
        count = self._node.count_publishers(topic)
        before, self._publishing = self._publishing, count
        values: dict[str, object] = {'publishers': count, 'published here': here}
        if here or count:
            return Status('joint states', OK, 'published', values)
        if before:
            self._node.get_logger().warning(f'nobody publishes {topic} any more')
        message = f'nobody publishes {topic}; on a robot joint_state_completion does'
        return Status('joint states', WARN, message, values)

    def _log_clamped(self) -> list[str]:
        """Log a line per second for all motors, so that none hides another; return it in short."""
        clamp, names, lines = self.clamp, [], []
        rows = zip(
            self.mechanism.actuated,
            *(numbers.tolist() for numbers in clamp.take_largest()),
            clamp.units,
            strict=True,
        )
        for name, wanted, sent, unit in rows:
            if wanted:
                names.append(name)
                lines.append(f'{name} to {sent:.6g} {unit} ({wanted:.6g} {unit} needed)')
        if not lines:
            return []
        self._node.get_logger().warning(f'effort clamped: {"; ".join(lines)}')
        return [f'clamped: {", ".join(names)}']

    def _log_limits(self) -> list[str]:
        """Log a line per second for all loads at limits and what gave way; return it in short."""
        watch, logger = self.watch, self._node.get_logger()
        if watch is None:
            return []
        news, short = watch.take_news(), []
        loads = dict(tuple(news.loads.items()))  # a cycle may be writing right now
        if loads:
            short.append(f'at limits: {", ".join(loads)}')
            lines = (
                f'{name} {load.value:.6g} {load.unit} of [{load.lower:.6g}, {load.upper:.6g}]'
                for name, load in loads.items()
            )
            logger.warning(f'limits bind: {"; ".join(lines)}')
        shortfalls = largest_shortfalls(self.mechanism, news.shortfall)
        if shortfalls:
            short.append(f'the motion gives way: {", ".join(s.name for s in shortfalls)}')
            logger.warning(f'the motion gives way: {", ".join(map(str, shortfalls))}')
        if news.unmet:
            short.append('limits cannot be kept')
            logger.warning(f'limits cannot be kept: {news.unmet}')
        return short

    def _log_stale(self, topic: str, wrenches: MeasuredWrenches) -> None:
        """Log one line when a frame becomes stale."""
        now = self.now()
        before, self._stale[topic] = self._stale[topic], set(wrenches.stale(now))
        if new := self._stale[topic] - before:
            self._node.get_logger().error(
                f'{topic} is stale ({", ".join(sorted(new))}): {wrenches.age(now, new):.3g} s old, '
                f'timeout is {wrenches.timeout:g} s; it counts as zero'
            )


def _cycle_values(
    scheduler: CycleScheduler, timing: dict[str, object], answer: CycleAnswer | None
) -> dict[str, object]:
    """Counts and timing of the cycles, and the residuals of the latest one."""
    counts = scheduler.counts
    values: dict[str, object] = {
        'real-time scheduling': scheduler.real_time,
        'processors stay awake': scheduler.awake,
        'cycles': counts.run,
        'late cycles': counts.late,
        'skipped cycles': counts.skipped,
        'clock jumps': counts.jumps,
        'stalls': counts.stalls,
        **timing,
    }
    if answer is not None:
        effort = answer.effort
        values['closure residual (m)'] = float(effort.closure_residual)
        values['balance residual (N m)'] = float(effort.balance_residual)
    return values


make_node = functools.partial(ManagedNode, 'dynamics', DynamicsSettings, SupervisedRuntime)
