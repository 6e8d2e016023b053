# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops closed in as many steps as needed, in machine code and from the same source on floats."""

import contextlib
import ctypes

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.status import CLOSED, RefusedError
from masticator_dynamics.engine.traced import row_code
from masticator_dynamics.engine.traced.control_flow import repeat
from masticator_dynamics.engine.traced.llvm_ir import row_function
from masticator_dynamics.engine.traced.machine_code import Library, object_code, this_processor
from masticator_dynamics.engine.traced.numbers import Graph, select
from masticator_dynamics.errors import MasticatorError


def powers(graph, x, y):
    """Nested loops: how often numbers can be doubled, with values that do not change inside."""

    def outer(state):
        count, steps = state

        def inner(state):
            (value,) = state
            return x * y - value, [value * 2.0]

        (value,) = repeat(graph, 20, [count * y], inner)
        return 3.5 - count, [count + 1.0, steps + value]

    count, steps = repeat(graph, 10, [1.0, 0.0], outer)
    (frozen,) = repeat(graph, 7, [x], lambda state: (1.0, [select(5.0 - state[0], y, state[0])]))
    (once,) = repeat(graph, 9, [y], lambda state: (np.nan, [state[0] + x]))
    return [count, steps, frozen, once, x * y]


@pytest.mark.parametrize('given', [(3.0, 0.7), (1e3, 2.0), (1.0, 1.0), (7.0, 0.25)])
def test_loops_of_machine_code_are_those_of_python(given) -> None:
    graph = Graph()
    outputs = powers(graph, *graph.inputs(2))
    library = Library(object_code(row_function(graph, outputs, 'row'), this_processor()))
    source, found = np.array(given), np.zeros(len(outputs))
    library.row(*(a.ctypes.data_as(ctypes.c_void_p).value for a in (source, found)))
    np.testing.assert_array_equal(found, powers(None, *given))
    x, y = given
    steps = 0.0  # a third time, as anyone would write it
    for count in (1, 2, 3, 4):
        value, most = count * y, 20
        while most:
            before, value, most = value, 2.0 * value, most - 1
            if not x * y > before:
                break
        steps += value
    assert found[0] == 5.0 and found[1] == steps and found[3] == y + x


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_machine_code_closes_loops_as_floats_do(name: str) -> None:
    """Within and out of reach, with the same reason and amount."""
    mechanism, code = samples.mechanism(name), samples.mechanism(name).kernels.from_home
    box, rng = samples.BOXES[name], np.random.default_rng(77)
    seen = set()
    for spread in (1.0, 1.0, 3.0, 6.0, 10.0):
        given = np.concatenate(tuple(samples.random_state(name, rng)))
        count = len(box.rates)
        given[:count] = mechanism.home.y + spread * (given[:count] - mechanism.home.y)
        found = code(given)
        assert found[0] == 1.0
        seen.add(found[1])
        if found[1] != CLOSED:
            with pytest.raises(RefusedError) as refused:
                code.on_floats(given)
            failed = refused.value
            assert [failed.status, failed.block] == found[1:3].tolist()
            assert failed.amount == pytest.approx(found[3], rel=1e-3, abs=1e-12)
            continue
        true = code.on_floats(given)
        size = np.maximum(1.0, np.abs(true).max())
        assert np.abs(found - true).max() <= 1e-11 * size
    assert CLOSED in seen


@pytest.mark.parametrize('name', ['masticator', 'rss6', 'rcid', 'rrr4'])
def test_loops_are_closed_to_rounding_up_to_the_edge_of_the_workspace(name: str) -> None:
    """There, a gap of 1e-15 m would cost torques six digits."""
    poses = samples.poses_up_to_the_edge(name, 300, np.random.default_rng(78))
    attempts = samples.mechanism(name).attempt(poses)
    assert len(poses) > 250 and attempts.closed.all()
    assert np.max(attempts.motions.closure_residual) < 2e-16


def test_load_code_includes_what_a_call_that_is_handed_over_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node must not compile in its cycle, not even near the edge of the workspace."""
    poses = samples.poses_up_to_the_edge('masticator', 100, np.random.default_rng(78))
    mechanism, handed_over = Mechanism.load('masticator'), []
    mechanism.load_code()

    def refuse(kind: str, *_: object) -> None:
        raise AssertionError(f'code for {kind} is loaded')

    monkeypatch.setattr(row_code, 'library', refuse)
    fallback = mechanism.solver.fallback
    monkeypatch.setattr(
        mechanism.solver, 'fallback', lambda *a, **k: handed_over.append(a) or fallback(*a, **k)
    )
    for y in poses:
        with contextlib.suppress(MasticatorError):
            mechanism.feedforward(y)
    assert len(handed_over) > 10


def test_angles_beyond_the_reduction_are_left_to_floats() -> None:
    """Sines in machine code would lose digits there; whole turns change nothing."""
    mechanism = samples.mechanism('boom')
    code, y = mechanism.kernels.from_home, mechanism.home.y
    turned = y + np.array([0.0, 40.0 * np.pi])  # the swivel
    near, far = (np.concatenate([pose, np.zeros(2 * len(y) + 6)]) for pose in (y, turned))
    assert code(near)[0] == 1.0 and code(far)[0] == 0.0
    tangent = mechanism.solve(turned).tangent
    np.testing.assert_allclose(tangent, mechanism.home.tangent, atol=1e-12)
