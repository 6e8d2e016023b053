# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measured compressions: force over displacement, in SI units, and the food they tell of.

Files are those of any analyser. A unit is read from the header, or from the row below it, or it is
given; it is never guessed.
"""

from __future__ import annotations

import dataclasses
import difflib
import pathlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.errors import InputError
from masticator_dynamics.files.instrument_table import (
    InstrumentTable,
    NoHeaderError,
    read_instrument_table,
)
from masticator_dynamics.files.yaml_file import checked
from masticator_dynamics.robot.laboratory.mouthful_figures import openings
from masticator_dynamics.robot.laboratory.units import CURVES, SI, UNITS, check_possible, unit_value
from masticator_dynamics.robot.twin.food import Food

SUFFIXES = ('.csv', '.txt', '.tsv', '.tab', '.dat', '.asc')  # of curves in a folder
_ENDS = {kind: tuple(words.split()) for kind, words in CURVES['words'].items()}
_SIMILAR = 0.7  # of a misspelt word, by difflib; 'froce' and 'force' are 0.8 alike
_BRACKETED = re.compile(r'[(\[{<]([^)\]}>]*)[)\]}>]')
_BEHIND = re.compile(r'(?:\bin\b|\ben\b|[/,_|:]|\s)\s*([^\s/,_|:]+)\s*$')


@dataclasses.dataclass(frozen=True)
class Curve:
    """A measured compression."""

    displacement: FloatArray  # (N,), of the plunger towards the sample, m, from 0 where it starts
    force: FloatArray  # (N,), N, positive in compression
    time: FloatArray  # (N,), s, increasing; empty if it was not asked for
    reading: str  # which columns were read, and in which units


def read_curve(
    source: str,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    timed: bool = False,
) -> Curve:
    """Read a curve.

    Displacement and force count from either side: whatever moves away from where it starts
    compresses, and pushes while it does so.

    Parameters
    ----------
    source : str
        Path of the file.
    columns : mapping, optional
        Name or number (from 1) of a column, by 'displacement', 'force' or 'time'; by default found
        by the words in the header.
    units : mapping, optional
        Unit, likewise; by default that of the header, or SI for columns that are named
        ``displacement``, ``force`` and ``time``.
    timed : bool
        Whether the time is needed.

    Raises
    ------
    InputError
        If a column or its unit is missing or cannot be told, a cell is no number, or the values
        are those of no sample.
    """
    kinds = ['displacement', 'force', *(['time'] if timed else [])]
    named = dict(columns or {})
    wanted = ', '.join(repr(named[kind]) if kind in named else kind for kind in kinds)
    near: list[str] = []

    def chosen(cells: Sequence[str]) -> list[int] | None:
        near.extend([] if near else _meant(cells, kinds, named))
        return _chosen(cells, kinds, named)

    try:
        table = read_instrument_table(source, chosen, wanted)
    except NoHeaderError as error:
        raise InputError(f'{error}{"".join(near)}') from None
    values, readings = {}, []
    for k, kind in enumerate(kinds):
        unit = _unit(source, table, k, kind, (units or {}).get(kind))
        values[kind] = table.values[:, k] * UNITS[kind][unit.casefold()]
        readings.append(f'{kind} from {table.names[k]!r} in {unit}')
        largest = np.ptp(values[kind]) if kind != 'force' else np.abs(values[kind]).max()
        check_possible(
            f'{source}: {kind} in column {table.names[k]!r}', kind, float(largest),
            f'--units {kind}=UNIT says which unit is meant',
        )  # fmt: skip
    if timed:
        _check_increasing(source, values['time'], table)
    displacement, force = _towards(values['displacement'], values['force'])
    time = values.get('time', np.zeros(0))
    return Curve(displacement, force, time, f'{source}: {", ".join(readings)}')


def curve_files(names: Iterable[str]) -> list[str]:
    """Files, and those of folders that can hold curves, in alphabetical order.

    Raises
    ------
    InputError
        For a folder without any.
    """
    files: list[str] = []
    for name in names:
        path = pathlib.Path(name)
        if not path.is_dir():
            files.append(name)
            continue
        inside = sorted(str(f) for f in path.iterdir() if f.suffix.lower() in SUFFIXES)
        if not inside:
            raise InputError(f'{name}: no file in this folder ends in {", ".join(SUFFIXES)}')
        files += inside
    return list(dict.fromkeys(files))


def _chosen(
    cells: Sequence[str], kinds: Sequence[str], named: Mapping[str, str]
) -> list[int] | None:
    """Columns of a header for each kind; None if the line has not all of them."""
    columns = []
    for kind in kinds:
        fits = _candidates(cells, kind, named.get(kind))
        if not fits:
            return None
        if len(fits) > 1:
            names = ', '.join(repr(cells[c]) for c in fits)
            raise InputError(
                f'{kind} could be each of {names}; say --columns {kind}=NAME, or its number'
            )
        columns.append(fits[0])
    return columns


def _meant(cells: Sequence[str], kinds: Sequence[str], named: Mapping[str, str]) -> list[str]:
    """For a line that names some of the kinds: which of its other cells nearly name the rest."""
    lacking = [kind for kind in kinds if not _candidates(cells, kind, named.get(kind))]
    if len(lacking) in (0, len(kinds)):
        return []
    hints = []
    for kind in lacking:
        for cell in cells:
            words = _words(cell) if kind not in named else [cell.casefold()]
            names = _ENDS[kind] if kind not in named else [named[kind].casefold()]
            if any(difflib.get_close_matches(word, names, 1, _SIMILAR) for word in words):
                hints.append(f"; is {cell!r} meant? --columns {kind}='{cell}'")
                break
    return hints


def _candidates(cells: Sequence[str], kind: str, name: str | None) -> list[int]:
    if name is not None:
        fits = [c for c, cell in enumerate(cells) if cell.casefold() == name.strip().casefold()]
        if not fits and name.strip().isdecimal() and 1 <= int(name) <= len(cells):
            return [int(name) - 1]
        return fits
    fits = [c for c, cell in enumerate(cells) if _kind(cell) == kind]
    # A rate or a ratio has the words, but not the unit of the quantity.
    with_units = [c for c in fits if unit_value(kind, _unit_of_name(cells[c])) is not None]
    return with_units or fits


def _kind(name: str) -> str | None:
    """Quantity of a column, by the last of its words that names one."""
    kinds = [kind for word in _words(name) for kind, ends in _ENDS.items() if word.endswith(ends)]
    return kinds[-1] if kinds else None


def _words(name: str) -> list[str]:
    """Words of a name, without accents and what is in brackets."""
    plain = unicodedata.normalize('NFKD', _BRACKETED.sub(' ', name).casefold())
    return re.findall(r'[a-z]+', ''.join(c for c in plain if not unicodedata.combining(c)))


def _unit_of_name(name: str) -> str:
    """What the name of a column gives as its unit; empty if there is nothing like one."""
    inside = _BRACKETED.search(name)
    if inside:
        return inside[1].strip()
    behind = _BEHIND.search(name)
    unit_names = {unit for units in UNITS.values() for unit in units}
    return behind[1] if behind and behind[1].casefold() in unit_names else ''


def _unit(source: str, table: InstrumentTable, k: int, kind: str, stated: str | None) -> str:
    """Unit of a column: as given, or by its name and the row below it, which must agree."""
    name = table.names[k]
    below = _BRACKETED.sub(r'\1', table.units[k]).strip()
    units = [stated] if stated else [unit for unit in (_unit_of_name(name), below) if unit]
    if not units and name == kind:
        units = [SI[kind]]
    how = f'say --units {kind}=UNIT, one of {", ".join(UNITS[kind])}'
    if not units:
        raise InputError(f'{source}: column {name!r} has no unit; {how}')
    for unit in units:
        if unit_value(kind, unit) is None:
            raise InputError(f'{source}: column {name!r}: {unit!r} is no known unit; {how}')
    if unit_value(kind, units[0]) != unit_value(kind, units[-1]):
        raise InputError(
            f'{source}: column {name!r} has two units, {units[0]} and {units[1]}; {how}'
        )
    return units[0].strip().strip('.')


def _check_increasing(source: str, time: FloatArray, table: InstrumentTable) -> None:
    late = np.flatnonzero(np.diff(time) <= 0.0)
    if len(late):
        row = int(late[0]) + 1
        raise InputError(
            f'{source}: line {table.lines[row]}: the time, {time[row]:.9g} s, does not increase; '
            f'the row before has {time[row - 1]:.9g} s'
        )


def _towards(displacement: FloatArray, force: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both as positive in compression.

    The plunger goes to where the force is largest, and what resists it on the way is pressure.
    """
    moved = displacement - displacement[0]
    moved *= np.sign(moved[np.argmax(np.abs(force))]) or 1.0
    step = np.diff(moved)
    work = np.sum(0.5 * (force[1:] + force[:-1]) * step * (step > 0.0))
    return moved, force if work >= 0.0 else -force


_TOUCH = 0.02  # share of the peak at which the compression begins
_RISE = (0.1, 0.6)  # shares of the peak between which stiffness is taken
_FRACTURE = 0.3  # share of the force lost where a food counts as breaking
_BEYOND_NOISE = 0.1  # share of the peak below which nothing counts as breaking
_BENDS = 1.1  # line of the rise over the largest force, from where on that force is a yield
_FEWEST = 10  # rows


@dataclasses.dataclass(frozen=True)
class DrawnFit:
    """Forces (N,) as measured and by the law, N, along (N,) what the label says."""

    label: str
    along: FloatArray
    measured: FloatArray
    law: FloatArray


@dataclasses.dataclass(frozen=True)
class FoodFit:
    """A food and how well it fits the curve."""

    food: Food
    residual: float  # RMS of law minus curve while the sample is compressed, over the peak
    # Whether the curve bends off from its rise, and whether it shows a fracture. Without a yield,
    # the largest force of the rise stands for it.
    yields: bool
    breaks: bool
    touch: float  # m, displacement at which the compression begins
    notes: tuple[str, ...]  # what of the curve is not in the food
    drawn: DrawnFit


def _after_fracture(force: FloatArray, fracture: int) -> tuple[float, list[str]]:
    """Median force of what flows on, until the curve rises again; a note if it does."""
    after = force[fracture + 1 :]
    higher = np.flatnonzero(after >= force[fracture])
    left = float(np.median(after[: higher[0] if len(higher) else None]))
    if not len(higher):
        return left, []
    return left, [
        f'after the fracture at {force[fracture]:.4g} N the force rises again, to '
        f'{after.max():.4g} N; a food does not'
    ]


def fit_food(
    displacement: FloatArray, force: FloatArray, *, thickness: float, softening: float = 1.0
) -> FoodFit:
    """Stiffness, yield force and fracture from the first compression of a curve.

    Parameters
    ----------
    displacement : array, shape (N,)
        m, increasing while the sample is compressed; rows after that are left out.
    force : array, shape (N,)
        N, positive in compression.
    thickness : float
        m, of the sample: the curve does not show it.
    softening : float
        Of a bite relative to the one before: a single compression does not show it.

    Raises
    ------
    InputError
        If the curve shows no compression, or one by more than the thickness.
    DescriptionError
        If no food has such a thickness or softening.
    """
    check_curve(displacement, force, thickness)
    end, bites = first_compression(displacement)
    whole_x, whole_f = x, f = displacement[:end], force[:end]
    peak = float(f.max())
    first = first_touch(f)
    x, f = x[first:], f[first:]
    fracture = first_fracture(f)
    top = int(np.argmax(f if fracture is None else f[: fracture + 1]))
    stiffness, zero = rising_line(x[: top + 1], f[: top + 1])
    depth = x - zero
    if depth[-1] > thickness:
        raise InputError(
            f'the sample is compressed by {1e3 * depth[-1]:.3g} mm, its thickness is said to be '
            f'{1e3 * thickness:.3g} mm'
        )
    notes = [f'only the first of {bites} compressions is fitted'] if bites > 1 else []
    whole = slice(None if fracture is None else fracture + 1)  # rows before it breaks
    yields = bool(stiffness * float(depth[whole][-1]) > _BENDS * f[top])
    flow = _flow(stiffness * depth[whole], f[whole]) if yields else float(f[top])
    if not yields:
        notes.append(
            f'no yield up to {f[top]:.4g} N, the largest force of the rise, which stands for it'
        )
    compression, rest = 2.0 * thickness, 1.0
    if fracture is not None:
        compression = float(0.5 * (depth[fracture] + depth[fracture + 1]))
        left, again = _after_fracture(f, fracture)
        rest = float(np.clip(left / flow, 0.0, 1.0))
        notes += again
    fitted = dict(
        thickness=thickness,
        stiffness=stiffness,
        yield_force=flow,
        break_compression=compression,
        broken_force=rest,
        renewal_gap=1.25 * thickness,
        softening=softening,
    )
    food = checked(Food, fitted, 'the fitted food')
    residual = rms(predicted(food, depth) - f) / peak
    drawn = DrawnFit(
        'compression, mm', 1e3 * (whole_x - zero), whole_f, predicted(food, whole_x - zero)
    )
    return FoodFit(food, residual, yields, fracture is not None, zero, tuple(notes), drawn)


def _flow(elastic: FloatArray, force: FloatArray) -> float:
    """Yield force (N) by least squares of a food's law, for the force (N,) if it were elastic."""

    def squares(flow: float) -> float:
        return float(np.sum((np.minimum(elastic, flow) - force) ** 2))

    most = float(force.max())
    return float(minimize_scalar(squares, (0.0, most), bounds=(0.0, most), method='bounded',
                                 options={'xatol': 1e-9 * most}).x)  # fmt: skip


def first_compression(displacement: FloatArray) -> tuple[int, int]:
    """Row behind the deepest of the first compression, and how many there are."""
    starts = openings(displacement.max() - displacement)
    first = displacement[: starts[1]] if len(starts) > 1 else displacement
    return int(np.argmax(first)) + 1, len(starts)


def predicted(food: Food, depth: FloatArray) -> FloatArray:
    """Force (N,) of a food's law in one slow compression by depth (N,), m."""
    force = np.minimum(food.stiffness * np.maximum(depth, 0.0), food.yield_force)
    return np.where(depth >= food.break_compression, food.broken_force * force, force)


def fit_figure(fit: FoodFit) -> Any:
    """The measured compression, and the law that was fitted to it."""
    from matplotlib.figure import Figure

    drawn = fit.drawn
    figure = Figure(figsize=(5.0, 3.4), layout='constrained')
    axes = figure.subplots()
    axes.plot(drawn.along, drawn.measured, '.', color='0.6', ms=3, label='measured')
    axes.plot(drawn.along, drawn.law, color='C3', lw=1.4, label='fitted')
    axes.set(
        xlabel=drawn.label, ylabel='force, N',
        title=f'residual {fit.residual:.1%} of the peak',
    )  # fmt: skip
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    return figure


def check_curve(displacement: FloatArray, force: FloatArray, thickness: float) -> None:
    """Refuse (`InputError`) what is no compression."""
    if not thickness > 0.0:
        raise InputError(f'the thickness is {thickness} m, expected a positive number')
    if len(displacement) < _FEWEST:
        raise InputError(f'{len(displacement)} rows; a compression needs at least {_FEWEST}')
    if not force.max() > 0.0:
        raise InputError(f'the largest force is {force.max():.3g} N; compression must be positive')


def first_touch(force: FloatArray) -> int:
    """Row at which the compression begins."""
    return int(np.argmax(force > _TOUCH * float(force.max())))


def first_fracture(force: FloatArray) -> int | None:
    """Last row before the first drop that loses a large share of the force within three rows."""
    for k in np.flatnonzero(np.diff(force) < 0.0).tolist():
        after = force[k + 1 : k + 4].min()
        if force[k] - after > _FRACTURE * force[k] and force[k] > _BEYOND_NOISE * force.max():
            return int(k)
    return None


def rising_line(x: FloatArray, force: FloatArray) -> tuple[float, float]:
    """Slope (N/m) of the rise and where it begins (m)."""
    low, high = (part * force[-1] for part in _RISE)
    chosen = (force >= low) & (force <= high)
    if np.count_nonzero(chosen) < 3 or np.ptp(x[chosen]) == 0.0:
        raise InputError('the rise of the force has fewer than three rows: record it finer')
    slope, offset = np.polyfit(x[chosen], force[chosen], 1)
    if not slope > 0.0:
        raise InputError('the force does not rise with the displacement')
    return float(slope), float(-offset / slope)
