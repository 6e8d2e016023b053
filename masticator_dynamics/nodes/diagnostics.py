# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What node ``dynamics`` says about itself on ``/diagnostics``."""

from __future__ import annotations

import dataclasses
import math
import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from masticator_dynamics.nodes.cycle import Answer
from masticator_dynamics.nodes.cycle_scheduler import CycleScheduler

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

_SHOWN = 2.0  # s


@dataclasses.dataclass
class Rejections:
    """Messages of one topic that were refused.

    Attributes
    ----------
    accepted, rejected : int
        Messages since the node was configured.
    last : str
        Why the latest refused one was.
    """

    accepted: int = 0
    rejected: int = 0
    last: str = ''
    _pending: bool = False
    _time: float = -math.inf

    def accept(self) -> None:
        """Count a good message."""
        self.accepted += 1
        self._pending = False

    def reject(self, reason: str) -> None:
        """Count a refused message."""
        self.rejected += 1
        self.last = reason
        self._time = time.monotonic()
        self._pending = True

    @property
    def alarming(self) -> bool:
        """The latest message was refused, or another so recently that nobody may have seen it."""
        return self._pending or time.monotonic() - self._time < _SHOWN

    def values(self) -> dict[str, object]:
        """Entries for a status."""
        return {
            'accepted': self.accepted,
            'rejected': self.rejected,
            'last rejected': self.last or 'none',
        }


def make_status(
    name: str, hardware: str, level: bytes, message: str, values: dict[str, object]
) -> DiagnosticStatus:
    """One status with its values as text."""
    entries = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(
        level=level, name=name, message=message, hardware_id=hardware, values=entries
    )


def cycle_values(scheduler: CycleScheduler, answer: Answer | None) -> dict[str, object]:
    """Timing of the cycles and the residuals of the latest one."""
    counts = scheduler.counts
    values: dict[str, object] = {}
    values['cycles'] = counts.run
    values['late cycles'] = counts.late
    values['skipped cycles'] = counts.skipped
    values['clock jumps'] = counts.jumps
    for name, seconds in (('time', scheduler.durations()), ('lateness', scheduler.lateness())):
        if len(seconds):
            p50, p99 = np.percentile(seconds, [50.0, 99.0]) * 1e6
            values[f'cycle {name} p50 (us)'] = round(float(p50), 1)
            values[f'cycle {name} p99 (us)'] = round(float(p99), 1)
            values[f'cycle {name} max (us)'] = round(float(seconds.max()) * 1e6, 1)
    if answer is not None:
        effort = answer.effort
        values['closure residual (m)'] = float(effort.closure_residual)
        values['balance residual (N m)'] = float(effort.balance_residual)
    return values


def _text(value: object) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)
