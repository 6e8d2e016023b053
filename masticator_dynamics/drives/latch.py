# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reasons to stop that hold until they are reset."""

from __future__ import annotations

from collections.abc import Iterable

from masticator_dynamics.drives.cycle import Goal
from masticator_dynamics.drives.safety import Finding

_TOLD = 3  # consequences reported along with the cause


class Latch:
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
        more = f' and {len(rest) - _TOLD} more' if len(rest) > _TOLD else ''
        return f'{cause} (then {"; ".join(rest[:_TOLD])}{more})'
