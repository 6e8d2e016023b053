# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that run as soon as they can, and memory that stays, where the machine permits it."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

# Of the real-time scheduler (1 to 99). A thread that holds Python's lock while others wait for it
# must not be kept from running by the rest of the machine, so the lesser ones have one, too.
EXCHANGE, SIMULATOR, SERVICE = 40, 30, 10
_CURRENT, _FUTURE, _WHEN_TOUCHED = 1, 2, 4  # of mlockall(2)


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


def lock_memory() -> bool:
    """Keep what this process touches in memory, from now on; whether that is permitted.

    A page that has to be read again, program code included, takes longer than a cycle. Permission
    is ``memlock`` unlimited in ``/etc/security/limits.d``, or root: under a limit, what is locked
    would count against it and later allocations would fail.
    """
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        if limit != resource.RLIM_INFINITY and os.geteuid() != 0:
            return False
        flags = _CURRENT | _FUTURE | _WHEN_TOUCHED
        return ctypes.CDLL(None, use_errno=True).mlockall(flags) == 0
    except (ImportError, AttributeError, OSError):  # not Linux
        return False


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
