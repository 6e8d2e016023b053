# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of runs: paths, motion, bite force, torques; contact forces, or errors and timing."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from masticator_dynamics.analysis.pictures import (
    BLACK,
    BLUE,
    ORANGE,
    RED,
    legend_beside,
    plot_lines,
    png_figure,
)
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.joint_series import ForceSeries, JointSeries
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.acceptance.passes import Pass, Run
from masticator_dynamics.robot.acceptance.summary import jitter
from masticator_dynamics.robot.recording import topics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (12.8, 9.6)  # inches: 1600 x 1200 dots


def plot_run(file: pathlib.Path, run: Run) -> None:
    """Write the figure of a run as PNG."""
    forward = run.forward
    panels, title = _panels(forward.mechanism), 'received over ROS 2'
    heights = tuple(panels.values())
    if run.closed_loop:
        title = f'food {run.food}: simulated drives at {run.rate:g} Hz, in real time'
        heights = (1.3, 0.8, 1.5, 0.8, 0.9)
    with png_figure(file, SIZE) as figure:
        left, right = np.asarray(figure.subfigures(1, 2, width_ratios=(1.0, 2.3)))
        axes = right.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        paths = left.subplots(2, 1)
        if run.closed_loop:
            _plot_closed_loop(paths, axes, run)
        else:
            _plot_node_alone(paths, dict(zip(panels, axes, strict=True)), forward)
        # As a dentist sees the patient: the patient's left is on the right.
        paths[1].invert_xaxis()
        axes[-1].set_xlabel('time from the start of the motion (s)')
        axes[-1].set_xlim(0.0, forward.script.duration)
        right.align_ylabels(axes)
        separator = ', ' if run.closed_loop else ': '
        about = f'{forward.mechanism.name}, {forward.script.source}'
        figure.suptitle(f'{about}{separator}{title}', fontsize=13)


# With the dynamics node alone


def _panels(mechanism: Mechanism) -> dict[str, float]:
    """Heights of the panels over time: of those that a mechanism has lines for."""
    units = {mechanism.structure.tree.joints[j].unit for j in mechanism.independent_rows}
    heights = {'m': 1.0, 'rad': 1.0, 'force': 0.8, 'effort': 1.7, 'contact': 1.1}
    shown = {*units, 'force', 'effort', *(['contact'] if mechanism.contacts else [])}
    return {name: height for name, height in heights.items() if name in shown}


def _plot_node_alone(paths: Sequence[Axes], axes: Mapping[str, Axes], forward: Pass) -> None:
    mechanism = forward.mechanism
    _plot_displacement(paths, forward)
    _plot_motion(axes, mechanism, forward.record[topics.JOINT_STATES])
    _plot_bite(axes['force'], forward.record.bite, 'Force')
    _plot_efforts(axes['effort'], mechanism, forward.state)
    units = ' or '.join(sorted(set(mechanism.effort_units), reverse=True))
    axes['effort'].set(title='Motor efforts', ylabel=f'effort\n({units})')
    if mechanism.contacts:
        _plot_contacts(axes['contact'], forward)


def _plot_contacts(panel: Axes, forward: Pass) -> None:
    names = [name.replace('_', ' ') for name in forward.mechanism.contacts]
    plot_lines(panel, forward.state.stamps, names, forward.contact_forces)
    panel.axhline(0.0, color=BLACK, linewidth=0.6)
    panel.set(title='Contact forces', ylabel='normal force\n(N)')


def _plot_displacement(axes: Sequence[Axes], forward: Pass) -> None:
    """Displacement of the incisor, or else of the platform, from its start."""
    chews = 'incisor' in forward.links.origin
    frame = 'incisor' if chews else forward.mechanism.description.platform
    origin = forward.links.origin[frame]
    name = frame.replace('_', ' ').capitalize()
    _draw_paths(axes, name, [('', origin - origin[0], '-', BLUE)])
    for panel in axes:
        panel.plot(0.0, 0.0, 'o', color=BLACK, markersize=5)
        start = 'occlusion' if chews else 'home'
        panel.annotate(start, (0.0, 0.0), (6, 3), textcoords='offset points', fontsize=10)


def _plot_motion(axes: Mapping[str, Axes], mechanism: Mechanism, joints: JointSeries) -> None:
    """Independent coordinates: those that slide, and those that turn."""
    tree = mechanism.structure.tree.joints
    coordinates = [tree[j] for j in mechanism.independent_rows]
    greek = {n: f'$\\{n}$' for n in ('alpha', 'beta', 'gamma')}
    scales = {'m': (1e3, 'position\n(mm)'), 'rad': (180.0 / np.pi, 'rotation\n(°)')}
    shown = [unit for unit in scales if unit in axes]
    for unit in shown:
        scale, label = scales[unit]
        names = [joint.name for joint in coordinates if joint.unit == unit]
        labels = [greek.get(name, name.replace('_', ' ')) for name in names]
        rows = scale * joints.position[:, joints.columns(names)]
        plot_lines(axes[unit], joints.stamps, labels, rows)
        axes[unit].set(ylabel=label)
    axes[shown[0]].set(title='Independent coordinates')


# In closed loop


def _plot_closed_loop(paths: Sequence[Axes], axes: Sequence[Axes], run: Run) -> None:
    tracking, record = run.forward.tracking, run.forward.record
    start = tracking.commanded[0]
    commanded = 'commanded', tracking.commanded - start, '-', BLACK
    _draw_paths(paths, 'Incisor', [commanded, ('true', tracking.actual - start, '--', ORANGE)])
    paths[1].legend(loc='upper right')
    _plot_errors(axes[0], run)
    _plot_bite(axes[1], record.bite, 'Bite force')
    drives = record[topics.DRIVES].during(run.forward.script.duration)
    _plot_efforts(axes[2], run.forward.mechanism, drives)
    axes[2].set(title='Torques as the drives measure them', ylabel='torque\n(N m)')
    axes[3].plot(tracking.closure_time, tracking.closure * 1e6, color=BLUE)
    axes[3].set(title='Gap of the loops by the measured angles', ylabel='gap\n(µm)')
    axes[3].set_ylim(bottom=0.0)
    late = jitter(drives.stamps, run.rate) * 1e3
    axes[4].plot(drives.stamps[1:], late, color=BLACK, linewidth=0.7)
    axes[4].set(title='SYNC: interval less a period', ylabel='jitter\n(ms)')


def _plot_errors(panel: Axes, run: Run) -> None:
    names = ('with feedforward', BLUE), ('PD alone', RED)
    for (name, colour), pass_ in reversed(list(zip(names, run.passes, strict=False))):
        tracking = pass_.tracking
        label = f'{name}:\n{tracking.rms * 1e3:.3f} mm RMS'
        panel.plot(tracking.time, tracking.error * 1e3, color=colour, label=label)
    legend_beside(panel)
    panel.set(title='Incisor: distance from its commanded position', ylabel='error\n(mm)')
    panel.set_ylim(bottom=0.0)


# Panels of both


def _draw_paths(
    axes: Sequence[Axes], name: str, paths: Sequence[tuple[str, FloatArray, str, str]]
) -> None:
    """Paths of what moves seen from the front and from the left, mm.

    Of each path: label, points (N, 3) in m, style and colour.
    """
    for panel, across, side, label in zip(
        axes, (1, 0), ('front', 'left'), ('left (mm)', 'forward (mm)'), strict=True
    ):
        for text, points, style, colour in paths:
            panel.plot(points[:, across] * 1e3, points[:, 2] * 1e3, style, color=colour, label=text)
        panel.set(title=f'{name}, seen from the {side}', xlabel=label, ylabel='up (mm)')
        panel.set(aspect='equal', adjustable='datalim')


def _plot_bite(panel: Axes, bite: ForceSeries, what: str) -> None:
    """Magnitude of a force over time; the title begins with ``what``."""
    magnitude = np.linalg.norm(bite.force, axis=1)
    panel.plot(bite.stamps, magnitude, color=BLACK)
    panel.fill_between(bite.stamps, magnitude, color=BLACK, alpha=0.12, linewidth=0.0)
    panel.set(title=f'{what} at {bite.frame}', ylabel='force\n(N)')
    panel.set_ylim(bottom=0.0)


def _plot_efforts(panel: Axes, mechanism: Mechanism, state: JointSeries) -> None:
    """Efforts of all actuated joints over time."""
    names = [name.replace('_', ' ') for name in mechanism.actuated]
    effort = state.effort[:, state.columns(mechanism.actuated)]
    plot_lines(panel, state.stamps, names, effort)
