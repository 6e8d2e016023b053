# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unequal variances: against Welch, Brown and Forsythe, Games and Howell, and by simulation."""

import itertools
import math

import numpy as np
import pytest
from samples import swept
from scipy import stats

pytest.importorskip('statsmodels', reason='statsmodels is not installed (extra "statistics")')

from masticator_dynamics.robot.laboratory.factor_effects import analyse
from masticator_dynamics.robot.laboratory.result_tables import interval
from masticator_dynamics.robot.laboratory.spread import (
    box_test,
    compare_spreads,
    standardised_residuals,
)

WORST = 231.0  # ratio of standard deviations, as between real conditions


def one_factor(*samples):
    return [(f'a{k}',) for k, sample in enumerate(samples) for _ in sample]


def unequal(seed, sizes=(5, 8, 6), ratio=20.0):
    random = np.random.default_rng(seed)
    scales = np.geomspace(1.0, ratio, len(sizes))
    return [
        s * random.normal(size=n) + 3.0 * k
        for k, (n, s) in enumerate(zip(sizes, scales, strict=True))
    ]


def test_two_levels_are_welchs_test() -> None:
    one, two = unequal(3, (5, 8))
    levels = one_factor(one, two)
    (effect,), (pair,), *_ = analyse(('food',), levels, np.concatenate([one, two]), random=True)
    expected = stats.ttest_ind(two, one, equal_var=False)
    assert effect.method == pair.method == 'separate variances'
    assert effect.p == pytest.approx(expected.pvalue, rel=1e-9) == pytest.approx(pair.p, rel=1e-9)
    assert (effect.f, effect.df_error) == pytest.approx((expected.statistic**2, expected.df))
    low, high = expected.confidence_interval(0.95)
    assert (pair.low, pair.high) == pytest.approx((low, high), rel=1e-9)


def test_one_factor_is_brown_and_forsythes_test() -> None:
    """With the degrees of freedom that Mehrotra gave it, from statsmodels."""
    from statsmodels.stats.oneway import anova_oneway

    for seed in range(4):
        samples = unequal(seed)
        (effect,), *_ = analyse(
            ('food',), one_factor(*samples), np.concatenate(samples), random=True
        )
        expected = anova_oneway(samples, use_var='bf', welch_correction=False)
        assert effect.f == pytest.approx(expected.statistic, rel=1e-9)
        assert effect.df == pytest.approx(expected.df_num, rel=1e-9)
        assert effect.df_error == pytest.approx(expected.df_denom, rel=1e-9)


def test_levels_are_compared_as_games_and_howell_do() -> None:
    samples = unequal(5)
    _, pairs, *_ = analyse(('food',), one_factor(*samples), np.concatenate(samples), random=True)
    for pair, (i, j) in zip(pairs, itertools.combinations(range(3), 2), strict=True):
        a, b = samples[i], samples[j]
        va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
        df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
        error, difference = math.sqrt(0.5 * (va + vb)), b.mean() - a.mean()
        assert pair.difference == pytest.approx(difference, rel=1e-9)
        p = stats.studentized_range.sf(abs(difference) / error, 3, df)
        assert pair.p == pytest.approx(p, abs=1e-8)
        half = error * stats.studentized_range.ppf(0.95, 3, df)
        assert (pair.low, pair.high) == pytest.approx((difference - half, difference + half))


def crossed(repetitions):
    return [(f'a{i}', f'b{j}') for i in range(3) for j in range(2) for _ in range(repetitions)]


def test_in_a_balanced_table_f_is_that_of_pooled_variances() -> None:
    from statsmodels.api import OLS

    values = np.random.default_rng(1).normal(size=24) * np.repeat(np.geomspace(1, 50, 6), 4)
    a, b = np.repeat([0, 1, 2], 8), np.tile(np.repeat([0, 1], 4), 3)
    full = np.column_stack([np.ones(24), a == 1, a == 2, b, b * (a == 1), b * (a == 2)])
    mean_square = OLS(values, full).fit().mse_resid
    effects, *_ = analyse(('x', 'y'), crossed(4), values, random=True)
    for effect, columns in zip(effects, ([1, 2], [3], [4, 5]), strict=True):
        keep = [k for k in range(6) if k not in columns and (columns == [4, 5] or k < 4)]
        larger = sorted([*keep, *columns])
        square = OLS(values, full[:, keep]).fit().ssr - OLS(values, full[:, larger]).fit().ssr
        assert effect.method == 'separate variances'
        assert effect.f == pytest.approx(square / len(columns) / mean_square, rel=1e-9)
        assert effect.df <= len(columns) + 1e-9 and effect.df_error < 18


def projection(*columns):
    design = np.hstack([(column[:, None] == np.unique(column)) * 1.0 for column in columns])
    return design @ np.linalg.pinv(design)


def rejected(deviations, repetitions, seed, count, shift=0.0):
    """Shares of tests with p < 0.05 of x, y and their interaction: as analysed, and if pooled."""
    random = np.random.default_rng(seed)
    x, y = np.repeat([0, 1, 2], 2 * repetitions), np.tile(np.repeat([0, 1], repetitions), 3)
    cells = 2 * x + y
    additive, whole = projection(x, y), projection(cells)
    tests = {
        'x': additive - projection(y), 'y': additive - projection(x), 'x:y': whole - additive
    }  # fmt: skip
    hits = np.zeros((len(tests), 2))
    for _ in range(count):
        values = deviations[cells] * random.standard_normal(len(cells)) + shift * (x == 0)
        spread = compare_spreads(values, cells)
        rest = values - whole @ values
        error = rest @ rest / (len(cells) - 6)
        for k, matrix in enumerate(tests.values()):
            df = round(np.trace(matrix))
            pooled = stats.f.sf(values @ matrix @ values / df / error, df, len(cells) - 6)
            f, low, high = box_test(matrix, values, cells)
            p = stats.f.sf(f, low, high) if spread.separate else pooled
            hits[k] += p < 0.05, pooled < 0.05
    return hits / count


@pytest.mark.parametrize('count', swept([1000, 3000], [1000]))
def test_unequal_variances_reject_no_more_true_nulls_than_they_should(count) -> None:
    """Within three standard errors and a bit; pooled, more than twice as many are rejected."""
    deviations = np.geomspace(1.0, WORST, 6)[[3, 0, 5, 1, 4, 2]]
    shares = rejected(deviations, 3, 11, count)
    assert np.abs(shares[:, 0] - 0.05).max() < 0.003 + 3.0 * math.sqrt(0.05 * 0.95 / count)
    assert np.all(shares[:, 1] > 0.08)


def test_equal_variances_keep_their_power() -> None:
    shares = rejected(np.ones(6), 3, 13, 500, shift=1.5)
    assert shares[0, 1] > 0.55 and shares[0, 0] > 0.9 * shares[0, 1]
    assert np.all(shares[1:, 0] < 0.065)


def test_what_varies_in_proportion_is_analysed_by_logarithms() -> None:
    random = np.random.default_rng(4)
    one, two = np.exp(0.15 * random.normal(size=6)), 50.0 * np.exp(0.15 * random.normal(size=7))
    levels = one_factor(one, two)
    (effect,), (pair,), *_ = analyse(('food',), levels, np.concatenate([one, two]), random=True)
    expected = stats.ttest_ind(np.log(two), np.log(one))
    assert effect.method == pair.method == 'logarithms'
    assert effect.p == pytest.approx(expected.pvalue, rel=1e-8)
    assert pair.ratio == pytest.approx(stats.gmean(two) / stats.gmean(one))
    reach = np.exp(expected.confidence_interval(0.95))
    assert (pair.ratio_low, pair.ratio_high) == pytest.approx(reach, rel=1e-8)
    assert math.isnan(pair.difference) and math.isnan(pair.low)
    # The interval of a condition is on the same scale.
    low, high = np.exp(stats.t.interval(0.95, 5, np.log(one).mean(), stats.sem(np.log(one))))
    assert interval(one, 0.0, math.inf, logarithms=True) == pytest.approx((low, high))


def test_spreads_are_compared_by_levene_and_bartlett() -> None:
    samples = unequal(6)
    cells = np.repeat([0, 1, 2], [len(sample) for sample in samples])
    spread = compare_spreads(np.concatenate(samples), cells)
    assert spread.levene == pytest.approx(stats.levene(*samples, center='mean').pvalue)
    assert spread.bartlett == pytest.approx(stats.bartlett(*samples).pvalue)
    assert math.isnan(spread.log_bartlett)  # some values are negative
    deviations = [sample.std(ddof=1) for sample in samples]
    assert spread.ratio == pytest.approx(max(deviations) / min(deviations))
    residuals = standardised_residuals(np.concatenate(samples), cells, spread)
    for k, sample in enumerate(samples):
        assert residuals[cells == k] @ residuals[cells == k] == pytest.approx(len(sample))


def test_a_condition_that_does_not_vary_and_one_of_a_single_value() -> None:
    still = np.array([1.0, 1.0, 1.0, 2.0, 2.6, 2.9])
    (effect,), (pair,), *_ = analyse(
        ('food',), one_factor(still[:3], still[3:]), still, random=True
    )
    expected = stats.ttest_ind(still[:3], still[3:], equal_var=False)
    assert effect.method == 'separate variances'
    assert effect.p == pytest.approx(expected.pvalue, rel=1e-9) == pytest.approx(pair.p)
    samples = [np.array([1.0, 1.1, 0.9]), np.array([5.0, 9.0, 1.0]), np.array([3.0])]
    effects, pairs, *_ = analyse(
        ('food',), one_factor(*samples), np.concatenate(samples), random=True
    )
    assert effects[0].method == 'separate variances' and math.isfinite(effects[0].p)
    assert all(math.isfinite(pair.p) for pair in pairs)
    alone = compare_spreads(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 1]))
    assert alone.method == 'pooled' and math.isnan(alone.bartlett)
