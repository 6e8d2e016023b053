# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque due to the bite force, bypassing a trajectory controller.

A trajectory controller plays the efforts of ``feedforward_trajectory``, which do not include food.
Node ``dynamics`` publishes what food adds on ``external_effort``.
"""

from __future__ import annotations

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from masticator_dynamics.drives.trend import Trend
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.nodes.common.direct_subscription import DirectSubscription

_LARGEST = 8192  # bytes; a state of six joints has 400
_NEWEST = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class AddedEffort:
    """The newest efforts to add, extrapolated with their rate.

    Parameters
    ----------
    count : int
        Joints.
    timeout : float
        Age of an effort beyond which nothing is added, s.
    lead : float
        Time by which efforts are extrapolated, s, plus their age up to as much again.
    """

    def __init__(self, count: int, timeout: float, lead: float = 0.0):
        self.timeout = timeout
        self._lead = lead
        self._none = np.zeros(count)
        self._extra = Trend.begin(0.0, self._none)

    def take(self, stamp: int, effort: FloatArray) -> None:
        """Take efforts (n,) to add at an instant, ns."""
        if np.isfinite(effort).all():
            self._extra = self._extra.then(stamp * 1e-9, effort, self.timeout)

    def at(self, now: int) -> FloatArray:
        """Efforts (n,) to add at a time, ns: the newest, or zero when they are too old."""
        age = now * 1e-9 - self._extra.stamp
        if abs(age) > self.timeout:
            return self._none
        # An effort that is no longer updated must not be extrapolated for long.
        return self._extra.ahead(self._lead + min(max(age, 0.0), self._lead))


class AddedEffortInput:
    """Topic ``external_effort``.

    Parameters
    ----------
    node : LifecycleNode
    joints : tuple of str
    timeout, lead : float
        s.
    """

    def __init__(self, node: LifecycleNode, joints: tuple[str, ...], timeout: float, lead: float):
        self.added = AddedEffort(len(joints), timeout, lead)
        self._joints = list(joints)
        self._efforts = DirectSubscription(node, JointState, 'external_effort', _NEWEST, _LARGEST)

    def destroy(self) -> None:
        """Destroy the topic."""
        self._efforts.destroy()

    def poll(self, now: int) -> FloatArray:
        """Efforts (n,) to add at a time, ns; for the cycle of the drives."""
        for message, _ in self._efforts.take():
            if list(message.name) == self._joints and len(message.effort) == len(self._joints):
                stamp = message.header.stamp
                self.added.take(stamp.sec * 1_000_000_000 + stamp.nanosec, np.array(message.effort))
        return self.added.at(now)
