# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while modules load, while code of others calls back, and in nodes and child processes."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 2.0  # s for code of others to come to an end


class _Flag:
    """Whether this process turns signals into a flag, as nodes do, and has been told to end."""

    used = requested = False


def use_flag() -> None:
    """Promise that no handler of a signal raises in this process, but calls `request`."""
    _Flag.used = True


def request() -> None:
    """Note that the process has been told to end."""
    _Flag.requested = True


def requested() -> bool:
    """Whether the process has been told to end: what waits for something gives up."""
    return _Flag.requested


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Have signals take effect after the block, or end the process if that takes too long.

    Python raises KeyboardInterrupt wherever the main thread is. In a callback of code of others, it
    gets lost or ends in a crash.
    """
    import threading  # not before: `ending_at_once` holds while it is imported

    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    if not _Flag.used and threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if callable(handler := signal.getsignal(number)):
                handlers[number] = handler
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if not came:
            last = threading.Timer(PATIENCE, os._exit, (128 + number,))
            last.daemon = True
            last.start()
            waiting.callback(last.cancel)
        came.append(number)

    waiting = contextlib.ExitStack()
    try:
        for handled in handlers:
            signal.signal(handled, note)
        yield
    finally:
        waiting.close()
        for handled, handler in handlers.items():
            signal.signal(handled, handler)
        if came:
            handlers[came[0]](came[0], None)


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process at once, as for a program in C.

    While modules load, there is nothing to clean up yet. Python would print a stack trace from
    wherever it was, or lose a signal that arrived in a callback of the importer.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if usual:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not in the main thread; to ask would import threading, before this holds
        usual = False
    try:
        yield
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def starting_deaf(signals: Iterable[int] = (signal.SIGINT,)) -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: their parent ends them, and says so once.

    A terminal sends it to all, and Python would print a stack trace from each that just starts.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
