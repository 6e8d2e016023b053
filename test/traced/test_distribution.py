# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction and goals in machine code, against their source at given positions, on floats."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.row_kinds import GoalKind
from masticator_dynamics.engine.traced import effort_distribution as traced
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics
from masticator_dynamics.engine.traced.row_code import RowCode

SAMPLES = int(os.environ.get('TRACED_STATES', '200'))  # of each case; slow: 100000
AGREEMENT = 1e-9  # of the largest of a kind
ONE_SOURCE = 1e-12  # of the largest effort
BLEND = {'torque': 1.0, 'power': 0.3, 'joint-force': 1e-4, 'contact-force': 1e-3}
FIELDS = ('effort', 'multipliers', 'friction', 'contact_friction', 'bearing_force', 'q', 'tangent')
CASES: list[tuple[str, Mapping[str, float], bool]] = [
    ('masticator', {'torque': 1.0}, True),
    ('masticator', {'power': 1.0}, True),
    ('masticator', {'joint-force': 1.0}, False),
    ('masticator', {'contact-force': 1.0}, True),
    ('masticator', BLEND, True),
    ('rrr4', {'torque': 1.0}, True),
    ('rrr4', {'power': 1.0}, False),
    ('trimule', {'torque': 1.0}, True),
    ('rss6', {'torque': 1.0}, True),
    ('rcid', {'power': 1.0}, True),
]
OFTEN = [CASES[0], CASES[4], CASES[6]]


def rows_of(name: str, count: int, seed: int, at_rest: int = 0) -> samples.Array:
    """Rows of input; the first is at rest, without friction."""
    given = np.array([np.concatenate(tuple(s)) for s in samples.states(name, count, seed)])
    freedoms = len(samples.BOXES[name].rates)
    given[:at_rest, freedoms : 2 * freedoms] = 0.0
    return given


def reference_rows(mechanism: Mechanism, given: samples.Array, packed: GoalKind) -> samples.Array:
    """Reference results for rows that are handed over."""
    return mechanism.solver.unchecked(packed, given)


@pytest.mark.parametrize(('name', 'goals', 'friction'), samples.swept_rows(CASES, OFTEN))
def test_the_best_efforts_are_the_reference_s(
    name: str, goals: Mapping[str, float], friction: bool
) -> None:
    mechanism = samples.mechanism(name)
    given = rows_of(name, SAMPLES, seed=941, at_rest=5)
    packed = mechanism.solver.distribution(goals, friction)
    code = packed.code
    expected, found = reference_rows(mechanism, given, packed), code(given)
    counts = found[:, 0] == 1.0
    assert counts.mean() > 0.9
    assert not expected[counts, 0].any(), 'accepted what the reference refuses'
    for field in FIELDS:
        true = expected[counts][:, packed.slices[field]]
        error = np.abs(found[counts, 1:][:, packed.slices[field]] - true).max(axis=1, initial=0.0)
        size = np.abs(true).max(axis=1, initial=0.0)
        assert (error <= AGREEMENT * np.maximum(size, 1e-3)).all(), field
    if friction and name == 'masticator':
        assert np.abs(found[counts, 1:][:, packed.slices['friction']]).max() > 1e-3
    single = np.array([code(row) for row in given[:20]])
    efforts = [x[:20, 1:][counts[:20]][:, packed.slices['effort']] for x in (single, found)]
    np.testing.assert_array_equal(single[:, 0], found[:20, 0])
    assert np.abs(efforts[0] - efforts[1]).max() <= ONE_SOURCE * np.abs(efforts[1]).max()


def test_faces_are_found_without_the_reference() -> None:
    """States whose best efforts leave a contact without force."""
    mechanism = samples.mechanism('masticator')
    given = rows_of('masticator', 1000, seed=942)  # a face is one state in seventy
    packed = mechanism.solver.distribution('torque', True)
    code = packed.code
    found = code(given)
    multipliers = found[:, 1:][:, packed.slices['multipliers']][:, mechanism.contact_rows]
    on_a_face = np.abs(multipliers).min(axis=1) < 1e-9 * np.abs(multipliers).max(axis=1)
    assert (on_a_face & (found[:, 0] == 1.0)).sum() >= 5
    expected = reference_rows(mechanism, given, packed)[:, packed.slices['effort']]
    error = np.abs(found[:, 1:][:, packed.slices['effort']] - expected).max(axis=1)[on_a_face]
    assert error.max() <= AGREEMENT * np.abs(expected).max()


@pytest.mark.parametrize(('name', 'goals', 'friction'), samples.swept_rows(CASES[:5], OFTEN))
def test_the_same_source_on_floats(name: str, goals: Mapping[str, float], friction: bool) -> None:
    mechanism = samples.mechanism(name)
    packed = mechanism.solver.distribution(goals, friction)
    code = packed.code
    for given in rows_of(name, 3, seed=943):
        run = InverseDynamics(
            mechanism.description, mechanism.structure, given.tolist(), mechanism.driving
        )
        best = traced.Distribution(run, goals, friction)
        assert run.valid() == 1.0
        efforts = np.array(best.efforts())
        found = code(given)[1:][packed.slices['effort']]
        assert np.abs(found - efforts).max() <= ONE_SOURCE * np.abs(efforts).max()


@pytest.mark.parametrize(('name', 'goals', 'friction'), samples.swept_rows(CASES, OFTEN))
def test_floats_take_the_steps_that_they_need(
    name: str, goals: Mapping[str, float], friction: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their own factors and number of steps, floats must find the same optimum."""
    mechanism = Mechanism.load(name)
    packed = mechanism.solver.distribution(goals, friction)
    given = rows_of(name, 4, seed=945, at_rest=1)
    expected = reference_rows(mechanism, given, packed)
    monkeypatch.setattr(RowCode, 'covers', lambda code, given: False)
    found = reference_rows(mechanism, given, packed)
    assert not expected[:, 0].any()
    for field in FIELDS:
        value, true = (rows[:, packed.slices[field]] for rows in (found, expected))
        size = np.maximum(np.abs(true).max(axis=1, initial=0.0), 1e-3)
        assert (np.abs(value - true).max(axis=1, initial=0.0) <= AGREEMENT * size).all(), field
    assert found[:, packed.slices['optimality']].max() < 1e-6


def test_an_effort_of_machine_code_has_all_fields() -> None:
    mechanism = samples.mechanism('masticator')
    state = samples.states('masticator', 1, seed=944)[0]
    motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
    one = mechanism.feedforward(*state, friction=True)
    two = mechanism.inverse_dynamics(motion, state.wrench, friction=True)
    for field in (
        'actuated', 'contact', 'contact_force', 'contact_friction', 'friction', 'bearing_force',
        'optimality', 'shortfall', 'q', 'position', 'joint_reaction', 'balance_residual',
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    assert one.balance_residual < 1e-12 and one.optimality < 1e-7
