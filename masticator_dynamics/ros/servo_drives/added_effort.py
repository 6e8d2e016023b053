# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque due to the bite force, bypassing a trajectory controller.

A trajectory controller plays the efforts of ``feedforward_trajectory``, which do not include food.
Node ``dynamics`` publishes what food adds on ``external_effort``.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.drives.trend import Trend
from masticator_dynamics.engine.arrays import FloatArray


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
