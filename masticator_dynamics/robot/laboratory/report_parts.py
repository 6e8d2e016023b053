# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of a report: pictures, the paragraph on methods, tables as CSV, Parquet and a workbook."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import math
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import replacing, write_table
from masticator_dynamics.optional import from_checkout
from masticator_dynamics.robot.laboratory import force_figures, mouthful_bag
from masticator_dynamics.robot.laboratory.experiment_run import ROBOT, Experiment
from masticator_dynamics.robot.laboratory.mouthful_figures import TOUCH
from masticator_dynamics.robot.laboratory.protocol import Mouthful
from masticator_dynamics.robot.laboratory.result_tables import Analyses, Condition, Result, Table
from masticator_dynamics.robot.laboratory.spread import SUSPECT
from masticator_dynamics.robot.laboratory.units import (
    SHOWN,
    TEXTS,
    condition,
    in_order,
    level,
    named_term,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALONG = 300  # points of a mean curve
_PANELS = 9


def force_figure(results: Sequence[Result]) -> Any:
    """First bites over the gap, and peaks from stroke to stroke: mean and standard deviation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout='constrained')
    first, peaks = figure.subplots(1, 2)
    for k, (name, chewed) in enumerate(_by_condition(results).items()):
        gap, mean, spread = mean_bite([result.first_bite[1:] for result in chewed])
        first.plot(1e3 * gap, mean, color=f'C{k}', lw=1.4, label=name)
        first.fill_between(1e3 * gap, mean - spread, mean + spread, color=f'C{k}', alpha=0.2, lw=0)
        curves = [[stroke.peak_force for stroke in result.strokes] for result in chewed]
        count = min(map(len, curves))
        heights = np.array([curve[:count] for curve in curves])
        deviation = heights.std(axis=0, ddof=1) if len(heights) > 1 else None
        peaks.errorbar(
            np.arange(1, count + 1), heights.mean(axis=0), deviation, fmt='o-', color=f'C{k}',
            ms=3, lw=0.9, capsize=2,
        )  # fmt: skip
    first.set(xlabel='gap of the teeth, mm', ylabel='force of the food, N', title='first bite')
    first.set_xlim(left=0.0, right=first.get_xlim()[1])
    first.invert_xaxis()
    peaks.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    peaks.set_xlim(peaks.dataLim.x0 - 0.2, peaks.dataLim.x1 + 0.2)
    peaks.set(xlabel='stroke', ylabel='peak force, N', title='peak of every stroke', ylim=(0, None))
    if len(first.lines) > 1:
        first.legend(fontsize=8, frameon=False)
    for axes in (first, peaks):
        axes.grid(alpha=0.3)
    return figure


def held_figure(results: Sequence[Result]) -> Any:
    """Deformation and force over time of first bites at a force, and the exponentials fitted."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout='constrained')
    travel, load = figure.subplots(1, 2)
    for k, (name, chewed) in enumerate(_by_condition(results).items()):
        for result in chewed:
            bite, stroke = result.mouthful.motion.force, result.strokes[0]
            time, gap, force = result.first_bite
            touched = np.flatnonzero(force > TOUCH)
            if bite is None or not len(touched):
                continue
            under = slice(touched[0], touched[-1] + 1)
            since, deformation = time - time[touched[0]], 1e3 * (stroke.height - gap)
            label = None if name in travel.get_legend_handles_labels()[1] else name
            travel.plot(since[under], deformation[under], color=f'C{k}', lw=0.9, label=label)
            load.plot(since[under], force[under], color=f'C{k}', lw=0.9)
            fitted = force_figures.fits(bite, stroke, time, gap, force) or ()
            for axes, fit, scale in zip((travel, load), fitted, (1e3, 1.0), strict=False):
                axes.plot(since[fit.rows], scale * fit.values(time), 'k--', lw=0.9)
    travel.set(ylabel='deformation, mm', title='travel of the teeth since the touch')
    load.set(ylabel='force of the food, N', title='force', ylim=(0, None))
    if len(travel.get_legend_handles_labels()[1]) > 1:
        travel.legend(fontsize=8, frameon=False)
    for axes in (travel, load):
        axes.set_xlabel('time since the touch, s')
        axes.grid(alpha=0.3)
    return figure


def _by_condition(results: Sequence[Result]) -> dict[str, list[Result]]:
    """What was chewed, by condition, in the order of the levels."""
    conditions: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda r: in_order(r.mouthful.levels.values())):
        if result.strokes:
            conditions.setdefault(condition(result.mouthful.levels), []).append(result)
    return conditions


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


def _panels(count: int) -> tuple[Any, Any]:
    """A figure with room for some panels, three abreast, and all of its panels."""
    from matplotlib.figure import Figure

    rows = max(1, math.ceil(count / 3))
    figure = Figure(figsize=(9.0, 2.6 * rows), layout='constrained')
    return figure, figure.subplots(rows, 3, squeeze=False)


def figures_figure(conditions: Sequence[Condition]) -> Any:
    """A dot per mouthful, mean and confidence interval of each condition; a panel per figure."""
    finite = {
        name
        for part in conditions
        for name, numbers in part.statistics.items()
        if math.isfinite(numbers.mean)
    }
    chosen = [name for name in SHOWN if name in finite][:_PANELS]
    figure, panels = _panels(len(chosen))
    for axes, name in zip(panels.flat, chosen, strict=False):
        _plot_conditions(axes, name, conditions)
    for axes in panels.flat[len(chosen) :]:
        axes.set_visible(False)
    return figure


def _plot_conditions(axes: Axes, name: str, conditions: Sequence[Condition]) -> None:
    """One figure in all conditions."""
    unit, scale = SHOWN[name]
    for place, part in enumerate(conditions):
        dots = [scale * row[name] for row in part.figures if math.isfinite(row[name])]
        axes.plot([place] * len(dots), dots, 'o', color=f'C{place}', ms=4, alpha=0.4)
        numbers = part.statistics[name]
        low, high, mean = scale * numbers.ci_low, scale * numbers.ci_high, scale * numbers.center
        if math.isfinite(mean):
            bar = [[mean - low], [high - mean]] if math.isfinite(low) else None
            axes.errorbar([place + 0.2], [mean], bar, fmt='_', color=f'C{place}', capsize=3)
    axes.set_title(name.replace('_', ' '), fontsize=10)
    axes.set_ylabel(unit)
    axes.set_xlim(-0.6, len(conditions) - 0.4)
    axes.set_xticks(range(len(conditions)), [part.label for part in conditions], fontsize=8)
    if len(conditions) > 3:
        axes.tick_params(axis='x', rotation=30)
        for label in axes.get_xticklabels():
            label.set(horizontalalignment='right', rotation_mode='anchor')
    axes.grid(axis='y', alpha=0.3)


def residuals_figure(analyses: Analyses) -> Any:
    """Q-Q plots: residuals in standard deviations over those of a normal distribution."""
    tested = {name for name, part in analyses.items() if len(part.residuals) > 2}
    chosen = [name for name in SHOWN if name in tested][:_PANELS]
    figure, panels = _panels(len(chosen))
    for axes, name in zip(panels.flat, chosen, strict=False):
        part = analyses[name]
        count = len(part.residuals)
        normal = stats.norm.ppf((np.arange(1, count + 1) - 0.375) / (count + 0.25))
        ends = [normal[0], normal[-1]]
        axes.plot(ends, ends, color='0.6', lw=1.0)
        axes.plot(normal, np.sort(part.residuals), 'o', ms=3, color='C0')
        method = f' ({part.spread.method})' if part.spread else ''
        axes.set_title(f'{name.replace("_", " ")}{method}', fontsize=9)
        axes.grid(alpha=0.3)
    for axes in panels.flat[len(chosen) :]:
        axes.set_visible(False)
    figure.supxlabel('normal distribution, standard deviations', fontsize=9)
    figure.supylabel('residuals', fontsize=9)
    return figure


PACKAGE = 'masticator_dynamics'
_YEAR = 2026


def methods(experiment: Experiment, analyses: Analyses) -> str:
    """What was done, as a paragraph of a paper."""
    protocol, metadata = experiment.protocol, _recorded(experiment)
    motion = protocol.motion
    if experiment.mouthfuls[0].motion.force:
        moved = _bitten(experiment)
    elif motion.recording:
        moved = f'The jaw repeated the recorded motion of a subject ({motion.recording})'
    else:
        same = {
            'motion.side': f'on the {motion.side} side',
            'motion.period': f'a period of {level("motion.period", motion.period)}',
            'motion.opening': f'an opening of {level("motion.opening", motion.opening)}',
            'motion.occlusal_gap': f'an occlusal gap of {motion.occlusal_gap:g} m',
        }
        kept_same = [text for name, text in same.items() if name not in protocol.factors]
        moved = ', '.join([f'The jaw chewed {_strokes(experiment)}', *kept_same])
    sentences = [
        f'Mouthfuls were chewed by {experiment.where} (six motors, four degrees of freedom, '
        f'sockets: {protocol.sockets}; drives at {metadata["rate"]:g} Hz).',
        f'{moved}.',
        _design(experiment),
    ]
    spread = {name: size for name, size in dict(protocol.variation).items() if size}
    if spread and experiment.where != ROBOT:
        parts = ', '.join(f'{name.replace("_", " ")} {size:g}' for name, size in spread.items())
        sentences.append(
            f'The simulated food varied from mouthful to mouthful (standard deviations of the '
            f'logarithm: {parts}).'
        )
    sentences.append(TEXTS['methods']['figures'].format(touch=TOUCH))
    if experiment.random:
        version = importlib.metadata.version('statsmodels')
        sentences.append(TEXTS['methods']['tests'].format(version=version))
        sentences.append(_variances(analyses))
    versions = metadata['versions']
    chewed, now = versions[PACKAGE], importlib.metadata.version(PACKAGE)
    software = f'Software: {PACKAGE} {chewed}' + (f' (this report: {now})' if now != chewed else '')
    sentences.append(
        f'{software}, Python {versions["python"]}, NumPy {versions["numpy"]}, SciPy '
        f'{versions["scipy"]}.'
    )
    return ' '.join(sentences)


def _variances(analyses: Analyses) -> str:
    """Which figures were analysed on which scale and with which variances."""
    figures: dict[str, list[str]] = {}
    for name, part in analyses.items():
        if part.spread and name in SHOWN:
            figures.setdefault(part.spread.method, []).append(name.replace('_', ' '))
    sentence = TEXTS['methods']['variances'].format(level=SUSPECT)
    applied = [
        f'{TEXTS["methods"][method.split()[0]]}: {", ".join(figures[method])}'
        for method in ('pooled', 'logarithms', 'separate variances')
        if method in figures
    ]
    return f'{sentence} ({"; ".join(applied)}).' if applied else f'{sentence}.'


def citation(experiment: Experiment) -> str:
    """How to cite the software that chewed."""
    version = _recorded(experiment)['versions'][PACKAGE]
    return f'The {PACKAGE} authors ({_YEAR}): {PACKAGE}, version {version}. Software.'


def _recorded(experiment: Experiment) -> dict[str, Any]:
    """Settings of the first mouthful that was chewed."""
    files = map(experiment.recording, experiment.mouthfuls)
    return mouthful_bag.read_settings(next(file for file in files if file.exists()))


def _strokes(experiment: Experiment) -> str:
    counts = sorted({mouthful.strokes for mouthful in experiment.mouthfuls})
    return ' or '.join(map(str, counts)) + ' strokes per mouthful'


def _bitten(experiment: Experiment) -> str:
    """How bites at a force were made."""
    bites = [m.motion.force for m in experiment.mouthfuls if m.motion.force]

    def levels(key: str, scale: float = 1.0) -> str:
        return ' or '.join(f'{scale * x:g}' for x in sorted({getattr(b, key) for b in bites}))

    count = _strokes(experiment).replace('strokes', 'bites')
    return (
        f'The jaw made {count} at a controlled force of {levels("level")} N (reached within '
        f'{levels("rise")} s, held for {levels("hold")} s; then the gap was held for '
        f'{levels("relaxation")} s), after an approach at {levels("approach", 1e3)} mm/s'
    )


def _design(experiment: Experiment) -> str:
    protocol = experiment.protocol
    factors = dict(protocol.factors)
    if protocol.samples:
        factors['strokes'] = list(protocol.samples)
    times = f'{protocol.repetitions} repetition{"s" * (protocol.repetitions > 1)}'
    order = f'in random order (seed {protocol.seed})' if protocol.order == 'random' else 'in order'
    if not factors:
        return f'{protocol.food} was chewed with {times}, {order}.'
    levels = ' × '.join(
        f'{named_term(name)} ({", ".join(level(name, v) for v in values)})'
        for name, values in factors.items()
    )
    return f'Factors were crossed: {levels}, with {times} of each condition, {order}.'


WORKBOOK, CURVES = 'results.xlsx', 'curves'
_CURVE = ('time', 'gap', 'force')  # s, m, N


@dataclasses.dataclass(frozen=True)
class Formats:
    """What is written beside CSV files and the report."""

    parquet: bool = False  # every table as Parquet, too; curves, if asked for, in one file
    xlsx: bool = False  # all tables as a workbook
    curves: bool = False  # time, gap and force of every mouthful

    def check(self) -> None:
        """Check that what they need is installed, before any long work.

        Raises
        ------
        InputError
            Naming what is not.
        """
        for asked, module, extra in (
            (self.parquet, 'pyarrow', 'parquet'), (self.xlsx, 'xlsxwriter', 'xlsx'),
        ):  # fmt: skip
            if asked and importlib.util.find_spec(module) is None:
                raise InputError(f'--{extra} needs {module}: {from_checkout(extra)}')


def write_tables(
    folder: pathlib.Path, tables: Mapping[str, Table], formats: Formats
) -> list[pathlib.Path]:
    """Write tables by name; return the files."""
    written = []
    for name, (columns, rows) in tables.items():
        file = folder / f'{name}.csv'
        write_table(str(file), columns, np.array(rows, dtype=object).reshape(-1, len(columns)))
        written.append(file)
        if formats.parquet:
            written.append(_write_parquet(file.with_suffix('.parquet'), columns, rows))
    if formats.xlsx:
        written.append(_write_workbook(folder / WORKBOOK, tables))
    return written


def write_curves(experiment: Experiment, formats: Formats) -> list[pathlib.Path]:
    """Write the curves of all existing recordings, one CSV each, and one Parquet file of all."""
    if not formats.curves:
        return []
    folder = experiment.folder / CURVES
    folder.mkdir(exist_ok=True)
    written = []
    for mouthful, values in _curves(experiment):
        file = folder / f'{mouthful.name}.csv'
        write_table(str(file), _CURVE, values)
        written.append(file)
    if formats.parquet:
        written.append(_write_curves_parquet(experiment))
    return written


def _curves(experiment: Experiment) -> Iterator[tuple[Mouthful, FloatArray]]:
    for mouthful, series in experiment.recorded():
        yield mouthful, np.column_stack([series.time, series.gap, series.force])


def _write_parquet(file: pathlib.Path, columns: list[str], rows: list[list[Any]]) -> pathlib.Path:
    import pyarrow.parquet

    content = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    with replacing(file, binary=True) as stream:
        pyarrow.parquet.write_table(pyarrow.table(content), stream)
    return file


def _write_curves_parquet(experiment: Experiment) -> pathlib.Path:
    """One row group for each mouthful, with its levels: more would not fit into memory."""
    import pyarrow as pa
    import pyarrow.parquet

    factors = list(experiment.mouthfuls[0].levels)
    schema = pa.schema(
        [('mouthful', pa.int32()), *((name, pa.string()) for name in factors),
         ('repetition', pa.int32()), *((name, pa.float64()) for name in _CURVE)]
    )  # fmt: skip
    file = experiment.folder / f'{CURVES}.parquet'
    with replacing(file, binary=True) as stream, pa.parquet.ParquetWriter(stream, schema) as out:
        for mouthful, values in _curves(experiment):
            count = len(values)
            head = [mouthful.number, *map(str, mouthful.levels.values()), mouthful.repetition]
            columns = [[cell] * count for cell in head] + list(values.T)
            out.write_table(pa.table(dict(zip(schema.names, columns, strict=True)), schema))
    return file


def _write_workbook(file: pathlib.Path, tables: Mapping[str, Table]) -> pathlib.Path:
    """A sheet for each table; what is not a finite number is an empty cell."""
    import xlsxwriter

    with replacing(file, binary=True) as stream:
        # Texts of a protocol are texts, whatever they begin with.
        plain = {'strings_to_formulas': False, 'strings_to_urls': False, 'in_memory': True}
        book = xlsxwriter.Workbook(stream, plain)
        heading = book.add_format({'bold': True})
        for name, (columns, rows) in tables.items():
            sheet = book.add_worksheet(name)
            sheet.freeze_panes(1, 0)
            sheet.write_row(0, 0, columns, heading)
            for k, row in enumerate(rows, start=1):
                sheet.write_row(k, 0, [_cell(value) for value in row])
        book.close()
    return file


def _cell(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return value if math.isfinite(value) else None
