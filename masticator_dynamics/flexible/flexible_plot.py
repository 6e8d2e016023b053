# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A figure of runs in several drive modes, after S3's Figs. 7 to 12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from masticator_dynamics.analysis.pictures import BLACK, BLUE, GREEN, ORANGE, png_figure
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.flexible.flexible_run import FlexibleRun

_COLUMNS = 4
_RESOLUTION = 100  # dots per inch
_LOOK: dict[str, tuple[str, Any]] = {'a': (ORANGE, '-'), 'b': (BLUE, '-'), 'c': (GREEN, '--')}
_BEAMS = (
    ('tip_deflection', 'tip\n(mm)', 1e3, 'Deflection of the far end from the near tangent'),
    ('angle_error', 'angle error\n(mrad)', 1e3, 'Angle at the near joint, actual minus desired'),
    (
        'rate_error',
        'rate error\n(rad/s)',
        1.0,
        'Angular rate at the near joint, actual minus desired',
    ),
)


def plot_runs(stream: IO[bytes], runs: Mapping[str, FlexibleRun]) -> None:
    """Write a figure of runs along the same path, by drive mode, as PNG."""
    from matplotlib.lines import Line2D

    runs = dict(sorted(runs.items()))
    first = next(iter(runs.values()))
    rows = -(-len(first.deflections) // _COLUMNS)
    heights = [3.2, *[1.8 * rows] * len(_BEAMS)]
    size, fine = (16.0, sum(heights) + 1.2), {'font.size': 10, 'lines.linewidth': 0.9}
    with png_figure(stream, size, resolution=_RESOLUTION, settings=fine) as figure:
        parts = np.asarray(figure.subfigures(len(heights), 1, height_ratios=heights))
        _plot_end_point(parts[0].subplots(1, 4), runs)
        for part, (name, label, scale, title) in zip(parts[1:], _BEAMS, strict=True):
            axes = part.subplots(rows, _COLUMNS, sharex=True, sharey='row', squeeze=False)
            _plot_beams(axes, runs, name, label, scale)
            part.suptitle(title, x=0.01, ha='left', fontweight='bold', fontsize=12)
        handles = [Line2D([], [], color=_LOOK[mode][0], linestyle=_LOOK[mode][1]) for mode in runs]
        labels = [
            f'drive mode {mode}{", partial" if run.stopped else ""}' for mode, run in runs.items()
        ]
        figure.legend(handles, labels, loc='outside upper right', ncols=len(runs))
        mechanism = first.desired.mechanism
        figure.suptitle(
            f'{mechanism.name} with flexible links: rigid feedforward, open loop',
            fontsize=13, x=0.01, ha='left',
        )  # fmt: skip


def _plot_end_point(axes: Any, runs: Mapping[str, FlexibleRun]) -> None:
    """Path, error and rotation of the platform, and the efforts."""
    path, error, turn, effort = axes
    wanted = _platform(next(iter(runs.values())), desired=True)
    across, up = _plane(wanted)
    path.plot(wanted[:, across] * 1e3, wanted[:, up] * 1e3, color=BLACK, linewidth=2.5, alpha=0.35)
    for mode, run in runs.items():
        colour, line = _LOOK[mode]
        actual = _platform(run, desired=False)
        path.plot(actual[:, across] * 1e3, actual[:, up] * 1e3, line, color=colour)
        error.plot(run.time, run.end_point_error * 1e6, line, color=colour)
        for name in run.desired.mechanism.independent:
            joint = run.desired.mechanism.structure.tree.joints[
                run.desired.mechanism.tree_joints.index(name)
            ]
            if joint.unit == 'rad':
                turn.plot(run.time, run.error(name) * 1e6, line, color=colour)
        for column in run.desired.actuated.T:
            effort.plot(run.time, column, line, color=colour)
    path.set(title='Platform; grey: desired', xlabel=f'{"xyz"[across]} (mm)')
    path.set(ylabel=f'{"xyz"[up]} (mm)', aspect='equal', adjustable='datalim')
    error.set(title='End-point error', xlabel='time (s)', ylabel='distance (µm)')
    turn.set(title='Turn of the platform', xlabel='time (s)', ylabel='error (µrad)')
    effort.set(title='Efforts of the motors', xlabel='time (s)', ylabel='effort (N m)')


def _plot_beams(
    axes: Any, runs: Mapping[str, FlexibleRun], quantity: str, label: str, scale: float
) -> None:
    """One small panel per beam."""
    names = next(iter(runs.values())).deflections
    for index, panel in enumerate(axes.flat):
        if index >= len(names):
            panel.set_axis_off()
            continue
        for mode, run in runs.items():
            colour, line = _LOOK[mode]
            panel.plot(run.time, getattr(run, quantity)[:, index] * scale, line, color=colour)
        name = names[index].replace('_', ' ')
        panel.text(0.0, 1.02, name, transform=panel.transAxes, va='bottom')
    for panel in axes[:, 0]:
        panel.set_ylabel(label)
    for panel in axes[-1]:
        panel.set_xlabel('time (s)')


def _platform(run: FlexibleRun, *, desired: bool) -> FloatArray:
    """Origin of the platform (N, 3), m."""
    name = run.model.description.platform
    if not desired:
        return np.array([run.model.frame_pose(q, name)[0] for q in run.q])
    return frame_poses(run.desired.mechanism, run.desired.q, name)[0]


def _plane(points: FloatArray) -> tuple[int, int]:
    """The two axes along which the points spread most, in order."""
    widest = np.argsort(np.ptp(points, axis=0))[-2:]
    return int(widest.min()), int(widest.max())
