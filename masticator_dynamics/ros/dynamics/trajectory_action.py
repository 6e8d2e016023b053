# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Action ``follow_joint_trajectory``: trajectories whose sender learns what becomes of them.

A goal is checked and followed like a message on ``joint_trajectory``, and likewise goes out once on
``feedforward_trajectory``. It is judged here, by the measured ``joint_states``: a goal of the
trajectory controller itself would end with the next message, and does not know the mechanism's
degrees of freedom.

Measured joints compared with the motion of a goal, and how far off they may be.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.action.server import CancelResponse
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.time import Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
)

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.ros.common.diagnostics import LogLimit, shortened
from masticator_dynamics.ros.common.direct_subscription import (
    JOINT_FIELDS,
    DirectSubscription,
    doubles,
)
from masticator_dynamics.ros.common.goal_server import GoalServer
from masticator_dynamics.ros.dynamics.cycle import Piece
from masticator_dynamics.ros.dynamics.late_trajectories import PastError
from masticator_dynamics.ros.dynamics.trajectory_checks import (
    JointMotion,
    JointsError,
    PreparedTrajectory,
    read_points,
)
from masticator_dynamics.ros.dynamics.trajectory_input import (
    ACTION,
    Outcome,
    Request,
    TrajectoryInput,
)

# Tolerances of actuated joints, if a goal gives none: as in config/controllers.yaml.
ON_THE_WAY = {'rad': 0.15, 'm': 0.015}
AT_THE_END = {'rad': 0.02, 'm': 0.002}


@dataclasses.dataclass(frozen=True)
class Tolerances:
    """Largest errors (n_q,) of position and velocity, in tree order; inf: unlimited."""

    joints: tuple[str, ...]
    units: tuple[str, ...]
    position: FloatArray
    velocity: FloatArray

    @classmethod
    def of(
        cls, messages: Iterable[Any], mechanism: Mechanism, usual: dict[str, float]
    ) -> Tolerances:
        """Tolerances of a goal; 0 leaves the default, a negative number removes it.

        Parameters
        ----------
        messages : iterable of control_msgs/JointTolerance
            Joint, and its tolerances of position, velocity and acceleration (m or rad, and s).
        mechanism : Mechanism
            Whose joints may be named.
        usual : dict
            Default tolerance of the actuated joints' positions by their unit, 'm' or 'rad'.

        Raises
        ------
        JointsError
            For a joint that the mechanism does not have.
        InputError
            For tolerances that cannot be watched.
        """
        joints = mechanism.tree_joints
        units = tuple(joint.unit for joint in mechanism.structure.tree.joints)
        position, velocity = np.full((2, len(joints)), np.inf)
        for name in mechanism.actuated:
            k = joints.index(name)
            position[k] = usual[units[k]]
        for message in messages:
            name, allowed = message.name, (message.position, message.velocity, message.acceleration)
            if name not in joints:
                raise JointsError(f'tolerance of unknown joint {name!r}')
            if np.isnan(allowed).any():
                raise InputError(f'tolerance of {name} is not a number')
            if allowed[2] > 0.0:
                raise InputError(f'tolerance of {name}: accelerations are not measured')
            for values, value in zip((position, velocity), allowed, strict=False):
                if value:
                    values[joints.index(name)] = value if value > 0.0 else np.inf
        return cls(joints, units, position, velocity)

    def violation(self, position: FloatArray, velocity: FloatArray) -> str:
        """What is farthest beyond its tolerance, or ''; errors are (n_q,) each, NaN: unknown."""
        for errors, allowed, per in (
            (position, self.position, ''),
            (velocity, self.velocity, '/s'),
        ):
            beyond = np.where(np.isfinite(allowed), np.abs(errors) / allowed, 0.0)
            if np.isnan(beyond).any():
                k = int(np.flatnonzero(np.isnan(beyond))[0])
                return f'{"velocity" if per else "position"} of {self.joints[k]} is not measured'
            k = int(np.argmax(beyond))
            if beyond[k] > 1.0:
                unit = self.units[k] + per
                off = f'{self.joints[k]} is {abs(errors[k]):.3g} {unit} off'
                return f'{off} (tolerance {allowed[k]:.3g} {unit})'
        return ''


# Goals that are replaced can be many at a time, and a client that takes ROS's defaults keeps ten
# answers that it has not read: so many results are sent at once, and more after a moment (s).
_AT_ONCE, _MOMENT = 4, 0.01
_PATIENCE = 1.0  # s after the end to reach the goal's tolerances, if the goal gives none
_BURST = 10  # lines in the log at once
_LARGEST = 65536  # bytes; a state of all joints has 2000
_RESULT_TIMEOUT = 10  # s that a result can be asked for
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
_Result = FollowJointTrajectory.Result


class _Goal:
    """An accepted goal, with the outcome of its checks, which comes from another thread."""

    def __init__(self, handle: Any, mechanism: Mechanism):
        request = handle.request
        if request.multi_dof_trajectory.points:
            raise InputError('multi_dof_trajectory is not for joints')
        self.handle = handle
        self.on_the_way, self.at_the_end = (
            Tolerances.of(tolerance, mechanism, usual)
            for tolerance, usual in (
                (request.path_tolerance, ON_THE_WAY), (request.goal_tolerance, AT_THE_END)
            )
        )  # fmt: skip
        tolerance = request.goal_time_tolerance
        patience = tolerance.sec + tolerance.nanosec * 1e-9
        self.patience = (patience or _PATIENCE) if patience >= 0.0 else np.inf
        joints, names = mechanism.tree_joints, request.trajectory.joint_names
        self.rows = [joints.index(name) for name in names if name in joints]
        self.stamp, self.points = read_points(request.trajectory, mechanism)
        self.outcome: Outcome | None = None
        self.stop: Outcome | None = None
        self.stop_requested = False


class TrajectoryAction:
    """The action's server, and what looks after its goals.

    Parameters
    ----------
    mechanism : Mechanism
        Only its names are read.
    queue : TrajectoryInput
        Checks goals; has the motion that is followed, and the node's clock.
    failure : callable
        Why the motion was stopped, or ''.
    """

    def __init__(
        self,
        node: LifecycleNode,
        mechanism: Mechanism,
        queue: TrajectoryInput,
        failure: Callable[[], str],
    ):
        self._node, self._mechanism = node, mechanism
        self._queue, self._failure = queue, failure
        self._goals: list[_Goal] = []
        self._destroyed = False
        self._log_limit = LogLimit(_BURST)
        self._measured: tuple[int, FloatArray, FloatArray] | None = None
        self._states = DirectSubscription(
            node, JointState, 'joint_states', _NEWEST, _LARGEST, *JOINT_FIELDS
        )
        self._server = GoalServer(
            node,
            FollowJointTrajectory,
            ACTION,
            lambda: queue.active,
            self._look,
            handle_accepted_callback=self._begin,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            result_timeout=_RESULT_TIMEOUT,
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # a simulated one may stand still
        self._soon = node.create_timer(_MOMENT, self._settle, clock=steady)
        self._soon.cancel()  # until there are too many results at once

    def destroy(self) -> None:
        """Destroy action, topic and timer."""
        self._destroyed = True
        self._node.destroy_timer(self._soon)
        self._server.destroy()
        self._states.destroy()

    def deactivate(self) -> None:
        """End all goals: nothing is followed any more."""
        for goal in self._goals:
            self._end(goal.handle, _Result.INVALID_GOAL, 'the node is not active any more')
        self._goals = []

    def _begin(self, handle: Any) -> None:
        handle.execute()
        try:
            goal = _Goal(handle, self._mechanism)
        except MasticatorError as error:
            self._queue.reject(Request(None, ACTION), error)
            self._end(handle, _code(error), str(error))
            return
        finally:
            _forget(handle.request)
        self._goals.append(goal)
        self._server.look_after_it()
        reply = functools.partial(self._checked, goal)
        self._queue.put(
            Request(goal.points, ACTION, reply, lambda: handle.is_cancel_requested, goal.stamp)
        )

    def _checked(self, goal: _Goal, outcome: Outcome) -> None:
        """Note the outcome of a goal's checks, and have those end that it ends; from any thread."""
        goal.outcome = outcome
        executor = self._node.executor
        if executor is not None:
            executor.create_task(self._settle)

    def _settle(self) -> None:
        """End goals that were refused or replaced, a few at a time."""
        if self._destroyed:  # before the executor came to it
            return
        reasons = [(goal, self._reason(goal)) for goal in self._goals]
        over = [(goal, *reason) for goal, reason in reasons if reason is not None]
        for goal, code, text in over[:_AT_ONCE]:
            self._end(goal.handle, code, text)
            self._goals.remove(goal)
        if len(over) > _AT_ONCE:
            self._soon.reset()
        else:
            self._soon.cancel()

    def _look(self) -> bool:
        """Compare what is measured; whether there are goals."""
        self._settle()
        for numbers, _ in self._states.take_numbers():
            position, velocity, _ = numbers.of_joints(self._mechanism.tree_joints)
            self._measured = numbers.stamp, position, velocity
        self._goals = [goal for goal in self._goals if not self._look_at(goal)]
        return bool(self._goals)

    def _reason(self, goal: _Goal) -> tuple[int, str] | None:
        """Error code and text of a goal that was refused, or is followed no longer; else None."""
        outcome = goal.outcome
        if isinstance(outcome, Exception):
            return _code(outcome), str(outcome)
        if outcome is None or self._followed(outcome) is not None or self._stops(goal):
            return None
        if failure := self._failure():
            return int(_Result.PATH_TOLERANCE_VIOLATED), f'stopped: {failure}'
        return int(_Result.INVALID_GOAL), 'pre-empted by a newer trajectory'

    @staticmethod
    def _stops(goal: _Goal) -> bool:
        """Whether a goal was cancelled, and its motion is to come to rest."""
        requested = goal.handle.is_cancel_requested and goal.stop_requested
        return requested and not isinstance(goal.stop, Exception)

    def _look_at(self, goal: _Goal) -> bool:
        """Whether a goal that is followed, or comes to rest, has come to its end."""
        outcome = goal.outcome
        if outcome is None or isinstance(outcome, Exception):
            return False
        piece = self._followed(outcome)
        if goal.handle.is_cancel_requested and (piece is not None or goal.stop_requested):
            done = self._look_at_stop(goal, piece)
            if done is not None:
                return done
        return piece is not None and self._compare(goal, piece, outcome.joints)

    def _look_at_stop(self, goal: _Goal, piece: Piece | None) -> bool | None:
        """Whether a cancelled goal is at rest; None if it cannot be stopped on the way."""
        if not goal.stop_requested and piece is not None:
            later = self._goals[self._goals.index(goal) + 1 :]
            if any(other.outcome is None for other in later):
                return False  # a stop now would take that one's place
            goal.stop_requested = True
            reply = functools.partial(setattr, goal, 'stop')
            self._queue.put(Request(None, f'cancel of {ACTION}', reply, stamp=piece.start))
        if goal.stop is None or isinstance(goal.stop, Exception):
            return False if goal.stop is None else None
        stop = self._followed(goal.stop)  # not as prepared: the clock may have been set
        if stop is not None and self._queue.now() < stop.end:
            return False
        return self._end(goal.handle, _Result.SUCCESSFUL, 'cancelled and at rest')

    def _followed(self, prepared: PreparedTrajectory) -> Piece | None:
        """The goal's piece of the schedule while it is, or will be, followed to its end."""
        schedule = self._queue.motion.schedule
        for k, piece in enumerate(schedule):
            if piece.path is prepared.piece.path:
                return piece if all(p.start >= piece.end for p in schedule[k + 1 :]) else None
        return None

    def _compare(self, goal: _Goal, piece: Piece, wanted: JointMotion | None) -> bool:
        """Send feedback on what is measured; return whether the goal has ended."""
        after, lacking = (self._queue.now() - piece.end) * 1e-9, 'no joint_states have come since'
        assert wanted is not None
        if self._measured is not None and self._measured[0] >= piece.start:
            stamp, *actual = self._measured
            seconds = (stamp - piece.start) * 1e-9
            desired = wanted(seconds)
            errors = [d - a for d, a in zip(desired, actual, strict=True)]
            self._feed_back(goal, stamp, seconds, (desired, actual, errors))
            if stamp >= piece.end:
                lacking = goal.at_the_end.violation(*errors)
            elif off := goal.on_the_way.violation(*errors):
                code = _Result.PATH_TOLERANCE_VIOLATED
                return self._end(goal.handle, code, f'on the way: {off}')
        if after >= 0.0 and not lacking:
            went_on = f'cancelled, but there was no stop: {goal.stop}' if goal.stop else ''
            return self._end(goal.handle, _Result.SUCCESSFUL, went_on)
        if after > goal.patience:
            text = f'{after:.3g} s after the end: {lacking}'
            return self._end(goal.handle, _Result.GOAL_TOLERANCE_VIOLATED, text)
        return False

    def _feed_back(self, goal: _Goal, stamp: int, seconds: float, rows: Any) -> None:
        feedback = FollowJointTrajectory.Feedback()
        feedback.header.stamp = Time(nanoseconds=stamp).to_msg()
        feedback.joint_names = [self._mechanism.tree_joints[k] for k in goal.rows]
        since = Duration(nanoseconds=round(seconds * 1e9)).to_msg()
        for name, (position, velocity) in zip(('desired', 'actual', 'error'), rows, strict=True):
            point = JointTrajectoryPoint(
                positions=doubles(position[goal.rows]),
                velocities=doubles(velocity[goal.rows]),
                time_from_start=since,
            )
            setattr(feedback, name, point)
        goal.handle.publish_feedback(feedback)

    def _end(self, handle: Any, code: int, text: str) -> bool:
        """End a goal and tell its sender how; return True."""
        text = shortened(text)
        reached, logger = code == _Result.SUCCESSFUL, self._node.get_logger()
        if self._log_limit.allows():
            line = f'goal of {ACTION} has ended: {text or "reached"}{self._log_limit.note()}'
            if reached:  # a line each: rclpy keeps the severity of the place that logs
                logger.info(line)
            else:
                logger.error(line)
        self._server.end(handle, _Result(error_code=code, error_string=text), reached=reached)
        return True


def _forget(request: FollowJointTrajectory.Goal) -> None:
    """Free what a goal holds, which rclpy keeps until long after its end."""
    request.trajectory, request.multi_dof_trajectory = JointTrajectory(), MultiDOFJointTrajectory()
    request.path_tolerance, request.goal_tolerance = [], []


def _code(error: Exception) -> int:
    """The action's error code for a refusal."""
    if isinstance(error, JointsError):
        return int(_Result.INVALID_JOINTS)
    if isinstance(error, PastError):
        return int(_Result.OLD_HEADER_TIMESTAMP)
    return int(_Result.INVALID_GOAL)
