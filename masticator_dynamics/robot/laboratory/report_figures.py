# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of an experiment: first bites, peaks, and the figures of every condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.robot.laboratory import recording, result_tables, texture_profile
from masticator_dynamics.robot.laboratory.experiment_run import Experiment
from masticator_dynamics.robot.laboratory.result_tables import Result

# Figures in the report, with their units and the factor to them from SI units.
SHOWN = {
    'hardness': ('N', 1.0),
    'break_force': ('N', 1.0),
    'break_deformation': ('mm', 1e3),
    'mean_stiffness': ('N/mm', 1e-3),
    'mean_work': ('mJ', 1e3),
    'cohesiveness': ('', 1.0),
    'springiness': ('', 1.0),
    'chewiness': ('N', 1.0),
    'resilience': ('', 1.0),
    'decay_per_stroke': ('%', 1e2),
    'analyser_cohesiveness': ('', 1.0),
    'analyser_springiness': ('', 1.0),
    'analyser_chewiness': ('N', 1.0),
    'condyle_left_peak': ('N', 1.0),
    'condyle_right_peak': ('N', 1.0),
    'condyle_left_lifts': ('a mouthful', 1.0),
    'condyle_right_lifts': ('a mouthful', 1.0),
    'largest_effort_rms': ('N m', 1.0),
}


def label_of(levels: Sequence[str]) -> str:
    """A condition by its levels."""
    return ', '.join(levels) or 'all'


def force_figure(experiment: Experiment) -> Any:
    """First bites over the gap, and peaks from stroke to stroke, one colour per condition."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout='constrained')
    first, peaks = figure.subplots(1, 2)
    keys = {m.number: tuple(map(str, m.levels.values())) for m in experiment.mouthfuls}
    colours = {key: f'C{k}' for k, key in enumerate(sorted(set(keys.values())))}
    seen: set[tuple[str, ...]] = set()
    for mouthful in sorted(experiment.mouthfuls, key=lambda m: keys[m.number]):
        file, key = experiment.recording(mouthful), keys[mouthful.number]
        if not file.exists():
            continue
        label = None if key in seen else label_of(key)
        colour = colours[key]
        seen.add(key)
        series = recording.read_recording(file)
        strokes = texture_profile.strokes(series.time, series.gap, series.force)
        bite = (series.time >= strokes[0].start) & (series.time <= strokes[0].end)
        first.plot(1e3 * series.gap[bite], series.force[bite], color=colour, lw=0.9, label=label)
        numbers = range(1, len(strokes) + 1)
        peaks.plot(numbers, [s.peak_force for s in strokes], 'o-', color=colour, ms=3, lw=0.8)
    first.set(xlabel='gap of the teeth, mm', ylabel='force of the food, N', title='first bite')
    first.set_xlim(left=0.0, right=first.get_xlim()[1])
    first.invert_xaxis()
    peaks.xaxis.get_major_locator().set_params(integer=True)
    peaks.set(xlabel='stroke', ylabel='peak force, N', title='peak of every stroke', ylim=(0, None))
    if len(seen) > 1:
        factors = ', '.join(experiment.mouthfuls[0].levels)
        first.legend(title=factors, title_fontsize=8, fontsize=8, frameon=False)
    for axes in (first, peaks):
        axes.grid(alpha=0.3)
    return figure


def figures_figure(results: Sequence[Result]) -> Any:
    """A dot per mouthful and a line for the mean of each condition; one panel per figure."""
    from matplotlib.figure import Figure

    columns, rows = result_tables.mouthfuls_table(results)
    start = columns.index('repetition')
    keys = [tuple(map(str, row[1:start])) for row in rows]
    names = sorted(set(keys))
    chosen = [name for name in SHOWN if name in columns][:9]
    figure = Figure(figsize=(9.0, 2.6 * math.ceil(len(chosen) / 3)), layout='constrained')
    panels = figure.subplots(math.ceil(len(chosen) / 3), 3, squeeze=False)
    for axes, name in zip(panels.flat, chosen, strict=False):
        unit, scale = SHOWN[name]
        for place, key in enumerate(names):
            values = [
                scale * row[columns.index(name)]
                for k, row in zip(keys, rows, strict=True)
                if k == key
            ]
            finite = [v for v in values if math.isfinite(v)]
            axes.plot([place] * len(finite), finite, 'o', color=f'C{place}', ms=4, alpha=0.6)
            if finite:
                axes.hlines(np.mean(finite), place - 0.3, place + 0.3, color=f'C{place}', lw=2)
        axes.set_title(name.replace('_', ' '), fontsize=10)
        axes.set_ylabel(unit)
        axes.set_xlim(-0.6, len(names) - 0.4)
        axes.set_xticks(range(len(names)), [label_of(key) for key in names], fontsize=8)
        if len(names) > 3:
            axes.tick_params(axis='x', rotation=30)
            for label in axes.get_xticklabels():
                label.set(horizontalalignment='right', rotation_mode='anchor')
        axes.grid(axis='y', alpha=0.3)
    for axes in panels.flat[len(chosen) :]:
        axes.set_visible(False)
    return figure
