# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of an experiment: strokes, mouthfuls, conditions with statistics, effects of factors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.laboratory import force_figures, mouthful_figures
from masticator_dynamics.robot.laboratory.factor_effects import (
    CONFIDENCE,
    Analysis,
    Comparison,
    Effect,
    analyse,
)
from masticator_dynamics.robot.laboratory.mouthful import SOUND_ENDS, JawLoads, Series
from masticator_dynamics.robot.laboratory.protocol import Mouthful
from masticator_dynamics.robot.laboratory.spread import Spread
from masticator_dynamics.robot.laboratory.units import condition, in_order


@dataclasses.dataclass(frozen=True)
class Result:
    """Results of a mouthful."""

    mouthful: Mouthful
    end: str  # 'done', 'force', 'broken', or the text of a fault
    strokes: tuple[mouthful_figures.Stroke, ...]
    jaw: JawLoads
    pressed: Mapping[str, float]  # figures of bites at a force; none of strokes
    first_bite: FloatArray  # (3, N): time, s, gap, m, and force, N, of the first stroke, if any

    @classmethod
    def of(cls, mouthful: Mouthful, series: Series, mechanism: Mechanism) -> Result:
        """Of what was recorded of a mouthful; no strokes where the mouth did not open."""
        opened = bool(mouthful_figures.openings(series.gap))
        strokes = mouthful_figures.strokes(series.time, series.gap, series.force) if opened else ()
        bite, pressed = mouthful.motion.force, dict[str, float]()
        if bite is not None:
            pressed = force_figures.figures(bite, strokes, series.time, series.gap, series.force)
        bitten = np.zeros(len(series.time), dtype=bool)
        if strokes:
            bitten = (series.time >= strokes[0].start) & (series.time <= strokes[0].end)
        first_bite = np.array([series.time, series.gap, series.force])[:, bitten]
        jaw = JawLoads.of(series, mechanism)
        return cls(mouthful, series.end, strokes, jaw, pressed, first_bite)

    @property
    def fault(self) -> bool:
        """Whether something went wrong."""
        return self.end not in SOUND_ENDS

    def figures(self) -> dict[str, float]:
        """Texture and load figures of the whole mouthful, by name; SI units."""
        return {**mouthful_figures.figures(self.strokes), **self.pressed, **self.jaw.figures()}


Table = tuple[list[str], list[list[Any]]]


def strokes_table(results: Sequence[Result]) -> Table:
    """One row per stroke."""
    fields = [field.name for field in dataclasses.fields(mouthful_figures.Stroke)]
    factors = _factors(results)
    rows = []
    for result in results:
        for k, stroke in enumerate(result.strokes, start=1):
            head = [*_head(result, factors), k]
            rows.append([*head, *(getattr(stroke, field) for field in fields)])
    return ['mouthful', *factors, 'repetition', 'stroke', *fields], rows


def mouthfuls_table(results: Sequence[Result]) -> Table:
    """One row per mouthful."""
    factors = _factors(results)
    names = list(results[0].figures()) if results else []
    rows = [[*_head(r, factors), r.end, *r.figures().values()] for r in results]
    return ['mouthful', *factors, 'repetition', 'end', *names], rows


Analyses = Mapping[str, Analysis]  # by figure


def analyses(results: Sequence[Result], random: bool) -> Analyses:
    """Analysis of variance of every figure over the factors; see :func:`analyse`."""
    factors, sound = _factors(results), _sound(results)
    if not sound:
        return {}
    levels = [[str(level) for level in _levels(result, factors)] for result in sound]
    figures = [result.figures() for result in sound]
    return {
        name: analyse(factors, levels, np.array([row[name] for row in figures]), random)
        for name in figures[0]
    }


class Statistics(NamedTuple):
    """A figure over the repetitions of a condition; NaN where these are too few.

    The 95 % confidence interval is on the scale on which the figure was analysed: of the mean, or
    of the geometric mean where logarithms were. ``center`` is that mean.
    """

    n: int = 0
    mean: float = math.nan
    sd: float = math.nan  # standard deviation
    cv: float = math.nan  # coefficient of variation
    ci_low: float = math.nan
    ci_high: float = math.nan
    scale: str = 'natural'
    center: float = math.nan


@dataclasses.dataclass(frozen=True)
class Condition:
    """Mouthfuls with the same levels of all factors, without those that ended in a fault."""

    levels: Mapping[str, Any]  # by factor
    figures: list[dict[str, float]]  # of each mouthful
    statistics: dict[str, Statistics]  # by figure

    @property
    def label(self) -> str:
        """How figures and tables call it."""
        return condition(self.levels)


def conditions(
    results: Sequence[Result], random: bool, analyses: Analyses = MappingProxyType({})
) -> list[Condition]:
    """Statistics of all figures in every condition; no intervals where nothing is random."""
    made = []
    for group in _groups(_sound(results)):
        figures = [result.figures() for result in group]
        statistics = {}
        for name in figures[0]:
            values = np.array([row[name] for row in figures])
            logarithms = name in analyses and analyses[name].logarithms
            numbers = summary(values[np.isfinite(values)], *bounds(name), logarithms)
            if not random:
                numbers = numbers._replace(ci_low=math.nan, ci_high=math.nan)
            statistics[name] = numbers
        made.append(Condition(group[0].mouthful.levels, figures, statistics))
    return made


def conditions_table(results: Sequence[Result], conditions: Sequence[Condition]) -> Table:
    """One row per condition and figure."""
    rows = [
        [*part.levels.values(), name, *numbers]
        for part in conditions
        for name, numbers in part.statistics.items()
    ]
    return [*_factors(results), 'figure', *Statistics._fields], rows


def spreads_table(analyses: Analyses) -> Table:
    """Tests of equal variances, one row per figure that was analysed, and what follows."""
    fields = [field.name for field in dataclasses.fields(Spread)]
    rows = [
        [figure, part.spread.method, *dataclasses.astuple(part.spread)]
        for figure, part in analyses.items()
        if part.spread
    ]
    return ['figure', 'method', *fields], rows


def analyses_table(analyses: Analyses, kind: type[Effect] | type[Comparison]) -> Table:
    """One row per figure and effect, or per figure and pair of levels of a factor."""
    fields = [field.name for field in dataclasses.fields(kind)]
    rows = [
        [name, *dataclasses.astuple(part)]
        for name, analysis in analyses.items()
        for part in (*analysis.effects, *analysis.comparisons)
        if isinstance(part, kind)
    ]
    return ['figure', *fields], rows


def bounds(figure: str) -> tuple[float, float]:
    """What a figure can be: motors take energy back; parts of a whole 0 to 1, others at least 0."""
    if figure == 'motor_energy':
        return -math.inf, math.inf
    if figure == 'decay_per_stroke':  # strokes can also become harder
        return -math.inf, 1.0
    part = figure in ('resilience', 'relaxed_share') or figure.endswith('_pulled')
    return 0.0, 1.0 if part else math.inf


def summary(
    values: FloatArray, low: float = -math.inf, high: float = math.inf, logarithms: bool = False
) -> Statistics:
    """Statistics of repetitions.

    Parameters
    ----------
    values : array, shape (N,)
    low, high : float
        What values can be.
    logarithms : bool
        Whether the interval is that of the geometric mean.
    """
    count = len(values)
    if not count:
        return Statistics()
    mean = float(values.mean())
    numbers = Statistics(count, mean, center=mean)
    if logarithms:
        center = float(np.exp(np.log(values).mean()))
        numbers = numbers._replace(scale='logarithm', center=center)
    if count < 2:
        return numbers
    deviation = float(values.std(ddof=1))
    variation = deviation / abs(mean) if mean else math.nan
    low, high = interval(values, low, high, logarithms)
    return numbers._replace(sd=deviation, cv=variation, ci_low=low, ci_high=high)


def interval(
    values: FloatArray, low: float, high: float, logarithms: bool = False
) -> tuple[float, float]:
    """Confidence interval, by Student's t, of the mean of two or more values (N,).

    It ends at a bound that the values keep. Of logarithms, it is that of the geometric mean.
    """
    low = low if values.min() >= low else -math.inf
    high = high if values.max() <= high else math.inf
    scaled = np.log(values) if logarithms else values
    t = float(stats.t.ppf(0.5 + 0.5 * CONFIDENCE, len(values) - 1))
    half = t * float(scaled.std(ddof=1)) / math.sqrt(len(values))
    ends = np.array([scaled.mean() - half, scaled.mean() + half])
    if logarithms:
        with np.errstate(over='ignore'):
            ends = np.exp(ends)
    return max(float(ends[0]), low), min(float(ends[1]), high)


def _sound(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if not result.fault]


def _factors(results: Sequence[Result]) -> list[str]:
    return list(results[0].mouthful.levels) if results else []


def _levels(result: Result, factors: Sequence[str]) -> list[Any]:
    return [result.mouthful.levels[factor] for factor in factors]


def _head(result: Result, factors: Sequence[str]) -> list[Any]:
    return [result.mouthful.number, *_levels(result, factors), result.mouthful.repetition]


def _groups(results: Sequence[Result]) -> list[list[Result]]:
    """Results grouped by their levels, in their order."""
    grouped: dict[tuple[Any, ...], list[Result]] = {}
    for result in sorted(results, key=lambda r: r.mouthful.repetition):
        grouped.setdefault(tuple(result.mouthful.levels.values()), []).append(result)
    return [grouped[levels] for levels in sorted(grouped, key=in_order)]
