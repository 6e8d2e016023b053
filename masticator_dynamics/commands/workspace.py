# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator workspace``: where a mechanism may go, as data, plots and a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
import numpy as np
import numpy.typing as npt

from masticator_dynamics.analysis.grid import Axis, Grid, make_grid
from masticator_dynamics.analysis.workspace_map import (
    CLEARANCE,
    PoseClass,
    Workspace,
    WorkspaceSurveyor,
)
from masticator_dynamics.analysis.workspace_plot import WorkspacePlot
from masticator_dynamics.commands.options import (
    actuators_option,
    axis_option,
    check_matplotlib,
    check_targets,
    fix_option,
    mechanism_argument,
    plot_option,
    write_plot,
)
from masticator_dynamics.commands.terminal import Row, chunks, section
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.tables import STANDARD_STREAM, write_table
from masticator_dynamics.mechanism import Mechanism


class WorkspaceSummary:
    """Results of a grid over a mechanism's workspace."""

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
        titled_rows = ((title, list(rows)) for title, rows in sections.items())
        return '\n\n'.join(section(title, rows) for title, rows in titled_rows if rows)

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


CHUNK = 4000  # poses; some tenths of a second, and some 10 MB
# Fields of the survey and columns of the file; the poses come first.
COLUMNS = (
    'cause', 'amount', 'room', 'nearest_range', 'type_1', 'type_1_joint', 'type_2',
    'condition_loops', 'condition_actuation', 'smallest_singular_value', 'largest_singular_value',
)  # fmt: skip


@click.command()
@mechanism_argument
@axis_option
@fix_option
@actuators_option
@click.option(
    '--characteristic-length', 'length', type=float, metavar='M',
    help='Sliding that counts as much as 1 rad of turning, m. Default: what moves the actuators '
    'as much, at home.',
)  # fmt: skip
@click.option(
    '--clearance', type=float, metavar='C', default=CLEARANCE, show_default=True,
    help='Least distance from singularities, type_1 and type_2, of a usable pose, 0 to 1.',
)  # fmt: skip
@click.option('-o', '--output', 'output_file', metavar='FILE', help='Data to write (CSV).')
@plot_option
def workspace(
    mechanism: str,
    axes: tuple[Axis, ...],
    fixed: dict[str, float],
    actuators: Sequence[str] | None,
    length: float | None,
    clearance: float,
    output_file: str | None,
    plot_file: str | None,
) -> None:
    """Where a mechanism can go: reach, ranges, singularities, conditioning.

    Poses on a grid are classified: usable; or out_of_reach (a loop cannot close), other_branch,
    singular, out_of_range (of a joint or socket), near_type_2 (actuators about to lose control),
    across_type_2 (reached only through such a singularity), near_type_1 (a limb nearly stretched
    or folded); with the cause, the amount and the margins. A summary goes to standard output.
    """
    check_targets(output_file, plot_file, mechanism)
    loaded = Mechanism.load(mechanism, actuators=actuators)
    grid = make_grid(loaded, axes, fixed)
    surveyor = WorkspaceSurveyor(loaded, length, clearance)
    survey = _survey(surveyor, grid, 'workspace')
    if output_file is not None:
        _write_data(output_file, survey, grid.connected(survey.usable))
    streams = (output_file, plot_file)
    click.echo(WorkspaceSummary(loaded, grid, survey).text(), err=STANDARD_STREAM in streams)
    if plot_file is not None:
        check_matplotlib()
        slices = [
            (part, survey if part is grid else _survey(surveyor, part, 'slice'))
            for part in grid.slices()
        ]
        write_plot(plot_file, WorkspacePlot(loaded, slices).write)


def _survey(surveyor: WorkspaceSurveyor, grid: Grid, label: str) -> Workspace:
    poses = grid.poses()
    parts = chunks(len(poses), CHUNK, label)
    return Workspace.joined([surveyor.survey(poses[part]) for part in parts])


def _write_data(target: str, survey: Workspace, connected: npt.NDArray[np.bool_]) -> None:
    """Write one row per pose; cells are empty where there is nothing to report."""
    labels = np.array([pose_class.label for pose_class in PoseClass], dtype=object)
    columns = [*survey.y.T, labels[survey.pose_class], connected.astype(int)]
    columns += [getattr(survey, name) for name in COLUMNS]
    cells = np.column_stack([_cells(column) for column in columns])
    write_table(target, [*survey.coordinates, 'class', 'connected', *COLUMNS], cells)


def _cells(column: npt.NDArray[np.generic]) -> npt.NDArray[np.object_]:
    cells = column.astype(object)
    if column.dtype.kind == 'f':
        cells[np.isnan(column.astype(float))] = ''
    return cells
