# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Limits within which the efforts of every cycle are chosen, and how well they were kept."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.results import Effort
from masticator_dynamics.limits.load_limits import LoadLimits, Shortfall, largest_shortfalls
from masticator_dynamics.limits.ranges import RangeViolation


@dataclasses.dataclass
class LimitNews:
    """What happened since the last look.

    Attributes
    ----------
    loads : dict of str to RangeViolation
        Loads that reached a limit, by name and quantity, with their latest values.
    shortfall : (n_y,) array
        Largest acceleration that each coordinate gave up.
    unmet : str
        Why limits could not be kept at all, or an empty text.
    """

    loads: dict[str, RangeViolation]
    shortfall: FloatArray
    unmet: str = ''


class LoadWatch:
    """Limits of the loads, with a record of the cycles in which they mattered.

    Written by the control cycle, read by another thread.

    Parameters
    ----------
    mechanism : Mechanism

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

    def shortfalls(self, news: LimitNews) -> tuple[Shortfall, ...]:
        """The largest, for sliding and for turning coordinates."""
        return largest_shortfalls(self._mechanism, news.shortfall)

    def _no_news(self) -> LimitNews:
        return LimitNews({}, np.zeros(len(self._mechanism.independent)))
