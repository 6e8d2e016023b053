# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How punctual the cyclic exchange is."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

_WINDOW = 4096  # cycles


@dataclasses.dataclass(frozen=True)
class Spread:
    """Spread of some times, s; zero if there are none."""

    median: float
    p99: float
    largest: float

    @classmethod
    def of(cls, values: FloatArray) -> Spread:
        """Spread of the finite values."""
        values = values[np.isfinite(values)]
        if not values.size:
            return cls(0.0, 0.0, 0.0)
        median, p99 = np.percentile(values, (50.0, 99.0))
        return cls(float(median), float(p99), float(values.max()))


class Window:
    """The latest 4096 of some times, s; one thread adds, others read."""

    def __init__(self) -> None:
        self._values, self._count = np.full(_WINDOW, np.nan), 0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._values[self._count % _WINDOW] = seconds
        self._count += 1

    def __call__(self) -> FloatArray:
        """All of them, in no order."""
        return self._values[: self._count].copy()


class Longest:
    """The longest of some times, s, since the last `take`; one thread adds, another takes."""

    def __init__(self) -> None:
        self._value = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        if seconds > self._value:
            self._value = seconds

    def take(self) -> float:
        """Return the longest, and begin anew."""
        value, self._value = self._value, 0.0
        return value


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Statistics of an exchange since its start; times are those of the last 4096 cycles.

    Attributes
    ----------
    cycles, skipped : int
        Cycles run, and those skipped because they were too late.
    lateness : Spread
        From when SYNC was due to when it was sent.
    answer : Spread
        From SYNC to the last of the drives' PDOs, where all came; at least a quarter of a period,
        since none is read before.
    duration : Spread
        From SYNC to the last frame of the cycle sent.
    processor : float
        Processor time of the thread per cycle, waiting and sending included, s.
    """

    cycles: int
    skipped: int
    lateness: Spread
    answer: Spread
    duration: Spread
    processor: float


class Timing:
    """Collects the data for `Statistics`; filled by one thread, read by any."""

    def __init__(self) -> None:
        self.skipped = 0
        self._cycles = 0
        self._windows = Window(), Window(), Window()
        self._processor = 0.0
        self._processor_begin: float | None = None

    def add(self, lateness: float, answer: float, duration: float) -> None:
        """Count a cycle; called by the thread that runs them.

        Parameters
        ----------
        lateness : float
            How late the cycle began, s.
        answer : float
            From its beginning until the drives had answered, s.
        duration : float
            From its beginning to its end, s.
        """
        for window, seconds in zip(self._windows, (lateness, answer, duration), strict=True):
            window.add(seconds)
        self._cycles += 1
        now = time.thread_time()
        if self._processor_begin is None:
            self._processor_begin = now
        self._processor = now - self._processor_begin

    def statistics(self) -> Statistics:
        """Statistics so far."""
        cycles = self._cycles
        lateness, answer, duration = (Spread.of(window()) for window in self._windows)
        return Statistics(
            cycles, self.skipped, lateness, answer, duration,
            self._processor / max(cycles - 1, 1),
        )  # fmt: skip
