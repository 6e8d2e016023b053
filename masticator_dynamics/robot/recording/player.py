# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sends the motion of a script and records the result; for the dynamics node alone, also bites.

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

import numpy as np
from geometry_msgs.msg import WrenchStamped
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.robot.recording import topics
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
