# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tells a simulated clock that was set from one that runs fast, in coarse steps, or was not heard.

Whoever simulates publishes the time at any rate, faster or slower than it passes. An advance is
usual if it is a few cycles, a few times the advances before, or what the clock would have made at
its speed while nobody looked, and in a short silence.
"""

from __future__ import annotations

import collections

_FEW = 7  # periods of the cycle
_TIMES = 3  # the largest of the advances before
_HASTE = 2.0  # times the speed so far
_SILENCE = 100_000_000  # ns in which it has stood still, though it may only not have been heard
_REMEMBERED = 50  # advances


class SimulatedClock:
    """Looks at the advances of a simulated clock.

    Parameters
    ----------
    period : int
        Of the cycle, ns.
    """

    def __init__(self, period: int):
        self.few = _FEW * period
        self._now = self._heard = self._looked = 0
        self._advances: collections.deque[tuple[int, int]] = collections.deque(maxlen=_REMEMBERED)

    def look(self, steady: int) -> None:
        """Note that somebody looks, at a time of a clock that is never set, ns."""
        self._looked = steady

    def was_set(self, now: int, steady: int) -> bool:
        """Whether somebody has set the clock since the last call.

        Parameters
        ----------
        now : int
            What it shows, ns.
        steady : int
            A clock that is never set, ns.
        """
        advance, stood_still = now - self._now, self._looked - self._heard
        unseen, self._looked = steady - self._looked, steady
        if advance == 0:
            return False
        first, passed, self._now, self._heard = self._now == 0, steady - self._heard, now, steady
        if first:
            return False
        if advance < 0:
            return -advance > self.few
        usual = self._usual(unseen + min(stood_still, _SILENCE))
        # What is unusual now may be the speed from now on, but not at once.
        self._advances.append((min(advance, usual), passed))
        return advance > usual

    def _usual(self, passed: int) -> int:
        """The largest usual advance, ns, in such a time."""
        if not self._advances:
            return max(self.few, _SILENCE)
        advances, times = zip(*self._advances, strict=True)
        speed = sum(advances) / max(sum(times), 1)
        return max(self.few, _TIMES * max(advances), round(_HASTE * speed * passed))
