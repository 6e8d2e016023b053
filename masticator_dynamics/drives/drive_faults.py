# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of drives and bus, in any state: what makes all drives torque-free at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Feedback, Goal
from masticator_dynamics.drives.drive_report import Finding
from masticator_dynamics.drives.state_machine import LOST_AFTER, BoolArray, faulted, in_words

_BUS = 'bus'


class DriveFaults:
    """Lost, silent, restarted and faulty drives, and other masters, in the feedback of a cycle.

    Parameters
    ----------
    drives : Drives
    """

    def __init__(self, drives: Drives):
        self._names, self._timeout = tuple(drives.drives), drives.heartbeat.timeout

    def found(self, feedback: Feedback, grace: bool, acknowledging: bool) -> list[Finding]:
        """Lost, silent, restarted and faulty drives, EMCY, a broken bus: all torque-free.

        Frames of another master: quick stop.

        Parameters
        ----------
        feedback : Feedback
        grace : bool
            Whether the exchange has only begun: drives may still send their first heartbeat.
        acknowledging : bool
            Whether faults are being reset: a fault bit is no news then.
        """
        silent = feedback.heartbeat_age > self._timeout
        missing = feedback.missed >= LOST_AFTER
        faulty = faulted(feedback)
        if grace:
            silent = silent & np.isfinite(feedback.heartbeat_age)
        if acknowledging:
            faulty = faulty & False
        found = []
        if feedback.other_master:
            found.append(Finding(_BUS, 'second master', feedback.other_master, Goal.STOPPED))
        happened = feedback.bus_error or feedback.emergencies or feedback.restarted
        if happened or (silent | missing | faulty).any():
            found += [
                Finding(drive, kind, text, Goal.TORQUE_FREE)
                for drive, kind, text in self._in_words(feedback, silent, missing, faulty)
            ]
        return found

    def _in_words(
        self, feedback: Feedback, silent: BoolArray, missing: BoolArray, faulty: BoolArray
    ) -> Iterator[tuple[str, str, str]]:
        """Yield causes before their consequences."""
        if feedback.bus_error:
            yield _BUS, 'bus', feedback.bus_error
        for emergency in feedback.emergencies:
            if emergency.code:
                yield (
                    emergency.drive,
                    'emergency',
                    f'{emergency.text} (EMCY 0x{emergency.code:04X})',
                )
        for k in feedback.restarted:
            text = 'has restarted since it was set up (boot-up message); ~/reset sets it up again'
            yield self._names[k], 'restart', text
        for k in np.flatnonzero(faulty).tolist():
            yield self._names[k], 'fault', f'is in {in_words(int(feedback.status_word[k]))}'
        for k in np.flatnonzero(silent).tolist():
            age = feedback.heartbeat_age[k]
            text = f'no heartbeat for {age:.3g} s' if np.isfinite(age) else 'has sent no heartbeat'
            yield self._names[k], 'heartbeat', f'{text} (timeout {self._timeout:g} s)'
        for k in np.flatnonzero(missing).tolist():
            yield self._names[k], 'lost', f'{feedback.missed[k]} PDOs missing in a row'


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
