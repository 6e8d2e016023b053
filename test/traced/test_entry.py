# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One way in for every question: the generated function against the methods in Python."""

from __future__ import annotations

import gc
import sys
import types
import weakref

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.traced import python_entry
from masticator_dynamics.engine.traced.entry_layout import MOST_ANSWERS
from masticator_dynamics.errors import InputError

AGREEMENT = 1e-12


def asked(mechanism: Mechanism) -> dict[str, tuple]:
    """Arguments of each question that machine code answers, by method."""
    y, y_dot, y_ddot, wrench = samples.states(mechanism.name, 1, seed=4901)[0]
    motion = mechanism.solve(y, y_dot, y_ddot)
    effort = np.array(mechanism.feedforward(y, y_dot, y_ddot, wrench).actuated)
    state, frame = (y, y_dot, effort, wrench), mechanism.description.platform
    return {
        'solve': (y, y_dot, y_ddot), 'feedforward': (y, y_dot, y_ddot, wrench),
        'feedforward_derivatives': (y, y_dot, y_ddot, wrench),
        'inverse_dynamics': (motion, wrench), 'mass_matrix': (motion,), 'bias': (motion,),
        'gravity': (motion,), '_energies': (motion,), 'forward_dynamics': state,
        'forward_dynamics_derivatives': state, '_placed': (motion, frame),
        'frame_jacobian': (motion, frame), 'frame_twist': (motion, frame),
        'forward_kinematics': (np.array(motion.position),), 'actuated_inertia': (motion,),
        '_coupling': (motion,), 'regressor': (motion,),
        'inverse_kinematics': (frame, None, np.array(mechanism.frame_pose(motion, frame).rotation)),
    }  # fmt: skip


def arrays_of(answer) -> list[np.ndarray]:
    """All numbers of an answer."""
    if isinstance(answer, np.ndarray):
        return [answer]
    names = ('actuated', 'contact', 'q', 'v', 'a', 'tangent', 'y_ddot', 'by_y', 'by_y_dot',
             'by_y_ddot', 'by_effort', 'by_wrench', 'numbers')  # fmt: skip
    return [getattr(answer, name) for name in names if hasattr(answer, name)]


@pytest.mark.parametrize('name', ['masticator', 'rcid', 'rrr4', 'trimule', 'five_bar'])
def test_machine_code_answers_what_the_method_answers(name: str) -> None:
    """The second time without a line of Python, but for an error."""
    mechanism, entered = samples.mechanism(name), []
    mechanism = Mechanism(mechanism.description)
    for question, arguments in asked(mechanism).items():
        call, method = getattr(mechanism, question), getattr(Mechanism, question)
        assert isinstance(call, types.BuiltinFunctionType)
        try:
            right = method(mechanism, *arguments)
        except Exception as error:
            with pytest.raises(type(error)):
                call(*arguments)
            continue
        call(*arguments)
        entered.clear()
        sys.setprofile(lambda frame, event, _: entered.append((frame.f_code.co_name, event)))
        found = call(*arguments)
        sys.setprofile(None)
        assert not [name for name, event in entered if event == 'call'], question
        for one, other in zip(arrays_of(found), arrays_of(right), strict=True):
            assert one.shape == other.shape, question
            assert np.abs(one - other).max(initial=0.0) <= AGREEMENT * np.abs(other).max(
                initial=1e-3
            ), question


def test_other_numbers_are_asked_the_same_way() -> None:
    old = samples.mechanism('masticator')
    new = old.with_parameters({'crank_1.rotor_inertia': 5e-5, 'crank_2_link.mass': 0.1})
    motion, of_old = (m.solve(*asked(old)['solve']) for m in (new, old))
    for question in ('mass_matrix', 'bias', 'actuated_inertia', 'frame_twist'):
        rest = (new.description.platform,) if question == 'frame_twist' else ()
        found, right = getattr(new, question)(motion, *rest), getattr(Mechanism, question)
        right = right(new, motion, *rest)
        assert samples.relative_error(found, right) < AGREEMENT
        # A motion of the old one has the same joints: the method looks at it.
        assert getattr(new, question)(of_old, *rest).shape == right.shape
    assert samples.relative_error(new.mass_matrix(motion), old.mass_matrix(of_old)) > 1e-6


def test_efforts_and_motions_elsewhere_are_motions_too() -> None:
    mechanism = samples.mechanism('masticator')
    given = asked(mechanism)
    effort, motion = mechanism.feedforward(*given['feedforward']), given['mass_matrix'][0]
    for question, rest in (('mass_matrix', ()), ('frame_jacobian', ('incisor',))):
        right = getattr(mechanism, question)(motion, *rest)
        for _ in range(2):
            found = getattr(mechanism, question)(effort, *rest)
            assert samples.relative_error(found, right) < AGREEMENT
    batch = mechanism.solve_batch(*(x[None] for x in given['solve']))
    assert mechanism.mass_matrix(batch).shape == (1, 4, 4)
    with pytest.raises(InputError, match='motion is a str'):
        mechanism.mass_matrix('motion')
    with pytest.raises(InputError, match='not of five_bar'):
        samples.mechanism('five_bar').mass_matrix(motion)


def test_more_choices_than_there_is_room_for() -> None:
    """The oldest make room, but not the first, and all are answered right, again and again."""
    mechanism = Mechanism(samples.mechanism('five_bar').description)
    u = np.array(mechanism.home.position)
    right = mechanism.forward_kinematics(u)
    tolerances = [1e-3 + 1e-6 * k for k in range(3 * MOST_ANSWERS)]
    for _ in range(2):
        for tolerance in tolerances:
            np.testing.assert_array_equal(mechanism.forward_kinematics(u, tolerance), right)
        np.testing.assert_array_equal(mechanism.forward_kinematics(u), right)
    with pytest.raises(InputError, match='tolerance'):
        mechanism.forward_kinematics(u, float('nan'))
    with pytest.raises(InputError, match='no frame'):
        mechanism.frame_twist(mechanism.home, 'nowhere')


def test_names_and_places_of_arguments() -> None:
    mechanism = samples.mechanism('five_bar')
    y, y_dot, effort, wrench = asked(mechanism)['forward_dynamics']
    right = mechanism.forward_dynamics(y, y_dot, effort, wrench)
    for found in (
        mechanism.forward_dynamics(y, effort=effort, y_dot=y_dot, wrench=wrench),
        mechanism.forward_dynamics(y=y, y_dot=y_dot, effort=effort, wrench=wrench),
        mechanism.forward_dynamics(y.tolist(), y_dot, effort=effort, wrench=wrench, friction=False),
    ):
        np.testing.assert_array_equal(found, right)
    at_rest = mechanism.forward_dynamics(y, np.zeros(2), np.zeros(2), np.zeros(6))
    np.testing.assert_array_equal(mechanism.forward_dynamics(y, None, None), at_rest)
    for bad, named in (
        ((y,), {}), ((y, y_dot, effort, wrench, False), {}), ((y, y_dot), {'y': y}),
        ((y, y_dot, effort), {'efort': 1}),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            mechanism.forward_dynamics(*bad, **named)
    with pytest.raises(InputError, match='y is not given'):
        mechanism.forward_dynamics(None, y_dot, effort)


def test_mechanisms_and_arguments_are_forgotten() -> None:
    mechanism = Mechanism(samples.mechanism('five_bar').description)
    given = asked(mechanism)
    for name, arguments in given.items():
        getattr(mechanism, name)(*arguments)
    for choice in ({'friction': True}, {'goal': 'power'}, {'limits': True, 'friction': True}):
        mechanism.feedforward(*given['feedforward'], **choice)
    gone = [weakref.ref(x) for x in (mechanism, *given['feedforward'])]
    del mechanism, given, arguments
    gc.collect()
    assert not [x for x in gone if x() is not None]


def test_without_the_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python's objects lie otherwise in memory, the methods answer, and no other."""
    right = {name: getattr(samples.mechanism('five_bar'), name)(*arguments)
             for name, arguments in asked(samples.mechanism('five_bar')).items()}  # fmt: skip
    monkeypatch.setattr(python_entry, 'supported', lambda: False)
    mechanism = Mechanism(samples.mechanism('five_bar').description)
    for name, arguments in asked(mechanism).items():
        assert not isinstance(getattr(mechanism, name), types.BuiltinFunctionType)
        found = getattr(mechanism, name)(*arguments)
        for one, other in zip(arrays_of(found), arrays_of(right[name]), strict=True):
            assert samples.relative_error(one, other) < AGREEMENT, name
