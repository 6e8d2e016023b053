# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Our reading and writing of serialised trajectories, against rclpy's."""

import struct

import numpy as np
import pytest

from masticator_dynamics.errors import InputError
from masticator_dynamics.ros.common import trajectory_cdr

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
    found = trajectory_cdr.decode(data, 5)
    assert found.stamp == 1_700_000_000_123_456_789
    assert found.joint_names == tuple(names)
    assert found.times.tolist() == [-0.5, 0.5, 1.5]
    for field in ('positions', 'velocities', 'accelerations', 'effort'):
        wanted, rows = (
            [list(getattr(point, field)) for point in message.points],
            getattr(found, field),
        )
        assert rows.counts.tolist() == [len(row) for row in wanted]
        assert rows.numbers.tolist() == [number for row in wanted for number in row]


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


def test_big_endian_is_read_as_rclpy_reads_it():
    """Written by hand: stamp, frame, one name, one point with one position."""
    head = struct.pack('>iI', 12, 34) + struct.pack('>IB3x', 1, 0)
    head += struct.pack('>I', 1) + struct.pack('>I2s2x', 2, b'x\0')
    point = struct.pack('>II', 1, 1)
    data = b'\0\0\0\0' + head + point
    data += bytes(-(len(data) - 4) % 8) + struct.pack('>d', 0.25)
    data += struct.pack('>IIIiI', 0, 0, 0, 3, 500_000_000)
    message = deserialize_message(data, JointTrajectory)
    assert (message.joint_names, list(message.points[0].positions)) == (['x'], [0.25])
    found = trajectory_cdr.decode(data, 1)
    assert (found.stamp, found.joint_names) == (12_000_000_034, ('x',))
    assert found.times.tolist() == [3.5] == [message.points[0].time_from_start.sec + 0.5]
    assert found.positions.numbers.tolist() == [0.25]
    assert found.positions.numbers.dtype.isnative


def test_a_stamp_of_more_than_a_second_beyond_its_seconds_is_refused():
    """Followed, it could not be passed on: the last second plus four fits into no message."""
    message = trajectory(['x'], 1, (1, 0, 0, 0))
    message.header.stamp.sec, message.header.stamp.nanosec = 2**31 - 1, 2**32 - 1
    with pytest.raises(InputError, match='the stamp has 4294967295 ns beyond its seconds'):
        trajectory_cdr.decode(serialize_message(message), 4)


def test_message_that_is_cut_off_is_refused():
    rows = list(np.ones((4, 3, 2)))
    data = trajectory_cdr.encode(1, ['x', 'y'], [0.0, 1.0, 2.0], rows)
    assert len(trajectory_cdr.decode(data, 2).times) == 3
    for size in range(4, len(data)):
        with pytest.raises(InputError, match='cut off'):
            trajectory_cdr.decode(data[:size], 2)


def test_what_is_too_large_is_refused_before_it_is_read(monkeypatch):
    """A few bytes may claim to hold four billion names."""
    one = list(np.ones((4, 1, 1)))

    def refused(data, reason):
        with pytest.raises(InputError, match=reason):
            trajectory_cdr.decode(data, 12)

    refused(trajectory_cdr.encode(1, ['x'] * 13, [0.0], one), '13 joint names; at most 12')
    refused(trajectory_cdr.encode(1, ['x' * 2000], [0.0], one), 'characters in a joint name')
    data = trajectory_cdr.encode(1, ['x'], [0.0], one)
    at = data.index(b'\1\0\0\0\2\0\0\0x')  # one name of two characters
    refused(data[:at] + b'\xff' * 4 + data[at + 4 :], '4294967295 joint names')
    refused(
        trajectory_cdr.encode(1, ['x'], [0.0], list(np.ones((4, 1, 13)))), '13 numbers in a row'
    )
    refused(b'\0\3' + data[2:], 'not plain CDR')
    refused(b'', 'not plain CDR')
    refused(data + bytes(16_000_000), 'bytes; at most 16000000')
    count = trajectory_cdr.MOST_POINTS + 1
    rows = list(np.ones((4, count, 1)))
    refused(trajectory_cdr.encode(1, ['x'], range(count), rows), '60001 points; at most 60000')
