# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators of load inertia with a common interface: fitted ones and the model itself."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from masticator_dynamics.analysis.load_inertia.maps import (
    CircleMap,
    EllipseMap,
    GridMap,
    Map,
    Region,
)
from masticator_dynamics.analysis.load_inertia.sampling import element_indices, inertia_elements
from masticator_dynamics.engine.arrays import FloatArray, as_finite_vector, as_floats
from masticator_dynamics.engine.evaluation.results import Motion
from masticator_dynamics.errors import InputError, LimitError, MasticatorError, SingularityError
from masticator_dynamics.mechanism import Mechanism

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
    """Error of an estimator against the model, per element of the inertia matrix (E,)."""

    poses: int  # number of poses it was measured at, none of which was used in the fit
    maximum: FloatArray  # (E,), of the absolute error, kg m^2 or kg
    mean: FloatArray  # (E,), of the absolute error, kg m^2 or kg
    inertia: FloatArray  # (E,), mean size of the element itself, for comparison


class Estimator(abc.ABC):
    """Interface of all estimators.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    independent, actuated : tuple of str
        Names and order of inputs and outputs.
    """

    kind: str
    independent: tuple[str, ...]
    actuated: tuple[str, ...]

    @abc.abstractmethod
    def elements_at(self, rows: FloatArray, wanted: slice) -> tuple[FloatArray, FloatArray]:
        """Some elements (N, E) of the matrix at configurations (N, n_y), and their errors (E,).

        In the order of `element_indices`; NaN where there is no estimate.
        """

    @abc.abstractmethod
    def refusal(self, y: FloatArray) -> MasticatorError:
        """Why there is no estimate at a configuration (n_y,)."""

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
        row = as_finite_vector(y, 'y', len(self.independent))
        batch = self.estimate_batch(row[None], off_diagonals)
        if not batch.inside[0]:
            raise self.refusal(row)
        return batch.inertia[0], batch.expected_error

    def load_inertia(self, motion: Motion) -> FloatArray:
        """Load inertia (n_u,) at a configuration with closed loops, without its error."""
        inertia: FloatArray = self.estimate(motion.y)[0]
        return inertia

    def estimate_batch(self, Y: npt.ArrayLike, off_diagonals: bool = False) -> Estimate:
        """The same for configurations (N, n_y); tells for each row whether there is an estimate."""
        rows, count = as_floats(Y, 'Y'), len(self.actuated)
        if rows.ndim != 2 or rows.shape[1] != len(self.independent):
            raise InputError(f'Y has shape {rows.shape}, needed is (N, {len(self.independent)})')
        values, errors = self.elements_at(rows, slice(None if off_diagonals else count))
        inside = np.asarray(np.isfinite(values).all(axis=1))
        if off_diagonals:
            values, errors = matrices(values, count), matrices(errors, count)
        return Estimate(values, errors, inside)


@dataclasses.dataclass(frozen=True)
class FittedEstimator(Estimator):
    """Inertia from a fitted map; needs no mechanism."""

    kind: str  # one of `FITTED`
    mechanism: str  # what it was built for
    fingerprint: str  # of the description that it was built for
    independent: tuple[str, ...]  # names and order of inputs
    actuated: tuple[str, ...]  # names and order of outputs
    region: Region  # where it is valid
    # Elements of the matrix, in the order of `element_indices`, over scaled coordinates.
    elements: Map
    error: MeasuredError
    built: dict[str, int]  # how it was built: numbers of samples, levels and so on

    def elements_at(self, rows: FloatArray, wanted: slice) -> tuple[FloatArray, FloatArray]:
        """See `Estimator`."""
        errors = self.error.maximum[wanted]
        values = np.full((len(rows), len(errors)), np.nan)
        inside = self.region.contains(rows)
        values[inside] = self.elements.values(self.region.scaled(rows[inside]), wanted)
        return values, errors

    def refusal(self, y: FloatArray) -> LimitError:
        """See `Estimator`."""
        excess = float(self.region.excess(y[None])[0])
        pose = ', '.join(f'{n} = {v:.6g}' for n, v in zip(self.independent, y, strict=True))
        if self.region.contains(y[None])[0]:
            return LimitError(f'{pose}: the loops close at no node of the grid around it')
        return LimitError(
            f'{pose} is outside the region that the {self.kind} estimator was fitted on, by '
            f'{excess:.3g} of its half width'
        )


class ModelEstimator(Estimator):
    """The model itself, whose expected error is zero.

    Parameters
    ----------
    mechanism : Mechanism
        Holds scratch memory: use it in one thread only.
    """

    kind = MODEL

    def __init__(self, mechanism: Mechanism):
        self._mechanism = mechanism
        self.independent, self.actuated = mechanism.independent, mechanism.actuated

    def elements_at(self, rows: FloatArray, wanted: slice) -> tuple[FloatArray, FloatArray]:
        """See `Estimator`."""
        values = inertia_elements(self._mechanism, rows)[:, wanted]
        return values, np.zeros(values.shape[1])

    def refusal(self, y: FloatArray) -> MasticatorError:
        """See `Estimator`."""
        try:
            self._mechanism.actuated_inertia(self._mechanism.solve(y))
        except MasticatorError as error:
            return error
        return SingularityError('the inertia is not finite here')

    def load_inertia(self, motion: Motion) -> FloatArray:
        """See `Estimator`."""
        return self._mechanism.actuated_inertia(motion).diagonal()


def matrices(values: FloatArray, count: int) -> FloatArray:
    """Symmetric matrices (..., n_u, n_u) from their elements (..., E)."""
    rows, columns = element_indices(count)
    matrices = np.empty((*values.shape[:-1], count, count))
    matrices[..., rows, columns] = matrices[..., columns, rows] = values
    return matrices
