# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A surveyed workspace in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from masticator_dynamics.analysis.grid import Grid
from masticator_dynamics.analysis.workspace_map import PoseClass, Workspace
from masticator_dynamics.commands.terminal import Row, section
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism


class WorkspaceSummary:
    """Results of a grid over a mechanism's workspace.

    Parameters
    ----------
    mechanism : Mechanism
    grid : Grid
        The poses.
    workspace : Workspace
        What they are like.
    """

    def __init__(self, mechanism: Mechanism, grid: Grid, workspace: Workspace):
        self._mechanism, self._grid, self._workspace = mechanism, grid, workspace
        joints = mechanism.structure.tree.joints
        self._units = [joints[j].unit for j in mechanism.tree_indices(mechanism.independent)]

    def text(self) -> str:
        """Sections with aligned columns."""
        sections = {
            self._mechanism.name: self._asked(),
            'Classes (part of the grid; most frequent cause)': self._classes(),
            'Usable poses': self._extent(self._workspace.usable),
            'Usable poses joined to home by usable steps of the grid': self._joined(),
            'Poses that close': self._extent(self._workspace.closed),
            'Conditioning of usable poses': self._conditioning(),
            'Nearest to a singularity, of all that close': self._nearest(),
        }
        found = ((title, list(rows)) for title, rows in sections.items())
        return '\n\n'.join(section(title, rows) for title, rows in found if rows)

    def _asked(self) -> Iterator[Row]:
        grid, survey = self._grid, self._workspace
        yield 'poses', str(len(survey))
        for column, values in zip(grid.columns, grid.values, strict=True):
            yield (
                survey.coordinates[column],
                (f'{len(values)} from {values[0]:.6g} to {values[-1]:.6g} {self._units[column]}'),
            )
        for column, name in enumerate(survey.coordinates):
            if column not in grid.columns:
                yield name, f'fixed at {grid.base[column]:.6g} {self._units[column]}'
        yield (
            'characteristic length',
            f'{survey.characteristic_length:.4g} m of sliding count as 1 rad of turning',
        )
        yield 'clearance', f'type 1 and type 2 of usable poses are at least {survey.clearance:g}'

    def _classes(self) -> Iterator[Row]:
        survey = self._workspace
        for pose_class in PoseClass:
            rows = survey.pose_class == pose_class
            if rows.any():
                causes, counts = np.unique(survey.cause[rows].astype(str), return_counts=True)
                cause = causes[counts.argmax()]
                yield pose_class.label, str(rows.sum()), f'{100.0 * rows.mean():.2f} %', cause

    def _extent(self, rows: npt.NDArray[np.bool_]) -> Iterator[Row]:
        survey = self._workspace
        if not rows.any():
            return
        yield 'part of the grid', f'{100.0 * rows.mean():.2f} %', ''
        for column, values in zip(self._grid.columns, self._grid.values, strict=True):
            reached = survey.y[rows, column]
            yield (
                survey.coordinates[column],
                f'[{reached.min():.6g}, {reached.max():.6g}] {self._units[column]}',
                f'step {values[1] - values[0]:.3g}',
            )

    def _joined(self) -> Iterator[Row]:
        usable = self._workspace.usable
        joined = self._grid.connected(usable)
        return self._extent(joined) if (joined != usable).any() else iter(())

    def _conditioning(self) -> Iterator[Row]:
        survey = self._workspace
        for name, values, best in (
            ('condition number of actuation', survey.condition_actuation, np.nanargmin),
            ('condition number of loops', survey.condition_loops, np.nanargmin),
            ('room in the ranges', survey.room, np.nanargmax),
        ):
            rows = survey.usable & np.isfinite(values)
            if rows.any():
                shown = np.where(rows, values, np.nan)
                worst = np.nanargmax if best is np.nanargmin else np.nanargmin
                yield self._at(f'best {name}', values, int(best(shown)))
                yield self._at(f'worst {name}', values, int(worst(shown)))

    def _nearest(self) -> Iterator[Row]:
        survey = self._workspace
        if not survey.closed.any():
            return
        first, second = int(np.nanargmin(survey.type_1)), int(np.nanargmin(survey.type_2))
        yield (*self._at('type 1', survey.type_1, first), str(survey.type_1_joint[first]))
        yield (*self._at('type 2', survey.type_2, second), '')
        smallest = int(np.nanargmin(survey.smallest_singular_value))
        row = self._at('smallest singular value', survey.smallest_singular_value, smallest)
        yield (*row, '')

    def _at(self, name: str, values: FloatArray, index: int) -> tuple[str, str, str]:
        survey, value = self._workspace, values[index]
        pose = zip(survey.coordinates, survey.y[index], self._units, strict=True)
        return (
            name,
            f'{value if abs(value) > 1e-12 else 0.0:.4g}',  # an end of a range, up to rounding
            'at ' + ', '.join(f'{name} = {value:.4g} {unit}' for name, value, unit in pose),
        )
