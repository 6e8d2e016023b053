# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the process that checks trajectories is asked, and its answer."""

from __future__ import annotations

import dataclasses
import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.dynamics.cycle import Piece, piece_at
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_checks import (
    PreparedTrajectory,
    TrajectoryPoints,
    check_start,
    expected_duration,
    prepare,
    read_points,
    to_independent,
)

MARGIN = 5_000_000  # ns; a cycle that is running must not be overtaken
_MOST_ACCEPTED = 100  # trajectories yet to begin; every cycle looks at all of them
_STOP = 0.02  # s that the checks of a stop are expected to take


@dataclasses.dataclass
class Question:
    """Which motion is to follow those of a schedule.

    Parameters
    ----------
    content : bytes or TrajectoryPoints or None
        A serialised JointTrajectory, or its points; None: come to rest.
    stamp : int
        When points count from, ns; a message has its own. 0: at once.
    schedule : tuple of Piece
        What is followed until then.
    now : int
        The node's clock, ns.
    ahead : float
        The motion begins so much (s) later at the earliest.
    sampled : bool
        Whether the motion of all joints is wanted, too.
    asked : int
        When, ns, by a clock that is never set.
    """

    content: bytes | TrajectoryPoints | None
    stamp: int
    schedule: tuple[Piece, ...]
    now: int
    settings: DynamicsSettings
    ahead: float = 0.0
    sampled: bool = True
    asked: int = dataclasses.field(default_factory=time.monotonic_ns)  # one clock in all processes

    def __getstate__(self) -> dict[str, Any]:
        """All of it; a message is sent without a copy."""
        state = dict(vars(self))
        if isinstance(self.content, bytes):
            state['content'] = pickle.PickleBuffer(self.content)
        return state

    @property
    def size(self) -> int:
        """Bytes of the numbers."""
        content = self.content
        if isinstance(content, TrajectoryPoints):
            return content.rows[0].nbytes
        return 0 if content is None else len(content)

    def time(self) -> int:
        """The node's clock, ns, if it runs as fast as time."""
        return self.now + time.monotonic_ns() - self.asked


def answer(
    mechanism: Mechanism, question: Question, announce: Callable[[float], None]
) -> PreparedTrajectory:
    """The motion asked for, from an instant that is still ahead when its checks are done.

    Parameters
    ----------
    mechanism : Mechanism
        Not used by any other thread: it keeps scratch memory.
    announce : callable
        Gets how long the checks are expected to take, s, when the message has been read.

    Raises
    ------
    MasticatorError
        For what is no motion, or one that cannot or must not be made.
    """
    settings, schedule = question.settings, question.schedule
    stamp, points = _read(mechanism, question)
    expected = _STOP if points is None else expected_duration(points)
    announce(expected)
    now = question.time()
    if points is not None:
        check_start(stamp, question.now, settings.start_horizon)  # a simulated clock may stand
    start = max(stamp, now + round(max(expected, question.ahead) * 1e9) + MARGIN)
    waiting = sum(now < piece.start < start for piece in schedule)
    if waiting >= _MOST_ACCEPTED:
        text = f'{waiting} trajectories are yet to begin before it; {_MOST_ACCEPTED} may'
        raise InputError(text)
    at_start = piece_at(schedule, start).state(start)
    if points is None:
        # What is needed to come to rest is appended to the point where the motion is.
        rest = (at_start[0][None],)
        stamp, points = start, TrajectoryPoints(mechanism.independent, np.zeros(1), rest)
    stamp = stamp or start
    past = stamp < schedule[0].start
    at_stamp = None if past else piece_at(schedule, stamp).state(stamp)
    return prepare(
        mechanism, points, at_start, at_stamp, stamp, start, settings, sampled=question.sampled
    )


def _read(mechanism: Mechanism, question: Question) -> tuple[int, TrajectoryPoints | None]:
    """Stamp, ns, and points in independent coordinates; no points: come to rest."""
    stamp, points = question.stamp, question.content
    if points is None:
        return stamp, None
    if not isinstance(points, TrajectoryPoints):
        message = deserialize_message(bytes(points), JointTrajectory)
        stamp, points = read_points(message, mechanism)
    return stamp, to_independent(points, mechanism, question.settings.closure_tolerance)
