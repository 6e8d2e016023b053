# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators of load inertia, S4's and ours: errors, memory, time (S4 Tables 5, 6)."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from masticator_dynamics.analysis.load_inertia.estimator import FITTED as FITTED_KINDS
from masticator_dynamics.analysis.load_inertia.estimator import MODEL, Estimator, ModelEstimator
from masticator_dynamics.analysis.load_inertia.fit import fit_circles, fit_ellipses
from masticator_dynamics.analysis.load_inertia.maps import (
    CircleMap,
    EllipseMap,
    GridMap,
    Map,
    Region,
)
from masticator_dynamics.analysis.load_inertia.sampling import inertia_elements
from masticator_dynamics.analysis.load_inertia.storage import read_estimator, shipped_file
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from papers.comparison.comparison_table import Cell, ComparisonTable
from papers.comparison.inputs import Inputs
from papers.comparison.published_estimators import (
    POINTS,
    Published,
    circle_estimate,
    five_point_estimate,
    five_point_weights,
    published,
)

RADII, ANGLES = 41, 72  # polar grid over which errors are averaged
FITTED, SEED = 400, 0
NODES, PRINTED_NODES = 60, 900
CALLS, BATCH = 300, 2000
PRINTED_CMF = ('0.268', '0.076', '0.447', '0.128', '0.447', '0.128')
PRINTED_EMF = ('0.163', '0.026', '0.218', '0.024', '0.218', '0.024')
COLUMNS = ('', *(f'limb {i}, {what}' for i in (1, 2, 3) for what in ('max', 'mean')))
NOTES = (
    'S4 prints theta_k = atan(b_k/a_k tan phi) for the point of an ellipse at polar angle phi; it '
    'must be atan(a_k/b_k tan phi), which gives errors close to the printed ones.',
    "S4's weights of the circle membership do not sum to 1. Its printed errors are reproduced "
    'neither with these weights nor with normalised ones.',
    'Five points: the centre and four at the rim. The weights of Eq. 23 do not sum to 1 either: '
    'at the rim between two points their sum is 0.47, so the estimate is half of what it should '
    'be.',
    'The model is not exactly that of S4: seven dimensions are not printed and were identified.',
    'Fitted: the same functions with centres, axes, directions, radii and levels found by least '
    f'squares at {FITTED} poses drawn from the circle.',
)

Values = Callable[[FloatArray], FloatArray]


def compare(inputs: Inputs) -> list[ComparisonTable]:
    """Errors over the circular workspace, then memory and time."""
    tables = published()
    mechanism = Mechanism.load('trimule')

    def model(points: FloatArray) -> FloatArray:
        return inertia_elements(mechanism, in_plane(tables, points))[:, : len(tables.actuated)]

    fitted = fit(tables, model)
    grid = _filled_grid(tables, model, inputs)
    table = errors(tables, model, *fitted, grid)
    return [
        table,
        reduction(table),
        five_points(tables),
        cost(tables, mechanism),
        shipped(inputs.masticator),
    ]


_TITLE = 'Errors of load inertia estimated over the circular workspace (1e-3 kg m^2)'


def in_plane(tables: Published, points: FloatArray) -> FloatArray:
    """Positions (N, 3) of P from x and y (N, 2)."""
    return np.column_stack([points, np.full(len(points), tables.plane_z)])


def fit(tables: Published, model: Values) -> tuple[EllipseMap, CircleMap]:
    """Fit the membership functions, in coordinates scaled by the circle's radius."""
    rng = np.random.default_rng(SEED)
    radius, angle = np.sqrt(rng.uniform(size=FITTED)), rng.uniform(0.0, 2.0 * np.pi, FITTED)
    scaled = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    values = model(tables.center + tables.radius * scaled)
    return fit_ellipses(scaled, values, levels=3, families=1), fit_circles(scaled, values)


def errors(
    tables: Published, model: Values, ellipses: EllipseMap, circles: CircleMap, grid: GridMap
) -> ComparisonTable:
    """Table 5, printed and ours.

    Parameters
    ----------
    tables : Published
        Values of S4 Tables 3 and 4.
    model : callable
        Load inertias (N, E) at points (N, 2), m.
    ellipses, circles, grid
        Our own maps, in coordinates scaled by the circle's radius.
    """
    points = tables.polar_grid(RADII, ANGLES)
    scaled = (points - tables.center) / tables.radius
    truth = model(points)
    levels = model(tables.center + tables.radius * POINTS)

    def row(label: str, values: FloatArray) -> tuple[Cell, ...]:
        error = 1e3 * np.abs(values - truth)
        both = np.column_stack([error.max(axis=0), error.mean(axis=0)])
        return (label, *both.ravel().tolist())

    def five(normalised: bool) -> FloatArray:
        return five_point_estimate(scaled, levels, normalised=normalised)

    rows = (
        row('five points, Eq. 23 as printed', five(False)),
        row('five points, normalised', five(True)),
        ('CMF, printed', *PRINTED_CMF),
        row('CMF, S4 Table 3, as printed', circle_estimate(tables.circle, points)),
        row('CMF, S4 Table 3, normalised', tables.circle.values(points)),
        row('CMF, fitted', circles.values(scaled)),
        ('EMF, printed', *PRINTED_EMF),
        row('EMF, S4 Table 4, angle as printed', tables.printed_formula(points)),
        row('EMF, S4 Table 4, angle corrected', tables.ellipse.values(points)),
        row('EMF, fitted', ellipses.values(scaled)),
        row(f'grid, {len(grid.nodes)} x {len(grid.nodes)} nodes', grid.values(scaled)),
    )
    return ComparisonTable(_TITLE, 'S4 Table 5, Eqs. 22-25', COLUMNS, rows, NOTES, digits=3)


def reduction(errors: ComparisonTable) -> ComparisonTable:
    """Last row of Table 5: how much smaller the ellipse's errors are than the circle's."""
    rows = {row[0]: row[1:] for row in errors.rows}

    def less(circle: str, ellipse: str) -> tuple[Cell, ...]:
        pairs = zip(rows[circle], rows[ellipse], strict=True)
        return tuple(100.0 * (1.0 - float(e or 0.0) / float(c or 1.0)) for c, e in pairs)

    printed = ('39.18', '65.79', '51.23', '81.25', '51.23', '81.25')
    ours = (
        ('printed', *printed),
        ('of the printed errors', *less('CMF, printed', 'EMF, printed')),
        ("S4's tables, angle corrected", *less('CMF, S4 Table 3, normalised',
                                               'EMF, S4 Table 4, angle corrected')),
        ('both fitted', *less('CMF, fitted', 'EMF, fitted')),
    )  # fmt: skip
    title = 'Errors of the ellipse membership below those of the circle, %'
    return ComparisonTable(title, 'S4 Table 5, percent reduction', COLUMNS, ours)


def five_points(tables: Published) -> ComparisonTable:
    """How many of the five points have a weight at a place, and the sum of the weights."""
    points = tables.polar_grid(RADII, ANGLES)
    weights = five_point_weights((points - tables.center) / tables.radius)
    total, count = weights.sum(axis=1), (weights > 1e-9).sum(axis=1)
    rows = (
        ('points that count, at most', int(count.max())),
        ('sum of the weights, least', float(total.min())),
        ('sum of the weights, largest', float(total.max())),
    )
    title = 'Five points as fuzzy centres: their weights over the circle'
    return ComparisonTable(title, 'S4 Eq. 23, Figs. 7, 8', ('', 'ours'), rows, digits=3)


def cost(tables: Published, mechanism: Mechanism) -> ComparisonTable:
    """Table 6, printed and ours, with the circle membership added."""
    # Time and memory do not depend on the values.
    grid = GridMap(np.ones((PRINTED_NODES, PRINTED_NODES, len(tables.actuated))))
    points = np.random.default_rng(SEED).permutation(tables.polar_grid(RADII, ANGLES))
    scaled = (points - tables.center) / tables.radius

    code = mechanism.kernels.everything.row

    def one(k: int) -> object:
        return mechanism.actuated_inertia(mechanism.solve(in_plane(tables, points[k : k + 1])[0]))

    rows = (
        ('dynamic model', '8.26', code.size / 1e3, '50.01', _time(one, CALLS)),
        ('grid, 900 x 900 nodes', '10422.47', grid.nodes.nbytes / 1e3, '2.75',
         _time(lambda k: grid.values(scaled[k : k + 1]), CALLS)),
        ('EMF', '3.18', _size(tables.ellipse) / 1e3, '3.06',
         _time(lambda k: tables.ellipse.values(points[k : k + 1]), CALLS)),
        ('CMF', None, _size(tables.circle) / 1e3, None,
         _time(lambda k: tables.circle.values(points[k : k + 1]), CALLS)),
    )  # fmt: skip
    notes = (
        "S4's memory includes the program of a motion controller; ours is for the numbers alone: "
        'the model as the engine stores it, and parameters and nodes as doubles.',
        "S4's 10421 kB for the nodes are 4.3 bytes for each of 2.43 million numbers.",
        f'Time: median of {CALLS} successive single calls from Python for all three limbs, in one '
        'process on one machine; S4 measured on its controller.',
    )
    columns = ('', 'kB, S4', 'kB, ours', 'ms, S4', 'ms, ours')
    title = "Memory and time of the estimators of the TriMule's load inertia"
    return ComparisonTable(title, 'S4 Table 6', columns, rows, notes, digits=3)


def shipped(mechanism: Mechanism) -> ComparisonTable:
    """The same figures for the masticator's estimators."""
    estimators: dict[str, Estimator] = {MODEL: ModelEstimator(mechanism)}
    size = {MODEL: mechanism.kernels.everything.row.size}
    relative = {MODEL: (0.0, 0.0)}
    for kind in FITTED_KINDS:
        found = read_estimator(shipped_file(mechanism.name, kind), mechanism)
        estimators[kind] = found
        size[kind] = _size(found.region) + _size(found.elements)
        diagonal = slice(0, len(mechanism.actuated))
        worst, mean, inertia = (
            array[diagonal]
            for array in (found.error.maximum, found.error.mean, found.error.inertia)
        )
        relative[kind] = float((worst / inertia).max()), float((mean / inertia).mean())
        region = found.region
    poses = region.sample(BATCH, np.random.default_rng(SEED))
    closing = poses[mechanism.attempt(poses).closed]
    rows: list[tuple[Cell, ...]] = []
    for kind, estimator in estimators.items():
        one = _time_estimates(estimator, closing, 1, CALLS)
        batch = _time_estimates(estimator, poses, BATCH, 5) / BATCH
        figures = (100.0 * value for value in relative[kind])
        rows.append((kind, size[kind] / 1e3, one, batch, *figures))
    notes = (
        'Errors: largest and mean error of load inertia, relative to its mean, at the poses at '
        'which the files were measured, over the whole reachable workspace in four coordinates.',
        'Memory: all 21 elements of the matrix. Time: load inertia alone, as in the table above; '
        f'batch: per pose, median of five calls with {BATCH} poses.',
    )
    columns = ('', 'kB', 'ms, single', 'ms, batch', 'largest error, %', 'mean error, %')
    title = "The estimators included for the masticator's load inertia"
    return ComparisonTable(title, 'compare S4 Tables 5, 6', columns, tuple(rows), notes, digits=3)


def _filled_grid(tables: Published, model: Values, inputs: Inputs) -> GridMap:
    """Grid of nodes on a square around the circle, computed line by line."""
    axis = np.linspace(-1.0, 1.0, NODES)
    rows = []
    for k in inputs.progress(range(NODES), 'grid'):
        line = np.column_stack([np.full(NODES, axis[k]), axis])
        rows.append(model(tables.center + tables.radius * line))
    return GridMap(np.array(rows))


def _size(elements: Map | Region) -> int:
    return sum(a.nbytes for a in vars(elements).values() if isinstance(a, np.ndarray))


def _time_estimates(estimator: Estimator, poses: FloatArray, rows: int, calls: int) -> float:
    last = len(poses) - rows + 1
    return _time(lambda k: estimator.estimate_batch(poses[k % last : k % last + rows]), calls)


def _time(call: Callable[[int], object], calls: int) -> float:
    """Median time of single calls after the first, ms."""
    call(0)
    seconds = []
    for k in range(calls):
        begin = time.perf_counter()
        call(k)
        seconds.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(seconds))
