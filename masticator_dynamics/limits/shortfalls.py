# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How much of a motion was given up to keep limits, in words."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.model import Model


@dataclasses.dataclass(frozen=True)
class Shortfall:
    """Acceleration that a coordinate gives up: magnitude, unit, and the row of the batch."""

    name: str
    value: float
    unit: str
    row: int = 0

    def __str__(self) -> str:
        """E.g. ``beta by 20.3 rad/s^2``."""
        return f'{self.name} by {self.value:.3g} {self.unit}'


def largest_shortfalls(mechanism: Model, shortfall: FloatArray) -> tuple[Shortfall, ...]:
    """The largest of rows (N, n_y), or of one (n_y,), for sliding and turning coordinates.

    Metres and radians cannot be compared, so there is one for each that gives anything up.
    """
    size = np.abs(np.atleast_2d(shortfall))
    joints = mechanism.structure.tree.joints
    units = [joints[j].unit for j in mechanism.tree_indices(mechanism.independent)]
    found = []
    for unit in dict.fromkeys(units):
        part = np.where([u == unit for u in units], size, 0.0)
        row, index = (int(k) for k in np.unravel_index(np.argmax(part), part.shape))
        if part[row, index] > 0.0:
            name, value = mechanism.independent[index], float(part[row, index])
            found.append(Shortfall(name, value, f'{unit}/s^2', row))
    return tuple(found)
