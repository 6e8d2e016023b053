# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Readings of encoders as equations for parameters, the poses themselves being unknown.

Readings of one pose depend on its independent coordinates and on the parameters. What is left of
the readings across the tangent of the mechanism does not depend on the coordinates, to first
order: with more encoders than freedoms it is a measurement of the parameters alone (variable
projection; Golub and Pereyra, Inverse Problems 19, 2003). A pose that is known by other means
turns all its readings into measurements.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.parameter_batch import ParameterBatch

_TOGETHER = 2048  # poses whose derivatives are held at once
_CLUSTERS = 50  # parts of a recording whose errors are taken as independent of one another


@dataclasses.dataclass(frozen=True)
class Poses:
    """Readings of the encoders in some poses.

    Attributes
    ----------
    readings : array, shape (N, n_u)
        rad or m, in order of time.
    y : array, shape (N, n_y)
        Independent positions that fit them.
    known, known_sd : arrays, shape (N, n_y) and (n_y,), or None
        What is known of these by other means, and its standard deviation.
    """

    readings: FloatArray
    y: FloatArray
    known: FloatArray | None = None
    known_sd: FloatArray | None = None


@dataclasses.dataclass(frozen=True)
class Equations:
    """Linearised equations of many readings, each of unit variance, summed up.

    Attributes
    ----------
    information : array, shape (n_p, n_p)
        Of the parameters.
    slope : array, shape (n_p,)
        Half the negative gradient of the squared errors.
    scatter : array, shape (n_p, n_p)
        What the information would be if parts of the recording had the errors that they show.
    errors : array, shape (N, redundant)
        What is left, in standard deviations; NaN where loops do not close.
    """

    information: FloatArray
    slope: FloatArray
    scatter: FloatArray
    errors: FloatArray


class EncoderEquations:
    """Equations of readings for the parameters of a batch.

    Parameters
    ----------
    batch : ParameterBatch
    noise : array, shape (n_u,)
        Standard deviation of one reading, rad or m.
    """

    def __init__(self, batch: ParameterBatch, noise: npt.ArrayLike):
        self._batch, self.noise = batch, np.asarray(noise, dtype=float)

    def with_poses(self, values: FloatArray, poses: Poses, steps: int = 3) -> Poses:
        """The same readings with the poses that fit them best for parameters (n_p,)."""
        y = poses.y.copy()
        for _ in range(steps):
            found = self._batch.positions(values[None], y, derivatives=False)
            valid = found.valid[0]
            error = (poses.readings - found.position[0]) / self.noise
            jacobian = found.by_y[0] / self.noise[:, None]
            if poses.known is not None and poses.known_sd is not None:
                off = poses.known - y
                jacobian, error = _with_prior(jacobian, error, off, poses.known_sd)
            step = (np.linalg.pinv(jacobian[valid]) @ error[valid][..., None])[..., 0]
            y[valid] += step
        return dataclasses.replace(poses, y=y)

    def errors(self, values: FloatArray, poses: Poses) -> FloatArray:
        """What is left (N, redundant) at poses that fit; NaN where loops do not close."""
        return self._across(values, poses, slice(None), False)[1]

    def cost(self, values: FloatArray, poses: Poses) -> float:
        """Sum of their squares; infinite if no more than half of the poses close."""
        errors = self.errors(values, poses)
        good = np.isfinite(errors).all(axis=1)
        if not good.mean() > 0.5:
            return float('inf')
        return float((errors[good] ** 2).sum() / good.mean())

    def linearised(self, values: FloatArray, poses: Poses) -> Equations:
        """Equations about parameters (n_p,) at poses that fit them."""
        count = len(values)
        information, pulls, errors = np.zeros((count, count)), [], []
        for first in range(0, len(poses.y), _TOGETHER):
            rows, left = self._across(values, poses, slice(first, first + _TOGETHER))
            errors.append(left)
            good = np.isfinite(left).all(axis=1)
            rows, left = rows[good], left[good]
            flat = rows.reshape(-1, count)
            information += flat.T @ flat
            pulls.append((rows.swapaxes(-1, -2) @ left[..., None])[..., 0])
        pull = np.concatenate(pulls)
        parts = np.unique(np.linspace(0, len(pull), _CLUSTERS, endpoint=False).astype(int))
        by_part = np.add.reduceat(pull, parts, axis=0)
        return Equations(information, pull.sum(axis=0), by_part.T @ by_part, np.concatenate(errors))

    def _across(
        self, values: FloatArray, poses: Poses, part: slice, derivatives: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Rows (N, redundant, n_p), empty without derivatives, and what is left (N, redundant)."""
        found = self._batch.positions(values[None], poses.y[part], derivatives=derivatives)
        jacobian = found.by_y[0] / self.noise[:, None]
        error = (poses.readings[part] - found.position[0]) / self.noise
        slopes = np.zeros((*error.shape, 0))
        if found.by_parameters is not None:
            slopes = found.by_parameters[0] / self.noise[:, None]
        if poses.known is not None and poses.known_sd is not None:
            off = poses.known[part] - poses.y[part]
            jacobian, error = _with_prior(jacobian, error, off, poses.known_sd)
            none = np.zeros((*off.shape, slopes.shape[-1]))
            slopes = np.concatenate([slopes, none], axis=1)
        across = np.linalg.qr(jacobian, mode='complete')[0][..., jacobian.shape[-1] :]
        across = across.swapaxes(-1, -2)
        left = (across @ error[..., None])[..., 0]
        left[~found.valid[0]] = np.nan
        return across @ slopes, left


def _with_prior(
    jacobian: FloatArray, error: FloatArray, off: FloatArray, sd: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Equations that say what is known of the poses, below those of the readings."""
    prior = np.broadcast_to(np.diag(1.0 / sd), (len(jacobian), len(sd), len(sd)))
    return np.concatenate([jacobian, prior], axis=1), np.concatenate([error, off / sd], axis=1)
