# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that run as soon as they can, where the machine permits it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

# Of the real-time scheduler (1 to 99). A thread that holds Python's lock while others wait for it
# must not be kept from running by the rest of the machine, so the lesser ones have one, too.
EXCHANGE, SIMULATOR, SERVICE = 40, 30, 10


def request(priority: int) -> bool:
    """Put the calling thread under the real-time scheduler (FIFO); whether that is permitted.

    Threads that it starts afterwards inherit it. Permission is ``rtprio`` in
    ``/etc/security/limits.d``, or the capability CAP_SYS_NICE.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))  # 0: this thread
    except (OSError, AttributeError):  # not permitted, or not Linux
        return False
    return True


@contextlib.contextmanager
def requested(priority: int) -> Iterator[None]:
    """The same for a while: what the calling thread starts later must not inherit it."""
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
    except (OSError, AttributeError):  # not Linux
        yield
        return
    request(priority)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, *before)
