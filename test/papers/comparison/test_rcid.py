# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The section ``rcid`` of ``python -m papers``: spin of links, and counts of operations."""

from __future__ import annotations

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from papers.comparison import momentum_operations, rcid
from papers.comparison.inputs import Inputs
from papers.comparison.operation_count import (
    ADD,
    COSINE,
    DIVIDE,
    MULTIPLY,
    PARAMETER,
    SINE,
    SQUARE_ROOT,
    VARIABLE,
    Symbol,
    Tracer,
    elements,
)
from papers.formulations import GeneralizedMomentum, LagrangeKoditschek
from papers.formulations.generalized_momentum import koditschek
from papers.formulations.momentum_parts import all_parts
from papers.formulations.pus_geometry import PusGeometry
from papers.formulations.pus_kinematics import kinematics

RCID = samples.mechanism('rcid')


@pytest.fixture(scope='module')
def tables():
    return rcid.compare(Inputs())


# Counting


def counts(results, tracer: Tracer) -> dict[str, int]:
    return dict(tracer.count(elements(np.array(results, dtype=object))))


@pytest.mark.parametrize('share', [True, False])
def test_products_of_matrices(share: bool) -> None:
    tracer = Tracer(share)
    A, B = (tracer.variables(name, 9).reshape(3, 3) for name in 'AB')
    assert counts(A @ B, tracer) == {MULTIPLY: 27, ADD: 18}
    assert counts(A @ np.eye(3), tracer) == {}
    assert counts(A - np.diag(np.diag(A)), tracer) == {}
    assert counts((A @ B)[0, 0], tracer) == {MULTIPLY: 3, ADD: 2}, 'only what is wanted counts'


def test_what_is_free() -> None:
    tracer = Tracer()
    (x, y), p, q = tracer.variables('x', 2), tracer.parameter('p'), tracer.parameter('q')
    for free in (x + 0.0, 0.0 - x, -x, 1.0 * x, -1 * x, x / 1.0, x / -x, x - x, 0 * x, 0 / x):
        assert counts(free, tracer) == {}
    assert (x - x, x / -x, 0 / x) == (0.0, -1.0, 0.0)
    assert counts((p * q + 1.0) ** 2 / p, tracer) == {}
    assert counts(x / (p * q), tracer) == {MULTIPLY: 1}
    assert counts(p / x, tracer) == {DIVIDE: 1}
    assert counts(0.5 * x, tracer) == {MULTIPLY: 1}
    assert counts(x - y, tracer) == {ADD: 1}
    roots = np.sqrt(np.array([x * x + y])), np.cos(np.array([x])), np.sin(np.array([x]))
    assert counts(roots, tracer) == {MULTIPLY: 1, ADD: 1, SQUARE_ROOT: 1, COSINE: 1, SINE: 1}


@pytest.mark.parametrize(('share', 'expected'), [(True, 1), (False, 3)])
def test_what_occurs_again_counts_once_when_shared(share: bool, expected: int) -> None:
    tracer = Tracer(share)
    x, y = tracer.variables('x', 2)
    assert counts([x - y, y - x, -y + x], tracer) == {ADD: expected}
    assert counts([x * y, y * -x, -x * -y], tracer) == {MULTIPLY: expected}
    assert counts([x / y, -x / y, x / -y], tracer) == {DIVIDE: expected}
    assert counts([x + y, x - y], tracer) == {ADD: 2}


def evaluate(tracer: Tracer, results, values: dict[str, float]) -> np.ndarray:
    """Evaluate the recorded operations on numbers."""
    functions = {
        MULTIPLY: np.multiply, DIVIDE: np.divide, SQUARE_ROOT: np.sqrt, SINE: np.sin,
        COSINE: np.cos,
    }  # fmt: skip
    known: list[float] = []
    for node in tracer.nodes:
        operands = [known[k] for k in node.operands]
        if node.operation in (VARIABLE, PARAMETER):
            known.append(values[node.value] if isinstance(node.value, str) else node.value)
        elif node.operation == ADD:
            known.append(operands[0] + (-operands[1] if node.minus else operands[1]))
        else:
            known.append(functions[node.operation](*operands))
    return np.array(
        [
            (-known[r.node] if r.negative else known[r.node]) if isinstance(r, Symbol) else r
            for r in elements(results)
        ]
    ).reshape(np.shape(results))


@pytest.mark.parametrize('square', [False, True])
@pytest.mark.parametrize('share', [True, False])
@pytest.mark.parametrize('method', [GeneralizedMomentum, LagrangeKoditschek])
def test_what_is_counted_computes_the_matrix(method, share: bool, square: bool) -> None:
    """The counted operations, evaluated on numbers, give V of the shipped mechanism."""
    state = samples.states('rcid', 1, 111)[0]
    geometry = method(RCID.description).geometry
    tracer = Tracer(share)
    V = method.velocity_matrix(
        momentum_operations.symbolic_geometry(tracer, square), all_parts,
        tracer.variables('x', 6), tracer.variables('v', 6),
    )  # fmt: skip
    values = {f'x_{k}': value for k, value in enumerate(state.y)}
    values |= {f'v_{k}': value for k, value in enumerate(state.y_dot)}
    values |= {f'{n}_{c}{i}': getattr(geometry, n)[i, 'xy'.index(c)]
               for n in 'bp' for c in 'xy' for i in range(6)}  # fmt: skip
    values |= {name: getattr(geometry, name)[0] for name in ('L', 'kappa', 'm_A', 'm_L')}
    # S2's V does not depend on I_Lxx.
    values |= {'m_P': geometry.m_P, 'I_Lxx': 3e-5, 'I_Lyy': geometry.I_Lyy[0]}
    values |= {f'I_P{c}{c}': geometry.I_P[k, k] for k, c in enumerate('xyz')}
    expected = method.velocity_matrix(geometry, all_parts, state.y, state.y_dot)
    assert samples.relative_error(evaluate(tracer, V, values), expected, 1e-9) < 1e-13


def test_printed_totals_are_sums_of_the_lines() -> None:
    lines = [np.array(line.printed) * line.times for line in momentum_operations.TABLE_2]
    assert tuple(sum(lines)) == momentum_operations.PRINTED_TOTAL


def test_what_the_notes_say_of_the_counts(tables) -> None:
    rows = [(row[0], np.array(row[1:7], dtype=int), row[7]) for row in tables[2].rows]
    assert [name for name, *_ in rows[:3]] == [
        'platform, printed',
        'platform, ours',
        'platform, each time',
    ]
    for k, (name, printed, _) in enumerate(rows):
        if name.endswith('printed'):
            ours, each_time = rows[k + 1][1], rows[k + 2][1]
            assert np.all(ours <= each_time)
            sums = [0, 1, 3, 4]  # additions and multiplications
            assert np.all(each_time[sums] < printed[sums])
    total = {name: (numbers, ratio) for name, numbers, ratio in rows[-4:]}
    assert np.all(total['all at once, ours'][0] <= total['total, ours'][0])
    for numbers, ratio in total.values():
        assert ratio == pytest.approx(numbers[:3].sum() / numbers[3:].sum())
    lines = [r for r in rows[:-4] if r[0].endswith(', ours')]
    once = [line.times * ours for line, (_, ours, _) in
            zip(momentum_operations.TABLE_2, lines, strict=True)]  # fmt: skip
    assert np.array_equal(sum(once), total['total, ours'][0])


# Agreement and the spin of links


def test_agreement(tables) -> None:
    momentum, lagrange = tables[0].rows
    for row in (momentum, lagrange):
        assert 0.0 < row[2] < 1e-12
    assert lagrange[3] < 1e-12 < 1e-4 < lagrange[4]
    assert lagrange[5] < 1e-12 < 1e-4 < momentum[5]


def test_motion_is_one_and_in_the_workspace() -> None:
    motion = rcid.rcid_motion(RCID.home.y)
    step = rcid.DURATION / rcid.SAMPLES
    # Sines: second differences over step² are accelerations times sinc².
    for k, rate in enumerate(2.0 * np.pi * rcid.FREQUENCY * step):
        center = (motion.y[2:, k] - motion.y[:-2, k]) / (2.0 * step)
        assert center == pytest.approx(motion.y_dot[1:-1, k] * np.sin(rate) / rate)
        center = (motion.y_dot[2:, k] - motion.y_dot[:-2, k]) / (2.0 * step)
        assert center == pytest.approx(motion.y_ddot[1:-1, k] * np.sin(rate) / rate)
    assert np.linalg.norm(motion.y[:, :3] - RCID.home.y[:3], axis=1).max() < 0.01
    assert 0.2 < np.abs(motion.y_dot[:, 2]).max() < 0.22


def test_spin_grows_with_the_inertia_and_with_a_vertical_axis(tables) -> None:
    found = {(row[0].split()[0], float(row[0].split(': ')[1])): row[1:] for row in tables[1].rows}
    for axis in ('level', 'vertical'):
        assert max(found[axis, 0.0]) < 1e-12
        ratio = np.array(found[axis, 4e-5]) / found[axis, 1e-6]
        assert ratio == pytest.approx(40.0, rel=1e-6)
    assert found['vertical', 1e-6][0] > 50.0 * found['level', 1e-6][0]


@pytest.mark.parametrize('upright', [False, True])
def test_forces_of_spin_are_those_of_its_energy(upright: bool) -> None:
    """The engine's change against Lagrange's equations of the energy of spin alone.

    The rod's y axis e2 is normal to the first axis e1 and to the rod, so the angular velocity is
    theta1_dot e1 + theta2_dot e2, and its part along the rod theta1_dot e1 . n.
    """
    inertia = 4e-5
    geometry: PusGeometry = GeneralizedMomentum(RCID.description).geometry
    at_home = kinematics(geometry, RCID.home.y, np.zeros(6)).a
    level = np.column_stack([-at_home[:, 1], at_home[:, 0], np.zeros(6)])
    e1 = np.tile([0.0, 0.0, 1.0], (6, 1)) if upright else level / np.linalg.norm(level[0])

    def mass_matrix(x: np.ndarray) -> np.ndarray:
        result = np.zeros((6, 6))
        along = [kinematics(geometry, x, e) for e in np.eye(6)]
        for i in range(6):
            n = along[0].a[i] / geometry.L[i]
            across = np.cross(e1[i], n)
            slopes = np.array([at.a_dot[i] for at in along]) / geometry.L[i]
            spin = (e1[i] @ n) * (slopes @ across) / (across @ across)
            result += inertia * np.outer(spin, spin)
        return result

    variant = Mechanism(rcid.with_spin_inertia(RCID.description, inertia, upright))
    for y, y_dot, y_ddot, _ in samples.states('rcid', 3, 112):
        slopes = [
            samples.five_point(lambda t, e=e, y=y: mass_matrix(y + t * e), 2e-4) for e in np.eye(6)
        ]
        f_E = mass_matrix(y) @ y_ddot + koditschek(slopes, y_dot) @ y_dot
        expected = np.linalg.solve(kinematics(geometry, y, y_dot).J_E.T, f_E)
        found = variant.feedforward(y, y_dot, y_ddot).actuated
        found = found - RCID.feedforward(y, y_dot, y_ddot).actuated
        assert samples.relative_error(found, expected, 1e-9) < 1e-6
