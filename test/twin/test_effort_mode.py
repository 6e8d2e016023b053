# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mode effort: efforts alone move the jaw through motors and gears that take their part."""

import struct

import can
import numpy as np
import pytest

from masticator_dynamics.drives.can_frames import DriveFrames
from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import changed
from masticator_dynamics.drives.desired_motion import DesiredMotion
from masticator_dynamics.drives.drive_cycle import Feedback
from masticator_dynamics.drives.following import Following
from masticator_dynamics.drives.joint_limits import DriveJointLimits
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.drives.simulator.servo import Axes, ServoTask
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant
from masticator_dynamics.robot.twin.study import StudySetting

RATE, OPENING = 500.0, 0.25  # Hz; s, in which no error has grown much yet
ENABLED = 0x1237


class Chain:
    """Drive layer, frames, servos in cyclic synchronous torque and jaw, cycle by cycle."""

    def __init__(self, setting):
        self.plant = MechanismPlant(setting.model, step=setting.simulation.step, friction=True)
        self.drives = changed(setting.drives, mode='effort')
        self.axes = Axes(self.drives, setting.simulation, self.plant)
        for servo in self.axes.servos.values():
            servo.control = ServoTask.TORQUE
        self.following = Following(DriveJointLimits(self.drives, setting.model), self.drives)
        self.frames = DriveFrames(
            self.drives, Scaling([drive.motor for drive in self.drives.drives.values()])
        )
        self.steps = round(1.0 / (RATE * setting.simulation.step))

    def feedback(self, now) -> Feedback:
        self.frames.sampled(now)
        for node, servo in enumerate(self.axes.servos.values(), 1):
            data = struct.pack('<Hih', ENABLED, round(servo.position), round(servo.torque))
            assert self.frames.take(
                can.Message(arbitration_id=0x180 + node, is_extended_id=False, data=data)
            )
        return self.frames.feedback(np.zeros(6), (), '', 0.0)

    def cycle(self, now, effort, desired):
        feedback = self.feedback(now)
        self.following.desired = desired
        assert not self.following.take(Command(None, None, effort, now, now), feedback)
        setpoint = self.following.setpoint(1.0 / RATE)
        sent = [bytes(m.data) for m in self.frames.to_drives(setpoint, feedback)]
        for _ in range(self.steps):
            self.axes.advance()
        for servo, data in zip(self.axes.servos.values(), sent, strict=True):
            servo.target_torque = float(struct.unpack('<Hh', data)[1])


@pytest.fixture(scope='module')
def setting():
    return StudySetting.shipped(chewing_stroke(strokes=1), rate=RATE)


def opened(setting, told):
    """Positions while the jaw opens, and the motion that the efforts are for, (N, 6) each."""
    motion, chain, rows = setting.reference, Chain(setting), []
    count = round(OPENING * RATE)
    efforts = setting.model.feedforward_batch(
        motion.y, motion.y_dot, motion.y_ddot, friction=True
    ).actuated
    for k in range(count):
        rows.append(chain.plant.position)
        now = 100.0 + motion.time[k]
        desired = DesiredMotion(now, motion.position[k], motion.velocity[k])
        chain.cycle(now, efforts[k], desired if told else None)
    return np.array(rows), motion.position[:count]


def test_the_jaw_follows_its_own_feedforward(setting) -> None:
    measured, desired = opened(setting, told=True)
    moved, far = np.ptp(measured, axis=0), np.ptp(desired, axis=0).max()
    assert far > 0.5
    off = np.abs(measured - desired).max()
    print(f'{off:.3f} rad off in a motion of {far:.3f} rad')
    assert moved.max() > 0.9 * far and off < 0.1


def test_efforts_whose_motion_is_not_known_do_not_overcome_the_motors_friction(setting) -> None:
    """10 mN m at each crank, whose sign no effort tells."""
    measured, desired = opened(setting, told=False)
    assert np.ptp(measured, axis=0).max() < 0.05 < 0.5 < np.ptp(desired, axis=0).max()
