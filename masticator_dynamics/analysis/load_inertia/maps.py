# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Maps of E quantities over n scaled coordinates: ellipses, circles and a grid (S4 Eqs. 22-25).

By machine code that is made once for maps of the same sizes: a lookup must not take longer than the
model. Each map comes with the region of poses that it was fitted to: a box, cut by planes.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.model import OnDemand
from masticator_dynamics.engine.traced import vectors as vec
from masticator_dynamics.engine.traced.functions import whole_below
from masticator_dynamics.engine.traced.numbers import (
    absolute,
    greater,
    greatest,
    lesser,
    reciprocal,
    select,
    square_root,
    total,
)
from masticator_dynamics.engine.traced.row_code import RowCode, address
from masticator_dynamics.files import file_cache

NEAR = 1e-9  # in scaled coordinates: the centre itself has no direction
AT_NODE = 1e-24  # square of a distance in cells
FAR = 1e300  # square of a distance that is not finite


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
        return self._lookup[elements.indices(len(self.levels))](points)

    @functools.cached_property
    def _lookup(self) -> OnDemand[tuple[int, int, int], _Lookup]:
        model = self.centers, self.rotations, self.axes, self.levels
        return _of_some(_ellipses, model, self.centers.shape[-1])


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
        return self._lookup[elements.indices(len(self.levels))](points)

    @functools.cached_property
    def _lookup(self) -> OnDemand[tuple[int, int, int], _Lookup]:
        model = self.centers, self.radii, self.levels
        return _of_some(_circles, model, self.centers.shape[-1])


@dataclasses.dataclass(frozen=True)
class GridMap:
    """Inverse-distance grid (S4 Eq. 22, Fig. 6) that divides [-1, 1]^n, for any n.

    The weights of Eq. 22 are those of the nodes around a point, the corners of its cell; distances
    are in cells, since coordinates may have different units.
    """

    # (m_1, ..., m_n, E): NaN where the mechanism cannot reach; such nodes have no weight.
    nodes: FloatArray

    def values(self, points: FloatArray, elements: slice = slice(None)) -> FloatArray:
        """Values (N, E) of some of the quantities at points (N, n); NaN where no node counts."""
        lookup, values, finite = self._flat
        cells, corners = lookup(points), 2 ** points.shape[1]
        nodes = cells[:, corners:].astype(np.int64)
        weights = cells[:, :corners] * finite[nodes]
        answer = (weights[:, None, :] @ values[nodes][..., elements])[:, 0]
        with np.errstate(invalid='ignore'):
            return np.asarray(answer / weights.sum(axis=1, keepdims=True))

    @functools.cached_property
    def _flat(self) -> tuple[_Lookup, FloatArray, FloatArray]:
        """Corners of cells; all nodes, 0 where unknown; 1 where they are known."""
        counts = np.array(self.nodes.shape[:-1])
        strides = np.append(np.cumprod(counts[:0:-1])[::-1], 1.0)
        flat = np.ascontiguousarray(self.nodes).reshape(-1, self.nodes.shape[-1])
        finite = np.asarray(np.isfinite(flat).all(axis=1), dtype=np.float64)
        size = len(counts)
        lookup = _Lookup(_grid, 2 * 2**size, size, (counts - 1.0, strides))
        return lookup, np.where(finite[:, None] > 0.0, flat, 0.0), finite


Map = EllipseMap | CircleMap | GridMap

Nested = Any  # numbers in lists of the shape of an array


def _of_some(
    function: Callable[..., list[Any]], model: Sequence[FloatArray], coordinates: int
) -> OnDemand[tuple[int, int, int], _Lookup]:
    """Lookups of some of the quantities, by their slice."""

    def lookup(part: tuple[int, int, int]) -> _Lookup:
        chosen = [array[slice(*part)] for array in model]
        return _Lookup(function, len(chosen[0]), coordinates, chosen)

    return OnDemand(lookup)


class _Lookup:
    """A function of a point and of the arrays of a model, as machine code; for one thread.

    Parameters
    ----------
    function : callable
        Gives so many ``outputs`` for numbers.
    coordinates : int
        Numbers of a point.
    model : sequence of array
    """

    def __init__(
        self, function: Callable[..., list[Any]], outputs: int, coordinates: int,
        model: Sequence[FloatArray],
    ):  # fmt: skip
        code = _code(function, outputs, coordinates, tuple(part.shape for part in model))
        self._code, self._count = code, coordinates
        self._numbers = np.concatenate([part.ravel() for part in model])
        row = np.concatenate([np.zeros(coordinates), self._numbers])
        self._single = row, np.empty((1, outputs))
        self._addresses = [address(part) for part in self._single]

    def __call__(self, points: FloatArray) -> FloatArray:
        """Outputs (N, m) at points (N, n)."""
        if len(points) != 1:
            return self._code.of_tables(points[None], self._numbers[None])[0]
        row, out = self._single
        row[: self._count] = points[0]
        self._code.row.row(*self._addresses)
        return out.copy()


@functools.cache
def _code(
    function: Callable[..., list[Any]], outputs: int, coordinates: int,
    shapes: tuple[tuple[int, ...], ...],
) -> RowCode:  # fmt: skip
    """Machine code of a function for points and models of some sizes."""
    sizes = [math.prod(shape) for shape in shapes]
    ends = np.cumsum(sizes)

    def recorded(inputs: Sequence[Any], _: bool) -> list[Any]:
        table = np.array(inputs[coordinates:], dtype=object)
        parts = zip(ends, sizes, shapes, strict=True)
        model = [table[end - size : end].reshape(shape).tolist() for end, size, shape in parts]
        return function(inputs[:coordinates], *model)

    return RowCode(
        f'map {function.__name__}', coordinates, outputs, recorded,
        lambda: [file_cache.sources('engine/traced', 'analysis/load_inertia'), coordinates, shapes],
        constants=np.zeros(sum(sizes)),
    )  # fmt: skip


def _ellipses(
    point: Nested, centers: Nested, rotations: Nested, axes: Nested, levels: Nested
) -> list[Any]:
    return [
        total(_on_rings(point, *family) for family in zip(*element, strict=True))
        for element in zip(centers, rotations, axes, levels, strict=True)
    ]


def _on_rings(point: Nested, center: Nested, rotation: Nested, axes: Nested, levels: Nested) -> Any:
    """Value of one family of ellipsoids."""
    away = vec.subtract(point, center)
    local = [vec.dot(away, column) for column in zip(*rotation, strict=True)]
    far = greatest([absolute(x) for x in local]) - NEAR
    local = [select(far, x, NEAR) for x in local]

    def radius(semi_axes: Nested) -> Any:
        parts = [x / a for x, a in zip(local, semi_axes, strict=True)]
        return reciprocal(square_root(vec.dot(parts, parts)))

    value, inner = levels[0], radius(axes[0])
    for ring in range(1, len(axes)):
        outer = radius(axes[ring])
        share = lesser(greater((1.0 - inner) / (outer - inner), 0.0), 1.0)
        value = value + share * (levels[ring] - levels[ring - 1])
        inner = outer
    return value


def _circles(point: Nested, centers: Nested, radii: Nested, levels: Nested) -> list[Any]:
    values = []
    for center, (inner, outer), level in zip(centers, radii, levels, strict=True):
        away = vec.subtract(point, center)
        distance = lesser(square_root(vec.dot(away, away)), outer)
        gap = outer - inner
        weights = [
            greater(1.0 - part, 0.0)
            for part in (distance / inner, absolute(inner - distance) / gap,
                         (outer - distance) / gap)
        ]  # fmt: skip
        values.append(vec.dot(weights, level) / total(weights))
    return values


def _grid(point: Nested, last: Nested, strides: Nested) -> list[Any]:
    """Weights of the corners of the cell of a point, then their numbers among the nodes."""
    sides = []
    for x, end in zip(point, last, strict=True):
        place = (x + 1.0) * (0.5 * end)
        cell = lesser(greater(whole_below(place), 0.0), greater(end - 1.0, 0.0))
        ends = [cell, lesser(cell + 1.0, end)]
        sides.append([((place - index) * (place - index), index) for index in ends])
    weights, nodes = [], []
    for corner in itertools.product(*sides):
        square = total(part for part, _ in corner)
        weights.append(reciprocal(greater(square, AT_NODE)))
        nodes.append(total(i * s for (_, i), s in zip(corner, strides, strict=True)))
    return [*weights, *nodes]


_PROBES, _FACES = 20000, 2000
SLACK = 1e-9  # in half widths: a pose on the boundary must not be rejected for its last digit


@dataclasses.dataclass(frozen=True)
class Region:
    """A convex region of n coordinates."""

    # (n,): centre and half width of the box, rad or m. Scaled coordinates are -1 and 1 on its
    # faces.
    center: FloatArray
    half_width: FloatArray
    # (P, n) and (P,): planes that cut it: normal . scaled coordinates <= offset inside.
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
        return self._excess(self.scaled(points))[:, 0]

    @functools.cached_property
    def _excess(self) -> _Lookup:
        return _Lookup(_excess, 1, len(self.center), (self.normals, self.offsets))

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Uniformly distributed points (count, n)."""
        inside = np.empty((0, len(self.center)))
        while len(inside) < count:
            scaled = rng.uniform(-1.0, 1.0, (4 * count, len(self.center)))
            points = self.center + self.half_width * scaled
            inside = np.concatenate([inside, points[self.contains(points)]])
        return inside[:count]


def _excess(point: Nested, normals: Nested, offsets: Nested) -> list[Any]:
    """How far a scaled point is outside; infinite for NaN."""
    beyond = [absolute(x) - 1.0 for x in point]
    beyond += [vec.dot(normal, point) - x for normal, x in zip(normals, offsets, strict=True)]
    return [select(FAR - vec.dot(point, point), greatest([-1.0, *beyond]), math.inf)]
