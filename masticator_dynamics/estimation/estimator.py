# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators of load inertia with a common interface: fitted ones and the model itself."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector, as_floats
from masticator_dynamics.errors import InputError, LimitError, MasticatorError
from masticator_dynamics.estimation.maps import CircleMap, EllipseMap, GridMap, Map
from masticator_dynamics.estimation.region import SLACK, Region
from masticator_dynamics.estimation.sampling import element_indices, inertia_at
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.results import Motion

MODEL = 'model'
FITTED = {'ellipse': EllipseMap, 'circle': CircleMap, 'grid': GridMap}
KINDS = (*FITTED, MODEL)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Estimated inertia of N configurations.

    Attributes
    ----------
    inertia : array, shape (N, n_u) or (N, n_u, n_u)
        kg m^2 or kg: diagonals, or full matrices; NaN where there is no estimate.
    expected_error : array, shape (n_u,) or (n_u, n_u)
        Largest measured error of the estimator against the model; not a bound.
    inside : array of bool, shape (N,)
        False where there is no estimate: outside the region that the estimator was fitted to, or,
        for the model, where the loops cannot close.
    """

    inertia: FloatArray
    expected_error: FloatArray
    inside: npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class MeasuredError:
    """Error of an estimator against the model, per element of the inertia matrix (E,).

    Attributes
    ----------
    poses : int
        Number of poses it was measured at, none of which was used in the fit.
    maximum, mean : array, shape (E,)
        Maximum and mean of the absolute error, kg m^2 or kg.
    inertia : array, shape (E,)
        Mean size of the element itself, for comparison.
    """

    poses: int
    maximum: FloatArray
    mean: FloatArray
    inertia: FloatArray


class Estimator(Protocol):
    """Interface of all estimators."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""

    @property
    def actuated(self) -> tuple[str, ...]:
        """Order of the actuated joints."""

    def estimate(self, y: npt.ArrayLike, off_diagonals: bool = False) -> tuple[Any, Any]:
        """Inertia and expected error at one configuration (n_y,).

        Returns
        -------
        inertia, expected_error : arrays, shape (n_u,) or (n_u, n_u)

        Raises
        ------
        InputError
            For a wrong shape, NaN or infinity.
        LimitError, ReachError, SingularityError
            Where there is no estimate: outside the fitted region, or where the loops cannot close.
        """

    def load_inertia(self, motion: Motion) -> FloatArray:
        """Load inertia (n_u,) at a configuration with closed loops, without its error."""

    def estimate_batch(self, Y: npt.ArrayLike, off_diagonals: bool = False) -> Estimate:
        """The same for configurations (N, n_y); tells for each row whether there is an estimate."""


@dataclasses.dataclass(frozen=True)
class FittedEstimator:
    """Inertia from a fitted map; needs no mechanism.

    Attributes
    ----------
    kind : str
        One of `FITTED`.
    mechanism, fingerprint : str
        What it was built for.
    independent, actuated : tuple of str
        Names and order of inputs and outputs.
    region : Region
        Where it is valid.
    elements : EllipseMap, CircleMap or GridMap
        Elements of the matrix, in the order of `element_indices`, over scaled coordinates.
    error : MeasuredError
    built : dict
        How it was built: numbers of samples, levels and so on.
    """

    kind: str
    mechanism: str
    fingerprint: str
    independent: tuple[str, ...]
    actuated: tuple[str, ...]
    region: Region
    elements: Map
    error: MeasuredError
    built: dict[str, int]

    def estimate(self, y: npt.ArrayLike, off_diagonals: bool = False) -> tuple[Any, Any]:
        """See `Estimator`."""
        count = len(self.actuated)
        wanted = slice(None) if off_diagonals else slice(0, count)
        values = self._at(as_finite_vector(y, 'y', len(self.independent))[None], wanted)
        expected = self.error.maximum[wanted]
        if off_diagonals:
            return matrices(values, count), matrices(expected, count)
        return values, expected

    def load_inertia(self, motion: Motion) -> FloatArray:
        """See `Estimator`."""
        return self._at(motion.y[None], slice(0, len(self.actuated)))

    def _at(self, y: FloatArray, wanted: slice) -> FloatArray:
        """Elements at a row (1, n_y), or `LimitError`."""
        scaled = self.region.scaled(y)
        if self.region.excess_scaled(scaled)[0] <= SLACK:
            values = self.elements.values(scaled, wanted)[0]
            if math.isfinite(values.sum()):
                return values
        raise self._outside(y)

    def _outside(self, y: FloatArray) -> LimitError:
        """Why there is no estimate at a row (1, n_y)."""
        excess = float(self.region.excess(y)[0])
        values = zip(self.independent, y[0], strict=True)
        pose = ', '.join(f'{name} = {value:.6g}' for name, value in values)
        if self.region.contains(y)[0]:
            return LimitError(f'{pose}: the loops close at no node of the grid around it')
        return LimitError(
            f'{pose} is outside the region that the {self.kind} estimator was fitted on, by '
            f'{excess:.3g} of its half width'
        )

    def estimate_batch(self, Y: npt.ArrayLike, off_diagonals: bool = False) -> Estimate:
        """See `Estimator`."""
        rows, count = _rows(Y, len(self.independent)), len(self.actuated)
        wanted = slice(None) if off_diagonals else slice(0, count)
        values = np.full((len(rows), len(self.error.maximum[wanted])), np.nan)
        inside = self.region.contains(rows)
        values[inside] = self.elements.values(self.region.scaled(rows[inside]), wanted)
        inside &= np.isfinite(values).all(axis=1)
        expected = self.error.maximum[wanted]
        if off_diagonals:
            values, expected = matrices(values, count), matrices(expected, count)
        return Estimate(values, expected, inside)


class ModelEstimator:
    """The model itself, whose expected error is zero.

    Parameters
    ----------
    mechanism : Mechanism
        Holds scratch memory: use it in one thread only.
    """

    kind = MODEL

    def __init__(self, mechanism: Mechanism):
        self._mechanism = mechanism
        self.actuated = mechanism.actuated

    def estimate(self, y: npt.ArrayLike, off_diagonals: bool = False) -> tuple[Any, Any]:
        """See `Estimator`."""
        matrix = self._mechanism.actuated_inertia(self._mechanism.solve(y))
        inertia = matrix if off_diagonals else np.diag(matrix).copy()
        return inertia, np.zeros(inertia.shape)

    def load_inertia(self, motion: Motion) -> FloatArray:
        """See `Estimator`."""
        return self._mechanism.actuated_inertia(motion).diagonal()

    def estimate_batch(self, Y: npt.ArrayLike, off_diagonals: bool = False) -> Estimate:
        """See `Estimator`."""
        count = len(self.actuated)
        rows = _rows(Y, len(self._mechanism.independent))
        values, inside = inertia_at(self._mechanism, rows)
        found = matrices(values, count) if off_diagonals else values[:, :count]
        return Estimate(found, np.zeros(found.shape[1:]), inside)


def matrices(values: FloatArray, count: int) -> FloatArray:
    """Symmetric matrices (..., n_u, n_u) from their elements (..., E)."""
    rows, columns = element_indices(count)
    found = np.empty((*values.shape[:-1], count, count))
    found[..., rows, columns] = found[..., columns, rows] = values
    return found


def why_not(estimator: Estimator, y: FloatArray) -> str:
    """Why there is no estimate at a configuration (n_y,)."""
    try:
        estimator.estimate(y)
    except MasticatorError as error:
        return str(error)
    return ''


def _rows(Y: npt.ArrayLike, count: int) -> FloatArray:
    rows = as_floats(Y, 'Y')
    if rows.ndim != 2 or rows.shape[1] != count:
        raise InputError(f'Y has shape {rows.shape}, needed is (N, {count})')
    return rows
