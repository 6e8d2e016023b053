# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF whose joints form no tree: the five-bar in several ways, whose motors stay motors."""

from __future__ import annotations

import pytest

from interchange import five_bars
from interchange.test_five_bar import Write, assert_the_same, write
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_robot

__all__ = ['write']
LEFT, RIGHT = five_bars.ENDS
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}"/>'
    '<axis xyz="0 0 {}"/><limit effort="15" velocity="20" lower="-3" upper="3"/></joint>'
)
PIN = JOINT.format('pin', 'revolute', 'rod_2', 'effector', RIGHT, 1)


def without(text: str, *joints: str) -> str:
    """The robot without some of its joints."""
    for name in joints:
        start = text.index(f'<joint name="{name}"')
        text = text[:start] + text[text.index('</joint>', start) + len('</joint>') :]
    return text


def chain(*parts: tuple[str, str, str, str, int]) -> str:
    """Joints (name, parent, child, origin, sign of the axis), fixed for a sign of 0."""
    return ''.join(
        JOINT.format(name, 'revolute' if sign else 'fixed', parent, child, xyz, sign)
        for name, parent, child, xyz, sign in parts
    )


def negative(xyz: str) -> str:
    return ' '.join(str(-float(word)) for word in xyz.split())


OPEN = five_bars.urdf(five_bars.TRANSMISSIONS)
# A joint's frame is its child's: where a joint is turned round, a mark on the link is its child.
MARK = '<link name="mark"/>'
ELBOW = chain(
    ('mark_fix', 'crank_1', 'mark', '-0.12 0.16 0', 0), ('elbow_1', 'rod_1', 'mark', '0 0 0', -1)
)
AROUND = ''.join(f'<link name="{name}"/>' for name in ('tip', 'mark', 'foot')) + chain(
    ('pin', 'effector', 'tip', '0 0 0', -1), ('tip_fix', 'tip', 'rod_2', negative(RIGHT), 0),
    ('elbow_2', 'rod_2', 'mark', '0 0 0', -1), ('mark_fix', 'mark', 'crank_2', '-0.12 -0.16 0', 0),
    ('motor_2', 'crank_2', 'foot', '0 0 0', -1), ('foot_fix', 'foot', 'ground', '-0.1 0 0', 0),
)  # fmt: skip
GRAPHS = {
    'two parents': OPEN.replace('</robot>', f'{PIN}</robot>'),
    'two parents, the last joint first': OPEN.replace('<joint', f'{PIN}<joint', 1),
    'a welded link of two parents': without(OPEN, 'effector_fix').replace(
        '</robot>', PIN + chain(('fix', 'effector', 'rod_1', negative(LEFT), 0)) + '</robot>'
    ),
    'two roots': without(OPEN, 'elbow_1').replace('</robot>', MARK + PIN + ELBOW + '</robot>'),
    'two roots, cut at the other': without(OPEN, 'elbow_1').replace(
        '</robot>', MARK + ELBOW + PIN + '</robot>'
    ),
    'a ring': without(OPEN, 'elbow_2', 'motor_2').replace('</robot>', f'{AROUND}</robot>'),
}  # fmt: skip


@pytest.mark.parametrize('how', GRAPHS)
def test_joints_that_form_no_tree(write: Write, how: str) -> None:
    assert_the_same(write('a.urdf', GRAPHS[how]))


def test_what_was_cut_is_told(write: Write) -> None:
    made = import_robot(write('a.urdf', GRAPHS['two parents']), 'a')
    assert made.warnings == ('joint pin closes a loop, without its <limit>',)
    made = import_robot(write('b.urdf', GRAPHS['a ring']), 'b')
    assert 'every link hangs on another: ground, the first, becomes the base' in made.warnings
    damped = GRAPHS['two roots, cut at the other'].replace(
        '</joint>', '<dynamics damping="0.1"/></joint>'
    )
    made = import_robot(write('c.urdf', damped), 'c')
    assert any(note.endswith('without its <limit> and <dynamics>') for note in made.warnings)
    assert 'joint elbow_1 is turned round: rod_1 hangs on mark' in made.notes


def test_losses_are_cut_last(write: Write) -> None:
    """As in SDF: a joint with losses keeps them where another can be cut."""
    start = PIN.replace('</joint>', '<dynamics damping="0.1"/></joint>')
    made = import_robot(write('a.urdf', OPEN.replace('</robot>', f'{start}</robot>')), 'a')
    assert 'pin: {damping: 0.1}' in made.yaml.replace('\n    ', ' ')


def test_a_follower_that_closes_a_loop(write: Write) -> None:
    follower = PIN.replace('</joint>', '<mimic joint="motor_1"/></joint>')
    every = ''.join(f'<transmission name="{n}"><joint name="{n}"/></transmission>'
                    for n in ('elbow_1', 'elbow_2'))  # fmt: skip
    text = OPEN.replace('</robot>', f'{follower}{every}</robot>')
    with pytest.raises(DescriptionError, match='mimic pin: joint pin, which closes a loop, is to'):
        import_robot(write('a.urdf', text), 'a')


@pytest.mark.parametrize(
    ('joint', 'message'),
    [
        (PIN.replace('"effector"', '"rod_2"'), "joint pin: it ties 'rod_2' to itself"),
        (
            PIN.replace('"effector"', '"crank_1"').replace('revolute', 'planar') + PIN.replace(
                '"pin"', '"nail"').replace('"effector"', '"crank_1"').replace('revolute', 'planar'),
            "joint (pin|nail): its type is 'planar', and it closes a loop: not understood",
        ),
        (PIN.replace('"effector"', '"rod_1"').replace('revolute', 'floating'), None),
        (PIN.replace('"effector"', '"efector"'), "joint pin: link 'efector' does not exist"),
        (PIN.replace('name="pin"', 'name="elbow_1"'), 'joint elbow_1: appears twice'),
        (PIN.replace(RIGHT, '0 x 0'), 'joint pin origin: .* is not 3 finite numbers'),
        (PIN.replace('"rod_2"', '"afar"') + '<link name="afar"/>', None),
        (
            PIN.replace('"rod_2"', '"a"').replace('"effector"', '"b"')
            + '<link name="a"/><link name="b"/>',
            'one root link, this one has',
        ),
    ],
)  # fmt: skip
def test_joints_that_make_no_robot(write: Write, joint: str, message: str | None) -> None:
    loop = five_bars.DIALECTS['isaac']
    path = write('a.urdf', OPEN.replace('</robot>', f'{loop}{joint}</robot>'))
    if message is None:
        import_robot(path, 'a')
        return
    with pytest.raises(DescriptionError, match=message):
        import_robot(path, 'a')
