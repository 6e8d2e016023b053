# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process that checks trajectories: its answers, and what happens when it fails."""

import os
import pathlib
import signal
import time

import numpy as np
import pytest

from masticator_dynamics.errors import InputError, LimitError, ReachError
from masticator_dynamics.motion import chewing_stroke

pytest.importorskip('rclpy', reason='rclpy is not installed')

from processes import START, wait_for
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from masticator_dynamics.ros.dynamics.cycle import ExecutedMotion
from masticator_dynamics.ros.dynamics.preparation_process import PreparationError, Preparer
from masticator_dynamics.ros.dynamics.settings import DynamicsSettings
from masticator_dynamics.ros.dynamics.trajectory_checks import (
    JointsError,
    TrajectoryPoints,
    prepare,
)
from masticator_dynamics.ros.dynamics.trajectory_question import Question
from nodes.harness import Client, NodeProcess, nanoseconds, rows

pytestmark = pytest.mark.waiting

S = 10**9
TIMES = np.linspace(0.0, 60.0, 601)
CHEWING = chewing_stroke(strokes=30, period=2.0, opening=0.06)


@pytest.fixture(name='lines')
def fixture_lines():
    return []


@pytest.fixture(name='preparer')
def fixture_preparer(mechanism, lines):
    preparer = Preparer(mechanism.description, DynamicsSettings(), lines.append)
    yield preparer
    preparer.close()


def message(names, times, positions, stamp=0):
    trajectory = JointTrajectory(joint_names=list(names))
    trajectory.header.stamp.sec, trajectory.header.stamp.nanosec = divmod(stamp, S)
    for seconds, row in zip(times, positions, strict=True):
        point = JointTrajectoryPoint(positions=[float(value) for value in row])
        parts = divmod(round(seconds * 1e9), S)
        point.time_from_start.sec, point.time_from_start.nanosec = parts
        trajectory.points.append(point)
    return bytes(serialize_message(trajectory))


def at_home(mechanism):
    return mechanism.home.y, np.zeros(4), np.zeros(4)


def asked(preparer, mechanism, content, stamp=0):
    """Ask at 1 s of the node's clock."""
    schedule = ExecutedMotion(mechanism.home.y).schedule
    return preparer.prepare(Question(content, stamp, schedule, S, DynamicsSettings()))


def test_what_comes_back_is_what_the_node_would_have_computed(preparer, mechanism):
    positions = CHEWING.sample(TIMES)[0]
    order = [3, 0, 2, 1]
    names = [mechanism.independent[k] for k in order]
    there = asked(preparer, mechanism, message(names, TIMES, positions[:, order], 25 * S))
    points = TrajectoryPoints(mechanism.independent, TIMES, (positions,))
    home = at_home(mechanism)
    here = prepare(mechanism, points, home, home, 25 * S, 25 * S, DynamicsSettings())
    assert there.points == here.points == 601
    assert there.piece.start == here.piece.start and there.ramp == here.ramp
    for seconds in np.linspace(-1.0, 61.0, 50):
        for one, other in zip(there.piece.path(seconds), here.piece.path(seconds), strict=True):
            assert np.abs(one - other).max() < 1e-6  # times have whole ns in a message
    told, known = (deserialize_message(one.message, JointTrajectory) for one in (there, here))
    for field in ('positions', 'effort'):
        rows_of = [[getattr(point, field) for point in one.points] for one in (told, known)]
        assert np.abs(np.subtract(*rows_of)).max() < 1e-6
    assert tuple(told.joint_names) == mechanism.actuated
    assert nanoseconds(told.header.stamp) == 25 * S
    motions = there.piece.path.sample(there.joints.times + there.piece.path.start)
    effort = mechanism.feedforward_batch(*motions).actuated
    assert np.abs([point.effort for point in told.points] - effort).max() < 1e-9
    after = [nanoseconds(point.time_from_start) * 1e-9 for point in told.points]
    assert np.abs(after - there.joints.times).max() < 1e-9


def test_it_begins_when_its_checks_are_done(preparer, mechanism):
    """Also when the question has been on its way for long, and not before its sender wants."""
    names, home = mechanism.independent, [mechanism.home.y]
    schedule = ExecutedMotion(mechanism.home.y).schedule
    content = message(names, [1.0], home)
    question = Question(content, 0, schedule, S, DynamicsSettings())
    time.sleep(0.3)
    start = preparer.prepare(question).piece.start
    assert S * 1.305 < start < question.time() + S // 10
    later = Question(content, 0, schedule, S, DynamicsSettings(), ahead=0.7)
    assert preparer.prepare(later).piece.start > S * 1.7


def test_refusals_keep_their_kind_and_words_and_the_next_is_read(preparer, mechanism, lines):
    names = mechanism.independent
    with pytest.raises(JointsError, match="unknown joint 'knee'"):
        asked(preparer, mechanism, message(['knee'], [1.0], [[0.0]]))
    with pytest.raises(Exception, match='deserialize'):
        asked(preparer, mechanism, b'\x00\x01\x00\x00garbage')
    with pytest.raises(ReachError, match=r'at 0\.\d+ s: .*cannot close'):
        asked(preparer, mechanism, message(names, [1.0], [[0.5, 0.0, 0.0, 0.0]]))
    fast = TrajectoryPoints(names, np.array([0.02]), (np.array([[0.0, 0.0, 0.0, 0.06]]),))
    with pytest.raises(LimitError, match='crank_'):
        asked(preparer, mechanism, fast, 5 * S)
    late = DynamicsSettings().start_horizon + 100.0
    with pytest.raises(InputError, match='ahead of the clock'):
        asked(preparer, mechanism, message(names, [1.0], [mechanism.home.y], round(late * S)))
    assert not lines and preparer.failures == 0


def test_one_that_ends_is_replaced_and_says_so(preparer, mechanism, lines):
    good = message(mechanism.independent, [1.0], [mechanism.home.y])
    assert asked(preparer, mechanism, good).points == 1
    os.kill(preparer._process.pid, signal.SIGKILL)
    preparer._process.wait()
    with pytest.raises(PreparationError, match='signal 9 ended it'):
        asked(preparer, mechanism, good)
    assert preparer.failures == 1 and 'signal 9' in preparer.failure
    assert asked(preparer, mechanism, good).points == 1
    assert preparer.failure == '' and len(lines) == 1


def test_closing_does_not_wait_for_an_answer(preparer, mechanism, lines):
    good = message(mechanism.independent, [1.0], [mechanism.home.y])
    asked(preparer, mechanism, good)
    os.kill(preparer._process.pid, signal.SIGSTOP)
    preparer.close()
    with pytest.raises(PreparationError, match='the node ends'):
        asked(preparer, mechanism, good)
    assert not lines


def children(pid):
    """Processes whose parent is a process."""
    found = []
    for file in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = file.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != 'Z':
            found.append(int(file.parent.name))
    return found


@pytest.fixture(name='own')
def fixture_own(ros_domain, mechanism):
    """A node in a slow motion that lasts: client, node, path, start."""
    node = NodeProcess(namespace='prepared')
    client = Client(namespace='prepared')
    try:
        client.connect()
        answer = client.follow(mechanism.independent, TIMES, *CHEWING.sample(TIMES))
        yield client, node, nanoseconds(answer.header.stamp)
    finally:
        client.close()
        node.end(signal.SIGKILL)


def check_goes_on(client, mechanism, start, begin):
    """Check that the motion was followed from a time on, every cycle."""
    end = nanoseconds(client.collect()[-1].header.stamp)
    stamps, position, *_ = rows(client.states_between(begin, end))
    assert len(stamps) > 100 and end < start + 60 * S
    wanted = mechanism.feedforward_batch(*CHEWING.sample((stamps - start) * 1e-9)).position
    assert np.abs(position - wanted).max() < 1e-4


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGSTOP])
def test_the_motion_goes_on_while_the_process_fails(own, mechanism, number):
    client, node, start = own
    client.states_between(start, start + S // 2)
    begin, (child,) = client.now(), children(node.process.pid)
    os.kill(child, number)
    if number == signal.SIGSTOP:
        client.send(mechanism.independent, [5.0], [mechanism.home.y])
        reason = 'it has not answered for'
        client.wait_for_status('trajectory', 'ERROR', reason)
    else:
        reason = 'signal 9 ended it'
    node.wait_for_line(f'has failed: {reason}', START)
    client.wait_for_value('trajectory', 'failures of that process', '1')
    client.wait_for_value('trajectory', 'process that checks them', 'ready')
    check_goes_on(client, mechanism, start, begin)
    assert child not in children(node.process.pid)
    client.finish(client.follow(mechanism.independent, [1.0], [mechanism.home.y]))
    assert node.end() == 0 and not node.log('Traceback')


def test_it_ends_with_a_node_that_is_killed(own):
    _, node, _ = own
    (child,) = children(node.process.pid)
    node.process.kill()
    wait_for(lambda: not pathlib.Path(f'/proc/{child}').exists(), 'the end of the process')


def test_a_message_that_waits_is_overtaken_by_a_newer_one(own, mechanism):
    """While the process is busy; one that begins later overtakes nothing.

    Handed over 2.1 s after the jaw began to chew: between 2.95 and 3.41 s no way home closes.
    """
    client, node, _ = own
    (child,) = children(node.process.pid)
    names, home = mechanism.independent, [mechanism.home.y]
    os.kill(child, signal.SIGSTOP)
    client.send(names, [2.0], home)  # is being read
    time.sleep(1.0)
    before = len(client.trajectories)
    client.send(names, [2.1], home)
    client.send(names, [2.2], home)
    client.send(names, [2.3], home, start=client.now() + 30 * S)
    time.sleep(1.0)
    os.kill(child, signal.SIGCONT)
    wait_for(lambda: len(client.trajectories) == before + 3, 'three motions')
    ends = [nanoseconds(t.points[-1].time_from_start) for t in client.trajectories[before:]]
    assert ends == [2 * S, 2_200_000_000, 2_300_000_000]
    client.wait_for_value('trajectory', 'overtaken', '1')
