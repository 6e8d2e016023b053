# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Action ``~/apply_force``: press with a point until something ends it, and let go.

Goals and trajectories take turns: one that comes while the other moves the mechanism is refused.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.action.server import CancelResponse
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from masticator_dynamics import Mechanism
from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import (
    ForceGoal,
    LoopTiming,
    Reason,
    Reference,
    State,
)
from masticator_dynamics.control.pressing_path import PressingPath, Servos
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.motion import MotionPath
from masticator_dynamics.ros.common.diagnostics import shortened
from masticator_dynamics.ros.common.direct_subscription import (
    JOINT_FIELDS,
    POLL,
    ThreadedSubscription,
    doubles,
)
from masticator_dynamics.ros.common.fixed_layout import Numbers
from masticator_dynamics.ros.common.goal_server import GoalServer
from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion, Piece
from masticator_dynamics.ros.dynamics.dynamics_topics import WrenchInput
from masticator_dynamics.ros.dynamics.force_sources import ForceSources, refuse_several
from masticator_dynamics.ros.dynamics.force_turn import ForceTurn, JointReadings, PressingJob
from masticator_dynamics.ros.dynamics.measured_wrenches import BiteForce, MeasuredWrenches
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_interfaces.action import ApplyForce

_RESULT_TIMEOUT = 30  # s that a result can be asked for
_LARGEST = 65536  # bytes of joint_states
_NEWEST = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
_MOST_POINTS = 10_000
_STREAM_TIMEOUT = 0.1  # s
_FIRST = 0.2  # s that the first ones are waited for
_FRESH = 0.05  # s, of measured joints when a goal begins
_AFTER_CRACK = 0.25e-3  # m, unless a goal says another
_NUMBERS = (
    'duration', 'relaxation', 'largest_travel', 'approach_velocity', 'stiffness', 'tolerance',
)  # fmt: skip


class JointInput(ThreadedSubscription):
    """Topic ``joint_states``, read by a thread of its own while somebody needs it.

    Parameters
    ----------
    now : callable
        The node's clock, ns.

    Attributes
    ----------
    needed : Event
        Whether somebody does: reading messages would hold up cycles for nothing.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        readings: JointReadings,
        now: Callable[[], int],
    ):
        self._names, self._readings, self._now = mechanism.actuated, readings, now
        self.needed = threading.Event()
        super().__init__(node, JointState, 'joint_states', _NEWEST, _LARGEST, *JOINT_FIELDS)

    def read(self) -> None:
        """Read what waits; whatever it is, the caller goes on."""
        self._readings.publishers = self.publishers
        super().read()

    def _wanted(self) -> bool:
        return self.needed.wait(POLL)

    def _keep(self, numbers: Numbers, received: int) -> None:
        names = list(numbers.message.name)
        if len(numbers.rows[0]) != len(names) or any(names.count(name) > 1 for name in self._names):
            return
        positions, *_ = numbers.of_joints(self._names)
        # One from the future would count as the newest until then.
        arrival = self._now() - max(time.time_ns() - received, 0)
        self._readings.take(min(numbers.stamp, arrival), positions)


@dataclasses.dataclass
class _Goal:
    handle: Any
    job: PressingJob


class ForceAction:
    """The action's server, and what looks after its goal.

    Parameters
    ----------
    mechanism : Mechanism
        Of the cycle: its description is read.
    motion : ExecutedMotion
        Must be at rest when a goal begins.
    bite : BiteForce
        The measured force.
    settings : callable
        The current parameters.
    now : callable
        The node's clock, ns.
    motors : Scaling
        Likewise.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        motion: ExecutedMotion,
        turn: ForceTurn,
        bite: BiteForce,
        settings: Callable[[], DynamicsSettings],
        now: Callable[[], int],
        servos: Servos,
        motors: Scaling,
    ):
        self._node, self._motion, self._turn = node, motion, turn
        self._settings, self._now, self._servos = settings, now, servos
        self._mechanism = Mechanism(mechanism.description)  # a mechanism is for one thread
        self._goal: _Goal | None = None
        self.active = False
        self._joints = JointInput(node, mechanism, turn.joints, now)
        self._streamed = MeasuredWrenches(mechanism)
        self._streamed.timeout = _STREAM_TIMEOUT
        prefix = settings().frame_prefix
        self._sources = ForceSources(node, self._mechanism, motors, bite, now, prefix)
        self._stream = WrenchInput(node, 'force_reference', self._streamed, now, prefix)
        self._server = GoalServer(
            node, ApplyForce, '~/apply_force', lambda: self.active, self._look,
            handle_accepted_callback=self._begin, cancel_callback=self._cancel,
            result_timeout=_RESULT_TIMEOUT,
        )  # fmt: skip

    def destroy(self) -> None:
        """Destroy action and topics."""
        self._server.destroy()
        self._stream.destroy()
        self._sources.destroy()
        self._joints.destroy()

    def deactivate(self) -> None:
        """End the goal: nothing moves any more."""
        self.active = False
        goal, self._goal = self._goal, None
        self._joints.needed.clear()
        if goal is not None:
            self._turn.end(goal.job)
            self._end(goal.handle, goal.job, 'the node is not active any more')

    def _cancel(self, handle: Any) -> CancelResponse:
        goal = self._goal
        if goal is not None and goal.handle.goal_id == handle.goal_id:
            goal.job.law.end(Reason.CANCELLED, 'its sender cancelled it', math.nan)
        return CancelResponse.ACCEPT

    def _begin(self, handle: Any) -> None:
        handle.execute()
        self._joints.needed.set()
        try:
            job = self._begun(handle.request)
        except MasticatorError as error:
            if self._goal is None:
                self._joints.needed.clear()
            self._node.get_logger().error(f'goal of ~/apply_force rejected: {error}')
            self._end(handle, None, str(error))
            return
        self._goal = _Goal(handle, job)
        self._server.look_after_it()

    def _begun(self, asked: ApplyForce.Goal) -> PressingJob:
        """A goal that presses from the next cycle on.

        Raises
        ------
        MasticatorError
            If it must not, in a sentence.
        """
        now, schedule = self._now(), self._motion.schedule
        if self._goal is not None or self._turn.busy:
            raise InputError(self._turn.busy or 'another goal has not ended yet')
        if not self._motion.settled(now):
            raise InputError('a trajectory moves the mechanism; it must end first')
        timing = LoopTiming.of_drives(1.0 / self._settings().rate, self._servos.period)
        self._check_measured(now)
        y = self._motion.state(now)[0]
        job = self._job(asked, y, timing)
        now = self._now()
        hold = Piece(now, MotionPath.constant(y))
        if not self._turn.begin(job, lambda: self._motion.replace(hold, schedule, now)):
            raise InputError('a trajectory was accepted meanwhile')
        return job

    def _check_measured(self, now: int) -> None:
        """Refuse to press without what the law has to measure; waits a moment for it."""
        if self._settings().publish_joint_states:
            raise InputError(
                'joints are not measured: this node publishes the commanded ones (parameter '
                'publish_joint_states)'
            )
        end = time.monotonic() + _FIRST
        while (age := self._turn.joints.age(self._now())) > _FRESH and time.monotonic() < end:
            time.sleep(0.002)
        if age > _FRESH:
            told = 'never' if math.isinf(age) else f'{age:.3g} s ago'
            raise InputError(f'joints were measured {told}: no joint_states')
        refuse_several(self._node, 'joint_states', self._turn.joints.publishers)

    def _job(self, asked: ApplyForce.Goal, y: FloatArray, timing: LoopTiming) -> PressingJob:
        settings = self._settings()
        reference, most = self._reference(asked, settings.force_most)
        for name in _NUMBERS:
            value = getattr(asked, name)
            if not 0.0 <= value < math.inf:
                raise InputError(f'{name} is {value}; a number, 0 or more, is needed')
        after_crack = asked.largest_travel_after_crack
        if not after_crack >= 0.0:
            raise InputError(f'largest_travel_after_crack is {after_crack}; 0 or more is needed')
        home = self._mechanism.home.y if asked.towards_home else None
        direction = [asked.direction.x, asked.direction.y, asked.direction.z]
        length = asked.longest_approach + asked.largest_travel
        path = PressingPath(
            self._mechanism, asked.frame, direction, y, length, self._servos, towards=home
        )
        scale = settings.effort_limit_scale
        limits = self._mechanism.load_limits.scaled(scale) if settings.limits else None
        path.refuse_beyond_motors(most, scale, limits)
        goal = ForceGoal(
            most=most, duration=asked.duration or math.inf, relaxation=asked.relaxation,
            travel=asked.largest_travel or math.inf,
            approach=asked.approach_velocity or 0.010, on_crack=asked.end_on_crack,
            on_yield=asked.end_on_yield, after_crack=after_crack or _AFTER_CRACK,
        )  # fmt: skip
        sources = self._sources
        bounds = sources.bounds(settings, path, most, goal.approach, asked.tolerance)
        law = ForceControl(
            path, goal, bounds, sources.sensor(settings), timing,
            stiffness=asked.stiffness or None,
        )  # fmt: skip
        return PressingJob(
            path, law, self._allowed(reference), settings.bite_force_point_frame,
            sources.controlled(settings, self._now()), sources.observed,
            None if len(asked.forces) else self._streamed,
        )  # fmt: skip

    def _reference(self, asked: ApplyForce.Goal, largest: float) -> tuple[Reference, float]:
        """Wanted force by time, and the most that it can be."""
        times, forces = np.array(asked.times), np.array(asked.forces)
        if not len(forces):
            refuse_several(self._node, 'force_reference', self._streamed.publishers)
            return self._streamed_force, largest
        if len(times) != len(forces) or len(forces) > _MOST_POINTS:
            raise InputError(
                f'{len(times)} times and {len(forces)} forces are given; equally many are '
                f'needed, at most {_MOST_POINTS}'
            )
        for name, values, unit in (('times', times, 's'), ('forces', forces, 'N')):
            wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
            if len(wrong):
                k = int(wrong[0])
                raise InputError(f'{name}[{k}] is {values[k]} {unit}; 0 or more is needed')
        if (np.diff(times) <= 0.0).any():
            k = int(np.argmax(np.diff(times) <= 0.0))
            raise InputError(f'times[{k + 1}] is {times[k + 1]} s, not after {times[k]} s')
        most = float(forces.max())
        if most > largest:
            raise InputError(f'{most:g} N are asked; parameter force.most allows {largest:g} N')
        return lambda time: float(np.interp(time, times, forces)), most

    def _allowed(self, reference: Reference) -> Reference:
        """No more than the parameter allows then: it may be lowered while a goal presses."""
        return lambda time: min(reference(time), self._settings().force_most)  # NaN stays NaN

    def _streamed_force(self, time: float) -> float:
        """What topic ``force_reference`` says: the size of its force; NaN: it is silent."""
        fresh = self._streamed.all_fresh(self._now())
        if not fresh:
            return math.nan
        newest = max(fresh, key=lambda wrench: wrench.time)
        return float(np.linalg.norm(newest.wrench[:3]))

    def _look(self) -> bool:
        """Feedback, and the end; whether there is a goal."""
        goal = self._goal
        if goal is None:
            return False
        job, law = goal.job, goal.job.law
        if self._turn.job is not job:
            self._goal = None
            self._joints.needed.clear()
            release = law.release
            self._end(goal.handle, job, '' if release is None else release.text)
            return False
        settings = self._settings()
        law.bounds = dataclasses.replace(
            law.bounds, lateral_force=settings.force_lateral, torque=settings.force_torque
        )
        feedback = ApplyForce.Feedback(
            state=law.state.value, force=law.watch.force, wanted_force=float(law.wanted),
            travel=float(law.travelled), stiffness=float(law.stiffness.likely),
        )  # fmt: skip
        goal.handle.publish_feedback(feedback)
        return True

    def _end(self, handle: Any, job: PressingJob | None, text: str) -> None:
        result = ApplyForce.Result(reason='refused', message=shortened(text))
        reached = False
        if job is not None:
            law, release = job.law, job.law.release
            reason = Reason.CANCELLED if release is None else release.reason
            reached = reason.wanted and law.state is State.DONE
            result.reason = reason.value
            result.peak_force, result.travel = float(law.peak), float(law.travelled)
            result.stiffness = float(law.stiffness.estimate)
            result.stiffness_deviation = float(law.stiffness.deviation)
            table = np.array(job.curve).reshape(-1, 4)
            names = ('time', 'force', 'wanted_force', 'travel_measured')
            for name, column in zip(names, table.T, strict=True):
                setattr(result, name, doubles(np.ascontiguousarray(column)))
        self._node.get_logger().info(f'goal of ~/apply_force has ended: {result.message}')
        self._server.end(handle, result, reached=reached)
