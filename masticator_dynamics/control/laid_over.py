# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces and travels laid one over the other by when they were measured, not by when they came.

As they come, a spring that is compressed looks like another: over ROS joints are up to 6 ms older
than forces.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

_HISTORY = 64  # readings


class LaidOver:
    """Forces, each with the travel of its time once that is known."""

    def __init__(self) -> None:
        self._travels = collections.deque[tuple[float, float]](maxlen=_HISTORY)  # s, m
        self._forces = collections.deque[tuple[float, float]](maxlen=_HISTORY)  # s, N

    def measured(self, time: float, travel: float) -> None:
        """Take a travel, m, that was measured at a time, s, unless it is not newer."""
        if not self._travels or time > self._travels[-1][0]:
            self._travels.append((time, travel))

    def felt(self, time: float, force: float) -> Iterator[tuple[float, float]]:
        """Take a force, N, of a time, s; yield what is complete now: travels and their forces."""
        self._forces.append((time, force))
        while self._forces and self._forces[0][0] <= self._travels[-1][0]:
            time, force = self._forces.popleft()
            yield self._travel_at(time), force

    def _travel_at(self, time: float) -> float:
        """Travel at a time that is not after the newest; before the oldest: that."""
        later = self._travels[-1]
        for before in reversed(self._travels):
            if before[0] <= time:
                if later[0] <= before[0]:
                    return before[1]
                part = (time - before[0]) / (later[0] - before[0])
                return before[1] + part * (later[1] - before[1])
            later = before
        return later[1]
