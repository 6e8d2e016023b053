# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse-distance grid (S4 Eq. 22, Fig. 6), for any number of coordinates.

The weights of Eq. 22 are those of the nodes around a point, the corners of its cell; distances are
in cells, since coordinates may have different units.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray

_AT_NODE = 1e-24  # square of a distance in cells
_ROWS = 1024  # at once: corners times quantities times rows have to fit


@dataclasses.dataclass(frozen=True)
class GridMap:
    """Values of E quantities at nodes that divide [-1, 1]^n of scaled coordinates.

    Attributes
    ----------
    nodes : array, shape (m_1, ..., m_n, E)
        NaN where the mechanism cannot be; such nodes have no weight.
    """

    nodes: FloatArray

    def values(self, points: FloatArray, elements: slice) -> FloatArray:
        """Values (N, E) at points (N, n) of some of the quantities; NaN where no node counts."""
        rows = [
            self._values(points[start : start + _ROWS], elements)
            for start in range(0, len(points), _ROWS)
        ]
        return np.concatenate(rows)

    @functools.cached_property
    def _layout(self) -> tuple[IntArray, IntArray, IntArray]:
        """Last index of each coordinate, corners of a cell, and strides of the flat nodes."""
        counts = np.array(self.nodes.shape[:-1])
        corners = np.indices((2,) * len(counts)).reshape(len(counts), -1).T
        return counts - 1, corners, np.append(np.cumprod(counts[:0:-1])[::-1], 1)

    def _values(self, points: FloatArray, elements: slice) -> FloatArray:
        last, steps, strides = self._layout
        place = (points + 1.0) * (0.5 * last)
        cell = np.minimum(np.maximum(place.astype(int), 0), np.maximum(last - 1, 0))
        corners = np.minimum(cell[:, None] + steps, last)
        square = ((place[:, None] - corners) ** 2).sum(axis=-1)
        known = self.nodes.reshape(-1, self.nodes.shape[-1])[corners @ strides, elements]
        there = np.isfinite(known[..., :1])
        weight = np.where(there, 1.0 / np.maximum(square, _AT_NODE)[..., None], 0.0)
        total = weight.sum(axis=1)
        with np.errstate(invalid='ignore'):
            return (weight * np.where(there, known, 0.0)).sum(axis=1) / total
