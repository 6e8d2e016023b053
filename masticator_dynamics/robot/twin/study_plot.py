# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One figure of a study of feedforward: error over time, food, and RMS errors side by side."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import numpy as np

from masticator_dynamics.analysis.pictures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    png_figure,
)
from masticator_dynamics.robot.twin.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (12.8, 8.0)  # inches: 1600 x 1000 dots
_COLOURS = (RED, ORANGE, BLUE, GREEN, PURPLE)


def plot_study(file: IO[bytes], study: Study) -> None:
    """Write the figure as PNG."""
    with png_figure(file, _SIZE) as figure:
        errors, bite, bars = figure.subplots(3, 1, height_ratios=(2.2, 0.9, 1.3))
        bite.sharex(errors)
        _plot_errors(errors, study)
        _plot_bite(bite, study)
        _plot_bars(bars, study)
        gains, drives = study.gains, study.setting.drives
        figure.suptitle(
            f'Chewing with simulated drives at {drives.cycle_rate:g} Hz, the same gains '
            f'in all runs: {gains.position:.3g} N m/rad, {gains.velocity:.3g} N m s/rad',
            fontsize=13,
        )


def _plot_errors(panel: Axes, study: Study) -> None:
    for run, colour in zip(study.runs, _COLOURS, strict=False):
        panel.plot(study.setting.reference.time, 1e3 * run.record.distance, color=colour)
    panel.set(
        title='Incisor: distance from where it is commanded to be (colours: as below)',
        ylabel='error\n(mm)',
    )
    panel.set_ylim(bottom=0.0)
    panel.set_xlim(study.setting.reference.time[0], study.setting.reference.time[-1])
    panel.tick_params(labelbottom=False)


def _plot_bite(panel: Axes, study: Study) -> None:
    time, force = study.setting.reference.time, study.runs[-1].record.bite
    panel.plot(time, force, color=BLACK)
    panel.fill_between(time, force, color=BLACK, alpha=0.12, linewidth=0.0)
    panel.set(title='Food', ylabel='force\n(N)', xlabel='time (s)')
    panel.set_ylim(bottom=0.0)


def _plot_bars(panel: Axes, study: Study) -> None:
    values = [run.incisor_rms * 1e3 for run in study.runs]
    places = np.arange(len(values))[::-1]
    panel.barh(places, values, color=_COLOURS[: len(values)], height=0.7)
    for place, run, value in zip(places, study.runs, values, strict=True):
        text = f'{value:.4f} mm  {run.kind.value}'
        if place != places[0]:
            text += f': {study.times_better(run.kind):.1f} times better'
        panel.annotate(
            text, (value, place), (5, 0),
            textcoords='offset points', va='center', fontsize=10,
        )  # fmt: skip
    panel.set_yticks([])
    panel.set(title='RMS over the motion', xlabel='error of the incisor (mm)')
    panel.set_xlim(0.0, max(values) * 1.35)
    panel.set_axisbelow(True)
