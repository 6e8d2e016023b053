# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Efforts within limits against forces derived by hand and a search from many starts."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
from collections.abc import Callable

import linkages
import numpy as np
import pytest
import samples
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as some
from linkages import Part

from actuation.jaw_forces import CRANK_MASS, JawForces
from masticator_dynamics import Mechanism
from masticator_dynamics.engine.traced.row_code import RowCode
from masticator_dynamics.errors import InputError, LimitError, ReachError
from masticator_dynamics.limits.effort_rows import EffortOptions
from masticator_dynamics.limits.load_limits import LoadLimits

GRAVITY = np.array([0.0, 0.0, -9.8])
OPEN = LoadLimits(*[np.full(6, np.inf)] * 4, np.full(2, -np.inf), np.full(2, np.inf))


@dataclasses.dataclass(frozen=True)
class Hand:
    """Loads of the masticator by hand as functions of the contact multipliers, and limits."""

    forces: JawForces
    limits: LoadLimits

    def margins(self, multipliers: samples.Array) -> samples.Array:
        """Margin of each load as a fraction of its limit; negative beyond the limit."""
        pin_force = self.forces.pin_force(multipliers)
        torque = self.forces.torque(pin_force)
        shaft = pin_force - CRANK_MASS[:, None] * GRAVITY
        axial = np.sum(shaft * self.forces.oracle.crank_z, axis=1)
        radial = np.linalg.norm(shaft - axial[:, None] * self.forces.oracle.crank_z, axis=1)
        power = torque * self.forces.theta_dot
        limits = self.limits
        sides = [
            (torque, limits.effort), (-torque, limits.effort), (power, limits.power),
            (-power, limits.power), (axial, limits.axial_force), (-axial, limits.axial_force),
            (radial, limits.radial_force),
        ]  # fmt: skip
        parts = [(1.0 - value / limit)[np.isfinite(limit)] for value, limit in sides]
        low, high = limits.contact_low, limits.contact_high
        parts += [(multipliers - low)[np.isfinite(low)], (high - multipliers)[np.isfinite(high)]]
        return np.concatenate(parts)

    def search(self, objective: Callable[[samples.Array], float]) -> float:
        """Smallest objective within limits that SLSQP finds in any quadrant, from many starts."""
        best, generator = np.inf, np.random.default_rng(5)
        for signs in itertools.product((1.0, -1.0), repeat=2):
            ends = [(0.0, 300.0) if sign > 0.0 else (-300.0, 0.0) for sign in signs]
            for _ in range(6):
                start = np.array(signs) * generator.exponential(15.0, 2)
                found = scipy.optimize.minimize(
                    objective, start, bounds=ends, method='SLSQP',
                    constraints={'type': 'ineq', 'fun': self.margins},
                    options={'ftol': 1e-15, 'maxiter': 200},
                )  # fmt: skip
                if self.margins(found.x).min() > -1e-9:
                    best = min(best, float(found.fun))
        return best


def tight(state: samples.State, friction: bool, part: float) -> dict[str, LoadLimits]:
    """Limits that the unlimited optimum exceeds, one kind at a time."""
    mechanism = samples.mechanism('masticator')
    effort = mechanism.feedforward(*state, goal={'torque': 1.0}, friction=friction)
    force, power = effort.bearing_force, effort.actuated * effort.velocity
    everything = np.ones(6)
    largest = {
        'effort': np.abs(effort.actuated).max(), 'power': np.abs(power).max(),
        'axial_force': np.abs(force[:, 2]).max(),
        'radial_force': np.hypot(force[:, 0], force[:, 1]).max(),
    }  # fmt: skip
    found = {
        kind: dataclasses.replace(OPEN, **{kind: part * value * everything})
        for kind, value in largest.items()
    }
    span = np.abs(effort.contact).max()
    found['contact'] = dataclasses.replace(
        OPEN, contact_low=effort.contact - 0.5 * span, contact_high=effort.contact - 0.1 * span
    )
    return found


KINDS = ('effort', 'power', 'axial_force', 'radial_force', 'contact')
CASES = [(kind, friction) for kind in KINDS for friction in (False, True)]


OFTEN = [('effort', False), ('power', True), ('contact', True)]


@pytest.mark.parametrize('case', samples.swept(CASES, OFTEN), ids=str)
def test_no_choice_within_limits_is_better(case: tuple[str, bool]) -> None:
    kind, friction = case
    mechanism = samples.mechanism('masticator')
    bound = 0
    for state in samples.states('masticator', 4, seed=91):
        limits = tight(state, friction, 0.97)[kind]
        hand = Hand(JawForces('masticator', tuple(state), friction), limits)
        best = hand.search(lambda f, h=hand.forces: h.norm(f, {'torque': 1.0}))
        try:
            effort = mechanism.feedforward(*state, friction=friction, limits=limits)
        except LimitError:
            assert best == np.inf
            continue
        assert hand.margins(effort.contact).min() > -1e-8
        assert samples.relative_error(
            effort.actuated, hand.forces.torque(hand.forces.pin_force(effort.contact))
        ) < 1e-9  # fmt: skip
        assert np.linalg.norm(effort.actuated) <= best * (1.0 + 1e-8) + 1e-9
        assert effort.optimality < 1e-6
        assert effort.balance_residual < 1e-9
        assert np.array_equal(effort.shortfall, np.zeros(4))
        loads = mechanism.binding_loads(effort, limits)
        assert loads
        bound += 1
    assert bound


@pytest.mark.parametrize(
    'goal', samples.swept(['joint-force', 'contact-force', 'power'], ['contact-force'])
)
def test_other_goals_keep_limits_too(goal: str) -> None:
    mechanism = samples.mechanism('masticator')
    for state in samples.states('masticator', 3, seed=92):
        free = mechanism.feedforward(*state, goal=goal, friction=True)
        limits = dataclasses.replace(OPEN, effort=np.full(6, 0.97 * np.abs(free.actuated).max()))
        hand = Hand(JawForces('masticator', tuple(state), friction=True), limits)
        best = hand.search(lambda f, h=hand.forces: h.norm(f, {goal: 1.0}))
        effort = mechanism.feedforward(*state, goal=goal, friction=True, limits=limits)
        assert hand.margins(effort.contact).min() > -1e-8
        assert hand.forces.norm(effort.contact, {goal: 1.0}) <= best * (1.0 + 1e-8) + 1e-9


def test_limits_that_do_not_bind_change_nothing() -> None:
    """Up to rounding, since this is other code: nothing depends on limits that are far away."""
    mechanism = samples.mechanism('masticator')
    wide = dataclasses.replace(OPEN, effort=np.full(6, 1e3), power=np.full(6, 1e3))
    for state in samples.states('masticator', 8, seed=93):
        expected = mechanism.feedforward(*state, friction=True)
        effort = mechanism.feedforward(*state, friction=True, limits=wide)
        assert effort.actuated == pytest.approx(expected.actuated, rel=1e-13, abs=1e-14)
        assert not mechanism.binding_loads(effort, wide)


@settings(max_examples=15, deadline=None)
@given(seed=some.integers(0, 10**6), part=some.floats(0.3, 0.9), friction=some.booleans())
def test_the_least_excess_is_the_least(seed: int, part: float, friction: bool) -> None:
    """Limits widened by the amount in the message can be kept; by slightly less, they cannot."""
    mechanism = samples.mechanism('masticator')
    state = samples.states('masticator', 1, seed=seed)[0]
    bound = part * np.abs(mechanism.feedforward(*state, friction=friction).actuated).max()

    def limited(widening: float) -> LoadLimits:
        return dataclasses.replace(OPEN, effort=np.full(6, bound * (1.0 + widening)))

    try:
        effort = mechanism.feedforward(*state, friction=friction, limits=limited(0.0))
        assert np.abs(effort.actuated).max() <= bound * (1.0 + 1e-8)
        return
    except LimitError as error:
        excess = float(re.search(r'at the least, (\S+) of a limit', str(error))[1])
        assert re.search(r'crank_\d effort', str(error))
    slack = 0.006 * excess + 1e-9  # the message has three digits
    mechanism.feedforward(*state, friction=friction, limits=limited(excess + slack))
    with pytest.raises(LimitError):
        mechanism.feedforward(*state, friction=friction, limits=limited(excess - slack))


@pytest.mark.parametrize('friction', [False, True])
def test_the_nearest_motion_is_driven_within_limits(friction: bool) -> None:
    """Efforts belong to the acceleration returned, and no nearer acceleration is within limits."""
    mechanism = samples.mechanism('masticator')
    generator = np.random.default_rng(6)
    for state in samples.states('masticator', 4, seed=94):
        y, y_dot, y_ddot, wrench = state
        bound = 0.4 * np.abs(mechanism.feedforward(*state, friction=friction).actuated).max()
        limits = dataclasses.replace(OPEN, effort=np.full(6, bound))
        asked = {'friction': friction, 'limits': limits}
        with pytest.raises(LimitError):
            mechanism.feedforward(*state, **asked)
        effort = mechanism.feedforward(*state, **asked, nearest=True)
        assert np.abs(effort.actuated).max() <= bound * (1.0 + 1e-8)
        left = y_ddot - effort.shortfall
        tangent = mechanism.jacobian_actuated_from_independent(effort)
        wider = dataclasses.replace(limits, effort=limits.effort * (1.0 + 1e-7))
        same = mechanism.feedforward(y, y_dot, left, wrench, friction=friction, limits=wider)
        assert samples.relative_error(effort.actuated, same.actuated) < 1e-5
        assert samples.relative_error(effort.a, same.a) < 1e-12
        inertia = np.transpose(
            [
                mechanism.feedforward(y, None, e).actuated - mechanism.feedforward(y).actuated
                for e in np.eye(4)
            ]
        )
        inertia = tangent.T @ inertia

        def distance(acceleration: samples.Array, inertia=inertia, y_ddot=y_ddot) -> float:
            return float((acceleration - y_ddot) @ inertia @ (acceleration - y_ddot))

        nearest = distance(left)
        for _ in range(40):
            other = left + 0.05 * np.linalg.norm(effort.shortfall) * generator.normal(size=4)
            if distance(other) < nearest * (1.0 - 1e-6):
                with pytest.raises(LimitError):
                    mechanism.feedforward(y, y_dot, other, wrench, **asked)


def test_the_nearest_motion_is_sought_in_every_pattern_of_contact_signs() -> None:
    """With friction a search gets nearer again after it has been farther than another's end."""
    mechanism = samples.mechanism('masticator')
    y, y_dot = [0.00255722, 0.000578019, 0.00648048, 2.70797e-05], [-0.0187, 0.0188, -0.0632, 0.06]
    y_ddot = np.array([0.203354, 0.172567, -0.66444, 1.63599])
    wrench = [-55.808, -20.4077, -20.5375, -0.0538091, 0.71381, 0.502685]
    limits = dataclasses.replace(OPEN, effort=np.full(6, 0.208088))
    asked = {'friction': True, 'limits': limits}
    near = mechanism.feedforward(y, y_dot, y_ddot, wrench, **asked, nearest=True)
    masses = mechanism.mass_matrix(near)
    other = np.array([0.8944, 2.2159, -22.508, -1.295])  # which can be driven, both contacts loaded
    assert (mechanism.feedforward(y, y_dot, y_ddot - other, wrench, **asked).contact != 0.0).all()
    assert near.shortfall @ masses @ near.shortfall <= other @ masses @ other


@pytest.mark.parametrize(
    ('part', 'pose', 'y_dot', 'y_ddot', 'force'),
    [
        (0.6, [-0.0009, -0.001, 0.004, 0.07], [0.4, 1, -2, -0.6], [-2, -0.6, 5, -5], [0, 0, 0]),
        (0.3, [0.0003, 0.002, 0.0004, 0.02], [0.9, -0.2, 1, 0.2], [6, -30, 0.6, 10], [3, 7, 9]),
        (0.6, [0.0007, -0.001, 0.01, 0.09], [0.8, 2, -0.4, 2], [-5, -4, -9, 9], [0, 0, 0]),
    ],
)
def test_the_nearest_motion_is_found_where_bounds_nearly_coincide(
    part: float, pose: list[float], y_dot: list[float], y_ddot: list[float], force: list[float]
) -> None:
    """Rows that were refused: 1 in 100 of those drawn at random with such limits."""
    mechanism = samples.mechanism('masticator')
    state = [mechanism.home.y + pose, y_dot, y_ddot, [*force, 0, 0, 0]]
    needed = np.abs(mechanism.feedforward(*state, friction=True).actuated).max()
    limits = dataclasses.replace(mechanism.load_limits, effort=np.full(6, part * needed))
    limits = dataclasses.replace(limits, effort_low=None)
    effort = mechanism.feedforward(*state, friction=True, limits=limits, nearest=True)
    assert (np.abs(effort.actuated) <= limits.effort * (1.0 + 1e-9)).all()
    driven = [state[0], y_dot, y_ddot - effort.shortfall, state[3]]
    wider = dataclasses.replace(limits, effort=limits.effort * (1.0 + 1e-7))
    same = mechanism.feedforward(*driven, friction=True, limits=wider)
    np.testing.assert_allclose(same.a, effort.a, rtol=1e-9, atol=1e-9)


def _slides(folder: pathlib.Path, masses: tuple[float, ...], **keys: object) -> Mechanism:
    """Slides without gravity, each on the base: along x, y, z."""
    parts = [
        Part(name, 'ground', (0.0, 0.0, 0.0), axis, 'prismatic', mass=mass)
        for name, axis, mass in zip('abc', np.eye(3).tolist(), masses, strict=False)
    ]
    keys |= {'platform': 'a', 'gravity': [0.0, 0.0, 0.0]}
    return Mechanism.load(linkages.write(folder, parts, 'slides', **keys))


def test_a_slide_without_inertia_does_not_hinder_the_nearest_motion(tmp_path: pathlib.Path) -> None:
    """Its motor holds a spring, however it accelerates; the other pushes 2 kg with all it has."""
    joints = ['a_joint', 'b_joint']
    spring = {'b_joint': {'stiffness': 100.0, 'reference': 0.0}}
    mechanism = _slides(tmp_path, (2.0, 0.0), independent=joints, actuated=joints, joints=spring)
    limits = mechanism.load_limits
    for held, y in ((1.0, 0.01), (-3.0, -0.03)):
        limits = dataclasses.replace(limits, effort=np.array([1.0, 4.0]), effort_low=None)
        asked = {'limits': limits, 'nearest': True}
        near = mechanism.feedforward([0.0, y], [0.0, 0.0], [3.0, 5.0], **asked)
        np.testing.assert_allclose(near.actuated, [1.0, held], rtol=1e-7)
        np.testing.assert_allclose(near.shortfall, [2.5, 0.0], rtol=1e-7, atol=1e-7)
    with pytest.raises(LimitError):  # no acceleration helps against the spring
        mechanism.feedforward([0.0, 0.05], [0.0, 0.0], [3.0, 5.0], **asked)


def test_efforts_go_a_long_way_for_the_nearest_motion(tmp_path: pathlib.Path) -> None:
    """A heavy slide with two motors, one of which is weak, beside a light one."""
    joints, tie = ['a_joint', 'b_joint', 'c_joint'], {'joint': 'b_joint', 'of': {'a_joint': [1.0]}}
    mechanism = _slides(
        tmp_path, (1000.0, 0.0, 0.001), independent=['a_joint', 'c_joint'], actuated=joints,
        closures=[{'name': 'tie', 'type': 'coupling', **tie}],
    )  # fmt: skip
    for weak, strong, wanted in ((1.0, 3.0, 0.01), (0.1, 8.0, -0.04)):
        effort = np.array([weak, strong, 1.0])
        limits = dataclasses.replace(mechanism.load_limits, effort=effort, effort_low=None)
        near = mechanism.feedforward(
            [0.0, 0.0], [0.0, 0.0], [wanted, 1.0], limits=limits, nearest=True
        )
        sign = np.sign(wanted)
        np.testing.assert_allclose(near.actuated, [sign * weak, sign * strong, 0.001], rtol=1e-6)
        reached = sign * (weak + strong) / 1000.0
        np.testing.assert_allclose(near.shortfall, [wanted - reached, 0.0], rtol=1e-6, atol=1e-9)


def test_batches_name_the_row_and_keep_the_rest() -> None:
    mechanism = samples.mechanism('masticator')
    columns = [np.array(c) for c in zip(*samples.states('masticator', 5, seed=95), strict=True)]
    batch = mechanism.feedforward_batch(*columns, friction=True)
    bound = 0.97 * np.abs(batch.actuated).max()
    limits = dataclasses.replace(OPEN, effort=np.full(6, bound))
    limited = mechanism.feedforward_batch(*columns, friction=True, limits=limits)
    for row in range(5):
        single = mechanism.feedforward(*(c[row] for c in columns), friction=True, limits=limits)
        # Machine code of many rows is not that of one.
        assert samples.relative_error(single.actuated, limited.actuated[row]) < 1e-12
    hopeless = dataclasses.replace(limits, effort=np.full(6, 1e-6))
    with pytest.raises(LimitError, match=r'^row 1: no efforts keep the limits') as caught:
        mechanism.feedforward_batch(*columns, friction=True, limits=hopeless)
    assert caught.value.row == 0


def test_a_row_out_of_reach_is_named_within_limits_as_without() -> None:
    mechanism = samples.mechanism('masticator')
    rows = np.tile(mechanism.home.y, (5, 1))
    rows[3, 0] = 5.0
    for asked in ({}, {'limits': True}, {'limits': True, 'nearest': True, 'friction': True}):
        with pytest.raises(ReachError, match=r'^row 4: condyle_left') as caught:
            mechanism.feedforward_batch(rows, **asked)
        assert caught.value.row == 3


@pytest.mark.parametrize('part', [0.97, 2.0])  # of the largest effort: binding, or not
@pytest.mark.parametrize('friction', [False, True])
def test_rows_whose_loops_take_more_steps_are_not_searched_on_floats(
    monkeypatch: pytest.MonkeyPatch, friction: bool, part: float
) -> None:
    mechanism = samples.mechanism('masticator')
    generator = np.random.default_rng(1)
    poses = mechanism.home.y + generator.uniform(-1.0, 1.0, (4000, 4)) * [0.003, 0.003, 0.05, 0.3]
    given = np.hstack([poses, generator.normal(size=(4000, 8)), np.zeros((4000, 6))])
    closed = mechanism.attempt(poses).closed
    given = given[(mechanism.kernels.evaluate(given)[:, 0] == 0.0) & closed][:3]
    assert len(given) == 3
    columns = given[:, :4], given[:, 4:8], given[:, 8:12]
    free = mechanism.feedforward_batch(*columns, friction=friction)
    limits = dataclasses.replace(OPEN, effort=np.full(6, part * np.abs(free.actuated).max()))
    within = mechanism._within(EffortOptions('torque', friction, limits))
    slow = [within._on_floats('thorough', row, q) for row, q in zip(given, free.q, strict=True)]
    monkeypatch.setattr(RowCode, 'on_floats', None)
    efforts = mechanism.feedforward_batch(*columns, friction=friction, limits=limits).actuated
    assert (np.abs(efforts) <= limits.effort * (1.0 + 1e-9)).all()
    for row, other in zip(efforts, slow, strict=True):
        assert np.linalg.norm(row) <= np.linalg.norm(other[within.kind.slices['effort']]) + 1e-9


def test_limits_and_wrenches_on_links_of_a_batch() -> None:
    """Input rows with wrenches may be shorter than others with limits."""
    mechanism = samples.mechanism('rrr4')
    limits = LoadLimits(*[np.full(4, 1e6)] * 4, np.empty(0), np.empty(0))
    links = {mechanism.description.platform: np.arange(6.0)}
    for count in (0, 1, 3, 20):
        rows = mechanism.home.y + np.random.default_rng(49).normal(scale=0.01, size=(count, 3))
        free, kept = (
            mechanism.feedforward_batch(rows, link_wrenches=links, **asked).actuated
            for asked in ({}, {'limits': limits})
        )
        np.testing.assert_allclose(kept, free, rtol=1e-12, atol=1e-12)


def test_without_redundancy_limits_decide_only_whether() -> None:
    """rss6 has one solution: it is returned if it is within limits, else the motion must change."""
    mechanism = samples.mechanism('rss6')
    open_limits = LoadLimits(*[np.full(6, np.inf)] * 4, np.empty(0), np.empty(0))
    for state in samples.states('rss6', 4, seed=96):
        free = mechanism.feedforward(*state, friction=True)
        largest = np.abs(free.actuated).max()
        wide = dataclasses.replace(open_limits, effort=np.full(6, 1.01 * largest))
        kept = mechanism.feedforward(*state, friction=True, limits=wide)
        # Efforts alone are another code of the same text, which may round otherwise.
        assert np.abs(kept.actuated - free.actuated).max() <= 1e-14 * largest
        narrow = dataclasses.replace(open_limits, effort=np.full(6, 0.9 * largest))
        with pytest.raises(LimitError, match='at the least, 0.111 of a limit too much: crank_'):
            mechanism.feedforward(*state, friction=True, limits=narrow)
        near = mechanism.feedforward(*state, friction=True, limits=narrow, nearest=True)
        assert np.abs(near.actuated).max() <= 0.9 * largest * (1.0 + 1e-8)


def test_limits_come_from_the_description() -> None:
    description = samples.mechanism('masticator').description
    old = description.actuators['crank_1']
    data = type(old.limits)(power=20.0, axial_force=100.0, radial_force=200.0)
    crank = type(old)(friction=old.friction, limits=data)
    left, right = description.contacts
    mechanism = Mechanism(
        dataclasses.replace(
            description,
            actuators=description.actuators | {'crank_1': crank, 'crank_2': type(old)()},
            contacts=(dataclasses.replace(left, force_range=(None, 30.0)), right),
        )
    )
    limits = mechanism.load_limits
    assert limits.power[0] == 20.0 and limits.power[1] == np.inf
    assert limits.axial_force[0] == 100.0 and limits.radial_force[0] == 200.0
    assert limits.contact_high[0] == 30.0 and limits.contact_low[0] == -np.inf
    assert np.array_equal(limits.effort, np.full(6, 5.0))
    wrench = np.array([0.0, 0.0, -200.0, 0.0, 0.0, 0.0])
    assert mechanism.feedforward(mechanism.home.y, wrench=wrench).contact[0] > 30.0
    kept = mechanism.feedforward(mechanism.home.y, wrench=wrench, limits=True)
    assert abs(kept.contact[0] - 30.0) < 1e-6
    assert [str(load) for load in mechanism.binding_loads(kept)] == [
        'condyle_left force 30 N is outside [-inf, 30] N'
    ]


@pytest.mark.parametrize(
    ('change', 'complaint'),
    [
        ({'effort': np.full(6, np.nan)}, 'limit effort'),
        ({'effort': [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]}, 'limit effort is 0; above 0'),
        ({'power': np.full(6, -1.0)}, 'limit power is -1'),
        ({'radial_force': np.ones((1, 6))}, 'limit radial_force'),
        ({'contact_low': np.full(2, 1.0), 'contact_high': np.zeros(2)}, 'are no ranges'),
        ({'contact_high': np.full(2, -np.inf)}, 'are no ranges'),
        ({'effort': np.ones(5)}, 'limit effort has 5 values, 6 are needed'),
        ({'contact_low': [-1.0], 'contact_high': [1.0]}, 'limit contact_low has 1 values'),
    ],
)
def test_limits_that_cannot_be_are_refused(change: dict[str, object], complaint: str) -> None:
    mechanism = samples.mechanism('masticator')
    with pytest.raises(InputError, match=re.escape(complaint)):
        mechanism.feedforward(mechanism.home.y, limits=dataclasses.replace(OPEN, **change))


@pytest.mark.parametrize('limits', [None, 1, 'yes', {}])
def test_only_limits_are_limits(limits: object) -> None:
    mechanism = samples.mechanism('masticator')
    with pytest.raises(InputError, match='limits is'):
        mechanism.feedforward(mechanism.home.y, limits=limits)


def test_nearest_needs_limits_and_no_rows_are_no_error() -> None:
    mechanism = samples.mechanism('masticator')
    with pytest.raises(InputError, match='nearest'):
        mechanism.feedforward(mechanism.home.y, nearest=True)
    assert mechanism.feedforward_batch(np.empty((0, 4)), limits=True).actuated.shape == (0, 6)
