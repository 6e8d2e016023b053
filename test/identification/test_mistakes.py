# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes of a recording are named, on robots whose files have no friction."""

import dataclasses
import functools

import numpy as np
import pytest
import samples

from identification.hard_truths import RATE, arm, measured, sines
from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.commands.identifying import _figures
from masticator_dynamics.identification.identify import Identified, identify
from masticator_dynamics.identification.robot_log import RobotLog, checked
from masticator_dynamics.identification.verdict import doubts

pytestmark = pytest.mark.early

SECONDS, SEED = 16.0, 3


ROBOTS = 'arm', 'redundant'


def cases(name, values, **often):
    """A mistake in several sizes on both robots; `make test` makes what is given by robot."""
    rows = [(robot, value) for robot in ROBOTS for value in values]
    return pytest.mark.parametrize(
        ('robot', name), samples.swept_rows(rows, [*often.items()]), indirect=['robot']
    )


once = pytest.mark.parametrize('robot', samples.swept(ROBOTS, ['arm']), indirect=True)


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """By name, recorded once, an arm, and closed loops with more motors than freedoms."""

    @functools.cache
    def recorded(name):
        if name == 'arm':
            file = arm(tmp_path_factory.mktemp('arm'))
            centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
        else:
            shipped = {'redundant': 'rrr4', 'jaw': 'masticator'}[name]
            file, box = samples.file_of(shipped), samples.BOXES[shipped]
            centre, reach = 0.5 * (box.lower + box.upper), 0.3 * (box.upper - box.lower)
        return measured(file, sines(Mechanism.load(file), centre, reach, SECONDS, 1), SEED)

    return recorded


@pytest.fixture(params=ROBOTS)
def robot(request, recording):
    """Description and recording of one of the two."""
    return recording(request.param)


def _identified(robot, log: RobotLog) -> Identified:
    end = round(0.7 * len(log.time))
    return identify(
        robot.description, log.part(slice(0, end)), log.part(slice(end, None)), None, 8.0
    )


def _mixed(log: RobotLog, mixing: np.ndarray) -> RobotLog:
    return dataclasses.replace(log, effort=log.effort @ mixing.T)


def _late(log: RobotLog, rows: int) -> RobotLog:
    """Efforts of as many rows before."""
    end = len(log.time) - rows
    parts = log.time[:end], log.position[rows:], log.effort[:end]
    return RobotLog(log.source, *parts, None)


def test_a_good_recording_has_none(robot) -> None:
    found = _identified(robot, robot.log)
    assert found.mistakes == ()
    assert [*doubts(found)] == []
    assert found.errors[1] < 0.06 < 0.3 < found.errors[0]


@cases('motor', range(4), arm=0, redundant=2)
def test_the_sign_of_each_motor(robot, motor) -> None:
    mixing = np.eye(4)
    mixing[motor, motor] = -1.0
    name = robot.description.actuated[motor]
    found = _identified(robot, _mixed(robot.log, mixing))
    assert found.mistakes == (f'{name}: efforts of {name} have the other sign',)


@pytest.mark.parametrize('motor', samples.swept(range(6), [2]))
def test_the_sign_of_each_crank(recording, motor) -> None:
    robot, mixing = recording('jaw'), np.eye(6)
    mixing[motor, motor] = -1.0
    name = robot.description.actuated[motor]
    found = _identified(robot, _mixed(robot.log, mixing))
    assert found.mistakes == (f'{name}: efforts of {name} have the other sign',)


@pytest.mark.parametrize('motor', [1, 2])
@pytest.mark.parametrize('whole', [True, False])
def test_a_joint_that_counts_the_other_way(recording, motor, whole) -> None:
    """Of the first, about the vertical, and the last the robot hardly shows it."""
    robot = recording('arm')
    signs = np.where(np.arange(4) == motor, -1.0, 1.0)
    log = _mixed(robot.log, np.diag(signs)) if whole else robot.log
    log = dataclasses.replace(log, position=signs * log.position)
    name = robot.description.actuated[motor]
    (told,) = _identified(robot, log).mistakes
    which = (
        f'positions and efforts of {name}'
        if whole
        else f'positions of {name}, and not its efforts,'
    )
    assert told == f'{name}: {which} count the other way'


@pytest.mark.parametrize('whole', samples.swept([True, False], [True]))
def test_joints_under_one_anothers_names(recording, whole) -> None:
    """As where columns stand in the order of another program; gains of 4000 were told of it."""
    robot, order = recording('arm'), [0, 2, 1, 3]
    effort = robot.log.effort[:, order] if whole else robot.log.effort
    log = dataclasses.replace(robot.log, position=robot.log.position[:, order], effort=effort)
    (told,) = _identified(robot, log).mistakes
    which = 'and efforts of joint_1 and joint_2' if whole else (
        'of joint_1 and joint_2, and not their efforts,'
    )  # fmt: skip
    assert told == f'joint_1 and joint_2: positions {which} are swapped'


def test_what_is_left_without_the_offsets_of_efforts_is_said(recording) -> None:
    """They are constant, whatever moves; by motor and together, where it is a tenth more."""
    result = _identified(recording('arm'), recording('arm').log)
    held, offsets = result.held_out, np.array([*result.offsets.values()])
    errors = held.errors(result.x) + offsets
    np.testing.assert_allclose(held.errors(result.written), errors, atol=1e-6 * held.usual.max())
    shares = np.sqrt((errors**2).sum(axis=0) / (held.effort**2).sum(axis=0))
    said = [line for line in _figures(result) if line.startswith('without the offsets')]
    for share, now, joint in zip(
        shares, held.error_by_motor(result.x), result.mechanism.actuated, strict=True
    ):
        if share > 1.2 * now:
            assert f'{joint} {100.0 * share:.4g} %' in said[0]
        elif share < 1.05 * now:
            assert joint not in ''.join(said)
    assert said and 'together' in said[0]


@cases('pair', [(0, 1), (1, 2), (2, 3), (0, 3)], arm=(0, 1))
def test_two_swapped_motors(robot, pair) -> None:
    a, b = pair
    order = np.arange(4)
    order[[a, b]] = b, a
    first, second = (robot.description.actuated[k] for k in (a, b))
    told = f'{first} and {second}: efforts of {first} and {second} are swapped'
    assert _identified(robot, _mixed(robot.log, np.eye(4)[order])).mistakes == (told,)


@cases('gain', [1e-9, 1.1e-9, 1e-6, 1e-5, 0.001, 0.1, 0.5, 2.0, 10.0], arm=1e-5)
def test_a_gain_of_all_motors(robot, gain) -> None:
    (told,) = _identified(robot, _mixed(robot.log, gain * np.eye(4))).mistakes
    start = 'all motors: efforts are '
    assert told.startswith(start)
    assert float(told.removeprefix(start).split()[0]) == pytest.approx(gain, rel=0.25)


def test_a_gain_however_large(recording) -> None:
    """As of efforts in a unit that nobody thought of; not a lag, which was told from 1e5 on."""
    robot = recording('arm')
    found = _identified(robot, _mixed(robot.log, 1e12 * np.eye(4)))
    (told,) = found.mistakes
    start = 'all motors: efforts are '
    assert told.startswith(start)
    assert float(told.removeprefix(start).split()[0]) == pytest.approx(1e12, rel=0.25)
    assert found.errors[1] < 1.05 * _identified(robot, robot.log).errors[1]


@cases('gain', [0.02, 0.1, 3.0], arm=3.0)
def test_a_gain_of_one_motor(robot, gain) -> None:
    """It is told, and numbers are found all the same, nearly as good as without it."""
    found = _identified(robot, _mixed(robot.log, np.diag([1.0, gain, 1.0, 1.0])))
    (told,) = found.mistakes
    assert found.errors[1] < 1.5 * _identified(robot, robot.log).errors[1]
    assert told.endswith('; the numbers are for efforts divided by this')
    start = f'{robot.description.actuated[1]}: efforts are '
    assert told.startswith(start)
    assert float(told.removeprefix(start).split()[0]) == pytest.approx(gain, rel=0.3)


@cases(
    'gains', [(0.1, 0.05, 0.2, 0.1), (0.1, 0.1, 0.1, 0.02)],
    arm=(0.1, 0.1, 0.1, 0.02),
)  # fmt: skip
def test_gains_that_differ_by_motor(robot, gains) -> None:
    """As of currents of motors of several sizes: each has its own."""
    found = _identified(robot, _mixed(robot.log, np.diag(gains)))
    assert found.errors[1] < 1.5 * _identified(robot, robot.log).errors[1]
    for name, gain, told in zip(robot.description.actuated, gains, found.mistakes, strict=True):
        start = f'{name}: efforts are '
        assert told.startswith(start)
        assert float(told.removeprefix(start).split()[0]) == pytest.approx(gain, rel=0.3)


def test_currents_of_motors_whose_torque_constants_differ(recording) -> None:
    """Each motor is told once; the wrist was told twice, of 12 and of 0.36 times."""
    robot, constants = recording('arm'), np.array([2.0, 3.0, 1.5, 0.4])
    mistakes = _identified(robot, _mixed(robot.log, np.diag(1.0 / constants))).mistakes
    for name, constant, told in zip(robot.description.actuated, constants, mistakes, strict=True):
        start = f'{name}: efforts are '
        assert told.startswith(start)
        assert float(told.removeprefix(start).split()[0]) == pytest.approx(1 / constant, rel=0.25)


@pytest.mark.sweep
def test_gains_of_more_motors_than_mistakes_are_looked_for(recording) -> None:
    """Of all together no better than bodies are known: theirs are lighter than the file's."""
    robot, gains = recording('jaw'), np.array([0.2, 0.2, 0.1, 0.05, 0.03, 0.07])
    mistakes = _identified(robot, _mixed(robot.log, np.diag(gains))).mistakes
    starts = [f'{name}: efforts are ' for name in robot.description.actuated]
    assert all(told.startswith(start) for told, start in zip(mistakes, starts, strict=True))
    pairs = zip(mistakes, starts, strict=True)
    sizes = np.array([float(told.removeprefix(start).split()[0]) for told, start in pairs])
    off = np.log(sizes / gains)
    assert np.abs(off - off.mean()).max() < np.log(1.2) and abs(off.mean()) < np.log(1.5)


@pytest.mark.parametrize('seed', [0, 1])
def test_a_motor_that_shows_friction_alone_has_no_gain_of_its_own(tmp_path, seed) -> None:
    """As behind a worm: any gain of this motor fits as well. All motors' is another matter."""
    file, rng = arm(tmp_path), np.random.default_rng(seed)
    centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
    rows = sines(Mechanism.load(file), centre, reach, SECONDS, 1)
    robot, speed = measured(file, rows, seed), rows[1][:, 3]
    effort = robot.log.effort.copy()
    braking = np.sign(speed) + 0.3 * speed + 0.03 * rng.standard_normal(len(speed))
    effort[:, 3] = 2.0 * np.sqrt((effort[:, 3] ** 2).mean()) * braking
    log = dataclasses.replace(robot.log, effort=effort)
    assert not any(told.startswith('joint_3:') for told in _identified(robot, log).mistakes)


def test_a_motor_that_could_not_carry_the_bodies_has_a_gain(tmp_path) -> None:
    """Numbers of another unit, nearly all friction: that they are too small is certain."""
    file = arm(tmp_path)
    centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
    rows = sines(Mechanism.load(file), centre, reach, SECONDS, 1)
    robot, speed = measured(file, rows, SEED), rows[1][:, 1]
    effort = robot.log.effort.copy()
    noise = 0.03 * np.random.default_rng(0).standard_normal(len(speed))
    usual = np.sqrt((effort[:, 1] ** 2).mean())
    effort[:, 1] = 0.02 * usual * (np.sign(speed) + 0.3 * speed + noise)
    (told,) = _identified(robot, dataclasses.replace(robot.log, effort=effort)).mistakes
    start = 'joint_1: efforts are at most '
    assert told.startswith(start)
    assert 0.0 < float(told.removeprefix(start).split()[0]) < 0.1


@cases('rows', [2, 5, 20], arm=2)
def test_efforts_that_lag(robot, rows) -> None:
    told = f'all motors: efforts lag positions by {rows / RATE:.3g} s ({rows} rows)'
    assert _identified(robot, _late(robot.log, rows)).mistakes == (told,)


@pytest.mark.sweep
def test_a_lag_beyond_those_that_are_looked_for(recording) -> None:
    """Of 0.3 s it was said that it is 0.26 s."""
    robot = recording('arm')
    (told,) = _identified(robot, _late(robot.log, 30)).mistakes
    assert told.startswith('all motors: efforts lag positions by at least 0.2')


def test_a_lag_that_hardly_matters_is_a_remark(tmp_path) -> None:
    """Every drive's efforts lag a little; a recording that says so is no bad one."""
    file = arm(tmp_path)
    centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
    robot = measured(file, sines(Mechanism.load(file), centre, reach, 40.0, 1), SEED, noise=0.25)
    found = _identified(robot, _late(robot.log, 2))
    assert found.mistakes == ()
    (told,) = found.remarks
    start = 'all motors: efforts lag positions by '
    assert told.startswith(start)
    assert float(told.removeprefix(start).split()[0]) == pytest.approx(20.0, abs=3.0), 'ms'


@once
def test_rows_that_run_backward(robot) -> None:
    log = robot.log
    back = dataclasses.replace(log, position=log.position[::-1], effort=log.effort[::-1])
    (told,) = _identified(robot, back).mistakes
    assert told.startswith('all motors: rows run backward in time')


@once
def test_two_mistakes_at_once(robot) -> None:
    mixing = np.diag([1.0, -1.0, -1.0, 1.0])
    told = _identified(robot, _mixed(robot.log, mixing)).mistakes
    names = {sentence.partition(':')[0] for sentence in told}
    if robot.description.closures:  # motors that share a load can stand for one another
        assert names <= {*robot.description.actuated} and names
    else:
        assert names == {*robot.description.actuated[1:3]}


def test_one_reading_beyond_all_others(robot) -> None:
    mechanism, effort = Mechanism(robot.description), robot.log.effort.copy()
    effort[700, 2] = 1e300
    with pytest.raises(Exception, match=rf'{mechanism.actuated[2]}: its effort is 1e\+300 after 7'):
        checked(mechanism, dataclasses.replace(robot.log, effort=effort))


def test_efforts_that_no_robot_gives_are_said_to_be_left(recording) -> None:
    """A spring wound many times over, which no number of a description can be."""
    robot = recording('arm')
    effort = robot.log.effort.copy()
    effort[:, 2] += 1.5 * np.sqrt((effort**2).mean()) * np.sin(25.0 * robot.log.position[:, 2])
    found = _identified(robot, dataclasses.replace(robot.log, effort=effort))
    assert found.mistakes == () and found.errors[1] > 0.2
    (sentence,) = doubts(found)
    part, whole = (100.0 * x for x in (found.held_out.error_by_motor(found.x)[2], found.errors[1]))
    begin = f'joint_2: {part:.0f} % of its efforts are left unexplained, and {whole:.0f} % of all'
    assert sentence.startswith(begin) and 'friction of another kind' in sentence


def test_worse_than_least_squares_is_said(recording) -> None:
    """Efforts that ask for less than no inertia: least squares takes it, a robot cannot have it."""
    robot = recording('arm')
    accelerations = np.gradient(np.gradient(robot.log.position[:, 3])) * RATE**2
    effort = robot.log.effort.copy()
    size = np.sqrt((effort[:, 3] ** 2).mean() / (accelerations**2).mean())
    effort[:, 3] -= 1.5 * size * accelerations
    found = _identified(robot, dataclasses.replace(robot.log, effort=effort))
    assert found.mistakes == ()
    ours, plain = (found.held_out.error(x) for x in (found.x, found.plain))
    assert ours > 1.2 * plain
    (sentence,) = (said for said in doubts(found) if 'where least squares leaves' in said)
    assert sentence.startswith('joint_3: ')
    assert f'({100.0 * ours:.1f} and {100.0 * plain:.1f} % of all), with bodies that' in sentence


def test_a_script_can_see_it(tmp_path, capsys) -> None:
    """Exit status 1 and the report alone, unless accepted; figures of three in the last line."""
    file = arm(tmp_path)
    centre, reach = np.array([0.0, 0.4, -0.6, 0.3]), np.array([1.2, 0.8, 1.0, 1.2])
    log = measured(file, sines(Mechanism.load(file), centre, reach, SECONDS, 1), SEED).log
    names = [f'{kind}_joint_{k}' for kind in ('position', 'effort') for k in range(4)]

    def run(name: str, efforts: np.ndarray, *more: str) -> int:
        rows = np.column_stack([log.time, log.position, efforts])
        header = ','.join(['time', *names])
        np.savetxt(tmp_path / f'{name}.csv', rows, delimiter=',', header=header, comments='')
        output = ['--output', str(tmp_path / f'{name}.yaml'), *more]
        return main(['identify', str(file), '--log', str(tmp_path / f'{name}.csv'), *output])

    assert run('good', log.effort) == 0
    *said, last = capsys.readouterr().out.splitlines()
    (weights,) = (line for line in said if line.startswith('known only together'))
    assert weights.endswith(': link_1.mass')  # of link_0 nothing is told
    comments = (tmp_path / 'good.yaml').read_text(encoding='utf-8').partition('schema')[0]
    assert weights in comments
    for part in (' % with the file, ', ' % now, ', ' % by least squares'):
        assert part in last
    assert (tmp_path / 'good.yaml').exists()
    assert run('bad', log.effort * [1.0, 1.0, -1.0, 1.0]) == 1
    said = capsys.readouterr().err
    assert 'joint_2: efforts of joint_2 have the other sign' in said.splitlines()
    assert not (tmp_path / 'bad.yaml').exists()
    assert (tmp_path / 'bad.html').exists()
    (tmp_path / 'bad.html').unlink()
    assert run('bad', log.effort * [1.0, 1.0, -1.0, 1.0], '--accept') == 0
    assert (tmp_path / 'bad.yaml').exists()
