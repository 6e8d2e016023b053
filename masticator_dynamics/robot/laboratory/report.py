# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report of an experiment: tables, figures as SVG and PDF, and one HTML file with all.

On the twin it also says what of a figure was put in with the food, and what was computed.
"""

from __future__ import annotations

import base64
import dataclasses
import html
import io
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from masticator_dynamics.files.html_page import page, table
from masticator_dynamics.files.share import find_yaml
from masticator_dynamics.files.tables import write_bytes, write_text
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_text
from masticator_dynamics.robot.laboratory import result_tables
from masticator_dynamics.robot.laboratory.experiment_run import ROBOT, Experiment
from masticator_dynamics.robot.laboratory.factor_effects import Comparison, Effect
from masticator_dynamics.robot.laboratory.protocol import food_source
from masticator_dynamics.robot.laboratory.report_parts import (
    Formats,
    citation,
    figures_figure,
    force_figure,
    held_figure,
    methods,
    residuals_figure,
    write_curves,
    write_tables,
)
from masticator_dynamics.robot.laboratory.result_tables import (
    Analyses,
    Condition,
    Result,
    Statistics,
    Table,
)
from masticator_dynamics.robot.laboratory.units import (
    SHOWN,
    TEXTS,
    decimals_for,
    fixed,
    interval,
    level,
    mean_and_deviation,
    named_figure,
    named_term,
    plain,
    probability,
)


def remarks(source: str | pathlib.Path) -> str:
    """What the head of a food's file says of its data: which are measured, and which assumed."""
    text = read_text(find_yaml(source, 'food', 'foods'), LARGEST_DESCRIPTION)
    sentences = []
    for line in text.splitlines():
        if not line.startswith('#'):
            break
        remark = line.lstrip('#').strip()
        if not remark.startswith(('Copyright', 'SPDX-')):
            sentences.append(remark)
    return ' '.join(filter(None, sentences)) or 'Its file does not say where its data are from.'


_ABREAST = 4  # conditions beside one another on a page
REPORT, FIGURES = 'report.html', 'figures'
TABLES = ('strokes', 'mouthfuls', 'conditions', 'effects', 'comparisons', 'variances')


def write_report(experiment: Experiment, formats: Formats | None = None) -> list[pathlib.Path]:
    """Write tables, figures and report of all existing recordings; return the files.

    The same recordings give the same tables and figures, byte for byte.

    Parameters
    ----------
    formats : Formats, optional
        What is written beside CSV files, figures and report; by default nothing.
    """
    formats = formats or Formats()
    results = experiment.results()
    analyses = result_tables.analyses(results, experiment.random)
    conditions = result_tables.conditions(results, experiment.random, analyses)
    tables = (
        result_tables.strokes_table(results),
        result_tables.mouthfuls_table(results),
        result_tables.conditions_table(results, conditions),
        result_tables.analyses_table(analyses, Effect),
        result_tables.analyses_table(analyses, Comparison),
        result_tables.spreads_table(analyses),
    )
    written = write_tables(
        experiment.folder, dict(zip(TABLES, tables, strict=True)), formats
    ) + write_curves(experiment, formats)
    pictures = {}
    if results:
        drawn = {
            'force': force_figure(results),
            'texture': figures_figure(conditions),
        }
        if any(result.pressed for result in results):
            drawn['held'] = held_figure(results)
        if any(part.spread for part in analyses.values()):
            drawn['residuals'] = residuals_figure(analyses)
        folder = experiment.folder / FIGURES
        folder.mkdir(exist_ok=True)
        for name, figure in drawn.items():
            for suffix in ('svg', 'pdf'):
                file = folder / f'{name}.{suffix}'
                content = _drawn(figure, suffix)
                write_bytes(str(file), content)
                written.append(file)
                if suffix == 'svg':
                    pictures[name] = content
    file = experiment.folder / REPORT
    write_text(str(file), _page(experiment, results, conditions, analyses, pictures))
    return [*written, file]


def _drawn(figure: Any, suffix: str) -> bytes:
    """A figure as SVG or PDF, without the time at which it was drawn."""
    import matplotlib

    stream = io.BytesIO()
    date = {'Date': None} if suffix == 'svg' else {'CreationDate': None}
    with matplotlib.rc_context({'svg.hashsalt': 'masticator', 'pdf.fonttype': 42}):
        figure.savefig(stream, format=suffix, metadata=date)
    figure.set_layout_engine('none')  # it is laid out, for the next format, too
    return stream.getvalue()


def _page(
    experiment: Experiment,
    results: Sequence[Result],
    conditions: Sequence[Condition],
    analyses: Analyses,
    pictures: Mapping[str, bytes],
) -> str:
    faults = [r for r in results if r.fault]
    parts = [
        f'<p>{len(results)} of {len(experiment.mouthfuls)} mouthfuls, '
        f'{sum(len(r.strokes) for r in results)} strokes, on {experiment.where}.</p>',
        *(
            f'<p class="fault">Mouthful {r.mouthful.number} ended in a fault and is left out of '
            f'the statistics: {html.escape(r.end)}</p>'
            for r in faults
        ),
    ]
    parts += _samples(experiment)
    if results:
        parts += ['<h2>Force</h2>', _image(pictures, 'force')]
        if 'held' in pictures:
            parts.append(_image(pictures, 'held'))
        parts += ['<h2>Texture</h2>', _said('texture_note')]
        parts += [_image(pictures, 'texture')]
        parts += [
            _conditions(experiment, conditions, analyses),
            '<h2>Effects of the factors</h2>',
            effects_on_page(experiment, analyses),
            *variances_on_page(analyses, pictures),
            '<h2>What is put in, and what is computed</h2>',
            _sources(experiment),
            '<h2>Methods</h2>',
            f'<p>{html.escape(methods(experiment, analyses))}</p>',
            f'<p>To cite: {html.escape(citation(experiment))}</p>',
        ]
    parts += ['<h2>Protocol</h2>', f'<pre>{html.escape(experiment.text)}</pre>']
    return page(experiment.protocol.title, parts)


def _conditions(experiment: Experiment, conditions: Sequence[Condition], analyses: Analyses) -> str:
    """Means and confidence intervals, one column per condition."""
    labels = [part.label for part in conditions]
    header = ['mean ± SD (95 % confidence interval of the mean)', *labels]
    body = []
    for figure, (_, scale) in SHOWN.items():
        cells = [_interval(part.statistics.get(figure), scale) for part in conditions]
        if any(cells) and (experiment.protocol.sockets == 'open' or not figure.endswith('_lifts')):
            body.append([_on_its_scale(figure, analyses), *cells])
    blocks = []  # as wide as a page
    for k in range(1, len(header), _ABREAST):
        first, *rows = [[row[0], *row[k : k + _ABREAST]] for row in (header, *body)]
        blocks.append(_html_table((first, rows)))
    return '\n'.join([*blocks, _said('scales')])


def _on_its_scale(figure: str, analyses: Analyses) -> str:
    """Name of a figure, with a mark if logarithms were analysed."""
    logarithms = figure in analyses and analyses[figure].logarithms
    return named_figure(figure) + (' (log)' if logarithms else '')


def _interval(numbers: Statistics | None, scale: float) -> str:
    """Two lines: mean and deviation, and the interval of the mean."""
    if numbers is None or not numbers.n:
        return ''
    mean, sd = scale * numbers.mean, scale * numbers.sd
    low, high = scale * numbers.ci_low, scale * numbers.ci_high
    decimals = decimals_for(0.5 * (high - low), sd, mean)
    text = mean_and_deviation(mean, sd, decimals)
    return f'{text}\n({interval(low, high, decimals)})' if math.isfinite(low) else text


def _samples(experiment: Experiment) -> list[str]:
    """What the protocol says of its samples."""
    about = experiment.protocol.metadata
    rows = [[name.replace('_', ' '), str(value)] for name, value in about.items()]
    return ['<h2>Samples</h2>', _html_table(([], rows))] if rows else []


def effects_on_page(experiment: Experiment, analyses: Analyses) -> str:
    """Tests of all effects on the figures shown, pairs of levels, and what was not tested."""
    if not experiment.random:
        return _said('not_random')
    tests, pairs = [], []
    notes: dict[tuple[str, str], list[str]] = {}
    for figure, analysis in analyses.items():
        if figure not in SHOWN:
            continue
        name = _on_its_scale(figure, analyses)
        for e in analysis.effects:
            if math.isfinite(e.p):
                tests.append([name, *_tested(e)])
            elif e.note:
                notes.setdefault((e.term, e.note), []).append(name)
        pairs += [[name, *_apart(c, SHOWN[figure][1])] for c in analysis.comparisons]
    parts = [_said('tests') if experiment.where == ROBOT else _said('tests', 'variation')]
    if tests:
        head = ['figure', 'effect', 'n', 'F (df)', 'p', 'p, Holm', 'partial η² (95 %)']
        parts.append(_html_table((head, tests)))
    if pairs:
        head = ['figure', 'factor', 'levels', 'difference or ratio (95 %)', 'p', 'd']
        parts.append(_html_table((head, pairs)))
    parts += [
        f'<p>Not tested: {html.escape(named_term(term))} ({html.escape(note)}): '
        f'{html.escape("; ".join(names))}.</p>'
        for (term, note), names in notes.items()
    ]
    return '\n'.join(parts)


def _tested(e: Effect) -> list[Any]:
    """Cells of an effect."""
    size = f'{e.partial_eta_squared:.2f} ({interval(e.low, e.high, 2)})'
    f = f'{plain(e.f)} ({_freedoms(e.df)}, {_freedoms(e.df_error)})'
    return [named_term(e.term), e.n, f, probability(e.p), probability(e.p_holm), size]


def _freedoms(df: float) -> str:
    return f'{df:.0f}' if abs(df - round(df)) < 1e-9 else f'{df:.2f}'


def _apart(c: Comparison, scale: float) -> list[str]:
    """Cells of a comparison: a difference in the unit shown, or a ratio."""
    between, numbers = '−', [scale * v for v in (c.difference, c.low, c.high)]
    if math.isfinite(c.ratio):
        between, numbers = '/', [c.ratio, c.ratio_low, c.ratio_high]
    value, low, high = numbers
    decimals = decimals_for(0.5 * (high - low), math.nan, value)
    reach = f'{fixed(value, decimals)} ({interval(low, high, decimals)})'
    levels = f'{level(c.factor, c.second)} {between} {level(c.factor, c.first)}'
    return [named_term(c.factor), levels, reach, probability(c.p), fixed(c.d, 2)]


def variances_on_page(analyses: Analyses, pictures: Mapping[str, bytes]) -> list[str]:
    """Whether conditions vary equally, what follows, and the residuals; nothing without tests."""
    tested = [(name, a.spread) for name, a in analyses.items() if a.spread and name in SHOWN]
    if not tested:
        return []
    head = ['figure', 'SD, largest / smallest', 'p, Levene', 'p, Bartlett']
    head += ['of logarithms', 'p, Levene', 'p, Bartlett', 'analysed']
    rows = []
    for figure, spread in tested:
        _, *numbers = dataclasses.astuple(spread)
        cells = [
            ('' if math.isnan(number) else probability(number) if k % 3 else plain(number))
            for k, number in enumerate(numbers)
        ]
        rows.append([named_figure(figure), *cells, spread.method])
    parts = ['<h2>Residuals</h2>', _said('variances'), _html_table((head, rows))]
    return [*parts, _image(pictures, 'residuals')]


def _sources(experiment: Experiment) -> str:
    if experiment.where == ROBOT:
        return _said('measured')
    foods = {m.food.name: m.food_name for m in experiment.mouthfuls}
    rows = [[figures, origin] for figures, origin in TEXTS['decided_by'].items()]
    sentences = [
        f'<p><b>{html.escape(name)}</b>: '
        f'{html.escape(remarks(food_source(source, experiment.protocol_file)))}</p>'
        for name, source in foods.items()
    ]
    return '\n'.join(
        [_said('put_in'), _html_table((['figures', 'origin'], rows), 'words'), *sentences]
    )


def _said(*names: str) -> str:
    """A paragraph of texts."""
    return f'<p>{" ".join(TEXTS["said"][name] for name in names)}</p>'


def _html_table(contents: Table, kind: str = 'wide') -> str:
    """A table that scrolls rather than breaks its numbers."""
    return f'<div class="{kind}">{table(*contents)}</div>'


def _image(pictures: Mapping[str, bytes], name: str) -> str:
    """A figure inside the page, its caption, and where its files are."""
    caption = TEXTS['said'][name]
    content = base64.b64encode(pictures[name]).decode()
    files = ', '.join(
        f'<a href="{FIGURES}/{name}.{suffix}">{suffix.upper()}</a>' for suffix in ('svg', 'pdf')
    )
    return (
        f'<figure><img alt="{html.escape(caption)}" src="data:image/svg+xml;base64,{content}">'
        f'<figcaption>{html.escape(caption)} ({files})</figcaption></figure>'
    )
