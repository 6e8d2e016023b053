# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a report: rounded by their uncertainty, in one notation."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from masticator_dynamics.robot.laboratory import units as written

SPACE = '\u00a0'


@pytest.mark.parametrize(
    ('value', 'half', 'text'),
    [
        (12.3456, 0.1234, '12.35'),
        (12.3456, 0.0996, '12.35'),  # 0.10: two digits after rounding
        (12.3456, 1.96, '12.3'),
        (1234.56, 123.0, '1230'),
        (-0.0004, 0.12, '0.00'),
        (-3.2109, 0.5, '\u22123.21'),
        (1e-7, 2.2e-8, '0.000000100'),
        (5.0, math.nan, '5.00'),
        (0.0, math.nan, '0.00'),
        (-4.44e-14, 1e-16, '0.00'),  # rounding of a fit, not a finding
    ],
)
def test_two_digits_of_the_uncertainty_decide(value, half, text) -> None:
    assert written.fixed(value, written.decimals_for(half, math.nan, value)) == text


def test_rounding_loses_at_most_a_twentieth_of_the_uncertainty_and_no_exponent_appears() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        value = float(rng.normal() * 10.0 ** rng.uniform(-6, 6))
        half = float(abs(value) * 10.0 ** rng.uniform(-7, 4))
        text = written.fixed(value, written.decimals_for(half, math.nan, value))
        assert re.fullmatch('\u2212?\\d+(\\.\\d+)?', text)
        assert abs(float(text.replace('\u2212', '-')) - value) <= 0.0501 * half


@pytest.mark.parametrize('count', [1, 2, 5])
def test_strokes_are_counted_in_whole_numbers(count) -> None:
    pytest.importorskip('matplotlib', reason='pictures need matplotlib')
    from masticator_dynamics.robot.laboratory.report_parts import force_figure

    results = [
        SimpleNamespace(
            mouthful=SimpleNamespace(levels={'motion.force.level': level}),
            first_bite=np.array([[0.0, 0.1], [0.01, 0.0], [0.0, level]]),
            strokes=[SimpleNamespace(peak_force=level)] * count,
        )
        for level in (100.0, 60.0, 30.0)
    ]
    figure = force_figure(results)
    figure.draw_without_rendering()
    first, peaks = figure.axes
    low, high = peaks.get_xlim()
    shown = [tick for tick in peaks.get_xticks() if low <= tick <= high]
    assert shown == [*range(1, count + 1)]
    names = [text.get_text() for text in first.get_legend().get_texts()]
    assert names == [f'{level}{SPACE}N' for level in (30.0, 60.0, 100.0)]


def test_levels_have_units_and_nothing_can_break_inside() -> None:
    assert written.condition({'food': 'nut', 'motion.period': 0.7}) == f'nut, 0.7{SPACE}s'
    assert written.condition({'strokes': 5}) == f'5{SPACE}strokes'
    assert written.condition({'motion.force.level': 30}) == f'30{SPACE}N'
    assert written.condition({}) == 'all'
    assert written.named_term('food:motion.period') == 'food × period'
    assert written.interval(-1.0, 2.0, 1) == f'\u22121.0{SPACE}to{SPACE}2.0'
    assert written.mean_and_deviation(1.0, math.nan, 1) == '1.0'
    assert written.probability(2e-5) == f'<{SPACE}0.001' and written.probability(0.04) == '0.040'
