# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF and xacro: what is read, and what is refused with file, element and reason."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
import samples

from masticator_dynamics.description import urdf
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.imported_description import import_description

LADDER = (samples.OWN / 'ladder.urdf').read_text(encoding='utf-8')
FIVE_BAR = (samples.OWN / 'five_bar.urdf.xacro').read_text(encoding='utf-8')
FILE = pathlib.Path('some.urdf')
GROUND = '<link name="ground"/>'
SLIDE_AXIS = '<axis xyz="1 0 0"/>'
TILT_AXIS = '<axis xyz="0 0 1"/>'


def refused(old: str, new: str) -> DescriptionError:
    """The refusal of the ladder's URDF after one replacement."""
    assert old in LADDER
    with pytest.raises(DescriptionError) as caught:
        urdf.parse(LADDER.replace(old, new, 1), FILE)
    assert str(caught.value).startswith('some.urdf: ')
    return caught.value


def test_what_is_read() -> None:
    tree = urdf.parse(LADDER, FILE)
    assert tree.root == 'ground'
    assert [joint.name for joint in tree.joints] == ['slide', 'tilt', 'top']
    slide, tilt, top = tree.joints
    assert (slide.type, slide.parent, slide.child, slide.unit) == (
        'prismatic', 'ground', 'foot', 'm',
    )  # fmt: skip
    assert (tilt.lower, tilt.upper, tilt.velocity, tilt.effort) == (0.1, 1.5, 10.0, 0.0)
    assert tilt.unit == 'rad'
    assert top.position.tolist() == [1.0, 0.0, 0.0]
    rungs = tree.links['rungs']
    assert rungs.mass == 9.0 and rungs.center_of_mass.tolist() == [0.45, 0.02, 0.0]
    assert rungs.about_center.tolist() == np.diag([0.1, 0.75, 0.8]).tolist()
    assert tree.links['head'].mass == 0.0
    assert tree.carriers() == {
        'ground': 'ground', 'foot': 'foot', 'rungs': 'rungs', 'head': 'rungs',
    }  # fmt: skip


def test_fixed_axis_angles_and_rotated_inertias() -> None:
    """Roll about x, then pitch about fixed y, then yaw about fixed z; inertias rotate too."""
    text = LADDER.replace('<origin xyz="0.45 0.02 0"/>', '<origin xyz="0 0 0" rpy="0.3 -0.5 0.7"/>')
    about = urdf.parse(text, FILE).links['rungs'].about_center

    def turn(axis: list[float], angle: float) -> samples.Array:
        x, y, z = axis
        skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.eye(3) + np.sin(angle) * skew + (1.0 - np.cos(angle)) * skew @ skew

    rotation = turn([0, 0, 1], 0.7) @ turn([0, 1, 0], -0.5) @ turn([1, 0, 0], 0.3)
    assert about == pytest.approx(rotation @ np.diag([0.1, 0.75, 0.8]) @ rotation.T, abs=1e-15)


def test_axes_are_normalised_and_default_to_x() -> None:
    assert urdf.parse(LADDER.replace(SLIDE_AXIS, '<axis xyz="3 0 -4"/>'), FILE).joints[
        0
    ].axis == pytest.approx([0.6, 0.0, -0.8])
    assert urdf.parse(LADDER.replace(SLIDE_AXIS, ''), FILE).joints[0].axis.tolist() == [1, 0, 0]


def test_a_continuous_joint_has_no_range() -> None:
    tilt = urdf.parse(LADDER.replace('"revolute"', '"continuous"'), FILE).joints[1]
    assert (tilt.lower, tilt.upper, tilt.velocity) == (-np.inf, np.inf, 10.0)


def test_order_of_the_file_does_not_matter() -> None:
    """Joints are ordered from the root outwards."""
    end = LADDER.index('<joint name="tilt"')
    head, rest = LADDER[: LADDER.index('<joint name="slide"')], LADDER[end:]
    moved = head + rest.replace('</robot>', '') + LADDER[len(head) : end] + '</robot>'
    assert [j.name for j in urdf.parse(moved, FILE).joints] == ['slide', 'tilt', 'top']


def test_what_others_read_is_left_to_them() -> None:
    for foreign in (
        '<ros2_control name="a" type="system"><joint name="slide"/></ros2_control>',
        '<gazebo reference="ground"/>',
    ):
        assert urdf.parse(LADDER.replace(GROUND, GROUND + foreign), FILE).root == 'ground'


def test_vendors_elements_are_passed_over_with_a_warning() -> None:
    vendors = LADDER.replace(TILT_AXIS, TILT_AXIS + '<joint_properties friction="0"/>').replace(
        SLIDE_AXIS, SLIDE_AXIS + '<joint_properties friction="0"/>'
    )
    drive = '<transmission name="a"><joint name="slide"><role>a</role></joint></transmission>'
    tree = urdf.parse(vendors.replace(GROUND, GROUND + drive), FILE)
    assert tree.warnings == ('<joint_properties> in joint slide and 1 more is not read',)
    assert [joint.name for joint in tree.joints] == ['slide', 'tilt', 'top']


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        (SLIDE_AXIS, '<axis xyz="1 0 0" frame="top"/>', 'frame of <axis> is not one of xyz'),
        (
            SLIDE_AXIS, SLIDE_AXIS + '<origin xyz="0 0 0" quat_xyzw="0 0 0 1"/>',
            'quat_xyzw of <origin> is not one of rpy, xyz',
        ),
        (
            TILT_AXIS, TILT_AXIS + '<mimic joint="slide" ratio="2"/>',
            'ratio of <mimic> is not one of joint, multiplier, offset',
        ),
    ],
)  # fmt: skip
def test_attributes_that_would_make_another_robot(old: str, new: str, reason: str) -> None:
    with pytest.raises(DescriptionError, match=reason):
        urdf.parse(LADDER.replace(old, new), FILE)


def test_what_looks_like_degrees_or_is_not_read_is_told() -> None:
    more = '<origin xyz="0 0 0" rpy="0 90 0"/><dynamics armature="3"/>'
    assert urdf.parse(LADDER.replace(SLIDE_AXIS, SLIDE_AXIS + more), FILE).warnings == (
        '<dynamics armature> in joint slide is not read',
        'rpy beyond a full turn, though in radians: joint slide',
    )


def test_what_is_not_read_is_told_in_the_order_of_the_file() -> None:
    attributes = ['zeta', 'alpha', 'mu', 'kappa', 'beta', 'nu']
    more = '<dynamics' + ''.join(f' {name}="1"' for name in attributes) + '/>'
    assert urdf.parse(LADDER.replace(SLIDE_AXIS, SLIDE_AXIS + more), FILE).warnings == tuple(
        f'<dynamics {name}> in joint slide is not read' for name in attributes
    )


def test_limits_in_degrees_and_places_in_millimetres_are_told() -> None:
    old = 'lower="0.1" upper="1.5"'
    (warning,) = urdf.parse(LADDER.replace(old, 'lower="-90" upper="45"'), FILE).warnings
    assert warning == '<limit> of joint tilt is -90 to 45 rad: not in degrees?'
    for new in ('"-9" upper="9"', '"0" upper="12.57"', '"-100" upper="100"', '"-1e3" upper="1e3"'):
        assert urdf.parse(LADDER.replace(old, f'lower={new}'), FILE).warnings == ()
    moved = LADDER.replace(TILT_AXIS, f'{TILT_AXIS}<origin xyz="0 300 400"/>')
    assert urdf.parse(moved, FILE).warnings == (
        'joint tilt is 500 m from its parent link: not in mm?',
    )


def test_places_in_millimetres_are_told_once() -> None:
    """All joints in one sentence."""
    first = LADDER.replace(TILT_AXIS, f'{TILT_AXIS}<origin xyz="0 300 400"/>')
    both = first.replace(SLIDE_AXIS, f'{SLIDE_AXIS}<origin xyz="0 0 40"/>')
    assert urdf.parse(both, FILE).warnings == (
        'joints slide and tilt are up to 500 m from their parent links: not in mm?',
    )


ROD = (
    '<robot name="rod"><link name="base"/><link name="rod"><inertial><origin xyz="{} 0 0"/><mass '
    'value="0.3"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>'
    '</link>'
    '<joint name="turn" type="continuous"><parent link="base"/><child link="rod"/><origin xyz="0 0 '
    '{}"/></joint></robot>'
)
UNITS = {
    'in SI units': (0.1, 4e-3, 0.2, ''),
    'a centre in mm': (
        100.0, 4e-3, 0.2, 'link rod: its centre of mass is 100 m from its frame, where joints are '
        'within 0.2 m of each other: not in mm?',
    ),
    'a small centre in mm': (
        5.0, 1e-5, 0.2, 'link rod: its centre of mass is 5 m from its frame, where joints are '
        'within 0.2 m of each other: not in mm?',
    ),
    'an inertia in kg mm^2': (
        0.1, 4e3, 0.2, 'link rod: its radius of gyration is 115.5 m, where joints are within 0.2 m '
        'of each other: not in kg mm^2?',
    ),
    'an inertia in g cm^2': (
        0.1, 4e4, 0.2, 'link rod: its radius of gyration is 365.1 m, where joints are within 0.2 m '
        'of each other: not in kg mm^2?',
    ),
    'a single joint': (100.0, 4e-3, 0.0, 'link rod: its centre of mass is 100 m from its frame: '
                       'not in mm?'),
    'all in mm but the joint': (100.0, 4e3, 0.2, 'link rod: its centre of mass is 100 m from its '
                                'frame, where joints are within 0.2 m of each other: not in mm?'),
    'a boom': (4.0, 1.6, 0.05, ''),
    'a gyroscope': (0.0, 0.02, 0.0, ''),
    'a large pendulum': (9.0, 0.0, 0.0, ''),
    'no moment': (0.1, 0.0, 0.2, ''),
}  # fmt: skip


@pytest.mark.parametrize('what', UNITS)
def test_bodies_that_are_too_large_for_their_robot(what: str) -> None:
    center, moment, height, told = UNITS[what]
    warnings = urdf.parse(ROD.format(center, height, i=moment), FILE).warnings
    assert warnings[:1] == ((told,) if told else ())


def test_a_limit_without_bounds_is_unlimited_with_a_warning() -> None:
    tree = urdf.parse(LADDER.replace('lower="0.1" upper="1.5" ', ''), FILE)
    assert (tree.joints[1].lower, tree.joints[1].upper) == (-np.inf, np.inf)
    assert tree.joints[1].velocity == 10.0
    assert tree.warnings == ('<limit> without lower and upper counts as unlimited: joint tilt',)
    assert urdf.parse(LADDER.replace('lower="0.1" ', ''), FILE).joints[1].lower == 0.0


def test_names_may_hold_anything() -> None:
    tree = urdf.parse(LADDER.replace('"rungs"', '"échelle/2 rungs"'), FILE)
    assert tree.joints[1].child == 'échelle/2 rungs' and tree.warnings == ()


def test_inertias_that_no_body_has_are_warned_about() -> None:
    (warning,) = urdf.parse(LADDER.replace('ixx="0.1"', 'ixx="1.6"'), FILE).warnings
    assert warning.startswith('link rungs: ') and '1.6 kg m^2' in warning
    assert urdf.parse(LADDER.replace('ixx="0.1"', 'ixx="1.55"'), FILE).warnings == ()


def test_a_shape_without_mass_is_warned_about() -> None:
    shape = '<visual><geometry><sphere radius="1"/></geometry></visual>'
    carried = LADDER.replace('<link name="head"/>', f'<link name="head">{shape}</link>')
    assert carried != LADDER and urdf.parse(carried, FILE).warnings == ()
    (warning,) = urdf.parse(carried.replace('"fixed"', '"continuous"'), FILE).warnings
    assert warning.startswith('link head has a shape but no <inertial>')


# XML


def test_broken_xml() -> None:
    assert 'no element found' in refused('</robot>', '').reason


def test_not_a_robot() -> None:
    with pytest.raises(DescriptionError, match='some.urdf: URDF: '):
        urdf.parse('<model/>', FILE)


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ('<mass value="9"/>', '<mass value="heavy"/>', "'heavy'"),
        ('<mass value="9"/>', '', 'mass'),
        ('ixx="0.1"', '', 'ixx'),
        (SLIDE_AXIS, '<axis xyz="1 0"/>', "slide: xyz '1 0' is not 3 numbers"),
        (SLIDE_AXIS, '<axis xyz="a 0 0"/>', "slide: xyz 'a 0 0' is not 3 numbers"),
        ('type="prismatic"', '', 'slide.*type'),
        ('type="prismatic"', 'type="sliding"', "slide.*'?sliding"),
        ('velocity="10" effort="0"', 'velocity="10"', 'tilt.*effort'),
        ('<parent link="foot"/>', '', 'tilt.*parent'),
        ('<link name="head"/>', '<link/>', 'link.*name'),
    ],
)
def test_elements_that_cannot_be_read(old: str, new: str, reason: str) -> None:

    assert re.search(reason, str(refused(old, new)))


@pytest.mark.parametrize(
    ('old', 'new', 'key', 'tag'),
    [
        ('<inertial>', '<inertail>', 'foot', "'inertial' meant"),
        (TILT_AXIS, '<axes xyz="0 0 1"/>', 'tilt', "'axis' meant"),
        ('<mass value="9"/>', '<mass value="9"/><masss value="1"/>', 'rungs', "'mass' meant"),
        (GROUND, GROUND + '<lnik name="a"/>', '', "'link' meant"),
    ],
)
def test_misspelt_elements_that_would_be_lost(old: str, new: str, key: str, tag: str) -> None:
    text = LADDER.replace(old, new)
    if old == '<inertial>':
        text = text.replace('</inertial>', '</inertail>')
    with pytest.raises(DescriptionError, match='unknown element') as caught:
        urdf.parse(text, FILE)
    assert key in caught.value.key and tag in caught.value.reason


# Joints


@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_unsupported_joint_types(kind: str) -> None:
    error = refused('type="prismatic"', f'type="{kind}"')
    assert error.key == 'joint slide'
    assert error.reason == f"type '{kind}' is not one of revolute, continuous, prismatic, fixed"


@pytest.mark.parametrize('axis', ['0 0 0', 'nan 0 0', '1e308 1e308 0'])
def test_an_axis_without_direction(axis: str) -> None:
    error = refused(SLIDE_AXIS, f'<axis xyz="{axis}"/>')
    assert error.key == 'joint slide' and 'has no direction' in error.reason


@pytest.mark.parametrize('origin', ['xyz="nan 0 0"', 'xyz="1 0 0" rpy="inf 0 0"'])
def test_an_origin_that_is_nowhere(origin: str) -> None:
    error = refused('<origin xyz="1 0 0"/>', f'<origin {origin}/>')
    assert (error.key, error.reason) == ('joint top', 'origin is not finite')


def test_what_is_out_of_this_world() -> None:
    error = refused('<origin xyz="1 0 0"/>', '<origin xyz="1 -1e308 0"/>')
    reason = 'origin is 1e+308 m away; at most 1e+06 m'
    assert (error.key, error.reason) == ('joint top', reason)
    error = refused('xyz="0.45 0.02 0"', 'xyz="0.45 0.02 2e6"')
    reason = 'centre of mass is 2e+06 m away; at most 1e+06 m'
    assert (error.key, error.reason) == ('link rungs', reason)


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ('lower="0.1"', 'lower="2.0"', 'lower 2.0 is not below upper 1.5'),
        ('lower="0.1"', 'lower="nan"', 'lower nan'),
        ('velocity="10"', 'velocity="-10"', 'velocity -10.0'),
        ('effort="0"', 'effort="nan"', 'effort nan'),
    ],
)
def test_impossible_limits(old: str, new: str, reason: str) -> None:
    error = refused(old, new)
    assert error.key == 'joint tilt' and reason in error.reason


@pytest.mark.parametrize(
    ('mimic', 'reason'),
    [
        ('joint="tilt"', "<mimic> of 'tilt': two moving joints are needed"),
        ('joint="top"', "<mimic> of 'top': two moving joints are needed"),
        ('joint="nowhere"', "<mimic> of 'nowhere': two moving joints are needed"),
        ('joint="slide" multiplier="inf"', 'multiplier inf or offset 0.0 is not finite'),
        ('joint="slide" multiplier="0"', 'multiplier 0.0 or offset 0.0 is not finite, or couples'),
        ('joint="slide" offset="nan"', 'multiplier 1.0 or offset nan is not finite'),
    ],
)
def test_mimics_that_couple_nothing(mimic: str, reason: str) -> None:
    error = refused(TILT_AXIS, f'{TILT_AXIS}<mimic {mimic}/>')
    assert error.key == 'joint tilt' and reason in error.reason


def test_losses_of_joints() -> None:
    text = LADDER.replace(TILT_AXIS, TILT_AXIS + '<dynamics damping="0.1" friction="0.2"/>')
    tilt = next(joint for joint in urdf.parse(text, FILE).joints if joint.name == 'tilt')
    assert (tilt.damping, tilt.friction) == (0.1, 0.2)
    error = refused(TILT_AXIS, TILT_AXIS + '<dynamics damping="-0.1"/>')
    assert error.key == 'joint tilt' and '<dynamics> damping -0.1' in error.reason


# Links


def test_a_negative_mass() -> None:
    error = refused('<mass value="9"/>', '<mass value="-9"/>')
    assert (error.key, error.reason) == ('link rungs', 'mass -9.0 kg is negative')


def test_a_negative_moment() -> None:
    error = refused('ixx="0.1"', 'ixx="-0.1"')
    assert error.key == 'link rungs' and '-0.1 kg m^2' in error.reason


@pytest.mark.parametrize(
    ('old', 'new', 'tag'),
    [
        ('<mass value="9"/>', '<mass value="nan"/>', 'mass'),
        ('ixx="0.1"', 'ixx="inf"', 'inertia'),
        ('xyz="0.45 0.02 0"', 'xyz="0.45 nan 0"', 'origin'),
    ],
)
def test_an_inertia_that_is_no_number(old: str, new: str, tag: str) -> None:
    error = refused(old, new)
    assert (error.key, error.reason) == (
        'link rungs', f'its <inertial> has a <{tag}> that is not finite'
    )  # fmt: skip


# The tree


def test_two_roots() -> None:
    error = refused(GROUND, f'{GROUND}<link name="alone"/>')
    assert error.reason == "a URDF has one root link, this one has ['ground', 'alone']"


def test_no_links_at_all(tmp_path: pathlib.Path) -> None:
    file = tmp_path / 'macro.urdf'
    file.write_text('<robot name="macro"/>', encoding='utf-8')
    with pytest.raises(DescriptionError, match='it has no link: is it a part that others include'):
        import_description(file)


def test_a_link_that_is_not_there() -> None:
    error = refused('<parent link="foot"/>', '<parent link="feet"/>')
    assert (error.key, error.reason) == ('joint tilt', "link 'feet' does not exist")


def test_a_child_of_two_parents() -> None:
    second = '<joint name="again" type="fixed"><parent link="ground"/><child link="head"/></joint>'
    error = refused('</robot>', f'{second}</robot>')
    assert error.key in ('joint top', 'joint again') and 'another parent' in error.reason


def test_a_ring_of_links() -> None:
    error = refused('<parent link="ground"/>', '<parent link="head"/>')
    assert error.key == 'joint slide' and "not connected to the root link 'ground'" in error.reason
    assert 'in a ring, foot on head on rungs on foot; leave' in error.reason


@pytest.mark.parametrize(
    ('old', 'new', 'key'),
    [
        ('<link name="head"/>', '<link name="head"/><link name="head"/>', 'link head'),
        ('<joint name="top"', '<joint name="tilt"', 'joint tilt'),
    ],
)
def test_names_twice(old: str, new: str, key: str) -> None:
    error = refused(old, new)
    assert (error.key, error.reason) == (key, 'appears twice')


@pytest.mark.parametrize('name', ['', ' '])
def test_names_must_be_said(name: str) -> None:
    assert refused('<joint name="top"', f'<joint name="{name}"').reason == 'has no name'
    assert refused('<link name="head"/>', f'<link name="{name}"/>').reason == 'has no name'


MASS = '<mass value="9"/>'


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ('<inertial>', '<inertial><mass value="1"/></inertial><inertial>', '<inertial> appears'),
        (MASS, MASS + '<mass value="1"/>', '<mass> appears twice'),
        (TILT_AXIS, TILT_AXIS + '<axis xyz="0 1 0"/>', '<axis> appears twice'),
        (TILT_AXIS, '<axis/>', '<axis> has no xyz="..."'),
        (MASS, '<mass>9</mass>', '<mass> has no value="..."'),
        (MASS, '<mass value="9 kg"/>', "<mass> '9 kg' is not a number"),
        (MASS, '<mass value="9_0"/>', "value of <mass> '9_0' is not a number"),
        (MASS, '<mass value="9" units="g"/>', 'units of <mass> is not one of value'),
        (
            TILT_AXIS,
            TILT_AXIS + '<limit lower="-1" uper="1" effort="1" velocity="1"/>',
            'uper of <limit> is not one of effort, lower, upper, velocity',
        ),
        ('<parent link="foot"/>', '<parent>foot</parent>', '<parent> has no link="..."'),
    ],
)
def test_elements_of_which_one_must_say_something(old: str, new: str, reason: str) -> None:
    """Of two, the parser takes one without a word; where an attribute lacks, it says not where."""
    error = refused(old, new)
    assert error.key.split()[1] in ('rungs', 'foot', 'tilt')
    assert error.reason.startswith(reason)


# Files and xacro


def expand(folder: pathlib.Path, text: str, name: str = 'edited.urdf.xacro') -> str:
    file = folder / name
    file.write_text(text, encoding='utf-8')
    return urdf.expansion(file, {})[0]


def test_xacro_is_expanded(tmp_path: pathlib.Path) -> None:
    tree = urdf.parse(expand(tmp_path, FIVE_BAR), FILE)
    assert [j.name for j in tree.joints if j.type == 'revolute'] == ['motor_1', 'motor_2']
    assert tree.links['rod_1'].mass == 0.25


@pytest.mark.parametrize(
    ('old', 'new', 'reason'),
    [
        ('${side * 0.1}', '${sid * 0.1}', "'sid' is not defined"),
        ('<xacro:leg number="1"', '<xacro:arm number="1"', 'unknown macro name: xacro:arm'),
        ('${side * 0.1}', '${side / 0}', 'division by zero'),
        (GROUND, f'{GROUND}<xacro:include filename="absent.xacro"/>', 'absent.xacro'),
        ('</robot>', '', 'xacro: '),
    ],
)
def test_xacro_errors(tmp_path: pathlib.Path, old: str, new: str, reason: str) -> None:
    assert old in FIVE_BAR
    with pytest.raises(DescriptionError, match='edited.urdf.xacro: xacro: ') as caught:
        expand(tmp_path, FIVE_BAR.replace(old, new))
    assert reason in str(caught.value)


@pytest.mark.parametrize('suffix', ['urdf', 'urdf.xacro'])
def test_a_namespace_without_prefix_changes_nothing(tmp_path: pathlib.Path, suffix: str) -> None:
    """As in Drake's files."""
    spaced = LADDER.replace('<robot ', "<robot xmlns='http://drake.mit.edu' ", 1)
    text = expand(tmp_path, spaced, f'a.{suffix}')
    assert len(urdf.parse(text, FILE).joints) == len(urdf.parse(LADDER, FILE).joints)


def test_xacro_under_another_name(tmp_path: pathlib.Path) -> None:
    text = expand(tmp_path, FIVE_BAR, 'five_bar.urdf')
    with pytest.raises(DescriptionError, match='xacro elements, but its name'):
        urdf.parse(text, tmp_path / 'five_bar.urdf')


def test_files_that_cannot_be_read(tmp_path: pathlib.Path) -> None:
    with pytest.raises(DescriptionError, match='absent.urdf: No such file'):
        urdf.expansion(tmp_path / 'absent.urdf', {})
    with pytest.raises(DescriptionError, match='Is a directory'):
        urdf.expansion(tmp_path, {})
    (tmp_path / 'bytes.urdf').write_bytes(b'\xff\xfe')
    with pytest.raises(DescriptionError, match='bytes.urdf: not UTF-8 text'):
        urdf.expansion(tmp_path / 'bytes.urdf', {})


def test_a_limit_too_large_to_be_one_is_none() -> None:
    tree = urdf.parse(LADDER.replace('lower="0.1" upper="1.5"', 'lower="-1e9" upper="1e16"'), FILE)
    assert (tree.joints[1].lower, tree.joints[1].upper) == (-np.inf, np.inf)
