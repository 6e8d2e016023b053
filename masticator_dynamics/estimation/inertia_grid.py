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
from masticator_dynamics.estimation import membership_kernels as kernels


@dataclasses.dataclass(frozen=True)
class GridMap:
    """Values of E quantities at nodes that divide [-1, 1]^n of scaled coordinates.

    Attributes
    ----------
    nodes : array, shape (m_1, ..., m_n, E)
        NaN where the mechanism cannot reach; such nodes have no weight.
    """

    nodes: FloatArray

    def values(self, points: FloatArray, elements: slice) -> FloatArray:
        """Values (N, E) of some of the quantities at points (N, n); NaN where no node counts."""
        first, last, _ = elements.indices(self.nodes.shape[-1])
        values = np.empty((len(points), last - first))
        kernels.grid(np.ascontiguousarray(points), first, *self._arrays, values)
        return values

    @functools.cached_property
    def _arrays(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Flat nodes, and for each coordinate the last index and the stride in the flat nodes."""
        counts = np.array(self.nodes.shape[:-1])
        strides = np.append(np.cumprod(counts[:0:-1])[::-1], 1)
        flat = np.ascontiguousarray(self.nodes).reshape(-1, self.nodes.shape[-1])
        return flat, counts - 1, strides
