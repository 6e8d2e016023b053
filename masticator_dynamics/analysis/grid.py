# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grids of poses: a net over one or two independent coordinates, the others fixed."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from masticator_dynamics.description.urdf import FARTHEST
from masticator_dynamics.engine.arrays import FloatArray, as_number
from masticator_dynamics.errors import InputError

if TYPE_CHECKING:
    from masticator_dynamics.mechanism import Mechanism


MOST_POINTS = 2_000_000  # some 600 MB of results
USUAL_POINTS = 120_000  # seconds of work
USUAL_STEPS = 201  # more would not show in a picture
MOST_SLICES, SLICE_STEPS = 6, 61


@dataclasses.dataclass(frozen=True)
class Axis:
    """An independent coordinate and its values: ``steps`` from ``lower`` to ``upper``.

    None means the URDF's limit, or as many steps as make a grid of usual size.
    """

    coordinate: str
    lower: float | None = None
    upper: float | None = None
    steps: int | None = None


@dataclasses.dataclass(frozen=True)
class Grid:
    """Poses over some coordinates."""

    columns: tuple[int, ...]  # which independent coordinates are on the grid, in its order
    values: tuple[FloatArray, ...]  # their values, increasing, rad or m
    # (n_y,), the fixed coordinates' values; for those on the grid, the value that slices go
    # through.
    base: FloatArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Steps of each coordinate on the grid."""
        return tuple(len(values) for values in self.values)

    def poses(self) -> FloatArray:
        """All poses (N, n_y), the last coordinate of the grid changing fastest."""
        poses = np.tile(self.base, (math.prod(self.shape), 1))
        mesh = np.meshgrid(*self.values, indexing='ij')
        for column, values in zip(self.columns, mesh, strict=True):
            poses[:, column] = values.ravel()
        return poses

    def connected(self, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Poses (N,) that steps of the grid, one coordinate at a time, join to ``base``.

        Through allowed poses (N,) only; none when the pose next to ``base`` is not allowed.
        """
        start = tuple(
            int(np.abs(values - self.base[column]).argmin())
            for column, values in zip(self.columns, self.values, strict=True)
        )
        regions, _ = ndimage.label(allowed.reshape(self.shape))
        joined = (regions == regions[start]) & (regions[start] > 0)
        return np.asarray(joined.ravel())

    def slices(self, steps: int = SLICE_STEPS) -> list[Grid]:
        """Grids over pairs of coordinates through ``base``; of more than two, finer ones.

        Of more than six pairs, those over two coordinates of similar range come first.
        """
        if len(self.columns) <= 2:
            return [self]
        pairs = list(itertools.combinations(range(len(self.columns)), 2))
        widths = [np.log(np.ptp(values)) for values in self.values]
        if len(pairs) > MOST_SLICES:
            pairs.sort(key=lambda pair: abs(widths[pair[0]] - widths[pair[1]]))
        return [
            Grid(
                tuple(self.columns[k] for k in pair),
                tuple(np.linspace(self.values[k][0], self.values[k][-1], steps) for k in pair),
                self.base,
            )
            for pair in pairs[:MOST_SLICES]
        ]


def make_grid(
    mechanism: Mechanism, axes: Sequence[Axis] = (), fixed: Mapping[str, float] | None = None
) -> Grid:
    """A grid over the coordinates of ``axes``; without any, over all that are not fixed.

    Coordinates that are neither on the grid nor fixed remain at home.

    Parameters
    ----------
    mechanism : Mechanism
        Its independent coordinates and their limits are taken.
    axes : sequence of Axis
        What varies.
    fixed : mapping, optional
        Values of coordinates that do not, m and rad.

    Raises
    ------
    InputError
        For an unknown coordinate, one named twice, a range that is empty, inverted or infinite,
        too few steps or too many points.
    """
    fixed = dict(fixed or {})
    named = [*(axis.coordinate for axis in axes), *fixed]
    for name in named:
        if name not in mechanism.independent:
            coordinates = ', '.join(mechanism.independent)
            raise InputError(f'no independent coordinate {name!r}; there are: {coordinates}')
        if named.count(name) > 1:
            raise InputError(f'coordinate {name!r} is given twice')
    axes = axes or [Axis(name) for name in mechanism.independent if name not in fixed]
    if not axes:
        raise InputError('every coordinate is fixed: there is nothing to survey')
    steps = _usual_steps(len(axes))
    complete = [_completed(mechanism, axis, steps) for axis in axes]
    points = math.prod(axis[2] for axis in complete)
    if points > MOST_POINTS:
        raise InputError(f'the grid has {points} points, at most {MOST_POINTS} are computed')
    base = mechanism.home.y.copy()
    for name, value in fixed.items():
        base[mechanism.independent.index(name)] = as_number(value, name)
    columns = tuple(mechanism.independent.index(axis.coordinate) for axis in axes)
    return Grid(columns, tuple(np.linspace(*axis) for axis in complete), base)


def _usual_steps(count: int) -> int:
    """Steps per coordinate; odd, so that the middle is among them."""
    steps = min(USUAL_STEPS, int(USUAL_POINTS ** (1.0 / count)))
    return max(3, steps - 1 + steps % 2)


def _completed(mechanism: Mechanism, axis: Axis, steps: int) -> tuple[float, float, int]:
    """Lower and upper end and steps of an axis, checked."""
    joint = mechanism.structure.tree.joints[mechanism.tree_indices([axis.coordinate])[0]]
    lower = joint.lower if axis.lower is None else axis.lower
    upper = joint.upper if axis.upper is None else axis.upper
    steps = steps if axis.steps is None else axis.steps
    name = axis.coordinate
    if not (abs(lower) <= FARTHEST and abs(upper) <= FARTHEST):
        raise InputError(
            f'{name} needs a finite range, at most {FARTHEST:g} {joint.unit} from 0, not '
            f'[{lower:g}, {upper:g}] {joint.unit}: give it one (--axis {name}:LOW:HIGH)'
        )
    if lower > upper:
        raise InputError(
            f'{name}: the range is inverted: {lower:g} {joint.unit} is above {upper:g} {joint.unit}'
        )
    if lower == upper:
        raise InputError(f'{name}: the range is empty: both ends are {lower:g} {joint.unit}')
    if steps < 2:
        raise InputError(f'{name}: {steps} steps; needed are at least 2')
    return lower, upper, steps


@dataclasses.dataclass(frozen=True)
class PoseNet:
    """Poses that lie on a net over one or two coordinates, so that maps can be drawn."""

    grid: Grid  # the coordinates, and where the others are
    poses: FloatArray  # (N, n_y), row by row of the net
    shape: tuple[int, ...]  # rows and columns
    round: bool = False  # whether the last column is next to the first: rings of a disc

    @classmethod
    def over(cls, grid: Grid) -> PoseNet:
        """All poses of a grid."""
        return cls(grid, grid.poses(), grid.shape)

    @classmethod
    def disc(cls, grid: Grid) -> PoseNet:
        """Rings and spokes in the ellipse inside a grid over two coordinates.

        As many radii, centre and rim included, and angles as the grid has steps; even steps of
        both, so that the middle is sampled more densely, as S4's global means seem to be.

        Raises
        ------
        InputError
            For a grid over another number of coordinates.
        """
        if len(grid.columns) != 2:
            raise InputError(f'a disc is over two coordinates, not {len(grid.columns)}')
        rings, spokes = grid.shape
        radius = np.repeat(np.linspace(0.0, 1.0, rings), spokes)
        angle = np.tile(2.0 * np.pi * np.arange(spokes) / spokes, rings)
        poses = np.tile(grid.base, (rings * spokes, 1))
        for column, values, part in zip(
            grid.columns, grid.values, (np.cos(angle), np.sin(angle)), strict=True
        ):
            middle, half = (values[0] + values[-1]) / 2.0, (values[-1] - values[0]) / 2.0
            poses[:, column] = middle + half * radius * part
        return cls(grid, poses, (rings, spokes), round=True)

    def table(self, values: FloatArray) -> FloatArray:
        """Values (N,) as rows and columns to draw; for a disc the first column is repeated."""
        rows = values.reshape(self.shape)
        return np.hstack([rows, rows[:, :1]]) if self.round else rows
