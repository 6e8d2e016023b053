# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report of an experiment: tables as CSV, and one HTML file with figures and the protocol."""

from __future__ import annotations

import html
import importlib.util
import math
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.html_page import html_image, html_page, html_table
from masticator_dynamics.files.tables import replacing, write_table, write_text
from masticator_dynamics.robot.laboratory import result_tables
from masticator_dynamics.robot.laboratory.experiment_run import ROBOT, Experiment
from masticator_dynamics.robot.laboratory.food_sources import DECIDED_BY, remarks
from masticator_dynamics.robot.laboratory.protocol import food_source
from masticator_dynamics.robot.laboratory.report_figures import (
    SHOWN,
    figures_figure,
    force_figure,
    label_of,
)
from masticator_dynamics.robot.laboratory.result_tables import Analyses, Result

REPORT = 'report.html'
TABLES = ('strokes', 'mouthfuls', 'conditions', 'effects', 'comparisons')
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


_NOT_RANDOM = """
No p-values: nothing in this simulation is random (the protocol has no <code>variation</code>), so
differences between conditions are exact, and repetitions are the same mouthful again.
"""
_TESTS = """
Analysis of variance of all factors together (sums of squares of type II). p by Holm is corrected
for all effects on the same figure, p by Tukey and Kramer for all pairs of levels; d is the
difference over the standard deviation within conditions. Where an interaction counts, the effect of
one factor depends on the level of the other: then look at the conditions.
"""
_VARIATION = """
The spread between mouthfuls is what the protocol's <code>variation</code> puts in: p says whether
an effect stands out of that spread, and with enough repetitions any effect does.
"""
_PUT_IN = """
The food of the twin is a law with data. Figures that only return these data are no findings.
"""
_MEASURED = """
Texture figures are measured by the robot's sensors. Forces of the condyles are computed from motion
and bite force, wear with an assumed wear rate.
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
    found = result_tables.analyses(results, experiment.random)
    tables = (
        result_tables.strokes_table(results),
        result_tables.mouthfuls_table(results),
        result_tables.conditions_table(results, experiment.random),
        result_tables.effects_table(found),
        result_tables.comparisons_table(found),
    )
    written = []
    for name, (columns, rows) in zip(TABLES, tables, strict=True):
        file = experiment.folder / f'{name}.csv'
        write_table(str(file), columns, np.array(rows, dtype=object).reshape(-1, len(columns)))
        written.append(file)
        if parquet:
            written.append(_write_parquet(file.with_suffix('.parquet'), columns, rows))
    file = experiment.folder / REPORT
    write_text(str(file), _page(experiment, results, found))
    return [*written, file]


def _write_parquet(file: pathlib.Path, columns: list[str], rows: list[list[Any]]) -> pathlib.Path:
    import pyarrow.parquet

    content = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    with replacing(file, binary=True) as stream:
        pyarrow.parquet.write_table(pyarrow.table(content), stream)
    return file


def _page(experiment: Experiment, results: Sequence[Result], found: Analyses) -> str:
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
        parts += [
            '<h2>Force</h2>',
            html_image(force_figure(experiment), 'Force over gap and strokes'),
        ]
        parts += ['<h2>Texture</h2>', f'<p>{_TEXTURE_NOTE}</p>']
        parts += [html_image(figures_figure(results), 'Texture figures of every condition')]
        parts += [
            _conditions(experiment, results),
            '<h2>Effects of the factors</h2>',
            effects_on_page(experiment, found),
            '<h2>What is put in, and what is computed</h2>',
            _sources(experiment),
        ]
    parts += ['<h2>Protocol</h2>', f'<pre>{html.escape(experiment.text)}</pre>']
    return html_page(experiment.protocol.title, parts)


def _conditions(experiment: Experiment, results: Sequence[Result]) -> str:
    """Means and confidence intervals, one column per condition."""
    columns, rows = result_tables.conditions_table(results, experiment.random)
    count = columns.index('figure')
    names = list(dict.fromkeys(tuple(map(str, row[:count])) for row in rows))
    found = {(tuple(map(str, row[:count])), row[count]): row[count + 1 :] for row in rows}
    header = ['mean ± SD (95 % confidence interval of the mean)', *map(label_of, names)]
    body = []
    for figure, (unit, scale) in SHOWN.items():
        cells = [_interval(found.get((name, figure)), scale) for name in names]
        if any(cells) and (experiment.protocol.sockets == 'open' or not figure.endswith('_lifts')):
            body.append([f'{figure.replace("_", " ")}{f", {unit}" if unit else ""}', *cells])
    return html_table(header, body)


def _interval(row: Sequence[Any] | None, scale: float) -> str:
    if row is None or not row[0]:
        return ''
    _, mean, sd, _, low, high = row
    text = f'{scale * mean:.3g}'
    if math.isfinite(low):
        text += f' ± {scale * sd:.2g} ({scale * low:.3g} … {scale * high:.3g})'
    return text


def effects_on_page(experiment: Experiment, found: Analyses) -> str:
    """Tests of all effects on the figures shown, pairs of levels, and what was not tested."""
    if not experiment.random:
        return f'<p>{_NOT_RANDOM}</p>'
    tests, pairs = [], []
    notes: dict[tuple[str, str], list[str]] = {}
    for figure, effects, comparisons in found:
        if figure not in SHOWN:
            continue
        unit, scale = SHOWN[figure]
        name = f'{figure.replace("_", " ")}{f", {unit}" if unit else ""}'
        for e in effects:
            if math.isfinite(e.p):
                size = f'{e.partial_eta_squared:.2f} ({e.low:.2f} … {e.high:.2f})'
                f = f'{e.f:.3g} ({e.df:g}, {e.df_error:g})'
                tests.append([name, e.term, e.n, f, _p(e.p), _p(e.p_holm), size])
            elif e.note:
                notes.setdefault((e.term, e.note), []).append(name)
        for c in comparisons:
            reach = f'{scale * c.difference:.3g} ({scale * c.low:.3g} … {scale * c.high:.3g})'
            pairs.append([name, c.factor, f'{c.second} − {c.first}', reach, _p(c.p), f'{c.d:.2f}'])
    parts = [f'<p>{_TESTS}{"" if experiment.where == ROBOT else _VARIATION}</p>']
    if tests:
        head = ['figure', 'effect', 'n', 'F (df)', 'p', 'p, Holm', 'partial η² (95 %)']
        parts.append(html_table(head, tests))
    if pairs:
        head = ['figure', 'factor', 'levels', 'difference (95 %)', 'p, Tukey', 'd']
        parts.append(html_table(head, pairs))
    parts += [
        f'<p>Not tested: {html.escape(term)} ({html.escape(note)}): '
        f'{html.escape("; ".join(names))}.</p>'
        for (term, note), names in notes.items()
    ]
    return '\n'.join(parts)


def _p(p: float) -> str:
    return '< 0.001' if p < 0.001 else f'{p:.3f}'


def _sources(experiment: Experiment) -> str:
    if experiment.where == ROBOT:
        return f'<p>{_MEASURED}</p>'
    foods = {m.food_name: m.food for m in experiment.mouthfuls}
    rows = [[figures, origin] for figures, origin in DECIDED_BY.items()]
    told = [
        f'<p><b>{html.escape(name)}</b>: '
        f'{html.escape(remarks(food_source(name, experiment.protocol_file)))}</p>'
        for name in foods
    ]
    return '\n'.join([f'<p>{_PUT_IN}</p>', html_table(['figures', 'origin'], rows), *told])
