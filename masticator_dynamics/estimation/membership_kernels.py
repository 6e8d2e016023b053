# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Allocation-free evaluation of maps: a lookup must not take longer than the model.

All functions take points (N, n) in scaled coordinates. Maps also take the index of the first of the
E quantities to evaluate, and fill ``values`` (N, count). The maps and the region document what is
computed.
"""

import math

from masticator_dynamics.engine.jit import entry_point, leaf

NEAR = 1e-9  # in scaled coordinates: the centre itself has no direction
AT_NODE = 1e-24  # square of a distance in cells


@leaf
def _distance(local, axes):
    """Distance of a point along the semi-axes, in units of them."""
    square = 0.0
    for i in range(len(local)):
        square += (local[i] / axes[i]) ** 2
    return math.sqrt(square)


@entry_point
def ellipses(points, first, centers, rotations, axes, levels, local, values):
    """`EllipseMap`; ``local`` (n,) is scratch.

    Parameters
    ----------
    points : (N, n) array
        Scaled coordinates.
    first : int
        Of the quantities to evaluate.
    centers, rotations, axes, levels : array
        Of the map.
    local : (n,) array
        Scratch.
    values : (N, count) array
        Is filled.
    """
    size = len(local)
    for row in range(len(points)):
        for k in range(values.shape[1]):
            value = 0.0
            for family in range(centers.shape[1]):
                place = first + k, family
                largest = 0.0
                for j in range(size):
                    local[j] = 0.0
                    for i in range(size):
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
def circles(points, first, centers, radii, levels, values):
    """`CircleMap`.

    Parameters
    ----------
    points : (N, n) array
        Scaled coordinates.
    first : int
        Of the quantities to evaluate.
    centers, radii, levels : array
        Of the map.
    values : (N, count) array
        Is filled.
    """
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
def grid(points, first, nodes, last, strides, values):
    """`GridMap`; ``nodes`` (M, E) flat, ``last`` and ``strides`` (n,) of each coordinate.

    Parameters
    ----------
    points : (N, n) array
        Scaled coordinates.
    first : int
        Of the quantities to evaluate.
    nodes : (M, E) array
        Values at the nodes of the grid.
    last, strides : (n,) array of int
        Index of the last node along a coordinate, and the step in ``nodes`` to the next one.
    values : (N, count) array
        Is filled.
    """
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


@entry_point
def excess(points, normals, offsets, beyond):
    """`Region`: how far points are outside box and planes (P, n); infinite for NaN.

    Parameters
    ----------
    points : (N, n) array
        Scaled coordinates.
    normals, offsets : (P, n) and (P,) array
        Planes; a point p is inside where ``normals @ p <= offsets``.
    beyond : (N,) array
        Is filled; negative inside.
    """
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
