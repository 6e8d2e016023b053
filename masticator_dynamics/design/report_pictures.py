# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a study: front, parallel coordinates, sensitivity, two mechanisms side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from masticator_dynamics.analysis.line_drawing import body_lines, views
from masticator_dynamics.analysis.pictures import BLACK, BLUE, ORANGE, RED
from masticator_dynamics.design.front import violation
from masticator_dynamics.design.sensitivity import Sensitivity
from masticator_dynamics.design.study import Study, StudyResult
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism

_GREY = '#bbbbbb'
_MOST_LINES = 300


def front(study: Study, result: StudyResult) -> Any:
    """Samples, front, given and best in each pair of objectives with the first."""
    from matplotlib.figure import Figure

    first, *others = study.objectives
    figure = Figure(figsize=(4.6 * len(others) + 1.0, 4.5), layout='constrained')
    panels = figure.subplots(1, len(others), squeeze=False)[0]
    good = _feasible(study, result.shown)
    for axes, other in zip(panels, others, strict=True):
        for rows, colour, label, size in (
            (result.shown[~good], _GREY, 'samples beyond a constraint', 2),
            (result.shown[good], BLUE, 'samples', 3),
            (result.front, ORANGE, 'front', 8),
            (result.given[None], BLACK, 'given', 60),
            (result.best[None] if result.best is not None else result.front[:0], RED, 'best', 60),
        ):
            if np.isfinite(result.column(rows, first)).any():
                axes.scatter(
                    result.column(rows, first), result.column(rows, other), s=size, color=colour,
                    label=label, marker='o' if size < 50 else 'X',
                )  # fmt: skip
        axes.set(xlabel=study.judge.label(first), ylabel=study.judge.label(other))
        axes.set_xlim(*_window(result, first))
        axes.set_ylim(*_window(result, other))
        axes.grid(alpha=0.3)
    _legend_below(figure, panels[0])
    return figure


def _legend_below(figure: Any, panel: Any) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc='outside lower center', ncols=len(labels))


def _window(result: StudyResult, name: str) -> tuple[float, float]:
    """What to show of a figure: most samples, the front, and the given geometry."""
    samples = result.column(result.shown, name)
    usual = np.quantile(samples[np.isfinite(samples)], [0.005, 0.995])
    marks = np.append(result.column(result.front, name), result.column(result.given, name))
    shown_values = np.concatenate([usual, marks[np.isfinite(marks)]])
    low, high = float(shown_values.min()), float(shown_values.max())
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def parallel(study: Study, result: StudyResult) -> Any:
    """A line for each of some samples through all variables and figures, each in its own range."""
    from matplotlib.figure import Figure

    names = [axis.name for axis in study.judge.space.axes] + list(study.judge.names)
    table = np.column_stack([result.column(result.shown, name) for name in names])
    good = np.isfinite(table).all(axis=1) & _feasible(study, result.shown)
    figure = Figure(figsize=(max(9.0, 0.75 * len(names)), 4.4), layout='constrained')
    axes = figure.subplots()
    lines = np.vstack([table[good], *_marks(result, names)])
    low, high = np.nanquantile(lines, 0.002, axis=0), np.nanquantile(lines, 0.998, axis=0)
    marks = np.vstack(_marks(result, names))
    low = np.fmin(low, np.nanmin(marks, axis=0))
    high = np.fmax(high, np.nanmax(marks, axis=0))
    width = np.where(high > low, high - low, 1.0)
    rows = table[good][:: max(1, -(-int(good.sum()) // _MOST_LINES))]
    order = next(iter(study.objectives), study.judge.names[0])
    if len(rows):
        by = rows[:, names.index(order)]
        shade = (by - by.min()) / max(float(np.ptp(by)), 1e-300)
        for k in np.argsort(-shade):
            blue = (0.12, 0.47, 0.71, 0.6 - 0.5 * float(shade[k]))
            axes.plot((rows[k] - low) / width, color=blue, lw=0.7)
    for row, colour, label in zip(_marks(result, names), (BLACK, RED), ('given', 'best'),
                                  strict=False):  # fmt: skip
        axes.plot((row - low) / width, 'o-', color=colour, lw=1.8, ms=3, label=label)
    ticks = [f'{n}\n{a:.3g}…{b:.3g}' for n, a, b in zip(names, low, high, strict=True)]
    axes.set_xticks(range(len(names)), ticks, rotation=60, fontsize=7, ha='right')
    axes.set(
        yticks=[], ylim=(-0.05, 1.05), title=f'samples within all constraints; dark: small {order}'
    )
    axes.legend(fontsize=8, loc='upper left', bbox_to_anchor=(1.0, 1.0))
    return figure


def indices(sensitivity: Sensitivity) -> Any:
    """Sobol indices, one panel per figure."""
    from matplotlib.figure import Figure

    count, places = len(sensitivity.figures), np.arange(len(sensitivity.variables))
    figure = Figure(figsize=(2.0 + 2.2 * count, 1.0 + 0.24 * len(places)), layout='constrained')
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    for axes, name, first, total in zip(
        panels, sensitivity.figures, sensitivity.first, sensitivity.total, strict=True
    ):
        axes.barh(places, total, color=BLUE, alpha=0.35)
        axes.barh(places, first, color=BLUE)
        axes.set(xlim=(0.0, 1.0), title=name)
        axes.set_yticks(places, sensitivity.variables, fontsize=8)
        axes.invert_yaxis()
    return figure


def beside(original: Mechanism, best: Mechanism) -> Any:
    """Both mechanisms at home as lines between joints, from sides that show more than a line."""
    from matplotlib.figure import Figure

    drawn = ((body_lines(original), _GREY, 'given'), (body_lines(best), RED, 'best'))
    sides = views([line for lines, _, _ in drawn for line in lines])
    figure = Figure(figsize=(3.7 * len(sides), 4.2), layout='constrained')
    panels = figure.subplots(1, len(sides), squeeze=False)[0]
    for axes, side in zip(panels, sides, strict=True):
        for lines, colour, label in drawn:
            for n, line in enumerate(lines):
                named = None if n else label
                side.plot(axes, line, '.-', color=colour, lw=1.6, ms=4, label=named)
        axes.set_title(side.name)
    _legend_below(figure, panels[0])
    return figure


def _marks(result: StudyResult, names: list[str]) -> list[FloatArray]:
    """Rows of given and best geometry."""
    rows = [result.given] + ([] if result.best is None else [result.best])
    return [np.array([result.column(row, name) for name in names]) for row in rows]


def _feasible(study: Study, table: FloatArray) -> Any:
    return violation(table, study.judge.columns, study.bounds) == 0.0
