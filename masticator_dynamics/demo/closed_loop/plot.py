# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One figure of a run in closed loop: paths, errors, bite force, torques, punctuality."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from masticator_dynamics.analysis.plot_style import BLACK, BLUE, ORANGE, RED
from masticator_dynamics.demo.closed_loop.evaluation import Pass, during
from masticator_dynamics.demo.closed_loop.setting import Setting
from masticator_dynamics.demo.closed_loop.summary import jitter
from masticator_dynamics.demo.plot import plot_bite, plot_lines, png_of_run
from masticator_dynamics.demo.script import Script
from masticator_dynamics.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_closed_loop(
    file: pathlib.Path,
    mechanism: Mechanism,
    script: Script,
    setting: Setting,
    forward: Pass,
    alone: Pass | None,
) -> None:
    """Write the figure of a run as PNG.

    Parameters
    ----------
    file : pathlib.Path
        The PNG.
    mechanism : Mechanism
        What moved.
    script : Script
        What was played.
    setting : Setting
        Food, rate and drives.
    forward, alone : Pass
        With feedforward efforts and, where there is such a pass, by PD control alone.
    """
    title = (
        f'{mechanism.name}, {script.source}, food {setting.food}: simulated drives at '
        f'{setting.rate:g} Hz, in real time'
    )
    with png_of_run(file, title, script.duration, (1.3, 0.8, 1.5, 0.8, 0.9)) as (paths, axes):
        _plot_paths(paths, forward)
        _plot_errors(axes[0], forward, alone)
        plot_bite(axes[1], forward.record.bite, 'Bite force')
        _plot_torques(axes[2], mechanism, script, forward)
        _plot_closure(axes[3], forward)
        _plot_jitter(axes[4], script, setting, forward)


def _plot_paths(axes: Sequence[Axes], forward: Pass) -> None:
    """Incisor seen from the front and from the left, mm from occlusion."""
    tracking = forward.tracking
    commanded = (tracking.commanded - tracking.commanded[0]) * 1e3
    actual = (tracking.actual - tracking.commanded[0]) * 1e3
    views = (
        (axes[0], 1, 'Incisor, seen from the front', 'left (mm)'),
        (axes[1], 0, 'Incisor, seen from the left', 'forward (mm)'),
    )
    for panel, across, title, label in views:
        panel.plot(commanded[:, across], commanded[:, 2], color=BLACK, label='commanded')
        panel.plot(actual[:, across], actual[:, 2], '--', color=ORANGE, label='true')
        panel.set(title=title, xlabel=label, ylabel='up (mm)', aspect='equal', adjustable='datalim')
    axes[1].legend(loc='upper right')


def _plot_errors(panel: Axes, forward: Pass, alone: Pass | None) -> None:
    shown = [('PD alone', RED, alone)] if alone is not None else []
    for name, colour, run in [*shown, ('with feedforward', BLUE, forward)]:
        tracking = run.tracking
        label = f'{name}:\n{tracking.rms * 1e3:.3f} mm RMS'
        panel.plot(tracking.time, tracking.error * 1e3, color=colour, label=label)
    panel.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), handlelength=1.8)
    panel.set(title='Incisor off its commanded place', ylabel='error\n(mm)')
    panel.set_ylim(bottom=0.0)


def _plot_torques(panel: Axes, mechanism: Mechanism, script: Script, forward: Pass) -> None:
    drives = during(script, forward.record.drives)
    names = [name.replace('_', ' ') for name in mechanism.actuated]
    effort = drives.effort[:, drives.columns(mechanism.actuated)]
    plot_lines(panel, drives.stamps, list(zip(names, effort.T, strict=True)))
    panel.set(title='Torques as the drives measure them', ylabel='torque\n(N m)')


def _plot_closure(panel: Axes, forward: Pass) -> None:
    tracking = forward.tracking
    panel.plot(tracking.closure_time, tracking.closure * 1e6, color=BLUE)
    panel.set(title='Gap of the loops by the measured angles', ylabel='gap\n(µm)')
    panel.set_ylim(bottom=0.0)


def _plot_jitter(panel: Axes, script: Script, setting: Setting, forward: Pass) -> None:
    stamps = during(script, forward.record.drives).stamps
    late = jitter(stamps, setting.rate) * 1e3
    panel.plot(stamps[1:], late, color=BLACK, linewidth=0.7)
    panel.set(title='SYNC: interval less a period', ylabel='jitter\n(ms)')
