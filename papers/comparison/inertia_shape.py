# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""TriMule's load inertia over its workspace: fluctuation and shape of isolines (S4 Fig. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from masticator_dynamics.analysis.load_inertia.sampling import load_inertia
from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.comparison_table import ComparisonTable, rows_of
from papers.comparison.published_estimators import published

LEVELS = (0.1, 0.3, 0.5)  # of isolines: 0 is the smallest inertia, 1 the largest
STEP = 1e-4  # m
COLUMNS = ('', 'limb 1', 'limb 2', 'limb 3')


def shape(poses: FloatArray, values: FloatArray) -> ComparisonTable:
    """Fluctuation over a net of poses (N, 3), and ellipses fitted to isolines.

    Parameters
    ----------
    values : array, shape (N, 3)
        Load inertia, kg m².
    """
    low, high = values.min(axis=0), values.max(axis=0)
    rows: dict[str, Any] = {'largest above the least, %': 100.0 * (high / low - 1.0)}
    for level in LEVELS:
        off, ratio, away = zip(
            *(_ellipse(poses[:, :2], column, level) for column in values.T), strict=True
        )
        rows[f'isoline at {level:g}: off an ellipse, % of its size'] = off
        rows[f'isoline at {level:g}: long axis / short'] = ratio
        rows[f'isoline at {level:g}: centre off the point of least inertia, m'] = away
    notes = (
        'Isolines at fractions between the least value (0) and the largest (1); an ellipse is '
        'fitted to the samples near each (least squares of a conic).',
        'S4 gives a fluctuation of 37 %, which is that of limbs 2 and 3 in its Table 3, 3.69 over '
        '2.69.',
    )
    return ComparisonTable(
        'Shape of the load inertia over the circle', 'S4 Fig. 5', COLUMNS, rows_of(rows), notes,
        digits=3,
    )  # fmt: skip


def _ellipse(points: FloatArray, values: FloatArray, level: float) -> tuple[float, float, float]:
    """Deviation from an ellipse (%), ratio of its axes, and its centre's offset (m)."""
    low, high = float(values.min()), float(values.max())
    wanted = low + level * (high - low)
    near = np.abs(values - wanted) < 0.04 * (high - low)
    # Samples near the isoline are moved onto it along the ray from the point of least inertia,
    # on which inertia grows roughly as the square of the distance.
    bottom = points[values.argmin()]
    ray = points[near] - bottom
    ray *= np.sqrt((wanted - low) / (values[near] - low))[:, None]
    x, y = ray.T
    conic, *_ = np.linalg.lstsq(
        np.column_stack([x * x, 2.0 * x * y, y * y, 2.0 * x, 2.0 * y]), np.ones(len(x)), rcond=None
    )
    matrix = np.array([[conic[0], conic[1]], [conic[1], conic[2]]])
    centre = -np.linalg.solve(matrix, conic[3:])
    size = 1.0 + float(centre @ matrix @ centre)
    offset = ray - centre
    radius = np.sqrt(np.einsum('ni,ij,nj->n', offset, matrix, offset) / size)
    axes = np.sqrt(size / np.linalg.eigvalsh(matrix))
    off = 100.0 * rms(radius - 1.0)
    return off, float(axes[0] / axes[1]), float(np.linalg.norm(centre))


def gradients(trimule: Mechanism) -> ComparisonTable:
    """Slope of inertia along the axes of S4's ellipses, halfway to the rim and at the rim."""
    tables = published()
    slopes = np.array([_slopes(trimule, limb) for limb in range(3)])
    places = [f'{axis} axis, {where}' for axis in ('short', 'long')
              for where in ('half way', 'at the rim')]  # fmt: skip
    return ComparisonTable(
        'Slope of the load inertia outwards, 1e-3 kg m² per m', 'S4 Fig. 5',
        COLUMNS, rows_of(dict(zip(places, slopes.T, strict=True))),
        (f'From the centre of the ellipses of Table 4 to the rim of {tables.radius:g} m, the '
         'longer of the two distances.',),
        digits=3,
    )  # fmt: skip


def _slopes(trimule: Mechanism, limb: int) -> list[float]:
    tables = published()
    start = tables.ellipse.centers[limb, 0]
    long, short = tables.ellipse.rotations[limb, 0].T
    found = []
    for direction in (short, long):
        lengths = [
            _to_rim(start - tables.center, s * direction, tables.radius) for s in (1.0, -1.0)
        ]
        outwards = direction if lengths[0] > lengths[1] else -direction
        for part in (0.5, 1.0):
            points = [start + (part * max(lengths) - d) * outwards for d in (2.0 * STEP, 0.0)]
            poses = np.column_stack([points, np.full(2, tables.plane_z)])
            inner, outer = load_inertia(trimule, poses)[:, limb]
            found.append(1e3 * float(outer - inner) / (2.0 * STEP))
    return found


def _to_rim(start: FloatArray, direction: FloatArray, radius: float) -> float:
    """Distance from a point inside a circle about 0 to its rim, along a direction."""
    along = float(start @ direction)
    return -along + float(np.sqrt(along**2 + radius**2 - start @ start))
