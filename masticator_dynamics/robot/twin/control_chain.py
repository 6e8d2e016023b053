# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a commanded motion, and efforts sent with it, to what simulated drives do, in virtual time.

The delays are those of the real chain, in cycles of the drives (SYNC k at ``k / rate``):

- At SYNC k the drives measure; the master sends what the motion requires at that instant.
- Drives take it at SYNC k + 1: efforts are held from there to SYNC k + 2, positions are approached
  linearly and reached at SYNC k + 2. Both are therefore extrapolated, positions with their velocity
  by two cycles, efforts with their rate by one and a half.
- The force of the food in those efforts was measured ``bite_age`` before SYNC k: the twin, or a
  sensor, publishes it; the dynamics node uses it in its next cycle and is received at SYNC k. This
  delay is not compensated.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import deque
from collections.abc import Callable

import numpy as np

from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import Drives, Gains
from masticator_dynamics.drives.drive_cycle import Feedback
from masticator_dynamics.drives.following import Following
from masticator_dynamics.drives.joint_limits import DriveJointLimits
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.drives.simulator.servo import Axes, Servo, ServoTask
from masticator_dynamics.drives.simulator.simulation_file import SimulationSettings
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.frames import FrameChain, wrenches_on_platform
from masticator_dynamics.errors import InputError
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_rows import MotionRows
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant

# Efforts (n_u,) at the joints, N m, for a cycle and the food's force (3,), N; None: send none.
Feedforward = Callable[[int, FloatArray], FloatArray | None]
# Called with the plant and the drives' efforts in every cycle; ends the run by returning True.
Watch = Callable[[MechanismPlant, FloatArray], bool]

# The food's force (3,), N, base axes, from the time, s, and what the drives measure: positions
# (n_u,), rad, and efforts (n_u,) at the joints before friction and gears, N m.
Felt = Callable[[float, FloatArray, FloatArray], FloatArray]

DYNAMICS_PERIOD = 0.002  # s, of the dynamics node


@dataclasses.dataclass(frozen=True)
class Delays:
    """Delays in the chain."""

    command: int = 1  # cycles until a command is taken by the drives
    bite: float = DYNAMICS_PERIOD  # age of the food's force when it is used, s


@dataclasses.dataclass(frozen=True)
class CommandedMotion(MotionRows):
    """A commanded motion; rows are cycles."""

    position: FloatArray  # (N, n_u), of the actuated joints, rad or m
    velocity: FloatArray  # (N, n_u), of the actuated joints, rad/s or m/s
    q: FloatArray  # (N, n_q), tree positions
    incisor: FloatArray  # (N, 3), m, base axes

    @classmethod
    def of(cls, mechanism: Mechanism, path: MotionPath, rate: float) -> CommandedMotion:
        """Sample a path at the drives' cycles.

        Parameters
        ----------
        path : MotionPath
            Of its independent coordinates.
        rate : float
            Cycles of the drives, Hz.
        """
        count = int(np.ceil((path.end - path.start) * rate - 1e-9)) + 1
        time = np.arange(count) / rate
        rows = path.sample(np.minimum(path.start + time, path.end))
        return cls.at(mechanism, MotionRows(time, *rows))

    @classmethod
    def at(cls, mechanism: Mechanism, rows: MotionRows) -> CommandedMotion:
        """Complete the independent coordinates at the cycles."""
        motion = mechanism.feedforward_batch(*rows.rows)
        joints = mechanism.tree_indices(mechanism.actuated)
        incisor, _ = FrameChain(mechanism, 'incisor').poses(motion.q)
        position, velocity = motion.q[:, joints], motion.v[:, joints]
        return cls(rows.time, *rows.rows, position, velocity, motion.q, incisor)


@dataclasses.dataclass(frozen=True)
class ChainRecord:
    """What happened in a run, at every cycle."""

    # (N, 3), of the incisor: where it is minus where it is commanded to be at that time, m, base
    # axes.
    error: FloatArray
    position: FloatArray  # (N, n_u), of the joints, rad
    measured: FloatArray  # (N, n_u), the same as measured by the encoders
    # (N, n_u), at the joints, N m, of the motors before their friction and the gears' losses, as
    # measured.
    effort: FloatArray
    bite: FloatArray  # (N,), magnitude of the food's force, N
    limited: int  # steps of a servo in which its torque was clipped

    @property
    def distance(self) -> FloatArray:
        """Distance (N,) of the incisor from where it is commanded to be at that time, m."""
        return np.asarray(np.linalg.norm(self.error, axis=1))


class Master:
    """The drive layer, one cycle at a time: follows commands as on the robot, in drives' units.

    Parameters
    ----------
    position : array, shape (n_u,)
        Of the joints, held until the first command, rad.
    """

    def __init__(self, drives: Drives, mechanism: Mechanism, position: FloatArray):
        self._following = Following(DriveJointLimits(drives, mechanism), drives)
        self._following.begin(position)
        self.scaling = Scaling([drive.motor for drive in drives.drives.values()])
        self._period = 1.0 / drives.cycle_rate

    def command(self, command: Command, measured: FloatArray) -> None:
        """Follow a command, with drives at measured positions (n_u,), rad.

        Raises
        ------
        InputError
            If the drive layer refuses it.
        """
        self._following.take(command, _feedback(command.time, measured))
        if self._following.refused:
            raise InputError(f'at {command.time:.6g} s: {self._following.refusal}')

    def setpoint(self) -> tuple[FloatArray, FloatArray]:
        """Targets (n_u,), counts, and torque offsets (n_u,), per mille, of the next cycle."""
        setpoint = self._following.setpoint(self._period)
        effort, velocity = setpoint.effort, setpoint.velocity
        velocity = np.zeros(len(effort)) if velocity is None else velocity
        torque = self.scaling.per_mille_from_effort(effort, velocity)
        torque = torque + self.scaling.per_mille_of_friction(velocity)
        return self.scaling.counts_from_position(setpoint.position), np.rint(torque)


class DriveChain:
    """Master, drives and plant in virtual time: a cycle is measuring, commanding and advancing.

    Parameters
    ----------
    plant : MechanismPlant
        At rest; its step is that of the simulation.
    delay : int
        Cycles until drives take a command.

    Attributes
    ----------
    master : Master
    steps : int
        Of the simulation, in a cycle of the drives.
    limited : int
        Steps of a servo in which its torque was clipped.

    Raises
    ------
    InputError
        If a cycle is not a whole number of simulation steps.
    """

    def __init__(
        self,
        plant: MechanismPlant,
        drives: Drives,
        simulation: SimulationSettings,
        gains: Gains,
        delay: int = 1,
    ):
        self._axes, self._servos = _servos(drives, simulation, plant, gains)
        self.steps = _steps_per_cycle(drives.cycle_rate, simulation)
        self.master = Master(drives, plant.mechanism, plant.position)
        self._waiting = deque([self.master.setpoint()] * delay)
        self.limited = 0

    def measure(self) -> tuple[FloatArray, FloatArray]:
        """Positions (n_u,) by the encoders and efforts (n_u,) without losses, at the joints."""
        for servo in self._servos:
            servo.sample()
        scaling = self.master.scaling
        counts = np.array([float(servo.position) for servo in self._servos])
        commanded = np.array([np.rint(servo.torque) for servo in self._servos])
        return scaling.position_from_counts(counts), scaling.effort_from_per_mille(
            commanded, 0.0 * commanded
        )

    def command(self, command: Command, measured: FloatArray) -> None:
        """Give the master a command, and the drives the setpoint whose time has come.

        Raises
        ------
        InputError
            If the drive layer refuses it.
        """
        self.master.command(command, measured)
        self._waiting.append(self.master.setpoint())
        for servo, target, torque in zip(self._servos, *self._waiting.popleft(), strict=True):
            servo.command(target)
            servo.torque_offset = float(torque)

    def advance(self) -> None:
        """One step of the simulation."""
        self._axes.advance()
        self.limited += sum(servo.limited for servo in self._servos)


def _feedback(time: float, position: FloatArray) -> Feedback:
    """Drives in order, at positions (n_u,)."""
    none, counts = np.zeros(len(position)), np.zeros(len(position), dtype=np.int64)
    return Feedback(
        time, counts, position, none, none, none == 0.0, counts, counts, none, (), '', 0.0
    )


def follow(
    reference: CommandedMotion,
    feedforward: Feedforward,
    plant: MechanismPlant,
    drives: Drives,
    simulation: SimulationSettings,
    gains: Gains,
    delays: Delays,
    watch: Watch | None = None,
    felt: Felt | None = None,
) -> ChainRecord:
    """Run a reference through master, drives and plant.

    Parameters
    ----------
    reference : CommandedMotion
        What is commanded, cycle by cycle.
    feedforward : callable
        Efforts sent with it, from a cycle and the food's force.
    plant : MechanismPlant
        At the start of the reference; its step is that of the simulation.
    drives : Drives
        The drives file: what the drive layer checks, and how drives and motors behave.
    simulation : SimulationSettings
        Of the drives, with its step.
    delays : Delays
        Of commands and of the food's force.
    watch : callable, optional
        Called in every cycle; the run ends when it returns True.
    felt : callable, optional
        Instead of a sensor of the food's force.

    Raises
    ------
    InputError
        If a cycle is not a whole number of simulation steps, or the drive layer refuses a
        command.
    SimulationError
        If the mechanism gets where it cannot be evaluated.
    """
    chain = DriveChain(plant, drives, simulation, gains, delays.command)
    forces = deque([np.zeros(3)], maxlen=round(delays.bite / simulation.step) + 1)
    forces.append(plant.food_force)
    q, rows = np.empty_like(reference.q), []
    for k, time in enumerate(reference.time.tolist()):
        measured, effort = chain.measure()
        q[k] = plant.tree_positions
        rows.append((plant.position, measured, effort, plant.food_force))
        if watch is not None and watch(plant, effort):
            break
        force = forces[0] if felt is None else felt(time, measured, effort)
        wanted = feedforward(k, force)
        position, velocity = reference.position[k], reference.velocity[k]
        chain.command(Command(position, velocity, wanted, time, time), measured)
        for _ in range(chain.steps):
            chain.advance()
            forces.append(plant.food_force)
    incisor, _ = FrameChain(plant.mechanism, 'incisor').poses(q[: len(rows)])
    angles, measured, efforts, bites = (np.array(column) for column in zip(*rows, strict=True))
    bite = np.linalg.norm(bites, axis=1)
    return ChainRecord(
        incisor - reference.incisor[: len(rows)], angles, measured, efforts, bite, chain.limited
    )


def _servos(
    drives: Drives, simulation: SimulationSettings, plant: MechanismPlant, gains: Gains
) -> tuple[Axes, list[Servo]]:
    """Drives on the plant, in operation."""
    axes = Axes(drives, simulation, plant)
    servos = list(axes.servos.values())
    for servo in servos:
        servo.position_gain, servo.velocity_gain = gains.position, gains.velocity
        servo.period = 1.0 / drives.cycle_rate
        servo.control = ServoTask.POSITION
    return axes, servos


def _steps_per_cycle(rate: float, simulation: SimulationSettings) -> int:
    steps = 1.0 / (rate * simulation.step)
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
        raise InputError(
            f'a cycle of {1.0 / rate:g} s is no whole number of steps of {simulation.step:g} s'
        )
    return round(steps)


class ControlKind(enum.Enum):
    """From none to everything known; values are labels for tables."""

    NONE = 'PD alone'
    GRAVITY = 'PD + gravity'
    BARE = 'full, friction of the drives not known'
    FULL = 'PD + full feedforward'
    FRICTION = 'PD + full feedforward with friction'


def feedforward(
    kind: ControlKind, mechanism: Mechanism, reference: CommandedMotion, bitten: str
) -> Feedforward:
    """Efforts (n_u,) at the joints, N m, for a cycle and the food's force (3,), N, base axes.

    Gravity is that of the commanded pose at rest. Full efforts are those of the dynamics node:
    inverse dynamics of the commanded motion with the force, which acts where the bitten tooth is
    commanded to be. "With friction" means that of the mechanism. Friction of motors and gears is
    not an effort at the joints: the drive layer adds it, in all runs with efforts but one.

    Parameters
    ----------
    kind : ControlKind
        How much is known.
    mechanism : Mechanism
        What is commanded to move.
    reference : CommandedMotion
        The commanded motion.
    bitten : str
        URDF link at whose origin the force acts.
    """
    if kind is ControlKind.NONE:
        return lambda cycle, force: None
    if kind is ControlKind.GRAVITY:
        gravity = mechanism.feedforward_batch(reference.y).actuated
        return lambda cycle, force: gravity[cycle]
    friction = kind is ControlKind.FRICTION

    def full(cycle: int, force: FloatArray) -> FloatArray:
        at_bite = np.concatenate([force, np.zeros(3)])
        wrench = wrenches_on_platform(mechanism, reference.q[cycle], at_bite, point=bitten)
        y, y_dot, y_ddot = reference.y[cycle], reference.y_dot[cycle], reference.y_ddot[cycle]
        return mechanism.feedforward(y, y_dot, y_ddot, wrench, friction=friction).actuated

    return full
