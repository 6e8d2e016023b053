# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Our reading and writing of serialised trajectories, against rclpy's."""

import numpy as np
import pytest

from masticator_dynamics.nodes import trajectory_cdr

pytest.importorskip('rclpy', reason='rclpy is not installed')

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402


def trajectory(names, count, lengths, frame='', seed=0):
    rng = np.random.default_rng(seed)
    message = JointTrajectory(joint_names=names)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = 1_700_000_000, 123_456_789
    for k in range(count):
        values = [rng.normal(size=n).tolist() for n in lengths]
        point = JointTrajectoryPoint(
            positions=values[0], velocities=values[1], accelerations=values[2], effort=values[3]
        )
        point.time_from_start.sec, point.time_from_start.nanosec = k - 1, 500_000_000
        message.points.append(point)
    return message


@pytest.mark.parametrize('frame', ['', 'base', 'mandible'])
@pytest.mark.parametrize('lengths', [(2, 2, 2, 2), (3, 0, 0, 0), (1, 2, 0, 5), (0, 0, 0, 0)])
@pytest.mark.parametrize('names', [[], ['x'], ['x', 'alpha', '', 'crank_1', 'été']])
def test_decode_reads_what_rclpy_writes(names, lengths, frame):
    message = trajectory(names, 3, lengths, frame)
    data = serialize_message(message)
    assert trajectory_cdr.is_plain(data)
    found = trajectory_cdr.decode(data)
    assert found.stamp == 1_700_000_000_123_456_789
    assert found.joint_names == tuple(names)
    assert [p.time for p in found.points] == [-0.5, 0.5, 1.5]
    for point, wanted in zip(found.points, message.points, strict=True):
        for field in ('positions', 'velocities', 'accelerations', 'effort'):
            assert getattr(point, field).tolist() == list(getattr(wanted, field))
    other = trajectory_cdr.from_message(message)
    assert (other.stamp, other.joint_names) == (found.stamp, found.joint_names)
    assert [p.positions.tolist() for p in other.points] == [
        p.positions.tolist() for p in found.points
    ]


@pytest.mark.parametrize('names', [['x'], ['crank_1', 'crank_22', 'a', 'bc']])
def test_rclpy_reads_what_encode_writes(names):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4, 5, len(names)))
    times = [0.0, 0.02, 0.999999999, 1.0, 12.25]
    message = deserialize_message(
        trajectory_cdr.encode(1_700_000_000_000_000_001, names, times, list(rows)), JointTrajectory
    )
    assert message.joint_names == names
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1_700_000_000, 1)
    for k, point in enumerate(message.points):
        total = point.time_from_start.sec * 10**9 + point.time_from_start.nanosec
        assert total == round(times[k] * 1e9)
        fields = ('positions', 'velocities', 'accelerations', 'effort')
        for row, field in zip(rows, fields, strict=True):
            assert list(getattr(point, field)) == row[k].tolist()


def test_message_that_is_cut_off_is_refused():
    rows = list(np.ones((4, 3, 2)))
    data = trajectory_cdr.encode(1, ['x', 'y'], [0.0, 1.0, 2.0], rows)
    assert len(trajectory_cdr.decode(data).points) == 3
    for size in range(4, len(data)):
        with pytest.raises(ValueError, match='cut off'):
            trajectory_cdr.decode(data[:size])
