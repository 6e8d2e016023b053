# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Incoming trajectories, checked by another process, then followed or refused with a reason."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Sequence

from rclpy.lifecycle import LifecycleNode
from rclpy.serialization import deserialize_message
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.drives import real_time
from masticator_dynamics.errors import InputError, in_words
from masticator_dynamics.ros.common.connections import who_asks, who_publishes
from masticator_dynamics.ros.common.diagnostics import LogLimit, Rejections
from masticator_dynamics.ros.common.direct_subscription import NO_EVENTS, RELIABLE
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion
from masticator_dynamics.ros.dynamics.preparation_process import Preparer
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_checks import PreparedTrajectory, TrajectoryPoints
from masticator_dynamics.ros.dynamics.trajectory_question import MARGIN, Question

_TOPIC = 'joint_trajectory'
ACTION = 'follow_joint_trajectory'
_ATTEMPTS = 5
_BURST = 10  # lines in the log at once
_MOST_WAITING, _MOST_BYTES = 100, 32_000_000  # to be checked; a sender of more changed its mind
_LARGEST = 16_000_000  # bytes; the most points that are read, with every field filled
_HEADER = 1024  # bytes, which hold a header whose frame has a name
_LOOK = 0.2  # s between two looks at a process that has nothing to do
_SECOND = 1_000_000_000  # ns
_STARTS = 'the process that checks it is starting, which takes seconds, or a minute to compile'
Outcome = PreparedTrajectory | Exception


@dataclasses.dataclass(eq=False)
class Request:
    """A request for a motion, whose sender may want to know what becomes of it."""

    # A serialised message or its points; None: come to rest.
    content: bytes | TrajectoryPoints | None
    source: str = _TOPIC  # how it arrived
    # Gets the motion that will be followed, or why there is none; from any thread.
    reply: Callable[[Outcome], None] | None = None
    # Whether it is no longer wanted, before it begins.
    withdrawn: Callable[[], bool] = lambda: False
    stamp: int = 0  # the message's, or when to come to rest, ns; at once if that is past

    @property
    def size(self) -> int:
        """Bytes of its message."""
        return len(self.content) if isinstance(self.content, bytes) else 0


class TrajectoryInput:
    """Topic ``joint_trajectory``: of several waiting messages, the newest accepted one counts.

    One that begins later than another does not replace it; both are followed, in turn. Goals of
    the action go into the same queue.

    Parameters
    ----------
    motion : ExecutedMotion
        Follows what passes the checks.
    settings : callable
        Returns the current parameters.
    now : callable
        The node's clock, ns.
    accepted : callable
        Gets every trajectory that will be followed.
    preparer : Preparer
        Checks them; closed with this.
    busy : callable
        Why no motion can begin; empty if it can.
    """

    def __init__(
        self,
        node: LifecycleNode,
        motion: ExecutedMotion,
        settings: Callable[[], DynamicsSettings],
        now: Callable[[], int],
        accepted: Callable[[PreparedTrajectory], None],
        preparer: Preparer,
        busy: Callable[[], str] = lambda: '',
    ):
        self._busy = busy
        self.active = False
        self.rejections = Rejections(node.get_logger().error, _BURST)
        self.overtaken = 0
        self.asked = ''  # when the motion was requested, and by whom
        self._log_limit, self._overtaken_limit = LogLimit(_BURST), LogLimit()
        self._node, self.motion = node, motion
        self._settings, self.now, self._accepted = settings, now, accepted
        self.preparer = preparer
        self._waiting: list[Request] = []
        self._changed, self._ended = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name='trajectories', daemon=True)
        self._thread.start()
        self._subscription = node.create_subscription(
            JointTrajectory, _TOPIC, self._take, RELIABLE, raw=True, event_callbacks=NO_EVENTS
        )

    def destroy(self) -> None:
        """Destroy the topic and end thread and process."""
        self._node.destroy_subscription(self._subscription)
        with self._changed:
            self._ended = True
            self._changed.notify()
        self.preparer.close()
        self._thread.join()

    def put(self, request: Request) -> None:
        """Have a motion checked and followed."""
        if not self.active:
            self.reject(request, InputError('the node is not active'))
            return
        if request.size > _LARGEST:
            text = f'the message has {request.size} bytes; at most {_LARGEST} are read'
            self.reject(request, InputError(text))
            return
        if self.preparer.state == 'starts' and self._log_limit.allows():
            self._node.get_logger().info(f'{request.source} waits: {_STARTS}')
        dropped = []
        with self._changed:
            waiting = self._waiting
            waiting.append(request)
            while len(waiting) > _MOST_WAITING or sum(held.size for held in waiting) > _MOST_BYTES:
                dropped.append(waiting.pop(0))
            self._changed.notify()
        self._tell_overtaken(dropped)

    def reject(self, request: Request, error: Exception) -> None:
        """Count and report a request that is refused, and tell its sender."""
        self.rejections.reject(f'{request.source} rejected: ', in_words(error))
        if request.reply is not None:
            request.reply(error)

    def _take(self, data: bytes) -> None:
        stamp = 0
        with contextlib.suppress(Exception):  # who reads the rest says what is wrong with it
            header = deserialize_message(data[:_HEADER], Header)
            stamp = header.stamp.sec * _SECOND + header.stamp.nanosec
        self.put(Request(data, stamp=stamp))

    def _run(self) -> None:
        # This thread may hold Python's lock when a cycle needs it.
        real_time.request(real_time.SERVICE)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._waiting, _LOOK)
                if self._ended:
                    return
                request = self._next(self.now()) if self._waiting else None
            if request is None:
                self.preparer.look()
            else:
                self._done(request, self._follow(request))

    def _next(self, now: int) -> Request:
        """The newest, unless an older one begins before it: then the newest of those, and so on."""
        waiting = self._waiting
        begin = [max(request.stamp, now) for request in waiting]
        place = len(waiting) - 1
        while earlier := [k for k in range(place) if begin[k] < begin[place]]:
            place = earlier[-1]
        return waiting[place]

    def _done(self, request: Request, accepted: bool) -> None:
        """Forget a request and, if it was accepted, those that came before it."""
        with self._changed:
            if request not in self._waiting:  # too many have come since
                return
            place = self._waiting.index(request)
            dropped = self._waiting[:place] if accepted else []
            del self._waiting[0 if accepted else place : place + 1]
        self._tell_overtaken(dropped)

    def _follow(self, request: Request) -> bool:
        """Have a trajectory prepared and follow it; False when it is refused."""
        try:
            prepared = self._replace_motion(request)
            self._accepted(prepared)
            self.rejections.accept()
            self.asked = f'{time.strftime("%H:%M:%S")} by {self._asker(request)}'
            if request.reply is not None:
                request.reply(prepared)
            if self._log_limit.allows():
                self._tell(request, prepared)
        except Exception as error:  # the node survives whatever a message does
            self.reject(request, error)
            return False
        return True

    def _asker(self, request: Request) -> str:
        if request.source == _TOPIC:
            return who_publishes(self._node, _TOPIC)
        return who_asks(self._node, f'{ACTION}/_action/send_goal')

    def _replace_motion(self, request: Request) -> PreparedTrajectory:
        """Follow a trajectory from an instant that is still ahead when its checks are done."""
        if reason := self._busy():
            raise InputError(reason)
        ahead = 0.0
        for _ in range(_ATTEMPTS):
            begin, schedule = time.perf_counter(), self.motion.schedule
            question = Question(
                request.content, request.stamp, schedule, self.now(), self._settings(), ahead,
                request.reply is not None,
            )  # fmt: skip
            prepared = self.preparer.prepare(question)
            now = self.now()
            if not self.active:
                raise InputError('the node is not active any more')
            if request.withdrawn():
                raise InputError('it was cancelled before it began')
            if reason := self._busy():
                raise InputError(reason)
            in_time = now + MARGIN < prepared.piece.start
            if in_time and self.motion.replace(prepared.piece, schedule, now):
                return prepared
            ahead = 2.0 * (time.perf_counter() - begin) + 0.01
        raise InputError(f'its checks take longer than {ahead:.3g} s: the computer is overloaded')

    def _tell(self, request: Request, prepared: PreparedTrajectory) -> None:
        logger, source, piece = self._node.get_logger(), request.source, prepared.piece
        seconds = f'{piece.path.end - piece.path.start:.6g} s'
        if request.content is None:
            logger.info(f'{source} accepted: at rest within {seconds}{self._log_limit.note()}')
            return
        late = ''
        if prepared.late > 0.0:
            points = f'{prepared.left_out} of {prepared.points} points left out'
            late = f', late by {prepared.late:.3g} s: {points}'
        logger.info(
            f'{source} accepted: {prepared.points} points, {seconds}, starts in '
            f'{(piece.start - self.now()) * 1e-9:.3f} s{late}{self._log_limit.note()}'
        )
        if prepared.ramp > 0.0:
            logger.warning(
                f'{source} does not end at rest: a rest ramp of {prepared.ramp:.3g} s is appended'
            )

    def _tell_overtaken(self, dropped: Sequence[Request]) -> None:
        if not dropped:
            return
        self.overtaken += len(dropped)
        text = 'overtaken by a newer one before its checks were done'
        for request in dropped:
            if request.reply is not None:
                request.reply(InputError(text))
        if self._overtaken_limit.allows():
            note = self._overtaken_limit.note()
            self._node.get_logger().warning(f'{dropped[-1].source} {text}{note}')
