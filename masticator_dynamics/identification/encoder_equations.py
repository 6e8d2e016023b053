# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Readings of encoders as equations for parameters, the poses themselves being unknown.

Readings of one pose depend on its independent coordinates and on the parameters. What is left of
the readings across the tangent of the mechanism does not depend on the coordinates, to first
order: with more encoders than freedoms it is a measurement of the parameters alone (variable
projection; Golub and Pereyra, Inverse Problems 19, 2003). A pose that is known by other means
turns all its readings into measurements. Other parameters are not known exactly, either.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.parameter_batch import ParameterBatch
from masticator_dynamics.engine.evaluation.with_parameters import variation_of
from masticator_dynamics.engine.parameters import geometric, quantities
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism

_TOGETHER = 2048  # poses whose derivatives are held at once
_CLUSTERS = 50  # parts of a recording whose errors are taken as independent of one another


@dataclasses.dataclass(frozen=True)
class Poses:
    """Readings of the encoders in some poses."""

    readings: FloatArray  # (N, n_u): rad or m, in order of time
    y: FloatArray  # (N, n_y): independent positions that fit them
    # (N, n_y), and (n_y,), or None: what is known of these by other means, and its standard
    # deviation.
    known: FloatArray | None = None
    known_sd: FloatArray | None = None


@dataclasses.dataclass(frozen=True)
class LinearisedEquations:
    """Linearised equations of many readings, each of unit variance, summed up."""

    information: FloatArray  # (n_p, n_p), of the parameters
    slope: FloatArray  # (n_p,), half the negative gradient of the squared errors
    # (n_p, n_p), what the information would be if parts of the recording had the errors that they
    # show.
    scatter: FloatArray
    # (N, redundant), what is left, in standard deviations; NaN where loops do not close.
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

    def with_poses(self, values: FloatArray, poses: Poses) -> Poses:
        """The same readings with the poses that fit them best for parameters (n_p,)."""
        y = poses.y.copy()
        for _ in range(3):
            evaluated = self._batch.positions(values[None], y, derivatives=False)
            valid = evaluated.valid[0]
            error = (poses.readings - evaluated.position[0]) / self.noise
            jacobian = evaluated.by_y[0] / self.noise[:, None]
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

    def linearised(self, values: FloatArray, poses: Poses) -> LinearisedEquations:
        """Equations about parameters (n_p,) at poses that fit them."""
        count = len(values)
        information, pulls, errors = np.zeros((count, count)), [], []
        for first in range(0, len(poses.y), _TOGETHER):
            rows, errors_across = self._across(values, poses, slice(first, first + _TOGETHER))
            errors.append(errors_across)
            good = np.isfinite(errors_across).all(axis=1)
            rows, errors_across = rows[good], errors_across[good]
            flat = rows.reshape(-1, count)
            information += flat.T @ flat
            pulls.append((rows.swapaxes(-1, -2) @ errors_across[..., None])[..., 0])
        pull = np.concatenate([np.zeros((0, count)), *pulls])
        if not len(pull):
            raise InputError('no pose that fits the readings closes the loops')
        parts = np.unique(np.linspace(0, len(pull), _CLUSTERS, endpoint=False).astype(int))
        by_part = np.add.reduceat(pull, parts, axis=0)
        return LinearisedEquations(
            information, pull.sum(axis=0), by_part.T @ by_part, np.concatenate(errors)
        )

    def _across(
        self, values: FloatArray, poses: Poses, part: slice, derivatives: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Rows (N, redundant, n_p), empty without derivatives, and what is left (N, redundant)."""
        evaluated = self._batch.positions(values[None], poses.y[part], derivatives=derivatives)
        jacobian = evaluated.by_y[0] / self.noise[:, None]
        error = (poses.readings[part] - evaluated.position[0]) / self.noise
        slopes = np.zeros((*error.shape, 0))
        if evaluated.by_parameters is not None:
            slopes = evaluated.by_parameters[0] / self.noise[:, None]
        if poses.known is not None and poses.known_sd is not None:
            off = poses.known[part] - poses.y[part]
            jacobian, error = _with_prior(jacobian, error, off, poses.known_sd)
            none = np.zeros((*off.shape, slopes.shape[-1]))
            slopes = np.concatenate([slopes, none], axis=1)
        across = np.linalg.qr(jacobian, mode='complete')[0][..., jacobian.shape[-1] :]
        across = across.swapaxes(-1, -2)
        errors_across = (across @ error[..., None])[..., 0]
        errors_across[~evaluated.valid[0]] = np.nan
        return across @ slopes, errors_across


def _with_prior(
    jacobian: FloatArray, error: FloatArray, off: FloatArray, sd: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Equations that say what is known of the poses, below those of the readings."""
    prior = np.broadcast_to(np.diag(1.0 / sd), (len(jacobian), len(sd), len(sd)))
    return np.concatenate([jacobian, prior], axis=1), np.concatenate([error, off / sd], axis=1)


# Standard deviations of what is asked for, before anything is known, and units: of zeros, and of
# dimensions (ratios are components of normals), by what they measure.
_ZEROS = {'angle': (0.5, 'rad'), 'length': (0.05, 'm')}
_DIMENSIONS = {'angle': (0.02, 'rad'), 'ratio': (0.02, ''), 'length': (1e-3, 'm')}


class EncoderUnknowns:
    """Parameters that were asked for, and dimensions that are known to a tolerance.

    Parameters
    ----------
    mechanism : Mechanism
    names : sequence of str
        What is asked for; none: the zeros of all actuated joints.
    tolerance : float
        Standard deviation of all other dimensions, m; 0: they are exact.

    Attributes
    ----------
    mechanism : Mechanism
    asked, names : tuples of str
        What was asked for, and all that is unknown, which begins with it.
    start, spread : arrays, shape (n_p,)
        As they are known, and their standard deviations.
    units : tuple of str
        Of what was asked for.

    Raises
    ------
    InputError
        For names that are no zeros or dimensions.
    """

    def __init__(self, mechanism: Mechanism, names: Sequence[str], tolerance: float):
        self.mechanism = mechanism
        self.asked = tuple(names) or tuple(f'{joint}.zero' for joint in mechanism.actuated)
        if not 0.0 <= tolerance < np.inf:
            raise InputError(f'the tolerance is {tolerance} m; 0 or more is needed')
        others = dimensions(mechanism) if tolerance else ()
        others = _variable(mechanism, [name for name in others if name not in self.asked])
        self.names = (*self.asked, *others)
        self.batch = mechanism.parameter_batch(self.names)
        priors = [self._prior(name) for name in self.asked]
        self.units = tuple(unit for _, unit in priors)
        self.start = self.batch.values
        self.spread = np.array([*(sd for sd, _ in priors), *[tolerance] * len(others)])

    def _prior(self, name: str) -> tuple[float, str]:
        """Standard deviation and unit of something asked for."""
        description = self.mechanism.description
        if name in geometric(description):
            quantity, *_ = quantities(description, name)
            return (_ZEROS if name.endswith('.zero') else _DIMENSIONS)[quantity]
        raise InputError(f'{name} is neither a zero nor a dimension: encoders do not see it')

    def covariance(self, equations: Sequence[LinearisedEquations]) -> FloatArray:
        """Covariance (n_p, n_p) of all unknowns, with what is known beforehand.

        Errors that persist tell less than independent ones of the same size: standard deviations
        are the larger of those for independent noise and those by the errors' own scatter
        (Huber's sandwich over parts of the recording).
        """
        scale = np.outer(self.spread, self.spread)
        prior = np.eye(len(self.spread))
        information = sum((e.information for e in equations), np.zeros_like(prior)) * scale + prior
        scatter = sum((e.scatter for e in equations), np.zeros_like(prior)) * scale + prior
        # No eigenvalue is below what is known beforehand, but by the rounding of exact readings.
        values, axes = np.linalg.eigh(information)
        plain = (axes / np.maximum(values, 1.0)) @ axes.T
        robust = plain @ scatter @ plain
        grown = np.sqrt(np.maximum(np.diag(robust) / np.diag(plain), 1.0))
        return np.asarray(plain * scale * np.outer(grown, grown))


def _variable(mechanism: Mechanism, names: Sequence[str]) -> tuple[str, ...]:
    """Those that can differ by themselves: none across a planar loop, which could not close."""

    def varies(*some: str) -> bool:
        try:
            variation_of(mechanism, some)
        except InputError:
            return False
        return True

    if varies(*names):
        return tuple(names)
    return tuple(name for name in names if varies(name))


def dimensions(mechanism: Mechanism) -> tuple[str, ...]:
    """Coordinates of joints and frames of the loops, and lengths and offsets, m.

    Frames of links without mass are no parts, and have no tolerance; those of the base have.
    """
    description = mechanism.description
    joints = description.tree.joints
    parts = {
        link
        for link, inertia in description.tree.links.items()
        if inertia.mass > 0.0 or inertia.about_center.any()
    }
    parts |= {joint.parent for joint in joints} - {joint.child for joint in joints}
    used = {frame for closure in description.closures for frame in closure.frames or ()}
    used |= {contact.frame for contact in description.contacts}
    moving = set(mechanism.tree_joints)
    names = [
        f'{joint.name}.{axis}'
        for joint in joints
        if joint.parent in parts and (joint.name in moving or joint.child in used)
        for axis in 'xyz'
    ]
    names += [f'{c.name}.{of}' for c in description.closures for of in c.kind.dimensions]
    names += [f'{contact.name}.offset' for contact in description.contacts]
    parameters = mechanism.parameters(geometry=True)
    return tuple(n for n in names if n in parameters and 'length' in quantities(description, n))
