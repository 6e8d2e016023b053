# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""import: writes two files, or one line of error and no file."""

from __future__ import annotations

import builtins
import pathlib
import re
from typing import Any

import pytest
import yaml
from interchange import five_bars

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main

ISAAC = five_bars.DIALECTS['isaac']
CLOSED = five_bars.urdf(ISAAC + five_bars.TRANSMISSIONS)


def test_a_folder_with_two_files(run, tmp_path: pathlib.Path) -> None:
    (tmp_path / 'robot.urdf').write_text(CLOSED)
    answer = run('import', tmp_path / 'robot.urdf', '--output', tmp_path / 'made' / 'mine')
    assert (answer.status, answer.err) == (0, '')
    assert "platform: 'effector'" in answer.out
    folder = tmp_path / 'made' / 'mine'
    assert sorted(file.name for file in folder.iterdir()) == ['mine.urdf', 'mine.yaml']
    content = yaml.safe_load((folder / 'mine.yaml').read_text())
    assert (content['name'], content['urdf']) == ('mine', 'mine.urdf')
    assert content['actuated'] == ['motor_1', 'motor_2']
    answer = run('check', folder / 'mine.yaml')
    assert answer.status == 0 and 'actuation rank                 2 of 2' in answer.out
    made = Mechanism.load(str(folder / 'mine.yaml'))
    direct = Mechanism.load(str(tmp_path / 'robot.urdf'))
    assert (
        made.feedforward([0.1, -0.2]).actuated == direct.feedforward([0.1, -0.2]).actuated
    ).all()


@pytest.mark.parametrize('ending', ['yaml', 'urdf'])
def test_what_was_there_is_kept_if_it_was_another(run, tmp_path: pathlib.Path, ending) -> None:
    """Somebody may have changed it; other files of the folder stand in nobody's way."""
    (tmp_path / 'robot.urdf').write_text(CLOSED)
    folder = tmp_path / 'mine'
    folder.mkdir()
    (folder / 'notes.txt').write_text('mine')
    file = folder / f'mine.{ending}'
    file.write_text('changed by hand')
    words = ['import', tmp_path / 'robot.urdf', '--output', folder]
    answer = run(*words)
    assert answer.status == 0
    assert f'- mine.{ending} was there and was another: it is kept as mine.{ending}~' in answer.out
    names = ['mine.urdf', 'mine.yaml', f'mine.{ending}~', 'notes.txt']
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert (folder / f'mine.{ending}~').read_text() == 'changed by hand'
    again = run(*words)  # the same: nothing is lost
    assert again.status == 0 and 'was another' not in again.out
    assert (folder / f'mine.{ending}~').read_text() == 'changed by hand'


def test_choices_of_the_user(run, tmp_path: pathlib.Path) -> None:
    (tmp_path / 'robot.urdf').write_text(CLOSED)
    out = tmp_path / 'mine'
    answer = run(
        'import', tmp_path / 'robot.urdf', '--output', out, '--platform', 'rod_2',
        '--actuated', 'motor_2', '--independent', 'motor_2', '--lock', 'motor_1',
    )  # fmt: skip
    assert answer.status == 0, answer.err
    assert 'joint motor_1 is held at 0 rad: as asked' in answer.out
    content = yaml.safe_load((out / 'mine.yaml').read_text())
    assert (content['platform'], content['actuated']) == ('rod_2', ['motor_2'])


def test_arguments_of_xacro(run, tmp_path: pathlib.Path) -> None:
    text = CLOSED.replace('<robot', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"', 1)
    text = text.replace('<link', '<xacro:arg name="mass" default="0.5"/><link', 1)
    text = re.sub(r'<mass value="0.5"/>', '<mass value="$(arg mass)"/>', text)
    (tmp_path / 'robot.xacro').write_text(text)
    command = ('import', tmp_path / 'robot.xacro', '--output', tmp_path / 'mine', '--argument')
    assert run(*command, 'mass=2.5').status == 0
    assert 'value="2.5"' in (tmp_path / 'mine' / 'mine.urdf').read_text()
    answer = run(*command, 'mass')
    assert answer.status == 2 and "'mass' is not NAME=VALUE" in answer.err


def test_packages_that_are_not_there(run, tmp_path: pathlib.Path, monkeypatch) -> None:
    """Without ROS, and with one whose workspaces do not have the package."""
    xmlns = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    include = '<xacro:include filename="$(find my_robot)/urdf/arm.xacro"/>'
    file = tmp_path / 'robot.urdf.xacro'
    file.write_text(f'<robot name="a" {xmlns}>{include}<link name="base"/></robot>')
    for prefix in (None, str(tmp_path)):
        if prefix is None:
            monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
        else:
            monkeypatch.setenv('AMENT_PREFIX_PATH', prefix)
        answer = run('import', file, '--output', tmp_path / 'mine')
        assert answer.status == 2 and len(answer.err.splitlines()) == 1
        assert '$(find my_robot) is looked for in ROS workspaces' in answer.err
        assert 'source the setup.bash' in answer.err and 'AMENT' not in answer.err


def test_limits_that_nobody_filled_in(run, tmp_path: pathlib.Path) -> None:
    """All 0, as sw2urdf writes them: said with joints, by import, check and --limits."""
    limits, zero = '<limit effort="15" velocity="20"/>', '<limit {}effort="0" velocity="0"/>'
    assert CLOSED.count(limits) == 4
    zeros = CLOSED.replace(limits, zero.format('lower="0" upper="0" '))
    (tmp_path / 'robot.urdf').write_text(zeros)
    told = '<limit> of joints motor_1, elbow_1, motor_2, elbow_2 is all 0'
    made = run('import', tmp_path / 'robot.urdf', '--output', tmp_path / 'mine')
    assert made.status == 0 and told in made.out
    checked = run('check', tmp_path / 'mine' / 'mine.yaml')
    assert checked.status == 0 and f'mine.urdf: {told}' in checked.err
    rows = ''.join(f'{0.1 * k},0,0\n' for k in range(4))
    (tmp_path / 'motion.csv').write_text(f'time,motor_1,motor_2\n{rows}')
    command = ('inverse-dynamics', '--motion', tmp_path / 'motion.csv', '--limits',
               '--output', tmp_path / 'out.csv')  # fmt: skip
    refused = run(*command, tmp_path / 'mine' / 'mine.yaml')
    assert refused.status == 2 and 'mine.urdf: joint motor_1, motor_2: the highest' in refused.err
    # One motor of which that is true; ranges left open are another thing.
    (tmp_path / 'robot.urdf').write_text(CLOSED.replace(limits, zero.format(''), 1))
    quiet = run('import', tmp_path / 'robot.urdf', '--output', tmp_path / 'other')
    assert quiet.status == 0 and 'is all 0' not in quiet.out
    refused = run(*command, tmp_path / 'other' / 'other.yaml')
    assert refused.status == 2 and 'other.urdf: joint motor_1: the highest' in refused.err
    # What the message proposes.
    unlimited = zeros.replace('="0" velocity="0"', '="inf" velocity="inf"')
    unlimited = unlimited.replace('lower="0" upper="0"', 'lower="-inf" upper="inf"')
    (tmp_path / 'robot.urdf').write_text(unlimited)
    answer = run('import', tmp_path / 'robot.urdf', '--output', tmp_path / 'third')
    assert answer.status == 0 and 'is all 0' not in answer.out
    assert run(*command, tmp_path / 'third' / 'third.yaml').status == 0


DEEP = '<robot name="a">' + 5000 * '<link name="b">' + 5000 * '</link>' + '</robot>'
SDF, MJCF = five_bars.sdf(), five_bars.mjcf()
ROD_2 = '<child link="rod_2"/><origin'


@pytest.mark.parametrize(
    ('name', 'text', 'reason'),
    [
        ('a.urdf', SDF, 'its root element is <sdf>, not <robot>'),
        ('a.urdf', CLOSED[:-60], 'not XML'),
        (
            'a.urdf',
            CLOSED.replace('link="rod_2" xyz', 'link="rod_3" xyz'),
            "'rod_3' does not exist",
        ),
        ('a.urdf', CLOSED.replace('link1 link="rod_2"', 'link3 link="rod_2"'), 'name two links'),
        ('a.urdf', CLOSED.replace('"spherical"', '"sphercal"'), "its type is 'sphercal'"),
        ('a.urdf', CLOSED.replace('xyz="0.22 0.165', 'xyz="5 0.165'), 'loop by'),
        ('a.urdf', CLOSED.replace('<parent link="ground"/>', '<parent link="rod_1"/>'), 'root'),
        ('a.urdf', CLOSED.replace('</robot>', '<link name="b"/></robot>'), 'one root link'),
        ('a.urdf', CLOSED.replace('xyz="0 0 1"', 'xyz="0 0 0"'), 'has no direction'),
        ('a.urdf', CLOSED.replace('<mass', '<mas', 1), "is 'mass' meant"),
        (
            'a.urdf',
            CLOSED.replace(ROD_2, f'<mimic joint="elbow_9"/>{ROD_2}'),
            "<mimic> of 'elbow_9': two moving joints are needed",
        ),
        ('a.sdf', CLOSED, 'its root element is <robot>, not <sdf>'),
        ('a.sdf', SDF[:-60], 'not XML'),
        ('a.sdf', SDF.replace('"1.7"', '"1.2"'), "SDF version '1.2' is not one of 1.3 to"),
        ('a.sdf', SDF.replace('<parent>rod_1', '<parent>rod_7'), "link 'rod_7' does not exist"),
        ('a.sdf', SDF.replace('"fixed"', '"gearbox"'), "its type is 'gearbox'"),
        (
            'a.sdf',
            SDF.replace('"fixed"', '"screw"'),
            "its type is 'screw', which needs 1 axes; it has 0",
        ),
        ('a.sdf', SDF.replace('<mass>0.5', '<mass>heavy'), "'heavy' is not a finite number"),
        ('a.sdf', SDF.replace('world</parent>', 'rod_1</parent>'), 'no freedom'),
        ('a.sdf', SDF.replace('</model>', '<link name="b"/></model>'), 'no joint connects it to'),
        ('a.sdf', '<sdf version="1.7"/>', 'it has no <model>'),
        ('a.sdf', SDF.replace('<pose>-0.1 ', '<pose>1e308 '), 'cannot be used: SVD did not'),
        ('a.urdf', DEEP, 'cannot be used: maximum recursion depth exceeded'),
        ('a.xml', MJCF[:-60], 'MuJoCo'),
        ('a.xml', '<scene/>', 'its root element is <scene>, none of <robot>'),
        ('a.xml', MJCF.replace('body2="rod_2"', 'body2="rod_7"'), 'rod_7'),
        ('a.yaml', 'closed_loop: [[a, b]\n', 'not YAML'),
        ('a.yaml', 'closed_loops: []\n', "is 'closed_loop' meant"),
        ('a.yaml', 'closed_loop: []\n', 'no URDF file'),
        ('a.stl', 'solid', 'is no URDF, xacro, MJCF, SDF or YAML'),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    run, tmp_path: pathlib.Path, name: str, text: str, reason: str
) -> None:
    if name.endswith('.xml'):
        pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    (tmp_path / name).write_text(text)
    answer = run('import', tmp_path / name, '--output', tmp_path / 'made')
    assert answer.status == 2 and answer.out == ''
    (line,) = answer.err.splitlines()
    assert reason in line and name in line
    assert not (tmp_path / 'made').exists()


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (('--actuated', 'motor_3'), "moving joint 'motor_3' does not exist; is 'motor_"),
        (('--lock', 'x'), "moving joint 'x' does not exist; there are: "),
        (('--platform', 'tool'), "link 'tool' does not exist"),
    ],
)
def test_bad_choices(run, tmp_path: pathlib.Path, words: tuple[str, ...], reason: str) -> None:
    (tmp_path / 'robot.urdf').write_text(CLOSED)
    answer = run('import', tmp_path / 'robot.urdf', '--output', tmp_path / 'made', *words)
    assert answer.status == 2 and reason in answer.err and not (tmp_path / 'made').exists()


def test_missing_meshes_are_left_out(run, tmp_path: pathlib.Path) -> None:
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    mesh = MJCF.replace('<worldbody>', '<asset><mesh name="m" file="m.stl"/></asset><worldbody>')
    mesh = mesh.replace(
        '<joint name="motor_1"', '<geom type="mesh" mesh="m"/><joint name="motor_1"'
    )
    (tmp_path / 'a.xml').write_text(mesh)
    answer = run('import', tmp_path / 'a.xml', '--output', tmp_path / 'made')
    assert (answer.status, answer.err) == (0, '')
    assert 'meshes that are not there are left out' in answer.out


def test_what_mujoco_warns_of_is_a_note(tmp_path: pathlib.Path, monkeypatch, capfd) -> None:
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    monkeypatch.chdir(tmp_path)
    plate = '<site name="s" size="NaN"/><joint name="motor_1"'
    (tmp_path / 'a.xml').write_text(MJCF.replace('<joint name="motor_1"', plate))
    status = main(['import', 'a.xml', '--output', 'made'])
    said = capfd.readouterr()
    assert (status, said.err) == (0, '') and "- MuJoCo: XML contains a 'NaN'" in said.out
    assert not (tmp_path / 'MUJOCO_LOG.TXT').exists()


def test_what_mujoco_warns_of_later_is_said_as_ours(
    tmp_path: pathlib.Path, monkeypatch, capfd
) -> None:
    """Once the file is read, poses are computed, which warns of what is out of all proportion."""
    pytest.importorskip('mujoco', reason='reading MJCF needs MuJoCo')
    monkeypatch.chdir(tmp_path)
    far, small = 'pos="1e9 0.08 0" mass="0.3"', 'diaginertia="1e-14 1e-14 1e-14"'
    text = re.sub(r'(<inertial )pos="[^"]*" mass="[^"]*"', rf'\1{far}', MJCF, count=1)
    (tmp_path / 'a.xml').write_text(re.sub(r'diaginertia="[^"]*"', small, text))
    assert main(['import', 'a.xml', '--output', 'made']) == 2
    lines = capfd.readouterr().err.splitlines()
    assert 'centre of mass is 1e+09 m away' in lines[-1]
    assert all(line.startswith('masticator: ') for line in lines), lines
    assert not (tmp_path / 'MUJOCO_LOG.TXT').exists()


def test_without_mujoco(run, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def none_of_it(name: str, *rest: Any) -> Any:
        if name == 'mujoco':
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, '__import__', none_of_it)
    (tmp_path / 'a.xml').write_text(MJCF)
    answer = run('import', tmp_path / 'a.xml', '--output', tmp_path / 'made')
    assert answer.status == 2 and "pip install '.[import]' in a checkout" in answer.err


def test_axes_that_lean_are_named(run, tmp_path: pathlib.Path) -> None:
    """A planar loop whose axes are not quite parallel has too many equations."""
    leaning = CLOSED.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0.001 1"/>', 1)
    (tmp_path / 'robot.urdf').write_text(leaning)
    answer = run('import', tmp_path / 'robot.urdf', '--output', tmp_path / 'mine')
    assert answer.status == 2
    assert 'axes of motor_1 and elbow_1 are 0.001 rad off being parallel' in answer.err


def test_what_is_wrong_with_a_limit_is_no_matter_of_coordinates(
    run, tmp_path: pathlib.Path
) -> None:
    limit = '</xyz><limit><lower>2</lower><upper>1</upper></limit>'
    (tmp_path / 'a.sdf').write_text(SDF.replace('</xyz>', limit, 1))
    answer = run('import', tmp_path / 'a.sdf', '--output', tmp_path / 'mine')
    assert 'limit lower 2.0 is not below upper 1.0' in answer.err
    assert '--independent' not in answer.err


def test_a_choice_that_leaves_joints_open(run, tmp_path: pathlib.Path) -> None:
    """The file that is named is the one that is there."""
    (tmp_path / 'robot.urdf').write_text(CLOSED)
    answer = run(
        'import', tmp_path / 'robot.urdf', '--output', tmp_path / 'mine', '--independent', 'motor_1'
    )
    assert answer.status == 2 and len(answer.err.splitlines()) == 1
    assert 'robot.urdf: closures, contacts, independent: the description made of it' in answer.err
    assert '2 constraint equations for 3 dependent joints' in answer.err
    assert not (tmp_path / 'mine').exists()
