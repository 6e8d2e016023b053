# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Enables the drives, sends the motion, records everything in the closed loop."""

from __future__ import annotations

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message
from std_srvs.srv import Trigger

from masticator_dynamics.drives.drive_report import Phase
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.health import Health
from masticator_dynamics.robot.recording.player import Player
from masticator_dynamics.robot.recording.processes import load_in_words
from masticator_dynamics.robot.recording.recorder import Report
from masticator_dynamics.robot.recording.script import Script

TAIL = 1.2  # s, recorded after the end of the motion: diagnostics come once per second
_RESET = 3.0  # s, for a reset to appear in diagnostics


class DrivesPlayer(Player):
    """Waits for all nodes, enables the drives, plays, records.

    Parameters
    ----------
    script : Script
        What is played.
    report : callable
        Called with what the parent should know.
    """

    def __init__(self, script: Script, report: Report):
        self._health = Health()
        awaited = topics.BITE_FORCE, topics.STATE, topics.DRIVES, topics.TRUTH
        super().__init__(script, topics.CLOSED_LOOP, awaited, TAIL, report)
        self._enable = self.create_client(Trigger, topics.ENABLE)
        self._enabling: Any = None
        self._reset = self.create_client(Trigger, topics.RESET)
        self._resetting: Any = None
        self._reset_sent: float | None = None  # when a reset was requested, s
        self._before = self._health.counts
        self._stopped: int | None = None  # when the drives were seen to have stopped, ns since 1970

    def taken(self, topic: str, content: bytes) -> None:
        """Evaluate diagnostics."""
        if topic == topics.DIAGNOSTICS:
            self._health.take(deserialize_message(content, DiagnosticArray).status)

    def go_on(self) -> None:
        """Check ten times a second what there is to do."""
        if self._health.stopped and self._enabling is not None:
            self._give_up()
        elif self.start is None and self._enabling is not None:
            self._start_when_enabled()
        else:
            super().go_on()

    def lacking(self) -> list[str]:
        """What is still missing, for people."""
        ready = self._enable.service_is_ready()
        return super().lacking() + [f'no service {topics.ENABLE}'] * (not ready)

    def when_connected(self) -> None:
        """Enable the drives, once a reset has been answered if there was one."""
        if self._resetting is not None and not self._resetting.done():
            return
        if not self._health.stopped:
            self._enabling = self._enable.call_async(Trigger.Request())
        elif self._reset_sent is None:
            self._request_reset()
        elif time.monotonic() - self._reset_sent > _RESET:
            self._give_up()

    def _request_reset(self) -> None:
        """Request a reset once: drives may have stopped because this process started.

        Now and then the middleware blocks publishers for a third of a second when a new
        subscriber appears.
        """
        self._reset_sent = time.monotonic()
        self._resetting = self._reset.call_async(Trigger.Request())

    def _start_when_enabled(self) -> None:
        if not self._enabling.done():
            self.report({'phase': 'waiting', 'lacking': [f'no answer from {topics.ENABLE}']})
            return
        answer = self._enabling.result()
        if not answer.success and self._reset_sent is None:
            self._enabling = None
            self._request_reset()
        elif not answer.success:
            self._fail(f'the drives cannot be enabled: {answer.message}')
        elif self._health.phase != Phase.FOLLOWING.value:
            lacking = f'the drives do not follow {topics.STATE}: {self._health.phase}'
            self.report({'phase': 'waiting', 'lacking': [lacking]})
        else:
            # The record begins with what is played, except for earlier counts.
            self.events = [event for event in self.events if event.topic == topics.DIAGNOSTICS]
            self._before = self._health.counts
            self.begin()

    def _give_up(self) -> None:
        """Say why the drives stopped, once every process has reported its delays."""
        if self._stopped is None:
            self._stopped = time.time_ns()
        if time.time_ns() - self._stopped > TAIL * 1e9:
            when = ''
            if self.start is not None:
                elapsed = (self._stopped - self.start) * 1e-9
                when = f' {elapsed:.1f} s after the motion began'
            self._fail(f'the drives stopped{when}: {self._health.stopped}')

    def _fail(self, reason: str) -> None:
        behind = self._health.counts.since(self._before).in_words()
        if behind:
            reason += f'. This computer was too slow ({load_in_words()}): {behind}'
        self.report({'phase': 'failed', 'reason': reason})
