# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Real-time threads, locked memory, processors that stay awake, and how punctual a cycle is."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import os
import pathlib
import struct
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.code_cache import scheduler_restored

# Real-time priorities (1 to 99). The rest of the machine must not preempt a thread that holds
# Python's lock while others wait for it, so the less urgent threads have a priority, too.
EXCHANGE, DYNAMICS, SIMULATOR, SERVICE = 40, 35, 30, 10
_LONGEST_WAKE = pathlib.Path('/dev/cpu_dma_latency')  # us, of any processor
_NO_SLEEP = 0.001  # s; longest period for which processors do not sleep at all
_LIGHT_SLEEP = 2  # us to wake from it
_COUNTS = 100  # bytes of the kernel's three numbers of a thread, at most
_CURRENT, _FUTURE, _WHEN_TOUCHED = 1, 2, 4  # of mlockall(2)


def request(priority: int) -> bool:
    """Put the calling thread under the real-time scheduler (FIFO); return whether permitted.

    Threads and processes that it starts do not inherit it: two that compute for long, each on a
    processor, would leave nothing for anybody else. Permission is ``rtprio`` in
    ``/etc/security/limits.d``, or the capability CAP_SYS_NICE.
    """
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(priority))  # 0: this thread
    except (OSError, AttributeError):  # not permitted, or not Linux
        return False
    return True


def release() -> None:
    """Return the calling thread to the ordinary scheduler."""
    with contextlib.suppress(OSError, AttributeError):
        # Who may not use priorities may not take the flag back either.
        os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))


class HeldBack:
    """How long a thread was ready but not running, by the kernel's own count.

    A real-time thread is kept from running only by more urgent ones, and by the kernel when all of
    them together want more processor time than it grants (``kernel.sched_rt_runtime_us``).
    """

    def __init__(self) -> None:
        self._count: io.FileIO | None = None  # stays open: opening it takes most of a look's time
        self._before = 0

    def begin(self) -> None:
        """Watch the calling thread, which calls :meth:`end` before it ends."""
        with contextlib.suppress(OSError):  # not Linux
            self._count = io.FileIO(f'/proc/self/task/{threading.get_native_id()}/schedstat')
            self._before = self._waited()

    def end(self) -> None:
        """Watch no more."""
        if self._count is not None:
            self._count.close()

    def take(self) -> float:
        """Time held back since the last call, s; 0 if the kernel does not count it."""
        before, self._before = self._before, self._waited()
        return max(self._before - before, 0) * 1e-9

    def _waited(self) -> int:
        """Total time that the thread has waited for a processor, ns."""
        if self._count is None:
            return 0
        try:
            self._count.seek(0)
            return int(self._count.read(_COUNTS).split()[1])
        except (OSError, ValueError, IndexError):  # no longer watched
            return 0


def lock_memory() -> bool:
    """Lock all memory this process touches from now on; return whether that is permitted.

    Reading a page back in, program code included, takes longer than a cycle. Permission is
    ``memlock`` unlimited in ``/etc/security/limits.d``, or root: under a limit, locked memory would
    count against it and later allocations would fail.
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


@functools.cache
def stay_awake(period: float) -> bool:
    """Keep idle processors from sleeping deeply until this process ends; return whether permitted.

    For a period (s) of 1 ms or less they do not sleep at all. Otherwise they may, as far as they
    wake within 2 us: one that never sleeps heats, and in a virtual machine it uses up the time that
    the host grants, so that all of them stand still for the rest of each 100 ms. The kernel takes
    the request back when the file is closed, as it is when the process ends, however that comes
    about. Permission is to write to the file.
    """
    try:
        request = os.open(_LONGEST_WAKE, os.O_WRONLY)
    except OSError:  # not permitted, or not Linux
        return False
    os.write(request, struct.pack('=i', 0 if period <= _NO_SLEEP else _LIGHT_SLEEP))
    return True


class Worker:
    """A thread that is started and ended as often as needed.

    Parameters
    ----------
    name : str
        Of the thread.
    run : callable
        What it does until ``ended`` is set.
    priority : int, optional
        That it requests; by default it has an ordinary one.
    period : float, optional
        Of a thread that follows a clock, s: idle processors stay awake for it.

    Attributes
    ----------
    ended : threading.Event
        Whether the thread is to end.
    real_time : bool
        Whether it runs under the real-time scheduler.
    awake : bool
        Whether idle processors do not sleep deeply.
    held_back : HeldBack
        Counts for a real-time thread that follows a clock.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[], None],
        priority: int | None = None,
        period: float | None = None,
    ):
        self._name, self._work, self._priority, self._every = name, run, priority, period
        self.ended, self.held_back = threading.Event(), HeldBack()
        self.real_time = self.awake = False
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin; returns at once."""
        self.ended.clear()
        self._thread = threading.Thread(target=self._begin, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for that; may be called more than once."""
        self.ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _begin(self) -> None:
        if self._priority is not None:
            self.real_time = request(self._priority)
        if self._every is not None:
            self.awake = stay_awake(self._every)
            if self.real_time:
                self.held_back.begin()
        try:
            self._work()
        finally:
            self.held_back.end()


@contextlib.contextmanager
def requested(priority: int) -> Iterator[bool]:
    """As `request`, but for a while."""
    with scheduler_restored():
        yield request(priority)


_WINDOW = 4096  # cycles


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

    def spread(self) -> dict[str, float]:
        """Of the finite ones p50, p99 and max, s; zero if there are none."""
        values = self()
        values = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
        percentiles = np.percentile(values, (50.0, 99.0, 100.0)).tolist()
        return dict(zip(('p50', 'p99', 'max'), percentiles, strict=True))


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


class Statistics:
    """Statistics of an exchange since its start; filled by one thread, read by any.

    Attributes
    ----------
    cycles, skipped : int
        Cycles run, and those skipped because they were too late.
    lateness : Window
        From when SYNC was due to when it was sent.
    answer : Window
        From SYNC to the last of the drives' PDOs, where all came; at least a quarter of a period,
        since none is read before.
    duration : Window
        From SYNC to the last frame of the cycle sent.
    processor : float
        Processor time of the thread per cycle, waiting and sending included, s.
    """

    def __init__(self) -> None:
        self.cycles = self.skipped = 0
        self.lateness, self.answer, self.duration = Window(), Window(), Window()
        self.processor = self._begin = 0.0

    def add(self, lateness: float, answer: float, duration: float) -> None:
        """Count a cycle and its times; called by the thread that runs them."""
        self.lateness.add(lateness)
        self.answer.add(answer)
        self.duration.add(duration)
        now = time.thread_time()
        self._begin = self._begin if self.cycles else now
        self.processor = (now - self._begin) / max(self.cycles, 1)
        self.cycles += 1
