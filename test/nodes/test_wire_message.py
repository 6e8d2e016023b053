# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes with numbers put in place as rclpy reads them."""

from __future__ import annotations

import array

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import numpy as np  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from masticator_dynamics.nodes.common.wire_message import WireMessage  # noqa: E402

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
