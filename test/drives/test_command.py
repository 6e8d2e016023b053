# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands from names and numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masticator_dynamics.drives.command import CommandReader, NotFiniteError
from masticator_dynamics.errors import InputError

JOINTS = tuple(f'crank_{k}' for k in range(1, 7))
ROW = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
NAN, INF = float('nan'), float('inf')


def read(names=JOINTS, position=ROW, velocity=(), effort=(), mode='position'):
    return CommandReader(JOINTS, mode).read(names, position, velocity, effort, 5.0)


@given(st.permutations(range(6)))
def test_any_order_of_names(order):
    reader = CommandReader(JOINTS, 'position')
    names = [JOINTS[k] for k in order]
    for shift in (0.0, 1.0):  # the second time the order is remembered
        given = [np.array(ROW)[order] * scale + shift for scale in (1.0, 2.0, 3.0)]
        command = reader.read(names, *given, time=5.0)
        for row, scale in ((command.position, 1.0), (command.velocity, 2.0), (command.effort, 3.0)):
            assert row == pytest.approx(np.array(ROW) * scale + shift)
    assert reader.read(JOINTS, ROW, (), (), 6.0).position == pytest.approx(ROW)


MALFORMED = {
    'command is for 5 joints, needed are 6; missing: crank_6': {
        'names': JOINTS[:5], 'position': ROW[:5]},
    'unknown joints: tail': {'names': (*JOINTS, 'tail'), 'position': [*ROW, 0.0]},
    'crank_2 is named 2 times': {'names': (*JOINTS, 'crank_2'), 'position': [*ROW, 0.0]},
    'missing: crank_1, crank_2, crank_3, crank_4, crank_5, crank_6': {'names': ()},
    'there are 5 positions for 6 joints': {'position': ROW[:5]},
    'there are 7 velocities for 6 joints': {'velocity': [0.0] * 7},
    'there are 1 efforts for 6 joints': {'effort': [0.0]},
    'there are no positions; the drives are in position mode': {'position': ()},
    'there are no efforts; the drives are in effort mode': {'mode': 'effort'},
}  # fmt: skip


@pytest.mark.parametrize('reason', MALFORMED)
def test_malformed_commands_are_refused_saying_why(reason):
    with pytest.raises(InputError) as refusal:
        read(**MALFORMED[reason])
    assert reason in str(refusal.value)
    assert not isinstance(refusal.value, NotFiniteError)


@pytest.mark.parametrize('value', [NAN, INF, -INF])
@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_what_is_no_number_is_refused_naming_the_joint(field, value):
    row = [*ROW[:3], value, *ROW[4:]]
    with pytest.raises(NotFiniteError, match='of crank_4 is'):
        read(**{field: row})


def test_nan_all_over_is_not_given_where_it_need_not_be():
    command = read(velocity=[NAN] * 6, effort=[NAN] * 6)
    assert command.velocity is None and command.effort is None
    command = read(position=[NAN] * 6, effort=ROW, mode='effort')
    assert command.position is None and command.effort == pytest.approx(ROW)
    with pytest.raises(NotFiniteError):
        read(position=[NAN] * 6, effort=ROW)
    with pytest.raises(InputError):
        read(effort=[NAN] * 6, mode='effort')


def test_effort_alone_and_a_missing_effort():
    assert read(position=(), effort=ROW, mode='effort').position is None
    assert read().effort is None


def test_far_too_many_names_are_refused_by_their_number_alone():
    names = [f'crank_{k}' for k in range(20_000)]
    with pytest.raises(InputError, match='command is for 20000 joints, needed are 6$'):
        read(names=names, position=[0.0] * len(names))
