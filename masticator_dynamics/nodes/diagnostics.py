# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pieces of what nodes say about themselves on ``/diagnostics``."""

from __future__ import annotations

import dataclasses
import math
import time

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE

_SHOWN = 2.0  # s
_SPACED = 1.0  # s between two lines in the log


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
    _logged: float = -math.inf

    def accept(self) -> None:
        """Count a good message."""
        self.accepted += 1
        self._pending = False

    def reject(self, reason: str) -> bool:
        """Count a refused message; whether to log it: once in a second.

        A publisher that repeats its mistake must not flood the log; nor must a control cycle wait
        for a logger that takes half a millisecond to find that it has nothing to say.
        """
        self.rejected += 1
        self.last = reason
        self._time = time.monotonic()
        self._pending = True
        logged = self._time - self._logged >= _SPACED
        if logged:
            self._logged = self._time
        return logged

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


def words(status: DiagnosticStatus) -> tuple[str, ...]:
    """Values of a status that are no numbers."""
    return tuple(entry.value for entry in status.values if not _is_number(entry.value))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(value: object) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)
