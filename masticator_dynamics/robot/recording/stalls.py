# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When the computer itself stood still during a pass, as `stall_watch` saw it."""

from __future__ import annotations

import pathlib

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray


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
    found = np.zeros(len(begin), dtype=bool)
    for since, until in stalls:
        found |= (end >= since) & (begin <= until + after)
    return found
