# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When the computer itself stood still: the host of a virtual machine takes its processors away.

It does so for milliseconds, often without counting them as stolen. Run as a module, this watches
with threads that go before all others, one for each processor, and prints a line for each time that
one of them woke too late: when it last ran and when it woke, s since 1970.
"""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives import real_time
from masticator_dynamics.engine.arrays import FloatArray

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
