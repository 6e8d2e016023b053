# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A recording of the motors is what every command takes that reads a motion of joints."""

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.files.bag import Event
from masticator_dynamics.files.bag_writer import bag_metadata, write_mcap
from masticator_dynamics.files.message_types import message_type
from masticator_dynamics.files.tables import read_table, write_table
from masticator_dynamics.motion import chewing_stroke

pytest.importorskip('mcap', reason='mcap is not installed')
RATE, STATE = 100.0, 'sensor_msgs/msg/JointState'
NAMES = ','.join(f'crank_{k}=motor{k}' for k in range(1, 7))


@pytest.fixture(scope='module')
def chewed():
    time = np.arange(101) / RATE
    path = chewing_stroke(strokes=1, period=1.0)
    return time, Mechanism.load('masticator').feedforward_batch(*path.sample(time))


@pytest.fixture(scope='module')
def bag(chewed, tmp_path_factory):
    """The folder of a bag whose joints have other names."""
    folder = tmp_path_factory.mktemp('recorded')
    state, header, stamp = map(
        message_type, (STATE, 'std_msgs/msg/Header', 'builtin_interfaces/msg/Time')
    )
    names, none = [f'motor{k}' for k in range(1, 7)], np.zeros(0)
    time, effort = chewed
    events = []
    for k, moment in enumerate(time):
        now = 10**9 + round(1e9 * moment)
        message = state(
            header(stamp(*divmod(now, 10**9)), ''), names, np.array(effort.position[k]), none,
            np.array(effort.actuated[k]),
        )  # fmt: skip
        events.append(Event('/joint_states', now, now, k, message))
    write_mcap(folder / 'run.mcap', {'/joint_states': STATE}, events)
    (folder / 'metadata.yaml').write_text(bag_metadata(folder / 'run.mcap'))
    return folder


def test_it_is_a_motion(run, tmp_path, chewed, bag) -> None:
    """Of independent coordinates that the motors' positions tell, and then as any other."""
    time, effort = chewed
    motion, outputs = tmp_path / 'motion.csv', [tmp_path / 'a.csv', tmp_path / 'b.csv']
    write_table(str(motion), ['time', 'x', 'y', 'alpha', 'beta'], np.column_stack([time, effort.y]))
    for source, output, more in ((motion, outputs[0], []), (bag, outputs[1], ['--joints', NAMES])):
        words = '--motion', source, '--output', output, '--at-rest'
        answer = run('inverse-dynamics', 'masticator', *words, *more)
        assert answer.status == 0, answer.err
    columns = [f'effort_crank_{k}' for k in range(1, 7)]
    expected, found = (read_table(str(output)).numbers(columns) for output in outputs)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    again = tmp_path / 'again.csv'  # with its rates, which need no spline
    answer = run('inverse-dynamics', 'masticator', '--motion', outputs[0], '--output', again)
    assert answer.status == 0, answer.err


def test_it_is_what_encoders_showed(run, tmp_path, chewed, bag) -> None:
    output = tmp_path / 'y.csv'
    words = '--joints', bag, '--names', NAMES, '--output'
    answer = run('forward-kinematics', 'masticator', *words, output)
    assert answer.status == 0, answer.err
    y = read_table(str(output)).numbers(['x', 'y', 'alpha', 'beta'])
    np.testing.assert_allclose(y, chewed[1].y, atol=1e-9)
    answer = run('calibrate', 'masticator', *words, tmp_path / 'zeros.yaml')
    assert answer.status == 2 and 'no better than those before' in answer.err  # they are right
    assert not (tmp_path / 'zeros.yaml').exists()


def test_it_is_shown(run, tmp_path, bag) -> None:
    page = tmp_path / 'page.html'
    words = bag, '--mechanism', 'masticator', '--html', page
    answer = run('view', *words, '--joints', NAMES)
    assert answer.status == 0 and page.stat().st_size > 10_000
    assert run('view', *words).status == 2


@pytest.mark.parametrize(
    ('names', 'said'),
    [
        ('crank_1', 'not of the form NAME=NAME_IN_THE_RECORDING'),
        ('crank_1=motor1,crank_1=motor2', 'crank_1 is there twice'),
        ('crank_1=motor1,crank_2=motor1', 'motor1 is there twice'),
        ('crank_9=motor1', 'masticator has no joint crank_9; it has x'),
        ('crank_1=motor9', 'no joint motor9 in it; there are: motor1'),
    ],
)
def test_names_that_are_none_are_refused(run, tmp_path, bag, names, said) -> None:
    words = '--motion', bag, '--output', tmp_path / 'no.csv', '--joints', names
    answer = run('inverse-dynamics', 'masticator', *words)
    assert answer.status == 2 and said in answer.err
