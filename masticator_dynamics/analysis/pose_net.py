# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Poses on a net over one or two coordinates."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.analysis.grid import Grid
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError


@dataclasses.dataclass(frozen=True)
class PoseNet:
    """Poses that lie on a net over one or two coordinates, so that maps can be drawn.

    Attributes
    ----------
    grid : Grid
        The coordinates, and where the others are.
    poses : array, shape (N, n_y)
        Row by row of the net.
    shape : tuple of int
        Rows and columns.
    round : bool
        Whether the last column is next to the first: rings of a disc.
    """

    grid: Grid
    poses: FloatArray
    shape: tuple[int, ...]
    round: bool = False

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
