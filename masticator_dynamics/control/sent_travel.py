# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the drives should be by what was sent to them: what they are behind is load.

The drive layer leads a motion by the time that commands take, so at any constant velocity joints
are where they are commanded. Were they expected to be late by that time, a fast motion could push
by its velocity times that time, times the drives' stiffness, before it was noticed.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator

from masticator_dynamics.control.force_goal import Commanded, LoopTiming

_HISTORY = 64  # cycles


class SentTravel:
    """The newest commands, by when they were made."""

    def __init__(self, timing: LoopTiming):
        self._delay, self._lead = timing.path_delay, timing.lead
        # By which a command may be taken sooner or later: a cycle of control, or of the drives.
        self._jitter = 1.01 * max(timing.period, 0.5 * timing.path_delay)
        self._sent = collections.deque[tuple[float, Commanded]](maxlen=_HISTORY)

    def take(self, time: float, commanded: Commanded) -> None:
        """Note what a cycle commands, at its time, s."""
        self._sent.append((time, commanded))

    def behind(self, time: float, travel: float) -> float:
        """By how much a travel, m, measured at a time, s, is behind where drives were led.

        Nothing within what they may be led by commands of a cycle sooner or later; negative where
        it is ahead.
        """
        led = list(self._led(time)) or [sent.travel for _, sent in self._sent] or [travel]
        return max(min(led) - travel, 0.0) + min(max(led) - travel, 0.0)

    def _led(self, time: float) -> Iterator[float]:
        """Where drives are led at a time, s, by each command that may have reached them, m."""
        then = time - self._delay
        for made, sent in reversed(self._sent):
            if made < then - self._jitter:
                return
            if made <= then + self._jitter:
                s = then - made + self._lead
                yield sent.travel + s * sent.velocity + 0.5 * s * s * sent.acceleration
