# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A figure of a run in closed loop: paths, errors, bite force, torques, timing."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

from masticator_dynamics.analysis.plot_style import BLACK, BLUE, ORANGE, RED
from masticator_dynamics.demo.closed_loop import ClosedLoop
from masticator_dynamics.demo.loop_summary import jitter
from masticator_dynamics.demo.plot import plot_bite, plot_efforts, plot_paths, png_of_run
from masticator_dynamics.demo.script import Script
from masticator_dynamics.demo.tracking import Pass, during
from masticator_dynamics.mechanism import Mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_closed_loop(
    file: pathlib.Path,
    mechanism: Mechanism,
    script: Script,
    loop: ClosedLoop,
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
    loop : ClosedLoop
        Food, rate and drives.
    forward, alone : Pass
        With feedforward efforts and, if there is such a pass, with PD control alone.
    """
    title = (
        f'{mechanism.name}, {script.source}, food {loop.food}: simulated drives at '
        f'{loop.rate:g} Hz, in real time'
    )
    with png_of_run(file, title, script.duration, (1.3, 0.8, 1.5, 0.8, 0.9)) as (paths, axes):
        tracking = forward.tracking
        start = tracking.commanded[0]
        commanded = 'commanded', tracking.commanded - start, '-', BLACK
        plot_paths(paths, 'Incisor', [commanded, ('true', tracking.actual - start, '--', ORANGE)])
        paths[1].legend(loc='upper right')
        _plot_errors(axes[0], forward, alone)
        plot_bite(axes[1], forward.record.bite, 'Bite force')
        plot_efforts(axes[2], mechanism, during(script, forward.record.drives))
        axes[2].set(title='Torques as the drives measure them', ylabel='torque\n(N m)')
        _plot_closure(axes[3], forward)
        _plot_jitter(axes[4], script, loop, forward)


def _plot_errors(panel: Axes, forward: Pass, alone: Pass | None) -> None:
    shown = [('PD alone', RED, alone)] if alone is not None else []
    for name, colour, run in [*shown, ('with feedforward', BLUE, forward)]:
        tracking = run.tracking
        label = f'{name}:\n{tracking.rms * 1e3:.3f} mm RMS'
        panel.plot(tracking.time, tracking.error * 1e3, color=colour, label=label)
    panel.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), handlelength=1.8)
    panel.set(title='Incisor off its commanded place', ylabel='error\n(mm)')
    panel.set_ylim(bottom=0.0)


def _plot_closure(panel: Axes, forward: Pass) -> None:
    tracking = forward.tracking
    panel.plot(tracking.closure_time, tracking.closure * 1e6, color=BLUE)
    panel.set(title='Gap of the loops by the measured angles', ylabel='gap\n(µm)')
    panel.set_ylim(bottom=0.0)


def _plot_jitter(panel: Axes, script: Script, loop: ClosedLoop, forward: Pass) -> None:
    stamps = during(script, forward.record.drives).stamps
    late = jitter(stamps, loop.rate) * 1e3
    panel.plot(stamps[1:], late, color=BLACK, linewidth=0.7)
    panel.set(title='SYNC: interval less a period', ylabel='jitter\n(ms)')
