# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of an experiment: strokes, mouthfuls, conditions with statistics, effects of factors."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.laboratory import mouthful_figures
from masticator_dynamics.robot.laboratory.factor_effects import (
    CONFIDENCE,
    Comparison,
    Effect,
    analyse,
)
from masticator_dynamics.robot.laboratory.mouthful import SOUND_ENDS, JawLoads, Series
from masticator_dynamics.robot.laboratory.protocol import Mouthful


@dataclasses.dataclass(frozen=True)
class Result:
    """Results of a mouthful.

    Attributes
    ----------
    mouthful : Mouthful
    end : str
        'done', 'force', 'broken', or the text of a fault.
    strokes : tuple of Stroke
    jaw : JawLoads
    """

    mouthful: Mouthful
    end: str
    strokes: tuple[mouthful_figures.Stroke, ...]
    jaw: JawLoads

    @classmethod
    def of(cls, mouthful: Mouthful, series: Series, mechanism: Mechanism) -> Result:
        """Of what was recorded of a mouthful; no strokes where the mouth did not open."""
        opened = bool(mouthful_figures.openings(series.gap))
        found = mouthful_figures.strokes(series.time, series.gap, series.force) if opened else ()
        return cls(mouthful, series.end, found, JawLoads.of(series, mechanism))

    @property
    def fault(self) -> bool:
        """Whether something went wrong."""
        return self.end not in SOUND_ENDS

    def figures(self) -> dict[str, float]:
        """Texture and load figures of the whole mouthful, by name; SI units."""
        return {**mouthful_figures.figures(self.strokes), **self.jaw.figures()}


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


def conditions_table(results: Sequence[Result], random: bool) -> Table:
    """Statistics over the repetitions of every condition, one row per figure.

    Mean, standard deviation, coefficient of variation and the 95 % confidence interval of the mean,
    which stays within what the figure can be (:func:`interval`) and is left out where nothing is
    random. Mouthfuls that ended in a fault are left out.
    """
    factors = _factors(results)
    columns = [*factors, 'figure', 'n', 'mean', 'sd', 'cv', 'ci_low', 'ci_high']
    rows = []
    for levels, group in _groups(_sound(results), factors):
        for name in group[0].figures():
            values = np.array([result.figures()[name] for result in group])
            found = summary(values[np.isfinite(values)], *bounds(name))
            rows.append([*levels, name, *(found if random else (*found[:4], math.nan, math.nan))])
    return columns, rows


Analyses = Sequence[tuple[str, list[Effect], list[Comparison]]]


def analyses(results: Sequence[Result], random: bool) -> Analyses:
    """Analysis of variance of every figure over the factors; see :func:`analyse`."""
    factors, sound = _factors(results), _sound(results)
    if not sound:
        return []
    levels = [[str(level) for level in _levels(result, factors)] for result in sound]
    figures = [result.figures() for result in sound]
    return [
        (name, *analyse(factors, levels, np.array([row[name] for row in figures]), random))
        for name in figures[0]
    ]


def analyses_table(found: Analyses, kind: type[Effect] | type[Comparison]) -> Table:
    """One row per figure and effect, or per figure and pair of levels of a factor."""
    fields = [field.name for field in dataclasses.fields(kind)]
    rows = [
        [name, *dataclasses.astuple(part)]
        for name, effects, pairs in found
        for part in (*effects, *pairs)
        if isinstance(part, kind)
    ]
    return ['figure', *fields], rows


def bounds(figure: str) -> tuple[float, float]:
    """What a figure can be: motors take energy back; parts of a whole 0 to 1, others at least 0."""
    if figure == 'motor_energy':
        return -math.inf, math.inf
    if figure == 'decay_per_stroke':  # strokes can also become harder
        return -math.inf, 1.0
    return 0.0, 1.0 if figure == 'resilience' or figure.endswith('_pulled') else math.inf


def summary(
    values: FloatArray, low: float = -math.inf, high: float = math.inf
) -> tuple[float, ...]:
    """Count, mean, standard deviation, coefficient of variation, confidence interval.

    Parameters
    ----------
    values : array, shape (N,)
    low, high : float
        What values can be.
    """
    count = len(values)
    if not count:
        return 0, *[math.nan] * 5
    mean = float(values.mean())
    if count < 2:
        return count, mean, *[math.nan] * 4
    deviation = float(values.std(ddof=1))
    variation = deviation / abs(mean) if mean else math.nan
    return count, mean, deviation, variation, *interval(values, low, high)


def interval(values: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Confidence interval of the mean of two or more values (N,) between two bounds.

    Student's t on a scale without bounds (the logarithm, or the logit), by the delta method: it
    contains the mean and stays within the bounds. A bound that values do not keep is none.
    """
    low = low if values.min() >= low else -math.inf
    high = high if values.max() <= high else math.inf
    mean, count = float(values.mean()), len(values)
    t = float(stats.t.ppf(0.5 + 0.5 * CONFIDENCE, count - 1))
    half = t * float(values.std(ddof=1)) / math.sqrt(count)
    bounded = math.isfinite(low), math.isfinite(high)
    if not any(bounded) or not low < mean < high:
        return mean - half, mean + half
    above, below = mean - low, high - mean  # ratio of the mean to its bounds, and its slope
    reach = math.exp(min(half * (1.0 / above + 1.0 / below), 700.0))
    if not bounded[1]:
        return low + above / reach, low + above * reach
    if not bounded[0]:
        return high - below * reach, high - below / reach
    width, odds = high - low, above / below
    return low + width / (1.0 + reach / odds), low + width / (1.0 + 1.0 / (odds * reach))


def _sound(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if not result.fault]


def _factors(results: Sequence[Result]) -> list[str]:
    return list(results[0].mouthful.levels) if results else []


def _levels(result: Result, factors: Sequence[str]) -> list[Any]:
    return [result.mouthful.levels[factor] for factor in factors]


def _head(result: Result, factors: Sequence[str]) -> list[Any]:
    return [result.mouthful.number, *_levels(result, factors), result.mouthful.repetition]


def _groups(
    results: Sequence[Result], factors: Sequence[str]
) -> list[tuple[list[Any], list[Result]]]:
    """Results grouped by their levels of some factors, sorted by the levels' text."""
    ordered = sorted(results, key=lambda r: [str(level) for level in _levels(r, factors)])
    grouped = itertools.groupby(ordered, key=lambda r: _levels(r, factors))
    return [
        (levels, sorted(group, key=lambda r: r.mouthful.repetition)) for levels, group in grouped
    ]
