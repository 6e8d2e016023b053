# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what is pressed has cracked, or yields: a goal may ask to end with that."""

from __future__ import annotations

import collections

from masticator_dynamics.control.force_goal import (
    ForceBounds,
    ForceGoal,
    ForceSensor,
    Measured,
    Reason,
    Release,
)
from masticator_dynamics.control.sensor_watch import WINDOW, SensorWatch

_YIELD_WINDOW = 100  # readings within which it is seen that a force does not rise
_YIELD, _YIELD_SHARE = 4.0, 0.25  # N that should have been added, and what part of it was


class Fracture:
    """Looks at the newest readings of a sensor, and at what was wanted when they came.

    Parameters
    ----------
    watch : SensorWatch
        Has taken the newest reading.
    """

    def __init__(self, goal: ForceGoal, sensor: ForceSensor, watch: SensorWatch):
        self._goal, self._sensor, self._watch = goal, sensor, watch
        # Travel, m, force and wanted force, N.
        self._loading = collections.deque[tuple[float, float, float]](maxlen=_YIELD_WINDOW)

    def take(self, now: Measured, wanted: float) -> None:
        """Note a reading, and what force was wanted, N."""
        self._loading.append((now.travel, now.force, wanted))

    def found(
        self, bounds: ForceBounds, lowered: float, stiffness: float
    ) -> tuple[Reason, str] | None:
        """A crack or a yield, where these end the goal.

        Parameters
        ----------
        lowered : float
            By how much less is wanted, N, than when the oldest of the newest readings was felt.
        stiffness : float
            Of what is pressed, N/m.
        """
        return self._cracked(bounds, lowered) or self._yielded(stiffness)

    def _cracked(self, bounds: ForceBounds, lowered: float) -> tuple[Reason, str] | None:
        recent = [force for _, force in self._watch.recent]
        if not self._goal.on_crack or len(recent) < 2:
            return None
        before = max(recent[: max(len(recent) - 2, 1)])
        lost = max(bounds.crack, bounds.crack_share * before) + lowered
        if before - recent[-1] <= lost:
            return None
        return Reason.CRACKED, (
            f'the force fell from {before:.3g} to {recent[-1]:.3g} N within '
            f'{1e3 * self._watch.span:.3g} ms'
        )

    def _yielded(self, stiffness: float) -> tuple[Reason, str] | None:
        if not self._goal.on_yield or len(self._loading) < 2:
            return None
        (x0, f0, w0), (x1, f1, w1) = self._loading[0], self._loading[-1]
        elastic = min(stiffness * (x1 - x0), w1 - w0)
        if elastic <= max(_YIELD, 20.0 * self._sensor.noise) or f1 - f0 >= _YIELD_SHARE * elastic:
            return None
        if f1 < -self._sensor.contact:  # what yields does not pull
            return None
        return Reason.YIELDED, (
            f'at {f1:.3g} N it gave way by {1e3 * (x1 - x0):.2g} mm, for which '
            f'{elastic:.3g} N more were due'
        )

    def doubted(self, crack: Release, bounds: ForceBounds, time: float) -> Release:
        """A crack, or the fault of the sensor that it was: what has cracked does not pull.

        A sensor that rings says a pull once in a while; one that says nothing else for as long as
        a crack is looked for is wrong.
        """
        since, watch = time - crack.time, self._watch
        if not WINDOW <= since <= WINDOW + watch.span or not watch.pulls(bounds.crack):
            return crack
        text = (
            f'{crack.text}, and {1e3 * since:.3g} ms later the sensor still says '
            f'{watch.force:.3g} N, a pull: what cracks presses less, it does not pull'
        )
        return Release(Reason.OPPOSITE, text, crack.time)
