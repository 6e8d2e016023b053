# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One motion in every form that recordings have is the same motion; what is lacking is named.

Bags are made by another library than the one that is tested, and by hand as Humble made them.
"""

import io
import pathlib
import re
import shutil
import sqlite3
import tracemalloc

import numpy as np
import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.files import bag as files_bag
from masticator_dynamics.files.bag import is_bag, read_bag
from masticator_dynamics.files.recorded_joints import _back_and_forth, read_joints, times_in_doubt

rosbag2 = pytest.importorskip('rosbags.rosbag2', reason='rosbags is not installed')
from rosbags.typesys import Stores, get_typestore  # noqa: E402

STORE = get_typestore(Stores.ROS2_HUMBLE)
STATE, TRAJECTORY = 'sensor_msgs/msg/JointState', 'trajectory_msgs/msg/JointTrajectory'
JOINTS = 'shoulder', 'elbow'
TIME = np.arange(40) / 125.0
POSITION = np.column_stack([np.sin(3.0 * TIME), np.cos(2.0 * TIME)])
EFFORT = np.column_stack([5.0 * np.cos(3.0 * TIME), -TIME])
BEGIN = 1_700_000_000_000_000_000  # ns since 1970


def kind(name):
    return STORE.types[name]


def header(stamp):
    time = kind('builtin_interfaces/msg/Time')(sec=stamp // 10**9, nanosec=stamp % 10**9)
    return kind('std_msgs/msg/Header')(stamp=time, frame_id='')


def state(k, names=JOINTS, stamped=True, effort=True, order=(0, 1)):
    stamp = BEGIN + round(1e9 * TIME[k]) if stamped else 0
    return kind(STATE)(
        header=header(stamp), name=[names[i] for i in order],
        position=POSITION[k, list(order)], velocity=np.zeros(0),
        effort=EFFORT[k, list(order)] if effort else np.zeros(0),
    )  # fmt: skip


def states(**how):
    return [(TIME[k], '/joint_states', STATE, state(k, **how)) for k in range(len(TIME))]


def trajectory(**fields):
    points = [
        kind('trajectory_msgs/msg/JointTrajectoryPoint')(
            positions=POSITION[k], velocities=np.zeros(0), accelerations=np.zeros(0),
            effort=EFFORT[k],
            time_from_start=kind('builtin_interfaces/msg/Duration')(
                sec=0, nanosec=round(1e9 * TIME[k])
            ),
        )
        for k in range(len(TIME))
    ]  # fmt: skip
    message = kind(TRAJECTORY)(header=header(0), joint_names=list(JOINTS), points=points)
    return [(0.0, '/planned', TRAJECTORY, message)]


def bag(folder, messages, storage='mcap', compression=None):
    """A bag; messages are (time, topic, type, message)."""
    writer = rosbag2.Writer(
        folder, version=9, storage_plugin=rosbag2.StoragePlugin[storage.upper()]
    )
    if compression:
        mode = rosbag2.CompressionMode[compression.upper()]
        writer.set_compression(mode, rosbag2.CompressionFormat.ZSTD)
    with writer:
        topics = {}
        for time, topic, datatype, message in messages:
            if topic not in topics:
                topics[topic] = writer.add_connection(topic, datatype, typestore=STORE)
            content = STORE.serialize_cdr(message, datatype)
            writer.write(topics[topic], BEGIN + round(1e9 * time), content)
    return folder


def humble(file, messages):
    """A file as ROS 2 Humble writes it: no definitions of types, no hashes."""
    with sqlite3.connect(file) as base:
        base.executescript(
            'CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);'
            'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,'
            ' serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);'
            'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,'
            ' timestamp INTEGER NOT NULL, data BLOB NOT NULL);'
            "INSERT INTO schema VALUES (3, 'humble')"
        )
        numbers = {}
        for time, topic, datatype, message in messages:
            if topic not in numbers:
                numbers[topic] = len(numbers) + 1
                base.execute(
                    'INSERT INTO topics VALUES (?, ?, ?, ?, ?)',
                    (numbers[topic], topic, datatype, 'cdr', ''),
                )
            content = bytes(STORE.serialize_cdr(message, datatype))
            row = numbers[topic], BEGIN + round(1e9 * time), content
            base.execute('INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)', row)
    return file


def alone(folder):
    """The file of a bag, without its folder."""
    (file,) = (f for f in folder.iterdir() if f.suffix != '.yaml')
    return pathlib.Path(shutil.move(file, folder.parent / file.name))


def without_metadata(folder):
    (folder / 'metadata.yaml').unlink()
    return folder


FORMS = {
    'folder': lambda f: bag(f / 'b', states()),
    'folder of SQLite': lambda f: bag(f / 'b', states(), 'sqlite3'),
    'MCAP': lambda f: alone(bag(f / 'b', states())),
    'SQLite': lambda f: alone(bag(f / 'b', states(), 'sqlite3')),
    'Humble': lambda f: humble(f / 'run.db3', states()),
    'no ending': lambda f: humble(f / 'run', states()),
    'without metadata': lambda f: without_metadata(bag(f / 'b', states(), 'sqlite3')),
    'compressed file': lambda f: bag(f / 'b', states(), 'sqlite3', 'file'),
    'compressed file alone': lambda f: alone(bag(f / 'b', states(), 'mcap', 'file')),
    'compressed messages': lambda f: bag(f / 'b', states(), 'sqlite3', 'message'),
    'compressed chunks': lambda f: bag(f / 'b', states(), 'mcap', 'storage'),
    'trajectory': lambda f: bag(f / 'b', trajectory()),
    'other order': lambda f: bag(f / 'b', states(order=(1, 0))),
    'without stamps': lambda f: bag(f / 'b', states(stamped=False)),
    'twice': lambda f: bag(f / 'b', [m for m in states() for _ in range(2)]),
    'beside a trajectory': lambda f: bag(f / 'b', [*trajectory(), *states()]),
}


@pytest.mark.parametrize('form', FORMS)
def test_every_form_holds_the_same_motion(tmp_path, form) -> None:
    source = FORMS[form](tmp_path)
    assert is_bag(source)
    table = read_joints(str(source), [JOINTS], ('position', 'effort'))
    np.testing.assert_allclose(table.times(), TIME, atol=1e-9)
    for field, expected in (('position', POSITION), ('effort', EFFORT)):
        np.testing.assert_array_equal(table.numbers([f'{field}_{j}' for j in JOINTS]), expected)


@pytest.mark.parametrize('names', [{}, {'elbow': 'fer_joint2', 'shoulder': 'fer_joint1'}])
def test_names_are_mapped(tmp_path, names) -> None:
    there = tuple(names.get(joint, joint) for joint in JOINTS)
    folder, file = bag(tmp_path / 'b', states(names=there)), tmp_path / 'run.csv'
    columns = np.column_stack([TIME, POSITION, EFFORT])
    header = ','.join(['time', there[0], f'position_{there[1]}', *(f'effort_{j}' for j in there)])
    np.savetxt(file, columns, delimiter=',', header=header, comments='')
    for source in (folder, file):
        table = read_joints(str(source), [JOINTS], ('position', 'effort'), None, names)
        np.testing.assert_allclose(table.numbers(['position_elbow'])[:, 0], POSITION[:, 1])
        np.testing.assert_allclose(table.numbers(['effort_shoulder'])[:, 0], EFFORT[:, 0])
        with pytest.raises(InputError, match=rf'joint nobody.*; there are: .*{there[0]}'):
            read_joints(str(source), [JOINTS], names={'elbow': 'nobody'})


@pytest.mark.parametrize(
    ('columns', 'sentence'),
    [
        (
            'time,position_j1,position_j2,effort_j1,effort_j2',
            'no joints shoulder, elbow; it has positions of j1, j2; --joints NAME=NAME_IN_THE_',
        ),
        (
            'time,position_my_elbow,position_my_shoulder',
            '; if these are the same joints: --joints shoulder=my_shoulder,elbow=my_elbow '
            '(--names where --joints is a file)',
        ),
        (
            'time,position_shoulder,effort_shoulder,position_my_elbow',
            'no joints elbow; it has positions of my_elbow; if these are the same joints: '
            '--joints elbow=my_elbow',
        ),
    ],
)
def test_joints_of_a_csv_file_with_other_names_are_named(tmp_path, columns, sentence) -> None:
    file = tmp_path / 'run.csv'
    file.write_text(f'{columns}\n' + ','.join('0' for _ in columns.split(',')))
    with pytest.raises(InputError, match=re.escape(sentence)):
        read_joints(str(file), [JOINTS], ('position', 'effort'))


def long_bag(folder, count):
    """With the same forty positions again and again, 8 ms apart."""
    messages = []
    for k in range(count):
        message = state(k % len(TIME))
        message.header = header(BEGIN + 8_000_000 * k)
        messages.append((0.008 * k, '/joint_states', STATE, message))
    return bag(folder, messages)


def test_a_long_recording_takes_little_room(tmp_path) -> None:
    """A message of two joints has 150 bytes; as objects they were 1640."""
    peaks, counts = [], (2000, 6000)
    for count in counts:
        source = long_bag(tmp_path / f'{count}', count)
        tracemalloc.start()
        table = read_joints(str(source), [JOINTS], ('position', 'effort'))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(table) == count
        np.testing.assert_array_equal(
            table.numbers(['position_elbow'])[:, 0], np.resize(POSITION[:, 1], count)
        )
    assert np.diff(peaks)[0] / np.diff(counts)[0] < 800.0, 'bytes of a message'


def test_how_far_a_recording_is_read_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files_bag, '_OFTEN', 100)
    source, told = long_bag(tmp_path / 'bag', 2000), []
    for file in (source, *source.glob('*.mcap')):
        told.clear()
        read_joints(str(file), [JOINTS], progress=lambda done, size: told.append(done / size))
        assert len(told) == 20 and sorted(told) == told and 0.8 < told[-1] <= 1.0


def test_names_may_be_exchanged(tmp_path) -> None:
    swapped = {'elbow': 'shoulder', 'shoulder': 'elbow'}
    table = read_joints(str(bag(tmp_path / 'b', states())), [JOINTS], names=swapped)
    np.testing.assert_array_equal(table.numbers(['position_elbow'])[:, 0], POSITION[:, 0])


def refused(source, joints=JOINTS, fields=('position', 'effort'), **how):
    with pytest.raises(InputError) as raised:
        read_joints(str(source), [joints], fields, **how)
    assert str(raised.value).startswith(str(source)) and '\n' not in str(raised.value)
    return str(raised.value)


def test_what_topics_lack_is_named_with_the_option_that_helps(tmp_path) -> None:
    camera = [(0.0, '/note', 'std_msgs/msg/String', kind('std_msgs/msg/String')(data='x'))]
    folder = bag(tmp_path / 'b', [*camera, *states(names=('fer_joint1', 'fer_joint2'))])
    said = refused(folder, ('panda_joint1', 'panda_joint2'))
    assert 'no topic has positions and efforts of panda_joint1, panda_joint2' in said
    assert '/joint_states has no panda_joint1, panda_joint2 but fer_joint1, fer_joint2' in said
    assert 'no joints are in /note' in said
    told = '--joints panda_joint1=fer_joint1,panda_joint2=fer_joint2'
    assert said.endswith(f'{told} (--names where --joints is a file)')
    assert '/joint_states has no efforts' in refused(bag(tmp_path / 'c', states(effort=False)))
    assert 'no joints are in /note' in refused(bag(tmp_path / 'd', camera))
    assert 'there are: /joint_states' in refused(bag(tmp_path / 'e', states()), topic='/other')
    two = [(t, topic, d, m) for t, _, d, m in states() for topic in ('/left', '/right')]
    assert '/left, /right; --topic chooses one' in refused(bag(tmp_path / 'f', two))
    assert len(read_joints(str(tmp_path / 'f'), [JOINTS], topic='left')) == len(TIME)


def test_messages_without_numbers_and_without_times_are_named(tmp_path) -> None:
    odd = states()
    odd[7][3].effort[1] = np.nan
    table = read_joints(str(bag(tmp_path / 'b', odd)), [JOINTS])
    with pytest.raises(InputError, match=r'1 of 40 messages.* after 0.056 s the effort of elbow'):
        table.numbers(['effort_elbow'])
    late = read_joints(str(bag(tmp_path / 'd', states(stamped=False))), [JOINTS])
    assert 'no time in their headers: taken is when they arrived' in late.doubts[0]
    at_once = [(0.0, *rest) for _, *rest in states(stamped=False)]
    assert 'no time in their headers' in refused(bag(tmp_path / 'c', at_once))


def test_two_robots_on_one_topic_are_doubted(tmp_path) -> None:
    """Of two messages of one time the later counts as a copy, which other positions disprove."""
    copies = [message for message in states() for _ in range(2)]
    assert not read_joints(str(bag(tmp_path / 'copies', copies)), [JOINTS]).doubts
    for _, _, _, message in copies[1:7:2]:
        message.position = message.position + [0.0, 1e-3]
    both = [(t, topic, d, state(k // 2)) if k % 2 == 0 else (t, topic, d, message)
            for k, (t, topic, d, message) in enumerate(copies)]  # fmt: skip
    (doubt,) = read_joints(str(bag(tmp_path / 'both', both)), [JOINTS]).doubts
    assert '3 messages of /joint_states have the time of the one before and other' in doubt


def test_two_robots_that_take_turns_on_one_topic_are_doubted(tmp_path) -> None:
    """Their messages have other times; each robot by itself moves smoothly, also another way."""

    def mixed(apart: float, name: str, first: int = 0) -> tuple[str, ...]:
        merged = [message for pair in zip(states(), states(), strict=True) for message in pair]
        for k, (t, topic, d, message) in enumerate(merged):
            if k % 2 and k > first:
                message.header.stamp.nanosec += 3_000_000
                message.position = -message.position + [0.0, apart]
                merged[k] = (t + 0.003, topic, d, message)
        return read_joints(str(bag(tmp_path / name, merged)), [JOINTS]).doubts

    for first, name in ((0, 'always'), (30, 'later')):
        (doubt,) = mixed(2.0, name, first)
        assert ' goes back and forth, by ' in doubt and 'more than one robot' in doubt
    rough = np.random.default_rng(0).normal(0.0, 0.1, (100_000, 8))
    assert not any(map(_back_and_forth, rough.T))


def test_messages_that_cannot_be_read_are_named(tmp_path) -> None:
    twice, short = states(names=('shoulder', 'elbow', 'elbow'), order=(0, 1, 1)), states()
    assert 'a message names joint elbow 2 times' in refused(bag(tmp_path / 'b', twice))
    short[3][3].position = short[3][3].position[:1]
    assert 'a message has 1 position values, 2 names' in refused(bag(tmp_path / 'c', short))
    turns = [states(names=(j, 'wrist'))[k] for k in range(8) for j in JOINTS]
    assert 'no message of /joint_states has shoulder, elbow' in refused(bag(tmp_path / 'd', turns))


def test_parts_that_are_missing_or_damaged_are_said(tmp_path) -> None:
    folder = bag(tmp_path / 'b', states(), 'sqlite3')
    about = folder / 'metadata.yaml'
    about.write_text(about.read_text().replace('- b.db3', '- b.db3\n  - b_1.db3'))
    assert 'b_1.db3: it is named in metadata.yaml and missing' in read_bag(folder).cut
    assert read_joints(str(folder), [JOINTS]).doubts == (read_bag(folder).cut,)
    (folder / 'b.db3').rename(folder / 'renamed.db3')  # then metadata tell nothing
    assert len(read_joints(str(folder), [JOINTS])) == len(TIME)
    file = alone(bag(tmp_path / 'c', states() * 20, 'sqlite3'))
    content = bytearray(file.read_bytes())
    content[-20000:] = b'\xff' * 20000
    file.write_bytes(content)
    assert 'is damaged: 0.31 s' in read_bag(file).cut
    (tmp_path / 'd').mkdir()
    with pytest.raises(InputError, match='a folder without files .mcap, .db3'):
        read_joints(str(tmp_path / 'd'), [JOINTS])
    old = tmp_path / 'old.bag'
    old.write_bytes(b'#ROSBAG V2.0\n...')
    with pytest.raises(InputError, match='a bag of ROS 1; `rosbags-convert'):
        read_bag(old)


def test_a_part_between_others_is_missed_without_metadata(tmp_path) -> None:
    (folder := tmp_path / 'split').mkdir()
    for number, name in enumerate(('day_0', 'day_2', 'day_10')):
        part = states()[13 * number : 13 * number + 13]
        alone(bag(tmp_path / f'b{number}', part, 'sqlite3')).rename(folder / f'{name}.db3')
    cut = read_bag(folder).cut
    assert 'day_1.db3: it is missing between the others; what else is there: ' in cut
    assert read_joints(str(folder), [JOINTS]).doubts == (cut,)
    (folder / 'day_2.db3').rename(folder / 'day_9.db3')
    (folder / 'day_0.db3').unlink()  # a recording may be read from its middle on
    assert not read_bag(folder).cut
    (folder / 'day_10.db3').rename(folder / 'day_20261129.db3')
    assert not read_bag(folder).cut


def text(columns, time=TIME, form='{:.9g}', rows=()):
    lines = [columns, *rows]
    for t, position, effort in zip(time, POSITION, EFFORT, strict=True):
        lines.append(','.join([form.format(t), *map(repr, [*position.tolist(), *effort.tolist()])]))
    return '\n'.join(lines) + '\n'


OURS = 'position_shoulder,position_elbow,effort_shoulder,effort_elbow'
PLOTJUGGLER = ','.join(f'/joint_states/{j}/{f}' for f in ('position', 'effort') for j in JOINTS)
TABLES = {
    'ours': text(f'time,{OURS}'),
    'capital': text(f'Time,{OURS}'),
    'unit': text(f'time [s],{OURS}'),
    'milliseconds': text(f'time (ms),{OURS}', 1e3 * TIME),
    'microseconds': text(f'Timestamp_us,{OURS}', 1e6 * TIME),
    'nanoseconds': text(f'time [ns],{OURS}', 1e9 * TIME),
    'MATLAB': text(f'Time,{OURS}', form='{:.9g} sec'),
    'MATLAB in milliseconds': text(f'Time,{OURS}', 1e3 * TIME, '{:.9g} ms'),
    'PlotJuggler': text(f'__time,{PLOTJUGGLER}', TIME + 0.0),
    'comments': '# made by somebody\n' + text(f'time,{OURS}') + '# the end\n',
    'numpy': text(f'# time,{OURS}'),
    'UTF-16': text(f'time,{OURS}').encode('utf-16'),
    'UTF-16 without its mark': text(f'time,{OURS}').encode('utf-16-le'),
}  # fmt: skip


@pytest.mark.parametrize('form', TABLES)
def test_tables_of_other_programs_hold_the_same_motion(tmp_path, form) -> None:
    file, content = tmp_path / 'run.csv', TABLES[form]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert not is_bag(file)
    table = read_joints(str(file), [JOINTS], ('position', 'effort'))
    np.testing.assert_allclose(table.times(), TIME, atol=1e-9)
    assert times_in_doubt(table, table.times()) == ''
    np.testing.assert_array_equal(table.numbers(['position_elbow'])[:, 0], POSITION[:, 1])
    np.testing.assert_array_equal(table.numbers(['effort_shoulder'])[:, 0], EFFORT[:, 0])


def test_rows_of_other_topics_are_left_out(tmp_path) -> None:
    """PlotJuggler exports a row for each message of any topic, with empty cells for the others."""
    file, buffer = tmp_path / 'run.csv', io.StringIO()
    both = f'{PLOTJUGGLER},{PLOTJUGGLER.replace("joint_states", "goal")},/battery/voltage'
    buffer.write(f'__time,{both}\n')
    for t, position, effort in zip(TIME, POSITION, EFFORT, strict=True):
        four = ','.join(map(repr, [*position.tolist(), *effort.tolist()]))
        buffer.write(f'{t},{four},,,,,\n{t + 1e-4},,,,,1,2,3,4,\n{t + 2e-4},,,,,,,,,12.0\n')
    file.write_text(buffer.getvalue())
    table = read_joints(str(file), [JOINTS], topic='/joint_states')
    np.testing.assert_allclose(table.times(), TIME)
    np.testing.assert_array_equal(table.numbers(['position_elbow'])[:, 0], POSITION[:, 1])
    with pytest.raises(InputError, match='--topic chooses one of /goal, /joint_states'):
        read_joints(str(file), [JOINTS]).numbers(['position_elbow'])


def test_milliseconds_that_are_called_time_are_doubted(tmp_path) -> None:
    file = tmp_path / 'run.csv'
    file.write_text(text(f'time,{OURS}', 1e3 * TIME))
    table = read_joints(str(file), [JOINTS])
    said = times_in_doubt(table, table.times())
    assert "rows are 8 s apart: if times are milliseconds, call their column 'time [ms]'" in said


MILLI = np.array([1e3, 1e3])


@pytest.mark.parametrize(
    ('form', 'position', 'effort'),
    [
        ('position_{} [deg]', np.degrees(POSITION), EFFORT),
        ('position_{} (degrees)', np.degrees(POSITION), EFFORT),
        ('position_{}[°]', np.degrees(POSITION), EFFORT),
        ('position_{} [mm]', POSITION * MILLI, EFFORT),
        ('position_{} [rad]', POSITION, EFFORT),
        ('effort_{} [mNm]', POSITION, EFFORT * MILLI),
        ('effort_{} (N)', POSITION, EFFORT),
    ],
)
def test_columns_say_their_units(tmp_path, form, position, effort) -> None:
    """Before, they were joints of other names, and degrees could be mapped to them as radians."""
    columns = OURS.split(',')
    for joint in JOINTS:
        plain = form.split('{}')[0] + joint
        columns[columns.index(plain)] = form.format(joint)
    rows = np.column_stack([TIME, position, effort])
    lines = [','.join(map(repr, row)) for row in rows.tolist()]
    (file := tmp_path / 'run.csv').write_text('\n'.join([f'time,{",".join(columns)}', *lines]))
    table = read_joints(str(file), [JOINTS], ('position', 'effort'))
    for name, values in (('position', POSITION), ('effort', EFFORT)):
        read = table.numbers([f'{name}_{joint}' for joint in JOINTS])
        np.testing.assert_allclose(read, values, rtol=1e-14)


@pytest.mark.parametrize('unit', ['A', 'deg'])
def test_a_unit_that_is_none_of_efforts_is_named(tmp_path, unit) -> None:
    columns = OURS.replace('effort_elbow', f'effort_elbow [{unit}]')
    (file := tmp_path / 'run.csv').write_text(text(f'time,{columns}'), encoding='utf-8')
    table = read_joints(str(file), [JOINTS])
    table.numbers(['position_elbow', 'effort_shoulder'])
    with pytest.raises(InputError) as error:
        table.numbers(['effort_elbow'])
    assert str(error.value).startswith(f"{file}: column 'effort_elbow' in '{unit}'")
