# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tells a clock that was set from a process that stood still, using a clock that nobody sets."""

from __future__ import annotations

import time
from collections.abc import Callable

SMALLEST = 10_000_000  # ns; clocks that are slewed differ by 0.0005 of the time between two looks
_TOGETHER = 1_000_000  # ns; within which both clocks must have been read
_ATTEMPTS = 5


def steady_ns() -> int:
    """Time since the start of the computer, ns; it goes on while the computer sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class ClockSteps:
    """Steps of a clock.

    Parameters
    ----------
    now : callable
        The clock that may be set, ns.
    steady : callable
        One that cannot be set.
    """

    def __init__(self, now: Callable[[], int], steady: Callable[[], int] = steady_ns):
        self._now, self._steady = now, steady
        self._difference: int | None = None

    def take(self) -> int:
        """By how much the clock was set since the last call, ns; 0 if it was not."""
        for _ in range(_ATTEMPTS):
            begin = self._steady()
            difference = self._now() - begin
            if self._steady() - begin < _TOGETHER:
                break
        else:  # interrupted every time; the next cycle will find out
            return 0
        before, self._difference = self._difference, difference
        if before is None or abs(difference - before) < SMALLEST:
            return 0
        return difference - before
