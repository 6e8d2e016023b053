# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What diagnostics say about the processes of a pass, and when the computer itself stood still.

The host of a virtual machine takes its processors away for milliseconds, often without counting
them as stolen. Run as a module, this watches with threads that go before all others, one for each
processor, and prints a line for each time that one of them woke too late: when it last ran and when
it woke, s since 1970.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import signal
import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives import real_time
from masticator_dynamics.engine.arrays import FloatArray

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


SHORTEST = 0.001  # s
_PERIOD = 0.001  # s
_PRIORITY = 60  # above whatever takes part


def stalls_file(folder: pathlib.Path, name: str) -> pathlib.Path:
    """What is printed during a pass of this name."""
    return folder / f'{name}_stalls.log'


def read_stalls(file: pathlib.Path, start: float) -> FloatArray:
    """Begin and end (M, 2) of each stall, s from the start of the motion (s since 1970).

    Those that several processors saw are one. None (0, 2) if nobody watched or could watch.
    """
    text = file.read_text(encoding='ascii') if file.exists() else ''
    merged: list[list[float]] = []
    for line in sorted(text.splitlines()):
        begin, end = (float(word) - start for word in line.split())
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return np.array(merged).reshape(-1, 2)


def overlapped(
    begin: FloatArray, end: FloatArray, stalls: FloatArray, after: float = 0.0
) -> npt.NDArray[np.bool_]:
    """Which of K intervals were not over when the computer stood still, or soon after.

    Parameters
    ----------
    begin, end : array, shape (K,)
        Of the intervals, s.
    stalls : array, shape (M, 2)
        When the computer began and ended to stand still, s.
    after : float, optional
        How long a stall still counts when it is over, s.
    """
    overlap = np.zeros(len(begin), dtype=bool)
    for since, until in stalls:
        overlap |= (end >= since) & (begin <= until + after)
    return overlap


def main() -> None:
    """Watch until the process is ended."""
    for processor in getattr(os, 'sched_getaffinity', lambda process: ())(0):  # Linux alone
        threading.Thread(target=_watch, args=(processor,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback among the lines
    signal.pause()


def _watch(processor: int) -> None:
    os.sched_setaffinity(0, (processor,))
    if not real_time.request(_PRIORITY):
        return  # lateness would say how busy the computer is
    last = time.time()
    while True:
        time.sleep(_PERIOD)
        now = time.time()
        if now - last > _PERIOD + SHORTEST:
            os.write(1, f'{last:.6f} {now:.6f}\n'.encode())  # at once, unlike what threads print
        last = now


if __name__ == '__main__':
    main()
