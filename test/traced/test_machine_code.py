# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code of a mechanism against its source at given positions, on floats, and itself."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import os
import platform
import sys
import weakref

import numpy as np
import pytest
import samples
from forward import Forward

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.quick_effort import QuickEffort
from masticator_dynamics.engine.status import OUTSIDE_RANGES
from masticator_dynamics.engine.traced import kernels as traced
from masticator_dynamics.engine.traced import outputs
from masticator_dynamics.engine.traced.bodies import Plan
from masticator_dynamics.engine.traced.inverse_dynamics import InverseDynamics, LeastNorm
from masticator_dynamics.engine.traced.machine_code import Library, Processor, object_code
from masticator_dynamics.engine.traced.numbers import Graph, arguments, reachable
from masticator_dynamics.engine.traced.python_entry import Entry
from masticator_dynamics.engine.traced.rows_ir import close_to_use, rows_function
from masticator_dynamics.errors import InputError
from masticator_dynamics.files import file_cache

SAMPLES = int(os.environ.get('TRACED_STATES', '300'))  # of each mechanism; slow: 100000
AGREEMENT = 1e-12  # of the largest
REFERENCE = (
    1e-9  # of the largest effort: near the edge of the workspace digits are lost on both sides
)


def wide_states(name: str, count: int, seed: int) -> samples.Array:
    """Rows of input (N, 3 n_y + 6), some well outside the workspace."""
    box, rng = samples.BOXES[name], np.random.default_rng(seed)
    middle, half = (box.lower + box.upper) / 2.0, (box.upper - box.lower) / 2.0
    spread = rng.choice([1.0, 2.0, 4.0], (count, 1))

    def symmetric(scale: samples.Array) -> samples.Array:
        return rng.uniform(-1.0, 1.0, (count, len(scale))) * scale

    y = middle + spread * symmetric(half)
    wrench = rng.normal(size=(count, 6)) * 20.0
    return np.hstack([y, symmetric(box.rates), symmetric(box.accelerations), wrench])


def reference_rows(mechanism: Mechanism, given: samples.Array) -> samples.Array:
    """Reference results for rows that are handed over."""
    return mechanism.solver.unchecked(mechanism.solver.least_norm, given)


def answers_for(mechanism: Mechanism, given: samples.Array) -> samples.Array:
    """Results of machine code for rows of input."""
    return mechanism.kernels.evaluate(given)


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_machine_code_says_what_the_reference_says_or_hands_over(name: str) -> None:
    mechanism = samples.mechanism(name)
    given = wide_states(name, SAMPLES, seed=901)
    expected, answers = reference_rows(mechanism, given), answers_for(mechanism, given)
    valid = answers[:, traced.VALID] != 0.0
    assert valid.any()
    assert not expected[valid, 0].any(), 'accepted what the reference refuses'
    assert set(np.unique(answers[:, traced.VALID])) <= {0.0, 1.0, OUTSIDE_RANGES}
    efforts = expected[:, mechanism.slices['effort']]
    found = answers[:, traced.EFFORT : traced.EFFORT + len(mechanism.actuated)]
    errors = np.abs(found - efforts).max(axis=1)[valid]
    assert (errors <= REFERENCE * np.abs(efforts).max(axis=1)[valid]).all()
    whole = mechanism.kernels.everything(given[valid])
    for field in ('q', 'v', 'a', 'multipliers', 'tangent'):
        value, true = (x[:, mechanism.slices[field]] for x in (whole[:, 1:], expected[valid]))
        size = np.maximum(np.abs(true).max(axis=1, initial=0.0), 1.0)
        assert (np.abs(value - true).max(axis=1, initial=0.0) <= REFERENCE * size).all(), field


@pytest.mark.parametrize('name', samples.swept(samples.NAMES))
def test_the_same_source_on_floats_is_the_reference(name: str) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, 3, seed=902):
        given = np.concatenate(tuple(state))
        run = InverseDynamics(
            mechanism.description, mechanism.structure, given.tolist(), mechanism.driving
        )
        efforts = np.array(LeastNorm(run).efforts())
        assert run.valid() == 1.0
        for answer in (answers_for(mechanism, given), answers_for(mechanism, given[None])[0]):
            found = answer[traced.EFFORT : traced.EFFORT + len(efforts)]
            assert np.abs(found - efforts).max() <= AGREEMENT * np.abs(efforts).max()


@pytest.mark.parametrize('name', ['masticator', 'trimule'])
def test_rows_depend_neither_on_neighbours_nor_on_their_number(name: str) -> None:
    mechanism = samples.mechanism(name)
    given = wide_states(name, 23, seed=903)
    given[5] = np.nan
    together = answers_for(mechanism, given)
    for count in (1, 2, 7, 9):
        apart = answers_for(mechanism, given[::-1][:count])
        np.testing.assert_array_equal(apart, together[::-1][:count])


@pytest.mark.parametrize('name', ['masticator', 'rss6', 'rcid', 'rrr4'])
def test_one_row_and_many_agree_up_to_the_edge_of_the_workspace(name: str) -> None:
    """Where the order of additions would show by more, both take the same code."""
    mechanism, box, rng = samples.mechanism(name), samples.BOXES[name], np.random.default_rng(904)
    y = samples.poses_up_to_the_edge(name, SAMPLES, rng)
    assert len(y) > SAMPLES // 2
    rates = rng.uniform(-1.0, 1.0, (2, *y.shape))
    states = (y, rates[0] * box.rates, rates[1] * box.accelerations, rng.normal(size=(len(y), 6)))
    many = mechanism.feedforward_batch(*states).actuated
    for row, expected in zip(zip(*states, strict=True), many, strict=True):
        one = mechanism.feedforward(*row).actuated
        assert np.abs(one - expected).max() <= 3.0 * AGREEMENT * np.abs(expected).max()


def test_limbs_of_several_kinds_each_go_into_lanes_of_their_own() -> None:
    """Groups of two, one and three limbs: limb 3 has no motor."""
    description = samples.mechanism('masticator').description
    motors = {k: v for k, v in description.actuators.items() if k != 'crank_3'}
    mechanism = Mechanism(
        dataclasses.replace(description, actuated=tuple(motors), actuators=motors)
    )
    plan = Plan(mechanism.description, mechanism.structure, share=True)
    assert [stage.lanes for stage in plan.stages][2:] == [2, 1, 3]
    forward, rubbing, floats = (Forward(mechanism, friction=f) for f in (False, True, True))
    floats._code.code = floats._code.code_at_positions = None
    for state in samples.states('masticator', 5, seed=910):
        for choice in ({}, {'friction': True}, {'goal': 'power'}):
            one = mechanism.feedforward(*state, **choice)
            (row,) = mechanism.feedforward_batch(*(x[None] for x in state), **choice).actuated
            assert isinstance(one, QuickEffort)
            assert np.abs(one.actuated - row).max() <= AGREEMENT * np.abs(row).max()
        driven = state.y, state.y_dot, mechanism.feedforward(*state).actuated, state.wrench
        assert samples.relative_error(forward(*driven).y_ddot, state.y_ddot) < REFERENCE
        found, expected = rubbing(*driven).y_ddot, floats(*driven).y_ddot
        assert samples.relative_error(found, expected) < REFERENCE


def test_a_row_that_is_handed_over_is_the_engine_s() -> None:
    mechanism = samples.mechanism('trimule')
    given = wide_states('trimule', 200, seed=904)
    left = answers_for(mechanism, given)[:, traced.VALID] == 0.0
    expected = reference_rows(mechanism, given)
    assert 0 < left.sum() < len(given) and not expected[:, 0].any()
    count = len(mechanism.independent)
    columns = [given[:, i * count : (i + 1) * count] for i in range(3)]
    batch = mechanism.feedforward_batch(*columns, given[:, 3 * count :])
    for field, value in (('effort', batch.actuated), ('multipliers', batch._field('multipliers'))):
        true = expected[:, mechanism.slices[field]]
        np.testing.assert_array_equal(value[left], true[left])
    np.testing.assert_array_equal(batch.q[left], expected[left][:, mechanism.slices['q']])
    row = int(np.flatnonzero(left)[0])
    single = mechanism.feedforward(*(c[row] for c in columns), given[row, 3 * count :])
    # A call runs the code of efforts at the positions found, a batch that of whole rows.
    assert samples.relative_error(single.actuated, batch.actuated[row]) < 1e-13


@pytest.mark.parametrize('name', ['trimule', 'rcid', 'five_bar'])
def test_every_field_of_a_batch_is_that_of_a_call(name: str) -> None:
    """For rows that machine code solves, and for those that it hands over."""
    mechanism = samples.mechanism(name)
    given = wide_states(name, 61, seed=906)
    given = given[~reference_rows(mechanism, given)[:, 0].astype(bool)]
    assert {0.0, 1.0, OUTSIDE_RANGES} >= set(answers_for(mechanism, given)[:, traced.VALID])
    count = len(mechanism.independent)
    columns = [given[:, i * count : (i + 1) * count] for i in range(3)]
    batch = mechanism.feedforward_batch(*columns, given[:, 3 * count :])
    for row, single in enumerate(given):
        call = mechanism.feedforward(*(c[row] for c in columns), single[3 * count :])
        for field in ('q', 'v', 'a', 'position', 'velocity', 'acceleration', 'tangent'):
            found, true = getattr(batch, field)[row], getattr(call, field)
            assert found.shape == true.shape
            assert np.abs(found - true).max() <= REFERENCE * np.abs(true).max(), field
    places = [mechanism.tree_joints.index(joint) for joint in mechanism.actuated]
    for answer in (batch, call):
        for actuated, of_tree in (('position', 'q'), ('velocity', 'v'), ('acceleration', 'a')):
            found = getattr(answer, actuated)
            assert np.array_equal(found, getattr(answer, of_tree)[..., places])
            assert not found.flags.writeable


def test_what_has_no_effect_must_be_finite_all_the_same() -> None:
    five_bar = samples.mechanism('five_bar')
    wrench = np.zeros(6)
    wrench[2] = np.nan  # across the plane in which all moves
    with pytest.raises(InputError, match='wrench fz is nan'):
        five_bar.feedforward(five_bar.home.y, np.zeros(2), np.zeros(2), wrench)


@pytest.mark.skipif(platform.machine() != 'x86_64', reason='the processor has no SSE2')
def test_a_processor_with_sse2_alone() -> None:
    mechanism = samples.mechanism('masticator')
    made = mechanism.kernels
    graph = Graph()
    run = InverseDynamics(
        mechanism.description,
        mechanism.structure,
        graph.inputs(made.inputs),
        mechanism.driving,
        share=False,
    )
    plain = Processor('x86-64', '+sse2,-sse3,-sse4.1,-avx', 128)
    text = rows_function(graph, outputs.efforts(run), 'rows', plain.rows, made.inputs)
    library = Library(object_code(text, plain))
    given = wide_states('masticator', 40, seed=905)
    found = np.empty((len(given), made.outputs))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    function(library.address('rows'))(len(given), given.ctypes.data, found.ctypes.data)
    expected = answers_for(mechanism, given)
    valid = expected[:, traced.VALID] != 0.0
    np.testing.assert_array_equal(found[:, traced.VALID] != 0.0, valid)
    efforts = [x[valid, traced.EFFORT : traced.EFFORT + 6] for x in (found, expected)]
    assert np.abs(efforts[0] - efforts[1]).max() <= 1e-10 * np.abs(efforts[1]).max()


def kept_on_average(on: dict[int, list[int]], order: list[int]) -> float:
    """How many numbers later ones still need, over all places of an order."""
    places = {i: place for place, i in enumerate(order)}
    last = {i: max((places[k] for k in on if i in on[k]), default=places[i]) for i in on}
    return sum(last[i] - places[i] for i in on) / len(on)


def test_the_order_of_operations_keeps_fewer_numbers() -> None:
    """Each after what it needs; of a chain of sums, and of a whole limb mechanism."""
    late: dict[int, list[int]] = {i: [] for i in range(50)}
    late |= {50 + i: [i, 49 + i if i else 0] for i in range(50)}
    graph = Graph()
    code = samples.mechanism('rrr4').kernels.evaluate
    wanted = [graph.lift(x) for x in code.function(list(graph.inputs(code.inputs)), False)]
    nodes = {i: list(arguments(graph.nodes[i])) for i in reachable(graph, wanted)}
    for on, less in ((late, 0.1), (nodes, 0.95)):
        order = close_to_use(on)
        places = {i: place for place, i in enumerate(order)}
        assert sorted(order) == sorted(on)
        assert all(places[j] < places[i] for i in on for j in on[i])
        assert kept_on_average(on, order) < less * kept_on_average(on, list(on))


def test_a_mechanism_too_large_to_unroll_is_computed_on_floats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = samples.states('five_bar', 1, seed=906)[0]
    expected = samples.mechanism('five_bar').feedforward(*state).actuated
    monkeypatch.setattr(traced, 'MOST_OPERATIONS', 100)
    monkeypatch.setattr(file_cache, 'cached', lambda folder, name, make: make())
    mechanism = Mechanism.load(samples.OWN / 'five_bar.yaml')
    assert not mechanism.kernels.available
    assert '100 operations' in mechanism.kernels.reason
    effort = mechanism.feedforward(*state)
    assert not isinstance(effort, QuickEffort)
    assert np.abs(effort.actuated - expected).max() <= AGREEMENT * np.abs(expected).max()


# The entry for Python


def test_the_entry_takes_what_the_method_takes() -> None:
    mechanism = Mechanism.load('masticator')
    state = samples.states('masticator', 1, seed=907)[0]
    expected = mechanism.feedforward(*state)
    assert isinstance(expected, QuickEffort)
    y, y_dot, y_ddot, wrench = state
    for given, keywords in (
        (state, {'goal': 'torque'}),
        ((y, y_dot), {'y_ddot': y_ddot, 'wrench': wrench}),
        ([x.tolist() for x in state], {}),
        ([np.repeat(x, 2)[::2] for x in state], {}),
        ([x.astype('>f8') for x in state], {}),
        ([x.astype(np.longdouble) for x in state], {}),
        ((), dict(zip(('y', 'y_dot', 'y_ddot', 'wrench'), state, strict=True))),
    ):
        found = mechanism.feedforward(*given, **keywords)
        np.testing.assert_array_equal(found.actuated, expected.actuated)
    for bad in (
        (),
        (None,),
        (*state, None),
        (y[:3], y_dot, y_ddot, wrench),
        (y[None], y_dot, y_ddot, wrench),
    ):
        with pytest.raises((InputError, TypeError)):
            mechanism.feedforward(*bad)


def test_arguments_left_out_are_zeros_and_served_by_the_entry() -> None:
    mechanism = samples.mechanism('masticator')
    given = tuple(samples.states('masticator', 1, seed=910)[0])
    call = mechanism.feedforward
    call(*given)
    call = mechanism.feedforward  # the generated function is there from now on
    entered = []
    for count in (1, 2, 3):
        expected = call(*given[:count], *(np.zeros_like(x) for x in given[count:]))
        for left_out in ((), (None,), (None,) * (4 - count)):
            sys.setprofile(lambda frame, event, _: entered.append((frame.f_code.co_name, event)))
            found = call(*given[:count], *left_out)
            sys.setprofile(None)
            np.testing.assert_array_equal(found.actuated, expected.actuated)
    assert not [name for name, event in entered if event == 'call']


def test_results_of_the_entry_are_read_only_and_of_the_one_evaluation() -> None:
    mechanism = samples.mechanism('masticator')
    state = samples.states('masticator', 1, seed=908)[0]
    effort = mechanism.feedforward(*state)
    for field in ('actuated', 'contact', 'loop_force', 'q', 'tangent', 'y', 'wrench'):
        with pytest.raises(ValueError, match='read-only'):
            getattr(effort, field)[...] = 0.0
    np.testing.assert_array_equal(effort.row()[mechanism.slices['effort']], effort.actuated)
    assert effort.row()[mechanism.slices['report']][3] == effort.closure_residual
    np.testing.assert_array_equal(effort.given(), np.concatenate(tuple(state)))


def test_the_entry_keeps_nothing_and_is_kept_by_nobody() -> None:
    mechanism = Mechanism.load(samples.OWN / 'five_bar.yaml')
    state = tuple(samples.states('five_bar', 1, seed=909)[0])
    call = mechanism.feedforward
    call(*state)
    call = mechanism.feedforward  # the generated function
    gc.collect()  # what other tests left behind has references of its own
    before = [sys.getrefcount(x) for x in (mechanism, QuickEffort, *state)]
    kept = [call(*state) for _ in range(50)]
    del kept
    refused = [np.full(2, np.nan), *state[1:]]
    for _ in range(50):
        with pytest.raises(InputError):
            call(*refused)
    gc.collect()
    after = [sys.getrefcount(x) for x in (mechanism, QuickEffort, *state)]
    assert np.abs(np.subtract(after, before)).max() < 20
    gone = weakref.ref(mechanism)
    del mechanism
    gc.collect()
    np.testing.assert_array_equal(call(*state).actuated, call(*state).actuated)
    del call
    gc.collect()
    assert gone() is None


CHOICES = [
    {'goal': 'torque', 'friction': True},
    {'friction': True},
    {'friction': True, 'goal': 'power'},
    {'goal': 'power'},
    {'goal': {'torque': 1.0, 'power': 2.0}, 'friction': True},
]


@pytest.mark.parametrize('choice', CHOICES, ids=str)
def test_the_entry_takes_a_goal_and_friction(choice) -> None:
    """Whatever was chosen before; the second call does not enter Python unless it must."""
    mechanism = Mechanism.load('masticator')
    y, y_dot, y_ddot, wrench = samples.states('masticator', 1, seed=908)[0]
    mechanism.feedforward(y)
    for before in CHOICES:
        mechanism.feedforward(y, **before)
    for given in ((y, y_dot, y_ddot, wrench), (y, y_dot), (y, None, y_ddot)):
        motion = mechanism.solve(*given[:3])
        expected = mechanism.inverse_dynamics(motion, (*given, None, None, None)[3], **choice)
        for _ in range(2):
            effort = mechanism.feedforward(*given, **choice)
            # Weights may change from call to call: Python looks at them each time.
            assert isinstance(effort, QuickEffort) != isinstance(choice.get('goal'), dict)
            scale = np.abs(expected.actuated).max()
            assert np.abs(effort.actuated - expected.actuated).max() <= AGREEMENT * scale
            for name in ('friction', 'contact_friction', 'bearing_force', 'contact', 'q'):
                found, wanted = getattr(effort, name), getattr(expected, name)
                assert np.abs(found - wanted).max() <= 1e-9 * max(np.abs(wanted).max(), 1.0)


def test_a_choice_comes_to_python_but_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, computed = [], []
    choose, compute = Entry._add, Mechanism._effort
    monkeypatch.setattr(Entry, '_add', lambda *a: chosen.append(a) or choose(*a))
    monkeypatch.setattr(Mechanism, '_effort', lambda *a: computed.append(a) or compute(*a))
    mechanism = Mechanism.load('masticator')
    y, *_ = samples.states('masticator', 1, seed=909)[0]
    for _ in range(4):
        mechanism.feedforward(y, friction=True)
        mechanism.feedforward(y, goal='torque', friction=True)
        mechanism.feedforward(y)
    assert len(chosen) == 2
    for _ in range(3):
        mechanism.feedforward(y, goal='power')
    assert len(chosen) == 3
    for choice in ({'friction': True}, {'goal': 'power'}, {'goal': 'power', 'friction': True}):
        for _ in range(2):  # all but the last chosen before
            mechanism.feedforward(y, **choice)
    assert len(chosen) == 4
    for choice in ({'friction': False}, {'limits': False}):  # what nothing said means, too
        mechanism.feedforward(y, **choice)
    assert len(chosen) == 4
    for _ in range(2):
        mechanism.feedforward(y, friction=1)
    assert len(chosen) == 5 and not computed
    with pytest.raises(InputError, match='goal'):
        mechanism.feedforward(y, goal='none such', friction=True)
    with pytest.raises(TypeError, match='frictio'):
        mechanism.feedforward(y, frictio=True)
    with pytest.raises(InputError):
        mechanism.feedforward(y[:-1], friction=True)
