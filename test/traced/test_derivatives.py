# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of efforts and contacts, against differences of more precise evaluations.

``DERIVATIVE_STATES`` sets how many states of each mechanism are tried.
"""

from __future__ import annotations

import functools
import os
import warnings

import numpy as np
import pytest
import samples
from oracles.decimal_oracle import DecimalOracle, exact

from masticator_dynamics import Mechanism
from masticator_dynamics.description import archetypes, shipped_mechanisms
from masticator_dynamics.errors import (
    DescriptionWarning,
    InputError,
    MasticatorError,
    ReachError,
    SingularityError,
)
from masticator_dynamics.traced import closing
from masticator_dynamics.traced.differentiation import evaluated, forward, reverse
from masticator_dynamics.traced.inverse_dynamics import LeastNorm
from masticator_dynamics.traced.numbers import Graph

STATES = int(os.environ.get('DERIVATIVE_STATES', '20'))
ROBOTS = samples.ROOT.parent / 'shared' / 'robots' / 'converted'
OTHERS = ('cassie_like', 'delta_gepetto', 'battobot', 'five_bar_iso6d')
NAMES = (*samples.NAMES, *(f'archetype {name}' for name in archetypes()), *OTHERS)
PARTS = ('y', 'y_dot', 'y_ddot', 'wrench')


@functools.cache
def mechanism(name: str) -> Mechanism:
    if name in OTHERS:
        if not ROBOTS.is_dir():
            pytest.skip('the robots of others are not here')
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DescriptionWarning)
            return Mechanism.load(ROBOTS / f'{name}.yaml')
    if name in samples.NAMES:
        return samples.mechanism(name)
    return Mechanism.load(name.removeprefix('archetype '))


def states(name: str, count: int, seed: int = 3201) -> list[samples.Array]:
    """Moving, loaded states (N, ...) of any mechanism, as far from home as most of them close."""
    if name in samples.NAMES:
        return [*map(np.array, zip(*samples.states(name, count, seed), strict=True))]
    found, rng = mechanism(name), np.random.default_rng(seed)
    n = len(found.independent)
    units = [found.structure.tree.joints[j].unit for j in found.independent_rows]
    reach = np.where(np.array(units) == 'm', 0.2 * found.structure.extent(), 0.5)
    while True:
        y = found.home.y + rng.uniform(-1.0, 1.0, (2 * count, n)) * reach
        y = y[found.attempt(y).closed & _served(found, y)]
        if len(y) >= count:
            break
        reach = 0.7 * reach
    return [y[:count], *rng.normal(size=(2, count, n)), 10.0 * rng.normal(size=(count, 6))]


def _served(found: Mechanism, poses: samples.Array) -> samples.Array:
    return (
        found.kernels.evaluate(np.hstack([poses, np.zeros((len(poses), 6 + 2 * poses.shape[1]))]))[
            :, 0
        ]
        == 1.0
    )


def tables(derivatives, kind: str = '') -> samples.Array:
    """Derivatives by all inputs (..., n, 3 n_y + 6)."""
    names = [f'{kind}by_{part}' for part in PARTS]
    return np.concatenate([getattr(derivatives, name) for name in names], axis=-1)


@pytest.mark.parametrize('name', NAMES)
def test_derivatives_against_differences_in_extended_precision(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the recording of the efforts alone, its loops closed to the last digit."""
    found, n = mechanism(name), mechanism(name).kernels.inputs
    given = np.hstack(states(name, STATES))
    derivatives = found.feedforward_derivatives_batch(*_split(found, given))
    expected = found.feedforward_batch(*_split(found, given))
    monkeypatch.setattr(closing, 'NEWTON_STEPS', 10)
    graph = Graph()
    inputs = graph.inputs(n)
    run = found.kernels.run(inputs, False, False)
    efforts = LeastNorm(run)
    multipliers = efforts.multipliers()
    values = [*efforts.efforts(), *(multipliers[row] for row in found.contact_rows)]
    valid = evaluated(graph, [run.valid()], given)[:, 0] == 1.0
    assert valid.mean() > 0.7
    slopes = np.concatenate([tables(derivatives), tables(derivatives, 'contact_')], axis=1)
    np.testing.assert_allclose(
        derivatives.actuated,
        expected.actuated,
        rtol=1e-9,
        atol=1e-9 * np.abs(expected.actuated).max(),
    )
    for column in range(n):
        step = np.longdouble(2e-6 if column < len(found.independent) else 1e-3)

        def moved(h: float, column: int = column, step: np.longdouble = step):
            shifted = given[valid].astype(np.longdouble)
            shifted[:, column] += h * step
            return evaluated(graph, values, shifted)

        right = samples.five_point(moved, 1.0) / float(step)
        size = np.abs(slopes[valid]).max(axis=(1, 2), initial=1e-6)
        column_size = np.abs(slopes[valid, :, column]).max(axis=1, initial=0.0)
        error = np.abs(right - slopes[valid, :, column]).max(axis=1, initial=0.0)
        assert (error < 1e-8 * column_size + 1e-12 * size).all(), found.independent


def _split(found: Mechanism, given: samples.Array) -> list[samples.Array]:
    n = len(found.independent)
    return np.split(given, [n, 2 * n, 3 * n], axis=-1)


@pytest.mark.parametrize('name', shipped_mechanisms())
def test_derivatives_against_forty_digits(name: str) -> None:
    """A second derivation of the efforts, along a random direction of all inputs."""
    found, oracle = samples.mechanism(name), DecimalOracle(samples.mechanism(name).description)
    joints = [joint.name for joint in found.structure.tree.joints]
    order = [joints.index(joint) for joint in oracle.joints]
    (state,), rng = samples.states(name, 1, seed=3202), np.random.default_rng(3202)
    along = [rng.normal(size=len(x)) * 2.0**-7 for x in state]
    q = found.feedforward(*state).q[order]
    ends = []
    for sign in (1.0, -1.0):
        moved = [x + sign * d for x, d in zip(state, along, strict=True)]
        ends.append(oracle.efforts((state.y, *moved[1:]), q)[0])
    rates = (ends[0] - ends[1]) / 2
    ends = [oracle.efforts(tuple(state), q, h * 2.0**-20 * along[0])[0] for h in (1.0, -1.0)]
    right = (rates + (ends[0] - ends[1]) * exact(2.0**19)).astype(float)
    slopes = tables(found.feedforward_derivatives(*state)) @ np.concatenate(along)
    assert samples.relative_error(slopes, right) < 1e-8


CASES = [
    ('masticator', {'friction': True}),
    ('masticator', {'goal': 'power'}),
    ('masticator', {'goal': 'contact-force', 'friction': True}),
    ('masticator', {'goal': {'torque': 1.0, 'joint-force': 1e-4}, 'friction': True}),
    ('rrr4', {'friction': True}),
    ('trimule', {'friction': True}),
    ('rss6', {'friction': True}),
]


@pytest.mark.parametrize(('name', 'options'), CASES)
def test_best_efforts_against_differences(name: str, options: dict) -> None:
    """Within a pattern of signs, at an optimum, and on a face."""
    found = samples.mechanism(name)
    for state in samples.states(name, 2, seed=3203):
        derivatives = found.feedforward_derivatives(*state, **options)
        expected = found.feedforward(*state, **options)
        assert samples.relative_error(derivatives.actuated, expected.actuated) < 1e-9
        assert samples.relative_error(derivatives.contact, expected.contact) < 1e-9
        flat, sizes = np.concatenate(list(state)), np.cumsum([len(x) for x in state])[:-1]
        slopes = np.vstack([tables(derivatives), tables(derivatives, 'contact_')])
        for column, direction in enumerate(np.eye(len(flat))):

            def moved(t: float, direction=direction, flat=flat, sizes=sizes):
                effort = found.feedforward(*np.split(flat + t * direction, sizes), **options)
                return np.concatenate([effort.actuated, effort.contact])

            right = samples.five_point(moved, 3e-6)
            size = np.abs(slopes).max() if column < sizes[0] else np.abs(slopes[:, column]).max()
            rounding = 1e-8  # of forces of some newtons, over the step
            assert np.abs(slopes[:, column] - right).max() < 1e-6 * size + rounding, column


def test_rows_that_fast_code_hands_over() -> None:
    """Close to the edge of the workspace, where loops are closed from home in many steps."""
    found = samples.mechanism('rrr4')
    poses = samples.poses_up_to_the_edge('rrr4', 400, np.random.default_rng(5))
    handed = poses[~_served(found, poses)]
    assert len(handed) > 5
    checked = 0
    for y in handed:
        state = y, 0.1 * np.ones(3), np.ones(3), np.ones(6)
        try:
            slopes = tables(found.feedforward_derivatives(*state))
        except SingularityError as error:
            assert 'too near a singularity' in str(error)
            continue
        direction = np.array([0.3, -0.5, 0.2])
        try:
            right = samples.five_point(
                lambda t, s=state, d=direction: found.feedforward(s[0] + t * d, *s[1:]).actuated,
                1e-7,
            )
        except MasticatorError:
            continue
        assert samples.relative_error(slopes[:, :3] @ direction, right) < 1e-4
        checked += 1
    assert checked > 3


def test_one_row_many_rows_and_reverse_mode_agree() -> None:
    found = samples.mechanism('masticator')
    given = states('masticator', 9)
    many = tables(found.feedforward_derivatives_batch(*given))
    for row, state in zip(many, zip(*given, strict=True), strict=True):
        one = tables(found.feedforward_derivatives(*state))
        assert samples.relative_error(one, row) < 1e-11
    graph, n = Graph(), found.kernels.inputs
    run = found.kernels.run(graph.inputs(n), True, False)
    (torque, *_) = LeastNorm(run).efforts()
    (ahead,) = forward([torque], range(n))
    back = reverse(torque, range(n))
    numbers = evaluated(graph, [*ahead, *back], np.hstack(given)).reshape(-1, 2, n)
    assert samples.relative_error(numbers[:, 0], numbers[:, 1]) < 1e-9
    assert samples.relative_error(numbers[:, 0], many[:, 0]) < 1e-9


def test_refused() -> None:
    found = samples.mechanism('masticator')
    home = found.home.y
    with pytest.raises(SingularityError, match='condyle_left is at rest'):
        found.feedforward_derivatives(home, friction=True)
    moving = np.tile(home, (3, 1))
    with pytest.raises(SingularityError, match='^row 2: friction has no derivative'):
        found.feedforward_derivatives_batch(
            moving, [[0.1] * 4, [0.0] * 4, [0.1] * 4], friction=True
        )
    with pytest.raises(ReachError, match='^row 2: .* mm are missing'):
        found.feedforward_derivatives_batch([home, home + 1.0])
    with pytest.raises(InputError, match='not a finite number'):
        found.feedforward_derivatives(home, [np.nan] * 4)
    with pytest.raises(InputError, match='needed'):
        found.feedforward_derivatives(home[:3])
    with pytest.raises(InputError, match="no goal 'speed'"):
        found.feedforward_derivatives(home, goal='speed')
