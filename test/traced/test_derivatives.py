# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of efforts and contacts, against differences of more precise evaluations.

``DERIVATIVE_STATES`` sets how many states of each mechanism are tried.
"""

from __future__ import annotations

import functools
import os
import pathlib
import warnings

import numpy as np
import pytest
import samples
from oracles.decimal_oracle import DecimalOracle, exact

from masticator_dynamics import Mechanism
from masticator_dynamics.description import archetypes, shipped_mechanisms
from masticator_dynamics.engine.traced import closing
from masticator_dynamics.engine.traced.derivatives import with_derivatives
from masticator_dynamics.engine.traced.differentiation import evaluated, forward, reverse
from masticator_dynamics.engine.traced.effort_distribution import ON_A_FACE
from masticator_dynamics.engine.traced.inverse_dynamics import LeastNorm
from masticator_dynamics.engine.traced.numbers import Graph
from masticator_dynamics.errors import (
    DescriptionWarning,
    InputError,
    MasticatorError,
    ReachError,
    SingularityError,
)

pytestmark = pytest.mark.early

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


@pytest.mark.parametrize('name', samples.swept(NAMES, (*samples.EVERYDAY, 'delta_gepetto')))
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
    given, slopes = given[valid], slopes[valid]
    for column in range(n):
        own = slopes[..., column]
        size = np.abs(slopes).max(axis=(1, 2), initial=1e-6)
        bound = 1e-8 * np.abs(own).max(axis=1, initial=0.0) + 1e-12 * size

        def differ(chosen, found, column: int = column, bound=bound):
            """Which of some rows no difference agrees with."""
            left = np.ones(len(found), dtype=bool)
            # Near singularities only short steps serve, for small slopes only long ones.
            for scale in (1.0, 0.15, 5.0, 20.0):
                step = np.longdouble((2e-6 if column < n // 3 - 2 else 1e-3) * scale)

                def moved(h: float, step: np.longdouble = step):
                    shifted = given[chosen].astype(np.longdouble)
                    shifted[:, column] += h * step
                    return evaluated(graph, values, shifted)

                right = samples.five_point(moved, 1.0) / float(step)
                left &= ~(np.abs(right - found).max(axis=1, initial=0.0) < bound[chosen])
                if not left.any():
                    break
            return left

        wrong = np.flatnonzero(differ(np.arange(len(own)), own))
        if len(wrong):  # rounding, where terms cancel: a screw's, with the square of its ratio
            recorded = with_derivatives(run, values, n)[1 + len(values) :]
            longer = evaluated(graph, recorded, given[wrong].astype(np.longdouble))
            longer = longer.reshape(len(wrong), -1, n)[..., column]
            assert (np.abs(longer - own[wrong]).max(axis=1) < 1e-11 * size[wrong]).all()
            assert not differ(wrong, longer).any(), found.independent


def _split(found: Mechanism, given: samples.Array) -> list[samples.Array]:
    n = len(found.independent)
    return np.split(given, [n, 2 * n, 3 * n], axis=-1)


@pytest.mark.parametrize('name', samples.swept(shipped_mechanisms()))
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


@pytest.mark.parametrize(('name', 'options'), samples.swept_rows(CASES, CASES[::4]))
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


BEST = 'masticator', 'rrr4', 'rss6', 'trimule'


@pytest.mark.parametrize('friction', samples.swept([False, True], [True]))
@pytest.mark.parametrize('name', samples.swept(BEST, ['rrr4']))
def test_best_efforts_by_both_codes(name: str, friction: bool) -> None:
    """That which finds the best efforts, and that which is told them, limbs in lanes or not."""
    found = samples.mechanism(name)
    given = np.hstack(states(name, STATES, seed=3207))
    kind = found.solver.distribution('power', friction)
    quick = kind.derivatives(given)
    served = quick[:, 0] == 1.0
    assert served.mean() > 0.9
    effort = found.feedforward_batch(*_split(found, given), goal='power', friction=friction)
    amounts = effort.actuated - effort.friction
    rows = np.hstack([given, effort.q, amounts, effort.contact])
    for other in (kind.derivatives_at_best(rows), kind.derivatives_at_best.in_numpy(rows)):
        assert other[served, 0].all()
        first = 1 + len(found.contacts) + len(found.tree_joints)
        assert samples.relative_error(quick[served, first:], other[served, first:]) < 1e-9


def test_best_efforts_on_a_face() -> None:
    """A contact held at zero by friction: the optimum moves along it, where the gradient pulls."""
    found = samples.mechanism('masticator')
    held = 0
    for state in samples.states('masticator', 8, seed=5):
        effort = found.feedforward(*state, friction=True)
        pressed = np.abs(effort.contact)
        if (pressed > ON_A_FACE * pressed.max()).all():
            continue
        held += 1
        slopes = tables(found.feedforward_derivatives(*state, friction=True))
        flat, sizes = np.concatenate(list(state)), np.cumsum([len(x) for x in state])[:-1]
        for column, direction in enumerate(np.eye(len(flat))):
            right = samples.five_point(
                lambda t, d=direction, flat=flat, sizes=sizes: (
                    found.feedforward(*np.split(flat + t * d, sizes), friction=True).actuated
                ),
                3e-6,
            )
            size = np.abs(slopes[:, column]).max()
            assert np.abs(slopes[:, column] - right).max() < 1e-6 * size + 1e-8, column
    assert held


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


@pytest.mark.parametrize(
    ('name', 'friction', 'step'),
    [('rrr4', False, 1e-4), ('trimule', False, 1e-4), ('boom', False, 1e-4),
     ('rss6', True, 1e-5), ('masticator', True, 1e-5)],
)  # fmt: skip
def test_accelerations_against_differences(name: str, friction: bool, step: float) -> None:
    found = samples.mechanism(name)
    rng = np.random.default_rng(3204)
    state = samples.states(name, 1, seed=3204)[0]
    effort = rng.normal(size=len(found.actuated)) * np.abs(found.feedforward(*state).actuated).max()
    given = [state.y, state.y_dot, effort, state.wrench]
    derivatives = found.forward_dynamics_derivatives(*given, friction=friction)
    slopes = derivatives.by_y, derivatives.by_y_dot, derivatives.by_effort, derivatives.by_wrench
    expected = found.forward_dynamics(*given, friction=friction)
    assert samples.relative_error(derivatives.y_ddot, expected) < 1e-12
    for part, by_part in enumerate(slopes):
        for column, direction in enumerate(np.eye(len(given[part]))):

            def moved(t: float, part=part, direction=direction):
                shifted = [*given]
                shifted[part] = given[part] + t * direction
                return found.forward_dynamics(*shifted, friction=friction)

            right = samples.five_point(moved, step)
            assert np.abs(by_part[:, column] - right).max() < 1e-8 * max(1.0, np.abs(by_part).max())
    rows = [np.tile(x, (3, 1)) for x in given]
    many = found.forward_dynamics_derivatives(*rows, friction=friction)
    assert samples.relative_error(many.by_y[2], derivatives.by_y) < 1e-10
    if friction:
        without = found.forward_dynamics_derivatives(*given)
        assert samples.relative_error(without.by_y_dot, derivatives.by_y_dot) > 1e-4


def test_open_tree_against_pinocchio(tmp_path: pathlib.Path) -> None:
    """An arm without loops: its own recursive derivatives."""
    samples.pinocchio()
    import pinocchio as pin

    links = ''.join(
        f'<link name="l{i}"><inertial><origin xyz="0.1 0.0{i} 0.05"/><mass value="{i + 1}"/>'
        f'<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0.002" iyz="0.003"/>'
        f'</inertial></link><joint name="j{i}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="l{i}"/><origin xyz="0.3 0.1 0.2" rpy="0.3 0.2 {0.1 * i}"/>'
        f'<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        for i, (kind, parent, axis) in enumerate(
            [('revolute', 'base', '0 0 1'), ('revolute', 'l0', '0 1 0'),
             ('prismatic', 'l1', '1 0 0'), ('revolute', 'l2', '0.6 0 0.8')]
        )
    )  # fmt: skip
    urdf = f'<robot name="arm"><link name="base"/>{links}</robot>'
    (tmp_path / 'arm.urdf').write_text(urdf, encoding='utf-8')
    joints = ['j0', 'j1', 'j2', 'j3']
    text = (
        'schema: 1\nname: arm\nurdf: arm.urdf\nbase: base\nplatform: l3\n'
        f'gravity: [0.0, 0.0, -9.81]\nindependent: {joints}\nactuated: {joints}\n'
        'closures: []\n'
    )
    (tmp_path / 'arm.yaml').write_text(text, encoding='utf-8')
    arm = Mechanism.load(tmp_path / 'arm.yaml')
    model = pin.buildModelFromXML(urdf)
    data = model.createData()
    rng = np.random.default_rng(3205)
    for _ in range(10):
        q, v, a = rng.uniform(-1.0, 1.0, (3, 4))
        pin.computeRNEADerivatives(model, data, q, v, a)
        found = arm.feedforward_derivatives(q, v, a)
        mass = np.triu(data.M) + np.triu(data.M, 1).T
        for ours, theirs in (
            (found.by_y, data.dtau_dq), (found.by_y_dot, data.dtau_dv), (found.by_y_ddot, mass)
        ):  # fmt: skip
            assert samples.relative_error(ours, theirs) < 1e-9


def test_closed_loop_against_pinocchio_projected() -> None:
    """Derivatives of the tree, projected along the oracle's own tangent and its differences."""
    samples.pinocchio()
    import pinocchio as pin

    found, oracle = samples.mechanism('five_bar'), samples.oracle('five_bar')
    model, data = oracle.model, oracle.model.createData()
    for y, y_dot, y_ddot, _ in samples.states('five_bar', 3, seed=3206):
        motion = oracle.solve(y, y_dot, y_ddot)
        q = oracle._configuration(motion.q)
        pin.computeRNEADerivatives(model, data, q, motion.v, motion.a)
        mass = np.triu(data.M) + np.triu(data.M, 1).T + np.diag(oracle._rotor_inertia)
        load = data.tau + oracle._rotor_inertia * motion.a
        tangent = motion.motion_map
        rates = oracle._motor_rows @ tangent
        torque = np.linalg.solve(rates.T, tangent.T @ load)

        def along(direction, y=y, y_dot=y_dot, y_ddot=y_ddot):
            """How the oracle's motion and tangent change."""

            def at(t):
                moved = oracle.solve(y + t * direction, y_dot, y_ddot)
                return np.hstack([np.vstack([moved.v, moved.a]).T, moved.motion_map])

            return samples.five_point(at, 3e-4)

        derivatives = found.feedforward_derivatives(y, y_dot, y_ddot)
        inverse = np.linalg.inv(rates.T)
        assert (
            samples.relative_error(derivatives.by_y_ddot, inverse @ tangent.T @ mass @ tangent)
            < 1e-9
        )
        for k, direction in enumerate(np.eye(len(y))):
            change = along(direction)
            v, a, bend = change[:, 0], change[:, 1], change[:, 2:]
            moved = data.dtau_dq @ tangent[:, k] + data.dtau_dv @ v + mass @ a
            needed = bend.T @ load + tangent.T @ moved
            right = inverse @ (needed - (oracle._motor_rows @ bend).T @ torque)
            error = np.abs(derivatives.by_y[:, k] - right).max()
            assert error < 1e-9 * np.abs(derivatives.by_y).max()

            def spun(t: float, state=(y, y_dot, y_ddot), direction=direction):
                return oracle.solve(state[0], state[1] + t * direction, state[2]).a

            right = (
                inverse
                @ tangent.T
                @ (data.dtau_dv @ tangent[:, k] + mass @ samples.five_point(spun, 1e-2))
            )
            error = np.abs(derivatives.by_y_dot[:, k] - right).max()
            assert error < 1e-9 * np.abs(derivatives.by_y_dot).max()


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
