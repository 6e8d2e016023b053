# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""check: prints what a description says, or what is wrong with it."""

import pathlib
import re
import shutil

import linkages
import pytest
from linkages import Part, frame

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.workspace_map import WorkspaceSurveyor
from masticator_dynamics.files.share import share_directory


@pytest.fixture
def copy(tmp_path) -> pathlib.Path:
    """A copy of the masticator's files, to be edited."""
    for folder in ('config', 'urdf'):
        shutil.copytree(share_directory() / folder, tmp_path / folder)
    return tmp_path / 'config/mechanisms/masticator.yaml'


def lines(answer):
    """Lines of the output with single spaces."""
    return [re.sub(' +', ' ', line.strip()) for line in answer.out.splitlines()]


def test_the_masticator(run) -> None:
    answer = run('check', 'masticator')
    assert (answer.status, answer.err) == (0, '')
    found = lines(answer)
    assert found[0] == 'masticator'
    for line in (
        'independent 4 x y alpha beta',
        'actuated 6 crank_1 crank_2 crank_3 crank_4 crank_5 crank_6',
        'actuation rank 4 of 4: redundantly actuated, by 2',
        'crank_1 [-1.7, 1.7] rad 40 rad/s 5 N m',
        'condyle_left y [0.069, 0.075] m',
    ):
        assert line in found
    assert any(line.startswith('tree 24 x y ') for line in found)
    assert any(line.startswith('mandible 0.34022 kg ') for line in found)
    gaps = [line.split()[2] for line in found if line.split()[:1] in (['closure'], ['contact'])]
    assert len(gaps) == 8
    assert max(map(float, gaps)) < 1e-6
    numbers = [line.split()[-1] for line in found if line.startswith('condition number')]
    assert len(numbers) == 2
    assert min(map(float, numbers)) >= 1.0


@pytest.mark.parametrize('name', ['masticator', 'rcid', 'trimule'])
def test_conditioning_is_that_of_the_workspace(run, name) -> None:
    """One number under one name, though coordinates turn and slide."""
    mechanism = Mechanism.load(name)
    survey = WorkspaceSurveyor(mechanism).survey(mechanism.home.y[None])
    found = lines(run('check', name))
    for what, value in (
        ('actuation', survey.condition_actuation),
        ('loops', survey.condition_loops),
    ):
        assert f'condition number of {what} {value[0]:.4g}' in found


@pytest.mark.parametrize('name', ['rss6', 'rcid'])
def test_fully_actuated_mechanisms(run, name) -> None:
    answer = run('check', name)
    assert answer.status == 0
    assert 'actuation rank 6 of 6: fully actuated' in lines(answer)


def test_friction_rotors_and_springs_are_shown_in_their_units(run, tmp_path) -> None:
    """What identify writes is seen; what is not there is not listed."""
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    body = f'<inertial><mass value="1"/>{inertia}</inertial>'
    urdf = f"""<robot name="arm">
      <link name="base"/><link name="arm">{body}</link><link name="hand">{body}</link>
      <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/>
        <dynamics damping="0.25" friction="0.5"/></joint>
      <joint name="slide" type="prismatic"><parent link="arm"/><child link="hand"/>
        <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
    (tmp_path / 'arm.urdf').write_text(urdf)
    (tmp_path / 'arm.yaml').write_text(
        'schema: 1\nname: arm\nurdf: arm.urdf\nbase: base\nplatform: hand\n'
        'independent: [turn, slide]\nactuated: [turn, slide]\n'
        'actuators: {turn: {rotor_inertia: 0.002}}\n'
        'joints: {slide: {stiffness: 7.0, damping: 3.0}, turn: {transition_velocity: 0.05}}\n'
    )
    found = lines(run('check', tmp_path / 'arm.yaml'))
    at = found.index('Friction, rotors and springs')
    assert sorted(found[at + 1 : at + 3]) == [
        'slide damping 3 N s/m, stiffness 7 N/m',
        'turn damping 0.25 N m s/rad, friction 0.5 N m, rotor_inertia 0.002 kg m^2, '
        'transition_velocity 0.05 rad/s',
    ]
    assert found[at + 3] == '' and 'Friction, rotors and springs' not in lines(run('check', 'rcid'))


def test_under_actuated_mechanisms(run, copy) -> None:
    text = copy.read_text()
    text = re.sub(r'actuated: \[.*\]', 'actuated: [crank_1, crank_2, crank_3]', text)
    copy.write_text(re.sub(r'  crank_[456]: .*\n( {12}.*\n)*', '', text))
    answer = run('check', copy)
    assert answer.status == 0
    assert 'actuation rank 3 of 4: under-actuated, by 1' in lines(answer)


def test_gaps_are_those_of_the_file_not_of_the_refined_home(run, copy) -> None:
    copy.write_text(copy.read_text() + '\nhome: {crank_3: 1.0e-5}\n')  # a crank of 15 mm
    found = lines(run('check', copy))
    gap = next(line.split()[2] for line in found if line.startswith('closure limb_3'))
    assert 1e-5 < float(gap) < 1.6e-4


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('offset: -0.013215', 'offset: -0.014', 'off its plane at home'),
        ('condyle_left, type', 'condyle_left, typ', 'not YAML'),
        ('mandible_joint_3', 'mandible_joint_9', "'mandible_joint_9' does not exist"),
        ('gravity: [', 'gravty: [', 'gravty'),
        ('platform: mandible', '', 'platform'),
        ('independent: [x, y, alpha, beta]', 'independent: [x, y]', 'constraint equations for'),
        ('masticator.urdf.xacro', 'none.urdf.xacro', 'none.urdf.xacro'),
        ('schema: 1', 'schema: [', 'not YAML'),
    ],
)
def test_broken_descriptions_are_refused_in_one_line(run, copy, old, new, message) -> None:
    text = copy.read_text()
    assert old in text or message == 'not YAML'
    copy.write_text(text.replace(old, new) if old in text else text + '\n: [')
    answer = run('check', copy)
    assert answer.status == 2
    assert answer.out == ''
    assert answer.err.startswith('masticator: error: ')
    assert message in answer.err
    assert answer.err.count('\n') == 1


@pytest.mark.parametrize(
    'spoil', [lambda text: text[:2000], lambda text: text.replace('<robot', '<robt')]
)
def test_a_broken_urdf_is_refused_in_one_line(run, copy, spoil) -> None:
    file = copy.parents[2] / 'urdf/masticator.urdf.xacro'
    file.write_text(spoil(file.read_text()))
    answer = run('check', copy)
    assert answer.status == 2
    assert file.name in answer.err
    assert answer.err.count('\n') == 1


def test_unknown_mechanisms_are_refused_naming_the_shipped(run, tmp_path) -> None:
    answer = run('check', 'jaw')
    assert answer.status == 2
    assert 'masticator, rcid' in answer.err
    answer = run('check', tmp_path / 'none.yaml')
    assert answer.status == 2
    assert 'none.yaml: No such file' in answer.err


def arm(folder: pathlib.Path, mass: float, **keys: object) -> pathlib.Path:
    """Two driven joints in series; only the second link may have mass."""
    parts = [Part('one', 'base'), Part('two', 'one', (0.3, 0.0, 0.0), mass=mass)]
    joints = [part.joint for part in parts]
    return linkages.write(
        folder, parts, base='base', platform='two', independent=joints, actuated=joints, **keys
    )


def test_driven_chains_without_mass_are_told(run, tmp_path) -> None:
    answer = run('check', arm(tmp_path, 0.0))
    assert answer.status == 0
    assert 'joints one_joint, two_joint can move without moving any mass' in answer.err
    motors = {'one_joint': {'rotor_inertia': 1e-5}, 'two_joint': {'rotor_inertia': 1e-7}}
    assert run('check', arm(tmp_path, 0.0, actuators=motors)).err == ''
    assert run('check', arm(tmp_path, 1.0)).err == ''


def test_a_crank_without_mass_is_felt_by_what_its_loop_moves(run, tmp_path) -> None:
    """A parallelogram in which only the rocker has mass, and one without mass."""
    for mass in (1.0, 0.0):
        parts = [
            Part('crank', 'base'), Part('rod', 'crank', (0.1, 0.0, 0.0)),
            frame('tip', 'rod', (0.4, 0.0, 0.0)),
            Part('rocker', 'base', (0.4, 0.0, 0.0), mass=mass),
            frame('seat', 'rocker', (0.1, 0.0, 0.0)),
        ]  # fmt: skip
        driven = {'independent': ['crank_joint'], 'actuated': ['crank_joint']}
        home = {'crank_joint': 1.0, 'rod_joint': -1.0, 'rocker_joint': 1.0}
        loop = {'name': 'loop', 'frames': ['tip', 'seat']}
        file = linkages.write(
            tmp_path, parts, base='base', platform='rod', home=home, closures=[loop], **driven
        )
        told = run('check', file).err
        assert ('can move without moving any mass' in told) == (mass == 0.0)
    for part in ('crank', 'rod', 'rocker'):
        assert f'{part}_joint' in told


def test_meshes_that_are_not_there_are_told(run, tmp_path) -> None:
    file = arm(tmp_path, 1.0)
    urdf = next(tmp_path.glob('*.urdf'))
    mesh = '<visual><geometry><mesh filename="lost.stl"/></geometry></visual>'
    text = urdf.read_text().replace('<link name="two">', f'<link name="two">{mesh}{mesh}')
    urdf.write_text(text)
    answer = run('check', file)
    assert answer.status == 0
    told = "link two, visual 1: the mesh 'lost.stl' is not there; it is not shown, and 1 more"
    assert told in answer.err


def test_a_misspelt_key_is_answered_with_the_nearest(run, copy) -> None:
    copy.write_text(copy.read_text().replace('gravity:', 'gravty:'))
    answer = run('check', copy)
    assert answer.status == 2 and "gravty: unknown key; is 'gravity' meant?" in answer.err


def test_a_misspelt_command_is_answered_with_the_nearest(run) -> None:
    answer = run('inverse-dynamic', 'masticator')
    assert answer.status == 2 and "; is 'inverse-dynamics' meant?" in answer.err
    answer = run('nothing-like-it')
    assert answer.status == 2 and 'mean' not in answer.err


def test_a_misspelt_path_is_answered_with_the_nearest_beside_it(run, copy) -> None:
    wrong = copy.with_name(copy.name.replace('m', 'n', 1))
    answer = run('check', wrong)
    assert answer.status == 2
    assert f'{wrong}: No such file or directory; is {str(copy)!r} meant?' in answer.err
    answer = run('demo', '--incisor', wrong)
    assert answer.status == 2 and f'does not exist; is {str(copy)!r} meant?' in answer.err
    copy.write_text(copy.read_text().replace('urdf: ', 'urdf: no'))
    answer = run('check', copy)
    assert answer.status == 2 and 'No such file' in answer.err and 'meant' not in answer.err
    answer = run('check', copy.with_name('else.yaml'))
    assert answer.status == 2 and 'meant' not in answer.err
