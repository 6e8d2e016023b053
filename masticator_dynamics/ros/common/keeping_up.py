# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Warnings that the computer does not keep up, before the drives notice it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from masticator_dynamics.drives.status_words import LOST_AFTER

if TYPE_CHECKING:
    from masticator_dynamics.drives.configuration import Drives

_REMEDY = (
    'this computer does not keep up: end what else computes, allow real-time priorities '
    '(masticator check-robot says what is missing), or choose a lower rate'
)
_THROTTLED = (
    'real-time threads together wanted more of a processor than kernel.sched_rt_runtime_us grants '
    '(masticator check-robot tells how much), or a more urgent one ran; end what else is '
    'real-time, or choose a lower rate'
)
_HELD_BACK = 0.02  # s; for less, something more urgent may have run
_QUIET = 60.0  # s without trouble, after which it is worth reporting again


def late_answers(drives: Drives) -> tuple[float, str]:
    """How late (s) a cycle of the drives may be without a warning, and what the delay leads to."""
    lost = LOST_AFTER / drives.cycle_rate
    return 0.5 * lost, f'all drives stop after {1e3 * lost:.0f} ms without an answer'


class KeepingUp:
    """Warns, once for each name, that something stood still.

    Parameters
    ----------
    warn : callable
        Takes a sentence.
    """

    def __init__(self, warn: Callable[[str], None]):
        self._warn = warn
        self._last: dict[str, float] = {}

    def look(
        self, who: str, stood: float, limit: float, consequence: str, held_back: float = 0.0
    ) -> None:
        """Take the longest time for which something stood still since the last look.

        Parameters
        ----------
        who : str
            What is reported to have stood still.
        stood, limit : float
            s; up to the limit it is not worth a warning.
        consequence : str
            What it leads to.
        held_back : float
            s for which the kernel kept its thread from running, although it is a real-time one.
        """
        throttled = held_back > _HELD_BACK
        if stood <= limit and not throttled:
            return
        now = time.monotonic()
        if now - self._last.get(who, -math.inf) > _QUIET:
            why = _REMEDY
            if throttled:
                why = f'the kernel held its thread back for {1e3 * held_back:.0f} ms: {_THROTTLED}'
            self._warn(f'{who} for {1e3 * max(stood, held_back):.0f} ms ({consequence}); {why}')
        self._last[who] = now
