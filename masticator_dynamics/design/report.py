# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files of a study: tables, one HTML page, and the best geometry as a description that loads."""

from __future__ import annotations

import html
import pathlib
from collections.abc import Sequence

import numpy as np
import yaml

from masticator_dynamics.description.written import save
from masticator_dynamics.design import report_pictures
from masticator_dynamics.design.judge import DesignStatus
from masticator_dynamics.design.space import MOTORS
from masticator_dynamics.design.study import Study, StudyResult
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.files.html_page import image, page, table
from masticator_dynamics.files.tables import write_table, write_text
from masticator_dynamics.files.yaml_file import read_mapping
from masticator_dynamics.mechanism import Mechanism

_WIDTH = 96


def write_arguments(
    mechanism: Mechanism, arguments: dict[str, float], file: pathlib.Path, said: str
) -> None:
    """Write a mechanism file that refers to the same xacro file, with other arguments."""
    described = mechanism.description
    content = read_mapping(described.file)
    content['urdf'] = str(described.urdf_file.resolve())
    texts = {name: repr(x) for name, x in arguments.items()}
    content['xacro_arguments'] = dict(content.get('xacro_arguments', {})) | texts
    comment = ''.join(f'# {line}\n' for line in said.splitlines())
    write_text(str(file), comment + yaml.safe_dump(content, sort_keys=False, width=_WIDTH))


REPORT, BEST = 'report.html', 'best.yaml'
_MOST_CSV = 100_000  # samples; tables of more are read from the Parquet files
_MOST_LISTED = 20  # geometries of the front


def write_results(study: Study, result: StudyResult) -> list[str]:
    """Write all files; return lines for the terminal.

    Parameters
    ----------
    result : StudyResult
        What :meth:`Study.run` has returned.
    """
    folder = study.parts.folder
    if study.count <= _MOST_CSV:
        _write(folder / 'samples.csv', study, np.concatenate(list(study.tables())))
    if study.objectives:
        _write(folder / 'front.csv', study, result.front)
    if (index := result.sensitivity) is not None:
        columns = ['figure', 'variable', 'first_order', 'total_order']
        rows = [
            [figure, variable, repr(float(first)), repr(float(total))]
            for figure, firsts, totals in zip(index.figures, index.first, index.total, strict=True)
            for variable, first, total in zip(index.variables, firsts, totals, strict=True)
        ]
        write_table(str(folder / 'sensitivity.csv'), columns, np.array(rows, dtype=object))
    best = None
    if result.best is not None:
        best = study.judge.mechanism_of(result.best[: len(study.judge.space.axes)])
        _write_best(study, result.best, best, folder / BEST)
    write_text(str(folder / REPORT), _page(study, result, best))
    return [_counted(study, result), *_compared(study, result), str(folder / REPORT)]


def _write(file: pathlib.Path, study: Study, rows: FloatArray) -> None:
    """Write rows as CSV, with statuses and states in words."""
    columns = study.judge.columns
    content = rows.astype(object)
    for k, name in enumerate(columns):
        if name == 'status':
            content[:, k] = [DesignStatus(int(x)).label for x in rows[:, k]]
        elif name.endswith('_state'):
            content[:, k] = [study.judge.states.place(int(x)) if x >= 0 else '' for x in rows[:, k]]
        elif name == MOTORS:
            content[:, k] = [_motors(study, x) for x in rows[:, k]]
    write_table(str(file), list(columns), content)


def _motors(study: Study, number: float) -> str:
    return list(study.content.actuators)[int(number)]


def _write_best(study: Study, row: FloatArray, best: Mechanism, file: pathlib.Path) -> None:
    values = row[: len(study.judge.space.axes)]
    lines = [f'The best geometry of the study {study.content.title!r}.']
    for axis, value in zip(study.judge.space.axes, values.tolist(), strict=True):
        lines.append(
            f'{axis.name}: {_motors(study, value) if axis.name == MOTORS else repr(value)}'
        )
    arguments = study.judge.space.arguments_of(values)
    if arguments:
        lines.append('xacro arguments: ' + ' '.join(f'{n}:={x!r}' for n, x in arguments.items()))
    if study.judge.space.only_arguments:
        write_arguments(best, arguments, file, '\n'.join(lines))
    else:
        save(best.description, file, '\n'.join(lines))


def _counted(study: Study, result: StudyResult) -> str:
    """How many samples there are, and what became of them."""
    parts = [
        f'{result.counts[status.label]} {status.label}' for status in DesignStatus
        if result.counts[status.label]
    ]  # fmt: skip
    if study.bounds:
        parts.append(f'{result.counts["feasible"]} within all constraints')
    return f'{study.count} geometries: ' + ', '.join(parts)


def _compared(study: Study, result: StudyResult) -> list[str]:
    """Figures of the given and of the best geometry."""
    if result.best is None:
        return ['no geometry keeps all constraints'] if study.objectives else []
    given, best = (dict(zip(study.judge.names, _sizes(study, result, row), strict=True))
                   for row in (result.given, result.best))  # fmt: skip
    return [f'{name}: {given[name]} as given, {best[name]} best' for name in study.judge.names]


def _sizes(study: Study, result: StudyResult, row: FloatArray) -> list[str]:
    """Figures of a geometry with their units."""
    return [
        f'{_number(result.column(row, name))} {study.judge.units.get(name, "")}'.rstrip()
        for name in study.judge.names
    ]


def _number(value: object) -> str:
    return f'{float(value):.4g}'  # type: ignore[arg-type]


def _page(study: Study, result: StudyResult, best: Mechanism | None) -> str:
    parts = [f'<p>{html.escape(_counted(study, result))}.</p>', _figures_table(study, result)]
    if best is not None:
        parts += ['<h2>The best beside the given geometry</h2>', _variables_table(study, result)]
        drawn = report_pictures.beside(study.judge.mechanism, best)
        parts.append(image(drawn, 'The two mechanisms at home'))
    if len(study.objectives) > 1 and len(result.front):
        parts += ['<h2>Front: what no other geometry excels in all</h2>']
        parts.append(image(report_pictures.front(study, result), 'Samples and front'))
        parts.append(_front_table(study, result))
    parts += ['<h2>Samples</h2>']
    parts.append(image(report_pictures.parallel(study, result), 'Parallel coordinates'))
    if result.sensitivity is not None:
        parts += ['<h2>Which variable matters</h2>', f'<p>{_sensitivity_note(result)}</p>']
        parts.append(image(report_pictures.indices(result.sensitivity), 'Sobol indices'))
    parts += ['<h2>Study</h2>', f'<pre>{html.escape(study.text)}</pre>']
    return page(study.content.title, parts)


def _sensitivity_note(result: StudyResult) -> str:
    assert result.sensitivity is not None
    missing = result.sensitivity.missing
    note = (
        'Sobol indices over the whole box: the part of the variance of a figure that a variable '
        'causes alone (dark) and together with others (light). What is beyond 98 % of the samples '
        'counts as the last of them: the few geometries near a singularity would decide.'
    )
    if missing:
        note += f' {100 * missing:.2g} % of the geometries have no figures and count as the mean.'
    return note


def _figures_table(study: Study, result: StudyResult) -> str:
    rows = []
    for name in study.judge.names:
        values = result.column(result.shown, name)
        values = values[np.isfinite(values)]
        unit = study.judge.units.get(name, '')
        row = [name, unit, _number(result.column(result.given, name))]
        row.append('' if result.best is None else _number(result.column(result.best, name)))
        row += [_number(np.quantile(values, p)) if len(values) else '' for p in (0.0, 0.5, 1.0)]
        state = f'{name}_state'
        row.append(_place(study, result, state) if state in result.columns else '')
        rows.append(row)
    head = ['figure', 'unit', 'given', 'best', 'least', 'median', 'largest', 'best one worst at']
    return table(head, rows)


def _place(study: Study, result: StudyResult, state: str) -> str:
    if result.best is None:
        return ''
    at = result.column(result.best, state)
    return study.judge.states.place(int(at)) if at >= 0 else ''


def _variables_table(study: Study, result: StudyResult) -> str:
    assert result.best is not None
    rows = []
    for k, axis in enumerate(study.judge.space.axes):
        given_text = '' if axis.given is None else f'{axis.given:.6g}'
        value = result.best[k]
        text = _motors(study, value) if axis.name == MOTORS else f'{value:.6g}'
        rows.append([axis.name, f'{axis.low:.6g} … {axis.high:.6g}', given_text, text])
    return table(['variable (SI)', 'range', 'given', 'best'], rows)


def _front_table(study: Study, result: StudyResult) -> str:
    some: Sequence[int] = np.unique(
        np.linspace(0, len(result.front) - 1, min(_MOST_LISTED, len(result.front)))
        .round()
        .astype(int)
    ).tolist()
    names = study.judge.names
    rows = [[_number(result.column(result.front[k], name)) for name in names] for k in some]
    return table([study.judge.label(name) for name in names], rows)
