# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The stiffness of what is pressed, by recursive least squares of force on travel.

A sample counts when the force has changed by more than its noise since the last that did: what
creeps or flows under a constant force teaches nothing. Old samples are forgotten only as long as
those that are left still tell the stiffness well (Fortescue, Kershenbaum and Ydstie, Automatica
1981, for the idea of forgetting by information).
"""

from __future__ import annotations

import math

_FORGET = 0.85  # of the weight of what was sampled before
_SURE = 0.05  # standard deviation, as a share, that forgetting must leave
_CHANGED = 3.0  # standard deviations of the noise
_SURPRISE, _SURPRISE_SHARE = 6.0, 0.1  # standard deviations and share of the force
_UPPER = 1.96  # standard deviations of the upper bound of the 95 % interval
_KNOWN = 0.125  # standard deviation, as a share, of a stiffness that is known
_LEAST_TRAVEL = 2e-5  # m, over which the mean stiffness says something


class Stiffness:
    """Estimated while it is compressed.

    Parameters
    ----------
    most, least : float
        N/m: what it can be. It begins with the most: slow until the stiffness is known.
    noise : float
        Of the force, standard deviation, N.
    travel_noise : float
        Of the travel, standard deviation, m.
    """

    def __init__(self, most: float, least: float, noise: float, travel_noise: float = 0.0):
        self.most, self.least = most, min(least, most)
        self._noise, self._travel_noise = max(noise, 1e-3), travel_noise
        self.begin()

    def begin(self) -> None:
        """Forget everything: it is touched now."""
        self._contact: tuple[float, float] | None = None
        self._secant = 0.0
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget samples; how much it has been compressed stays true."""
        self._weight = self._x = self._f = self._xx = self._xf = 0.0
        self._first: tuple[float, float] | None = None
        self._last, self._surprises = -math.inf, 0
        self.estimate, self.deviation = self.most, math.inf

    def take(self, travel: float, force: float) -> None:
        """A travel (m) and the force (N) that was measured at it."""
        if self._first is None:
            self._first = travel, force
        if self._contact is None:
            self._contact = travel, force
        x, f = travel - self._contact[0], force - self._contact[1]
        self._secant = f / x if x > _LEAST_TRAVEL else 0.0
        x, f = travel - self._first[0], force - self._first[1]
        if self._surprised(x, f, force):
            self._begin_anew()
            return
        noise = math.hypot(self._noise, min(self.estimate, self.most) * self._travel_noise)
        if abs(force - self._last) < _CHANGED * noise:
            return
        self._last = force
        self._add(x, f, noise)

    @property
    def known(self) -> bool:
        """Within a quarter."""
        return self.deviation < _KNOWN * max(self.estimate, self.least)

    @property
    def upper(self) -> float:
        """Upper bound, N/m: what may be assumed where too little would be unstable.

        At least the mean since contact: where friction changes sides, a force may fall while the
        travel rises for some readings, which would look as soft as can be.
        """
        bound = max(self.estimate + _UPPER * self.deviation, self._secant)
        return min(max(bound, self.least), self.most)

    @property
    def likely(self) -> float:
        """As estimated once it is known, N/m: for what is planned, however stiff it is."""
        return max(self.estimate, self._secant, self.least) if self.known else self.upper

    def _add(self, x: float, f: float, noise: float) -> None:
        kept = _FORGET
        spread = self._spread(kept, x)
        if spread * (_SURE * max(self.estimate, self.least)) ** 2 < noise**2:
            kept, spread = 1.0, self._spread(1.0, x)
        self._weight = kept * self._weight + 1.0
        self._x, self._f = kept * self._x + x, kept * self._f + f
        self._xx, self._xf = kept * self._xx + x * x, kept * self._xf + x * f
        if spread > 1e-14:
            self.estimate = (self._xf - self._x * self._f / self._weight) / spread
            self.deviation = noise / math.sqrt(spread)

    def _spread(self, kept: float, x: float) -> float:
        """Of the travels, m^2, with one more."""
        weight, mean = kept * self._weight + 1.0, kept * self._x + x
        return kept * self._xx + x * x - mean * mean / weight

    def _surprised(self, x: float, f: float, force: float) -> bool:
        """Whether the force has risen by more than the estimate explains, in two samples."""
        if not self.known:
            return False
        more = f - (self._f + self.estimate * (self._weight * x - self._x)) / self._weight
        allowed = _SURPRISE * self._noise + _SURPRISE_SHARE * abs(force)
        self._surprises = self._surprises + 1 if more > allowed else 0
        return self._surprises == 2
