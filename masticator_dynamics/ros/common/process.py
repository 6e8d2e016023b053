# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node as a process: start, spin, and an orderly end on SIGINT or SIGTERM."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

import rclpy
import rclpy.utilities
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from masticator_dynamics import interrupt
from masticator_dynamics.ros import middleware
from masticator_dynamics.ros.common.guard import GuardedExecutor

_LONGEST_WAIT = 1.0  # s; Python sees a signal only between two waits of the executor
_MMAP_THRESHOLD = -3  # of mallopt(3)
_LARGE = 262_144  # bytes


class _Termination:
    """Turns signals into a flag that the main thread looks at between callbacks.

    Nothing is raised: an exception would end whatever runs just then, in a callback of a compiler
    even the process.
    """

    def __init__(self, early: int) -> None:
        self.wake: Callable[[], object] = lambda: None  # ends a wait of the executor
        self.node: Node | None = None
        self._early, self._over = early, threading.Event()
        interrupt.use_flag()
        for number in interrupt.SIGNALS:
            signal.signal(number, lambda *_: None)
        reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, args=(reader,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ignore further signals: Ctrl-C in a terminal reaches launched processes twice.

        The second one would kill Python while it shuts down.
        """
        for number in interrupt.SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        self._over.set()
        os.write(self._writer, b'.')
        self._thread.join()

    def _watch(self, reader: int) -> None:
        """Set the flag, have a main thread that waits look at it, but wait for no compiler."""
        os.read(reader, 1)
        if self._over.is_set():
            return
        interrupt.request()
        self.wake()
        stuck = not self._over.wait(interrupt.PATIENCE)
        if stuck and getattr(self.node, 'loading', self.node is None):
            os._exit(self._early)


def run(create: Callable[[], Node], arguments: Sequence[str] | None = None, early: int = 0) -> int:
    """Run a node until a signal or the shutdown of its context.

    Parameters
    ----------
    create : callable
        Returns the node; its ``start()`` is called, if it has one, and its ``stop()`` at the end;
        its ``code``, if it has one, is the exit code after that.
    arguments : sequence of str, optional
        Command line; by default that of the process.
    early : int
        Exit code of a process that is told to end while starting.

    Returns
    -------
    int
        Exit code: by default 0 after a signal, 1 when the node could not start (after one line
        that says why).
    """
    termination = _Termination(early)
    node, executor, code = None, None, 0
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, interrupt.SIGNALS)  # if the parent blocked them
        middleware.prepare()
        _return_large_blocks()
        rclpy.init(
            args=None if arguments is None else list(arguments),
            signal_handler_options=SignalHandlerOptions.NO,
        )
        node = termination.node = create()
        executor = GuardedExecutor()
        executor.add_node(node)
        start = getattr(node, 'start', lambda: True)
        termination.wake = executor.wake
        started = start()
        code = early if interrupt.requested() else 0 if started else 1
        if started and not interrupt.requested():
            while executor.context.ok() and not interrupt.requested():
                executor.spin_once(timeout_sec=_LONGEST_WAIT)
            code = getattr(node, 'code', 0)
    except Exception as error:  # bad arguments or parameters: a sentence, not a stack trace
        print(f'{type(error).__name__}: {error}', file=sys.stderr)
        code = 1
    finally:
        stop = getattr(node, 'stop', None)
        if stop is not None:
            stop()
        termination.end()
        if executor is not None:
            executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.utilities.try_shutdown()
        _end_with_threads(code)
    return code


def _end_with_threads(code: int) -> None:
    """Wait for threads that should have ended; end the process with those that do not.

    Python would stop them inside the middleware, which aborts the process then.
    """
    end = time.monotonic() + interrupt.PATIENCE
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(max(end - time.monotonic(), 0.0))
            if thread.is_alive():
                print(f'thread {thread.name} has not ended', file=sys.stderr, flush=True)
                os._exit(code)


def _return_large_blocks() -> None:
    """Have the C library return the memory of large messages to the system.

    By default it keeps up to 64 MB of it once a block of 32 MB has been freed.
    """
    with contextlib.suppress(AttributeError):  # a C library other than GNU's
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)
