# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motors as seen from the joints: units on the bus (counts, per mille), inertia of rotors."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from masticator_dynamics.description import MechanismDescription, load_description
from masticator_dynamics.drives.configuration import Drives, Motor
from masticator_dynamics.engine.arrays import FloatArray, between
from masticator_dynamics.errors import DescriptionError

LARGEST_COUNT = 2**31 - 1  # of 0x6064, 0x607A
_TAU = 2.0 * np.pi
# rad/s at the joint, over which the gear's loss changes sides, instead of jumping at rest.
_TURNING = 0.05


class Scaling:
    """Conversion for all drives at once; the order is that of the motors given.

    A gear with efficiency e passes on e times its input power, from motor to joint when the motor
    drives and from joint to motor when it is driven; at rest it loses nothing. Over
    |velocity| < 0.05 rad/s the exponent of e goes linearly from one to the other.
    """

    def __init__(self, motors: list[Motor]):
        def column(name: str) -> FloatArray:
            return np.array([float(getattr(motor, name)) for motor in motors])

        direction = column('direction')
        self._counts_per_radian = (
            direction * column('counts_per_turn') * column('gear_ratio') / _TAU
        )
        self._zero = column('zero')
        self._efficiency = column('efficiency')
        per_mille = 1000.0 / column('rated_torque')
        friction = [motor.friction for motor in motors]
        self._coulomb = per_mille * direction * np.array([f.coulomb for f in friction])
        self._viscous = per_mille * direction * column('gear_ratio')
        self._viscous *= np.array([f.viscous for f in friction])
        # Effort of the joint per per mille of the motor's rated torque, before the gear's loss.
        self._effort_per_mille = direction * column('rated_torque') * column('gear_ratio') / 1000.0

    def position_from_counts(self, counts: FloatArray) -> FloatArray:
        """Joint positions, rad, from encoder counts (0x6064)."""
        return counts / self._counts_per_radian + self._zero

    def counts_from_position(self, position: FloatArray) -> FloatArray:
        """Encoder counts (0x607A), rounded, as floats, from joint positions, rad."""
        return np.rint((position - self._zero) * self._counts_per_radian)

    def effort_from_per_mille(self, per_mille: FloatArray, velocity: FloatArray) -> FloatArray:
        """Efforts at the joints, N m, from motor torques (0x6077); joint velocities in rad/s."""
        effort = per_mille * self._effort_per_mille
        return effort * self._passed_on(effort, velocity)

    def per_mille_from_effort(self, effort: FloatArray, velocity: FloatArray) -> FloatArray:
        """Motor torques (0x60B2, 0x6071), not rounded, for efforts at the joints, N m."""
        return effort / (self._effort_per_mille * self._passed_on(effort, velocity))

    def per_mille_of_friction(self, velocity: FloatArray) -> FloatArray:
        """Motor torques that friction of motor and gear takes at joint velocities, rad/s.

        Use commanded velocities: with measured ones, friction would be driven, not overcome.
        Coulomb friction ramps up over |velocity| < 0.05 rad/s.
        """
        moving = between(velocity / _TURNING, -1.0, 1.0)
        return self._coulomb * moving + self._viscous * velocity

    def effort_behind_friction(self, effort: FloatArray, velocity: FloatArray) -> FloatArray:
        """What reaches the joints, N m, of efforts that `effort_from_per_mille` tells.

        Friction takes its part at the motor, before the gear does; joint velocities in rad/s.
        """
        friction = self.per_mille_of_friction(velocity)
        remainder = self.per_mille_from_effort(effort, velocity) - friction
        return self.effort_from_per_mille(remainder, velocity)

    def felt(self, effort: FloatArray, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Efforts and friction that are felt at the joints, for efforts that drives tell.

        :meth:`effort_behind_friction` is the first, N m, minus the second times friction of the
        motors and gear ratios. Where friction takes more than the motor gives, the load drives: the
        gear's loss turns round, and what the motor gives counts for more than the drive tells.
        Joint velocities in rad/s.
        """
        friction = self._passed_on(self.effort_behind_friction(effort, velocity), velocity)
        return effort * friction / self._passed_on(effort, velocity), friction

    def _passed_on(self, effort: FloatArray, velocity: FloatArray) -> FloatArray:
        """Joint effort per motor effort times ratio: e driving, 1/e driven."""
        driving = between(np.sign(effort) * velocity / _TURNING, -1.0, 1.0)
        return np.asarray(self._efficiency**driving)


def with_rotors(
    description: str | pathlib.Path | MechanismDescription, drives: Drives
) -> MechanismDescription:
    """A mechanism whose motors are those of a drives file.

    Parameters
    ----------
    description : MechanismDescription, str or path
        The mechanism without motors, or its name or path.

    Returns
    -------
    MechanismDescription
        The same with the rotors' inertia, reflected through the gears to the joints, added to that
        of the actuators that have a drive.

    Raises
    ------
    DescriptionError
        For an actuator with a transmission, whose rotor the description itself must state.
    """
    if not isinstance(description, MechanismDescription):
        description = load_description(description)
    actuators = dict(description.actuators)
    for joint, drive in drives.drives.items():
        if joint in actuators:
            motor, before = drive.motor, actuators[joint]
            if before.transmission is not None and motor.rotor_inertia:
                raise DescriptionError(
                    description.file,
                    f'actuators.{joint}.rotor_inertia',
                    'with a transmission here the rotor belongs here, too, not in the drives file',
                )
            felt = before.rotor_inertia + motor.rotor_inertia * motor.gear_ratio**2
            actuators[joint] = dataclasses.replace(before, rotor_inertia=felt)
    return dataclasses.replace(description, actuators=actuators)
