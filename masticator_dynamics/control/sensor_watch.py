# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a force sensor can be trusted, from its readings and their stamps alone."""

from __future__ import annotations

import collections
import math

from masticator_dynamics.control.force_goal import ForceBounds, ForceSensor, Measured, Reason

_DISAGREE = 0.030  # s
_FORGET = 1.0  # s, of the largest delay seen
_SILENT = 5.0  # times the silence after which nothing moves
_IN_A_ROW = 2  # readings, since one alone may be noise
WINDOW = 0.008  # s: five readings at 500 Hz, two of a sensor of less than 125 Hz
FILTER = 0.020  # s, of a first-order lag

Fault = tuple[Reason, str]


class SensorWatch:
    """Takes what is measured, cycle by cycle.

    Attributes
    ----------
    fresh : bool
        Whether this cycle brought a reading.
    force : float
        N, of the newest reading.
    smoothed : float
        N, later by `FILTER`.
    recent : deque of tuple of float
        The newest readings, by when they were measured (s, N): those of the last `WINDOW`, and two
        of a sensor that is slower.
    offset : float
        N, of the first readings if they already were what counts as contact, else 0: an offset, or
        something that was touched before. Contact is what is felt beyond it.
    delay : float
        Age that readings have when they come, s: the declared one or, if that is more, the largest
        that stamps have shown within the last second or so.
    """

    def __init__(self, sensor: ForceSensor, bounds: ForceBounds, period: float):
        self._sensor, self._bounds, self._period = sensor, bounds, period
        self.recent: collections.deque[tuple[float, float]] = collections.deque()
        self.fresh, self.force, self.delay = False, 0.0, sensor.delay
        self.smoothed = self.offset = 0.0
        self._count = 0
        self._stamp, self._came = -math.inf, math.nan
        self._same = self._odd = 0.0  # s
        self._opposite = self._late = 0  # readings in a row
        self._observed = math.nan

    def take(self, now: Measured) -> None:
        """Look at what this cycle knows; what is not a number counts as no reading."""
        if math.isnan(self._came):
            self._came = now.time
        self.fresh = now.stamp > self._stamp and math.isfinite(now.force)
        if not self.fresh:
            return
        age, before = now.time - now.stamp, self.force
        between = now.time - self._came
        self._stamp, self._came, self.force = now.stamp, now.time, now.force
        self.delay = max(
            age, self._sensor.delay, self.delay - (self.delay - age) * between / _FORGET
        )
        self._late = self._late + 1 if age > self._sensor.longest_delay else 0
        unchanged = bool(self.recent) and now.force == before and self._sensor.noise > 0.0
        self._same = self._same + between if unchanged else 0.0
        self._opposite = self._opposite + 1 if now.force < -self._sensor.contact else 0
        self._compare(now.observed, between)
        self.smoothed += (self.force - self.smoothed) * between / (between + FILTER)
        self.recent.append((now.stamp, now.force))
        self._count += 1
        if self._count <= _IN_A_ROW:
            first = min(force for _, force in self.recent)
            self.offset = first if first > self._sensor.contact else 0.0
        oldest = now.stamp - WINDOW - 0.5 * self._period
        while len(self.recent) > _IN_A_ROW and self.recent[0][0] < oldest:
            self.recent.popleft()

    @property
    def span(self) -> float:
        """Time from the first to the last of the newest readings, s; stamps may be too near."""
        if len(self.recent) < _IN_A_ROW:
            return self._period
        return max(self.recent[-1][0] - self.recent[0][0], (len(self.recent) - 1) * self._period)

    def silence(self, time: float) -> float:
        """Time since the newest reading came, s."""
        return 0.0 if math.isnan(self._came) else time - self._came

    def holds(self, time: float) -> bool:
        """Whether nothing should move until there is a reading."""
        return self.silence(time) > self._sensor.silence

    def met(self) -> bool:
        """Whether something is felt."""
        newest = [force for _, force in self.recent][-_IN_A_ROW:]
        return len(newest) == _IN_A_ROW and min(newest) > self._sensor.contact + self.offset

    def pulls(self, amount: float) -> bool:
        """Whether all of the newest readings say a pull of more than this, N."""
        return all(force < -amount for _, force in self.recent)

    def fault(self, time: float) -> Fault | None:
        """Why it cannot be trusted, if so."""
        silence, sensor = self.silence(time), self._sensor
        if silence > _SILENT * sensor.silence:
            return Reason.SILENT, f'no force has been measured for {1e3 * silence:.0f} ms'
        if self._late >= _IN_A_ROW:
            return Reason.LATE, (
                f'forces come {1e3 * self.delay:.1f} ms late, more than the '
                f'{1e3 * sensor.longest_delay:g} ms up to which force control is stable'
            )
        if self._same >= sensor.stuck:
            return Reason.STUCK, (
                f'the sensor has said exactly {self.force:.6g} N for {1e3 * self._same:.0f} ms; '
                f'noise of {sensor.noise:g} N would change that, and where coarse counts or a '
                'filter hide it, the noise of the sensor is to be set to 0'
            )
        if self._opposite >= _IN_A_ROW:
            return Reason.OPPOSITE, (
                f'the sensor says {self.force:.3g} N, a pull: its sign or the direction is wrong'
            )
        if self._odd >= _DISAGREE:
            return Reason.DISAGREES, (
                f'the sensor says {self.force:.3g} N, the motors {self._observed:.3g} N'
            )
        return None

    def _compare(self, observed: float, between: float) -> None:
        self._observed = observed
        allowed = self._bounds.disagreement + self._bounds.disagreement_share * abs(self.force)
        if abs(self.force - observed) > allowed:  # never, with NaN
            self._odd += between
        else:
            self._odd = max(self._odd - between, 0.0)
