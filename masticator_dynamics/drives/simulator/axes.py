# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All simulated servos on their plant, without a bus: what the simulator and studies step."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.simulator.plant import FreeMotors, Plant
from masticator_dynamics.drives.simulator.servo import Servo
from masticator_dynamics.drives.simulator.simulation import Simulation
from masticator_dynamics.errors import InputError


class Axes:
    """Servos and plant, advanced together.

    Parameters
    ----------
    drives : Drives
    simulation : Simulation
    plant : Plant, optional
        Its joints, in any order, are those of the drives. Default: motors that turn freely.

    Attributes
    ----------
    servos : dict of Servo
        By joint, in the order of the drives file.
    time : float
        s, advanced so far.

    Raises
    ------
    InputError
        Where drives and plant do not go together.
    """

    def __init__(self, drives: Drives, simulation: Simulation, plant: Plant | None = None):
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
        self._rows = [self.plant.joints.index(joint) for joint in joints]
        start = self.plant.position
        self.servos = {
            joint: Servo(
                drives.drives[joint],
                simulation.drives[joint],
                simulation.step,
                simulation.ambient,
                float(start[row]),
            )
            for joint, row in zip(joints, self._rows, strict=True)
        }
        self._steps = 0

    @property
    def time(self) -> float:
        """Advanced so far, s."""
        return self._steps * self.plant.step

    def advance(self) -> None:
        """Move on by a step."""
        position, velocity = self.plant.position.tolist(), self.plant.velocity.tolist()
        efforts = np.empty(len(self._rows))
        for servo, row in zip(self.servos.values(), self._rows, strict=True):
            efforts[row] = servo.advance(position[row], velocity[row])
        self.plant.advance(efforts)
        self._steps += 1
