# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated servo drive's loops, from set points in bus units to the joint effort.

Positions are counts of the motor's encoder, torques per mille of the motor's rated torque. What
the drive is to do is in :class:`ServoTask`; when, is decided by the slave. :class:`Axes` are the
servos of all joints and the plant that they drive, without a bus, for the simulator and studies.
"""

from __future__ import annotations

import ctypes
import enum
import math
import operator
import types
from typing import Any, Protocol

import numpy as np

from masticator_dynamics.drives import configuration
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.simulator import servo_step
from masticator_dynamics.drives.simulator.driven_steps import DrivenPlant, DrivenSteps
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive, SimulationSettings
from masticator_dynamics.engine.arrays import FloatArray, as_slice
from masticator_dynamics.engine.traced.machine_code import this_processor
from masticator_dynamics.engine.traced.row_code import address
from masticator_dynamics.errors import InputError


class ServoTask(enum.Enum):
    """What the power stage is used for."""

    OFF = servo_step.OFF  # no voltage
    POSITION = servo_step.POSITION  # torque = gains on the position error + torque offset
    TORQUE = servo_step.TORQUE  # torque = target + offset
    STOP = servo_step.STOP  # velocity down to zero with the deceleration, then position held


class _Numbers(ctypes.Structure):
    """The numbers of a servo's row by name: several are looked at in each cycle."""

    _fields_ = tuple((name, ctypes.c_double) for name in servo_step.INPUTS)


def _number(name: str) -> Any:
    """An attribute of a servo that is a number of its row."""
    return property(
        operator.attrgetter(f'_numbers.{name}'),
        lambda servo, value: setattr(servo._numbers, name, value),
    )


class Servo:
    """One motor with its loops, a row of numbers that `Axes` advances in fixed steps.

    A new target is reached in one interpolation period. If no other follows, the demand continues
    unchanged for one more period, as drives do to bridge a late set point, and returns to the
    target within another.

    Parameters
    ----------
    row, outputs : memoryview
        Numbers ``servo_step.INPUTS`` and ``servo_step.OUTPUTS``.
    drive, simulated
        Settings of the drive and its simulation.
    step, ambient : float
        Time step, s; temperature, degrees Celsius.
    position : float
        Joint position, rad.

    Attributes
    ----------
    position_gain, velocity_gain : float
        At the joint, N m/rad and N m s/rad; the drive divides by the gear ratio, not by efficiency.
    period : float
        Time between two targets, s.
    deceleration : float
        counts/s^2, for STOP.
    max_torque : float
        Per mille, in addition to the motor's peak torque.
    following_window, following_time : float
        Largest following error in counts, and time in s for which it may be exceeded.
    torque_offset, target_torque : float
        Per mille.
    position : float
        Counts, measured.
    velocity : float
        Measured and filtered, counts/s.
    demand : float
        Counts; the measured position while the position is not controlled.
    stuck : float
        1: the encoder reading is stuck (an injected fault).
    current, temperature : float
        Of the motor, A and degrees Celsius.
    """

    position, velocity, demand = _number('position'), _number('rate'), _number('demand')
    position_gain, velocity_gain = _number('position_gain'), _number('velocity_gain')
    period, deceleration = _number('period'), _number('deceleration')
    max_torque, following_window = _number('max_torque'), _number('following_window')
    following_time, step = _number('following_time'), _number('step')
    torque_offset, target_torque = _number('torque_offset'), _number('target_torque')
    stuck, current, temperature = _number('stuck'), _number('current'), _number('temperature')

    def __init__(
        self,
        row: memoryview[float],
        outputs: memoryview[float],
        drive: configuration.Drive,
        simulated: SimulatedDrive,
        step: float,
        ambient: float,
        position: float = 0.0,
    ):
        made_of = servo_step.motor_constants(drive.motor, simulated, step, ambient) | {
            'temperature_limit': simulated.temperature_limit,
            'step': step,
            'rated': drive.motor.rated_torque,
            'per_count': math.tau / (drive.motor.counts_per_turn * drive.motor.gear_ratio**2),
            'smoothing': -math.expm1(-math.tau * simulated.velocity_filter * step),
        }
        self.row, self._outputs = row, outputs
        self._numbers: Any = _Numbers.from_buffer(row)
        for name, value in made_of.items():
            setattr(self._numbers, name, value)
        self._rated, self._torque_constant = drive.motor.rated_torque, simulated.torque_constant
        self._averages, self._mean = drive.measured_torque == 'mean', 0.0
        self.position_gain = simulated.gains.position
        self.velocity_gain = simulated.gains.velocity
        self.period, self.deceleration = 0.001, 1e6
        self.max_torque = 1000.0 * drive.motor.peak_torque / drive.motor.rated_torque
        self.following_window, self.following_time = math.inf, 0.0
        self.position = servo_step.encoder(types.SimpleNamespace(**made_of), position)
        self.temperature = ambient
        self._control = ServoTask.OFF
        self._rest()

    def _set_control(self, control: ServoTask) -> None:
        if control is self._control:
            return
        numbers = self._numbers
        self._control, numbers.control = control, control.value
        self._rest()
        if control is ServoTask.STOP:
            numbers.demand_rate = numbers.covered = numbers.rate

    # What the power stage is used for.
    control = property(operator.attrgetter('_control'), _set_control)

    @property
    def torque(self) -> float:
        """Torque according to the current, per mille: now, or the mean that was sampled last."""
        current = self._mean if self._averages else self._numbers.current
        return 1000.0 * self._torque_constant * current / self._rated

    def sample(self) -> None:
        """Take the mean of the current since the last call, with SYNC."""
        numbers = self._numbers
        if numbers.summed:
            self._mean = numbers.current_sum / numbers.summed
        numbers.current_sum = numbers.summed = 0.0

    @property
    def following_error(self) -> float:
        """Demanded minus measured position, counts."""
        return self.demand - self.position

    @property
    def following_failed(self) -> bool:
        """Whether the following error was outside its window for too long."""
        return bool(self._numbers.following_since > self._numbers.following_time)

    @property
    def following_failing(self) -> bool:
        """Whether the following error is outside its window."""
        return bool(self._numbers.following_since > 0.0)

    @property
    def saturated(self) -> bool:
        """Whether the last step's current was clipped."""
        return self._outputs[_SATURATED] > 0.0

    @property
    def limited(self) -> bool:
        """Whether the last step's torque was clipped."""
        return self._outputs[_CLIPPED] > 0.0 or self.saturated

    @property
    def stopped(self) -> bool:
        """Whether the velocity demanded by STOP has come down to zero."""
        return self._control is ServoTask.STOP and self._numbers.demand_rate == 0.0

    def command(self, target: float) -> None:
        """Go to a position in counts within one period; a drive that stops follows no target."""
        if self._control is ServoTask.STOP:
            return
        numbers = self._numbers
        numbers.target = target
        numbers.demand_rate = (target - numbers.demand) / numbers.period
        numbers.left = 2.0 * numbers.period

    def reference(self, position: float) -> None:
        """Define the present position as this many counts (homing)."""
        self._move_origin(position - self.position)

    def forget_reference(self) -> None:
        """Count from the zero of the encoder again."""
        self._move_origin(-self._numbers.shift)

    def _move_origin(self, shift: float) -> None:
        numbers = self._numbers
        numbers.shift += shift
        numbers.position += shift
        numbers.demand += shift
        numbers.target += shift

    def _rest(self) -> None:
        """Set the demand to the measured position."""
        numbers = self._numbers
        numbers.demand = numbers.target = numbers.position
        numbers.demand_rate = numbers.covered = numbers.left = 0.0
        numbers.following_since = 0.0


_CLIPPED, _SATURATED = servo_step.OUTPUTS.index('clipped'), servo_step.OUTPUTS.index('saturated')


class Plant(Protocol):
    """A machine that moves in fixed steps under the efforts of its motors.

    The plant includes the inertia of the motors' rotors, as reflected to the joints.
    """

    joints: tuple[str, ...]  # actuated joints, in the order of all arrays
    step: float  # time by which :meth:`advance` advances, s

    @property
    def position(self) -> FloatArray:
        """Positions of the joints, (n,), rad."""

    @property
    def velocity(self) -> FloatArray:
        """Velocities of the joints, (n,), rad/s."""

    def advance(self, efforts: FloatArray) -> None:
        """Move on by a step under constant efforts at the joints, (n,), N m."""


class FastPlant(Plant, Protocol):
    """One that makes several steps with the servos in machine code."""

    def driven(self) -> DrivenPlant | None:
        """How; None if this one cannot be moved on in this way."""

    def begin(self) -> int:
        """Put its state where the code looks for it; returns how many steps may be made now."""

    def end(self, steps: int, failed: bool) -> None:
        """Take its state after so many steps; ``failed`` if the next one could not be made."""


class FreeMotors:
    """Motors that each drive only an inertia; exact for constant efforts.

    Parameters
    ----------
    inertia : (n,) array
        At the joints, kg m^2.
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
        rows = np.array([self.plant.joints.index(joint) for joint in joints])
        self._rows = as_slice(rows)
        code = servo_step.machine_code()
        lanes = this_processor().rows
        count = -(-len(joints) // lanes) * lanes  # lanes without a servo are ignored
        inputs, outputs = (
            np.zeros((count, len(servo_step.INPUTS))),
            np.zeros((count, len(_OUTPUTS))),
        )
        self._step, self._tables = code.rows, (count, address(inputs), address(outputs))
        states, used = len(servo_step.STATE), slice(len(joints))
        self._state, self._new_state = inputs[:, :states], outputs[:, :states]
        self._position, self._velocity = (inputs[used, states + k] for k in (0, 1))
        effort, asks = (_OUTPUTS.index(name) for name in ('effort', 'asks'))
        self._output_efforts, self._asks = outputs[used, effort], outputs[used, asks]
        fast = self.plant.driven() if hasattr(self.plant, 'driven') else None
        self._driven = fast and DrivenSteps(
            code.address('rows'), inputs, outputs, states, effort, asks, rows, fast
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
        self._steps, self.time = 0, 0.0

    @property
    def efforts(self) -> FloatArray:
        """Joint efforts during the last step, N m, in the plant's order."""
        efforts = np.empty(len(self._output_efforts))
        efforts[self._rows] = self._output_efforts
        return efforts

    @property
    def asks(self) -> bool:
        """Whether a drive has to look at what its servo did in the last step."""
        return any([x > 0.0 for x in self._asks.tolist()])

    def advance(self, most: int = 1) -> int:
        """Advance by up to so many steps, as far as no drive has to look; returns how many."""
        made, failed = self._together(most), False
        if made < 0:
            made, failed = -1 - made, True
        elif not made:
            self._position[:] = self.plant.position[self._rows]
            self._velocity[:] = self.plant.velocity[self._rows]
            self._step(*self._tables)
            self._state[:] = self._new_state
        self._count(made)
        if failed or not made:
            self.plant.advance(self.efforts)
            self._count(1)
            made += 1
        return made

    def _count(self, steps: int) -> None:
        self._steps += steps
        self.time = self._steps * self.plant.step

    def _together(self, most: int) -> int:
        """Make steps in machine code, see `DrivenSteps`; 0 if it makes none."""
        if self._driven is None:
            return 0
        plant: FastPlant = self.plant  # type: ignore[assignment]  # it has ``driven``
        steps = min(most, plant.begin())
        if not steps:
            return 0
        made = self._driven(steps)
        plant.end(*((-1 - made, True) if made < 0 else (made, False)))
        return made
