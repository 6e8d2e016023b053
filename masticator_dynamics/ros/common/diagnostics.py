# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Building blocks of what nodes report on ``/diagnostics`` and in the log."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticStatus

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE

_SHOWN = 2.0  # s
_TOGETHER = 4  # reasons that a status has, at most
_SPACED = 1.0  # s between two lines in the log, after the first few
_LONGEST = 400  # characters of a reason


def shortened(text: str) -> str:
    """A text that may contain untrusted input, made printable and short enough for a log."""
    shown = text if len(text) <= _LONGEST else f'{text[:_LONGEST]} ... ({len(text)} characters)'
    return ''.join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


@dataclasses.dataclass(frozen=True)
class Status:
    """A status before it becomes a message; most are never sent."""

    what: str  # part of the node
    level: bytes  # OK, WARN, ERROR or STALE
    message: str  # one line
    values: dict[str, object]  # shown with it

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """Values that are not numbers."""
        return tuple(str(value) for value in self.values.values() if not _is_number(value))


class LogLimit:
    """A few lines at once, then one per second; the others are counted.

    A client that repeats a mistake or a request must not flood the log; nor must a control cycle
    wait for a logger that takes half a millisecond to find that it has nothing to log.

    Parameters
    ----------
    burst : int
        Lines at once, after a pause.
    """

    def __init__(self, burst: int = 1):
        self._burst = self._left = float(burst)
        self._time = time.monotonic()
        self._withheld = 0

    def allows(self) -> bool:
        """Whether to log a line now."""
        now = time.monotonic()
        self._left = min(self._left + (now - self._time) / _SPACED, self._burst)
        self._time = now
        if self._left < 1.0:
            self._withheld += 1
            return False
        self._left -= 1.0
        return True

    def note(self) -> str:
        """How many lines were suppressed since the last note, to end a line with; or ''."""
        withheld, self._withheld = self._withheld, 0
        return f' ({withheld} more since the last line)' if withheld else ''


class Rejections:
    """Messages of one topic that were refused.

    Parameters
    ----------
    log : callable
        Gets a line for some of them.
    burst : int
        Lines at once, after a pause.

    Attributes
    ----------
    accepted, rejected : int
        Messages since the node was configured.
    last : str
        Why the latest refused message was refused.
    """

    def __init__(self, log: Callable[[str], object], burst: int = 1):
        self.accepted = self.rejected = 0
        self.last = ''
        self._log = log
        self._limit = LogLimit(burst)
        self._pending = False
        self._time = -math.inf
        self._latest: collections.deque[tuple[float, str]] = collections.deque(maxlen=_TOGETHER)

    def accept(self) -> None:
        """Count a good message."""
        self.accepted += 1
        self._pending = False

    def reject(self, prefix: str, reason: str) -> None:
        """Count a refused message, and log it, unless many are refused."""
        self.rejected += 1
        self.last = shortened(reason)
        self._time = time.monotonic()
        self._latest.append((self._time, self.last))
        self._pending = True
        if self._limit.allows():
            self._log(f'{prefix}{self.last}{self._limit.note()}')

    @property
    def alarming(self) -> bool:
        """Whether the latest message, or one too recent to have been noticed, was refused."""
        return self._pending or self.recent

    @property
    def recent(self) -> bool:
        """Whether a message was refused too recently to have been noticed."""
        return time.monotonic() - self._time < _SHOWN

    def values(self) -> dict[str, object]:
        """Entries for a status; of several messages refused just now, each reason."""
        now = time.monotonic()
        recent = [reason for at, reason in tuple(self._latest) if now - at < _SHOWN]
        reasons = '; before it: '.join(dict.fromkeys(reversed(recent)))
        return {
            'accepted': self.accepted,
            'rejected': self.rejected,
            'last rejected': reasons or self.last or 'none',
        }

    def status(
        self,
        what: str,
        level: bytes,
        message: str,
        values: dict[str, object],
        refused: str = 'rejected',
    ) -> Status:
        """A status; instead of the message given, it is about what was refused just now."""
        if self.alarming:
            level, message = ERROR, f'{refused} ({self.rejected}): {self.last}'
        return Status(what, level, message, values)


def microseconds(name: str, spread: Mapping[str, float]) -> dict[str, object]:
    """Entries of a status for times, s, by what of their spread they are."""
    return {f'{name} {part} (us)': round(1e6 * seconds, 1) for part, seconds in spread.items()}


def _is_number(value: object) -> bool:
    if isinstance(value, _NUMBERS):
        return not isinstance(value, bool)
    try:
        float(str(value))
    except ValueError:
        return False
    return True


_NUMBERS = (int, float)


_REMEDY = (
    'this computer does not keep up: end what else computes, allow real-time priorities '
    '(masticator check-robot says what is missing), or choose a lower rate'
)
_THROTTLED = (
    'real-time threads together wanted more of a processor than kernel.sched_rt_runtime_us grants '
    '(masticator check-robot tells how much), or a more urgent one ran; end what else is '
    'real-time, or choose a lower rate'
)
_HELD_BACK = 0.02  # s; for less, something more urgent may have run
_QUIET = 60.0  # s without trouble, after which it is worth reporting again


class KeepingUp:
    """Warns, once for each name, that something stood still.

    Parameters
    ----------
    warn : callable
        Takes a sentence.
    """

    def __init__(self, warn: Callable[[str], None]):
        self._warn = warn
        self._last: dict[str, float] = {}

    def look(
        self, who: str, stood: float, limit: float, consequence: str, held_back: float = 0.0
    ) -> None:
        """Take the longest time for which something stood still since the last look.

        Parameters
        ----------
        who : str
            What is reported to have stood still.
        stood, limit : float
            s; up to the limit it is not worth a warning.
        consequence : str
            What it leads to.
        held_back : float
            s for which the kernel kept its thread from running, although it is a real-time one.
        """
        throttled = held_back > _HELD_BACK
        if stood <= limit and not throttled:
            return
        now = time.monotonic()
        if now - self._last.get(who, -math.inf) > _QUIET:
            why = _REMEDY
            if throttled:
                why = f'the kernel held its thread back for {1e3 * held_back:.0f} ms: {_THROTTLED}'
            self._warn(f'{who} for {1e3 * max(stood, held_back):.0f} ms ({consequence}); {why}')
        self._last[who] = now
