# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that monitor the drives, and whether they still do."""

from __future__ import annotations

import threading
from collections.abc import Callable

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.drive_cycle import Goal
from masticator_dynamics.drives.findings import Finding

PATIENCE = 0.8  # s that a monitoring thread may take beyond its pause


class WatchDeadlines:
    """Deadlines of all monitoring threads, which the cycle checks by its own clock."""

    def __init__(self) -> None:
        self._limits: dict[str, float] = {}
        self._last: dict[str, float] = {}  # s, of the cycle that first knew of the latest look

    def begin(self, name: str, limit: float) -> None:
        """From now on, require a thread to look at least every ``limit`` s."""
        self._last.pop(name, None)
        self._limits[name] = limit

    def end(self, name: str) -> None:
        """Stop requiring a thread to look."""
        self._limits.pop(name, None)

    def looked(self, name: str) -> None:
        """Note that the thread has looked."""
        self._last.pop(name, None)

    def overdue(self, now: float) -> list[Finding]:
        """Threads that have not looked in time; called in every cycle."""
        found = []
        for name, limit in tuple(self._limits.items()):
            silence = now - self._last.setdefault(name, now)
            if silence > limit:
                text = f'has not looked for {silence:.3g} s (limit {limit:.3g} s)'
                found.append(Finding(name, 'watch', text, Goal.STOPPED))
        return found


class WatchingThread:
    """A thread that looks repeatedly, whatever goes wrong; its own errors stop the drives.

    Parameters
    ----------
    name : str
        Name in messages.
    look : callable
    pause : float, optional
        Time between two looks, s; None: never look.
    watches : WatchDeadlines
    stop_drives : callable
        Takes a `Finding`.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[], None],
        pause: float | None,
        watches: WatchDeadlines,
        stop_drives: Callable[[Finding], None],
    ):
        self._name, self._look, self._pause = name, look, pause
        self._watches, self._stop_drives = watches, stop_drives
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        if self._pause is None:
            return
        self._ended.clear()
        self._watches.begin(self._name, self._pause + PATIENCE)
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; may be called more than once."""
        self._ended.set()
        self._watches.end(self._name)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        real_time.request(real_time.SERVICE)
        while not self._ended.wait(self._pause):  # missed looks are not made up for
            try:
                self._look()
            except Exception as error:  # it must go on, and nobody else would report this
                text = f'failed: {type(error).__name__}: {error}'
                self._stop_drives(Finding(self._name, 'watch', text, Goal.STOPPED))
            self._watches.looked(self._name)
