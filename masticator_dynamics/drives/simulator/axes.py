# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated servos and the plant they drive, without a bus, for the simulator and studies."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.simulator import servo_step
from masticator_dynamics.drives.simulator.servo import Servo
from masticator_dynamics.drives.simulator.simulation_file import SimulationSettings
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.traced.machine_code import this_processor
from masticator_dynamics.traced.row_code import address


class Plant(Protocol):
    """A machine that moves in fixed steps under the efforts of its motors.

    The plant includes the inertia of the motors' rotors, as reflected to the joints.

    Attributes
    ----------
    joints : tuple of str
        Actuated joints, in the order of all arrays.
    step : float
        Time by which :meth:`advance` advances, s.
    """

    joints: tuple[str, ...]
    step: float

    @property
    def position(self) -> FloatArray:
        """Positions of the joints, (n,), rad."""

    @property
    def velocity(self) -> FloatArray:
        """Velocities of the joints, (n,), rad/s."""

    def advance(self, efforts: FloatArray) -> None:
        """Move on by a step under constant efforts at the joints, (n,), N m."""


class FreeMotors:
    """Motors that each drive only an inertia; exact for constant efforts.

    Parameters
    ----------
    joints : tuple of str
    inertia : (n,) array
        kg m^2 at the joints.
    step : float
        s.
    """

    def __init__(self, joints: tuple[str, ...], inertia: FloatArray, step: float):
        self.joints, self.step = joints, step
        self._inertia = np.array(inertia, dtype=float)
        self.position = np.zeros(len(joints))
        self.velocity = np.zeros(len(joints))

    def advance(self, efforts: FloatArray) -> None:
        """Move on by a step under constant efforts at the joints, (n,), N m."""
        acceleration = efforts / self._inertia
        self.position = self.position + (self.velocity + 0.5 * self.step * acceleration) * self.step
        self.velocity = self.velocity + self.step * acceleration


_OUTPUTS = servo_step.OUTPUTS


class Axes:
    """Servos and plant, advanced together.

    Parameters
    ----------
    drives : Drives
    simulation : SimulationSettings
    plant : Plant, optional
        Its joints, in any order, are those of the drives. Default: free-running motors.

    Attributes
    ----------
    servos : dict of Servo
        By joint, in the order of the drives file.
    time : float
        Simulated time so far, s.

    Raises
    ------
    InputError
        If drives and plant do not match.
    """

    def __init__(self, drives: Drives, simulation: SimulationSettings, plant: Plant | None = None):
        joints = tuple(drives.drives)
        inertia = np.array([simulation.drives[joint].inertia for joint in joints])
        self.plant: Plant = plant or FreeMotors(joints, inertia, simulation.step)
        if sorted(self.plant.joints) != sorted(joints):
            raise InputError(
                f'the plant has the joints {", ".join(self.plant.joints)}, '
                f'the drives file {", ".join(joints)}'
            )
        if abs(self.plant.step - simulation.step) > 1e-9 * simulation.step:
            raise InputError(
                f'the plant has a step of {self.plant.step:g} s, '
                f'the simulated drives {simulation.step:g} s'
            )
        self._rows = np.array([self.plant.joints.index(joint) for joint in joints])
        self._code = servo_step.machine_code()
        lanes = this_processor().rows
        count = -(-len(joints) // lanes) * lanes  # lanes without a servo are ignored
        inputs, outputs = (
            np.zeros((count, len(servo_step.INPUTS))),
            np.zeros((count, len(_OUTPUTS))),
        )
        self._tables = count, address(inputs), address(outputs)
        kept, used = len(servo_step.STATE), slice(len(joints))
        self._state, self._new_state = inputs[:, :kept], outputs[:, :kept]
        self._position, self._velocity = (inputs[used, kept + k] for k in (0, 1))
        self._output_efforts, self._efforts = (
            outputs[used, _OUTPUTS.index('effort')],
            np.zeros(len(joints)),
        )
        start = self.plant.position[self._rows].tolist()
        self.servos = {
            joint: Servo(
                memoryview(inputs[k]),
                memoryview(outputs[k]),
                drives.drives[joint],
                simulation.drives[joint],
                simulation.step,
                simulation.ambient,
                start[k],
            )
            for k, joint in enumerate(joints)
        }
        self._steps = 0

    @property
    def time(self) -> float:
        """Simulated time so far, s."""
        return self._steps * self.plant.step

    @property
    def efforts(self) -> FloatArray:
        """Joint efforts during the last step, N m, in the plant's order."""
        return self._efforts.copy()

    def advance(self) -> None:
        """Advance by one step."""
        plant, rows, efforts = self.plant, self._rows, self._efforts
        self._position[:], self._velocity[:] = plant.position[rows], plant.velocity[rows]
        self._code.rows(*self._tables)
        self._state[:] = self._new_state
        efforts[rows] = self._output_efforts
        plant.advance(efforts)
        self._steps += 1
