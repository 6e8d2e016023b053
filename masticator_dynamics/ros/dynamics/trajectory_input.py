# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Incoming trajectories, checked in a worker, then followed or refused with a reason."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from rclpy.lifecycle import LifecycleNode
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, in_words
from masticator_dynamics.ros.common.askers import who_asks, who_publishes
from masticator_dynamics.ros.common.diagnostics import LogLimit, Rejections
from masticator_dynamics.ros.common.large_messages import LargeMessages
from masticator_dynamics.ros.common.outgoing import RELIABLE
from masticator_dynamics.ros.common.trajectory_cdr import decode
from masticator_dynamics.ros.dynamics.executed_motion import ExecutedMotion, Piece, piece_at
from masticator_dynamics.ros.dynamics.newest_first import NewestFirst, OvertakenError
from masticator_dynamics.ros.dynamics.parameters import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_points import (
    TrajectoryPoints,
    read_points,
    to_independent,
)
from masticator_dynamics.ros.dynamics.trajectory_preparation import (
    PreparedTrajectory,
    check_start,
    expected_duration,
    prepare,
)

_TOPIC = 'joint_trajectory'
ACTION = 'follow_joint_trajectory'
_ATTEMPTS = 5
_BURST = 10  # lines in the log at once
_MOST_WAITING = 100  # accepted trajectories that begin later, each after the one before
_MARGIN = 5_000_000  # ns; a cycle that is running must not be overtaken


_STOP = 0.02  # s that the checks of a stop are expected to take
Outcome = PreparedTrajectory | Exception


@dataclasses.dataclass(eq=False)
class Request:
    """A request for a motion, whose sender may want to know what becomes of it.

    Attributes
    ----------
    data : bytes or memoryview
        A trajectory message; empty: come to rest.
    source : str
        How it arrived.
    told : callable
        Gets the motion that will be followed, or why there is none; from any thread.
    withdrawn : callable
        Whether it is no longer wanted, before it begins.
    stamp : int
        The message's, or when to come to rest, ns; at once if that is past.
    points : TrajectoryPoints or None
        Those of the message, once it has been read.
    begin : int
        When they begin, ns; 0: at once.
    """

    data: bytes | memoryview
    source: str = _TOPIC
    told: Callable[[Outcome], None] = lambda outcome: None
    withdrawn: Callable[[], bool] = lambda: False
    stamp: int = 0
    points: TrajectoryPoints | None = None
    begin: int = 0


class TrajectoryInput:
    """Topic ``joint_trajectory``: of several waiting messages, the newest accepted one counts.

    One that begins later than another does not replace it; both are followed, in turn. Goals of
    the action go into the same queue.

    Parameters
    ----------
    node : LifecycleNode
    mechanism : Mechanism
        For the worker alone: it keeps scratch memory.
    motion : ExecutedMotion
        Follows what passes the checks.
    settings : callable
        Returns the current parameters.
    now : callable
        The node's clock, ns.
    accepted : callable
        Gets every trajectory that will be followed.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        motion: ExecutedMotion,
        settings: Callable[[], DynamicsSettings],
        now: Callable[[], int],
        accepted: Callable[[PreparedTrajectory], None],
    ):
        self.active = False
        self.rejections = Rejections(node.get_logger().error, _BURST)
        self.overtaken = 0
        self.asked = ''  # when the motion was requested, and by whom
        self._log_limit, self._overtaken_limit = LogLimit(_BURST), LogLimit()
        self._node, self._mechanism, self.motion = node, mechanism, motion
        self._settings, self.now, self._accepted = settings, now, accepted
        given = settings()
        self._prepare = functools.partial(
            prepare, mechanism, goal=given.goal, friction=given.friction, limits=given.limits
        )
        self._most_names = 4 * max(len(mechanism.independent), len(mechanism.actuated))
        self._worker = NewestFirst('trajectories', self._read, self._follow, self._tell_overtaken)
        self._messages = LargeMessages(node, JointTrajectory, _TOPIC, RELIABLE, self._take)

    def destroy(self) -> None:
        """Destroy the topic and end the worker."""
        self._messages.destroy()
        self._worker.close()

    def warm_up(self, data: bytes) -> None:
        """Do once everything that a message causes, except following it."""
        trajectory = decode(data, self._most_names)
        points = to_independent(read_points(trajectory, self._mechanism), self._mechanism, 1e-4)
        self._prepare(points, self.motion.schedule, 1, 1, 1.0)

    def put(self, request: Request) -> None:
        """Have a motion checked and followed."""
        if self.active:
            self._worker.put(request)
        else:
            self.reject(request, InputError('the node is not active'))

    def _take(self, data: memoryview) -> None:
        self.put(Request(data))

    def _read(self, request: Request) -> bool:
        """Read a message; False if it cannot be understood."""
        with self._rejecting(request):
            if request.data:
                trajectory = decode(request.data, self._most_names)
                request.points = read_points(trajectory, self._mechanism)
                request.stamp = trajectory.stamp
            request.begin = request.stamp if request.stamp > self.now() else 0
            return True
        return False

    def _follow(self, request: Request) -> bool:
        """Prepare a trajectory and follow it; False when it is refused."""
        with self._rejecting(request):
            prepared = self._replace_motion(request)
            self._accepted(prepared)
            self.rejections.accept()
            self.asked = f'{time.strftime("%H:%M:%S")} by {self._asker(request)}'
            request.told(prepared)
            if self._log_limit.allows():
                self._tell(request, prepared)
            return True
        return False

    def _asker(self, request: Request) -> str:
        if request.source == _TOPIC:
            return who_publishes(self._node, _TOPIC)
        return who_asks(self._node, f'{ACTION}/_action/send_goal')

    def _replace_motion(self, request: Request) -> PreparedTrajectory:
        """Follow a trajectory from an instant that is still ahead when its checks are done."""
        settings, give_way = self._settings(), self._worker.give_way
        points, ahead = request.points, _STOP
        if points is not None:
            check_start(request.stamp, self.now(), settings.start_horizon)
            tolerance = settings.closure_tolerance
            points = to_independent(points, self._mechanism, tolerance, give_way)
            ahead = expected_duration(points)
        for _ in range(_ATTEMPTS):
            begin, schedule = time.perf_counter(), self.motion.schedule
            start = max(request.stamp, self.now() + round(ahead * 1e9) + _MARGIN)
            _check_waiting(schedule, self.now(), start)
            stamp = start if points is None else request.stamp or start
            scale = settings.effort_limit_scale
            wanted = self._rest(schedule, start) if points is None else points
            prepared = self._prepare(wanted, schedule, stamp, start, scale, give_way)
            now = self.now()
            if not self.active:
                raise InputError('the node is not active any more')
            if request.withdrawn():
                raise InputError('it was cancelled before it began')
            if now + _MARGIN < start and self.motion.replace(prepared.piece, schedule, now):
                return prepared
            ahead = 2.0 * (time.perf_counter() - begin) + 0.01
        raise InputError(f'its checks take longer than {ahead:.3g} s: the computer is overloaded')

    def _rest(self, schedule: tuple[Piece, ...], start: int) -> TrajectoryPoints:
        """The point where the motion is; what it needs to come to rest is appended to it."""
        position, _, _ = piece_at(schedule, start).state(start)
        return TrajectoryPoints(self._mechanism.independent, np.zeros(1), (position[None],))

    def _tell(self, request: Request, prepared: PreparedTrajectory) -> None:
        logger, source, piece = self._node.get_logger(), request.source, prepared.piece
        seconds = f'{piece.path.end - piece.path.start:.6g} s'
        if request.points is None:
            logger.info(f'{source} accepted: at rest within {seconds}{self._log_limit.note()}')
            return
        logger.info(
            f'{source} accepted: {len(request.points.times)} points, {seconds}, starts in '
            f'{(piece.start - self.now()) * 1e-9:.3f} s{self._log_limit.note()}'
        )
        if prepared.ramp > 0.0:
            logger.warning(
                f'{source} does not end at rest: a rest ramp of {prepared.ramp:.3g} s is appended'
            )

    def _tell_overtaken(self, dropped: Sequence[Request]) -> None:
        self.overtaken += len(dropped)
        for request in dropped:
            request.told(InputError('overtaken by a newer one before its checks were done'))
        if self._overtaken_limit.allows():
            self._node.get_logger().warning(
                f'{dropped[-1].source} overtaken by a newer one before its checks were done'
                f'{self._overtaken_limit.note()}'
            )

    @contextlib.contextmanager
    def _rejecting(self, request: Request) -> Iterator[None]:
        """Refuse a request that raises: the node survives whatever a message does."""
        try:
            yield
        except OvertakenError:
            raise
        except Exception as error:
            self.reject(request, error)

    def reject(self, request: Request, error: Exception) -> None:
        """Count and report a request that is refused, and tell its sender."""
        self.rejections.reject(f'{request.source} rejected: ', in_words(error))
        request.told(error)


def _check_waiting(schedule: tuple[Piece, ...], now: int, start: int) -> None:
    """Refuse one before which many are yet to begin: every cycle looks at all of them.

    Raises
    ------
    InputError
        With their number.
    """
    waiting = sum(now < piece.start < start for piece in schedule)
    if waiting >= _MOST_WAITING:
        raise InputError(f'{waiting} trajectories are yet to begin before it; {_MOST_WAITING} may')
