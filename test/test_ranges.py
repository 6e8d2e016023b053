# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges of joints, sockets and efforts, for one motion and for many."""

import re
import types
import warnings

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import LimitError, RangeWarning
from masticator_dynamics.limits.ranges import refuse_outside, survey_ranges


def names(mechanism: Mechanism, y: object, *rates: object, wrench: object = None) -> set[str]:
    motion = mechanism.solve(y, *rates)
    effort = mechanism.inverse_dynamics(motion, wrench)
    found = mechanism.range_violations(motion, effort)
    return {f'{violation.name} {violation.quantity}' for violation in found}


def test_inside_all_ranges_there_is_nothing_to_say(mechanism: Mechanism) -> None:
    assert names(mechanism, np.zeros(4)) == set()


def test_each_kind_of_range_is_watched(mechanism: Mechanism) -> None:
    # Condyles start at x = -2.5 mm, |y| = 72 mm; sockets end at x = 5 mm and |y| = 69 and 75 mm.
    assert names(mechanism, [0.0076, 0, 0, 0]) == {'condyle_left x', 'condyle_right x'}
    assert 'condyle_left x' not in names(mechanism, [0.0074, 0, 0, 0])
    assert names(mechanism, [0, 0.0031, 0, 0]) == {'condyle_left y', 'condyle_right y'}
    assert 'condyle_left y' not in names(mechanism, [0, 0.0029, 0, 0])
    assert 'beta velocity' in names(mechanism, np.zeros(4), [0, 0, 0, 51.0])
    assert 'beta velocity' not in names(mechanism, np.zeros(4), [0, 0, 0, 49.0])
    efforts = names(mechanism, np.zeros(4), wrench=[0, 0, -3000.0, 0, 0, 0])
    assert any(name.endswith(' effort') for name in efforts)
    assert names(mechanism, np.zeros(4), wrench=[0, 0, -10.0, 0, 0, 0]) == set()


def test_a_survey_counts_what_single_calls_find(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(5)
    y = rng.uniform([-0.003, -0.004, 0, 0.02], [0.008, 0.004, 0.01, 0.1], (60, 4))
    wrenches = rng.normal(size=(60, 6)) * [0, 0, 100, 0, 0, 0]
    batch = mechanism.feedforward_batch(y, None, None, wrenches)
    survey = survey_ranges(mechanism, batch)
    worst = (0.0, None, None)
    for row in range(60):
        motion = mechanism.solve(y[row])
        effort = mechanism.inverse_dynamics(motion, wrenches[row])
        found = mechanism.range_violations(motion, effort)
        assert bool(survey.outside[row]) == bool(found)
        for one in found:
            half = (one.upper - one.lower) / 2
            excess = max(one.lower - one.value, one.value - one.upper) / half
            worst = max(worst, (excess, row, str(one)), key=lambda entry: entry[0])
    assert 0 < survey.outside.sum() < 60
    assert survey.excess == pytest.approx(worst[0], rel=1e-9)
    assert (survey.worst_row, str(survey.worst)) == worst[1:]


def test_a_survey_of_motions_inside_has_no_worst(mechanism: Mechanism) -> None:
    survey = survey_ranges(mechanism, mechanism.feedforward_batch(np.zeros((3, 4))))
    assert not survey.outside.any()
    assert survey.worst is None
    assert survey.worst_row is None
    assert survey.excess == 0.0


@pytest.mark.parametrize('beyond', [0.5e-9, 2e-9])
def test_nodes_refuse_what_is_reported_elsewhere(mechanism: Mechanism, beyond: float) -> None:
    y = np.array([0.0075 + beyond, 0.0, 0.0, 0.0])  # the condyles start at -2.5 mm
    times, batch = np.zeros(1), mechanism.feedforward_batch(y[None])
    found = mechanism.range_violations(mechanism.solve(y))
    assert bool(found) == (beyond > 1e-9)
    if found:
        with pytest.raises(LimitError, match=re.escape(f'at 0 s: {found[0]}')):
            refuse_outside(mechanism, times, batch, 1.0)
    else:
        refuse_outside(mechanism, times, batch, 1.0)


def test_a_motion_that_is_not_a_number_is_refused(mechanism: Mechanism) -> None:
    batch = mechanism.feedforward_batch(np.zeros((1, 4)))
    broken = types.SimpleNamespace(q=batch.q, v=np.full_like(batch.v, np.nan))
    with pytest.raises(LimitError, match='velocity nan'):
        refuse_outside(mechanism, np.zeros(1), broken, None)


OUT = np.array([0.0, 0.0, 0.0, 0.35])  # cranks 3 and 4 are past 1.7 rad


@pytest.mark.parametrize(
    'call',
    [
        lambda m, y: m.feedforward(y),
        lambda m, y: m.feedforward(np.zeros(4)) and m.feedforward(y),  # by the generated function
        lambda m, y: m.feedforward(y, goal='power', friction=True),
        lambda m, y: m.feedforward(y, limits=True, nearest=True),
        lambda m, y: m.feedforward_batch(np.array([np.zeros(4), y, y])),
        lambda m, y: m.solve(y),
        lambda m, y: m.inverse_dynamics(m.solve(y)),
    ],
)
def test_outside_the_ranges_of_motors_there_is_one_warning(call) -> None:
    mechanism = Mechanism.load('masticator')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        call(mechanism, np.zeros(4))
    with pytest.warns(RangeWarning, match=r'crank_[34] position -?1\.98.* rad is outside') as told:
        found = call(mechanism, OUT)
    assert len(told) == 1 and told[0].filename == __file__
    assert not np.all(found.in_ranges)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        call(mechanism, OUT)


def test_results_tell_whether_they_are_in_range(mechanism: Mechanism) -> None:
    """As the survey of ranges says, sockets and efforts included."""
    rng = np.random.default_rng(5)
    y = rng.uniform(-1.0, 1.0, (60, 4)) * [0.004, 0.003, 0.05, 0.1] + [0.004, 0, 0, 0.1]
    y[:3] = [[0, 0, 0, 0], OUT, [0.0076, 0, 0, 0]]
    attempts = mechanism.attempt(y)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RangeWarning)
        batch = mechanism.feedforward_batch(y[attempts.closed])
        singles = [mechanism.feedforward(row) for row in y[attempts.closed]]
    expected = [not mechanism.range_violations(single, single) for single in singles]
    assert list(batch.in_ranges) == [single.in_ranges for single in singles] == expected
    assert expected[:3] == [True, False, False] and 5 < sum(expected) < len(expected) - 5
    pushed = mechanism.feedforward(np.zeros(4), wrench=[0, 0, 5000.0, 0, 0, 0])
    assert pushed.in_ranges is False and mechanism.solve(np.zeros(4)).in_ranges is True
