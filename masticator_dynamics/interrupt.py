# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while modules load, and in processes that end with their parent."""

import contextlib
import signal
from collections.abc import Iterator


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
def starting_deaf() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: their parent ends them, and says so once.

    A terminal sends it to all, and Python would print a stack trace from each that just starts.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
