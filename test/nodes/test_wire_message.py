# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Serialised messages whose numbers are replaced in place, as read by rclpy."""

from __future__ import annotations

import array

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import numpy as np  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from masticator_dynamics.ros.common.wire_message import WireMessage, WireReader  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from masticator_dynamics.ros.common import wire_message  # noqa: E402

TIME = 1_700_000_000_123_456_789


def stamped(message):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(TIME, 1_000_000_000)
    return message


def read(data, like):
    return deserialize_message(data, type(like))


@pytest.mark.parametrize('names', [['a'], ['crank_1', 'crank_2'], ['é' * k for k in range(1, 9)]])
def test_joint_state(names):
    count = len(names)
    position, velocity, effort = np.random.default_rng(count).normal(size=(3, count))
    message = stamped(JointState(name=names))
    message.header.frame_id = 'x' * count
    wire = WireMessage(message, {'position': count, 'velocity': count, 'effort': count})
    for field, row in (('position', position), ('velocity', velocity), ('effort', effort)):
        setattr(message, field, array.array('d', row.tobytes()))
    assert read(wire.filled(TIME, position, velocity, effort), message) == message


def test_fields_that_are_left_out_stay_empty():
    wire = WireMessage(JointState(name=['a', 'b']), {'effort': 2})
    expected = stamped(JointState(name=['a', 'b'], effort=[3.0, 4.0]))
    assert read(wire.filled(TIME, [3.0, 4.0]), expected) == expected


def test_nothing_to_fill_in():
    wire = WireMessage(JointState(), {'effort': 0})
    expected = stamped(JointState())
    assert read(wire.filled(TIME, np.zeros(0)), expected) == expected


def test_wrench():
    message = stamped(WrenchStamped())
    message.header.frame_id = 'molar_right'
    wire = WireMessage(message, {'wrench.force': 3, 'wrench.torque': 3})
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z = 1.0, -2.0, 3.5
    torque.x, torque.y, torque.z = 0.1, 0.2, 0.3
    assert read(wire.filled(TIME, [1.0, -2.0, 3.5], [0.1, 0.2, 0.3]), message) == message


def test_without_a_header():
    wire = WireMessage(Float64MultiArray(), {'data': 6})
    expected = Float64MultiArray(data=[float(k) for k in range(6)])
    assert read(wire.filled(TIME, np.arange(6.0)), expected) == expected


def test_bytes_given_out_stay_as_they_are():
    wire = WireMessage(Float64MultiArray(), {'data': 1})
    first = wire.filled(0, [1.0])
    wire.filled(0, [2.0])
    assert read(first, Float64MultiArray()).data.tolist() == [1.0]


def test_too_many_numbers_are_refused():
    with pytest.raises(ValueError, match='broadcast'):
        WireMessage(Float64MultiArray(), {'data': 2}).filled(0, [1.0, 2.0, 3.0])


FIELDS = ('position', 'velocity', 'effort')


def told(reader, message):
    stamp, rows = reader.read(bytes(serialize_message(message)))
    return reader.message.name, stamp, [row.tolist() for row in rows]


def numbered(names, *rows, stamp=TIME):
    message = JointState(name=names)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
    for field, row in zip(FIELDS, rows, strict=False):
        setattr(message, field, array.array('d', row))
    return message


def test_messages_are_read_as_rclpy_does_whatever_came_before():
    """Names, counts and stamps that change, each twice: once learnt and once converted."""
    rng, reader = np.random.default_rng(1), WireReader(JointState, FIELDS)
    kinds = [(['a', 'b'], 3), (['b', 'a'], 3), (['a', 'b'], 1), (['longer', 'x'], 3), ([], 0)]
    for k in range(600):
        names, filled = kinds[int(rng.integers(len(kinds)))] if k % 3 else kinds[0]
        rows = rng.normal(size=(filled, len(names)))
        stamp = int(rng.integers(0, 2**62)) % 2_000_000_000_000_000_000
        message = numbered(names, *rows, stamp=stamp)
        expected = [list(getattr(message, field)) for field in FIELDS]
        assert told(reader, message) == (names, stamp, expected)


def test_messages_alike_are_not_converted(monkeypatch):
    reader = WireReader(JointState, FIELDS)
    told(reader, numbered(['a'], [1.0], [2.0], [3.0]))
    monkeypatch.setattr(wire_message, 'deserialize_message', None)
    assert told(reader, numbered(['a'], [4.0], [5.0], [6.0], stamp=7)) == (
        ['a'], 7, [[4.0], [5.0], [6.0]],
    )  # fmt: skip


def test_the_other_order_of_bytes_is_converted():
    """From a machine of the other byte order: as long as our messages and as well-formed."""
    reader = WireReader(JointState, FIELDS)
    data = bytearray(serialize_message(numbered([], stamp=TIME)))
    assert reader.read(bytes(data))[0] == TIME
    data[1] = 0  # CDR, big-endian
    seconds, nanoseconds = divmod(TIME, 1_000_000_000)
    data[4:12] = seconds.to_bytes(4, 'big') + nanoseconds.to_bytes(4, 'big')
    data[12:16] = (1).to_bytes(4, 'big')  # frame_id: its closing zero
    assert reader.read(bytes(data))[0] == TIME


@pytest.mark.parametrize('garbage', [b'', b'\x00', bytes(40), b'\xff' * 500])
def test_garbage_is_refused_as_by_rclpy(garbage):
    reader = WireReader(JointState, FIELDS)
    told(reader, numbered(['a'], [1.0], [2.0], [3.0]))
    try:
        expected = deserialize_message(garbage, JointState)
    except Exception as error:
        with pytest.raises(type(error)):
            reader.read(garbage)
    else:
        assert reader.read(garbage)[0] == expected.header.stamp.sec * 10**9


def test_wrenches_are_read():
    reader = WireReader(WrenchStamped, ('wrench.force', 'wrench.torque'))
    for k in range(3):
        message = stamped(WrenchStamped())
        message.header.frame_id = 'molar_right'
        message.wrench.force.y, message.wrench.torque.z = 1.5 + k, -2.5 * k
        stamp, (force, torque) = reader.read(bytes(serialize_message(message)))
        assert (stamp, force.tolist(), torque.tolist()) == (
            TIME, [0.0, 1.5 + k, 0.0], [0.0, 0.0, -2.5 * k],
        )  # fmt: skip
        assert reader.message.header.frame_id == 'molar_right'
