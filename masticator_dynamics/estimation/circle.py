# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Circle membership (CMF, S4 Eq. 24), for any number of coordinates.

A centre and two circles around it (spheres for more coordinates), each with a level of inertia and
a triangular weight of the distance to it. The published weights do not sum to 1, and inertia would
vanish between circles; they are normalised here.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.estimation import membership_kernels as kernels


@dataclasses.dataclass(frozen=True)
class CircleMap:
    """Values of E quantities over n scaled coordinates.

    Attributes
    ----------
    centers : array, shape (E, n)
    radii : array, shape (E, 2)
        The second is larger than the first.
    levels : array, shape (E, 3)
        Values at the centre and on the circles; constant outside the second.
    """

    centers: FloatArray
    radii: FloatArray
    levels: FloatArray

    def values(self, points: FloatArray, elements: slice) -> FloatArray:
        """Values (N, E) of some of the quantities at points (N, n)."""
        first, last, _ = elements.indices(len(self.levels))
        values = np.empty((len(points), last - first))
        model = self.centers, self.radii, self.levels
        kernels.circles(np.ascontiguousarray(points), first, *model, values)
        return values


def weights(distance: FloatArray, radii: FloatArray) -> FloatArray:
    """Weights (..., 3) of centre and circles at distances (...), for radii (..., 2)."""
    first, second = radii[..., 0], radii[..., 1]
    distance = np.minimum(distance, second)
    gap = second - first
    raw = np.stack(
        [
            1.0 - distance / first,
            1.0 - np.abs(first - distance) / gap,
            1.0 - (second - distance) / gap,
        ],
        axis=-1,
    )
    raw = np.maximum(raw, 0.0)
    return raw / raw.sum(axis=-1, keepdims=True)
