# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What diagnostics say about the processes of a pass."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

# Status, value, what it counts, for people.
_COUNTS = (
    ('twin: simulation', 'time given up (s)', 'twin stood still for {} s'),
    ('servo_drives: bus', 'cycles left out', 'servo_drives left out {} cycles'),
    ('servo_drives: bus', 'lost frames', 'servo_drives missed {} PDOs'),
    ('dynamics: cycle', 'skipped cycles', 'dynamics skipped {} cycles'),
)


@dataclasses.dataclass(frozen=True)
class Counts:
    """Counts since the processes started."""

    # Time that the simulated mechanism stood still because its process was too slow, s.
    given_up: float = 0.0
    left_out: int = 0  # cycles of the drives that were too late to be run
    missed: int = 0  # PDOs of drives that did not arrive in time
    skipped: int = 0  # cycles of the dynamics node that were not run

    def since(self, earlier: Counts) -> Counts:
        """What has been added since an earlier count."""
        mine, theirs = dataclasses.astuple(self), dataclasses.astuple(earlier)
        return Counts(*(a - b for a, b in zip(mine, theirs, strict=True)))

    @classmethod
    def in_text(cls, text: str) -> Counts:
        """The sums of what `in_words` has said anywhere in a text."""
        sums = [
            sum(map(float, re.findall(re.escape(words).replace(r'\{\}', '([0-9.e+-]+)'), text)))
            for _, _, words in _COUNTS
        ]
        return cls(sums[0], *(round(number) for number in sums[1:]))

    def lost(self, drives: int, period: float, cycle: float) -> float:
        """The most that any process fell behind, s; periods of drives and of dynamics, s."""
        cycles = max(self.left_out, self.missed / drives)
        return max(self.given_up, cycles * period, self.skipped * cycle)

    def in_words(self) -> str:
        """Which processes fell behind; empty if none did."""
        texts = [text for _, _, text in _COUNTS]
        counts = zip(texts, dataclasses.astuple(self), strict=True)
        return ', '.join(text.format(round(value, 3)) for text, value in counts if value)


class Health:
    """The newest status of everything."""

    def __init__(self) -> None:
        self._statuses: dict[str, dict[str, str]] = {}

    def take(self, statuses: Iterable[Any]) -> None:
        """Note the statuses of a message."""
        for status in statuses:
            values = {value.key: value.value for value in status.values}
            self._statuses[status.name] = values

    @property
    def counts(self) -> Counts:
        """Known delays."""
        values = [float(self._value(status, key) or 0.0) for status, key, _ in _COUNTS]
        return Counts(values[0], *(round(value) for value in values[1:]))

    @property
    def phase(self) -> str:
        """Phase of all drives together, as named by node `servo_drives`; empty: unknown."""
        return self._value('servo_drives: supervision', 'phase')

    @property
    def stopped(self) -> str:
        """Why the drives are stopped; empty when they are not."""
        latched = self._value('servo_drives: supervision', 'latched')
        return '' if latched == 'none' else latched

    @property
    def refused(self) -> tuple[int, str]:
        """How many motions node dynamics has refused, and why it refused the latest."""
        count = self._value('dynamics: trajectory', 'rejected') or '0'
        return int(float(count)), self._value('dynamics: trajectory', 'last rejected')

    def _value(self, status: str, key: str) -> str:
        return self._statuses.get(status, {}).get(key, '')
