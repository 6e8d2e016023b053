# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Data sent to the browser: poses against Pinocchio, forces at their points, offline pages."""

import base64
import os
import pathlib
import re
import socket

import numpy as np
import pytest
import samples
from mcap.writer import Writer

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.description.visuals import shapes
from masticator_dynamics.errors import InputError
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.laboratory.mouthful import Series
from masticator_dynamics.robot.laboratory.mouthful_bag import (
    METADATA,
    read_recording,
    write_recording,
)
from masticator_dynamics.robot.view.played_run import load_run

pytest.importorskip('viser', reason='viser is not installed (pip extra "view")')

POSE = [0.002, 0.001, 0.01, 0.09]


@pytest.fixture(scope='module')
def jaw():
    return Mechanism.load('masticator')


@pytest.fixture(scope='module')
def server():
    from masticator_dynamics.robot.view.server import serving

    with serving('127.0.0.1', 0) as made:
        yield made


@pytest.fixture
def motion(tmp_path):
    """Half a second of chewing with 30 N on the jaw."""
    path = chewing_stroke(strokes=1, period=0.5)
    time = np.linspace(0.0, 0.5, 101)
    rows = np.column_stack(
        [time, *path.sample(time), np.tile([0.0, 0.0, -30.0, 0, 0, 0], (101, 1))]
    )
    names = [
        f'{c}{suffix}' for suffix in ('', '_dot', '_ddot') for c in ('x', 'y', 'alpha', 'beta')
    ]
    file = tmp_path / 'motion.csv'
    header = ','.join(['time', *names, 'fx', 'fy', 'fz', 'tx', 'ty', 'tz'])
    np.savetxt(file, rows, delimiter=',', header=header, comments='')
    return file


def placed(scene):
    """Pose of each link's frame in the browser, as a homogeneous matrix."""
    from scipy.spatial.transform import Rotation

    found = {}
    for handle in scene._bodies:
        matrix = np.eye(4)
        matrix[:3, :3] = Rotation.from_quat(np.roll(handle.wxyz, -1)).as_matrix()
        matrix[:3, 3] = handle.position
        found[handle.name.split('/')[-1]] = matrix
    return found


def test_links_stand_where_pinocchio_puts_them(jaw, server) -> None:
    pin = pytest.importorskip('pinocchio')
    from masticator_dynamics.robot.view.scene import Scene

    scene = Scene(server.scene, jaw, 'checked')
    assert not scene.missing
    motion = jaw.solve(POSE)
    scene.pose(motion.q)
    model = pin.buildModelFromXML(jaw.description.urdf_xml)
    q = pin.neutral(model)
    for name, value in zip(jaw.tree_joints, motion.q, strict=True):
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            value if joint.nq == 1 else [np.cos(value), np.sin(value)]
        )
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    # Frames here are turned so that z is the joint's axis; shapes make up for it.
    for name, matrix in placed(scene).items():
        expected = data.oMi[model.getJointId(name)]
        assert np.allclose(matrix[:3, 3], expected.translation, atol=1e-9), name


@pytest.mark.parametrize('vector', [[0.1, -0.2, 0.05], [0, 0, 0.3], [0, 0, -0.3], [1e-12, 0, -0.3]])
def test_an_arrow_points_along_its_vector(jaw, server, vector) -> None:
    from viser.transforms import SO3

    from masticator_dynamics.robot.view.scene import Scene

    scene = Scene(server.scene, jaw, 'arrow')
    scene.arrow('force', np.zeros(3), np.array([0.0, 0.3, 0.0]))
    start = np.array([0.1, 0.2, 0.3])
    scene.arrow('force', start, np.array(vector))
    arrow = scene._arrows['force']
    ends = SO3(np.asarray(arrow.wxyz)).as_matrix() @ arrow.points[0].T + arrow.position[:, None]
    np.testing.assert_allclose(ends.T, [start, start + vector], atol=1e-7)


def test_every_visual_of_the_jaw_is_a_shape(jaw) -> None:
    found, missing = shapes(jaw.description.urdf_xml, jaw.description.urdf_file.parent)
    assert len(found) == jaw.description.urdf_xml.count('<visual>') > 20 and not missing
    assert len({shape.colour for shape in found}) > 3


def test_a_mesh_that_is_not_there_is_told(tmp_path) -> None:
    text = (
        '<robot name="r"><link name="a"><visual><geometry><mesh filename="package://x/y.stl"/>'
        '</geometry></visual></link></robot>'
    )
    found, (sentence,) = shapes(text, tmp_path)
    assert not found and 'link a' in sentence and 'package://x/y.stl' in sentence


def test_a_motion_is_loaded_with_its_forces(jaw, motion) -> None:
    run = load_run(motion, None)
    assert run.mechanism.name == 'masticator' and run.q.shape == (101, 24)
    assert set(run.forces) == {*jaw.contacts, 'load'}
    platform = jaw.frame_pose(jaw.solve(jaw.home.y), jaw.description.platform).position
    assert np.allclose(run.forces['load'].points[0], platform, atol=1e-9)
    assert np.allclose(run.forces['load'].vectors, [0.0, 0.0, -30.0])


def test_one_page_holds_it_all_and_asks_for_nothing(motion, tmp_path) -> None:
    page = tmp_path / 'view.html'
    assert main(['view', str(motion), '--html', str(page)]) == 0
    text = page.read_text()
    assert len(text) < 5e6
    recorded = base64.b64decode(re.search(r'EMBED_DATA__="([^"]+)"', text).group(1))
    assert len(recorded) > 10_000
    head = text.split('<script', 1)[0]
    assert not re.findall(r'(?:src|href)="https?:', text[: len(head) + 2000])


@pytest.mark.parametrize(
    ('content', 'name', 'message'),
    [
        (b'time,theta\n0,1\n', 'other.csv', 'no shipped mechanism has these joints'),
        (b'no recording', 'cut.mcap', 'not a recording'),
        (None, 'pipe.mcap', 'not a recording but a folder, a pipe or a device'),
    ],
)
def test_files_that_are_no_runs_are_named(tmp_path, capsys, content, name, message) -> None:
    file = tmp_path / name
    if content is None:
        os.mkfifo(file)
    else:
        file.write_bytes(content)
    assert main(['view', str(file)]) == 2
    assert message in capsys.readouterr().err


def test_a_recording_that_is_cut_off_is_shown_as_far_as_it_goes_and_said(jaw, tmp_path, capsys):
    whole = tmp_path / 'whole.mcap'
    time, zero = np.arange(400) / 200.0, np.zeros(400)
    q, u, c = (np.zeros((400, len(n))) for n in (jaw.tree_joints, jaw.actuated, jaw.contacts))
    q += jaw.home.q
    series = Series(time, zero, zero + 7.0, q, u, u, u, c, (0, 0), 'done')
    write_recording(whole, series, jaw, {'motion': {'side': 'left'}})
    assert load_run(whole, None).doubts == ()
    content = whole.read_bytes()
    # After the last message, before the end mark; and in the middle of the messages.
    for part, seconds in ((len(content) - 8, 1.995), (2 * len(content) // 3, None)):
        cut = tmp_path / 'cut.mcap'
        cut.write_bytes(content[:part])
        run = load_run(cut, None)
        found = re.fullmatch(
            r'.*cut.mcap: it ends in the middle.*: (\S+) s, (\d+) messages', run.doubts[0]
        )
        assert found and float(found[1]) == pytest.approx(run.time[-1], abs=0.01)
        assert seconds is None or run.time[-1] == pytest.approx(seconds)
        assert 0.0 < run.time[-1] < 2.0 and len(run.time) == len(run.forces['food'].vectors)
        assert np.allclose(run.forces['food'].vectors, [0.0, 0.0, -7.0])
    assert main(['view', str(cut), '--html', str(tmp_path / 'cut.html')]) == 0
    assert 'cut.mcap: it ends in the middle' in capsys.readouterr().err


@pytest.mark.parametrize('seed', samples.swept(range(4), [0]))
def test_a_damaged_recording_is_refused_in_one_line_or_shown(jaw, tmp_path, seed) -> None:
    whole, damaged = tmp_path / 'whole.mcap', tmp_path / 'damaged.mcap'
    zero = np.zeros(20)
    q, u, c = (np.zeros((20, len(n))) for n in (jaw.tree_joints, jaw.actuated, jaw.contacts))
    time = np.arange(20) / 200.0
    series = Series(time, zero, zero, q + jaw.home.q, u, u, u, c, (0, 0), 'done')
    write_recording(whole, series, jaw, {'motion': {'side': 'left'}})
    assert read_recording(whole).time == pytest.approx(time)
    content, rng = whole.read_bytes(), np.random.default_rng(seed)
    for _ in range(150):
        spoiled = bytearray(content)
        for at in rng.integers(8, len(content), 3).tolist():
            spoiled[at : at + 8] = rng.choice([b'', b'\xff' * 8, rng.bytes(8)])
        damaged.write_bytes(spoiled)
        for read in (lambda: load_run(damaged, None), lambda: read_recording(damaged)):
            try:
                read()
            except InputError as error:
                assert str(damaged) in str(error) and '\n' not in str(error)


def test_a_recording_whose_numbers_were_changed_is_not_taken_for_sound(jaw, tmp_path) -> None:
    """Files have checksums; without one, what is not finite is refused."""
    file = tmp_path / 'whole.mcap'
    zero = np.zeros(20)
    q, u, c = (np.zeros((20, len(n))) for n in (jaw.tree_joints, jaw.actuated, jaw.contacts))
    time = np.arange(20) / 200.0
    q += jaw.home.q + np.random.default_rng(0).normal(size=q.shape)
    series = Series(time, zero, zero, q, u, u, u, c, (0, 0), 'done')
    write_recording(file, series, jaw, {'motion': {'side': 'left'}})
    sound = file.read_bytes()
    for at in range(600, len(sound) - 8, 7):
        file.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
        try:
            read = read_recording(file)
        except InputError:
            continue
        assert np.array_equal(read.q, series.q) and np.allclose(read.time, time)
    series.force[3] = np.nan
    write_recording(file, series, jaw, {'motion': {'side': 'left'}})
    with pytest.raises(InputError, match='numbers that are not finite'):
        read_recording(file)


def test_a_recording_with_a_definition_that_is_none_takes_one_line(tmp_path, capsys) -> None:
    file = tmp_path / 'odd.mcap'
    definition = 'std_msgs/Header hder h\n' + '=' * 80 + '\nMSG: std_msgs/Header\nstring frame_id\n'
    with open(file, 'wb') as stream:
        writer = Writer(stream)
        writer.start('ros2')
        schema = writer.register_schema('a/msg/B', 'ros2msg', definition.encode())
        writer.add_message(writer.register_channel('/b', 'cdr', schema), 0, b'\0\1\0\0', 0)
        writer.add_metadata(METADATA, {'json': '{}'})
        writer.finish()
    with pytest.raises(InputError, match='a/msg/B'):
        read_recording(file)
    assert main(['view', str(file), '--html', str(tmp_path / 'x.html')]) == 2
    said = capsys.readouterr().err
    assert said.count('\n') == 1 and 'a/msg/B' in said


def test_a_motion_that_is_cut_off_in_a_row_is_said(motion) -> None:
    text = motion.read_text()
    motion.write_text(text[: text.rindex(',', 0, len(text) - 30)])
    run = load_run(motion, None)
    assert 'it ends in the middle of a row: 100 rows are whole' in run.doubts[0]
    assert len(run.time) == 100
    lines = text.splitlines()
    motion.write_text('\n'.join([*lines[:50], '1,2', *lines[51:]]))  # in the middle of the file
    with pytest.raises(InputError, match='has 2 cells'):
        load_run(motion, None)


def test_a_page_that_would_take_hours_is_refused(tmp_path, capsys) -> None:
    file, page = tmp_path / 'long.csv', tmp_path / 'page.html'
    file.write_text('time,x,y,alpha,beta\n0,0,0,0,0\n1e9,0,0,0,0\n')
    assert main(['view', str(file), '--html', str(page)]) == 2
    said = capsys.readouterr().err
    assert 'a page holds 600 s at most, the recording lasts 1e+09 s' in said
    assert said.count('\n') == 1 and not page.exists()


def test_words_that_contradict_each_other_are_refused(motion, tmp_path, capsys) -> None:
    page = str(tmp_path / 'x.html')
    assert main(['view', 'masticator', '--ros', '--html', page]) == 2
    assert main(['view', 'masticator', 'rss6']) == 2
    assert main(['view', 'masticator', str(motion)]) == 2
    capsys.readouterr()
    assert main(['view', str(tmp_path), '--mechanism', 'masticator', '--html', page]) == 2
    assert f'{tmp_path}: no recording (CSV, a bag' in capsys.readouterr().err
    assert not pathlib.Path(page).exists()
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(['view', 'masticator', '--port', port]) == 2
    assert f'port {port} of 127.0.0.1 is in use' in capsys.readouterr().err
    for host in ('192.0.2.1', 'a' * 300):  # an address of nobody, and a name longer than any
        assert main(['view', 'masticator', '--host', host]) == 2
        said = capsys.readouterr().err
        assert f"port 8080 of '{host}' cannot be served: " in said and said.count('\n') == 1
