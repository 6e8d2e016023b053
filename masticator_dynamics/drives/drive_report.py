# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor of the drives reports: their phase, and why all of them were stopped."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable

from masticator_dynamics.drives.drive_cycle import Feedback, Goal
from masticator_dynamics.engine.arrays import FloatArray, IntArray

_SHOWN = 3  # consequences reported along with the cause


@dataclasses.dataclass(frozen=True)
class Finding:
    """A reason to stop all drives.

    Attributes
    ----------
    drive : str
        The drive concerned; ``bus``, ``commands`` or ``loops`` if it is not a single one.
    kind : str
        What it is, in a word or two; a kind is reported once for each drive.
    text : str
        The cause, with figures.
    goal : Goal
        The reaction: TORQUE_FREE or STOPPED.
    """

    drive: str
    kind: str
    text: str
    goal: Goal

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
    def goal(self) -> Goal:
        """Torque-free if any finding demands it, else the quick stop."""
        goals = {finding.goal for finding in self._findings.values()}
        return Goal.TORQUE_FREE if Goal.TORQUE_FREE in goals else Goal.STOPPED

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


class Phase(enum.Enum):
    """State of all drives together; values are words for people."""

    OFF = 'torque-free'
    ENABLING = 'being enabled'
    HOLDING = 'enabled, holding until the first command'
    APPROACHING = 'enabled, on the way to what is commanded'
    FOLLOWING = 'enabled, following commands'
    STOPPING = 'stopping'
    RESETTING = 'being reset'
    HOMING = 'being homed'
    LATCHED = 'stopped until reset'


# Phases in which drives move, or hold, the mechanism.
MOVING = (Phase.HOLDING, Phase.APPROACHING, Phase.FOLLOWING)


@dataclasses.dataclass(frozen=True)
class Report:
    """A snapshot; arrays are (n,), in actuated order.

    Attributes
    ----------
    phase : Phase
    goal : Goal
    causes : tuple of Finding
        Latched; the first is the cause of the others.
    text : str
        The causes in one line.
    feedback : Feedback or None
        The newest; None before the first cycle.
    following_error : float array
        Sent minus measured position, rad; zero while no positions are followed.
    emergencies : tuple of str
        Latest EMCY of each drive in words; empty without one.
    temperature : float array
        Of the motors, degrees Celsius; NaN where not known.
    clamped, held_back : int arrays
        Cycles in which an effort was beyond its bound, or changed faster than its rate.
    accepted, refused, not_finite, ignored : int
        Numbers of commands: followed; refused for their content; NaN or infinite; received while
        not enabled.
    refusal : str
        Why the latest one was refused.
    silence : float
        Time since the latest command followed, s; 0 before.
    """

    phase: Phase
    goal: Goal
    causes: tuple[Finding, ...]
    text: str
    feedback: Feedback | None
    following_error: FloatArray
    emergencies: tuple[str, ...]
    temperature: FloatArray
    clamped: IntArray
    held_back: IntArray
    accepted: int
    refused: int
    not_finite: int
    ignored: int
    refusal: str
    silence: float
