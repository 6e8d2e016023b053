# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator workspace``: where a mechanism may go, as data, plots and text."""

from __future__ import annotations

from collections.abc import Sequence

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
from masticator_dynamics.commands.grid_options import (
    axis_option,
    check_matplotlib,
    check_targets,
    fix_option,
    plot_option,
    write_plot,
)
from masticator_dynamics.commands.options import actuators_option, mechanism_argument
from masticator_dynamics.commands.terminal import chunks
from masticator_dynamics.commands.workspace_summary import WorkspaceSummary
from masticator_dynamics.files.tables import STANDARD_STREAM, write_table
from masticator_dynamics.mechanism import Mechanism

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
@click.option('--output', 'output_file', metavar='FILE', help='Data to write (CSV).')
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
