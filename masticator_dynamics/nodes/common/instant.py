# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two clocks read at the same instant.

Between two lines of Python another thread may hold the lock, or the kernel the processor, for
milliseconds. Times converted from one clock to the other would be wrong by as much: a command
then has too little lead, and the drives are sent back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_TOGETHER = 1e-4  # s, within which both are read
_ATTEMPTS = 5


def both_clocks(now: Callable[[], int]) -> tuple[int, float]:
    """A node's clock, ns, and ``time.monotonic()``, s, at the same time.

    Parameters
    ----------
    now : callable
        The node's clock, ns.
    """
    best, closest = (0, 0.0), math.inf
    for _ in range(_ATTEMPTS):
        begin = time.monotonic()
        nanoseconds = now()
        end = time.monotonic()
        if end - begin < closest:
            best, closest = (nanoseconds, 0.5 * (begin + end)), end - begin
        if closest < _TOGETHER:
            break
    return best
