# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""track-incisor: converts a recording to a motion that inverse-dynamics reads."""

import re

import numpy as np
import pytest

from masticator_dynamics import Mechanism

Y = ['x', 'y', 'alpha', 'beta']
HEADER = 'time,' + ','.join(f'{c},{c}_dot,{c}_ddot' for c in Y)


@pytest.fixture
def recording():
    """The jaw opens by 8 mm and closes, in half a second."""
    time = np.arange(0.0, 0.5, 0.005)
    course = np.sin(np.pi * time / 0.495) ** 4  # at rest, without acceleration, at the ends
    return np.column_stack([time, np.outer(course, [-1e-3, 1e-3, -8e-3])])


@pytest.fixture
def follow(run, tmp_path):
    def follow(file, *options):
        out = tmp_path / 'motion.csv'
        answer = run('track-incisor', 'masticator', '--incisor', file, '--output', out, *options)
        return answer, out

    return follow


def columns_of(frame):
    return ['time', *(f'{frame}_{axis}' for axis in 'xyz')]


@pytest.mark.parametrize('frame', ['incisor', 'molar_left'])
def test_the_frame_follows_and_the_error_is_told(follow, write, read, recording, frame) -> None:
    answer, out = follow(write(columns_of(frame), recording), '--frame', frame)
    assert answer.status == 0
    assert out.read_text().split('\n')[0] == HEADER
    motion = read(out)
    np.testing.assert_array_equal(motion['time'], recording[:, 0])
    mechanism = Mechanism.load('masticator')
    start = mechanism.frame_pose(mechanism.home, frame).position
    there = [
        mechanism.frame_pose(mechanism.solve([motion[c][k] for c in Y]), frame).position
        for k in range(len(recording))
    ]
    distance = np.linalg.norm(np.array(there) - start - recording[:, 1:], axis=1) * 1e3
    found = re.search(r'max (\S+) mm, rms (\S+) mm', answer.err)
    assert float(found[1]) == pytest.approx(distance.max(), rel=1e-3, abs=1e-6)
    assert float(found[2]) == pytest.approx(np.sqrt(np.mean(distance**2)), rel=1e-3, abs=1e-6)
    assert distance.max() < 0.05


def test_derivatives_belong_together(follow, write, read, recording) -> None:
    motion = read(follow(write(columns_of('incisor'), recording))[1])
    step = np.diff(motion['time'])
    for c in Y:
        for value, rate in ((c, f'{c}_dot'), (f'{c}_dot', f'{c}_ddot')):
            # Trapezoidal rule: what is left is of third order in the step.
            change = 0.5 * (motion[rate][1:] + motion[rate][:-1]) * step
            error = np.abs(np.diff(motion[value]) - change).max()
            assert error < 0.05 * np.abs(np.diff(motion[value])).max()


def test_the_motion_is_one_for_inverse_dynamics(run, follow, write, recording, tmp_path) -> None:
    _, motion = follow(write(columns_of('incisor'), recording))
    out = tmp_path / 'out.csv'
    answer = run('inverse-dynamics', 'masticator', '--motion', motion, '--output', out, '--strict')
    assert (answer.status, answer.err) == (0, '')


@pytest.mark.parametrize(
    ('shift', 'message'),
    [([0.0, 0.0, -0.2], 'at t = '), ([0.009, 0.0, 0.0], 'at t = ')],
    ids=['out of reach', 'out of the sockets'],
)
def test_what_cannot_be_followed_is_refused(follow, write, recording, shift, message) -> None:
    recording[40:60, 1:] += shift
    file = write(columns_of('incisor'), recording)
    answer, out = follow(file)
    assert answer.status == 2
    assert answer.err.startswith(f'masticator: error: {file}: ')
    assert message in answer.err
    assert answer.err.count('\n') == 1
    assert not out.exists()


def test_a_larger_tolerance_is_the_remedy_named(follow, write, recording) -> None:
    recording[:, 1:] *= [-4.8, 7.2, 0.9]  # the right condyle leaves its socket by 0.2 mm
    file = write(columns_of('incisor'), recording)
    refused, out = follow(file)
    assert refused.status == 2 and not out.exists()
    assert 'the worst of' in refused.err and '--tolerance' in refused.err
    assert follow(file, '--tolerance', '4e-4')[0].status == 0


def test_a_deviation_for_the_sake_of_ranges_is_told(follow, write, recording) -> None:
    recording[:, 1:] *= [-4.75, 7.125, 0.890625]
    answer, _ = follow(write(columns_of('incisor'), recording))
    assert answer.status == 0
    found = re.search(r'up to (0\.\d+) mm off the recording, most at t = (\S+) s', answer.err)
    assert 0.05 < float(found[1]) < 0.2 and float(found[2]) == pytest.approx(0.25, abs=0.01)


def test_bad_files_and_frames_are_refused(follow, write, recording) -> None:
    file = write(columns_of('incisor'), recording)
    assert "no frame 'jaw'" in follow(file, '--frame', 'jaw')[0].err
    assert 'missing columns molar_left_x' in follow(file, '--frame', 'molar_left')[0].err
    file.write_text('time,incisor_x,incisor_y,incisor_z\n0,0,0,0\n0,0,0,0\n')
    answer, out = follow(file)
    assert answer.status == 2
    assert "row 2 (line 3), column 'time': 0.0 does not increase" in answer.err
    assert not out.exists()


def test_one_row_is_a_pose_that_is_held(follow, write, read) -> None:
    answer, out = follow(write(columns_of('incisor'), [[0.5, 0.0, 0.0, -0.004]]))
    assert answer.status == 0
    motion = read(out)
    assert motion['time'] == [0.5] and motion['beta'] > 0.01
    assert all(motion[f'{name}_dot'] == 0.0 for name in ('x', 'y', 'alpha', 'beta'))


def test_the_criterion_chooses_what_moves_least(follow, write, read, recording) -> None:
    file = write(columns_of('incisor'), recording)
    mechanism = Mechanism.load('masticator')
    sideways = {}
    for criterion in ('contacts', 'lateral'):
        answer, out = follow(file, '--criterion', criterion)
        assert answer.status == 0
        motion = read(out)
        points = [
            mechanism.frame_pose(
                mechanism.solve([motion[c][k] for c in Y]), 'condyle_left'
            ).position
            for k in range(len(recording))
        ]
        sideways[criterion] = np.ptp(np.array(points)[:, 1])
    assert sideways['lateral'] < 0.5 * sideways['contacts']
    assert follow(file, '--criterion', 'fun')[0].status == 2
