# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A row of numbers that is received repeatedly, and its extrapolation."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray


@dataclasses.dataclass(frozen=True)
class Trend:
    """The newest row (n,) and its rates over the latest two steps, per s.

    Attributes
    ----------
    stamp : float
        s.
    values, rate, rate_before : float arrays (n,)
    """

    stamp: float
    values: FloatArray
    rate: FloatArray
    rate_before: FloatArray

    @classmethod
    def begin(cls, stamp: float, values: FloatArray) -> Trend:
        """Trend of a first row, whose rates are zero."""
        none = np.zeros(len(values))
        return cls(stamp, values, none, none)

    def then(self, stamp: float, values: FloatArray, longest: float) -> Trend:
        """Trend with another row; if more than ``longest`` s apart, that is a first row again.

        Parameters
        ----------
        stamp : float
            Time of the row, s.
        values : (n,) array
            The row.
        longest : float
            Time above which two rows do not give a rate, s.
        """
        between = stamp - self.stamp
        if abs(between) > longest:  # before: the clock was set back
            return Trend.begin(stamp, values)
        if between <= 0.0:  # the same instant: only the row is new
            return Trend(self.stamp, values, self.rate, self.rate_before)
        return Trend(stamp, values, (values - self.values) / between, self.rate)

    def ahead(self, time: float) -> FloatArray:
        """The row extrapolated by a time, s.

        The smaller of the two rates is used, or none if they differ in sign: a step does not
        overshoot, and half of a measurement's noise is left out.
        """
        rate, before = self.rate, self.rate_before
        lesser = np.copysign(np.minimum(np.abs(rate), np.abs(before)), rate)
        return self.values + np.where(rate * before > 0.0, time * lesser, 0.0)
