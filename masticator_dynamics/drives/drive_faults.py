# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor of the drives reports, and why all of them were stopped.

Faults of drives and bus are found here, in any state: they make all drives torque-free at once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import DriveGoal, Feedback
from masticator_dynamics.drives.phases import Phase
from masticator_dynamics.drives.state_machine import LOST_AFTER, faulted, in_words
from masticator_dynamics.engine.arrays import FloatArray, IntArray, where

_SHOWN = 3  # consequences reported along with the cause


@dataclasses.dataclass(frozen=True)
class Finding:
    """A reason to stop all drives."""

    drive: str  # the drive concerned; ``bus``, ``commands`` or ``loops`` if it is not a single one
    kind: str  # what it is, in a word or two; a kind is reported once for each drive
    text: str  # the cause, with figures
    goal: DriveGoal  # the reaction: TORQUE_FREE or STOPPED

    def __str__(self) -> str:
        """E.g. ``crank_3: no heartbeat for 0.151 s (timeout 0.15 s)``."""
        return f'{self.drive}: {self.text}'


class LatchedFindings:
    """Findings in order of arrival, each kind once per drive; the first is the cause."""

    def __init__(self) -> None:
        self._findings: dict[tuple[str, str], Finding] = {}

    def __bool__(self) -> bool:
        """Whether anything is latched."""
        return bool(self._findings)

    def add(self, findings: Iterable[Finding]) -> bool:
        """Add findings; return whether any was new."""
        before = len(self._findings)
        for finding in findings:
            self._findings.setdefault((finding.drive, finding.kind), finding)
        return len(self._findings) > before

    def clear(self) -> None:
        """Forget all."""
        self._findings.clear()

    @property
    def goal(self) -> DriveGoal:
        """Torque-free if any finding demands it, else the quick stop."""
        goals = {finding.goal for finding in self._findings.values()}
        return DriveGoal.TORQUE_FREE if DriveGoal.TORQUE_FREE in goals else DriveGoal.STOPPED

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, the cause first."""
        return tuple(self._findings.values())

    @property
    def text(self) -> str:
        """The cause and what followed, in one line; empty if nothing is latched."""
        cause, *rest = [str(finding) for finding in self._findings.values()] or ['']
        if not rest:
            return cause
        more = f' and {len(rest) - _SHOWN} more' if len(rest) > _SHOWN else ''
        return f'{cause} (then {"; ".join(rest[:_SHOWN])}{more})'


@dataclasses.dataclass(frozen=True)
class Report:
    """A snapshot; arrays are (n,), in actuated order."""

    phase: Phase
    goal: DriveGoal
    causes: tuple[Finding, ...]  # latched; the first is the cause of the others
    text: str  # the causes in one line; further consequences are only counted
    feedback: Feedback | None  # the newest; None before the first cycle
    # Sent minus measured position, rad; zero while no positions are followed.
    following_error: FloatArray
    emergencies: tuple[str, ...]  # latest EMCY of each drive in words; empty without one
    temperature: FloatArray  # of the motors, degrees Celsius; NaN where not known
    # Cycles in which an effort was beyond its bound, or changed faster than its rate.
    clamped: IntArray
    held_back: IntArray
    # Numbers of commands: followed; refused for their content; NaN or infinite; received while not
    # enabled.
    accepted: int
    refused: int
    not_finite: int
    ignored: int
    refusal: str  # why the latest one was refused
    silence: float  # time since the latest command followed, s; 0 before
    # Desired minus measured position, rad or m, where efforts are followed; None where it is not
    # known what they are for.
    off_desired: FloatArray | None = None

    @property
    def news(self) -> tuple[Finding | DriveGoal, ...]:
        """What is worth a line in the log when it changes: not the number of consequences."""
        return (self.goal, *self.causes[: 1 + _SHOWN]) if self.causes else ()


_BUS = 'bus'


class DriveFaults:
    """Lost, silent, restarted and faulty drives, and other masters, in the feedback of a cycle."""

    def __init__(self, drives: Drives):
        self._names, self._timeout = tuple(drives.drives), drives.heartbeat.timeout

    def findings(self, feedback: Feedback, grace: bool, acknowledging: bool) -> list[Finding]:
        """Lost, silent, restarted and faulty drives, EMCY, a broken bus: all torque-free.

        Frames of another master: quick stop.

        Parameters
        ----------
        grace : bool
            Whether the exchange has only begun: drives may still send their first heartbeat.
        acknowledging : bool
            Whether faults are being reset: a fault bit is no news then.
        """
        ages, missed = feedback.heartbeat_age.tolist(), feedback.missed.tolist()
        silent = [k for k, age in enumerate(ages) if age > self._timeout]
        missing = [k for k, pdos in enumerate(missed) if pdos >= LOST_AFTER]
        faulty = [] if acknowledging else where(faulted(feedback))
        if grace:
            silent = [k for k in silent if math.isfinite(ages[k])]
        findings = []
        if feedback.other_master:
            other = feedback.other_master
            findings.append(Finding(_BUS, 'second master', other, DriveGoal.STOPPED))
        happened = feedback.bus_error or feedback.emergencies or feedback.restarted
        if happened or silent or missing or faulty:
            findings += [
                Finding(drive, kind, text, DriveGoal.TORQUE_FREE)
                for drive, kind, text in self._in_words(feedback, silent, missing, faulty)
            ]
        return findings

    def _in_words(
        self, feedback: Feedback, silent: list[int], missing: list[int], faulty: list[int]
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
        for k in faulty:
            yield self._names[k], 'fault', f'is in {in_words(int(feedback.status_word[k]))}'
        for k in silent:
            age = feedback.heartbeat_age[k]
            text = f'no heartbeat for {age:.3g} s' if np.isfinite(age) else 'has sent no heartbeat'
            yield self._names[k], 'heartbeat', f'{text} (timeout {self._timeout:g} s)'
        for k in missing:
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
        findings = []
        for name, limit in tuple(self._limits.items()):
            silence = now - self._last.setdefault(name, now)
            if silence > limit:
                text = f'has not looked for {silence:.3g} s (limit {limit:.3g} s)'
                findings.append(Finding(name, 'watch', text, DriveGoal.STOPPED))
        return findings
