# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Maps of E quantities over n scaled coordinates: ellipses, circles and a grid (S4 Eqs. 22-25).

Compiled, and nothing is allocated but the answer: a lookup must not take longer than the model.
Each map comes with the region of poses that it was fitted to: a box, cut by planes.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.jit import entry_point, leaf

NEAR = 1e-9  # in scaled coordinates: the centre itself has no direction
AT_NODE = 1e-24  # square of a distance in cells


@dataclasses.dataclass(frozen=True)
class EllipseMap:
    """Ellipse membership (EMF, S4 Eq. 25), for any number of coordinates, levels and families.

    Around a centre lie nested ellipsoids, each with a level of inertia. Along the ray from the
    centre through a point, inertia varies linearly from one level to the next between the radii at
    which the ray meets two of them; inside the first and outside the last it is constant. S4 has
    two coordinates and three ellipses.

    S4 prints theta = atan(b/a tan phi) for the parameter of an ellipse at polar angle phi; it must
    be atan(a/b tan phi). With the radius in the direction of the point written as d / rho, where
    rho is the norm of the point in units of the semi-axes, neither angle is needed, and the number
    of coordinates does not matter.

    Isolines of a saddle are not ellipses. The sum of several *families* of ellipsoids, a bowl and a
    dome, follows a saddle.
    """

    centers: FloatArray  # (E, F, n)
    rotations: FloatArray  # (E, F, n, n), columns are the directions of the semi-axes
    axes: FloatArray  # (E, F, K, n), semi-axes, growing with K in every direction
    levels: FloatArray  # (E, F, K), values on the ellipsoids, summed over families

    def values(self, points: FloatArray, elements: slice = slice(None)) -> FloatArray:
        """Values (N, E) of some of the quantities at points (N, n)."""
        first, values = _empty(points, elements, len(self.levels))
        model = self.centers, self.rotations, self.axes, self.levels
        scratch = np.empty(points.shape[1])
        _ellipses(np.ascontiguousarray(points), first, *model, scratch, values)
        return values


@dataclasses.dataclass(frozen=True)
class CircleMap:
    """Circle membership (CMF, S4 Eq. 24), for any number of coordinates.

    A centre and two circles around it (spheres for more coordinates), each with a level of inertia
    and a triangular weight of the distance to it. The published weights do not sum to 1, and
    inertia would vanish between circles; they are normalised here.
    """

    centers: FloatArray  # (E, n)
    radii: FloatArray  # (E, 2), the second is larger than the first
    # (E, 3), values at the centre and on the circles; constant outside the second.
    levels: FloatArray

    def values(self, points: FloatArray, elements: slice = slice(None)) -> FloatArray:
        """Values (N, E) of some of the quantities at points (N, n)."""
        first, values = _empty(points, elements, len(self.levels))
        model = self.centers, self.radii, self.levels
        _circles(np.ascontiguousarray(points), first, *model, values)
        return values


@dataclasses.dataclass(frozen=True)
class GridMap:
    """Inverse-distance grid (S4 Eq. 22, Fig. 6) that divides [-1, 1]^n, for any n.

    The weights of Eq. 22 are those of the nodes around a point, the corners of its cell; distances
    are in cells, since coordinates may have different units.

    Attributes
    ----------
    nodes : array, shape (m_1, ..., m_n, E)
        NaN where the mechanism cannot reach; such nodes have no weight.
    """

    nodes: FloatArray

    def values(self, points: FloatArray, elements: slice = slice(None)) -> FloatArray:
        """Values (N, E) of some of the quantities at points (N, n); NaN where no node counts."""
        first, values = _empty(points, elements, self.nodes.shape[-1])
        _grid(np.ascontiguousarray(points), first, *self._arrays, values)
        return values

    @functools.cached_property
    def _arrays(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Flat nodes, and for each coordinate the last index and the stride in the flat nodes."""
        counts = np.array(self.nodes.shape[:-1])
        strides = np.append(np.cumprod(counts[:0:-1])[::-1], 1)
        flat = np.ascontiguousarray(self.nodes).reshape(-1, self.nodes.shape[-1])
        return flat, counts - 1, strides


Map = EllipseMap | CircleMap | GridMap


def _empty(points: FloatArray, elements: slice, count: int) -> tuple[int, FloatArray]:
    """Index of the first quantity, and room for the values of all that are wanted."""
    first, last, _ = elements.indices(count)
    return first, np.empty((len(points), last - first))


@leaf
def _distance(local, axes):  # type: ignore[no-untyped-def]
    """Distance of a point along the semi-axes, in units of them."""
    square = 0.0
    for i in range(len(local)):
        square += (local[i] / axes[i]) ** 2
    return math.sqrt(square)


@entry_point
def _ellipses(points, first, centers, rotations, axes, levels, local, values):  # type: ignore[no-untyped-def]
    for row in range(len(points)):
        for k in range(values.shape[1]):
            value = 0.0
            for family in range(centers.shape[1]):
                place = first + k, family
                largest = 0.0
                for j in range(len(local)):
                    local[j] = 0.0
                    for i in range(len(local)):
                        away = points[row, i] - centers[place][i]
                        local[j] += away * rotations[place][i, j]
                    largest = max(largest, abs(local[j]))
                if largest < NEAR:
                    local[:] = NEAR
                value += levels[place][0]
                inner = 1.0 / _distance(local, axes[place][0])
                for ring in range(1, axes.shape[2]):
                    outer = 1.0 / _distance(local, axes[place][ring])
                    share = min(max((1.0 - inner) / (outer - inner), 0.0), 1.0)
                    value += share * (levels[place][ring] - levels[place][ring - 1])
                    inner = outer
            values[row, k] = value


@entry_point
def _circles(points, first, centers, radii, levels, values):  # type: ignore[no-untyped-def]
    for row in range(len(points)):
        for k in range(values.shape[1]):
            center, level = centers[first + k], levels[first + k]
            inner, outer = radii[first + k, 0], radii[first + k, 1]
            square = 0.0
            for i in range(len(center)):
                square += (points[row, i] - center[i]) ** 2
            distance = min(math.sqrt(square), outer)
            gap = outer - inner
            at_center = max(1.0 - distance / inner, 0.0)
            at_inner = max(1.0 - abs(inner - distance) / gap, 0.0)
            at_outer = max(1.0 - (outer - distance) / gap, 0.0)
            total = at_center * level[0] + at_inner * level[1] + at_outer * level[2]
            values[row, k] = total / (at_center + at_inner + at_outer)


@entry_point
def _grid(points, first, nodes, last, strides, values):  # type: ignore[no-untyped-def]
    size = len(last)
    for row in range(len(points)):
        values[row, :] = 0.0
        total = 0.0
        for corner in range(1 << size):
            square, node = 0.0, 0
            for i in range(size):
                place = (points[row, i] + 1.0) * (0.5 * last[i])
                cell = min(max(int(place), 0), max(last[i] - 1, 0))
                index = min(cell + (corner >> i & 1), last[i])
                square += (place - index) ** 2
                node += index * strides[i]
            if math.isfinite(nodes[node, first]):
                weight = 1.0 / max(square, AT_NODE)
                total += weight
                for k in range(values.shape[1]):
                    values[row, k] += weight * nodes[node, first + k]
        for k in range(values.shape[1]):
            values[row, k] /= total


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
        inside = np.empty((0, len(self.center)))
        while len(inside) < count:
            scaled = rng.uniform(-1.0, 1.0, (4 * count, len(self.center)))
            points = self.center + self.half_width * scaled
            inside = np.concatenate([inside, points[self.contains(points)]])
        return inside[:count]


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
