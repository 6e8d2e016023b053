# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The wanted force as it is followed: shaped so that the point can travel with it."""

from __future__ import annotations

import collections
import math

from masticator_dynamics.control.force_goal import LoopTiming, Reference

_HISTORY = 64  # cycles
_PLANNED = 0.9  # of velocities and accelerations that are possible: the rest is for the error


class WantedForce:
    """What is asked for, filtered, critically damped, and no faster than the point may travel.

    Parameters
    ----------
    most : float
        N; what is asked beyond it is cut.

    Attributes
    ----------
    now, rate : float
        N and N/s.
    """

    def __init__(self, most: float, timing: LoopTiming):
        self._most, self._timing = most, timing
        self.now = self.rate = 0.0
        self._history = collections.deque([0.0] * _HISTORY, maxlen=_HISTORY)

    def begin(self, felt: float, rate: float, delay: float) -> None:
        """Without a bump: at first it is what is felt, N, and will be until it can change.

        Parameters
        ----------
        rate : float
            At which that rises, N/s.
        delay : float
            From what is planned to what is felt of it, s.
        """
        for k in range(_HISTORY):
            ahead = delay - (_HISTORY - 1 - k) * self._timing.period
            self._history[k] = max(felt + rate * ahead, 0.0)
        self.now, self.rate = min(self._history[-1], self._most), rate

    def shape(
        self,
        reference: Reference,
        since: float,
        stiffness: float,
        acceleration: float,
        *,
        falling: float,
        rising: float,
        fastest_rate: float,
    ) -> None:
        """Go on by a cycle.

        What is asked is known ahead, and looked up as much earlier as shaping makes it late, and
        half a cycle.

        Parameters
        ----------
        since : float
            Time since force control began, s.
        stiffness : float
            Of what is pressed, N/m.
        acceleration, falling, rising : float
            Largest of the point, m/s^2, and its velocities back and forth, m/s.
        fastest_rate : float
            Of the force, N/s.
        """
        timing, period = self._timing, self._timing.period
        ahead = 2.0 * timing.rise + 0.5 * timing.period
        left = self.clipped(reference(since + ahead)) - self.now
        fastest = _PLANNED * acceleration * stiffness  # N/s^2
        most = min(
            0.5 * abs(left) / timing.rise,
            math.sqrt(2.0 * fastest * abs(left)),
            _PLANNED * (falling if left < 0.0 else rising) * stiffness,
            fastest_rate,
        )
        change = (math.copysign(most, left) - self.rate) * 2.0 / timing.rise * period
        fastest *= 1.0 / _PLANNED * period
        self.rate += min(max(change, -fastest), fastest)
        self.now = min(max(self.now + self.rate * period, 0.0), self._most)
        self._history.append(self.now)

    def clipped(self, force: float) -> float:
        """What is asked, N, within what may be: 0 where it is NaN."""
        return 0.0 if math.isnan(force) else min(max(force, 0.0), self._most)

    def before(self, delay: float) -> float:
        """N, some time, s, ago."""
        cycles = min(max(delay / self._timing.period, 0.0), _HISTORY - 2)
        whole = int(cycles)
        newer, older = self._history[-1 - whole], self._history[-2 - whole]
        return newer + (cycles - whole) * (older - newer)

    def lowered(self, span: float) -> float:
        """By how much less it is, N, than it was within a time, s."""
        cycles = int(span / self._timing.period) + 2
        return max(list(self._history)[-cycles:]) - self._history[-1]
