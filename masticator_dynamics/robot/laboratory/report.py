# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report of an experiment: tables as CSV, and one HTML file with figures and the protocol."""

from __future__ import annotations

import base64
import html
import importlib.util
import io
import math
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import replacing, write_table, write_text
from masticator_dynamics.robot.laboratory import recording, result_tables, texture
from masticator_dynamics.robot.laboratory.experiment import Experiment
from masticator_dynamics.robot.laboratory.result_tables import Result, Table

REPORT = 'report.html'
FILES = {
    'strokes.csv': result_tables.strokes_table,
    'mouthfuls.csv': result_tables.mouthfuls_table,
    'conditions.csv': result_tables.conditions_table,
    'effects.csv': result_tables.effects_table,
}
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
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; }
td, th { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; }
td:first-child, th:first-child { text-align: left; }
img { max-width: 100%; } pre { background: #f5f5f5; padding: 1rem; overflow-x: auto; }
.fault { color: #b00020; }
"""
_TEXTURE_NOTE = """
All figures are computed from the gap between the chewing teeth and the force of the food. The
two-bite profile treats the first two strokes as the two compressions of a texture analyser
(Friedman, Whitney and Szczesniak 1963; Bourne 1978), by work and deformation and, where "analyser"
stands before it, by time and area of force over time as instruments do. A jaw is not a texture
analyser: it closes along a curve, at a varying speed, and always to the same gap rather than to the
same fraction of the sample's height. Use these figures to compare foods chewed with the same
motion, not in place of an instrument's values. Wear is an estimate by Archard's law with an assumed
wear rate.
"""


def check_parquet() -> None:
    """Check that pyarrow is installed, before any long work.

    Raises
    ------
    InputError
        If it is not installed.
    """
    if importlib.util.find_spec('pyarrow') is None:
        raise InputError("--parquet needs pyarrow: pip install 'masticator_dynamics[parquet]'")


def write_report(experiment: Experiment, parquet: bool = False) -> list[pathlib.Path]:
    """Write tables and report of all existing recordings; return the files.

    The same recordings give the same tables, byte for byte.

    Parameters
    ----------
    parquet : bool
        Whether to write tables as Parquet, too.
    """
    results = experiment.results()
    written = []
    for name, make in FILES.items():
        columns, rows = make(results)
        file = experiment.folder / name
        write_table(str(file), columns, np.array(rows, dtype=object).reshape(-1, len(columns)))
        written.append(file)
        if parquet:
            written.append(_write_parquet(file.with_suffix('.parquet'), columns, rows))
    file = experiment.folder / REPORT
    write_text(str(file), _page(experiment, results))
    return [*written, file]


def _write_parquet(file: pathlib.Path, columns: list[str], rows: list[list[Any]]) -> pathlib.Path:
    import pyarrow.parquet

    content = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    with replacing(file, binary=True) as stream:
        pyarrow.parquet.write_table(pyarrow.table(content), stream)
    return file


def _page(experiment: Experiment, results: Sequence[Result]) -> str:
    title = html.escape(experiment.protocol.title)
    faults = [r for r in results if r.fault]
    parts = [
        f'<h1>{title}</h1>',
        f'<p>{len(results)} of {len(experiment.mouthfuls)} mouthfuls, '
        f'{sum(len(r.strokes) for r in results)} strokes, on {experiment.where}.</p>',
        *(
            f'<p class="fault">Mouthful {r.number} ended in a fault and is left out of the '
            f'statistics: {html.escape(r.end)}</p>'
            for r in faults
        ),
    ]
    if results:
        parts += ['<h2>Force</h2>', _image(_force_figure(experiment), 'Force over gap and strokes')]
        parts += ['<h2>Texture</h2>', f'<p>{_TEXTURE_NOTE}</p>']
        parts += [_image(_figures_figure(results), 'Texture figures of every condition')]
        parts += [
            _conditions(experiment, results),
            '<h2>Effects of the factors</h2>',
            _effects(results),
        ]
    parts += ['<h2>Protocol</h2>', f'<pre>{html.escape(experiment.text)}</pre>']
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    body = '\n'.join(parts)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _conditions(experiment: Experiment, results: Sequence[Result]) -> str:
    """Means and confidence intervals, one column per condition."""
    columns, rows = result_tables.conditions_table(results)
    count = columns.index('figure')
    names = list(dict.fromkeys(tuple(map(str, row[:count])) for row in rows))
    found = {(tuple(map(str, row[:count])), row[count]): row[count + 1 :] for row in rows}
    header = ['mean ± SD (95 % confidence interval of the mean)', *map(_label, names)]
    body = []
    for figure, (unit, scale) in SHOWN.items():
        cells = [_interval(found.get((name, figure)), scale) for name in names]
        if any(cells) and (experiment.protocol.sockets == 'open' or not figure.endswith('_lifts')):
            body.append([f'{figure.replace("_", " ")}{f", {unit}" if unit else ""}', *cells])
    return _html_table((header, body))


def _interval(row: Sequence[Any] | None, scale: float) -> str:
    if row is None or not row[0]:
        return ''
    _, mean, sd, _, low, high = row
    text = f'{scale * mean:.3g}'
    if math.isfinite(sd):
        text += f' ± {scale * sd:.2g} ({scale * low:.3g} … {scale * high:.3g})'
    return text


def _effects(results: Sequence[Result]) -> str:
    columns, rows = result_tables.effects_table(results)
    known = [row for row in rows if row[1] in SHOWN and math.isfinite(row[5])]
    if not known:
        return '<p>None can be told: no factor, or no repetitions that differ.</p>'
    shown = [
        [row[0], row[1].replace('_', ' '), row[2], row[3], *(f'{v:.3g}' for v in row[4:])]
        for row in known
    ]
    return _html_table((columns, shown))


def _html_table(table: Table) -> str:
    columns, rows = table
    head = ''.join(f'<th>{html.escape(str(column))}</th>' for column in columns)
    body = '\n'.join(
        '<tr>' + ''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row) + '</tr>'
        for row in rows
    )
    return f'<table><tr>{head}</tr>\n{body}</table>'


def _label(levels: Sequence[str]) -> str:
    return ', '.join(levels) or 'all'


def _image(figure: Any, text: str) -> str:
    """A figure inside the page, sharp enough to print."""
    stream = io.BytesIO()
    figure.savefig(stream, format='png', dpi=160)
    content = base64.b64encode(stream.getvalue()).decode()
    return f'<p><img alt="{html.escape(text)}" src="data:image/png;base64,{content}"></p>'


def _force_figure(experiment: Experiment) -> Any:
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
        label = None if key in seen else _label(key)
        colour = colours[key]
        seen.add(key)
        series = recording.read_recording(file)
        strokes = texture.strokes(series.time, series.gap, series.force)
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


def _figures_figure(results: Sequence[Result]) -> Any:
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
        axes.set_xticks(range(len(names)), [_label(key) for key in names], fontsize=8)
        if len(names) > 3:
            axes.tick_params(axis='x', rotation=30)
            for label in axes.get_xticklabels():
                label.set(horizontalalignment='right', rotation_mode='anchor')
        axes.grid(axis='y', alpha=0.3)
    for axes in panels.flat[len(chosen) :]:
        axes.set_visible(False)
    return figure
