# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process that plays and records: enables the drives, sends the motion, takes everything.

Tells its parent how far it is as :mod:`masticator_dynamics.demo.player` does.
"""

from __future__ import annotations

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.demo import topics
from masticator_dynamics.demo.closed_loop.health import Health
from masticator_dynamics.demo.processes import load_in_words
from masticator_dynamics.demo.recorder import (
    LEAD,
    LEAD_PART,
    QUIET,
    Recorder,
    Report,
    parse_arguments,
    play,
    print_report,
    trajectory_message,
)
from masticator_dynamics.demo.script import Script
from masticator_dynamics.drives.report import Phase

TAIL = 1.2  # s, recorded after the end of the motion: diagnostics come once per second
_RESET = 3.0  # s, for a reset to show in diagnostics
_AWAITED = (topics.BITE_FORCE, topics.STATE, topics.DRIVES, topics.TRUTH)


class ClosedLoopPlayer(Recorder):
    """Waits for all nodes, enables the drives, plays, records.

    Parameters
    ----------
    script : Script
    report : callable
        Called with what the parent should know.
    """

    def __init__(self, script: Script, report: Report):
        self._health = Health()
        super().__init__('chewing_player', topics.CLOSED_LOOP, report)
        self._script = script
        self._start: int | None = None  # of the motion, ns since 1970
        self._connected: float | None = None
        self._enabling: Any = None
        self._before = self._health.counts
        self._stopped: int | None = None  # when the drives were seen to have, ns since 1970
        self._trajectory = self.create_publisher(JointTrajectory, topics.TRAJECTORY, self.qos)
        self._enable = self.create_client(Trigger, topics.ENABLE)
        self._reset = self.create_client(Trigger, topics.RESET)
        self._resetting: Any = None
        self._asked: float | None = None  # when a reset was asked for, s
        self.create_timer(0.1, self._go_on)

    def taken(self, topic: str, content: bytes) -> None:
        """Look at diagnostics."""
        if topic == topics.DIAGNOSTICS:
            self._health.take(deserialize_message(content, DiagnosticArray).status)

    def _go_on(self) -> None:
        if self._health.stopped and self._enabling is not None:
            self._give_up()
        elif self._start is not None:
            self._finish()
        elif self._enabling is not None:
            self._start_when_enabled()
        else:
            self._enable_when_connected()

    def _enable_when_connected(self) -> None:
        lacking = [f'nothing on {topic}' for topic in _AWAITED if topic not in self.heard]
        if not self._trajectory.get_subscription_count():
            lacking.append(f'nobody listens on {topics.TRAJECTORY}')
        if not self._enable.service_is_ready():
            lacking.append(f'no service {topics.ENABLE}')
        self.report({'phase': 'waiting', 'lacking': lacking})
        if lacking:
            self._connected = None
        elif self._connected is None:
            self._connected = time.monotonic()
        elif self._resetting is not None and not self._resetting.done():
            return
        elif time.monotonic() - self._connected > QUIET:
            self._enable_or_reset()

    def _enable_or_reset(self) -> None:
        if not self._health.stopped:
            self._enabling = self._enable.call_async(Trigger.Request())
        elif self._asked is None:
            self._ask_for_reset()
        elif time.monotonic() - self._asked > _RESET:
            self._give_up()

    def _ask_for_reset(self) -> None:
        """Once: drives may have stopped because this process came.

        Now and then a middleware keeps those that publish waiting for a third of a second when
        somebody new listens.
        """
        self._asked = time.monotonic()
        self._resetting = self._reset.call_async(Trigger.Request())

    def _start_when_enabled(self) -> None:
        if not self._enabling.done():
            self.report({'phase': 'waiting', 'lacking': [f'no answer from {topics.ENABLE}']})
            return
        answer = self._enabling.result()
        if not answer.success and self._asked is None:
            self._enabling = None
            self._ask_for_reset()
        elif not answer.success:
            self._fail(f'the drives cannot be enabled: {answer.message}')
        elif self._health.phase != Phase.FOLLOWING.value:
            lacking = f'the drives do not follow {topics.STATE}: {self._health.phase}'
            self.report({'phase': 'waiting', 'lacking': [lacking]})
        else:
            # The record begins with what is played, but for what was counted before.
            self.events = [event for event in self.events if event.topic == topics.DIAGNOSTICS]
            self._before = self._health.counts
            self._start = time.time_ns() + int((LEAD + LEAD_PART * self._script.duration) * 1e9)
            message = trajectory_message(self._script, self._start)
            self.send(topics.TRAJECTORY, self._trajectory, message)

    def _finish(self) -> None:
        assert self._start is not None
        elapsed = (time.time_ns() - self._start) * 1e-9
        self.report({'phase': 'playing', 'time': min(max(elapsed, 0.0), self._script.duration)})
        if elapsed > self._script.duration + TAIL:
            self.done = True

    def _give_up(self) -> None:
        """Say why the drives stopped, once everybody has told how late it was."""
        if self._stopped is None:
            self._stopped = time.time_ns()
        if time.time_ns() - self._stopped > TAIL * 1e9:
            when = ''
            if self._start is not None:
                elapsed = (self._stopped - self._start) * 1e-9
                when = f' {elapsed:.1f} s after the motion began'
            self._fail(f'the drives stopped{when}: {self._health.stopped}')

    def _fail(self, reason: str) -> None:
        behind = self._health.counts.since(self._before).in_words()
        if behind:
            reason += f'. This computer was too slow ({load_in_words()}): {behind}'
        self.report({'phase': 'failed', 'reason': reason})


def main() -> None:
    """Play the script in a file and write the record to another."""
    arguments = parse_arguments(main.__doc__)
    script = Script.load(arguments.script)
    play(
        lambda: ClosedLoopPlayer(script, print_report),
        arguments.record,
        topics.SENT | topics.CLOSED_LOOP,
    )


if __name__ == '__main__':
    main()
