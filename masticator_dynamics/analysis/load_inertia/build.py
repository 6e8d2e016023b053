# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Building an estimator of any mechanism from its own load-inertia map."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from masticator_dynamics.analysis.load_inertia.estimator import (
    FITTED,
    FittedEstimator,
    MeasuredError,
)
from masticator_dynamics.analysis.load_inertia.fit import fit_circles, fit_ellipses
from masticator_dynamics.analysis.load_inertia.maps import GridMap, Region
from masticator_dynamics.analysis.load_inertia.sampling import (
    element_indices,
    inertia_elements,
    reachable_poses,
)
from masticator_dynamics.analysis.load_inertia.storage import fingerprint, rounded
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism

Stage = Callable[[str, int], contextlib.AbstractContextManager[Callable[[int], Any]]]
_CHUNK = 250  # poses between two reports of progress


@dataclasses.dataclass(frozen=True)
class BuildOptions:
    """How an estimator is built."""

    # Ranges of independent coordinates, rad or m; those not named use the URDF's.
    ranges: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    reached: int = 3000  # number of reachable poses that define the region
    planes: int = 40  # largest number of planes that cut the region's box
    samples: int = 1200  # number of poses to fit to
    held_out: int = 5000  # number of other poses, to measure the error at
    levels: int = 3  # number of ellipsoids around a centre
    families: int = 1  # number of sets of them, which are summed
    nodes: int = 7  # number of grid nodes along each coordinate
    seed: int = 0  # seed of all random numbers


@contextlib.contextmanager
def silent(label: str, steps: int) -> Iterator[Callable[[int], None]]:
    """A stage of the work without a progress display."""
    yield lambda done: None


def build_estimator(
    mechanism: Mechanism, kind: str, options: BuildOptions, stage: Stage = silent
) -> FittedEstimator:
    """Sample the workspace, fit, and measure the error at poses that were not fitted.

    Parameters
    ----------
    kind : str
        'ellipse', 'circle' or 'grid'.
    stage : callable
        Opens a stage of the work, given its name and number of steps; yields a function to call
        with the number of steps done.

    Raises
    ------
    InputError
        For an unknown kind or coordinate, or if hardly any pose can be reached.
    ActuationError
        If inertia in actuated space is not defined for the mechanism.
    """
    if kind not in FITTED:
        raise InputError(f'no kind {kind!r} of estimator; there are: {", ".join(FITTED)}')
    mechanism.actuated_inertia(mechanism.home)
    rng = np.random.default_rng(options.seed)
    with stage('reachable poses', options.reached) as done:
        poses = reachable_poses(mechanism, options.reached, options.ranges, rng, done)
    region = Region.around(poses, options.planes, rng)
    count = len(element_indices(len(mechanism.actuated))[0])
    if kind == 'grid':
        elements: Any = _grid(mechanism, region, options.nodes, stage)
    else:
        y, inertia = _sampled(mechanism, region.sample(options.samples, rng), 'samples', stage)
        points = region.scaled(y)
        if kind == 'circle':
            with stage('circles', count) as done:
                elements = fit_circles(points, inertia, done)
        else:
            with stage('ellipses', count) as done:
                elements = fit_ellipses(points, inertia, options.levels, options.families, done)
    unknown = np.zeros(count)
    built = {
        field.name: int(getattr(options, field.name))
        for field in dataclasses.fields(options)
        if field.name != 'ranges'
    }
    estimator = FittedEstimator(
        kind,
        mechanism.name,
        fingerprint(mechanism.description),
        mechanism.independent,
        mechanism.actuated,
        region,
        elements,
        MeasuredError(0, unknown, unknown, unknown),
        built,
    )
    estimator = rounded(estimator)
    held_out = region.sample(options.held_out, rng)
    measured = measure(estimator, *_sampled(mechanism, held_out, 'held-out poses', stage))
    closed = round(100.0 * measured.poses / options.held_out)
    return dataclasses.replace(estimator, error=measured, built=built | {'percent_closed': closed})


def measure(estimator: FittedEstimator, y: FloatArray, inertia: FloatArray) -> MeasuredError:
    """Error of an estimator at poses whose inertia is known; those without an estimate are ignored.

    Parameters
    ----------
    y : (N, n_y) array
        Poses, rad or m.
    inertia : (N, E) array
        Elements of the matrix as in `element_indices`, kg m^2 or kg.
    """
    points = estimator.region.scaled(y)
    error = np.abs(estimator.elements.values(points) - inertia)
    answered = np.isfinite(error).all(axis=1)
    if not answered.any():
        raise InputError('the estimator answers at none of the poses that it is measured at')
    return MeasuredError(
        int(answered.sum()),
        error[answered].max(axis=0),
        error[answered].mean(axis=0),
        np.abs(inertia).mean(axis=0),
    )


def _sampled(
    mechanism: Mechanism, poses: FloatArray, label: str, stage: Stage
) -> tuple[FloatArray, FloatArray]:
    """Those of the poses where the loops close, and the inertia there."""
    elements = _evaluated(mechanism, poses, label, stage)
    closed = np.isfinite(elements[:, 0])
    return poses[closed], elements[closed]


def _evaluated(mechanism: Mechanism, poses: FloatArray, label: str, stage: Stage) -> FloatArray:
    parts = []
    with stage(label, len(poses)) as done:
        for start in range(0, len(poses), _CHUNK):
            part = poses[start : start + _CHUNK]
            parts.append(inertia_elements(mechanism, part))
            done(len(part))
    return np.concatenate(parts)


def _grid(mechanism: Mechanism, region: Region, nodes: int, stage: Stage) -> GridMap:
    count = len(region.center)
    axes = [np.linspace(-1.0, 1.0, nodes)] * count
    scaled = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, count)
    poses = region.center + region.half_width * scaled
    elements = _evaluated(mechanism, poses, 'nodes', stage)
    return GridMap(elements.reshape(*[nodes] * count, -1))
