# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Analysis of variance against closed forms, nested least squares and scipy's own tests."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

pytest.importorskip('statsmodels', reason='statsmodels is not installed (extra "statistics")')

from masticator_dynamics.robot.laboratory.factor_effects import NOT_RANDOM, analyse, holm
from masticator_dynamics.robot.laboratory.result_tables import bounds, interval, summary

FACTORS = ('food', 'motion.period')


def crossed(a, b, repetitions):
    return list(
        itertools.product([f'a{k}' for k in range(a)], [0.6, 1.0, 2.5][:b], range(repetitions))
    )


def by_term(effects):
    return {effect.term: effect for effect in effects}


@pytest.fixture
def table():
    """Three foods at two periods, four mouthfuls each: small food, large period, interaction."""
    rows = crossed(3, 2, 4)
    random = np.random.default_rng(11)
    food = {'a0': 0.0, 'a1': 0.5, 'a2': 0.9}
    values = np.array([
        20.0 + food[a] + 4.0 * (b - 0.6) + (0.8 if (a, b) == ('a2', 1.0) else 0.0)
        for a, b, _ in rows
    ]) + 0.5 * random.standard_normal(len(rows))  # fmt: skip
    return [row[:2] for row in rows], values


def test_two_balanced_factors_by_the_sums_of_a_textbook(table) -> None:
    levels, values = table
    cells = values.reshape(3, 2, 4)
    grand, a, b, ab = cells.mean(), cells.mean((1, 2)), cells.mean((0, 2)), cells.mean(2)
    squares = {
        'food': (8 * np.sum((a - grand) ** 2), 2),
        'motion.period': (12 * np.sum((b - grand) ** 2), 1),
        'food:motion.period': (4 * np.sum((ab - a[:, None] - b + grand) ** 2), 2),
    }
    error, total = np.sum((cells - ab[..., None]) ** 2), np.sum((cells - grand) ** 2)
    found = by_term(analyse(FACTORS, levels, values, random=True)[0])
    assert set(found) == set(squares)
    ps = []
    for term, (square, df) in squares.items():
        f = (square / df) / (error / 18)
        effect = found[term]
        assert (effect.n, effect.df, effect.df_error, effect.note) == (24, df, 18, '')
        assert effect.f == pytest.approx(f, rel=1e-9)
        assert effect.p == pytest.approx(stats.f.sf(f, df, 18), rel=1e-8)
        assert effect.eta_squared == pytest.approx(square / total, rel=1e-9)
        assert effect.partial_eta_squared == pytest.approx(square / (square + error), rel=1e-9)
        assert effect.low < effect.partial_eta_squared < effect.high
        ps.append(effect.p)
    # Holm: the smallest times three, the next times two, never falling.
    order, worst = np.argsort(ps), 0.0
    for rank, k in enumerate(order.tolist()):
        worst = max(worst, min(1.0, (3 - rank) * ps[k]))
        assert found[list(squares)[k]].p_holm == pytest.approx(worst, rel=1e-9)


def test_p_is_corrected_as_by_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    random = np.random.default_rng(5)
    for count in (1, 2, 5):
        p = random.uniform(size=count) ** 3
        assert holm(p) == pytest.approx(multipletests(p, method='holm')[1], rel=1e-12)
    assert holm([0.5, 0.5, 0.01]) == pytest.approx([1.0, 1.0, 0.03])


def test_the_other_factor_is_no_error() -> None:
    """One factor at a time, the other's effect hides this one's."""
    levels, values = [], []
    random = np.random.default_rng(7)
    for a, b, _ in crossed(2, 2, 5):
        levels.append((a, b))
        values.append((a == 'a1') * 1.0 + (b > 0.8) * 2.8 + 0.6 * random.standard_normal())
    values = np.array(values)
    one_way = stats.f_oneway(values[:10], values[10:]).pvalue
    found = by_term(analyse(FACTORS, levels, values, random=True)[0])
    assert one_way > 0.1 and found['food'].p < 0.002


def rss(values, *columns):
    design = np.column_stack([np.ones(len(values)), *columns])
    return float(np.linalg.lstsq(design, values, rcond=None)[1][0])


def test_an_unbalanced_table_by_nested_least_squares(table) -> None:
    levels, values = table
    keep = [k for k in range(24) if k not in (0, 1, 5, 13, 22)]
    levels, values = [levels[k] for k in keep], values[keep]
    a = np.array([[row[0] == name for name in ('a1', 'a2')] for row in levels], float)
    b = np.array([[row[1] == 1.0] for row in levels], float)
    whole = rss(values, a, b, a * b)
    squares = {
        'food': (rss(values, b) - rss(values, a, b), 2),
        'motion.period': (rss(values, a) - rss(values, a, b), 1),
        'food:motion.period': (rss(values, a, b) - whole, 2),
    }
    found = by_term(analyse(FACTORS, levels, values, random=True)[0])
    for term, (square, df) in squares.items():
        assert found[term].df_error == 13
        assert found[term].f == pytest.approx(square / df / (whole / 13), rel=1e-8)


def test_levels_are_compared_as_tukey_does() -> None:
    random = np.random.default_rng(3)
    samples = [random.normal(size=n) + k for k, n in enumerate((6, 9, 7))]
    levels = [(f'a{k}',) for k, sample in enumerate(samples) for _ in sample]
    effects, pairs, *_ = analyse(('food',), levels, 1e-5 * np.concatenate(samples), random=True)
    expected = stats.tukey_hsd(*samples)
    reach = expected.confidence_interval(0.95)
    assert [(c.first, c.second) for c in pairs] == [('a0', 'a1'), ('a0', 'a2'), ('a1', 'a2')]
    for pair in pairs:
        i, j = int(pair.first[1]), int(pair.second[1])
        assert pair.difference == pytest.approx(-1e-5 * expected.statistic[i, j], rel=1e-9)
        assert pair.p == pytest.approx(expected.pvalue[i, j], abs=1e-9)
        assert pair.low == pytest.approx(-1e-5 * reach.high[i, j], rel=1e-6)
        assert pair.high == pytest.approx(-1e-5 * reach.low[i, j], rel=1e-6)
        within = math.sqrt(sum(np.sum((s - s.mean()) ** 2) for s in samples) / 19)
        assert pair.d == pytest.approx(-expected.statistic[i, j] / within, rel=1e-9)
    assert effects[0].f == pytest.approx(stats.f_oneway(*samples).statistic, rel=1e-9)


def test_two_levels_are_a_t_test() -> None:
    random = np.random.default_rng(8)
    one, two = random.normal(size=5), random.normal(size=8) + 1.0
    levels = [('a0',)] * 5 + [('a1',)] * 8
    (effect,), (pair,), *_ = analyse(('food',), levels, np.concatenate([one, two]), random=True)
    expected = stats.ttest_ind(two, one)
    assert effect.p == pytest.approx(expected.pvalue, rel=1e-9) == pytest.approx(pair.p, abs=1e-7)
    low, high = expected.confidence_interval(0.95)
    assert (pair.low, pair.high) == pytest.approx((low, high), rel=1e-5)


def test_averages_of_an_unbalanced_table_weigh_levels_equally() -> None:
    """One food is chewed mostly slowly; the difference of foods is that at equal periods."""
    levels = [('a0', 0.6)] * 6 + [('a0', 1.0)] * 2 + [('a1', 0.6)] * 2 + [('a1', 1.0)] * 6
    random = np.random.default_rng(0)
    exact = np.array([1.0 * (a == 'a1') + 10.0 * (b > 0.8) for a, b in levels])
    noise = random.normal(size=16)
    for cell in (slice(0, 6), slice(6, 8), slice(8, 10), slice(10, 16)):
        noise[cell] -= noise[cell].mean()
    _, pairs, *_ = analyse(FACTORS, levels, exact + noise, random=True)
    assert [pair.difference for pair in pairs] == pytest.approx([1.0, 10.0])


def test_the_interval_of_an_effect_holds_the_noncentralities_that_fit(table) -> None:
    levels, values = table
    for effect in analyse(FACTORS, levels, values, random=True)[0]:
        for size, share in ((effect.low, 0.975), (effect.high, 0.025)):
            if size == 0.0:
                assert stats.f.cdf(effect.f, effect.df, effect.df_error) <= share
                continue
            noncentrality = size / (1.0 - size) * (effect.df + effect.df_error + 1.0)
            cdf = stats.ncf.cdf(effect.f, effect.df, effect.df_error, noncentrality)
            assert cdf == pytest.approx(share, abs=1e-6)


def test_a_simulation_without_randomness_has_no_p(table) -> None:
    levels, values = table
    same = np.repeat(values[::4], 4)
    for random, note in ((False, NOT_RANDOM), (True, 'no p: repetitions do not differ')):
        effects, pairs, *_ = analyse(FACTORS, levels, same, random)
        assert not pairs and len(effects) == 3
        for effect in effects:
            assert math.isnan(effect.p) and math.isnan(effect.f) and effect.note == note
            assert 0.0 <= effect.eta_squared <= 1.0
        assert sum(effect.eta_squared for effect in effects) == pytest.approx(1.0)
    (effect,), *_ = analyse(('food',), [(a,) for a, _ in levels], np.full(24, 3.0), random=True)
    assert math.isnan(effect.p) and effect.note == 'all values are the same'


def test_one_mouthful_per_combination_leaves_the_interaction_as_error(table) -> None:
    levels, values = table
    effects, *_ = analyse(FACTORS, levels[::4], values[::4], random=True)
    found, cells = by_term(effects), values[::4].reshape(3, 2)
    a, b = cells.mean(1), cells.mean(0)
    error = np.sum((cells - a[:, None] - b + cells.mean()) ** 2) / 2
    assert found['food'].f == pytest.approx(2 * np.var(a, ddof=1) / error)
    assert found['food'].df_error == 2
    assert 'it counts as error' in found['food:motion.period'].note
    (effect,), *_ = analyse(('food',), [('a0',), ('a1',), ('a2',)], values[:3], random=True)
    assert math.isnan(effect.p) and 'nothing tells the error' in effect.note


def test_combinations_that_are_missing(table) -> None:
    levels, values = table
    values = values.copy()
    values[4:8] = np.nan  # this food does not break at that period
    found = by_term(analyse(FACTORS, levels, values, random=True)[0])
    assert found['food:motion.period'].note == 'combinations of its levels are missing'
    keep = np.isfinite(values)
    a = np.array([[row[0] == name for name in ('a1', 'a2')] for row in levels], float)[keep]
    b = np.array([[row[1] == 1.0] for row in levels], float)[keep]
    square = rss(values[keep], b) - rss(values[keep], a, b)
    assert found['food'].f == pytest.approx(square / 2 / (rss(values[keep], a, b) / 16), rel=1e-8)
    assert found['food'].n == 20
    # Only one food at each period: nothing tells one factor from the other.
    rows = [k for k, row in enumerate(levels) if row in (('a0', 0.6), ('a1', 1.0))]
    effects, pairs, *_ = analyse(
        FACTORS, [levels[k] for k in rows], values[rows][:4].repeat(2), True
    )
    assert not pairs
    assert all('do not tell the factors apart' in e.note for e in effects if ':' not in e.term)


def test_one_level_or_no_value_is_said(table) -> None:
    levels, values = table
    rows = [k for k, row in enumerate(levels) if row[0] == 'a0']
    effects, *_ = analyse(FACTORS, [levels[k] for k in rows], values[rows], random=True)
    found = by_term(effects)
    assert found['food'].note == 'one level' and math.isnan(found['food'].p)
    assert found['motion.period'].p == pytest.approx(
        stats.ttest_ind(values[:4], values[4:8]).pvalue, rel=1e-9
    )
    effects, pairs, *_ = analyse(FACTORS, levels, np.full(24, np.nan), random=True)
    assert [effect.note for effect in effects] == ['no values', 'no values'] and not pairs
    nothing = analyse((), [()] * 3, np.arange(3.0), random=True)
    assert not nothing.effects and not nothing.comparisons


def test_three_factors_have_all_their_interactions() -> None:
    rows = list(itertools.product('ab', 'cd', 'ef', range(3)))
    values = np.random.default_rng(4).normal(size=len(rows)) + [2.0 * (x == 'a') for x, *_ in rows]
    effects, *_ = analyse(('x', 'y', 'z'), [row[:3] for row in rows], values, random=True)
    assert [e.term for e in effects] == ['x', 'y', 'z', 'x:y', 'x:z', 'y:z', 'x:y:z']
    assert all(effect.df_error == 16 and math.isfinite(effect.p) for effect in effects)


@pytest.mark.parametrize(
    ('values', 'low', 'high'),
    [
        ([0.01, 0.02, 0.12], 0.0, 1.0),
        ([0.99, 0.97, 0.6, 0.95], 0.0, 1.0),
        ([0.0, 0.0, 5.0], 0.0, math.inf),
        ([0.9, 0.1, -3.0], -math.inf, 1.0),
        ([1e-9, 50.0], 0.0, math.inf),
        ([0.5, 1.4, 0.02], 0.0, 1.0),  # above a bound: that one is none, the other holds
    ],
)
def test_intervals_hold_the_mean_and_stay_possible(values, low, high) -> None:
    values = np.array(values)
    first, last = interval(values, low, high)
    assert low <= first < values.mean() < last
    assert last <= high or values.max() > high
    plain = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert plain[0] < low or plain[1] > high  # Student's own would not


def test_intervals_far_from_bounds_are_students() -> None:
    values = 0.5 + 1e-4 * np.random.default_rng(1).normal(size=8)
    plain = stats.t.interval(0.95, 7, values.mean(), stats.sem(values))
    for low, high in ((0.0, 1.0), (0.0, math.inf), (-math.inf, 1.0)):
        assert interval(values, low, high) == pytest.approx(plain, abs=1e-7)
    assert summary(values)[4:6] == pytest.approx(plain, rel=1e-12)
    assert interval(np.zeros(3), 0.0, 1.0) == (0.0, 0.0)


def test_what_figures_can_be() -> None:
    assert bounds('resilience') == bounds('condyle_left_pulled') == (0.0, 1.0)
    assert bounds('analyser_resilience') == bounds('mean_work') == (0.0, math.inf)
    assert bounds('decay_per_stroke') == (-math.inf, 1.0)
    assert bounds('motor_energy') == (-math.inf, math.inf)


PLANTS = {
    'ctrl': [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    'trt1': [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    'trt2': [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}
TEETH = {
    ('VC', 0.5): [4.2, 11.5, 7.3, 5.8, 6.4, 10.0, 11.2, 11.2, 5.2, 7.0],
    ('VC', 1.0): [16.5, 16.5, 15.2, 17.3, 22.5, 17.3, 13.6, 14.5, 18.8, 15.5],
    ('VC', 2.0): [23.6, 18.5, 33.9, 25.5, 26.4, 32.5, 26.7, 21.5, 23.3, 29.5],
    ('OJ', 0.5): [15.2, 21.5, 17.6, 9.7, 14.5, 10.0, 8.2, 9.4, 16.5, 9.7],
    ('OJ', 1.0): [19.7, 23.3, 23.6, 26.4, 20.0, 25.2, 25.8, 21.2, 14.5, 27.3],
    ('OJ', 2.0): [25.5, 26.4, 22.4, 24.5, 24.8, 30.9, 26.4, 27.3, 29.4, 23.0],
}


def test_weights_of_plants_as_r_prints_them() -> None:
    """`summary(aov(weight ~ group, PlantGrowth))` and `TukeyHSD` of it, in every manual of R."""
    levels = [[group] for group, weights in PLANTS.items() for _ in weights]
    effects, comparisons, *_ = analyse(['group'], levels, np.concatenate([*PLANTS.values()]), True)
    (effect,) = effects
    assert (effect.df, effect.df_error) == (2, 27)
    assert (effect.f, effect.p) == pytest.approx((4.846, 0.0159), rel=3e-3)
    told = [(c.difference, c.low, c.high, c.p) for c in comparisons]
    printed = [
        (-0.371, -1.0622161, 0.3202161, 0.3908711),
        (0.494, -0.1972161, 1.1852161, 0.1979960),
        (0.865, 0.1737839, 1.5562161, 0.0120064),
    ]
    np.testing.assert_allclose(told, printed, atol=2e-7)


def test_lengths_of_teeth_as_r_prints_them() -> None:
    """`summary(aov(len ~ supp * factor(dose), ToothGrowth))`."""
    levels = [[*map(str, key)] for key, lengths in TEETH.items() for _ in lengths]
    effects, *_ = analyse(['supp', 'dose'], levels, np.concatenate([*TEETH.values()]), True)
    printed = {'supp': (1, 15.572), 'dose': (2, 92.0), 'supp:dose': (2, 4.107)}
    assert {e.term: (e.df, round(e.f, 3)) for e in effects} == printed
    p = {effect.term: effect.p for effect in effects}
    assert (p['supp'], p['supp:dose']) == pytest.approx((0.000231, 0.02186), rel=1e-3)
    assert p['dose'] < 2e-16
