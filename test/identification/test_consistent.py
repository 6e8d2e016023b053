# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The likeliest bodies that can be, where what data say cannot be."""

import clarabel
import numpy as np
import pytest
import samples

from identification.hard_truths import arm
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification import identify
from masticator_dynamics.identification.learning import Learnt
from masticator_dynamics.identification.unknowns import LAG, Beliefs, Usual, unknowns_of


@pytest.fixture(scope='module')
def unknowns(tmp_path_factory):
    """Those of an arm without friction and rotors."""
    return _unknowns(Mechanism.load(arm(tmp_path_factory.mktemp('arm'))))


def _unknowns(mechanism):
    mechanism = Mechanism(identify.with_motor_friction(mechanism.description))
    ones = np.ones(len(mechanism.actuated))
    return unknowns_of(mechanism, Beliefs(), Usual(ones, ones, ones, ones, None))


def said(unknowns, seed):
    """Data that say something impossible: masses and inertia far off, friction that drives."""
    rng, count = np.random.default_rng(seed), len(unknowns.causes)
    root = np.eye(count) + 0.3 * rng.normal(size=(count, count))
    precision = root @ root.T
    x = 9.0 * rng.normal(size=count)
    same, every = np.eye(count), np.ones(count, dtype=bool)
    return Learnt(
        same, x, np.linalg.inv(precision), 9, precision, x, every, precision,
        np.linalg.inv(precision), np.ones(count), np.ones(4),
    )  # fmt: skip


def _check_nearest(unknowns, learnt, x) -> None:
    """What can be is convex: towards no other of its points is there anything nearer.

    A lag is no matter of bodies: it stays as learnt.
    """
    lag = unknowns.causes.index(LAG)
    assert x[lag] == pytest.approx(learnt.x[lag], rel=1e-5)
    for other in (
        np.zeros_like(x),
        *(identify.consistent(unknowns, said(unknowns, k)) for k in (7, 8)),
    ):
        other[lag] = x[lag]
        step = other - x
        slope = step @ learnt.precision @ (x - learnt.x)
        assert slope > -1e-6 * (step @ learnt.precision @ step)


@pytest.mark.parametrize('seed', range(3))
def test_bars_without_thickness_stay_bars(seed) -> None:
    """Of five_bar's links, which are lines: in most directions they can have no extent."""
    unknowns = _unknowns(Mechanism.load(samples.file_of('five_bar')))
    learnt = said(unknowns, seed)
    x = identify.consistent(unknowns, learnt)
    assert identify.is_consistent(unknowns, x)
    _check_nearest(unknowns, learnt, x)


@pytest.mark.parametrize('seed', range(3))
def test_no_bodies_that_can_be_are_nearer(unknowns, seed) -> None:
    learnt = said(unknowns, seed)
    assert not identify.is_consistent(unknowns, learnt.x)
    x = identify.consistent(unknowns, learnt)
    assert identify.is_consistent(unknowns, x)
    _check_nearest(unknowns, learnt, x)
    values = identify.possible(unknowns, x)
    small = [
        value for name, value in zip(unknowns.names, values, strict=True)
        if name.endswith(('rotor_inertia', 'friction', 'damping')) and 0.0 < value < 1e-6
    ]  # fmt: skip
    assert small == [], 'nothing is 0, not what the solver leaves'


def test_what_is_seen_of_a_body_moves_what_is_not(unknowns) -> None:
    """A product of inertia that the file's moments cannot have asks for more of the moments."""
    causes, count = unknowns.causes, len(unknowns.causes)
    product = causes.index('link_3 spread 12')
    x, sure, seen = np.zeros(count), np.ones(count), np.zeros(count, dtype=bool)
    x[product], sure[product], seen[product] = 40.0, 100.0, True
    every = np.eye(count)
    learnt = Learnt(
        every, x, every, 9, np.diag(sure), x, seen, np.diag(sure), np.diag(1.0 / sure),
        np.ones(count), np.ones(4),
    )  # fmt: skip
    assert not identify.is_consistent(unknowns, x)
    y = identify.consistent(unknowns, learnt)
    assert identify.is_consistent(unknowns, y)
    assert y[product] > 0.95 * x[product]
    moved = {cause for cause, amount in zip(causes, y, strict=True) if abs(amount) > 1e-9}
    assert {'link_3 spread 11', 'link_3 spread 22'} < moved
    assert all(cause.startswith('link_3 ') for cause in moved)


def test_a_solver_that_gives_up_is_no_result(unknowns, monkeypatch) -> None:
    monkeypatch.setattr(clarabel, 'DefaultSettings', _settings_of(2))
    with pytest.raises(InputError, match='the solver ends with MaxIterations'):
        identify.consistent(unknowns, said(unknowns, 0))


def test_a_solver_that_gets_no_nearer_is_one(unknowns, monkeypatch) -> None:
    """Beyond rounding it makes no progress; what it has is good, whatever it calls that."""
    plain = identify.consistent(unknowns, said(unknowns, 0))
    monkeypatch.setattr(identify, '_EXACT', (1e-30,))
    assert identify.consistent(unknowns, said(unknowns, 0)) == pytest.approx(plain, abs=1e-3)


def _settings_of(iterations):
    """Settings of Clarabel with so many iterations."""
    original = clarabel.DefaultSettings

    def settings():
        made = original()
        made.max_iter = iterations
        return made

    return settings


def test_a_parameter_of_an_unknown_kind_is_named(tmp_path, monkeypatch) -> None:
    """A new kind is not left out of what is identified in silence."""
    known = Mechanism.parameters
    monkeypatch.setattr(
        Mechanism, 'parameters', lambda self, **kinds: known(self, **kinds) | {'joint_0.wear': 1.0}
    )
    with pytest.raises(KeyError, match=r'joint_0\.wear'):
        _unknowns(Mechanism.load(arm(tmp_path)))
