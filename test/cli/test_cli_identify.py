# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`masticator identify`: recordings of any form, drives, torque constants, a force sensor."""

import contextlib
import importlib.util
import io
import re

import numpy as np
import pytest
import samples
import yaml
from identification.robots import fourier

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.commands import identifying
from masticator_dynamics.drives.configuration import (
    Motor,
    MotorFriction,
    find_file,
    load_drives,
)
from masticator_dynamics.drives.scaling import Scaling, with_rotors
from masticator_dynamics.files.bag import Event
from masticator_dynamics.files.bag_writer import write_mcap
from masticator_dynamics.files.message_types import message_type
from masticator_dynamics.files.tables import write_table
from masticator_dynamics.files.yaml_file import read_mapping
from masticator_dynamics.identification.robot_log import read_log
from masticator_dynamics.motion.motion_file import WRENCH

pytestmark = pytest.mark.early

EVERY, SECONDS = 4, 14.0  # of 500 rows per second
COULOMB = 0.002 * np.array([1.4, 0.7, 1.3, 0.8, 0.6, 1.2])  # N m, of the motors; the file: 0.002
CONSTANTS = np.array([1.06, 0.95, 1.04, 0.97, 1.02, 0.93])  # torques over what drives tell
SCALE, OFFSET = 1.1, 2.0  # of a force sensor; N
HEAVIER = 1.1  # jaw than in the file
TOPICS = '/servo_drives/state', '/joint_states'


@pytest.fixture(scope='module')
def robot():
    """A heavier jaw with the rotors of its drives, and friction of joints and sockets."""
    known = Mechanism(with_rotors('masticator', load_drives('drives.yaml')))
    moments = {n: v for n, v in known.parameters().items() if n.startswith('mandible.')}
    return known.with_parameters({name: HEAVIER * value for name, value in moments.items()})


def record(robot, push):
    """Time, positions, efforts as drives tell them, wrench of a hand on the jaw, and its axes."""
    rows = fourier(SECONDS)[:, ::EVERY]
    time = np.arange(rows.shape[1]) * EVERY / 500.0
    wrench = np.array(push) * np.sin(np.outer(time, [3.1, 4.7, 2.3, 5.9, 3.7, 7.1]))
    effort = robot.feedforward_batch(*rows, wrench, friction=True)
    motors = [drive.motor for drive in load_drives('drives.yaml').drives.values()]
    laws = [MotorFriction(coulomb=law, viscous=1e-6) for law in COULOMB]
    motors = [Motor(**{**dict(m), 'friction': f}) for m, f in zip(motors, laws, strict=True)]
    motors = Scaling(motors)
    per_mille = motors.per_mille_from_effort(effort.actuated, effort.velocity)
    per_mille = per_mille + motors.per_mille_of_friction(effort.velocity)
    told = motors.effort_from_per_mille(np.rint(per_mille), effort.velocity)
    axes = robot.frame_chain('mandible').poses(effort.q)[1]
    return time, np.array(effort.position), told, wrench, axes


@pytest.fixture(scope='module')
def recorded(robot):
    """A jaw that a hand pushes, to show what torques and a sensor are worth."""
    return record(robot, [3.0, 2.0, -20.0, 0.1, 0.3, 0.05])


@pytest.fixture(scope='module')
def alone(robot):
    """A jaw that nothing touches."""
    return record(robot, [0.0] * 6)


def write_log(file, recorded, wrench=None, factor=1.0):
    """A table as a recorder would write it, with efforts times a factor."""
    time, position, told, *_ = recorded
    names = [f'crank_{k}' for k in range(1, 7)]
    columns = ['time', *(f'position_{n}' for n in names), *(f'effort_{n}' for n in names)]
    table = np.column_stack([time, position, told * factor])
    if wrench is not None:
        columns, table = [*columns, *WRENCH], np.column_stack([table, wrench])
    write_table(str(file), columns, table)
    return file


@pytest.fixture(scope='module')
def by_table(alone, tmp_path_factory):
    """What is said of a table of a jaw that nothing touches, the files' folder, and the result."""
    folder, said, results = tmp_path_factory.mktemp('by_table'), io.StringIO(), []
    identify = identifying.identified

    def remembered(*given):
        results.append(identify(*given))
        return results[0]

    log = write_log(folder / 'run.csv', alone)
    words = ['identify', 'masticator', '--log', log, '--output', folder / 'mine.yaml']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identifying, 'identified', remembered)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            assert main([*map(str, words), '--drives', 'drives.yaml']) == 0
    return said.getvalue(), folder, *results


def identified(run, log, folder, *options):
    """The report's sentence and warnings; the files are written."""
    output = '--output', folder / 'mine.yaml', '--drives', 'drives.yaml'
    answer = run('identify', 'masticator', '--log', log, *output, *options)
    assert answer.status == 0, answer.err
    return answer.out + answer.err


def test_friction_of_motors_goes_to_the_drives_file(run, tmp_path, recorded) -> None:
    """Behind a gear whose efficiency is 0.8, which friction passes before it comes to the joint."""
    log = write_log(tmp_path / 'run.csv', recorded, recorded[3])
    said = identified(run, log, tmp_path)
    error = re.search(r'with the file, (\S+) % now', said)
    assert error and float(error[1]) < 2.0  # 5.9 with friction behind the gear
    found = [d.motor.friction for d in load_drives(tmp_path / 'mine_drives.yaml').drives.values()]
    speed = 3.0 * 4.8  # rad/s, usual: the sum of both laws is what counts
    rubbed = [law.coulomb + law.viscous * speed for law in found]
    assert rubbed == pytest.approx(COULOMB + 1e-6 * speed, rel=0.06)
    mine = Mechanism.load(str(tmp_path / 'mine.yaml')).parameters(friction=True)
    cells = re.findall(r'<td[^>]*>([^<]*)</td>', (tmp_path / 'mine.html').read_text())
    unit, *numbers = cells[cells.index('mandible.mass') + 1 :][:4]
    assert unit == 'kg'
    before, after, deviation = map(float, numbers)
    # As well as 14 s tell it: the report says how well, and that has to hold.
    assert after == pytest.approx(HEAVIER * before, abs=2.0 * deviation)
    assert deviation < 0.04 * before
    assert mine['mandible.mass'] == pytest.approx(after, rel=1e-3)
    assert not any(mine.get(f'crank_{k}.friction') for k in range(1, 7))


def test_torque_constants(run, tmp_path, recorded) -> None:
    log = write_log(tmp_path / 'run.csv', recorded, recorded[3], 1.0 / CONSTANTS)
    said = identified(run, log, tmp_path, '--torque-constants', 0.1)
    found = [d.motor for d in load_drives(tmp_path / 'mine_drives.yaml').drives.values()]
    old = load_drives('drives.yaml').drives['crank_1'].motor
    scales = [motor.rated_torque / old.rated_torque for motor in found]
    assert scales == pytest.approx(CONSTANTS, abs=0.01)
    # What the drives are asked and told in per mille, and what they call their torque, stays.
    for motor in found:
        units = motor.rated_torque / motor.rated_torque_unit
        assert units == pytest.approx(old.rated_torque / old.rated_torque_unit)
        assert motor.peak_torque / motor.rated_torque == pytest.approx(3.0)
    assert 'crank_1 gives 1.0' in said


def test_a_force_sensor_that_errs(run, tmp_path, recorded) -> None:
    wrench = recorded[3].copy()
    wrench[:, :3] -= recorded[4] @ np.array([OFFSET, 0.0, 0.0])  # a sensor turns with the jaw
    log = write_log(tmp_path / 'run.csv', recorded, wrench / SCALE)
    said = identified(run, log, tmp_path, '--sensor', 0.2)
    scale = re.search(r'forces are (\S+) times', said)
    offset = re.search(r'(\S+) is to be added to fx', said)
    assert scale and float(scale[1]) == pytest.approx(SCALE, abs=0.01)
    assert offset and float(offset[1]) == pytest.approx(OFFSET, abs=0.1)


def test_a_force_sensor_that_nothing_touches(run, tmp_path, alone, by_table) -> None:
    """The same numbers as without it, and the same error."""
    noise = 0.3 * np.random.default_rng(3).normal(size=(len(alone[0]), 6))
    said = identified(run, write_log(tmp_path / 'run.csv', alone, noise), tmp_path), by_table[0]
    for told, sensor in zip(said, (True, False), strict=True):
        assert ('the force sensor shows noise alone' in told) is sensor
    errors = [re.search('held out: .*', told)[0] for told in said]
    files = (folder / 'mine.yaml' for folder in (tmp_path, by_table[1]))
    numbers = [Mechanism.load(str(file)).parameters(friction=True) for file in files]
    assert numbers[0] == numbers[1] and errors[0] == errors[1]


@pytest.mark.sweep
def test_efforts_that_no_numbers_explain_are_not_used(run, tmp_path, alone) -> None:
    """They have nothing to do with the motion: a sentence by motor, and the report alone."""
    time, position, told, *_ = alone
    wandering = np.random.default_rng(3).normal(size=told.shape).cumsum(axis=0)
    wandering *= told.std(axis=0) / wandering.std(axis=0)
    log = write_log(tmp_path / 'run.csv', (time, position, wandering))
    answer = run('identify', 'masticator', '--log', log, '--output', tmp_path / 'mine.yaml')
    assert answer.status == 1 and re.search(r'^crank_\d', answer.err, re.MULTILINE)
    assert sorted(file.name for file in tmp_path.iterdir()) == ['mine.html', 'run.csv']


def test_a_recording_of_ros(run, tmp_path, robot, alone) -> None:
    """The same log as from a table of the same rows; the topic is found by its joints."""
    time, position, told, *_ = alone
    state = message_type('sensor_msgs/msg/JointState')
    header, stamp = (
        message_type(n) for n in ('std_msgs/msg/Header', 'builtin_interfaces/msg/Time')
    )
    order = [3, 0, 5, 1, 4, 2]
    names = [f'crank_{k + 1}' for k in order]
    events = []
    for k, moment in enumerate(time):
        sec, rest = divmod(round(moment * 1e9), 10**9)
        content = state(
            header(stamp(100 + sec, rest), ''), names,
            position[k, order], np.zeros(0), told[k, order],
        )  # fmt: skip
        others = state(content.header, ['x', 'y'], *3 * [np.zeros(2)])
        events += [Event(TOPICS[0], k, k, k, content), Event(TOPICS[1], k, k, k, others)]
    file = tmp_path / 'run.mcap'
    write_mcap(file, dict.fromkeys(TOPICS, 'sensor_msgs/msg/JointState'), events)
    ros, table = (
        read_log(str(log), robot) for log in (file, write_log(tmp_path / 'run.csv', alone))
    )
    assert np.abs(np.diff(ros.time) - np.diff(table.time)).max() < 1e-8
    assert np.array_equal(ros.position, table.position)
    assert np.array_equal(ros.effort, table.effort) and ros.wrench is table.wrench is None
    events[20].content.position[0] = np.nan
    assert 'lack numbers' in refused(run, file, events, tmp_path)
    for event in events:
        event.content.position[0] = 0.0
        event.content.header.stamp.sec = event.content.header.stamp.nanosec = 0
    assert 'no time in their headers' in refused(run, file, events, tmp_path)


def refused(run, file, events, folder):
    """What is said of a recording, of which nothing is written."""
    write_mcap(file, dict.fromkeys(TOPICS, 'sensor_msgs/msg/JointState'), events)
    answer = run('identify', 'masticator', '--log', file, '--output', folder / 'no.yaml')
    assert answer.status == 2 and not (folder / 'no.yaml').exists()
    return answer.err


def test_joints_of_other_names(run, tmp_path, alone) -> None:
    log = write_log(tmp_path / 'run.csv', alone)
    log.write_text(log.read_text().replace('crank_6', 'motor_6'))
    answer = run('identify', 'masticator', '--log', log, '--output', tmp_path / 'no.yaml')
    assert answer.status == 2 and 'crank_6' in answer.err and 'motor_6' in answer.err
    assert [file.name for file in tmp_path.iterdir()] == ['run.csv']


@pytest.mark.parametrize('written', samples.swept([0, 1, 2], [1]))
def test_ctrl_c_leaves_nothing_half_written(
    run, tmp_path, alone, by_table, monkeypatch, written
) -> None:
    log = write_log(tmp_path / 'run.csv', alone)
    done, write_text = [], identifying.write_text

    def interrupted(target, text):
        if len(done) == written:
            raise KeyboardInterrupt
        done.append(target)
        write_text(target, text)

    monkeypatch.setattr(identifying, 'write_text', interrupted)
    monkeypatch.setattr(identifying, 'identified', lambda *_: by_table[2])  # of this table
    output = '--output', tmp_path / 'new' / 'mine.yaml', '--drives', 'drives.yaml'
    answer = run('identify', 'masticator', '--log', log, *output)
    assert answer.status == 130
    assert [file.name for file in tmp_path.iterdir()] == ['run.csv']


def test_drives_of_another_robot(run, tmp_path, alone) -> None:
    content = read_mapping(find_file('drives.yaml'))
    content['drives'].pop('crank_6')
    (tmp_path / 'drives.yaml').write_text(yaml.safe_dump(content))
    log = write_log(tmp_path / 'run.csv', alone)
    answer = run(
        'identify', 'masticator', '--log', log, '--output', tmp_path / 'no.yaml',
        '--drives', tmp_path / 'drives.yaml',
    )  # fmt: skip
    assert answer.status == 2 and 'the actuated joints of masticator are' in answer.err
    assert not (tmp_path / 'no.yaml').exists()


def test_without_matplotlib_nothing_is_identified(run, tmp_path, monkeypatch) -> None:
    """The command has no --plot: its report needs pictures."""
    monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
    words = ['--log', tmp_path / 'log.csv', '--output', tmp_path / 'mine.yaml']
    answer = run('identify', 'masticator', *words)
    assert answer.status == 2 and 'the report needs matplotlib' in answer.err
    assert "pip install '.[demo]' in a checkout" in answer.err
    assert 'nothing was identified' in answer.err and '--plot' not in answer.err
