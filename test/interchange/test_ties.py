# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What ties parts of a robot in URDF, SDF and Gepetto's YAML: read rightly, or refused by name."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from click.testing import CliRunner

from interchange import five_bars
from interchange.test_five_bar import MOTORS, Write, assert_the_same, effort_at_home, write
from masticator_dynamics import Mechanism
from masticator_dynamics.cli import commands
from masticator_dynamics.description import description_from_text
from masticator_dynamics.description.urdf import parse
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_description, import_robot

__all__ = ['write']
LEFT, RIGHT = five_bars.ENDS
LOOP = five_bars.DIALECTS['gazebo'] + five_bars.TRANSMISSIONS
PLUGIN = '<plugin name="{}" filename="{}">{}</plugin>'


def named(**tags: str) -> str:
    return ''.join(f'<{tag}>{text}</{tag}>' for tag, text in tags.items())


def gazebo(pose: str, kind: str = 'revolute', parent: str = 'rod_1', more: str = '') -> str:
    axis = '' if kind == 'ball' else f'<axis><xyz>0 0 1</xyz>{more}</axis>'
    return (
        f'<gazebo><joint name="loop" type="{kind}"><parent>{parent}</parent><child>rod_2</child>'
        f'{pose}{axis}</joint></gazebo>'
    )


POSES = {
    'the child': gazebo(f'<pose>{RIGHT} 0 0 0</pose>'),
    'the parent': gazebo(f'<pose relative_to="rod_1">{LEFT} 0 0 0.3</pose>', 'ball'),
    'a joint': gazebo(f'<pose relative_to="elbow_1">{LEFT} 0 0 0</pose>'),
    'the model': gazebo('<pose relative_to="__model__">0 0.325 0 0 0 0</pose>'),
    'a frame': '<gazebo><frame name="mark" attached_to="rod_1">'
    f'<pose>{LEFT} 0 0 0</pose></frame></gazebo>'
    + gazebo('<pose relative_to="mark"/>', 'revolute', 'mark'),
}


LOOP_JOINT = (
    '<{0} name="l" type="spherical"><{1} link="rod_1">{3}</{1}><{2} link="rod_2"/>{4}</{0}>'
)
ORIGIN = f'<origin xyz="{LEFT}"/>'
MISPLACED = {
    'nested': LOOP_JOINT.format('loop_joint', 'link1', 'link2', ORIGIN, ''),
    'of no end': LOOP_JOINT.format('constraint', 'parent', 'child', '', ORIGIN),
    'of other words': LOOP_JOINT.format(
        'constraint', 'parent', 'child', '', ORIGIN.replace('origin', 'link1_origin')
    ),
    'of URDF': gazebo(ORIGIN),
}


@pytest.mark.parametrize('where', MISPLACED)
def test_origins_that_are_not_read(write: Write, where: str) -> None:
    """Another loop would be closed, at the origins of the links."""
    path = write('a.urdf', five_bars.urdf(MISPLACED[where] + five_bars.TRANSMISSIONS))
    with pytest.raises(DescriptionError, match=r'<(link1_)?origin> is '):
        import_robot(path, 'a')


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('<mass>0.3</mass>', '<mass value="0.3"/>'),
        ('<axis><xyz>0 0 1</xyz></axis>', '<axis xyz="0 0 1"/>'),
        ('<inertia>', '<inertia ixx="1">'),
    ],
)
def test_sdf_that_is_written_as_urdf(write: Write, old: str, new: str) -> None:
    text = five_bars.sdf()
    assert old in text
    with pytest.raises(DescriptionError, match='is as in URDF; SDF has <pose>, and numbers as'):
        import_robot(write('a.sdf', text.replace(old, new)), 'a')


@pytest.mark.parametrize('frame', POSES)
def test_poses_of_gazebo_joints_are_relative_to(write: Write, frame: str) -> None:
    """As in SDF, whose joints they are."""
    assert_the_same(write('a.urdf', five_bars.urdf(POSES[frame] + five_bars.TRANSMISSIONS)))


def test_frames_that_close_sdf(write: Write) -> None:
    """The same two frames as onshape-to-robot writes into URDF."""
    plain = five_bars.sdf()
    start = plain.index('<joint name="pin"')
    pin = plain[start : plain.index('</joint>', start) + len('</joint>')]
    ends = ''.join(
        f'<frame name="closing_pin_{leg}" attached_to="rod_{leg}"><pose relative_to="rod_{leg}">'
        f'{five_bars.ENDS[leg - 1]} 0.4 0 0</pose></frame>'
        for leg in five_bars.SIDES
    )
    assert_the_same(write('a.sdf', plain.replace(pin, ends)))
    alone = plain.replace(pin, ends).replace('closing_pin_2', 'opening_pin_2')
    with pytest.raises(DescriptionError, match='frame closing_pin_1: it is one end of a loop'):
        import_robot(write('a.sdf', alone), 'a')


def test_drakes_balls_close_sdf(write: Write) -> None:
    """Its values are texts there; the bodies may be frames."""
    plain = five_bars.sdf().replace('<sdf', '<sdf xmlns:drake="drake.mit.edu"')
    start = plain.index('<joint name="pin"')
    pin = plain[start : plain.index('</joint>', start) + len('</joint>')]
    values = {'body_A': 'mark', 'p_AP': '0.02 0.165 0', 'body_B': 'rod_2', 'p_BQ': RIGHT}
    tags = ''.join(
        f'<drake:ball_constraint_{key}>{value}</drake:ball_constraint_{key}>'
        for key, value in values.items()
    )
    mark = '<frame name="mark" attached_to="rod_1"><pose relative_to="rod_1">0.2 0 0 0 0 0</pose>'
    ball = f'{mark}</frame><drake:ball_constraint>{tags}</drake:ball_constraint>'
    assert_the_same(write('a.sdf', plain.replace(pin, ball)))


def test_links_that_a_detachable_joint_holds(write: Write) -> None:
    """It welds two links where they stand, here two halves of the pin that turn on the rods."""
    text = five_bars.urdf(five_bars.TRANSMISSIONS)
    halves = ''.join(
        f'<link name="half_{leg}"/><joint name="hinge_{leg}" type="continuous"><parent '
        f'link="rod_{leg}"/><child link="half_{leg}"/><origin xyz="{five_bars.ENDS[leg - 1]}"/>'
        '<axis xyz="0 0 1"/></joint>'
        for leg in five_bars.SIDES
    )
    held = named(parent_link='half_1', child_model='five_bar', child_link='half_2')
    title = ('gz::sim::systems::DetachableJoint', 'gz-sim-detachable-joint-system')
    plugin = f'<gazebo>{PLUGIN.format(*title, held)}</gazebo>'
    assert_the_same(write('a.urdf', text.replace('</robot>', f'{halves}{plugin}</robot>')))
    other = plugin.replace('five_bar', 'parcel')
    with pytest.raises(DescriptionError, match='DetachableJoint: it names half_1 and half_2'):
        import_robot(write('a.urdf', text.replace('</robot>', f'{halves}{other}</robot>')), 'a')


# A gripper: one finger of two phalanges, the second of which turns back as far as the first turns.
FINGER = """<robot name="finger"><link name="palm"/><link name="one"><inertial><origin
xyz="0.02 0 0.05"/><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="2e-5" ixy="0" ixz="0"
iyz="0"/></inertial></link><link name="two"><inertial><origin xyz="0.01 0 0.02"/><mass
value="0.03"/><inertia ixx="1e-5" iyy="1e-5" izz="2e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="first" type="revolute"><parent link="palm"/><child link="one"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint><joint name="second" type="revolute">
<parent link="one"/><child link="two"/><origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/>MIMIC</joint>REST</robot>"""
DRIVE = '<transmission name="t"><joint name="first"/></transmission>'
FOLLOWER = named(joint='first', mimicJoint='second', multiplier='-1', offset='0.0')
FOLLOWING = {
    'mimic': ('<mimic joint="first" multiplier="-1"/>', DRIVE),
    'plugin': (
        '', DRIVE + '<gazebo>'
        + PLUGIN.format('m', 'libroboticsgroup_upatras_gazebo_mimic_joint_plugin.so', FOLLOWER)
        + '</gazebo>',
    ),
    'plugin with other names': (
        '', DRIVE + '<gazebo>'
        + PLUGIN.format('m', 'libgazebo_mimic.so', FOLLOWER.replace('joint>', 'jointName>', 2))
        + '</gazebo>',
    ),
    'mimic and plugin': (
        '<mimic joint="first" multiplier="-1"/>',
        DRIVE + '<gazebo>' + PLUGIN.format('m', 'mimic.so', FOLLOWER) + '</gazebo>',
    ),
    'ros2_control': (
        '', '<ros2_control name="s" type="system"><joint name="first"><command_interface '
        'name="effort"/></joint><joint name="second"><param name="mimic">first</param><param '
        'name="multiplier">-1</param><command_interface name="position"/></joint></ros2_control>',
    ),
}  # fmt: skip


@pytest.mark.parametrize('how', FOLLOWING)
def test_joints_that_follow_others(write: Write, how: str) -> None:
    """By virtual work: the second phalanx is only carried along, and its own weight turns nothing.

    At zero, its centre moves as the joint that carries it: down by 0 per rad, since that joint is
    straight above the first; the first's weight has a lever of 20 mm. 0.1 kg x 9.80665 x 0.02 m.
    """
    mimic, rest = FOLLOWING[how]
    text = FINGER.replace('MIMIC', mimic).replace('REST', rest)
    mechanism = Mechanism.load(write('a.urdf', text))
    assert mechanism.independent == mechanism.actuated == ('first',)
    effort = mechanism.feedforward([0.0], [0.0], [0.0]).actuated
    assert effort == pytest.approx([-0.1 * 9.80665 * 0.02], abs=1e-12)
    turned = mechanism.solve([0.3])
    assert turned.q[mechanism.tree_joints.index('second')] == pytest.approx(-0.3, abs=1e-12)


def test_springs_that_gazebo_has(write: Write) -> None:
    """2 N m/rad, slack at 0.5 rad: at zero it pulls by 1 N m."""
    spring = named(springStiffness='2', springReference='0.5')
    rest = DRIVE + f'<gazebo reference="first">{spring}</gazebo>'
    mimic, _ = FOLLOWING['mimic']
    text = FINGER.replace('MIMIC', mimic).replace('REST', rest)
    effort = Mechanism.load(write('a.urdf', text)).feedforward([0.0], [0.0], [0.0]).actuated
    assert effort == pytest.approx([-0.1 * 9.80665 * 0.02 - 2.0 * 0.5], abs=1e-12)
    elsewhere = import_robot(
        write('b.urdf', text.replace('reference="first"', 'reference="f"')), 'b'
    )
    assert 'gazebo f: there is no such link or joint' in elsewhere.notes
    with pytest.raises(DescriptionError, match="<springStifness>; is 'springStiffness' meant"):
        import_robot(write('c.urdf', text.replace('springStiffness', 'springStifness')), 'c')


def test_closures_without_names(write: Write) -> None:
    """Drake's have none: here one twice, which says nothing new."""
    ball = five_bars.DIALECTS['drake']
    path = write('a.urdf', five_bars.urdf(ball + ball + five_bars.TRANSMISSIONS))
    assert_the_same(path)
    assert Mechanism.load(path).closures == ('ball_constraint', 'ball_constraint_2')


def test_gepetto_with_joints_that_follow(write: Write) -> None:
    """What ros2_control says of joints counts, though the YAML file names the motors."""
    _, rest = FOLLOWING['ros2_control']
    write('robot.urdf', FINGER.replace('MIMIC', '').replace('REST', rest))
    path = write('robot.yaml', 'closed_loop: []\ntype: []\nname_mot: [first]\n')
    assert Mechanism.load(path).independent == ('first',)


def test_a_joint_does_not_follow_itself(write: Write) -> None:
    mimic, rest = FOLLOWING['plugin']
    text = FINGER.replace('MIMIC', mimic).replace('REST', rest.replace('>second<', '>first<'))
    with pytest.raises(DescriptionError, match='plugin m: joint first follows itself'):
        import_robot(write('a.urdf', text), 'a')


LIMITS = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'


def test_a_ring_of_followers_that_contradicts_itself_is_named(write: Write) -> None:
    text = FINGER.replace('MIMIC', '<mimic joint="first" multiplier="2"/>').replace('REST', '')
    ring = text.replace(LIMITS, LIMITS + '<mimic joint="second" multiplier="0.5" offset="0.1"/>', 1)
    said = 'second_mimic contradict one another, whatever the pose'
    with pytest.raises(DescriptionError, match=f'first_mimic, {said}'):
        import_robot(write('a.urdf', ring), 'a')
    # The offset that the way back takes away again makes it a ring that moves.
    import_robot(
        write('b.urdf', ring.replace('multiplier="2"', 'multiplier="2" offset="-0.2"')), 'b'
    )


def test_a_ring_that_holds_its_joints_is_named(write: Write) -> None:
    """Closed as it stands, but twice the one is not the other: nothing is left to move."""
    text = FINGER.replace('MIMIC', '<mimic joint="first" multiplier="2"/>').replace('REST', '')
    for multiplier in ('1', '-1', '0.51'):
        mimic = f'<mimic joint="second" multiplier="{multiplier}"/>'
        ring = text.replace(LIMITS, LIMITS + mimic, 1)
        said = 'no freedom to move: first_mimic, second_mimic hold first, second at one position'
        with pytest.raises(DescriptionError, match=said):
            import_robot(write('a.urdf', ring), 'a')


def test_a_ring_is_told_where_another_joint_leads_to_it() -> None:
    more = (
        '<link name="tip"/><joint name="zeroth" type="revolute"><parent link="two"/>'
        f'<child link="tip"/>{LIMITS}<mimic joint="first"/></joint>'
    )
    text = FINGER.replace('MIMIC', '<mimic joint="first" multiplier="2"/>').replace('REST', '')
    ring = text.replace(LIMITS, LIMITS + '<mimic joint="second"/>', 1)
    led_to = ring.replace('<joint name="first"', more + '<joint name="first"', 1)
    for xml in (ring, led_to):
        (told,) = (w for w in parse(xml, pathlib.Path('a.urdf')).warnings if 'ring' in w)
        assert '<mimic> of joints first, second makes a ring' in told and 'multiplier 2:' in told


SPINDLE = """<robot name="column">
<link name="base"/> <link name="carriage">{0}</link> <link name="spindle">{0}</link>
<link name="arm">{1}</link>
<joint name="lift" type="prismatic"><parent link="base"/><child link="carriage"/>
 <axis xyz="0 0 1"/><limit lower="0" upper="0.3" effort="500" velocity="0.2"/></joint>
<joint name="shoulder" type="revolute"><parent link="carriage"/><child link="arm"/>
 <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
<joint name="screw" type="continuous"><parent link="base"/><child link="spindle"/>
 <axis xyz="0 0 1"/><mimic joint="lift" multiplier="{2}"/></joint>
<ros2_control name="r" type="system"><joint name="lift"><command_interface name="position"/></joint>
<joint name="shoulder"><command_interface name="position"/></joint></ros2_control>
</robot>"""
INERTIA = '<mass value="1"/><inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/>'


@pytest.mark.parametrize('lead', [10e-3, 2e-3, 0.5e-3])
def test_a_spindle_that_turns_far_for_a_short_way_is_neither_idle_nor_free(
    write: Write, lead: float
) -> None:
    """In units of joints the lift hardly moves: it would be held, or said to have no motor."""
    body = (
        f'<inertial>{INERTIA}</inertial>',
        f'<inertial><origin xyz="0.2 0 0"/>{INERTIA}</inertial>',
    )
    made = import_robot(write('column.urdf', SPINDLE.format(*body, 2.0 * np.pi / lead)), 'column')
    assert not [note for note in made.notes if 'held' in note or 'without' in note]
    mechanism = Mechanism(description_from_text(pathlib.Path('column.yaml'), made.yaml, made.urdf))
    assert mechanism.independent == mechanism.actuated == ('lift', 'shoulder')
    # Gravity on carriage and arm; the spindle's own rotation costs nothing at rest.
    effort = mechanism.feedforward(np.zeros(2), np.zeros(2), np.zeros(2)).actuated
    np.testing.assert_allclose(effort, [2.0 * 9.80665, 0.0], atol=1e-9)


def test_following_twice_in_two_ways_is_refused(write: Write) -> None:
    mimic, rest = FOLLOWING['mimic and plugin']
    text = FINGER.replace('MIMIC', mimic.replace('-1', '-2')).replace('REST', rest)
    with pytest.raises(DescriptionError, match='plugin m: second_mimic ties the same joints in'):
        import_robot(write('a.urdf', text), 'a')


def test_ros2_control_may_say_that_a_mimic_is_none(write: Write) -> None:
    _, rest = FOLLOWING['ros2_control']
    free = rest.replace('"second"><param name="mimic">first</param>', '"second" mimic="false">')
    text = FINGER.replace('MIMIC', '<mimic joint="first"/>').replace('REST', free)
    assert Mechanism.load(write('a.urdf', text)).actuated == ('first', 'second')


@pytest.mark.parametrize(
    'where',
    [
        '<actuator name="a"><mechanicalReduction>-50</mechanicalReduction></actuator>',
        '<mechanicalReduction>-50</mechanicalReduction>',
        '<actuator name="a"/><mechanicalReduction>-50.0</mechanicalReduction>',
        '<actuator name="a" mechanicalReduction="-50"/>',
    ],
)
def test_reductions_of_transmissions(write: Write, where: str) -> None:
    """Efforts are then the motor's, and a note says so."""
    loop = LOOP.replace('<joint name="motor_1"/></trans', f'<joint name="motor_1"/>{where}</trans')
    path = write('a.urdf', five_bars.urdf(loop))
    plain = effort_at_home(write('b.urdf', five_bars.urdf(LOOP)))
    assert effort_at_home(path) == pytest.approx(plain / np.array([-50.0, 1.0]), abs=1e-12)
    told = 'transmission t1: efforts of motor_1 are those of its motor, through a reduction of -50'
    assert told in import_robot(path, 'a').notes


def test_rotors_that_drake_describes(write: Write) -> None:
    """0.002 kg m^2 at the joint of each motor, behind a gear of 2."""
    rotor = '<drake:rotor_inertia value="0.0005"/><drake:gear_ratio value="2"/></actuator></trans'
    loop = LOOP.replace('</trans', f'<actuator name="a">{rotor}')
    assert_the_same(write('a.urdf', five_bars.urdf(loop)), rotors=0.002)


def test_rotors_that_drake_describes_in_sdf(write: Write) -> None:
    plain = five_bars.sdf().replace('<sdf', '<sdf xmlns:drake="http://drake.mit.edu"')
    rotor = (
        '<drake:rotor_inertia>0.0005</drake:rotor_inertia><drake:gear_ratio>2</drake:gear_ratio>'
    )
    for motor in MOTORS:
        start = plain.index('<axis>', plain.index(f'name="{motor}"'))
        plain = plain[:start] + rotor + plain[start:]
    assert_the_same(write('a.sdf', plain), rotors=0.002)


@pytest.mark.parametrize(('word', 'turned'), [('1', True), ('True', True), ('0', False)])
def test_booleans_of_sdf(write: Write, word: str, turned: bool) -> None:
    """As sdformat reads them: true or 1, in any case."""
    angle, scale = 40.0 if turned else 0.7, np.pi / 180 if turned else 1.0
    text = ARM.replace('0.4 0 0.5 0 0 0</pose>', f'0.4 0 0.5 0 {angle!r} 0</pose>')
    expected = effort_at_home(
        write('a.sdf', ARM.replace('0.4 0 0.5 0 0 0<', f'0.4 0 0.5 0 {angle * scale!r} 0<'))
    )
    found = effort_at_home(write('b.sdf', text.replace('<pose>', f'<pose degrees="{word}">')))
    assert found == pytest.approx(expected, abs=1e-9)
    with pytest.raises(DescriptionError, match="pose degrees: 'yes' is neither true nor false"):
        import_robot(write('c.sdf', text.replace('<pose>', '<pose degrees="yes">')), 'c')


LINK = (
    '<link name="{}"><pose>{} 0 0 0</pose><inertial><pose>0.1 0.02 0.03 0 0 0</pose><mass>1</mass>'
    '<inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.03</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>'
    '</inertia></inertial></link>'
)
TURNS = '<joint name="{}" type="{}"><parent>{}</parent><child>{}</child><axis><xyz>0 1 0</xyz>{}'
ARM = (
    '<sdf version="1.9"><model name="arm">' + LINK.format('a', '0 0 0.5')
    + LINK.format('b', '0.4 0 0.5') + TURNS.format('ja', 'revolute', 'world', 'a', '')
    + '</axis></joint>' + TURNS.format('jb', 'revolute', 'a', 'b', '')
    + '</axis></joint></model></sdf>'
)  # fmt: skip


@pytest.mark.parametrize('turned', [False, True])
def test_both_axes_of_a_universal(write: Write, turned: bool) -> None:
    """Each has its own spring, losses and limits, whichever link is nearer to the base."""
    acts = (
        '<dynamics><spring_stiffness>{}</spring_stiffness><damping>{}</damping></dynamics>'
        '<limit><lower>-{}</lower><upper>1</upper></limit></axis>'
    )
    second = '<axis2><xyz>0 0 1</xyz>' + acts.format(0, 3, 0.4).replace('axis>', 'axis2>')
    ends = ('b', 'a') if turned else ('a', 'b')
    old = TURNS.format('jb', 'revolute', 'a', 'b', '') + '</axis>'
    assert old in ARM
    new = TURNS.format('jb', 'universal', *ends, acts.format(0, 2, 0.3)) + second
    found = import_description(write('a.sdf', ARM.replace(old, new)))
    names = ('jb_y', 'jb_x') if turned else ('jb_x', 'jb_y')
    assert [found.joints[name].damping for name in names] == [2.0, 3.0]
    lower = {joint.name: joint.lower for joint in found.tree.joints}
    assert [lower[name] for name in names] == [-0.3, -0.4]


def test_links_that_a_file_makes_weightless(write: Write) -> None:
    text = ARM.replace('<link name="b">', '<link name="b"><gravity>false</gravity>')
    made = import_robot(write('a.sdf', text), 'a')
    told = 'link b has no weight in the file, and has it here: motors carry it'
    assert made.warnings == (told,)
    more = '<gazebo reference="rod_1"><turnGravityOff>1</turnGravityOff></gazebo>'
    warned = import_robot(write('a.urdf', five_bars.urdf(LOOP + more)), 'a').warnings
    assert warned == (told.replace('link b', 'link rod_1'),)


@pytest.mark.parametrize(('said', 'motors'), [('true', ['motor_1']), ('False', [*MOTORS])])
def test_mimics_that_ros2_control_confirms_or_undoes(
    write: Write, said: str, motors: list[str]
) -> None:
    """A joint that follows another has no motor, whatever interfaces it has."""
    both_told = ''.join(
        f'<joint name="{name}" {more}><command_interface name="position"/></joint>'
        for name, more in (('motor_1', ''), ('motor_2', f'mimic="{said}"'))
    )
    text = five_bars.urdf(five_bars.DIALECTS['gazebo'] + R2.format(both_told))
    at = text.index('<limit', text.index('name="motor_2"'))
    text = f'{text[:at]}<mimic joint="motor_1" multiplier="-1"/>{text[at:]}'
    assert import_description(write('a.urdf', text)).actuated == tuple(motors)


def drake(tag: str, *names: str) -> str:
    inside = ''.join(f'<drake:{tag}_{n} name="{name}"/>' for n, name in enumerate(names))
    return f'<drake:{tag}>{inside}</drake:{tag}>'


def both(*names: str) -> str:
    return '<joint name="{}"/><joint name="{}"/>'.format(*names)


TYPE = 'transmission_interface/{}Transmission'
CLOSED_LOOP = ('loop', 'libpegasus_gazebo_closed_loop_plugin.so')
R2 = '<ros2_control name="s" type="system">{}</ros2_control>'
URDF = {  # by the label of the error
    'plugin loop': '<gazebo>'
    + PLUGIN.format(*CLOSED_LOOP, named(joint='pin', parent='rod_1', child='rod_2')) + '</gazebo>',
    'plugin one': '<gazebo>'
    + PLUGIN.format('one', 'closed_loop.so', named(a='rod_1', b='rod_nine')) + '</gazebo>',
    'plugin jaw_control': '<gazebo>'
    + PLUGIN.format('jaw_control', 'libtie.so', named(a='rod_1', b='rod_2')) + '</gazebo>',
    'plugin held': '<gazebo reference="rod_1">'
    + PLUGIN.format('held', 'libhold.so', named(other='rod_2')) + '</gazebo>',
    'plugin strut': '<gazebo>'
    + PLUGIN.format('strut', 'libgas_force.so', named(a='rod_1', b='rod_2')) + '</gazebo>',
    'plugin loops': '<gazebo>'
    + PLUGIN.format('loops', 'libclosed_loops.so', named(file='loops.yaml')) + '</gazebo>',
    'loop l': '<loop name="l"><predecessor link="rod_1"/><successor link="rod_2"/></loop>',
    'coupling': five_bars._fixed('tag', 'rod_1', LEFT).replace(
        '<origin', '<coupling joint="motor_2" ratio="2"/><origin'
    ),
    'plugin control': '<gazebo>'
    + PLUGIN.format('control', 'closed_loop_control.so', named(a='rod_1', b='rod_2')) + '</gazebo>',
    'drake:linear_bushing_rpy': '<frame name="f" link="rod_1"/><frame name="g" link="rod_2"/>'
    + drake('linear_bushing_rpy', 'f', 'g'),
    'drake:linear_spring_damper': drake('linear_spring_damper', 'rod_1', 'rod_2'),
    'drake:tendon_constraint': drake('tendon_constraint', 'motor_1', 'motor_2'),
    'drake:joint ball': '<link name="bob"/><drake:joint name="ball" type="ball"><parent '
    'link="rod_1"/><child link="bob"/></drake:joint>',
    'closure c': '<closure name="c"><a link="rod_1"/><b link="rod_2"/></closure>',
    'gear g': '<gear name="g" first="motor_1" second="motor_2"/>',
    'mujoco connect tip': '<mujoco><compiler meshdir="."/><equality><connect name="tip" '
    'body1="rod_1" body2="rod_2" anchor="0 0 0"/></equality></mujoco>',
    'mujoco weld': '<mujoco><equality><weld body1="rod_1"/></equality></mujoco>',
    'loop_joint cogs': '<loop_joint name="cogs" type="gear"><link1 link="rod_1"/><link2 '
    'link="rod_2"/></loop_joint>',
    'constraint rail': '<constraint name="rail" type="planar"><parent link="rod_1"/><child '
    'link="rod_2"/></constraint>',
    'joint loop': gazebo('<gearbox_ratio>2</gearbox_ratio>', 'gearbox'),
    'mimic loop': gazebo('', more='<mimic joint="motor_1"><multiplier>1</multiplier></mimic>'),
    'belt': '<gazebo reference="motor_1"><belt><to>motor_2</to></belt></gazebo>',
    'frame closing_pin_1': five_bars._fixed('closing_pin_1', 'rod_1', LEFT),
    'transmission d': f'<transmission name="d"><type>{TYPE.format("Differential")}</type>'
    f'{both(*MOTORS)}<actuator name="a"/><actuator name="b"/></transmission>',
    'transmission bar': f'<transmission name="bar" type="{TYPE.format("FourBarLinkage")}">'
    f'{both("motor_1", "elbow_1")}<actuator name="a"/></transmission>',
    'transmission grip': '<transmission name="grip" type="pr2_mechanism_model/PR2Gripper'
    'Transmission"><gap_joint name="motor_1"/><passive_joint name="elbow_1"/></transmission>',
    'transmission r': R2.format(
        f'<transmission name="r"><plugin>{TYPE.format("Differential")}</plugin>{both(*MOTORS)}'
        '</transmission>'
    ),
    'ros2_control joint motor_3': R2.format('<joint name="motor_3"><command_interface/></joint>'),
    'ros2_control joint loop_': five_bars.DIALECTS['urdfdom'].replace('"loop"', '"loop_"')
    + R2.format('<joint name="loop_"><command_interface name="effort"/></joint>'),
    'transmission lost': '<transmission name="lost"><joint name="Motor_1"/></transmission>',
    'transmission half': f'<transmission name="half"><type>{TYPE.format("Differential")}</type>'
    f'{both("motor_1", "motor_")}<actuator name="a"/><actuator name="b"/></transmission>',
    'transmission own': R2.format(
        '<joint name="motor_1"><command_interface/></joint><transmission name="own"><joint '
        'name="motor_l"/></transmission>'
    ),
    'plugin hold': '<gazebo>'
    + PLUGIN.format('hold', 'detachable-joint', named(parent_link='rod_1', child_link='rod_9'))
    + '</gazebo>',
    'ros2_control mimic motor_1': R2.format(
        '<joint name="motor_1"><param name="mimic">motor_9</param></joint>'
    ),
}  # fmt: skip


@pytest.mark.parametrize('label', URDF)
def test_what_urdf_does_not_say_to_us(write: Write, label: str) -> None:
    """It is refused by its type and name, and can be left out by either."""
    path = write('a.urdf', five_bars.urdf(URDF[label]))
    with pytest.raises(DescriptionError, match=rf'{label}: .*: not understood\. .*--ignore '):
        import_robot(path, 'a')
    kind, _, name = label.rpartition(' ')
    ignore = name if kind else label
    if label != 'drake:joint ball':  # without which its link hangs on nothing
        assert f'{label} is left out, as asked' in import_robot(path, 'a', ignore=[ignore]).notes


def test_motors_that_are_left_out_are_told(write: Write) -> None:
    """Joints that are fixed, names that are only measured, springs on nothing."""
    commanded = '<command_interface name="effort"/>'
    more = (
        R2.format(f'<joint name="effector_fix">{commanded}</joint><joint name="gripper"/>')
        + '<transmission name="none"/><gazebo reference="elbow"><springStiffness>1'
        '</springStiffness>'
    )
    made = import_robot(write('a.urdf', five_bars.urdf(f'{LOOP}{more}</gazebo>')), 'a')
    assert made.warnings == (
        "gazebo elbow: there is no such link or joint; is 'elbow_2' meant?",
        'ros2_control joint effector_fix: joint effector_fix does not move, and has no motor',
        'transmission none names no joint',
    )
    assert 'ros2_control joint gripper: it is not in the tree, and only measured' in made.notes


def sdf_with(more: str, pin: str = 'revolute') -> str:
    plain = five_bars.sdf(pin).replace('<sdf', '<sdf xmlns:drake="http://drake.mit.edu"')
    return plain.replace('</model>', f'{more}</model>')


BOB = '<link name="bob"/><joint name="swing" type="{}"><parent>rod_1</parent><child>bob</child>{}'
AXIS = '<axis><xyz>0 0 1</xyz>{}</axis>'
SECOND = '<axis2><xyz>1 0 0</xyz><mimic joint="motor_1"><multiplier>1</multiplier></mimic></axis2>'
SDF = {
    'drake:parent_frame': BOB.format('revolute', AXIS.format(''))
    + '<drake:parent_frame>rod_1</drake:parent_frame></joint>',
    'drake:child_frame': '<frame name="f" attached_to="bob"/>'
    + BOB.format('revolute', AXIS.format('')) + '<drake:child_frame>f</drake:child_frame></joint>',
    'drake:linear_bushing_rpy': '<frame name="f" attached_to="rod_1"/><drake:linear_bushing_rpy>'
    '<drake:bushing_frameA>f</drake:bushing_frameA><drake:bushing_frameC>rod_2'
    '</drake:bushing_frameC></drake:linear_bushing_rpy>',
    'drake:revolute_spring': '<drake:revolute_spring><drake:joint>motor_1</drake:joint>'
    '</drake:revolute_spring>',
    'drake:joint flat': '<link name="bob"/><drake:joint name="flat" type="planar"><drake:parent>'
    'rod_1</drake:parent><drake:child>bob</drake:child></drake:joint>',
    'plugin loop': PLUGIN.format(*CLOSED_LOOP, named(parent='rod_1', child='rod_2')),
    'plugin push': PLUGIN.format(
        'push', 'gz-sim-joint-controller', named(joint_name='motor_3')
    ),
    'plugin tie': '<model name="leg"><link name="l"/><link name="k"/><joint name="lk" '
    'type="fixed"><parent>l</parent><child>k</child></joint>'
    + PLUGIN.format('tie', 'x.so', named(a='l', b='k')) + '</model><joint name="j" type="fixed">'
    '<parent>rod_1</parent><child>leg::l</child></joint>',
    'joint swing': BOB.format('gearbox', AXIS.format('')) + '</joint>',
    'gearbox_reference_body': BOB.format('revolute', AXIS.format(''))
    + '<gearbox_reference_body>rod_2</gearbox_reference_body></joint>',
    'mimic swing': BOB.format('universal', AXIS.format('') + SECOND) + '</joint>',
    'mimic other': BOB.replace('swing', 'other').format('fixed', '')
    + '<drake:mimic joint="motor_1" multiplier="1" offset="0"/></joint>',
}  # fmt: skip


@pytest.mark.parametrize('label', SDF)
def test_what_sdf_does_not_say_to_us(write: Write, label: str) -> None:
    path = write('a.sdf', sdf_with(SDF[label]))
    with pytest.raises(DescriptionError, match=rf'{label}: .*: not understood\. .*--ignore '):
        import_robot(path, 'a')
    if label not in ('drake:joint flat', 'joint swing'):  # without which a link hangs on nothing
        assert f'{label} is left out, as asked' in import_robot(path, 'a', ignore=[label]).notes


def test_joints_between_models_of_a_world(write: Write) -> None:
    text = five_bars.sdf().replace('<model', '<world name="w"><model', 1)
    other = '<model name="other"><link name="l"/></model>{}</world>'
    joint = '<joint name="tow" type="fixed"><parent>five_bar::rod_1</parent><child>other::l</child>'
    path = write('a.sdf', text.replace('</model>', '</model>' + other.format(f'{joint}</joint>')))
    with pytest.raises(DescriptionError, match='world joint tow: it ties models to each other'):
        import_robot(path, 'a')
    plain = '<physics type="ode"><ode><constraints/></ode></physics><light name="rod_1"/>'
    import_robot(write('a.sdf', text.replace('</model>', '</model>' + other.format(plain))), 'a')


CONTROLLER = ('gz::sim::systems::JointTrajectoryController', 'gz-sim-joint-trajectory-controller')
JOINTS = ''.join(f'<joint_name>{name}</joint_name>' for name in MOTORS)
HARMLESS = (
    PLUGIN.format(*CONTROLLER, JOINTS)
    + PLUGIN.format('states', 'libgazebo_ros_joint_state_publisher.so', JOINTS)
    + PLUGIN.format('gear', 'gz-sim-joint-position-controller-system', JOINTS)
    + PLUGIN.format('wing', 'gz-sim-lift-drag-system', named(link='rod_1', control='motor_1'))
)


def test_what_names_parts_and_ties_none(write: Write) -> None:
    """Controllers, publishers, sensors, collision filters, semantic groups."""
    filters = (
        '<drake:collision_filter_group name="g"><drake:member link="rod_1"/><drake:member '
        'link="rod_2"/></drake:collision_filter_group><disable_collisions link1="rod_1" '
        'link2="rod_2"/><group name="arm"><chain base_link="ground" tip_link="rod_1"/></group>'
        '<gazebo reference="rod_1"><sensor type="contact"><frame>rod_2</frame></sensor></gazebo>'
        f'<gazebo>{HARMLESS}</gazebo><mujoco><compiler meshdir="rod_1"/></mujoco>'
    )
    assert_the_same(write('a.urdf', five_bars.urdf(LOOP + filters)))
    gripper = '<gripper name="g"><gripper_link>rod_1</gripper_link><palm_link>rod_2</palm_link>'
    assert_the_same(write('a.sdf', sdf_with(f'{HARMLESS}{gripper}</gripper>')))


def test_links_may_be_called_by_numbers(write: Write) -> None:
    """They are not meant where numbers stand."""
    text = five_bars.urdf(LOOP + '<gazebo reference="rod_1"><mu1>2</mu1><kp>1</kp></gazebo>')
    for name, number in (('rod_1', '1'), ('crank_1', '2')):
        text = text.replace(f'"{name}"', f'"{number}"').replace(f'>{name}<', f'>{number}<')
    assert_the_same(write('a.urdf', text))


def test_gepetto_with_keys_that_are_unknown(write: Write) -> None:
    write('robot.urdf', five_bars.urdf(five_bars.TIPS))
    path = write('robot.yaml', f'{five_bars.GEPETTO}gears: [[motor_1, motor_2]]\n')
    with pytest.raises(DescriptionError, match=r'key gears: it is unknown: .*--ignore gears'):
        import_robot(path, 'a')
    assert len(Mechanism.load(path, ignore=['gears']).independent) == 2


def test_our_own_files_are_read_in_full() -> None:
    with pytest.raises(
        DescriptionError, match='ignore: only files of other tools are read in part'
    ):
        Mechanism.load('rcid', ignore=['gears'])


def test_plugins_that_an_include_adds(write: Write) -> None:
    """They are the included model's, as if its own file had them."""
    write('robot.sdf', five_bars.sdf())
    plugin = PLUGIN.format(*CLOSED_LOOP, named(parent='rod_1', child='rod_2'))
    inside = f'<include><uri>robot.sdf</uri>{plugin}</include>'
    path = write('a.sdf', f'<sdf version="1.7"><world name="w">{inside}</world></sdf>')
    with pytest.raises(DescriptionError, match='plugin loop: it names rod_1 and rod_2'):
        import_robot(path, 'a')


def test_a_payload_that_is_another_model_is_told(write: Write) -> None:
    held = named(parent_link='rod_1', child_model='parcel', child_link='box')
    plugin = PLUGIN.format('hold', 'gz-sim-detachable-joint-system', held)
    notes = import_robot(write('a.sdf', sdf_with(plugin)), 'a').notes
    assert 'plugin hold: the model that it holds is left out' in notes


def test_a_payload_that_the_world_has_is_refused(write: Write) -> None:
    """Its weight is known to the file, and acts on the motors."""
    held = named(parent_link='rod_1', child_model='parcel', child_link='box')
    robot = sdf_with(PLUGIN.format('hold', 'gz-sim-detachable-joint-system', held))
    text = robot.replace('<model', '<world name="w"><model', 1).replace(
        '</sdf>', '{}</world></sdf>'
    )
    parcel = '<model name="parcel"><link name="box"/></model>'
    with pytest.raises(DescriptionError, match='plugin hold: it names rod_1 and parcel'):
        import_robot(write('a.sdf', text.format(parcel)), 'a')
    made = import_robot(write('a.sdf', text.format(parcel)), 'a', ignore=['hold'])
    assert 'plugin hold is left out, as asked' in made.notes


def test_links_that_a_model_of_another_name_is_said_to_hold(write: Write) -> None:
    """Gazebo looks for the name under which the model stands in the world."""
    held = named(parent_link='rod_1', child_model='five_bar_1', child_link='rod_2')
    plugin = PLUGIN.format('hold', 'gz-sim-detachable-joint-system', held)
    told = "its <child_model> is 'five_bar_1', and this model is called 'five_bar'"
    with pytest.raises(DescriptionError, match=f'plugin hold: it names rod_1 and rod_2.*{told}'):
        import_robot(write('a.sdf', sdf_with(plugin)), 'a')


def test_what_an_include_changes(write: Write) -> None:
    """Elements: refused. ``<static>`` takes the place of the model's own."""
    write('robot.sdf', five_bars.sdf())
    params = (
        '<e:params xmlns:e="experimental"><link element_id="rod_1" action="remove"/></e:params>'
    )
    text = '<sdf version="1.9"><model name="m">{}<link name="a"/><joint name="j" type="revolute">'
    text += (
        '<parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis></joint></model></sdf>'
    )
    inside = '<include><uri>robot.sdf</uri>{}</include>'
    path = write('a.sdf', text.format(inside.format(params)))
    with pytest.raises(DescriptionError, match=r'e.*:params: it changes elements of robot\.sdf'):
        import_robot(path, 'a')
    path = write('b.sdf', text.format(inside.format('<static>true</static>')))
    with pytest.raises(DescriptionError, match='nothing with mass moves in it'):
        import_robot(path, 'a')


def test_plugins_that_name_no_joint_of_the_robot(write: Write) -> None:
    mimic, rest = FOLLOWING['plugin']
    text = FINGER.replace('MIMIC', mimic).replace('REST', rest.replace('>second<', '>secnd<'))
    with pytest.raises(DescriptionError, match='plugin m: joint secnd is to follow first'):
        import_robot(write('a.urdf', text), 'a')


def test_gepetto_refuses_what_its_urdf_ties(write: Write) -> None:
    write('robot.urdf', five_bars.urdf(five_bars.TIPS + URDF['gear g']))
    with pytest.raises(DescriptionError, match='gear g: it names motor_1 and motor_2'):
        import_robot(write('robot.yaml', five_bars.GEPETTO), 'a')


def test_the_command_leaves_out_what_it_is_told_to(write: Write, tmp_path: pathlib.Path) -> None:
    path = write('a.urdf', five_bars.urdf(LOOP + URDF['gear g'] + URDF['closure c']))
    order = ['import', str(path), '--output', str(tmp_path / 'made'), '--ignore', 'g']
    refused = CliRunner().invoke(commands, order)
    assert 'closure c: it names rod_1 and rod_2' in str(refused.exception)
    assert not (tmp_path / 'made').exists()
    done = CliRunner().invoke(commands, [*order, '--ignore', 'closure'], catch_exceptions=False)
    assert 'gear g is left out, as asked' in done.output


def screw_press(nut: str, motor: str) -> str:
    """SDF of a nut that pushes a rod and a crank; a spindle that is a link of its own moves it."""
    links, joints = [], []
    inertia = ''.join(f'<{k}>0.01</{k}>' for k in ('ixx', 'iyy', 'izz'))
    bodies = {'spindle': 0.0, 'nut': 0.1, 'rod': 0.1, 'crank': 0.5}
    for name, x in bodies.items():
        links.append(
            f'<link name="{name}"><pose>{x} 0 0 0 0 0</pose><inertial><pose>0.1 0 0.05 0 0 0</pose>'
            f'<mass>{1.0 + x}</mass><inertia>{inertia}</inertia></inertial></link>'
        )
    ends = {'bearing': ('world', 'spindle', 'x'), 'pin': ('nut', 'rod', 'y'),
            'elbow': ('crank', 'rod', 'y'), 'shoulder': ('world', 'crank', 'y')}  # fmt: skip
    elbow = {'elbow': '-0.2 0 0.2'}  # from the rod
    for name, (parent, child, axis) in ends.items():
        xyz = '1 0 0' if axis == 'x' else '0 1 0'
        joints.append(
            f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
            f'<pose>{elbow.get(name, "0 0 0")} 0 0 0</pose><axis><xyz>{xyz}</xyz></axis></joint>'
        )
    return (
        f'<sdf version="1.9"><model name="press">{"".join(links + joints)}{nut}'
        f'<plugin name="motor" filename="joint_controller"><joint_name>{motor}</joint_name>'
        '</plugin></model></sdf>'
    )


def test_a_loop_is_not_cut_at_its_screw(write: Write) -> None:
    """A screw closes no loop; a spindle's torque is that of a slide's force by its lead."""
    slide = (
        '<joint name="slide" type="prismatic"><parent>world</parent><child>nut</child>'
        '<axis><xyz>1 0 0</xyz></axis></joint>'
    )
    screw = (
        '<joint name="thread" type="screw"><parent>spindle</parent><child>nut</child>'
        '<screw_thread_pitch>0.02</screw_thread_pitch><axis><xyz>1 0 0</xyz></axis></joint>'
    )
    turning = '"revolute"><parent>world</parent><child>spindle'
    still = screw_press(slide, 'slide').replace(turning, turning.replace('revolute', 'fixed'))
    by_slide = Mechanism(import_description(write('a.sdf', still)))
    by_screw = Mechanism(import_description(write('b.sdf', screw_press(screw, 'bearing'))))
    (force,) = by_slide.feedforward([0.0], [0.0], [0.0]).actuated
    (torque,) = by_screw.feedforward([0.0], [0.0], [0.0]).actuated
    assert abs(torque) == pytest.approx(abs(force) * 0.02 / (2.0 * np.pi), rel=1e-9)
    assert abs(force) > 1.0
