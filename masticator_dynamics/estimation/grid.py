# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse-distance grid (S4 Eq. 22, Fig. 6), for any number of coordinates.

The weights of Eq. 22 are those of the nodes around a point, the corners of its cell; distances are
in cells, since coordinates may have different units.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray

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

    def _values(self, points: FloatArray, elements: slice) -> FloatArray:
        counts = np.array(self.nodes.shape[:-1])
        place = (points + 1.0) / 2.0 * (counts - 1)
        cell = np.clip(np.floor(place).astype(int), 0, np.maximum(counts - 2, 0))
        steps = np.indices((2,) * len(counts)).reshape(len(counts), -1).T
        corners = np.minimum(cell[:, None] + steps, counts - 1)
        square = ((place[:, None] - corners) ** 2).sum(axis=-1)
        flat = np.ravel_multi_index(tuple(np.moveaxis(corners, -1, 0)), tuple(counts))
        known = self.nodes.reshape(-1, self.nodes.shape[-1])[flat, elements]
        there = np.isfinite(known[..., :1])
        weight = np.where(there, 1.0 / np.maximum(square, _AT_NODE)[..., None], 0.0)
        total = weight.sum(axis=1)
        with np.errstate(invalid='ignore'):
            return (weight * np.where(there, known, 0.0)).sum(axis=1) / total
