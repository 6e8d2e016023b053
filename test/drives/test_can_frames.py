# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion of PDOs to feedback and setpoints to PDOs, frame by frame."""

import math
import struct

import can
import numpy as np
import pytest

from drives import simulated
from masticator_dynamics.drives.can_frames import DriveFrames
from masticator_dynamics.drives.drive_cycle import DriveGoal, Setpoint
from masticator_dynamics.drives.scaling import Scaling

ENABLED, READY, FAULT = 0x0237, 0x0231, 0x0218
RADIAN = 4096 * 5.0 / (2.0 * math.pi)  # counts, of the motors of `simulated`


def answer(node_id, word, counts, torque=0):
    data = struct.pack('<HiH', word, counts, torque & 0xFFFF)
    return can.Message(arbitration_id=0x180 + node_id, is_extended_id=False, data=data)


class Bench:
    """Two drives at 100 Hz whose frames are written by hand."""

    def __init__(self, mode='position', velocity_filter=0.0, **motor):
        drives = simulated.drives()
        settings = {name: simulated.drive(i + 1, **motor) for i, name in enumerate(drives.drives)}
        data = {'mode': mode, 'velocity_filter': velocity_filter, 'cycle_rate': 100.0}
        drives = type(drives)(schema=1, drives=settings, **data)
        motors = [drive.motor for drive in settings.values()]
        self.frames = DriveFrames(drives, Scaling(motors))
        self.time = 100.0

    def cycle(self, *answers, late=()):
        self.time += 0.01
        self.frames.sampled(self.time)
        for message in answers:
            assert self.frames.take(message)
        feedback = self.frames.feedback(np.zeros(2), (), '', 0.0)
        for message in late:
            assert self.frames.take(message)
        return feedback

    def send(self, feedback, goal, position=(0.0, 0.0), effort=(0.0, 0.0)):
        setpoint = Setpoint(goal, np.array(position), np.array(effort))
        return [bytes(message.data) for message in self.frames.to_drives(setpoint, feedback)]


def test_before_the_first_answer_nothing_is_known():
    bench = Bench()
    feedback = bench.cycle(answer(1, READY, 100))
    assert feedback.fresh.tolist() == [True, False]
    assert feedback.position[0] == pytest.approx(100 / RADIAN)
    assert np.isnan(feedback.position[1])
    assert feedback.velocity.tolist() == [0.0, 0.0]
    assert feedback.missed.tolist() == feedback.lost.tolist() == [0, 1]
    # A drive that was never heard gets no voltage, whatever is asked for.
    sent = bench.send(feedback, DriveGoal.ENABLED)
    assert [data[:2] for data in sent] == [b'\x07\x00', b'\x00\x00']


def test_numbers_of_an_answer():
    feedback = Bench().cycle(answer(1, ENABLED, -2000, -500), answer(2, FAULT, 7, 1000))
    assert feedback.status_word.tolist() == [ENABLED, FAULT]
    np.testing.assert_allclose(feedback.position * RADIAN, [-2000, 7])
    np.testing.assert_allclose(feedback.effort, [-0.25, 0.5])  # 0.1 N m rated, 5 turns


def test_answers_from_before_the_first_sync_tell_nothing():
    """Their age is not known; taken, they would leave the velocity not a number for ever."""
    bench = Bench()
    assert bench.frames.take(answer(1, READY, 100))
    assert np.isnan(bench.cycle(answer(2, READY, 0)).position[0])
    for counts in (100, 130):
        feedback = bench.cycle(answer(1, READY, counts), answer(2, READY, 0))
    np.testing.assert_allclose(feedback.velocity * RADIAN, [3000, 0])


def test_a_status_word_by_sdo_counts_only_where_no_pdo_came():
    """It may have waited behind the PDO, and would then hide the fault that the PDO tells of."""
    bench = Bench()
    bench.cycle(answer(1, ENABLED, 0), answer(2, ENABLED, 0))
    bench.time += 0.01
    bench.frames.sampled(bench.time)
    bench.frames.take(answer(1, FAULT, 0))
    for node in (1, 2):
        data = bytes.fromhex('4b41600031020000')
        told = can.Message(arbitration_id=0x580 + node, is_extended_id=False, data=data)
        assert not bench.frames.take(told)  # canopen may have asked for it, too
    feedback = bench.frames.feedback(np.zeros(2), (), '', 0.0)
    assert feedback.status_word.tolist() == [FAULT, READY]


def test_misses_in_a_row_and_in_all():
    bench = Bench()
    both = answer(1, READY, 0), answer(2, READY, 0)
    bench.cycle(*both)
    for _ in range(3):
        feedback = bench.cycle(both[0])
    assert (feedback.missed.tolist(), feedback.lost.tolist()) == ([0, 3], [0, 3])
    feedback = bench.cycle(*both)
    assert (feedback.missed.tolist(), feedback.lost.tolist()) == ([0, 0], [0, 3])


def test_a_late_answer_is_missed_but_read():
    bench = Bench()
    bench.cycle(answer(1, READY, 0), answer(2, READY, 0))
    feedback = bench.cycle(answer(1, READY, 0), late=[answer(2, FAULT, 50)])
    assert feedback.missed.tolist() == [0, 1]
    feedback = bench.cycle(answer(1, READY, 0))
    assert feedback.missed.tolist() == [0, 2]
    assert feedback.status_word[1] == FAULT
    assert feedback.position[1] == pytest.approx(50 / RADIAN)


def test_velocity_over_the_time_between_samples():
    bench = Bench()
    bench.cycle(answer(1, READY, 0), answer(2, READY, 0))
    feedback = bench.cycle(answer(1, READY, 30), answer(2, READY, -60))
    np.testing.assert_allclose(feedback.velocity * RADIAN, [3000, -6000])
    # A drive that missed a cycle: over two periods, and meanwhile what it was.
    feedback = bench.cycle(answer(1, READY, 60))
    np.testing.assert_allclose(feedback.velocity * RADIAN, [3000, -6000])
    feedback = bench.cycle(answer(1, READY, 90), answer(2, READY, -100))
    np.testing.assert_allclose(feedback.velocity * RADIAN, [3000, -2000])


def test_filter_of_velocity():
    """After a step of the slope, the remaining error is (tau / (tau + T)) ** n."""
    bench = Bench(velocity_filter=0.03)
    bench.cycle(answer(1, READY, 0), answer(2, READY, 0))
    for n in range(1, 6):
        feedback = bench.cycle(answer(1, READY, 1000 * n), answer(2, READY, 0))
    expected = 100000.0 * (1.0 - 0.75**5)
    np.testing.assert_allclose(feedback.velocity * RADIAN, [expected, 0.0])


def test_positions_may_jump_while_homing():
    bench = Bench()
    both = answer(1, READY, 0), answer(2, READY, 0)
    feedback = bench.cycle(*both)
    bench.send(feedback, DriveGoal.HOMING)
    feedback = bench.cycle(answer(1, READY, 50000), answer(2, READY, 0))
    assert feedback.velocity.tolist() == [0.0, 0.0]
    bench.send(feedback, DriveGoal.TORQUE_FREE)
    feedback = bench.cycle(answer(1, READY, 50000), answer(2, READY, 0))
    assert feedback.velocity.tolist() == [0.0, 0.0]


def test_targets():
    bench = Bench(efficiency=0.8, direction=-1)
    feedback = bench.cycle(answer(1, ENABLED, 10), answer(2, ENABLED, -20))
    sent = bench.send(feedback, DriveGoal.ENABLED, position=(1.0, -0.5), effort=(0.1, -0.2))
    assert [struct.unpack('<Hih', data) for data in sent] == [
        (0x000F, round(-RADIAN), -200),
        (0x000F, round(0.5 * RADIAN), 400),
    ]


def test_what_is_not_to_be_enabled_is_told_to_stay():
    bench = Bench()
    feedback = bench.cycle(answer(1, ENABLED, 10), answer(2, ENABLED, -20))
    for goal, word in ((DriveGoal.TORQUE_FREE, 0), (DriveGoal.STOPPED, 2)):
        sent = bench.send(feedback, goal, position=(1.0, math.nan), effort=(0.1, math.inf))
        assert [struct.unpack('<Hih', d) for d in sent] == [(word, 10, 0), (word, -20, 0)]


def test_effort_mode_sends_no_position():
    bench = Bench(mode='effort')
    feedback = bench.cycle(answer(1, ENABLED, 10), answer(2, ENABLED, -20))
    sent = bench.send(
        feedback, DriveGoal.ENABLED, position=(math.nan, math.nan), effort=(0.1, -9.0)
    )
    assert [struct.unpack('<Hh', data) for data in sent] == [(0x0F, 200), (0x0F, -1800)]


def test_own_frames_that_a_bus_gives_back_are_nobodys_business():
    bench = Bench()
    feedback = bench.cycle(answer(1, ENABLED, 0), answer(2, ENABLED, 0))
    sync = can.Message(arbitration_id=0x080, is_extended_id=False)
    setpoint = Setpoint(DriveGoal.ENABLED, np.zeros(2), np.zeros(2))
    for own in (sync, *bench.frames.to_drives(setpoint, feedback)):
        assert bench.frames.take(own)
    assert not bench.cycle().fresh.any()


def test_other_frames_are_left_to_others():
    frames = Bench().frames
    for identifier, data in ((0x181, b'short'), (0x183, bytes(8)), (0x701, b'\x05')):
        assert not frames.take(
            can.Message(arbitration_id=identifier, is_extended_id=False, data=data)
        )


def test_an_extended_frame_is_no_answer_whatever_its_identifier():
    frames = Bench().frames
    assert not frames.take(can.Message(arbitration_id=0x181, is_extended_id=True, data=bytes(8)))
    assert frames.take(can.Message(arbitration_id=0x181, is_extended_id=False, data=bytes(8)))


def test_two_answers_to_one_sync_do_not_stand_for_two_drives():
    bench = Bench()
    feedback = bench.cycle(answer(1, READY, 0), answer(1, READY, 5))
    assert feedback.fresh.tolist() == [True, False]
    assert bench.frames.outstanding == 0


def test_fault_reset_is_a_slow_alternation():
    """An edge every 20 ms, i.e. every two cycles of 10 ms."""
    bench = Bench()
    feedback = bench.cycle(answer(1, FAULT, 0), answer(2, READY, 0))
    words = [bench.send(feedback, DriveGoal.RESET) for _ in range(12)]
    first = [word[0][0] >> 7 for word in words]
    runs = ''.join(map(str, first)).strip('0')
    assert '0110' in ''.join(map(str, first)) and '111' not in runs and '000' not in runs
    assert {word[1][:2] for word in words} == {b'\x00\x00'}


@pytest.mark.parametrize(
    ('measured', 'friction'), [(0.0, 20), (5.0, 20), (0.15, 20), (-0.15, 20), (-5.0, 0)]
)
def test_friction_is_not_overcome_against_the_measured_velocity_in_mode_effort(measured, friction):
    """20 per mille of Coulomb friction for a commanded 5 rad/s."""
    bench = Bench(mode='effort', friction={'coulomb': 0.002})
    both = answer(1, ENABLED, 0), answer(2, ENABLED, 0)
    feedback = bench.cycle(*both)
    feedback = feedback._replace(velocity=np.array([measured, 0.0]))
    setpoint = Setpoint(DriveGoal.ENABLED, np.zeros(2), np.zeros(2), np.array([5.0, 0.0]))
    sent = bytes(bench.frames.to_drives(setpoint, feedback)[0].data)
    assert struct.unpack('<Hh', sent)[1] == friction


@pytest.mark.parametrize('mode', ['position', 'effort'])
def test_torque_is_within_the_effort_limit_and_friction_at_the_velocity_limit(mode):
    """0.9 N m through a gear of 5 are 1800 per mille of 0.1 N m; 20 go to friction."""
    bench = Bench(mode=mode, friction={'coulomb': 0.002})
    both = answer(1, ENABLED, 0), answer(2, ENABLED, 0)
    feedback = bench.cycle(*both)
    for effort, velocity, most in ((0.9, 30.0, 1820), (5.0, 60000.0, 1820), (-5.0, -6e4, -1820)):
        setpoint = Setpoint(
            DriveGoal.ENABLED, np.zeros(2), np.full(2, effort), np.full(2, velocity)
        )
        sent = bytes(bench.frames.to_drives(setpoint, feedback)[0].data)
        assert struct.unpack('<h', sent[-2:])[0] == most


def test_a_drive_that_answers_more_often_than_it_is_asked_is_told():
    bench = Bench()
    both = answer(1, READY, 0), answer(2, READY, 0)
    assert bench.frames.take(both[0])  # of before the first SYNC
    assert bench.cycle(*both).other_master == ''
    told = 'another node answers as crank_2 (0x182)'
    assert bench.cycle(*both, both[1]).other_master == told
    assert bench.cycle(*both, late=[both[1]]).other_master == ''
    assert bench.cycle(*both).other_master == told  # came after the cycle in which it was sent
    assert bench.cycle(*both).other_master == ''


def test_answers_that_come_late_are_a_drives_own():
    bench = Bench()
    one, two = answer(1, READY, 0), answer(2, READY, 0)
    bench.cycle(one, two)
    bench.cycle(one)
    assert bench.cycle(one, two).other_master == ''  # that of the cycle before
    assert bench.cycle(one, two, late=[two]).other_master == ''
    for _ in range(5):
        bench.cycle(one)
    for _ in range(500):  # what was lost long ago excuses nothing
        bench.cycle(one, two)
    assert bench.cycle(one, two, two).other_master == 'another node answers as crank_2 (0x182)'


def test_a_drive_that_answers_late_and_then_in_time_again_is_one_node():
    bench = Bench()
    one, two = answer(1, READY, 0), answer(2, READY, 0)
    for _ in range(12):
        bench.cycle(one)
    for _ in range(100):
        assert bench.cycle(one, two).other_master == ''  # each to a SYNC of twelve cycles ago
    for _ in range(12):
        assert bench.cycle(one, two, two).other_master == ''
    for _ in range(500):
        assert bench.cycle(one, two).other_master == ''
    assert bench.cycle(one, two, two).other_master == 'another node answers as crank_2 (0x182)'
