# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The region of poses that an estimator was fitted to: a box, cut by planes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.jit import entry_point

_PROBES, _FACES = 20000, 2000
SLACK = 1e-9  # in half widths: a pose on the boundary must not be rejected for its last digit


@dataclasses.dataclass(frozen=True)
class Region:
    """A convex region of n coordinates.

    Attributes
    ----------
    center, half_width : array, shape (n,)
        Centre and half width of the box, rad or m. Scaled coordinates are -1 and 1 on its faces.
    normals, offsets : array, shapes (P, n) and (P,)
        Planes that cut it: normal . scaled coordinates <= offset inside.
    """

    center: FloatArray
    half_width: FloatArray
    normals: FloatArray
    offsets: FloatArray

    @classmethod
    def around(cls, points: FloatArray, planes: int, rng: np.random.Generator) -> Region:
        """The box of points (N, n), cut by the faces of their convex hull that cut off most.

        Parameters
        ----------
        points : (N, n) array
            Points that are to be inside, but for the faces left out.
        planes : int
            Number of faces to keep.
        rng : numpy.random.Generator
            Draws the points used to compare faces.
        """
        low, high = points.min(axis=0), points.max(axis=0)
        center, half_width = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-12)
        count = points.shape[1]
        if count == 1 or not planes:
            return cls(center, half_width, np.empty((0, count)), np.empty(0))
        # Only here: it takes long to import.
        from scipy.spatial import ConvexHull

        faces = ConvexHull((points - center) / half_width).equations
        faces = rng.permutation(faces)[:_FACES]
        probes = rng.uniform(-1.0, 1.0, (_PROBES, count))
        cut = probes @ faces[:, :-1].T > -faces[:, -1]
        chosen: list[int] = []
        for _ in range(planes):
            best = int(cut.sum(axis=0).argmax())
            if not cut[:, best].any():
                break
            chosen.append(best)
            cut = cut[~cut[:, best]]
        return cls(center, half_width, faces[chosen, :-1], -faces[chosen, -1])

    def scaled(self, points: FloatArray) -> FloatArray:
        """Points (N, n) in half widths from the centre."""
        return (points - self.center) / self.half_width

    def contains(self, points: FloatArray) -> npt.NDArray[np.bool_]:
        """Which of the points (N, n) are inside; points that are not finite are outside."""
        return self.excess(points) <= SLACK

    def excess(self, points: FloatArray) -> FloatArray:
        """How far points (N, n) lie beyond the face they exceed most, in half widths."""
        scaled = np.ascontiguousarray(self.scaled(points))
        beyond = np.empty(len(scaled))
        _excess(scaled, self.normals, self.offsets, beyond)
        return beyond

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Uniformly distributed points (count, n)."""
        found = np.empty((0, len(self.center)))
        while len(found) < count:
            scaled = rng.uniform(-1.0, 1.0, (4 * count, len(self.center)))
            points = self.center + self.half_width * scaled
            found = np.concatenate([found, points[self.contains(points)]])
        return found[:count]


@entry_point
def _excess(points, normals, offsets, beyond):  # type: ignore[no-untyped-def]
    """Fill ``beyond`` (N,) for scaled points (N, n); infinite for NaN."""
    for row in range(len(points)):
        largest = -1.0
        for i in range(points.shape[1]):
            largest = max(largest, abs(points[row, i]) - 1.0)
            if math.isnan(points[row, i]):
                largest = math.inf
        for plane in range(len(offsets)):
            height = -offsets[plane]
            for i in range(points.shape[1]):
                height += normals[plane, i] * points[row, i]
            largest = max(largest, height)
        beyond[row] = largest
