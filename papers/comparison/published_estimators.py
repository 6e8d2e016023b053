# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""S4's estimators as printed: maps of Tables 3 and 4, weights of Eqs. 23 and 24."""

from __future__ import annotations

import dataclasses

import numpy as np
import yaml

from masticator_dynamics.analysis.load_inertia.maps import CircleMap, EllipseMap
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.share import share_directory

FILE = 'config/estimators/trimule_published.yaml'


@dataclasses.dataclass(frozen=True)
class Published:
    """Maps of load inertia (kg m^2) over x and y (m) of point P.

    Attributes
    ----------
    actuated : tuple of str
    ellipse, circle : EllipseMap, CircleMap
    center : array, shape (2,)
        Centre of the circle in which S4 says the maps hold, m.
    radius, plane_z : float
        Radius of this circle, and z of its plane, m.
    """

    actuated: tuple[str, ...]
    ellipse: EllipseMap
    circle: CircleMap
    center: FloatArray
    radius: float
    plane_z: float

    def polar_grid(self, radii: int, angles: int) -> FloatArray:
        """Points (radii * angles, 2), evenly spaced in radius from the centre to the rim."""
        radius = np.repeat(np.linspace(0.0, self.radius, radii), angles)
        angle = np.tile(np.arange(angles) * (2.0 * np.pi / angles), radii)
        ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        return np.asarray(self.center + ring)

    def printed_formula(self, points: FloatArray) -> FloatArray:
        """Ellipse membership (N, n_u) at points (N, 2) by S4 Eq. 25 to the letter.

        Its theta = atan(b/a tan phi), where atan(a/b tan phi) is right.
        """
        columns, ellipse = [], self.ellipse
        for center, rotation, axes, levels in zip(
            ellipse.centers[:, 0],
            ellipse.rotations[:, 0],
            ellipse.axes[:, 0],
            ellipse.levels[:, 0],
            strict=True,
        ):
            x, y = np.abs((points - center) @ rotation).T
            distance, polar = np.hypot(x, y), np.arctan2(y, x)
            a, b = axes[:, 0], axes[:, 1]
            theta = np.arctan2(b * np.sin(polar)[:, None], a * np.cos(polar)[:, None])
            radii = np.hypot(a * np.cos(theta), b * np.sin(theta))
            share = (distance[:, None] - radii[:, :-1]) / np.diff(radii, axis=1)
            columns.append(levels[0] + np.clip(share, 0.0, 1.0) @ np.diff(levels))
        return np.column_stack(columns)


def published() -> Published:
    """Read the tables that ship with the package."""
    text = (share_directory() / FILE).read_text(encoding='utf-8')
    content = yaml.safe_load(text)
    names = tuple(content['levels'])
    levels = np.array([content['levels'][name] for name in names], dtype=float)
    ellipses = [content['ellipse'][name] for name in names]
    centers = np.array([one['center'] for one in ellipses], dtype=float)
    along = np.array([one['vertex'] for one in ellipses], dtype=float) - centers
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across = np.column_stack([-along[:, 1], along[:, 0]])
    points = np.array([content['circle'][name] for name in names], dtype=float)
    return Published(
        names,
        EllipseMap(
            centers[:, None],
            np.stack([along, across], axis=-1)[:, None],
            np.array([one['axes'] for one in ellipses], dtype=float)[:, None],
            levels[:, None],
        ),
        CircleMap(
            points[:, 0].copy(), np.linalg.norm(points[:, 1:] - points[:, :1], axis=2), levels
        ),
        np.array(content['workspace']['center'], dtype=float),
        float(content['workspace']['radius']),
        float(content['plane_z']),
    )


# In units of the radius (S4 Fig. 7a).
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def five_point_weights(scaled: FloatArray) -> FloatArray:
    """Weights (N, 5) at points (N, 2) in units of the radius: 1 - d_k / R, but not below 0."""
    distance = np.linalg.norm(scaled[:, None] - POINTS, axis=2)
    return np.asarray(np.maximum(1.0 - distance, 0.0))


def five_point_estimate(scaled: FloatArray, levels: FloatArray, *, normalised: bool) -> FloatArray:
    """Inertia (N, E) at points (N, 2) from the inertia at the five points.

    Parameters
    ----------
    scaled : (N, 2) array
        Points relative to the circle's centre, in units of its radius.
    levels : (5, E) array
        Inertias at the five points.
    normalised : bool
        Whether weights are divided by their sum; S4 prints no such division.
    """
    weights = five_point_weights(scaled)
    if normalised:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(weights @ levels)


def circle_estimate(circles: CircleMap, points: FloatArray) -> FloatArray:
    """Inertia (N, E) at points (N, 2) with the weights of Eq. 24 as printed, not normalised."""
    columns = []
    for centre, (first, second), levels in zip(
        circles.centers, circles.radii, circles.levels, strict=True
    ):
        distance = np.linalg.norm(points - centre, axis=1)
        gap = second - first
        weights = 1.0 - np.abs([distance / first, (first - distance) / gap,
                                (second - distance) / gap])  # fmt: skip
        columns.append(levels @ np.maximum(weights, 0.0))
    return np.column_stack(columns)
