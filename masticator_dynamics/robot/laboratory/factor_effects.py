# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Analysis of variance of crossed factors, and comparisons of their levels, by statsmodels.

Sums of squares are of type II: each effect is tested after all others that do not contain it, which
holds for unbalanced tables too. Effect sizes have intervals by the noncentral F distribution
(Steiger 2004), level comparisons those of Tukey and Kramer on estimated marginal means.

All this pools the variances of the conditions. Where these differ (:mod:`.spread`), logarithms are
analysed if theirs do not, and otherwise each condition keeps its own variance: F then has the
degrees of freedom of Box (1954), as in Brunner, Dette and Munk (1997), and levels are compared as
by Games and Howell (1976).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, stats

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.robot.laboratory.spread import (
    Spread,
    box_test,
    compare_spreads,
    conditions_of,
    standardised_residuals,
    variances_within,
)

CONFIDENCE = 0.95
_SAME = 1e-12  # of the largest value, or of the whole sum of squares: rounding
NOT_RANDOM = 'no p: nothing in it is random, so differences are exact'


@dataclasses.dataclass(frozen=True)
class Effect:
    """A factor, or an interaction such as ``food:motion.period``; NaN where it cannot be told."""

    term: str
    n: int  # values that were analysed
    df: float = math.nan  # degrees of freedom
    df_error: float = math.nan  # of the error
    f: float = math.nan  # F
    p: float = math.nan  # of that F
    p_holm: float = math.nan  # corrected for all effects on this figure (Holm 1979)
    eta_squared: float = math.nan  # share of the whole sum of squares
    partial_eta_squared: float = math.nan  # effect over effect and error
    low: float = math.nan  # end of its 95 % interval
    high: float = math.nan  # end of its 95 % interval
    note: str = ''  # what was not done, and why
    method: str = ''  # of the test: :attr:`.spread.Spread.method`


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two levels of a factor, averaged over the levels of the others.

    ``difference`` is second less first, with its simultaneous 95 % interval and p by Tukey and
    Kramer, or Games and Howell; ``d`` is the difference over the standard deviation within
    conditions. Where logarithms were analysed there is no difference but a ``ratio``, second over
    first, with its interval, and d is that of the logarithms.
    """

    factor: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    d: float
    ratio: float = math.nan
    ratio_low: float = math.nan
    ratio_high: float = math.nan
    method: str = ''


class Analysis(NamedTuple):
    """Analysis of variance of a figure."""

    effects: list[Effect]
    comparisons: Sequence[Comparison] = ()
    spread: Spread | None = None  # how the conditions vary; None if nothing was tested
    residuals: FloatArray = np.zeros(0)  # (N,), see :func:`.spread.standardised_residuals`

    @property
    def logarithms(self) -> bool:
        """Whether logarithms of the figure were analysed."""
        return self.spread is not None and self.spread.logarithms


def analyse(
    factors: Sequence[str], levels: Sequence[Sequence[str]], values: FloatArray, random: bool
) -> Analysis:
    """Effects of factors and their interactions on a figure, and comparisons of levels.

    Parameters
    ----------
    factors : sequence of str
    levels : sequence of sequence of str
        Level of every factor, for each of N values.
    values : array, shape (N,)
        The figure. Values that are not finite are left out.
    random : bool
        Whether anything in the experiment is random. Otherwise nothing is tested: repetitions are
        the same value again, however many there are.
    """
    finite = np.isfinite(values)
    values, count = values[finite], int(finite.sum())
    table = {
        name: np.array([str(row[k]) for row in levels])[finite] for k, name in enumerate(factors)
    }
    varied = [name for name in factors if len(set(table[name])) > 1]
    single = [
        Effect(name, count, note='one level' if count else 'no values')
        for name in factors
        if name not in varied
    ]
    terms, missing = _terms(varied, table)
    note = _reason(values, random)
    if not varied or note.startswith('all'):
        return Analysis([*single, *(Effect(name, count, note=note) for name in varied)])
    cells = conditions_of([table[name] for name in varied])
    spread = compare_spreads(values, cells)
    model = _Model(varied, table, values, cells, spread)
    fit, dropped = model.fit(terms)
    if fit is None:
        reason = 'the levels that occur together do not tell the factors apart'
        return Analysis([*single, *(Effect(name, count, note=reason) for name in varied)])
    untold = [Effect(t, count, note='combinations of its levels are missing') for t in missing]
    untold += [
        Effect(t, count, note='one value per combination: it counts as error') for t in dropped
    ]
    terms = [term for term in terms if term not in dropped]
    if fit.df_resid < 1:
        reason = note or 'one value per level: nothing tells the error'
        return Analysis([*single, *(Effect(name, count, note=reason) for name in terms), *untold])
    if not note and fit.ssr <= _SAME * fit.centered_tss:
        note = 'no p: repetitions do not differ'
    effects = [*model.effects(fit, terms, note), *single, *untold]
    if note:
        return Analysis(effects)
    comparisons = [c for name in varied for c in model.compared(fit, name)]
    residuals = standardised_residuals(values, cells, spread)
    return Analysis(effects, comparisons, spread, residuals)


def _reason(values: FloatArray, random: bool) -> str:
    """Why nothing is tested; empty if it is."""
    if len(values) and np.ptp(values) <= _SAME * np.abs(values).max():
        return 'all values are the same'
    return '' if random else NOT_RANDOM


def _terms(varied: Sequence[str], table: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Factors and their interactions, lowest order first; and those that lack a combination."""
    complete: list[str] = []
    missing: list[str] = []
    for order in range(1, len(varied) + 1):
        for names in itertools.combinations(varied, order):
            there = len(set(zip(*(table[name] for name in names), strict=True)))
            every = math.prod(len(set(table[name])) for name in names)
            (complete if there == every else missing).append(':'.join(names))
    return complete, missing


class _Model:
    """Least squares of a figure on factors, whose names a formula could not take."""

    def __init__(
        self,
        varied: Sequence[str],
        table: dict[str, Any],
        values: FloatArray,
        cells: IntArray,
        spread: Spread,
    ):
        import pandas

        self._alias = {name: f'f{k}' for k, name in enumerate(varied)}
        self._levels = {name: sorted(set(table[name])) for name in varied}
        columns = {self._alias[name]: table[name] for name in varied}
        self._unit = 1.0 if spread.logarithms else float(np.abs(values).max())
        scaled = np.log(values) if spread.logarithms else values / self._unit
        self._frame = pandas.DataFrame({**columns, 'value': scaled})
        self._cells, self._spread = cells, spread

    def fit(self, terms: Sequence[str]) -> tuple[Any, list[str]]:
        """The fit, and interactions of highest order that were dropped to leave freedoms for error.

        None if factors cannot be told apart.
        """
        from statsmodels.regression.linear_model import OLS

        dropped: list[str] = []
        while True:
            modelled = [term for term in terms if term not in dropped]
            model = OLS.from_formula(
                'value ~ ' + ' + '.join(map(self._formula, modelled)), self._frame
            )
            if model.exog.shape[1] > np.linalg.matrix_rank(model.exog):
                return None, dropped
            order = max(term.count(':') for term in modelled)
            if len(self._frame) > model.exog.shape[1] or not order:
                return model.fit(), dropped
            dropped += [term for term in modelled if term.count(':') == order]

    def effects(self, fit: Any, terms: Sequence[str], note: str) -> list[Effect]:
        """Effects that were fitted; no tests if there is a note on why not."""
        from statsmodels.stats.anova import anova_lm

        with np.errstate(divide='ignore', invalid='ignore'):
            anova = anova_lm(fit, typ=2)
        effects = []
        for term in terms:
            row = anova.loc[self._formula(term)]
            share = float(row['sum_sq'] / fit.centered_tss)
            f, df, df_error = float(row['F']), float(row['df']), float(fit.df_resid)
            effect = Effect(term, len(self._frame), df, df_error, eta_squared=share, note=note)
            if not note:
                if self._spread.separate:
                    hypothesis = self._projection(fit, term)
                    f, df, df_error = box_test(hypothesis, fit.model.endog, self._cells)
                low, high = _effect_interval(f, df, df_error)
                effect = dataclasses.replace(
                    effect, df=df, df_error=df_error, f=f, p=float(stats.f.sf(f, df, df_error)),
                    partial_eta_squared=f * df / (f * df + df_error), low=low, high=high,
                    method=self._spread.method,
                )  # fmt: skip
            effects.append(effect)
        corrected = holm([effect.p for effect in effects])
        return [
            dataclasses.replace(effect, p_holm=math.nan if note else p)
            for effect, p in zip(effects, corrected, strict=True)
        ]

    def _projection(self, fit: Any, term: str) -> FloatArray:
        """Matrix (N, N) whose quadratic form of the values is the term's sum of squares, type II.

        What the term adds to all terms that do not contain it.
        """
        design, factors = fit.model.exog, set(term.split(':'))
        alias = {short: name for name, short in self._alias.items()}
        others, with_term = [], []
        for other, columns in fit.model.data.design_info.term_slices.items():
            names = {alias[factor.code[2:-1]] for factor in other.factors}
            if not factors <= names:
                others.append(design[:, columns])
            elif factors == names:
                with_term.append(design[:, columns])
        small, large = np.hstack(others), np.hstack([*others, *with_term])
        (a, _), (b, _) = np.linalg.qr(large), np.linalg.qr(small)
        return np.asarray(a @ a.T - b @ b.T)

    def compared(self, fit: Any, factor: str) -> list[Comparison]:
        """All pairs of levels of a factor."""
        means = {level: self._marginal(fit, factor, level) for level in self._levels[factor]}
        count, comparisons = len(means), []
        inverse = np.linalg.pinv(fit.model.exog)
        for (first, a), (second, b) in itertools.combinations(means.items(), 2):
            weights = (b - a) @ inverse  # of the values
            difference = float(weights @ fit.model.endog)
            error, df, deviation = self._error(fit, weights)
            t = abs(difference) / error
            p, reach = _tail(t, count, df), _reach(count, df) * error
            sizes = [self._unit * (difference + side * reach) for side in (0.0, -1.0, 1.0)]
            # Of logarithms only the ratio means something.
            value, low, high = np.exp(sizes).tolist() if self._spread.logarithms else sizes
            pair = Comparison(
                factor, first, second, value, low, high, p, difference / deviation,
                method=self._spread.method,
            )  # fmt: skip
            if self._spread.logarithms:
                pair = dataclasses.replace(
                    pair, difference=math.nan, low=math.nan, high=math.nan,
                    ratio=value, ratio_low=low, ratio_high=high,
                )  # fmt: skip
            comparisons.append(pair)
        return comparisons

    def _error(self, fit: Any, weights: FloatArray) -> tuple[float, float, float]:
        """Standard error of a weighted sum, its degrees of freedom, and the deviation of values."""
        if not self._spread.separate:
            deviation = math.sqrt(fit.mse_resid)
            return deviation * float(np.linalg.norm(weights)), float(fit.df_resid), deviation
        variances, freedoms = variances_within(fit.model.endog, self._cells)
        squares = np.bincount(self._cells, weights**2, len(variances))
        parts = squares * variances
        df = float(parts.sum() ** 2 / np.sum(parts**2 / freedoms))
        mean = float(squares @ variances / squares.sum())
        return math.sqrt(parts.sum()), df, math.sqrt(mean)

    def _marginal(self, fit: Any, factor: str, level: str) -> FloatArray:
        """Row of the design matrix for a level, averaged over all combinations of the others."""
        import pandas
        import patsy

        choices = [[level] if name == factor else levels for name, levels in self._levels.items()]
        grid = pandas.DataFrame(list(itertools.product(*choices)), columns=self._alias.values())
        (design,) = patsy.build_design_matrices([fit.model.data.design_info], grid)
        return np.asarray(design).mean(axis=0)

    def _formula(self, term: str) -> str:
        return ':'.join(f'C({self._alias[name]})' for name in term.split(':'))


def holm(p: Sequence[float]) -> list[float]:
    """Corrected for as many tests (Holm 1979): ``max_(j <= k) (m - j + 1) p_(j)``, at most 1.

    Of statsmodels, `multipletests` does the same, and collects garbage each time: 0.1 s.
    """
    order = np.argsort(p)
    steps = np.arange(len(p), 0, -1) * np.asarray(p)[order]
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected.tolist()


def _tail(t: float, levels: int, df_error: float) -> float:
    """Chance of a larger difference, in standard errors, of some levels; of two, Student's."""
    if levels == 2:
        return float(2.0 * stats.t.sf(t, df_error))
    return float(stats.studentized_range.sf(math.sqrt(2.0) * t, levels, df_error))


@functools.lru_cache
def _reach(levels: int, df_error: float) -> float:
    """Half a simultaneous interval over the standard error of a difference; slow to compute."""
    if levels == 2:
        return float(stats.t.ppf(0.5 + 0.5 * CONFIDENCE, df_error))
    return float(stats.studentized_range.ppf(CONFIDENCE, levels, df_error)) / math.sqrt(2.0)


def _effect_interval(f: float, df: float, df_error: float) -> tuple[float, float]:
    """Interval of a partial eta squared: all noncentralities that do not make F unlikely."""

    def bound(share: float) -> float:
        def beyond(noncentrality: float) -> float:
            return float(stats.ncf.cdf(f, df, df_error, noncentrality)) - share

        if beyond(0.0) <= 0.0:
            return 0.0
        most = 10.0 * (f * df + df + 10.0)
        noncentrality = optimize.brentq(beyond, 0.0, most) if beyond(most) < 0.0 else most
        return float(noncentrality / (noncentrality + df + df_error + 1.0))

    return bound(0.5 + 0.5 * CONFIDENCE), bound(0.5 - 0.5 * CONFIDENCE)
