# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The second process of the demo: plays a script to the dynamics node and records the answers.

Tells its parent how far it is, one JSON object per line of standard output::

    {"phase": "waiting", "lacking": ["nothing on /joint_states"]}
    {"phase": "playing", "time": 1.2}
    {"phase": "writing"}
    {"phase": "recorded"}
    {"phase": "failed", "reason": "..."}
"""

from __future__ import annotations

import time

import numpy as np
from geometry_msgs.msg import WrenchStamped
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.demo import topics
from masticator_dynamics.demo.recorder import (
    LEAD,
    LEAD_PART,
    QUIET,
    Recorder,
    Report,
    parse_arguments,
    play,
    print_report,
    time_message,
    trajectory_message,
)
from masticator_dynamics.demo.script import BITE_STEP, Script

TAIL = 0.5  # s, recorded after the end of the motion
_AWAITED = (topics.EFFORT, topics.JOINT_STATES, topics.STATE, topics.CONTACTS)


class Player(Recorder):
    """Waits for the dynamics node, plays, records.

    Parameters
    ----------
    script : Script
    contacts : list of str
        Whose forces to record.
    report : callable
        Called with what the parent should know.
    """

    def __init__(self, script: Script, contacts: list[str], report: Report):
        super().__init__('chewing_player', topics.received_topics(contacts), report)
        self._script = script
        self._start: int | None = None  # of the motion, ns since 1970
        self._connected: float | None = None
        self._trajectory = self.create_publisher(JointTrajectory, topics.TRAJECTORY, self.qos)
        self._bite = self.create_publisher(WrenchStamped, topics.BITE_FORCE, self.qos)
        self.create_timer(0.1, self._wait_or_finish)

    def _wait_or_finish(self) -> None:
        if self._start is None:
            self._start_when_connected()
            return
        elapsed = (time.time_ns() - self._start) * 1e-9
        self.report({'phase': 'playing', 'time': min(max(elapsed, 0.0), self._script.duration)})
        if elapsed > self._script.duration + TAIL:
            self.done = True

    def _start_when_connected(self) -> None:
        publishers = {topics.TRAJECTORY: self._trajectory, topics.BITE_FORCE: self._bite}
        matched = {topic: p.get_subscription_count() for topic, p in publishers.items()}
        lacking = [f'nothing on {topic}' for topic in _AWAITED if topic not in self.heard]
        lacking += [f'nobody listens on {topic}' for topic, count in matched.items() if not count]
        self.report({'phase': 'waiting', 'lacking': lacking})
        if max(matched.values()) > 1:
            self.report({'phase': 'failed', 'reason': 'a second dynamics node is on this domain'})
        elif lacking:
            self._connected = None
        elif self._connected is None:
            self._connected = time.monotonic()
        elif time.monotonic() - self._connected > QUIET:
            self.events.clear()  # the record begins with what is played
            self._start = time.time_ns() + int((LEAD + LEAD_PART * self._script.duration) * 1e9)
            message = trajectory_message(self._script, self._start)
            self.send(topics.TRAJECTORY, self._trajectory, message)
            self.create_timer(BITE_STEP, self._send_bite)

    def _send_bite(self) -> None:
        assert self._start is not None
        now = time.time_ns()
        message = WrenchStamped()
        message.header.stamp = time_message(now)
        message.header.frame_id = self._script.bite_frame
        instant = (now - self._start) * 1e-9
        force = [
            float(np.interp(instant, self._script.bite_times, column, left=0.0, right=0.0))
            for column in self._script.bite_forces.T
        ]
        message.wrench.force.x, message.wrench.force.y, message.wrench.force.z = force
        self.send(topics.BITE_FORCE, self._bite, message)


def main() -> None:
    """Play the script in a file and write the record to another."""
    arguments = parse_arguments(main.__doc__)
    datatypes = topics.SENT | topics.received_topics(arguments.contacts)
    script = Script.load(arguments.script)
    play(lambda: Player(script, arguments.contacts, print_report), arguments.record, datatypes)


if __name__ == '__main__':
    main()
