# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of an experiment: first bites, peaks, and the figures of every condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.robot.laboratory import recording, result_tables, texture_profile
from masticator_dynamics.robot.laboratory.experiment_run import Experiment
from masticator_dynamics.robot.laboratory.result_tables import Result
from masticator_dynamics.robot.laboratory.units import condition

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
_ALONG = 300  # points of a mean curve
_PANELS = 9


def force_figure(experiment: Experiment) -> Any:
    """First bites over the gap, and peaks from stroke to stroke: mean and standard deviation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout='constrained')
    first, peaks = figure.subplots(1, 2)
    for k, (name, chewed) in enumerate(_chewed(experiment).items()):
        gap, mean, spread = mean_bite([bite for bite, _ in chewed])
        first.plot(1e3 * gap, mean, color=f'C{k}', lw=1.4, label=name)
        first.fill_between(1e3 * gap, mean - spread, mean + spread, color=f'C{k}', alpha=0.2, lw=0)
        count = min(len(found) for _, found in chewed)
        heights = np.array([found[:count] for _, found in chewed])
        deviation = heights.std(axis=0, ddof=1) if len(heights) > 1 else None
        peaks.errorbar(
            np.arange(1, count + 1), heights.mean(axis=0), deviation, fmt='o-', color=f'C{k}',
            ms=3, lw=0.9, capsize=2,
        )  # fmt: skip
    first.set(xlabel='gap of the teeth, mm', ylabel='force of the food, N', title='first bite')
    first.set_xlim(left=0.0, right=first.get_xlim()[1])
    first.invert_xaxis()
    peaks.xaxis.get_major_locator().set_params(integer=True)
    peaks.set(xlabel='stroke', ylabel='peak force, N', title='peak of every stroke', ylim=(0, None))
    if len(first.lines) > 1:
        first.legend(fontsize=8, frameon=False)
    for axes in (first, peaks):
        axes.grid(alpha=0.3)
    return figure


def _chewed(experiment: Experiment) -> dict[str, list[tuple[FloatArray, list[float]]]]:
    """First bite (2, N), gap (m) and force (N), and peaks of all strokes (N), by condition."""
    found: dict[str, list[tuple[FloatArray, list[float]]]] = {}
    for mouthful in sorted(experiment.mouthfuls, key=lambda m: [*map(str, m.levels.values())]):
        file = experiment.recording(mouthful)
        if not file.exists():
            continue
        series = recording.read_recording(file)
        if not texture_profile.openings(series.gap):
            continue
        strokes = texture_profile.strokes(series.time, series.gap, series.force)
        rows = (series.time >= strokes[0].start) & (series.time <= strokes[0].end)
        bite = np.array([series.gap[rows], series.force[rows]])
        name = condition(mouthful.levels)
        found.setdefault(name, []).append((bite, [s.peak_force for s in strokes]))
    return found


def mean_bite(bites: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and standard deviation of the force while the teeth close, over gaps that all reached.

    Parameters
    ----------
    bites : sequence of (2, N) array
        Gap (m) and force (N) of each bite.

    Returns
    -------
    gap, mean, deviation : array, shape (M,)
        m, N, N; the deviation of a single bite is 0.
    """
    closing = []
    for gap, force in bites:
        end = int(gap.argmin()) + 1
        order = np.argsort(gap[:end], kind='stable')
        closing.append((gap[:end][order], force[:end][order]))
    low, high = max(gap[0] for gap, _ in closing), min(gap[-1] for gap, _ in closing)
    along = np.linspace(low, high, _ALONG)
    forces = np.array([np.interp(along, gap, force) for gap, force in closing])
    spread = forces.std(axis=0, ddof=1) if len(forces) > 1 else np.zeros(_ALONG)
    return along, forces.mean(axis=0), spread


def figures_figure(results: Sequence[Result], random: bool) -> Any:
    """A dot per mouthful, mean and confidence interval of each condition; a panel per figure."""
    from matplotlib.figure import Figure

    columns, rows = result_tables.conditions_table(results, random)
    count = columns.index('figure')
    names = list(dict.fromkeys(tuple(row[:count]) for row in rows))
    stats = {(tuple(row[:count]), row[count]): row[count + 1 :] for row in rows}
    values: dict[tuple[Any, ...], list[Mapping[str, float]]] = {}
    for result in results:
        if not result.fault:
            values.setdefault(tuple(result.levels.values()), []).append(result.figures())
    known = {name for (_, name), row in stats.items() if math.isfinite(row[1])}
    chosen = [name for name in SHOWN if name in known][:_PANELS]
    figure = Figure(figsize=(9.0, 2.6 * math.ceil(len(chosen) / 3)), layout='constrained')
    panels = figure.subplots(max(1, math.ceil(len(chosen) / 3)), 3, squeeze=False)
    labels = [condition(list(zip(columns[:count], key, strict=True))) for key in names]
    for axes, name in zip(panels.flat, chosen, strict=False):
        unit, scale = SHOWN[name]
        for place, key in enumerate(names):
            dots = [scale * row[name] for row in values.get(key, ()) if math.isfinite(row[name])]
            axes.plot([place] * len(dots), dots, 'o', color=f'C{place}', ms=4, alpha=0.4)
            _, mean, _, _, low, high = (scale * v for v in stats[key, name])
            if math.isfinite(mean):
                bar = [[mean - low], [high - mean]] if math.isfinite(low) else None
                axes.errorbar([place + 0.2], [mean], bar, fmt='_', color=f'C{place}', capsize=3)
        axes.set_title(name.replace('_', ' '), fontsize=10)
        axes.set_ylabel(unit)
        axes.set_xlim(-0.6, len(names) - 0.4)
        axes.set_xticks(range(len(names)), labels, fontsize=8)
        if len(names) > 3:
            axes.tick_params(axis='x', rotation=30)
            for label in axes.get_xticklabels():
                label.set(horizontalalignment='right', rotation_mode='anchor')
        axes.grid(axis='y', alpha=0.3)
    for axes in panels.flat[len(chosen) :]:
        axes.set_visible(False)
    return figure
