# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the efforts of every cycle: by which they are cut, and within which they are chosen."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Effort
from masticator_dynamics.limits.load_limits import LoadLimits
from masticator_dynamics.limits.ranges import LIMITS_KEPT, RangeViolation


class EffortClamp:
    """Efforts cut to the limits of motors (of URDF and description), with a record of what was cut.

    Attributes
    ----------
    units : tuple of str
        Units of the efforts.
    counts : (n_u,) array
        Cycles in which each actuator was cut.
    largest, sent : (n_u,) array
        Effort of largest magnitude that was wanted of each since `take_largest`, and to what it
        was cut; 0 where none was.
    """

    def __init__(self, mechanism: Mechanism):
        self.units = mechanism.effort_units
        self._range = mechanism.effort_range
        self.scale = 1.0
        self.counts = np.zeros(len(self.units), dtype=np.int64)
        self.largest, self.sent = np.zeros((2, len(self.units)))

    @property
    def scale(self) -> float:
        """Fraction of the limits that may be used."""
        return self._scale

    @scale.setter
    def scale(self, scale: float) -> None:
        lowest, highest = self._range
        self._bounds = lowest * scale, highest * scale
        self._each = list(zip(*(bound.tolist() for bound in self._bounds), strict=True))
        finite = [np.where(np.isfinite(bound), np.abs(bound), 0.0) for bound in self._bounds]
        self._rounding = LIMITS_KEPT * np.maximum(*finite)
        self._scale = scale

    def __call__(self, effort: FloatArray) -> FloatArray:
        """Return efforts (n_u,) inside the limits."""
        inside = self.inside(effort)
        if self.cuts(effort, inside):
            self.record(effort, inside)
        return inside

    def cuts(self, effort: FloatArray, inside: FloatArray) -> bool:
        """Whether efforts (n_u,) were beyond the limits, by more than rounding."""
        return inside is not effort and bool(self._beyond(effort, inside).any())

    def record(self, effort: FloatArray, inside: FloatArray) -> None:
        """Count a cycle whose efforts (n_u,) were cut."""
        beyond = self._beyond(effort, inside)
        self.counts += beyond
        more = beyond & (np.abs(effort) > np.abs(self.largest))
        self.largest = np.where(more, effort, self.largest)
        self.sent = np.where(more, inside, self.sent)

    def inside(self, effort: FloatArray) -> FloatArray:
        """Efforts (n_u,) cut to the limits, with no record of it; the same array if all are."""
        # Most are, and numpy takes several times as long to tell.
        for x, (low, high) in zip(effort.tolist(), self._each, strict=True):
            if not low <= x <= high:
                return np.minimum(np.maximum(effort, self._bounds[0]), self._bounds[1])
        return effort

    def _beyond(self, effort: FloatArray, inside: FloatArray) -> npt.NDArray[np.bool_]:
        beyond: npt.NDArray[np.bool_] = np.abs(effort - inside) > self._rounding
        return beyond

    def take_largest(self) -> tuple[FloatArray, FloatArray]:
        """Return `largest` and `sent`, and start over."""
        taken = self.largest, self.sent
        self.largest, self.sent = np.zeros((2, len(self.counts)))
        return taken


@dataclasses.dataclass
class LimitNews:
    """What happened since the last look."""

    # Loads that reached a limit, by name and quantity, with their latest values.
    loads: dict[str, RangeViolation]
    shortfall: FloatArray  # (n_y,), largest acceleration that each coordinate gave up
    unmet: str = ''  # why limits could not be kept at all, or an empty text


class LoadWatch:
    """Limits of the loads, with a record of the cycles in which they mattered.

    Written by the control cycle, read by another thread.

    Attributes
    ----------
    limits : LoadLimits
        Replaced as a whole when they change.
    bound, gave_way, unmet : int
        Cycles in which a limit was active; in which the motion had to give way; in which not
        even that helped.
    """

    def __init__(self, mechanism: Mechanism, limits: LoadLimits | None = None):
        self.limits = limits or mechanism.load_limits
        self.bound = self.gave_way = self.unmet = 0
        self._mechanism = mechanism
        self._news = self._no_news()

    def take(self, effort: Effort) -> None:
        """Count a cycle whose efforts were chosen within the limits."""
        loads, news = self._mechanism.binding_loads(effort, self.limits), self._news
        self.bound += bool(loads)
        for load in loads:
            news.loads[f'{load.name} {load.quantity}'] = load
        if effort.shortfall.any():
            self.gave_way += 1
            np.maximum(news.shortfall, np.abs(effort.shortfall), out=news.shortfall)

    def fail(self, reason: str) -> None:
        """Count a cycle in which nothing kept the limits."""
        self.unmet += 1
        self._news.unmet = reason

    def take_news(self) -> LimitNews:
        """Return what happened since the last call, and start over."""
        news, self._news = self._news, self._no_news()
        return news

    def _no_news(self) -> LimitNews:
        return LimitNews({}, np.zeros(len(self._mechanism.independent)))
