# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Extreme motions with friction: rows that a few steps do not solve, and how they are solved."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import samples
from actuation.jaw_forces import JawForces, least_norm

from masticator_dynamics.engine.traced.control_flow import call, repeat
from masticator_dynamics.engine.traced.llvm_ir import row_function
from masticator_dynamics.engine.traced.machine_code import Library, object_code, this_processor
from masticator_dynamics.engine.traced.numbers import Graph
from masticator_dynamics.engine.traced.row_code import RowCode

GOALS = ('torque', 'power')
AGREEMENT = 1e-9  # of the largest effort


@functools.cache
def wild_rows(goal: str) -> tuple[samples.Array, samples.Array]:
    """Rows so fast that friction curves the goal strongly, and which of them are handed over."""
    mechanism, rng, count = samples.mechanism('masticator'), np.random.default_rng(961), 3000
    reach = np.array([0.002, 0.002, 0.02, 0.1])
    given = np.hstack(
        [
            mechanism.home.y + reach * rng.uniform(-1.0, 1.0, (count, 4)),
            rng.normal(size=(count, 4)),
            10.0 * rng.normal(size=(count, 4)),
            rng.uniform(-30.0, 30.0, (count, 6)) * [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        ]
    )
    given = given[mechanism.kernels.everything(given)[:, 0] == 1.0]
    found = mechanism.kernels.best({goal: 1.0}, True)(given)
    return given, found[:, 0] == 0.0


# Two steps end in a minimum that a face undercuts; it would pass for the best.
UNDERCUT = [
    0.000984378508401288, 0.0039481843857701975, -0.026542095990349835, -0.023564548640075934,
    0.057991414645760686, -0.005885480186372064, -0.03548325444577506, 0.32274678617141317,
    -1.199833828119937, -0.029390628154198437, -8.76358466040129, -1.222772688725979,
    -1.5292133538388883, -0.986477466069454, 1.0126835321362035, 0.0, 0.0, 0.0,
]  # fmt: skip


def parts(row: samples.Array) -> samples.State:
    return samples.State(row[:4], row[4:8], row[8:12], row[12:])


@pytest.mark.parametrize('goal', GOALS)
def test_rows_that_are_handed_over_need_no_floats(
    goal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = samples.mechanism('masticator')
    given, handed = wild_rows(goal)
    assert 10 < handed.sum() < 0.1 * len(given)

    def refuse(*_: object) -> None:
        raise AssertionError('computed on floats')

    monkeypatch.setattr(RowCode, 'on_floats', refuse)
    for row in given[handed]:
        effort = mechanism.feedforward(*parts(row), goal=goal, friction=True)
        assert effort.optimality < 1e-6
        assert effort.balance_residual < 1e-10 * np.abs(effort.actuated).max()


@pytest.mark.parametrize('goal', GOALS)
def test_they_are_what_floats_say(goal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = samples.mechanism('masticator')
    given, handed = wild_rows(goal)
    kind = mechanism.solver.distribution(goal, True)
    rows = given[handed][:6]
    found = mechanism.solver.fallback(kind, rows)
    monkeypatch.setattr(RowCode, 'covers', lambda code, given: False)
    expected = mechanism.solver.fallback(kind, rows)
    for field in ('effort', 'multipliers', 'friction', 'bearing_force'):
        value, true = found[:, kind.slices[field]], expected[:, kind.slices[field]]
        assert (np.abs(value - true).max(axis=1) <= AGREEMENT * np.abs(true).max(axis=1)).all()


@pytest.mark.parametrize(
    ('goal', 'count'),
    samples.swept_rows([('torque', 10), *((goal, 30) for goal in GOALS)], [('torque', 10)]),
)
def test_a_search_finds_nothing_better(goal: str, count: int) -> None:
    """Search over forces derived by hand; half of the rows are solved at once, half handed over."""
    mechanism = samples.mechanism('masticator')
    given, handed = wild_rows(goal)
    for row in [*given[handed][:count], *given[~handed][:count]]:
        state = parts(row)
        hand = JawForces('masticator', tuple(state), friction=True)
        effort = mechanism.feedforward(*state, goal=goal, friction=True)
        scale = max(np.abs(effort.contact).max(), 1.0)
        best = least_norm(lambda f, h=hand: h.terms(f, {goal: 1.0}), scale)
        assert hand.norm(effort.contact, {goal: 1.0}) <= best * (1.0 + 1e-8) + 1e-9
        torque = hand.torque(hand.pin_force(effort.contact))
        assert samples.relative_error(effort.actuated, torque) < 1e-9


def test_a_minimum_that_a_face_undercuts_is_handed_over() -> None:
    goal, given = 'torque', np.array(UNDERCUT)
    mechanism = samples.mechanism('masticator')
    assert mechanism.kernels.best({goal: 1.0}, True)(given)[0] == 0.0
    state = parts(given)
    hand = JawForces('masticator', tuple(state), friction=True)
    effort = mechanism.feedforward(*state, goal=goal, friction=True)
    scale = max(np.abs(effort.contact).max(), 1.0)
    best = least_norm(lambda f: hand.terms(f, {goal: 1.0}), scale)
    assert hand.norm(effort.contact, {goal: 1.0}) <= best * (1.0 + 1e-8) + 1e-9


@pytest.mark.parametrize('goal', GOALS)
def test_few_steps_and_all_agree(goal: str) -> None:
    """If a few steps solve a row, following every pattern to its end changes nothing."""
    mechanism = samples.mechanism('masticator')
    given, handed = wild_rows(goal)
    kind = mechanism.solver.distribution(goal, True)
    quick = mechanism.kernels.best({goal: 1.0}, True)(given[~handed])
    exhaustive = mechanism.solver.fallback(kind, given[~handed])[:, kind.slices['effort']]
    error = np.abs(quick[:, 3 : 3 + exhaustive.shape[1]] - exhaustive).max(axis=1)
    assert (error <= AGREEMENT * np.abs(exhaustive).max(axis=1)).all()


def test_neighbours_do_not_matter_to_rows_that_are_handed_over() -> None:
    mechanism = samples.mechanism('masticator')
    given, handed = wild_rows('torque')
    several = np.sort(np.concatenate([np.flatnonzero(handed)[:20], np.flatnonzero(~handed)[:20]]))

    def efforts(rows: samples.Array) -> samples.Array:
        columns = rows[:, :4], rows[:, 4:8], rows[:, 8:12], rows[:, 12:]
        return mechanism.feedforward_batch(*columns, friction=True).actuated

    together = efforts(given[several])
    np.testing.assert_array_equal(efforts(given[several][::-1])[::-1], together)
    for i in (0, 7, 25):
        np.testing.assert_array_equal(efforts(given[several[i : i + 1]])[0], together[i])


@pytest.mark.parametrize('most', [1, 3, 100])
def test_a_loop_in_machine_code_takes_the_steps_of_python(most: int) -> None:
    """Newton's root of a number, for as long as it changes, and of another by the same function."""

    def newton(given: list) -> list:
        x, steps, square = given
        better = 0.5 * (x + square / x)
        return [(x - better) * (x - better) - 1e-12, better, steps + 1.0]

    def loop(graph: Graph | None, start: object, square: object) -> list:
        def step(state: list) -> tuple[object, list]:
            goes_on, *after = call(graph, 'newton', newton, [*state, square])
            return goes_on, after

        return repeat(graph, most, [start, 0.0], step)

    def both(graph: Graph | None, start: object, square: object) -> list:
        return [*loop(graph, start, square), *loop(graph, start, 2.0 * square)]

    graph = Graph()
    text = row_function(graph, both(graph, *graph.inputs(2)), 'row')
    assert text.count('define') == 2
    code = Library(object_code(text, this_processor()))
    for start, square in ((1.0, 2.0), (100.0, 2.0), (3.0, 9.0)):
        given, found = np.array([start, square]), np.empty(4)
        code.row(given.ctypes.data, found.ctypes.data)
        expected = both(None, start, square)
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
