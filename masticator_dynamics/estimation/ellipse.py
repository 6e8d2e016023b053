# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ellipse membership (EMF, S4 Eq. 25), for any number of coordinates, levels and families.

Around a centre lie nested ellipsoids, each with a level of inertia. Along the ray from the centre
through a point, inertia varies linearly from one level to the next between the radii at which the
ray meets two of them; inside the first and outside the last it is constant. S4 has two coordinates
and three ellipses.

S4 prints theta = atan(b/a tan phi) for the parameter of an ellipse at polar angle phi; it must
be atan(a/b tan phi). With the radius in the direction of the point written as d / rho, where rho is
the norm of the point in units of the semi-axes, neither angle is needed, and the number of
coordinates does not matter.

Isolines of a saddle are not ellipses. The sum of several *families* of ellipsoids, a bowl and a
dome, follows a saddle.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.estimation import membership_kernels as kernels
from masticator_dynamics.estimation.membership_kernels import NEAR


@dataclasses.dataclass(frozen=True)
class EllipseMap:
    """Values of E quantities over n scaled coordinates, as sums of F families.

    Attributes
    ----------
    centers : array, shape (E, F, n)
    rotations : array, shape (E, F, n, n)
        Columns are the directions of the semi-axes.
    axes : array, shape (E, F, K, n)
        Semi-axes, growing with K in every direction.
    levels : array, shape (E, F, K)
        Values on the ellipsoids, summed over families.
    """

    centers: FloatArray
    rotations: FloatArray
    axes: FloatArray
    levels: FloatArray

    def values(self, points: FloatArray, elements: slice) -> FloatArray:
        """Values (N, E) of some of the quantities at points (N, n)."""
        first, last, _ = elements.indices(len(self.levels))
        values = np.empty((len(points), last - first))
        model = self.centers, self.rotations, self.axes, self.levels
        scratch = np.empty(points.shape[1])
        kernels.ellipses(np.ascontiguousarray(points), first, *model, scratch, values)
        return values


def crossed(local: FloatArray, axes: FloatArray) -> FloatArray:
    """Position of points between one ellipsoid (0) and the next (1).

    Parameters
    ----------
    local : array, shape (..., n)
        Points relative to the centre, along the semi-axes.
    axes : array, shape (..., K, n)

    Returns
    -------
    array, shape (..., K - 1)
    """
    near = np.abs(local).max(axis=-1, keepdims=True) < NEAR
    scaled = np.where(near, NEAR, local)[..., None, :] / axes
    # Radius of each ellipsoid in the direction of the point, in units of the point's distance.
    radii = 1.0 / np.sqrt((scaled * scaled).sum(axis=-1))
    inner, outer = radii[..., :-1], radii[..., 1:]
    return np.clip((1.0 - inner) / (outer - inner), 0.0, 1.0)
