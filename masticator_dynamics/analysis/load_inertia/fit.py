# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Least-squares fits of membership functions to sampled inertia.

Levels enter linearly: for every trial of the other parameters, the best levels solve a linear
least-squares problem (variable projection), so the search is over shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from masticator_dynamics.analysis.load_inertia.maps import CircleMap, EllipseMap
from masticator_dynamics.engine.arrays import FloatArray

Basis = Callable[[FloatArray], FloatArray]
_FAR = 4.0  # half widths; a centre may be outside the region
_QUICK, _THOROUGH = 15, 60  # evaluations of the Jacobian
_RIDGE = 1e-5  # relative to the columns, which are between 0 and 1
_FEW = 300  # points for quick trials


def fit_circles(
    points: FloatArray, values: FloatArray, progress: Callable[[int], object] = lambda _: None
) -> CircleMap:
    """One map for columns (N, E) of values at scaled points (N, n).

    Parameters
    ----------
    points : (N, n) array
        Scaled coordinates, between -1 and 1.
    values : (N, E) array
        Values of E quantities there.
    progress : callable
        Called with 1 after each quantity.
    """
    return CircleMap(*_each(values, lambda column: _fit_circle(points, column), progress))


def fit_ellipses(
    points: FloatArray,
    values: FloatArray,
    levels: int,
    families: int,
    progress: Callable[[int], object] = lambda _: None,
) -> EllipseMap:
    """One map for columns (N, E) of values at scaled points (N, n).

    Parameters
    ----------
    points : (N, n) array
        Scaled coordinates, between -1 and 1.
    values : (N, E) array
        Values of E quantities there.
    levels : int
        Number of ellipsoids in a family.
    families : int
        Number of families whose sum is the map.
    progress : callable
        Called with 1 after each quantity.
    """
    return EllipseMap(
        *_each(values, lambda column: _fit_families(points, column, levels, families), progress)
    )


def _each(
    values: FloatArray,
    fit: Callable[[FloatArray], tuple[FloatArray, ...]],
    progress: Callable[[int], object],
) -> list[FloatArray]:
    """Arrays of the fits to all columns (N, E), one behind another."""
    fits = []
    for column in values.T:
        fits.append(fit(column))
        progress(1)
    return [np.array(parts) for parts in zip(*fits, strict=True)]


def quadratic(points: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient (n,) at 0 and Hessian (n, n) of the quadratic function that fits best."""
    count = points.shape[1]
    rows, columns = np.triu_indices(count)
    terms = np.column_stack([np.ones(len(points)), points, points[:, rows] * points[:, columns]])
    coefficients = np.linalg.lstsq(terms, values, rcond=None)[0]
    hessian = np.zeros((count, count))
    hessian[rows, columns] = coefficients[1 + count :]
    gradient = np.asarray(coefficients[1 : 1 + count], dtype=np.float64)
    return gradient, hessian + hessian.T


def _project(basis: FloatArray, values: FloatArray) -> FloatArray:
    """Factors of the columns of a basis (N, B) that best fit values (N,)."""
    # A ridge far below the data keeps columns that few samples reach from getting huge factors.
    ridge = _RIDGE * len(values) * np.eye(basis.shape[1])
    return np.asarray(np.linalg.solve(basis.T @ basis + ridge, basis.T @ values))


def _search(
    basis: Basis,
    start: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    values: FloatArray,
    evaluations: int,
) -> tuple[float, FloatArray]:
    """Half the residual sum of squares, and the parameters whose basis minimises it."""
    # Only here: it takes long to import.
    from scipy.optimize import least_squares

    def residual(parameters: FloatArray) -> FloatArray:
        columns = basis(parameters)
        return columns @ _project(columns, values) - values

    inside = np.clip(start, bounds[0] + 1e-6, bounds[1] - 1e-6)
    optimum = least_squares(residual, inside, bounds=bounds, max_nfev=evaluations, ftol=1e-5)
    return float(optimum.cost), np.asarray(optimum.x)


def _normalised(values: FloatArray) -> tuple[FloatArray, float, float]:
    mean, spread = float(values.mean()), max(float(values.std()), 1e-300)
    return (values - mean) / spread, mean, spread


def _center(gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """Where a quadratic function is stationary, kept near the region."""
    center = -np.asarray(np.linalg.lstsq(hessian, gradient, rcond=1e-3)[0], dtype=np.float64)
    return center * min(1.0, 2.0 / max(float(np.abs(center).max()), 1e-12))


def _fit_circle(
    points: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    count = points.shape[1]
    normal, mean, spread = _normalised(values)
    gradient, hessian = quadratic(points, normal)
    downhill = -gradient / max(float(np.linalg.norm(gradient)), 1e-12)

    def basis(parameters: FloatArray) -> FloatArray:
        center, radii = parameters[:count], np.cumsum(np.exp(parameters[count:]))
        return CircleMap(np.tile(center, (3, 1)), np.tile(radii, (3, 1)), np.eye(3)).values(points)

    starts = []
    for center in (_center(gradient, hessian), np.zeros(count), downhill, -downhill):
        distance = np.linalg.norm(points - center, axis=1)
        radii = np.quantile(distance, [0.4, 0.95])
        starts.append(np.concatenate([center, np.log([radii[0], radii[1] - radii[0]])]))
    low = np.concatenate([np.full(count, -_FAR), np.full(2, np.log(0.05))])
    high = np.concatenate([np.full(count, _FAR), np.full(2, np.log(2.0 * _FAR))])
    trials = [_search(basis, start, (low, high), normal, _THOROUGH) for start in starts]
    best = min(trials, key=lambda trial: trial[0])[1]
    levels = mean + spread * _project(basis(best), normal)
    return best[:count], np.cumsum(np.exp(best[count:])), levels


class _Shape:
    """One family of ellipsoids as a vector: centre, rotation of the axes, logarithms of the axes.

    The rotation is from given directions, as the Cayley transform of a skew matrix.
    """

    def __init__(self, count: int, levels: int):
        self._count, self._levels = count, levels
        self._turns = np.triu_indices(count, k=1)
        self.size = count + len(self._turns[0]) + levels * count

    def unpack(
        self, vector: FloatArray, directions: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centre (n,), rotation (n, n), axes (K, n)."""
        count, turns = self._count, len(self._turns[0])
        skew = np.zeros((count, count))
        skew[self._turns] = vector[count : count + turns]
        skew -= skew.T
        turn = np.linalg.solve(np.eye(count) - skew, np.eye(count) + skew)
        steps = np.exp(vector[count + turns :]).reshape(self._levels, count)
        return vector[:count], directions @ turn, np.cumsum(steps, axis=0)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the vector."""
        rest = self.size - self._count
        turns = len(self._turns[0])
        high = [_FAR] * self._count + [1.0] * turns + [np.log(4.0 * _FAR)] * (rest - turns)
        low = [-_FAR] * self._count + [-1.0] * turns + [np.log(0.02)] * (rest - turns)
        return np.array(low), np.array(high)

    def start(
        self, points: FloatArray, center: FloatArray, axes: FloatArray, directions: FloatArray
    ) -> FloatArray:
        """Similar ellipsoids along given directions, sized by quantiles of the points."""
        rho = np.linalg.norm((points - center) @ directions / axes, axis=1)
        sizes = np.quantile(rho, np.linspace(0.1, 0.98, self._levels))
        steps = np.diff(sizes, prepend=0.0)[:, None] * axes
        return np.concatenate([center, np.zeros(len(self._turns[0])), np.log(steps).ravel()])


def _starts(
    shape: _Shape, points: FloatArray, values: FloatArray
) -> list[tuple[FloatArray, FloatArray]]:
    """Vectors and directions: a bowl and a dome from the quadratic fit, spheres up and downhill."""
    count = points.shape[1]
    gradient, hessian = quadratic(points, values)
    curvatures, directions = np.linalg.eigh(hessian)
    smallest = 0.05 * max(float(np.abs(curvatures).max()), 1e-12)
    starts = []
    for sign in (1.0, -1.0):
        bowl = np.maximum(sign * curvatures, smallest)
        center = directions @ (-sign * (directions.T @ gradient) / bowl)
        center *= min(1.0, 2.0 / max(float(np.abs(center).max()), 1e-12))
        vector = shape.start(points, center, 1.0 / np.sqrt(bowl), directions)
        starts.append((vector, directions))
    uphill = gradient / max(float(np.linalg.norm(gradient)), 1e-12)
    for center in (uphill, -uphill):
        starts.append((shape.start(points, center, np.ones(count), np.eye(count)), np.eye(count)))
    return starts


def _steps(center: FloatArray, rotation: FloatArray, axes: FloatArray) -> EllipseMap:
    """For each ellipsoid but the first: 0 inside the one before it, 1 outside it."""
    count = len(axes) - 1
    center, rotation, axes = (
        np.repeat(part[None, None], count, axis=0) for part in (center, rotation, axes)
    )
    return EllipseMap(center, rotation, axes, np.triu(np.ones((count, count + 1)), 1)[:, None])


def _fit_families(
    points: FloatArray, values: FloatArray, levels: int, families: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Fit families one by one, each to the residual of those before, then all together."""
    normal, mean, spread = _normalised(values)
    shape = _Shape(points.shape[1], levels)
    few = slice(0, _FEW)

    def basis(vector: FloatArray, directions: FloatArray, part: slice) -> FloatArray:
        columns = [np.ones((len(points[part]), 1))]
        for unknowns, along in zip(vector.reshape(-1, shape.size), directions, strict=True):
            columns.append(_steps(*shape.unpack(unknowns, along)).values(points[part]))
        return np.hstack(columns)

    def search(
        start: FloatArray, directions: FloatArray, part: slice, evaluations: int
    ) -> tuple[float, FloatArray]:
        low, high = (np.tile(bound, len(directions)) for bound in shape.bounds())
        return _search(
            lambda vector: basis(vector, directions, part),
            start, (low, high), normal[part], evaluations,
        )  # fmt: skip

    parameters, along, remainder = np.empty(0), np.empty((0, *[points.shape[1]] * 2)), normal
    for _ in range(families):
        trials = []
        for start, directions in _starts(shape, points, remainder):
            longer = np.concatenate([along, directions[None]])
            cost, vector = search(np.concatenate([parameters, start]), longer, few, _QUICK)
            trials.append((cost, vector, longer))
        _, best, along = min(trials, key=lambda trial: trial[0])
        _, parameters = search(best, along, slice(None), _THOROUGH)
        columns = basis(parameters, along, slice(None))
        factors = _project(columns, normal)
        remainder = normal - columns @ factors
    steps = spread * factors[1:].reshape(families, levels - 1)
    heights = np.cumsum(np.hstack([np.zeros((families, 1)), steps]), axis=1)
    heights[0] += mean + spread * factors[0]
    parts = [
        shape.unpack(unknowns, directions)
        for unknowns, directions in zip(parameters.reshape(-1, shape.size), along, strict=True)
    ]
    centers, rotations, axes = (np.array(column) for column in zip(*parts, strict=True))
    return centers, rotations, axes, heights
