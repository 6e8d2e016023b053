# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""import --recording: joints that do not move in a recording are held where they are in it."""

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main

NAMES = 'turn', 'lift', 'tilt', 'thumb', 'finger'


@pytest.fixture
def arm(tmp_path):
    """Five joints in a row, turning about x, y, z in turn; the finger follows the thumb."""
    parts, above = ['<link name="base"/>'], 'base'
    for k, name in enumerate(NAMES):
        axis = ' '.join('1' if i == k % 3 else '0' for i in range(3))
        mimic = '<mimic joint="thumb" multiplier="-1"/>' if name == 'finger' else ''
        parts.append(
            f'<link name="l_{name}"><inertial><origin xyz="0.1 0.02 0"/><mass value="1"/><inertia '
            'ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="revolute"><parent link="{above}"/><child link="l_{name}"/>'
            f'<origin xyz="0.3 0 0"/><axis xyz="{axis}"/>{mimic}'
            '<limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
        )
        above = f'l_{name}'
    file = tmp_path / 'arm.urdf'
    file.write_text(f'<robot name="arm">{"".join(parts)}</robot>', encoding='utf-8')
    return file


def recording(folder, **moved):
    """A CSV file of joints that swing by some amplitude about a position."""
    time = np.linspace(0.0, 2.0, 50)
    rows = [time, *(at + size * np.sin(3.0 * time) for at, size in moved.values())]
    header = ','.join(['time', *(f'position_{name}' for name in moved)])
    file = folder / 'run.csv'
    np.savetxt(file, np.column_stack(rows), delimiter=',', header=header, comments='')
    return file


def imported(arm, log, *more):
    folder = arm.parent / 'made'
    status = main(['import', str(arm), '--output', str(folder), '--recording', str(log), *more])
    return status, folder / 'made.yaml'


def test_joints_that_rest_or_are_not_there_are_held(arm, tmp_path, capsys) -> None:
    log = recording(tmp_path, turn=(0.0, 0.5), lift=(0.7, 1e-5), tilt=(0.2, 0.3))
    status, file = imported(arm, log)
    said = capsys.readouterr().out
    assert status == 0
    assert 'joint lift is held at 0.7' in said
    assert 'rad: it rests in the recording' in said
    assert 'joint thumb is held at 0 rad: it is not in the recording' in said
    assert 'joint finger is held by coupling' in said
    mechanism = Mechanism.load(file)
    assert mechanism.actuated == ('turn', 'tilt')
    # The same weights hang on the motors as on those of the whole arm, held there.
    assert main(['import', str(arm), '--output', str(tmp_path / 'whole')]) == 0
    whole = Mechanism.load(tmp_path / 'whole' / 'whole.yaml')
    y = {'turn': 0.3, 'lift': 0.7, 'tilt': -0.4, 'thumb': 0.0}
    efforts = dict(
        zip(whole.actuated, whole.feedforward([y[n] for n in whole.independent]).actuated,
            strict=True)
    )  # fmt: skip
    mine = mechanism.feedforward([y[n] for n in mechanism.independent]).actuated
    assert mine == pytest.approx([efforts['turn'], efforts['tilt']], abs=1e-4)


def test_a_joint_that_another_follows_moves_both(arm, tmp_path) -> None:
    status, file = imported(arm, recording(tmp_path, turn=(0.0, 0.5), thumb=(0.0, 0.5)))
    assert status == 0
    assert {'thumb', 'finger'} <= {*Mechanism.load(file).tree_joints}


def test_columns_called_as_joints_are(arm, tmp_path) -> None:
    log = recording(tmp_path, turn=(0.0, 0.5), tilt=(0.0, 0.5))
    log.write_text(log.read_text(encoding='utf-8').replace('position_', ''), encoding='utf-8')
    status, file = imported(arm, log)
    assert status == 0
    assert Mechanism.load(file).actuated == ('turn', 'tilt')


def test_names_of_the_recording(arm, tmp_path, capsys) -> None:
    log = recording(tmp_path, a=(0.0, 0.5))
    status, file = imported(arm, log)
    said = capsys.readouterr().err
    assert status == 2
    assert 'no joint of it moves there' in said and 'recorded are a' in said
    status, file = imported(arm, log, '--joints', 'tilt=a')
    assert status == 0
    assert Mechanism.load(file).actuated == ('tilt',)


def test_robots_with_loops_are_refused(tmp_path, capsys) -> None:
    log = recording(tmp_path, crank=(0.0, 0.5))
    limb = (
        '<body name="a"><joint name="crank" axis="0 0 1"/><geom size="0.1"/><body name="b" '
        'pos="1 0 0"><joint name="elbow" axis="0 0 1"/><geom size="0.1"/></body></body>'
    )
    other = limb.replace('"a"', '"c"').replace('"b"', '"d"').replace('crank', 'rocker')
    other = other.replace('elbow', 'knee')
    loop = tmp_path / 'loop.xml'
    loop.write_text(
        f'<mujoco><worldbody>{limb}{other}</worldbody><equality><connect body1="b" body2="d" '
        'anchor="0 0.1 0"/></equality></mujoco>',
        encoding='utf-8',
    )
    status = main(
        ['import', str(loop), '--output', str(tmp_path / 'made'), '--recording', str(log)]
    )
    assert status == 2
    assert 'in its loops joints move that no recording has' in capsys.readouterr().err


def test_options_without_a_recording(arm, tmp_path, capsys) -> None:
    status = main(['import', str(arm), '--output', str(tmp_path / 'made'), '--joints', 'tilt=a'])
    assert status == 2
    assert 'need --recording' in capsys.readouterr().err
