# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Files that their own tools read although something in them is loose, missing or redundant."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from interchange import five_bars
from interchange.test_five_bar import MOTORS, Write, effort_at_home, write
from interchange.test_ties import ARM, AXIS, BOB, LOOP, sdf_with
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_description, import_robot

__all__ = ['write']
XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


def test_infinite_limits_of_sdf(write: Write) -> None:
    """As SDF 1.9 and its converter write them; other infinities are no limits."""
    limit = '<limit><lower>-inf</lower><upper>inf</upper><velocity>inf</velocity>{}</limit></axis>'
    text = ARM.replace('</axis>', limit.format('<effort>+Infinity</effort>'), 1)
    joints = {joint.name: joint for joint in import_description(write('a.sdf', text)).tree.joints}
    ja = joints['ja']
    assert (ja.lower, ja.upper, ja.velocity, ja.effort) == (-np.inf, np.inf, np.inf, np.inf)
    for old, new in (('>-inf<', '>inf<'), ('>inf<', '>-inf<'), ('>-inf<', '>nan<')):
        with pytest.raises(DescriptionError, match='joint ja limit/.* is not a finite number'):
            import_robot(write('b.sdf', text.replace(old, new)), 'b')


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ('<mass>', '<mass>1</mass><mass>', '<mass> appears twice'),
        ('<mass>', '<mass>1_0', "'1_0.*' is not a finite number"),
        ('<mass>', '<massa>1</massa><mass>', "unknown element <massa>; is 'mass' meant"),
        ('<mass>', '<ixx>1</ixx><mass>', '<ixx> stands in <inertial>; it belongs into <inertia>'),
        ('<inertial>', '<pose>1 0 0 0 0 0</pose><inertial>', '<pose> appears twice'),
        ('</axis>', '<damping>1</damping></axis>', '<damping> stands in <axis>'),
        ('</axis>', '</axis><dynamics/>', '<dynamics> stands in <joint>; it belongs into <axis>'),
        ('</axis>', '<dynamics><dampin>1</dampin></dynamics></axis>', "is 'damping' meant"),
    ],
)
def test_elements_of_sdf_that_would_not_be_read(
    write: Write, old: str, new: str, reason: str
) -> None:
    with pytest.raises(DescriptionError, match=reason):
        import_robot(write('a.sdf', five_bars.sdf().replace(old, new, 1)), 'a')


def test_elements_of_sdf_that_are_left_out_are_told(write: Write) -> None:
    """Drag of a link, and what other programs add."""
    drag = '<velocity_decay><linear>1</linear></velocity_decay><inertial><water/>'
    made = import_robot(write('a.sdf', five_bars.sdf().replace('<inertial>', drag, 1)), 'a')
    told = [note.partition(': ')[2] for note in made.warnings]
    assert {'its <velocity_decay> is left out', 'its <water> is left out'} <= {*told}


def test_a_joint_does_not_tie_a_link_to_itself(write: Write) -> None:
    text = sdf_with('<frame name="f" attached_to="rod_1"/>' + BOB.replace('bob', 'f').format(
        'revolute', AXIS.format('') + '</joint>').partition('/>')[2])  # fmt: skip
    with pytest.raises(DescriptionError, match="joint swing: it ties 'rod_1' to itself"):
        import_robot(write('a.sdf', text), 'a')


def test_prefixes_that_are_not_declared(write: Write) -> None:
    """Gazebo and Drake read them; in comments before the root there may be anything."""
    ball = (
        '<drake:ball_constraint name="pin"><drake:ball_constraint_body_A name="rod_1"/>'
        '<drake:ball_constraint_body_B name="rod_2"/><drake:ball_constraint_p_AP value="{} {} 0"/>'
        '<drake:ball_constraint_p_BQ value="{} {} 0"/></drake:ball_constraint>'
    ).format(*five_bars.PIN[1], *five_bars.PIN[2])
    declared = five_bars.urdf(ball + five_bars.TRANSMISSIONS)
    loose = declared.replace(' xmlns:drake="http://drake.mit.edu"', ' mine:note="a"')
    assert 'xmlns' not in loose
    found = [
        effort_at_home(write(f'{name}.urdf', text))
        for name, text in (('a', declared), ('b', '<!-- <b> c:d="e" -->' + loose))
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    sdf = write('c.sdf', sdf_with('<drake:joint name="flat" type="planar"/>').replace(
        ' xmlns:drake="http://drake.mit.edu"', ''))  # fmt: skip
    with pytest.raises(DescriptionError, match="drake:joint flat: its type 'planar'"):
        import_robot(sdf, 'c')


def test_an_inertial_without_inertia(write: Write) -> None:
    text = five_bars.urdf(LOOP)
    begin = text.index('<inertia ', text.index('"crank_2"'))
    cut = text[:begin] + text[text.index('/>', begin) + 2 :]
    with pytest.raises(DescriptionError, match='link crank_2: its <inertial> has no <inertia>'):
        import_robot(write('a.urdf', cut), 'a')


def test_losses_of_a_fixed_joint(write: Write) -> None:
    text = five_bars.urdf(LOOP)
    old = '<child link="effector"/>'
    assert old in text
    loose = text.replace(old, f'{old}<dynamics damping="0.7" friction="0.1"/>')
    made = import_description(write('a.urdf', loose))
    assert made.joints == import_description(write('a.urdf', text)).joints


@pytest.mark.parametrize('turn', ['0 0 0', '0.0 -0 0', '0 0 0.1'])
def test_axes_with_angles(write: Write, turn: str) -> None:
    """Files of ROS 1 have some; only those that turn nothing are left out."""
    path = write('a.urdf', five_bars.urdf(LOOP).replace('<axis ', f'<axis rpy="{turn}" ', 1))
    if turn.endswith('0.1'):
        with pytest.raises(DescriptionError, match='rpy of <axis> is not one of xyz'):
            import_robot(path, 'a')
    else:
        plain = import_robot(write('b.urdf', five_bars.urdf(LOOP)), 'a')
        assert import_robot(path, 'a').urdf == plain.urdf


def test_an_arm_that_stands_straight(write: Write) -> None:
    """Its parallel axes could spin links between them; without loops that is how an arm moves."""
    pinocchio = pytest.importorskip('pinocchio', reason='Pinocchio is not installed')
    links = ''.join(
        f'<link name="l{k}"><inertial><origin xyz="0 0.01 0.1"/><mass value="1"/><inertia '
        'ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for k in range(7)
    )
    joints = ''.join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0 0 0.2"/><axis xyz="{axis}"/></joint>'
        for k, axis in enumerate(('0 0 1', '0 1 0', '0 0 1', '0 1 0', '0 0 1', '0 0 1'))
    )
    path = write('arm.urdf', f'<robot name="arm">{links}{joints}</robot>')
    arm = Mechanism(import_description(path))
    assert sorted(arm.independent) == [f'j{k}' for k in range(6)] == sorted(arm.actuated)
    model = pinocchio.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array(arm.description.gravity)
    rng = np.random.default_rng(5)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 6))
    circle = np.array([f(angle) for angle in q for f in (np.cos, np.sin)])
    expected = pinocchio.rnea(model, model.createData(), circle, v, a)
    order = [int(name[1:]) for name in arm.independent]
    found = arm.feedforward(q[order], v[order], a[order]).actuated
    by_joint = dict(zip(arm.actuated, found, strict=True))
    assert [by_joint[f'j{k}'] for k in range(6)] == pytest.approx(expected, abs=1e-9)


def test_nothing_that_moves_in_a_loop(write: Write) -> None:
    text = ARM.replace('"revolute"', '"fixed"').replace('</model>', (
        '<joint name="again" type="fixed"><parent>world</parent><child>b</child></joint></model>'
    ))  # fmt: skip
    with pytest.raises(DescriptionError, match='joints: nothing with mass moves in it'):
        import_robot(write('a.sdf', text), 'a')


@pytest.mark.parametrize('package', ['mine', 'beside'])
def test_packages_that_are_where_the_file_is(tmp_path: pathlib.Path, package: str) -> None:
    """$(find ...) of the package that a file lies in, and of its neighbours, without ROS."""
    for name in ('mine', 'beside'):
        (tmp_path / f'{name}_folder' / 'urdf').mkdir(parents=True)
        manifest = f'<package format="3"><name>{name}</name></package>'
        (tmp_path / f'{name}_folder' / 'package.xml').write_text(manifest)
    (tmp_path / 'broken').mkdir()
    (tmp_path / 'broken' / 'package.xml').write_text('<package>')
    plain = five_bars.urdf(LOOP)
    inner = plain[plain.index('<link') :].removesuffix('</robot>')
    part = tmp_path / f'{package}_folder' / 'urdf' / 'part.xacro'
    part.write_text(f'<robot {XACRO}>{inner}</robot>')
    file = tmp_path / 'mine_folder' / 'urdf' / 'robot.urdf.xacro'
    include = f'<xacro:include filename="$(find {package})/urdf/part.xacro"/>'
    file.write_text(f'<robot name="five_bar" {XACRO}>{include}</robot>')
    assert sorted(Mechanism(import_description(file)).actuated) == sorted(MOTORS)


@pytest.mark.parametrize('kind', ['leader', 'follower'])
def test_a_mimic_of_a_fixed_joint(write: Write, kind: str) -> None:
    """As in files from which a program took joints: it holds what it would move."""
    text = five_bars.urdf(LOOP)
    arm = (
        '<link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="0.2"/><inertia ixx="0.001" '
        'iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="swing" '
        'type="{}"><parent link="crank_1"/><child link="arm"/><origin rpy="0 0 {}"/>'
        '<axis xyz="0 0 1"/>{}{}</joint>'
    )
    limit = '<limit lower="-2" upper="2" effort="1" velocity="1"/>'
    follows = '<mimic joint="{}" multiplier="-1" offset="0.3"/>'
    fixed = arm.format('fixed', 0.3 if kind == 'leader' else 0.0, '', '')
    if kind == 'leader':
        loose = arm.format('revolute', 0.0, limit, follows.format('effector_fix'))
        told = 'joint swing is held at 0.3: it follows no other, since effector_fix is fixed'
    else:
        loose = arm.format('fixed', 0.0, '', follows.format('elbow_1'))
        told = 'joint swing follows no other, since swing is fixed'
    paths = [
        write(f'{name}.urdf', text.replace('</robot>', f'{more}</robot>'))
        for name, more in (('a', loose), ('b', fixed))
    ]
    assert told in import_robot(paths[0], 'a').notes
    assert effort_at_home(paths[0]) == pytest.approx(effort_at_home(paths[1]), abs=1e-12)


@pytest.mark.parametrize('version', ['1.6', '1.7'])
def test_links_that_are_called_like_joints(write: Write, version: str) -> None:
    """As SDF before 1.7 allows; the joint keeps its name."""
    plain = five_bars.sdf(version=version)
    loose = plain.replace('crank_1', 'motor_1')
    assert plain.count('crank_1') == 3
    path = write('a.sdf', loose)
    if version == '1.7':
        with pytest.raises(DescriptionError, match='joint motor_1: appears twice'):
            import_robot(path, 'a')
    else:
        same = import_robot(write('b.sdf', plain.replace('crank_1', 'motor_1_link')), 'a')
        made = import_robot(path, 'a')
        assert made.urdf == same.urdf
        assert 'link motor_1 is called motor_1_link: a joint has its name' in made.notes


def test_what_is_no_xml_and_read_all_the_same(write: Write) -> None:
    """Comments with two dashes, and before the declaration: Gazebo and Drake do not mind."""
    sdf, declaration = five_bars.sdf(), '<?xml version="1.0" encoding="utf-8"?>'
    loose = f'\n<!-- mine\n -->{declaration}<!-- a -- b\n -->{sdf.replace("<link", "<!----><link")}'
    plain = import_robot(write('a.sdf', declaration + sdf), 'a')
    assert import_robot(write('b.sdf', loose), 'a').urdf == plain.urdf
    with pytest.raises(DescriptionError, match='SDF: not XML: mismatched tag: line 4'):
        import_robot(write('c.sdf', loose.replace('</link>', '')), 'c')


@pytest.mark.parametrize('before', ['\n', '  \n\t'])
def test_mjcf_with_blanks_before_its_declaration(write: Write, before: str) -> None:
    """MuJoCo reads them, though they are no XML."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    text = f'{before}<?xml version="1.0"?>\n{five_bars.mjcf()}'
    assert import_description(write('a.xml', text)).actuated == ('motor_1', 'motor_2')


def test_rounding_of_a_moment_of_inertia(write: Write) -> None:
    text = five_bars.urdf(LOOP)
    old = text[text.index('<inertia ', text.index('"effector"')) :].partition('/>')[0]
    for moment, given in (('1e-19', True), ('1e-12', False)):
        new = f'<inertia ixx="0" iyy="0" izz="1e-6" ixz="0" iyz="0" ixy="{moment}"'
        path = write('a.urdf', text.replace(old, new))
        if given:
            import_robot(path, 'a')
        else:
            with pytest.raises(DescriptionError, match=r'principal moment -1e-12 kg m\^2'):
                import_robot(path, 'a')


def test_sdf_that_is_xacro(write: Write) -> None:
    plain = five_bars.sdf()
    loose = plain.replace('<sdf', f'<sdf {XACRO}', 1).replace(
        '<model', '<xacro:arg name="mass" default="0.4"/><model', 1
    )
    assert '<mass>0.5</mass>' in plain
    path = write('a.sdf.xacro', loose.replace('<mass>0.5</mass>', '<mass>$(arg mass)</mass>'))
    same = import_robot(write('b.sdf', plain), 'a')
    with pytest.raises(DescriptionError, match=r'its name does not end \.sdf\.xacro'):
        import_robot(write('c.sdf', loose), 'c')
    assert import_robot(path, 'a', arguments={'mass': '0.5'}).urdf == same.urdf
    assert import_robot(path, 'a').urdf != same.urdf


def test_an_impossible_inertia_that_nobody_feels(write: Write) -> None:
    """A milligram antenna is warned of, like other doubtful inertias; a heavier one is refused."""
    moments = '<inertia ixx="2e-8" iyy="3e-8" izz="4e-8" ixy="6e-8" ixz="1e-8" iyz="1e-8"/>'
    text = five_bars.urdf(LOOP)
    for mass, felt in (('1e-7', False), ('0.1', True)):
        antenna = (
            f'<link name="antenna"><inertial><mass value="{mass}"/>{moments}</inertial></link>'
            '<joint name="mast" type="fixed"><parent link="effector"/><child link="antenna"/>'
            '</joint>'
        )
        path = write('a.urdf', text.replace('</robot>', f'{antenna}</robot>'))
        if felt:
            with pytest.raises(DescriptionError, match='link antenna: inertia has the principal'):
                import_robot(path, 'a')
        else:
            notes = import_robot(path, 'a').notes
            assert any('link antenna: its principal moments' in note for note in notes)


def test_loops_that_the_file_leaves_open_are_told(write: Write) -> None:
    """A length may be mistyped, and another pose closes the loop."""
    text = five_bars.urdf(five_bars.DIALECTS['urdfdom'] + five_bars.TRANSMISSIONS)
    told = [note for note in import_robot(write('a.urdf', text), 'a').notes if 'as drawn' in note]
    assert not told
    longer = text.replace('xyz="0.12 0.16 0"', 'xyz="0.19 0.16 0"', 1)
    made = import_robot(write('b.urdf', longer), 'b')
    (told,) = [note for note in made.notes if 'as drawn' in note]
    assert told.startswith('as drawn, loops are open by up to 0.07 m (loop): home closes')


def test_who_refers_to_a_frame_that_is_not_there(write: Write) -> None:
    text = five_bars.sdf().replace('<pose>-0.22', '<pose relative_to="crank_l">-0.22', 1)
    with pytest.raises(DescriptionError, match="pose of rod_1: there is no .* frame 'crank_l'"):
        import_robot(write('a.sdf', text), 'a')


def test_the_world_of_drake_is_in_no_file(write: Write) -> None:
    """A robot that is welded to it is the same robot; another missing link is a mistake."""
    text = five_bars.urdf(five_bars.DIALECTS['drake'] + five_bars.TRANSMISSIONS)
    weld = (
        '<joint name="weld" type="fixed"><parent link="{}"/><child link="ground"/></joint></robot>'
    )
    made = import_robot(write('a.urdf', text.replace('</robot>', weld.format('world'))), 'a')
    assert "link world is named by joints alone, as Drake's is: it is the base" in made.notes
    assert 'base: world' in made.yaml
    with pytest.raises(DescriptionError, match="link 'wold' does not exist"):
        import_robot(write('b.urdf', text.replace('</robot>', weld.format('wold'))), 'b')
