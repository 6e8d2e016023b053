# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cycle's turn at a force: what is measured goes to the law, what it commands comes back.

Of the cycle's thread, but for `ForceTurn.begin` and what only reads.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import Measured, Reason, Reference, State
from masticator_dynamics.control.pressing_path import PressingPath
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.ros.dynamics.measured_wrenches import (
    BiteForce,
    MeasuredWrench,
    MeasuredWrenches,
)

Pressing = tuple[tuple[FloatArray, FloatArray, FloatArray], FloatArray]

_LONGEST_CURVE = 60_000  # rows: two minutes at 500 Hz; then every second row is left out
FROM_ONE = 'a goal needs it from one'
_FULL = 0.98  # of an effort's limit: no more closing
_ALL = 1.0 - 1e-9  # of it: those chosen within limits are not cut


class JointReadings:
    """The newest measured positions (n_u,) of the actuated joints, and when they were measured.

    Attributes
    ----------
    publishers : int
        How many there were when the topic was read last.
    """

    def __init__(self) -> None:
        self.publishers = 0
        self.newest: tuple[int, FloatArray] | None = None  # ns; replaced, never modified

    def take(self, stamp: int, positions: FloatArray) -> None:
        """Keep positions, unless they are older than what there is."""
        before = self.newest
        if np.isfinite(positions).all() and (before is None or stamp > before[0]):
            self.newest = stamp, positions

    def forget(self) -> None:
        """After the clock was set."""
        self.newest = None

    def age(self, now: int) -> float:
        """Seconds since they were measured; inf: never."""
        return math.inf if self.newest is None else (now - self.newest[0]) * 1e-9


class PressingJob:
    """One goal: its law, its way and its curve.

    Parameters
    ----------
    path : PressingPath
        It needs no mechanism any more: any thread may use it.
    reference : callable
        Wanted force, N, by the time since force control began, s.
    point_frame : str
        At whose origin the measured force acts; empty: that of the message.
    source, observed : BiteForce, optional
        The force that is controlled, if it is not that of the cycle, and what an observer says.
    streamed : MeasuredWrenches, optional
        Topic ``force_reference``, where that says what is wanted.
    """

    def __init__(
        self,
        path: PressingPath,
        law: ForceControl,
        reference: Reference,
        point_frame: str = '',
        source: BiteForce | None = None,
        observed: BiteForce | None = None,
        streamed: MeasuredWrenches | None = None,
    ):
        self.path, self.law, self.reference = path, law, reference
        self._point_frame, self._source, self._observed = point_frame, source, observed
        self._streamed = streamed
        self.curve: list[tuple[float, float, float, float]] = []
        self._every, self._cycles = 1, 0
        self._start, self._near = 0, 0.0
        self.limited = self.clamped = False

    def step(
        self, mechanism: Mechanism, time: int, bite: BiteForce, joints: JointReadings, q: FloatArray
    ) -> Pressing:
        """State and wrench on the platform of the cycle at a time (ns); ``q`` (n_q,): before it."""
        self._start = self._start or time
        now = self._measured(mechanism, time, bite, joints, q)
        if several := self._several(bite, joints):
            self.law.end(Reason.SEVERAL, several, now.time)
        sent = self.law.step(now, self.reference)
        self._note(now)
        state = self.path.state(sent.travel, sent.velocity, sent.acceleration)
        return state, self.path.wrench(sent.travel, sent.force)

    def look_at(self, wanted: FloatArray, sent: FloatArray, limits: FloatArray) -> None:
        """Note whether efforts (n_u,) are at their limits: wanted, and as they may be sent."""
        self.clamped = bool((np.abs(sent) >= _ALL * limits).any() or (wanted != sent).any())
        self.limited = self.clamped or bool((np.abs(wanted) > _FULL * limits).any())

    def _several(self, bite: BiteForce, joints: JointReadings) -> str:
        """What has several publishers, or '': it would press by what one says and another not."""
        for what, publishers in (
            ('the force', (self._source or bite).publishers),
            ('joint_states', joints.publishers),
            ('force_reference', 0 if self._streamed is None else self._streamed.publishers),
        ):
            if publishers > 1:
                return f'{what} has {publishers} publishers; {FROM_ONE}'
        return ''

    def _measured(
        self, mechanism: Mechanism, time: int, bite: BiteForce, joints: JointReadings, q: FloatArray
    ) -> Measured:
        seconds, newest = (time - self._start) * 1e-9, joints.newest
        if newest is not None:
            self._near = self.path.measured(newest[1], self._near)
        wrench = (self._source or bite).fresh(time)
        if wrench is None:
            return Measured(seconds, self._near, joints.age(time), 0.0, -math.inf,
                            limited=self.limited, clamped=self.clamped)  # fmt: skip
        pressing, lateral, torque = self._felt(mechanism, wrench, q)
        stamp = (wrench.time - self._start) * 1e-9
        return Measured(
            seconds, self._near, joints.age(time), pressing, stamp, lateral, torque,
            self._told_by_motors(mechanism, time, q), self.limited, self.clamped,
        )  # fmt: skip

    def _told_by_motors(self, mechanism: Mechanism, time: int, q: FloatArray) -> float:
        """Pressing force that an observer tells, N; NaN where it says nothing, or is the source."""
        if self._observed is None or self._observed is self._source:
            return math.nan
        estimate = self._observed.fresh(time)
        return math.nan if estimate is None else self._felt(mechanism, estimate, q)[0]

    def _felt(
        self, mechanism: Mechanism, wrench: MeasuredWrench, q: FloatArray
    ) -> tuple[float, float, float]:
        """How much presses, how much is lateral, N, and the torque about the point, N m."""
        origin, axes = mechanism.frame_chain(wrench.frame).poses(q)
        force, torque = axes @ wrench.wrench[:3], axes @ wrench.wrench[3:]
        acting = self._point_frame or wrench.frame
        if acting != self.path.frame:
            if acting != wrench.frame:
                origin, _ = mechanism.frame_chain(acting).poses(q)
            point, _ = mechanism.frame_chain(self.path.frame).poses(q)
            torque = torque + np.cross(origin - point, force)
        return (*self.path.felt(force), float(np.linalg.norm(torque)))

    def _note(self, now: Measured) -> None:
        if self.law.state is State.APPROACH:
            return
        self._cycles += 1
        if self._cycles % self._every == 0:
            self.curve.append((now.time, now.force, self.law.wanted, now.travel))
        if len(self.curve) >= _LONGEST_CURVE:
            self.curve, self._every = self.curve[::2], 2 * self._every


class ForceTurn:
    """Whether the cycle follows a motion or presses; goals begin and end between two cycles."""

    def __init__(self, joints: JointReadings):
        self.joints = joints
        self._lock = threading.Lock()
        self._job: PressingJob | None = None
        self._next: PressingJob | None = None  # begins, unless a motion has

    @property
    def job(self) -> PressingJob | None:
        """What presses now."""
        return self._job

    @property
    def busy(self) -> str:
        """Why no motion can begin; empty if it can."""
        job = self._next or self._job
        return '' if job is None else f'{job.path.frame} presses; that goal must end first'

    def begin(self, job: PressingJob, motion_rests: Callable[[], bool] = lambda: True) -> bool:
        """Press from the next cycle on.

        Parameters
        ----------
        motion_rests : callable
            Whether no motion has begun, and holds what there is. When it is called motions are
            refused already: either the job begins or a motion does.

        Returns
        -------
        bool
            False if something presses already, or a motion has begun.
        """
        with self._lock:
            if self._job is not None or self._next is not None:
                return False
            self._next = job
        rests = False
        try:
            rests = motion_rests()
        finally:
            self._job, self._next = job if rests else None, None
        return rests

    def end(self, job: PressingJob) -> None:
        """The cycle follows the motion again."""
        with self._lock:
            if self._job is job:
                self._job = None

    def let_go(self, reason: Reason, text: str) -> None:
        """Have what presses now let go."""
        job = self._job
        if job is not None:
            job.law.end(reason, text, math.nan)
