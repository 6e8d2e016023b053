# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What proves that one pattern of contact signs is the best: against brute force, and in use."""

from __future__ import annotations

import types

import numpy as np
import pytest
import samples
from traced.test_best_pattern import AGREEMENT, GOALS, UNDERCUT, wild_rows

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.row_kinds import GoalKind
from masticator_dynamics.engine.traced.kernels import Code
from masticator_dynamics.engine.traced.proven_pattern import proven
from masticator_dynamics.engine.traced.sign_pattern import PatternGoal, Terms

FREE, CONTACTS, MOTORS, CASES = 2, 2, 5, 400
REACH, POINTS = 6.0, 81  # of a search around the optimum


def drawn(rng: np.random.Generator) -> Terms:
    """Forces with much friction, so that many have several minima."""
    rubs, width = rng.uniform(0.0, 0.6), 1 + FREE + CONTACTS
    scale = np.array([1.0, *[1.0] * FREE, *[0.3 * rubs] * CONTACTS])
    efforts = rng.normal(size=(MOTORS, width)) * scale
    efforts[:, 1 : 1 + FREE] = np.linalg.qr(efforts[:, 1 : 1 + FREE])[0]
    across = rng.normal(size=(MOTORS, 2, width)) * scale
    contacts = rng.normal(size=(CONTACTS, width)) * scale * [2.0, 1.0, 1.0, 0.5, 0.5]
    goal = PatternGoal(
        rng.choice([np.ones(MOTORS), rng.uniform(0.2, 2.0, MOTORS)]).tolist(),
        (0.1 * rng.normal(size=MOTORS)).tolist(), (0.3 * rubs * rng.normal(size=MOTORS)).tolist(),
        [0.0] * MOTORS, [1] * MOTORS, 0.0, 0.0,
    )  # fmt: skip
    levers = rng.normal(size=(MOTORS, 2))
    aside = across - levers[:, :, None] * efforts[:, None, :]
    return Terms(
        goal, FREE, efforts.tolist(), levers.tolist(), aside.tolist(), [], contacts.tolist(),
        [1.0] * CONTACTS,
    )  # fmt: skip


def squares(terms: Terms, x: samples.Array) -> samples.Array:
    """Weighted squares (...,) at free efforts (..., 2), with loads found by repetition."""
    x = np.moveaxis(x, -1, 0)
    one = np.concatenate([np.ones((1, *x.shape[1:])), x])
    rows, loads = np.array(terms.contacts), np.zeros((CONTACTS, *x.shape[1:]))
    for _ in range(60):
        loads = np.abs(np.tensordot(rows, np.concatenate([one, loads]), 1))
    cases = np.concatenate([one, loads])
    length = np.linalg.norm(np.tensordot(np.array(terms.across), cases, 1), axis=1)
    goal = terms.goal
    column = (slice(None), *[None] * (x.ndim - 1))
    forces = np.tensordot(np.array(terms.efforts), cases, 1) + np.array(goal.drag)[column]
    forces = forces + np.array(goal.per_newton)[column] * length
    return np.asarray((np.array(goal.efforts)[column] * forces**2).sum(axis=0))


def test_brute_force_finds_nothing_below_what_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads by repetition, and all patterns at once, on a grid; half is proven, half is not."""
    rng, proofs, others = np.random.default_rng(17), 0, 0
    grid = np.stack(np.meshgrid(*[np.linspace(-REACH, REACH, POINTS)] * FREE), axis=-1)
    for _ in range(CASES):
        terms, conditions = drawn(rng), list[float]()
        monkeypatch.setattr(Terms, 'of', lambda *_, terms=terms: terms)
        with np.errstate(all='ignore'):
            x, loads, _ = proven(types.SimpleNamespace(), terms.goal, conditions)
        if not (np.array(conditions) > 0.0).all():
            others += 1
            continue
        proofs += 1
        least = squares(terms, np.array(x))
        assert np.abs(loads) == pytest.approx(loads)
        finer = [x + scale * grid for scale in (1.0, 0.1, 0.01)]
        assert squares(terms, np.array(finer)).min() >= least * (1.0 - 1e-12), terms
    assert min(proofs, others) > 0.2 * CASES


def codes(mechanism: Mechanism, kind: GoalKind) -> list[Code]:
    return [mechanism.kernels.best(*kind.choice, proven) for proven in kind.ways]


@pytest.mark.parametrize('goal', GOALS)
def test_what_is_proven_is_what_following_every_pattern_finds(goal: str) -> None:
    mechanism = samples.mechanism('masticator')
    given, _ = wild_rows(goal)
    kind = mechanism.solver.distribution(goal, True)
    quick, searched = (code(given) for code in codes(mechanism, kind))
    sure = quick[:, 0] != 0.0
    assert 0.8 < sure.mean() < 0.95
    expected = mechanism.solver.fallback(kind, given[sure])[:, kind.slices['effort']]
    error = np.abs(quick[sure, 3:9] - expected).max(axis=1)
    assert (error <= AGREEMENT * np.abs(expected).max(axis=1)).all()
    both = sure & (searched[:, 0] != 0.0)
    largest = np.abs(searched[both, 3:9]).max(axis=1)
    assert (np.abs(quick[both, 3:9] - searched[both, 3:9]).max(axis=1) <= 1e-12 * largest).all()


def test_a_minimum_that_a_face_undercuts_is_not_proven() -> None:
    code = samples.mechanism('masticator').kernels.best({'torque': 1.0}, True, True)
    assert code(np.array(UNDERCUT))[0] == 0.0


def test_one_row_and_a_batch_agree_whoever_answers() -> None:
    """Rows that are proven, searched for and handed over, in one batch."""
    mechanism = samples.mechanism('masticator')
    given, handed = wild_rows('torque')
    kind = mechanism.solver.distribution('torque', True)
    sure = codes(mechanism, kind)[0](given)[:, 0] != 0.0
    groups = sure, ~sure & ~handed, ~sure & handed
    rows = given[np.concatenate([np.flatnonzero(group)[:8] for group in groups])]
    columns = rows[:, :4], rows[:, 4:8], rows[:, 8:12], rows[:, 12:]
    batch = mechanism.feedforward_batch(*columns, friction=True).actuated
    for row, efforts in zip(rows, batch, strict=True):
        parts = row[:4], row[4:8], row[8:12], row[12:]
        one = mechanism.feedforward(*parts, friction=True).actuated
        assert samples.relative_error(one, efforts) < 1e-12
