# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bite-force torque on its way past a trajectory controller.

A trajectory controller plays the efforts of ``feedforward_trajectory``, which know of no food. Node
``dynamics`` publishes efforts with the measured bite force; their difference from the trajectory's
own efforts at the same instant is what food adds.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from masticator_dynamics.drives.trend import Trend
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.nodes.common.diagnostics import LogLimit
from masticator_dynamics.nodes.common.direct_subscription import DirectSubscription
from masticator_dynamics.nodes.common.messages import RELIABLE
from masticator_dynamics.nodes.common.trajectory_cdr import Trajectory, decode

_LARGEST = 8192  # bytes; a state of six joints has 400
_NEWEST = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclasses.dataclass(frozen=True)
class EffortSchedule:
    """Efforts (N, n) of a trajectory at times (N,), s from its start (ns), linear in between."""

    start: int
    times: FloatArray
    efforts: FloatArray

    @classmethod
    def of(cls, trajectory: Trajectory, joints: tuple[str, ...]) -> EffortSchedule | None:
        """In the order of ``joints``; None when it lacks a joint, efforts or points."""
        names = trajectory.joint_names
        points = trajectory.points
        if set(joints) - set(names) or not points:
            return None
        if any(len(point.effort) != len(names) for point in points):
            return None
        order = [names.index(name) for name in joints]
        times = np.array([point.time for point in points])
        efforts = np.array([point.effort for point in points])[:, order]
        return cls(trajectory.stamp, times, efforts)

    def at(self, instant: int) -> FloatArray:
        """Efforts (n,) at an instant, ns; before the first and after the last point: theirs."""
        time = (instant - self.start) * 1e-9
        k = int(np.clip(np.searchsorted(self.times, time), 1, max(len(self.times) - 1, 1)))
        if len(self.times) == 1:
            return self.efforts[0]
        before, after = self.times[k - 1], self.times[k]
        part = min(max((time - before) / (after - before), 0.0), 1.0)
        return np.asarray(self.efforts[k - 1] + part * (self.efforts[k] - self.efforts[k - 1]))


class AddedEffort:
    """What feedforward efforts have beyond those of the trajectory.

    Parameters
    ----------
    joints : tuple of str
    timeout : float
        s, age of a feedforward effort beyond which nothing is added.
    lead : float
        s by which what is added is led with its rate, and by its age, up to as much again.
    """

    def __init__(self, joints: tuple[str, ...], timeout: float, lead: float = 0.0):
        self.timeout = timeout
        self._joints, self._lead = joints, lead
        self._none = np.zeros(len(joints))
        self._schedules: tuple[EffortSchedule, ...] = ()
        self._extra = Trend.begin(0.0, self._none)

    def follow(self, trajectory: Trajectory) -> bool:
        """Compare with a trajectory from its start on; False when it cannot be compared with."""
        schedule = EffortSchedule.of(trajectory, self._joints)
        if schedule is None:
            return False
        # Those before it hold until it starts; it takes the place of all that start later.
        earlier = [s for s in self._schedules if s.start < schedule.start]
        self._schedules = (*earlier[-2:], schedule)
        return True

    def take(self, stamp: int, effort: FloatArray) -> None:
        """Feedforward efforts (n,) of an instant, ns."""
        begun = [s for s in self._schedules if s.start <= stamp]
        if begun and np.isfinite(effort).all():
            extra = effort - begun[-1].at(stamp)
            self._extra = self._extra.then(stamp * 1e-9, extra, self.timeout)

    def at(self, now: int) -> FloatArray:
        """What to add (n,) at a time, ns: the newest difference, zero when it is too old."""
        age = now * 1e-9 - self._extra.stamp
        if abs(age) > self.timeout:
            return self._none
        # An effort that does not come any more must not go on for long.
        return self._extra.ahead(self._lead + min(max(age, 0.0), self._lead))


class AddedEffortInput:
    """Topics ``feedforward_state`` and ``feedforward_trajectory``.

    The former carries the numbers of ``feedforward_effort`` together with their instant.

    Parameters
    ----------
    node : LifecycleNode
    joints : tuple of str
    timeout, lead : float
        s.
    """

    def __init__(self, node: LifecycleNode, joints: tuple[str, ...], timeout: float, lead: float):
        self.added = AddedEffort(joints, timeout, lead)
        self._node, self._joints = node, list(joints)
        self._log_limit = LogLimit()
        self._states = DirectSubscription(node, JointState, 'feedforward_state', _NEWEST, _LARGEST)
        # The serialised message: rclpy would keep Python's lock for some cycles to convert it.
        self._trajectories = node.create_subscription(
            JointTrajectory, 'feedforward_trajectory', self._follow, RELIABLE, raw=True
        )

    def destroy(self) -> None:
        """Give the topics back."""
        self._states.destroy()
        self._node.destroy_subscription(self._trajectories)

    def poll(self, now: int) -> FloatArray:
        """Efforts (n,) to add at a time, ns; for the cycle of the drives."""
        for message, _ in self._states.take():
            if list(message.name) == self._joints and len(message.effort) == len(self._joints):
                stamp = message.header.stamp
                self.added.take(stamp.sec * 1_000_000_000 + stamp.nanosec, np.array(message.effort))
        return self.added.at(now)

    def _follow(self, data: bytes) -> None:
        trajectory = decode(data, 4 * len(self._joints))
        if not self.added.follow(trajectory) and self._log_limit.allows():
            self._node.get_logger().warning(
                'feedforward_trajectory has no efforts for all joints; nothing is added to it'
                + self._log_limit.note()
            )
