# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of an experiment: strokes, mouthfuls, conditions with statistics, effects of factors."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from masticator_dynamics.robot.laboratory import texture
from masticator_dynamics.robot.laboratory.jaw import JawLoads
from masticator_dynamics.robot.laboratory.mouthful import SOUND_ENDS

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Result:
    """Results of a mouthful.

    Attributes
    ----------
    number : int
    levels : dict
        Levels of the factors.
    repetition : int
    end : str
        'done', 'force', 'broken', or the text of a fault.
    strokes : tuple of Stroke
    jaw : JawLoads
    """

    number: int
    levels: Mapping[str, Any]
    repetition: int
    end: str
    strokes: tuple[texture.Stroke, ...]
    jaw: JawLoads

    @property
    def fault(self) -> bool:
        """Whether something went wrong."""
        return self.end not in SOUND_ENDS

    def figures(self) -> dict[str, float]:
        """Texture and load figures of the whole mouthful, by name; SI units."""
        return {**texture.figures(self.strokes), **self.jaw.figures()}


Table = tuple[list[str], list[list[Any]]]


def strokes_table(results: Sequence[Result]) -> Table:
    """One row per stroke."""
    fields = [field.name for field in dataclasses.fields(texture.Stroke)]
    factors = _factors(results)
    rows = []
    for result in results:
        for k, stroke in enumerate(result.strokes, start=1):
            head = [result.number, *_levels(result, factors), result.repetition, k]
            rows.append([*head, *(getattr(stroke, field) for field in fields)])
    return ['mouthful', *factors, 'repetition', 'stroke', *fields], rows


def mouthfuls_table(results: Sequence[Result]) -> Table:
    """One row per mouthful."""
    factors = _factors(results)
    names = list(results[0].figures()) if results else []
    rows = [
        [r.number, *_levels(r, factors), r.repetition, r.end, *r.figures().values()]
        for r in results
    ]
    return ['mouthful', *factors, 'repetition', 'end', *names], rows


def conditions_table(results: Sequence[Result]) -> Table:
    """Statistics over the repetitions of every condition, one row per figure.

    Mean, standard deviation, coefficient of variation and the 95 % confidence interval of the mean
    (Student's t). Mouthfuls that ended in a fault are left out.
    """
    factors = _factors(results)
    columns = [*factors, 'figure', 'n', 'mean', 'sd', 'cv', 'ci_low', 'ci_high']
    rows = []
    for levels, group in _groups(_sound(results), factors):
        for name in group[0].figures():
            values = np.array([result.figures()[name] for result in group])
            rows.append([*levels, name, *summary(values[np.isfinite(values)])])
    return columns, rows


def effects_table(results: Sequence[Result]) -> Table:
    """Main effect of every factor on every figure: one-way analysis of variance.

    F, p, and eta squared: the share of the figure's variance explained by the factor's levels. Not
    given if a factor has one level, if there are no repetitions within a level, or if all values
    are the same.
    """
    columns = ['factor', 'figure', 'levels', 'n', 'f', 'p', 'eta_squared']
    rows: list[list[Any]] = []
    sound = _sound(results)
    for factor in _factors(results):
        groups = [group for _, group in _groups(sound, [factor])]
        if len(groups) < 2:
            continue
        for name in groups[0][0].figures():
            samples = [
                np.array([v for v in (r.figures()[name] for r in group) if math.isfinite(v)])
                for group in groups
            ]
            rows.append([factor, name, len(groups), sum(map(len, samples)), *_effect(samples)])
    return columns, rows


def summary(values: np.ndarray) -> tuple[float, ...]:
    """Count, mean, standard deviation, coefficient of variation, confidence interval."""
    count = len(values)
    if not count:
        return 0, *[math.nan] * 5
    mean = float(values.mean())
    if count < 2:
        return count, mean, *[math.nan] * 4
    deviation = float(values.std(ddof=1))
    half = float(stats.t.ppf(0.5 + 0.5 * CONFIDENCE, count - 1)) * deviation / math.sqrt(count)
    variation = deviation / abs(mean) if mean else math.nan
    return count, mean, deviation, variation, mean - half, mean + half


def _effect(samples: Sequence[np.ndarray]) -> tuple[float, float, float]:
    count = sum(map(len, samples))
    everything = np.concatenate(samples)
    total = float(np.sum((everything - everything.mean()) ** 2)) if count else 0.0
    if min(map(len, samples)) < 1 or count <= len(samples) or total == 0.0:
        return math.nan, math.nan, math.nan
    between = sum(len(s) * float(s.mean() - everything.mean()) ** 2 for s in samples)
    within = max(total - between, 0.0)
    freedoms = (len(samples) - 1, count - len(samples))
    if within <= 1e-12 * total:
        return math.inf, 0.0, 1.0
    f = (between / freedoms[0]) / (within / freedoms[1])
    return f, float(stats.f.sf(f, *freedoms)), between / total


def _sound(results: Sequence[Result]) -> list[Result]:
    return [result for result in results if not result.fault]


def _factors(results: Sequence[Result]) -> list[str]:
    return list(results[0].levels) if results else []


def _levels(result: Result, factors: Sequence[str]) -> list[Any]:
    return [result.levels[factor] for factor in factors]


def _groups(
    results: Sequence[Result], factors: Sequence[str]
) -> list[tuple[list[Any], list[Result]]]:
    """Results grouped by their levels of some factors, sorted by the levels' text."""
    ordered = sorted(results, key=lambda r: [str(level) for level in _levels(r, factors)])
    grouped = itertools.groupby(ordered, key=lambda r: _levels(r, factors))
    return [(levels, sorted(group, key=lambda r: r.repetition)) for levels, group in grouped]
