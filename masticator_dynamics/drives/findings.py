# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reasons to stop all drives, which hold until they are reset."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from masticator_dynamics.drives.drive_cycle import Goal

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
