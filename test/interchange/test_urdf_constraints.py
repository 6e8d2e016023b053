# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``<constraint>``, and ``<loop>`` and ``<coupling>`` of URDF+: which robot they describe."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from interchange import five_bars
from interchange.test_five_bar import MOTORS, Write, assert_the_same, write
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_robot

__all__ = ['write']
LEFT, RIGHT = five_bars.ENDS
CONSTRAINT = (
    '<constraint name="cut" type="{}"><parent link="rod_1"/><parent_origin xyz="' + LEFT + '" {}/>'
    '<child link="rod_2"/><child_origin xyz="' + RIGHT + '" {}/>{}</constraint>'
)
PARENT, CHILD = '<parent_axis xyz="{}"/>', '<child_axis xyz="{}"/>'
LOOP = (
    '<loop name="cut" type="{}"><predecessor link="rod_2"><origin xyz="' + RIGHT + '"/>'
    '</predecessor><successor link="rod_1"><origin xyz="' + LEFT + '"/></successor>{}</loop>'
)
HINGES = {
    'both axes': CONSTRAINT.format(
        'revolute', '', '', PARENT.format('0 0 1') + CHILD.format('0 0 1')
    ),
    'axes of any length': CONSTRAINT.format(
        'continuous', '', '', PARENT.format('0 0 5') + CHILD.format('0 0 0.2')
    ),
    'the axis of the parent': CONSTRAINT.format('revolute', '', '', PARENT.format('0 0 1')),
    'the axis of a turned origin': CONSTRAINT.format(
        'revolute', 'rpy="1.5707963267948966 0 0"', 'rpy="1.5707963267948966 0 0.4"',
        PARENT.format('0 1 0'),
    ),
    'as the library writes it': CONSTRAINT.format('revolute_joint', '', '', PARENT.format('0 0 1')),
    'opposite axes': CONSTRAINT.format(
        'revolute', '', '', PARENT.format('0 0 1') + CHILD.format('0 1e-6 -1')
    ),
    'one axis': CONSTRAINT.format('revolute', '', '', '<axis xyz="0 0 1"/>'),
    'limits': CONSTRAINT.format(
        'revolute', '', '', PARENT.format('0 0 1') + '<limit lower="-1" upper="1"/>'
    ),
    'URDF+': LOOP.format('revolute', '<axis xyz="0 0 1"/>'),
}  # fmt: skip


@pytest.mark.parametrize('how', HINGES)
def test_hinges_that_close_the_loop(write: Write, how: str) -> None:
    path = write('a.urdf', five_bars.urdf(HINGES[how] + five_bars.TRANSMISSIONS))
    assert_the_same(path)


def test_what_a_loop_does_not_have_is_told(write: Write) -> None:
    more = '<limit lower="-1" upper="1"/><dynamics damping="0.1"/>'
    text = CONSTRAINT.format('revolute', '', '', PARENT.format('0 0 1') + more)
    made = import_robot(write('a.urdf', five_bars.urdf(text + five_bars.TRANSMISSIONS)), 'a')
    assert made.warnings == ('constraint cut closes a loop, without its <limit> and <dynamics>',)


WRONG = {
    'no axis': (
        CONSTRAINT.format('revolute', '', '', ''), 'revolute, and it has no <parent_axis xyz'
    ),
    'the axis of the child': (
        CONSTRAINT.format('prismatic', '', '', CHILD.format('0 0 1')), 'it has no <parent_axis xyz='
    ),
    'one axis of a cross': (
        CONSTRAINT.format('universal', '', '', PARENT.format('0 0 1')), 'it has no <child_axis xyz='
    ),
    'no axis of URDF+': (LOOP.format('continuous', ''), 'continuous, and it has no <axis xyz='),
    'an axis that says nothing': (
        CONSTRAINT.format('revolute', '', '', '<parent_axis value="0 0 1"/>'),
        'value of <parent_axis> is not one of xyz',
    ),
    'an origin that says nothing': (
        CONSTRAINT.format('link', 'xzy="0 0 1"', '', ''), 'xzy of <parent_origin> is not one of'
    ),
    'a misspelt element': (
        CONSTRAINT.format('link', '', '', '<limits lower="0"/>'),
        "unknown element <limits>; is 'limit' meant",
    ),
    'a link that is not there': (
        LOOP.format('fixed', '').replace('rod_2', 'rud_2'),
        "link 'rud_2' does not exist in the URDF; is 'rod_2' meant",
    ),
    'a follower': (
        CONSTRAINT.format('link', '', '', '<mimic joint="motor_1"/>'),
        'mimic motor_1: joint cut closes a loop: not understood',
    ),
}  # fmt: skip


@pytest.mark.parametrize('what', WRONG)
def test_constraints_that_are_refused(write: Write, what: str) -> None:
    text, message = WRONG[what]
    with pytest.raises(DescriptionError, match=message):
        import_robot(write('a.urdf', five_bars.urdf(text + five_bars.TRANSMISSIONS)), 'a')


# A carriage that a rail of its own and a slider of the loop guide along the same line.
BOX = (
    '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial>'
)
RAIL = (
    '<robot name="rail"><link name="base"/><link name="cart">' + BOX + '</link><joint name="slide" '
    'type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/></joint>'
    '<link name="arm">' + BOX + '</link><joint name="swing" type="continuous"><parent '
    'link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint>{}</robot>'
)
SLIDER = (
    '<constraint name="guide" type="prismatic"><parent link="arm"/><parent_origin rpy="{}"/>'
    '<parent_axis xyz="{}"/><child link="cart"/><child_origin rpy="{}"/>{}</constraint>'
)
RIGHT_ANGLE = '1.5707963267948966'
GUIDES = {
    'one axis': ('0 0 0', '1 0 0', '0 0 0', ''),
    'the same axis': ('0 0 0', '1 0 0', '0 0 0', '<child_axis xyz="1 0 0"/>'),
    'nearly the same axis': ('0 0 0', '1 0 0', '0 0 0', '<child_axis xyz="1 1e-9 0"/>'),
    'another axis': ('0 0 0', '1 0 0', '0 0 -1.5707963267948966', '<child_axis xyz="0 1 0"/>'),
    'the opposite axis': ('0 0 0', '1 0 0', '0 0 0', '<child_axis xyz="-1 0 0"/>'),
    'along z': (f'0 {RIGHT_ANGLE} 0', '0 0 1', f'0 {RIGHT_ANGLE} 0', CHILD.format('1e-9 0 1')),
}  # fmt: skip


@pytest.mark.parametrize('how', GUIDES)
def test_sliders_hold_what_their_origins_say(write: Write, how: str) -> None:
    """The arm, which turns about the rail, is held where it is: no turn about the axis is added."""
    path = write('a.urdf', RAIL.format(SLIDER.format(*GUIDES[how])))
    mechanism = Mechanism.load(path)
    assert mechanism.independent == ('slide',)
    swing = mechanism.solve([0.1]).q[mechanism.tree_joints.index('swing')]
    assert swing == pytest.approx(0.0, abs=1e-8)


def test_a_link_is_a_weld_with_or_without_axes(write: Write) -> None:
    """Type ``link`` of the proposal: axes mean nothing, and turn nothing."""
    weld = SLIDER.replace('prismatic', 'link').format(
        '0.3 0 0', '0 1 0', '0 0 0', CHILD.format('1 0 0')
    )
    text = RAIL.format(weld).replace('"prismatic"', '"continuous"')  # both turn about x
    mechanism = Mechanism.load(write('a.urdf', text))
    motion = mechanism.solve([0.5])
    arm, cart = (mechanism.frame_pose(motion, name).rotation for name in ('arm', 'cart'))
    expected = Rotation.from_rotvec([0.3, 0.0, 0.0]).as_matrix()
    assert arm.T @ cart == pytest.approx(expected, abs=1e-8)


# Two geared arms: the rotor of the second arm hangs on the base and turns with both arms.
ROTOR = BOX.replace('mass value="2"', 'mass value="0"')
GEARED = (
    '<robot name="g"><link name="base"/><link name="one">{box}</link><link name="two">{box}</link>'
    '<link name="r1">{rotor}</link><link name="r2">{rotor}</link>'
    '<joint name="a" type="continuous" {marks}><parent link="base"/><child link="one"/>'
    '<axis xyz="0 0 1"/></joint><joint name="b" type="continuous"><parent link="one"/>'
    '<child link="two"/><axis xyz="0 0 1"/></joint>'
    '<joint name="ra" type="continuous" independent="false"><parent link="base"/><child link="r1"/>'
    '<axis xyz="0 0 1"/></joint><joint name="rb" type="continuous" independent="false"><parent '
    'link="base"/><child link="r2"/><axis xyz="0 0 1"/></joint>{couplings}</robot>'
)
COUPLING = (
    '<coupling name="{}" {}><predecessor link="{}"/><successor link="{}"/><ratio value="{}"/>'
    '</coupling>'
)


def geared(couplings: str, marks: str = 'independent="true"') -> str:
    return GEARED.format(box=BOX, rotor=ROTOR, marks=marks, couplings=couplings)


def test_rotors_that_couplings_gear(write: Write) -> None:
    """By virtual work: ra = 6 a, rb = -9 (a + b), each rotor with 1 kg m^2, as each arm has."""
    text = geared(COUPLING.format('first', 'type="rolling"', 'one', 'r1', '6')
                  + COUPLING.format('second', '', 'two', 'r2', '-9.0'))  # fmt: skip
    mechanism = Mechanism.load(write('a.urdf', text))
    assert mechanism.independent == mechanism.actuated == ('a', 'b')
    twice, once = 81.0 + 1.0, 36.0 + 1.0
    expected = np.array([[twice + once, twice], [twice, twice]])
    assert mechanism.mass_matrix(mechanism.home) == pytest.approx(expected, rel=1e-12)
    q = mechanism.solve([0.2, 0.1]).q
    turned = dict(zip(mechanism.tree_joints, q, strict=True))
    assert (turned['ra'], turned['rb']) == pytest.approx((1.2, -2.7))


REFUSED = {
    'a coupling without a ratio': (
        COUPLING.format('c', '', 'one', 'r1', ''), "coupling c ratio: '' is not a finite number"
    ),
    'a ratio of none': (COUPLING.format('c', '', 'one', 'r1', '0.0'), 'coupling c: its ratio is 0'),
    'another type': (
        COUPLING.format('c', 'type="belt"', 'one', 'r1', '2'), "c: its type is 'belt': not und"
    ),
    'a link that is not there': (
        COUPLING.format('c', '', 'one', 'R1', '2'), "link 'R1' does not exist .*; is 'r1' meant"
    ),
    'a link on the other': (
        COUPLING.format('c', '', 'one', 'two', '2'), "coupling c: no joint moves 'one' against"
    ),
    'no successor': (
        '<coupling name="c"><predecessor link="one"/><ratio value="2"/></coupling>',
        'coupling c: does not name a predecessor and a successor',
    ),
}  # fmt: skip


@pytest.mark.parametrize('what', REFUSED)
def test_couplings_that_are_refused(write: Write, what: str) -> None:
    text, message = REFUSED[what]
    with pytest.raises(DescriptionError, match=message):
        import_robot(write('a.urdf', geared(text)), 'a')


def test_marks_that_nothing_explains(write: Write) -> None:
    made = import_robot(write('a.urdf', geared('')), 'a')
    assert 'joints ra, rb are marked as dependent, and nothing says on what' in made.warnings


def test_marks_choose_the_coordinates(write: Write) -> None:
    """The passive angle of a rod instead of one motor: as the file says."""
    loop = LOOP.format('revolute', '<axis xyz="0 0 1"/>')
    text = five_bars.urdf(loop)
    marks = {MOTORS[0]: 'true', MOTORS[1]: 'False', 'elbow_1': '1', 'elbow_2': '0'}
    for name, mark in marks.items():
        text = text.replace(f'name="{name}"', f'name="{name}" independent="{mark}"')
    made = import_robot(write('a.urdf', text), 'a')
    assert 'independent: [motor_1, elbow_1]' in made.yaml
