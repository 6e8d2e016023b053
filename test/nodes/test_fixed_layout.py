# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers written into and read from serialised messages, against rclpy's own conversion."""

import struct

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from geometry_msgs.msg import WrenchStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from masticator_dynamics.ros.common import fixed_layout
from masticator_dynamics.ros.common.direct_subscription import JOINT_FIELDS
from masticator_dynamics.ros.common.fixed_layout import FixedLayout, NumbersReader

pytestmark = pytest.mark.waiting

JOINTS = ('position', 'velocity', 'effort')
NUMBER = st.floats(allow_nan=True, allow_infinity=True, width=64)
STAMP = st.integers(0, (2**31 - 1) * 10**9 + 10**9 - 1)
# Names of all lengths, so that padding before numbers is of all sizes.
NAME = st.text('abcdefghijklmnopqrstuvwxyz_0123456789é', max_size=17)


def bits(row):
    return np.asarray(row, float).tobytes()


@st.composite
def joint_states(draw):
    """A message, and its rows: each has as many numbers as names, or none."""
    names = draw(st.lists(NAME, max_size=8))
    message = JointState(name=names)
    message.header.frame_id = draw(NAME)
    stamp = draw(STAMP)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    rows = [draw(st.lists(NUMBER, min_size=n, max_size=n)) for n in draw(
        st.tuples(*[st.sampled_from([0, len(names)])] * 3)
    )]  # fmt: skip
    for field, row in zip(JOINTS, rows, strict=True):
        setattr(message, field, row)
    return message, stamp, rows


def same(one, other):
    """Whether two joint states are equal, NaN and signs of zeros included."""
    return (
        one.header == other.header
        and one.name == other.name
        and all(bits(getattr(one, field)) == bits(getattr(other, field)) for field in JOINTS)
    )


@given(joint_states(), STAMP, st.randoms(use_true_random=False))
def test_what_is_written_in_place_is_what_rclpy_reads(sample, stamp, random):
    message, _, rows = sample
    layout = FixedLayout(JointState(name=message.name, header=message.header), JOINTS,
                         [len(row) for row in rows])  # fmt: skip
    rows = [random.sample(row, len(row)) for row in rows]
    layout.write(0, [np.zeros(len(row)) for row in rows])  # what was there before is gone
    data = layout.write(stamp, [np.array(row) for row in rows])
    read = deserialize_message(data, JointState)
    assert (read.name, read.header.frame_id) == (message.name, message.header.frame_id)
    assert read.header.stamp.sec * 10**9 + read.header.stamp.nanosec == stamp
    for field, row in zip(JOINTS, rows, strict=True):
        assert bits(getattr(read, field)) == bits(row)


@given(st.lists(joint_states(), min_size=1, max_size=4))
def test_what_is_read_in_place_is_what_rclpy_reads(samples):
    """Each message twice, in turns: the second time its layout is known."""
    reader = NumbersReader(JointState, *JOINTS)
    reader.pause = 0.0
    for message, stamp, rows in (*samples, *samples):
        numbers = reader(serialize_message(message))
        assert numbers.message.name == message.name
        assert numbers.message.header.frame_id == message.header.frame_id
        assert numbers.stamp == stamp
        assert [bits(row) for row in numbers.rows] == [bits(row) for row in rows]


@given(st.lists(NUMBER, min_size=6, max_size=6), STAMP, NAME)
def test_wrenches(values, stamp, frame):
    message = WrenchStamped()
    message.header.frame_id = frame
    layout = FixedLayout(message, ('wrench.torque', 'wrench.force'), (3, 3))
    data = layout.write(stamp, [np.array(values[3:]), np.array(values[:3])])
    read = deserialize_message(data, WrenchStamped)
    force, torque = read.wrench.force, read.wrench.torque
    assert bits([force.x, force.y, force.z, torque.x, torque.y, torque.z]) == bits(values)
    reader = NumbersReader(WrenchStamped, 'wrench')
    for _ in range(2):
        numbers = reader(data)
        assert (numbers.stamp, bits(numbers.rows[0])) == (stamp, bits(values))
        assert numbers.message.header.frame_id == frame


@given(st.lists(NUMBER, max_size=9))
def test_without_a_header(values):
    data = FixedLayout(Float64MultiArray(), ('data',), (len(values),)).write(7, [np.array(values)])
    assert bits(deserialize_message(data, Float64MultiArray).data) == bits(values)
    numbers = NumbersReader(Float64MultiArray, 'data')(data)
    assert (numbers.stamp, bits(numbers.rows[0])) == (0, bits(values))


def state(names, values, frame=''):
    message = JointState(name=list(names), position=values)
    message.header.frame_id = frame
    return message


CRANKS = state('abc', [1.0, 2.0, 3.0])
OTHERS = {
    'names': state('abd', [1.0, 2.0, 3.0]),
    'order': state('acb', [1.0, 2.0, 3.0]),
    'more joints': state('abcd', [1.0, 2.0, 3.0, 4.0]),
    'fewer joints': state('ab', [1.0, 2.0]),
    'frame': state('abc', [1.0, 2.0, 3.0], 'base'),
    'velocities in place of positions': JointState(name=list('abc'), velocity=[1.0, 2.0, 3.0]),
    'a number of another field': JointState(name=list('abc'), position=[1.0, 2.0], velocity=[3.0]),
}


@pytest.mark.parametrize('other', OTHERS.values(), ids=OTHERS)
def test_another_layout_is_converted_as_usual(other, monkeypatch):
    usual, converted = fixed_layout.deserialize_message, []

    def convert(data, kind):
        converted.append(kind)
        return usual(data, kind)

    reader = NumbersReader(JointState, *JOINTS)
    reader(serialize_message(CRANKS))
    monkeypatch.setattr(fixed_layout, 'deserialize_message', convert)
    reader(serialize_message(CRANKS))
    assert not converted  # its layout is known
    numbers = reader(serialize_message(other))
    assert len(converted) == 1  # and not learnt so soon: it may never be the same
    assert same(numbers.message, other)
    assert [list(row) for row in numbers.rows] == [list(getattr(other, f)) for f in JOINTS]


def swapped(positions):
    """A joint state of one joint ``a`` whose bytes are in the other order, as CDR has it."""
    text = struct.pack('>I2s2x', 2, b'a\0')
    body = struct.pack('>iII', 0, 0, 1) + b'\0\0\0\0' + struct.pack('>I', 1) + text
    body += struct.pack('>I', len(positions)) + b'\0' * (-(len(body) + 4) % 8)
    body += struct.pack(f'>{len(positions)}d', *positions) + struct.pack('>II', 0, 0)
    return b'\0\0\0\0' + body


def test_joint_states_that_differ_in_any_numbers_have_one_layout():
    """Were a field left out that changes, each message would be converted as usual: slowly."""
    reader = NumbersReader(JointState, *JOINT_FIELDS)
    fields = [
        name for name, kind in JointState.get_fields_and_field_types().items() if 'double' in kind
    ]
    messages = [
        JointState(name=['a', 'b'], **{field: [k + 0.5, k + 0.7] for field in fields})
        for k in range(20)
    ]
    reader.pause = 0.0
    read = [reader(serialize_message(message)) for message in messages]
    # What fills gaps between fields may be anything, so that one or the other has its own.
    assert any(a.message is b.message for a, b in zip(read, read[1:], strict=False))
    assert [row.tolist() for row in read[-1].rows] == [[19.5, 19.7]] * 3


def test_the_other_order_of_bytes_is_never_taken_for_this_one():
    """Of zeros, nothing but the first four bytes tells."""
    reader = NumbersReader(JointState, *JOINTS)
    reader.pause = 0.0
    for value in (0.0, 2.5, 0.0, -1.25):
        data = swapped([value])
        assert list(deserialize_message(data, JointState).position) == [value]
        assert list(reader(data).rows[0]) == [value]
        assert list(reader(serialize_message(state('a', [value]))).rows[0]) == [value]


@pytest.mark.parametrize('data', [b'', b'\0', b'\0\1\0\0', bytes(range(200))])
def test_what_is_no_message_is_refused_as_usual(data):
    reader = NumbersReader(JointState, *JOINTS)
    with pytest.raises(Exception) as usual:
        deserialize_message(data, JointState)
    with pytest.raises(type(usual.value)):
        reader(data)


def test_cut_and_longer_messages_are_not_read_in_place():
    reader, data = NumbersReader(JointState, *JOINTS), serialize_message(CRANKS)
    reader(data)
    with pytest.raises(Exception):  # noqa: B017, PT011
        reader(data[:-60])
    assert list(reader(data + bytes(8)).rows[0]) == [1.0, 2.0, 3.0]
