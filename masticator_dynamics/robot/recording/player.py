# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sends the motion of a script and records the result.

To the dynamics node alone it also sends the food's force; in closed loop it enables the drives.

Reports its progress to its parent, one JSON object per line of standard output::

    {"phase": "waiting", "lacking": ["nothing on /joint_states"]}
    {"phase": "playing", "time": 1.2}
    {"phase": "writing"}
    {"phase": "recorded"}
    {"phase": "failed", "reason": "..."}
"""

from __future__ import annotations

import abc
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.drives.drive_report import Phase
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.health import Health
from masticator_dynamics.robot.recording.processes import load_in_words
from masticator_dynamics.robot.recording.recorder import (
    LEAD,
    LEAD_PART,
    QUIET,
    Recorder,
    Report,
    time_message,
    trajectory_message,
)
from masticator_dynamics.robot.recording.script import BITE_STEP, Script

_DRIVES_TAIL = 1.2  # s, recorded after the end of the motion: diagnostics come once per second
_RESET = 3.0  # s, for a reset to appear in diagnostics


class Player(Recorder):
    """Waits for everything it needs, sends the motion, records until some time after it.

    Parameters
    ----------
    script : Script
        What is played.
    received : mapping of str
        Message types by topic.
    awaited : sequence of str
        Topics on which something must arrive before it plays.
    tail : float
        Time recorded after the end of the motion, s.
    report : callable
        Called with what the parent should know.
    """

    def __init__(
        self,
        script: Script,
        received: Mapping[str, str],
        awaited: Sequence[str],
        tail: float,
        report: Report,
    ):
        super().__init__('chewing_player', received, report)
        self.script, self._awaited, self._tail = script, awaited, tail
        self.start: int | None = None  # of the motion, ns since 1970
        self._connected: float | None = None
        self.trajectory = self.create_publisher(JointTrajectory, topics.TRAJECTORY, self.qos)
        self.create_timer(0.1, self.go_on)

    @abc.abstractmethod
    def when_connected(self) -> None:
        """Called repeatedly once nothing is missing, until :meth:`begin` has been called."""

    def lacking(self) -> list[str]:
        """What is still missing, for people."""
        silent = [f'nothing on {topic}' for topic in self._awaited if topic not in self.heard]
        if not self.trajectory.get_subscription_count():
            silent.append(f'nobody listens on {topics.TRAJECTORY}')
        return silent

    def go_on(self) -> None:
        """Check ten times a second what there is to do."""
        if self.start is None:
            self._wait()
            return
        elapsed = (time.time_ns() - self.start) * 1e-9
        self.report({'phase': 'playing', 'time': min(max(elapsed, 0.0), self.script.duration)})
        self.done = elapsed > self.script.duration + self._tail

    def _wait(self) -> None:
        lacking = self.lacking()
        self.report({'phase': 'waiting', 'lacking': lacking})
        if lacking:
            self._connected = None
        elif self._connected is None:
            self._connected = time.monotonic()
        elif time.monotonic() - self._connected > QUIET:
            self.when_connected()

    def begin(self) -> None:
        """Send the motion, which begins a moment later."""
        self.start = time.time_ns() + int((LEAD + LEAD_PART * self.script.duration) * 1e9)
        message = trajectory_message(self.script, self.start)
        self.send(topics.TRAJECTORY, self.trajectory, message)


class BitingPlayer(Player):
    """Plays to the dynamics node alone and also sends the food's force.

    Parameters
    ----------
    script : Script
        What is played.
    contacts : list of str
        Contacts whose forces are recorded.
    report : callable
        Called with what the parent should know.
    """

    def __init__(self, script: Script, contacts: list[str], report: Report):
        awaited = topics.EFFORT, topics.JOINT_STATES, topics.STATE, topics.CONTACTS
        super().__init__(script, topics.received_topics(contacts), awaited, 0.5, report)
        self._bite = self.create_publisher(WrenchStamped, topics.BITE_FORCE, self.qos)

    def lacking(self) -> list[str]:
        """What is still missing, for people."""
        listeners = self._bite.get_subscription_count()
        if max(listeners, self.trajectory.get_subscription_count()) > 1:
            self.report({'phase': 'failed', 'reason': 'a second dynamics node is on this domain'})
        return super().lacking() + [f'nobody listens on {topics.BITE_FORCE}'] * (not listeners)

    def when_connected(self) -> None:
        """Begin immediately."""
        self.events.clear()  # the record begins with what is played
        self.begin()
        self.create_timer(BITE_STEP, self._send_bite)

    def _send_bite(self) -> None:
        assert self.start is not None
        now = time.time_ns()
        message = WrenchStamped()
        message.header.stamp = time_message(now)
        message.header.frame_id = self.script.bite_frame
        instant = (now - self.start) * 1e-9
        force = [
            float(np.interp(instant, self.script.bite_times, column, left=0.0, right=0.0))
            for column in self.script.bite_forces.T
        ]
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
        self.send(topics.BITE_FORCE, self._bite, message)


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
        super().__init__(script, topics.CLOSED_LOOP, awaited, _DRIVES_TAIL, report)
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
        if time.time_ns() - self._stopped > _DRIVES_TAIL * 1e9:
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
