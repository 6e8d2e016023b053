# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A low pass that delays nothing, for what was measured: a Butterworth filter run both ways."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

SAMPLES = 4.0  # rows that stay, per period of the cutoff
_ORDER = 4  # of the filter
_EDGE = 4.0  # periods of the cutoff that are lost at both ends
_FEWEST = 4.0  # periods of the cutoff that a motion must last


@dataclasses.dataclass(frozen=True)
class Filter:
    """A low pass without delay: cutoff and rate in Hz."""

    cutoff: float
    rate: float

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Filter rows (N, ...) along the first axis."""
        from scipy.signal import sosfiltfilt

        return np.asarray(sosfiltfilt(_sections(self.cutoff, self.rate), rows, axis=0))

    def kept(self, count: int) -> slice:
        """Rows that are free of what the filter does at the ends; as many as it leaves apart."""
        edge = int(np.ceil(_EDGE / self.cutoff * self.rate))
        return slice(edge, count - edge, max(1, int(self.rate / (SAMPLES * self.cutoff))))


@functools.lru_cache
def _sections(cutoff: float, rate: float) -> FloatArray:
    """Second-order sections; a search filters many columns alike, and designing takes as long."""
    from scipy.signal import butter

    return np.asarray(butter(_ORDER, cutoff, fs=rate, output='sos'))


def low_passed(time: FloatArray, rows: FloatArray, cutoff: float) -> FloatArray:
    """Rows (N, ...) at increasing times (N,), s, without what is faster than the cutoff, Hz.

    They are filtered with even steps, as long as the median of theirs, on curves through them.

    Raises
    ------
    InputError
        For rows that are too few for the cutoff.
    """
    from scipy.interpolate import CubicSpline

    length = float(time[-1] - time[0])
    if length * cutoff < _FEWEST:
        raise InputError(f'{length:.3g} s are too short for a cutoff of {cutoff:g} Hz')
    count = round(length / float(np.median(np.diff(time)))) + 1
    rate = (count - 1) / length
    if rate < SAMPLES * cutoff:
        raise InputError(
            f'{rate:.3g} rows per second; a cutoff of {cutoff:g} Hz needs {SAMPLES * cutoff:g}: a '
            f'lower one, {rate / SAMPLES:.3g} at most, or a recording with more'
        )
    even = np.linspace(time[0], time[-1], count)
    smooth = Filter(cutoff, rate)(CubicSpline(time, rows)(even))
    return np.asarray(CubicSpline(even, smooth)(time))
