# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a commanded motion to the motion that simulated drives make of it, in virtual time.

The delays are those of the real chain, in cycles of the drives (SYNC k at ``k / rate``):

- At SYNC k the drives measure; the master sends what the motion asks at that instant.
- Drives take it at SYNC k + 1: efforts are held from there to SYNC k + 2, positions are approached
  linearly and reached at SYNC k + 2. Both are therefore led, positions with their velocity by two
  cycles, efforts with their rate by one and a half.
- The force of the food in those efforts was measured ``bite_age`` before SYNC k: the twin, or a
  sensor, publishes it; the dynamics node takes it in its next cycle and is heard at SYNC k. By so
  much it stays late.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable

import numpy as np

from masticator_dynamics.drives.configuration import Drives, Gains
from masticator_dynamics.drives.following import ahead
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.drives.simulator.axes import Axes
from masticator_dynamics.drives.simulator.servo import Control, Servo
from masticator_dynamics.drives.simulator.simulation import Simulation
from masticator_dynamics.drives.trend import Trend
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.frames import FrameChain
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.path import MotionPath
from masticator_dynamics.twin.feedforward import Feedforward
from masticator_dynamics.twin.plant import MechanismPlant

# Is told the plant and the drives' efforts in every cycle; the run ends where it says so.
Watch = Callable[[MechanismPlant, FloatArray], bool]

DYNAMICS_PERIOD = 0.002  # s, of the dynamics node


@dataclasses.dataclass(frozen=True)
class Timing:
    """When things happen.

    Attributes
    ----------
    rate : float
        Hz, cycles of the drives.
    delay : int
        Cycles until a command is taken by the drives.
    lead : float
        s by which positions are led with their velocity.
    effort_lead : float
        s by which efforts are led with their rate.
    bite_age : float
        s, of the food's force when it is used.
    """

    rate: float
    delay: int
    lead: float
    effort_lead: float = 0.0
    bite_age: float = DYNAMICS_PERIOD

    @classmethod
    def of_chain(cls, drives: Drives) -> Timing:
        """One cycle to the drives, one to approach the target; the age of the dynamics node."""
        return cls(drives.cycle_rate, 1, drives.lead, drives.lead_of_effort)


@dataclasses.dataclass(frozen=True)
class Reference:
    """A commanded motion at every cycle; rows are cycles.

    Attributes
    ----------
    time : array, shape (N,)
        s.
    y, y_dot, y_ddot : array, shape (N, n_y)
    position, velocity : array, shape (N, n_u)
        Of the actuated joints.
    q : array, shape (N, n_q)
        Tree positions.
    incisor : array, shape (N, 3)
        m, base axes.
    """

    time: FloatArray
    y: FloatArray
    y_dot: FloatArray
    y_ddot: FloatArray
    position: FloatArray
    velocity: FloatArray
    q: FloatArray
    incisor: FloatArray

    @classmethod
    def of(cls, mechanism: Mechanism, path: MotionPath, rate: float) -> Reference:
        """Sample a path at the drives' cycles."""
        count = int(np.ceil((path.end - path.start) * rate - 1e-9)) + 1
        time = np.arange(count) / rate
        rows = path.sample(np.minimum(path.start + time, path.end))
        motion = mechanism.feedforward_batch(*rows)
        joints = mechanism.tree_indices(mechanism.actuated)
        incisor, _ = FrameChain(mechanism, 'incisor').poses(motion.q)
        return cls(time, *rows, motion.q[:, joints], motion.v[:, joints], motion.q, incisor)


@dataclasses.dataclass(frozen=True)
class Record:
    """What a run did, at every cycle.

    Attributes
    ----------
    error : array, shape (N, 3)
        Of the incisor: where it is minus where it is commanded to be at that time, m, base axes.
    position : array, shape (N, n_u)
        Of the joints, rad.
    measured : array, shape (N, n_u)
        The same by the encoders.
    effort : array, shape (N, n_u)
        N m at the joints, of the motors before their friction and the gears' losses.
    bite : array, shape (N,)
        Magnitude of the food's force, N.
    limited : int
        Steps of a servo in which its torque was clipped.
    """

    error: FloatArray
    position: FloatArray
    measured: FloatArray
    effort: FloatArray
    bite: FloatArray
    limited: int


class Master:
    """What the drive layer does with a motion and efforts: units, limits, one cycle at a time.

    Parameters
    ----------
    drives : Drives
    timing : Timing
    rubs : bool
        Whether efforts are raised by the friction of motor and gear that the drives file tells.
    """

    def __init__(self, drives: Drives, timing: Timing, rubs: bool):
        given = list(drives.drives.values())
        self._scaling = Scaling([drive.motor for drive in given])
        self._largest = np.array([drive.limits.effort for drive in given])
        self._change = np.array([drive.limits.effort_rate for drive in given]) / timing.rate
        self._timing, self._period, self._rubs = timing, 1.0 / timing.rate, rubs
        self._loaded: Trend | None = None
        self._effort = np.zeros(len(given))
        self._velocity: FloatArray | None = None

    def measure(self, counts: FloatArray) -> FloatArray:
        """Joint positions of encoder counts."""
        return self._scaling.position_from_counts(counts)

    def counts(self, position: FloatArray, velocity: FloatArray) -> FloatArray:
        """Target of a commanded position and velocity, counts."""
        before = velocity if self._velocity is None else self._velocity
        self._velocity = velocity
        acceleration = (velocity - before) / self._period
        led = ahead(position, velocity, acceleration, self._timing.lead)
        return self._scaling.counts_from_position(led)

    def per_mille(self, effort: FloatArray, velocity: FloatArray) -> FloatArray:
        """Torque offset of a commanded effort and velocity."""
        before = self._loaded or Trend.begin(0.0, effort)
        self._loaded = before.then(before.stamp + self._period, effort, np.inf)
        led = self._loaded.ahead(self._timing.effort_lead)
        wanted = np.clip(led, -self._largest, self._largest)
        self._effort = np.clip(wanted, self._effort - self._change, self._effort + self._change)
        torque = self._scaling.per_mille_from_effort(self._effort, velocity)
        if self._rubs:
            torque = torque + self._scaling.per_mille_of_friction(velocity)
        return np.rint(torque)


def follow(
    reference: Reference,
    feedforward: Feedforward,
    plant: MechanismPlant,
    drives: Drives,
    simulation: Simulation,
    gains: Gains,
    timing: Timing,
    rubs: bool = True,
    watch: Watch | None = None,
) -> Record:
    """Run a reference through master, drives and plant.

    Parameters
    ----------
    plant : MechanismPlant
        At the start of the reference; its step is that of the simulation.
    gains : Gains
        Of all drives.
    rubs : bool
        Whether the drive layer overcomes the friction of motors and gears that it knows of.
    watch : callable, optional
        Looks on in every cycle; the run ends when it returns True.

    Raises
    ------
    InputError
        When a cycle is no whole number of the simulation's steps.
    SimulationError
        When the mechanism gets where it cannot be.
    """
    axes, servos = _servos(drives, simulation, plant, gains, timing)
    steps = _steps_per_cycle(timing, simulation)
    master = Master(drives, timing, rubs)
    none = np.zeros(len(servos))
    waiting = deque([(master.counts(plant.position, none), none)] * timing.delay)
    forces = deque([np.zeros(3)], maxlen=round(timing.bite_age / simulation.step) + 1)
    forces.append(plant.food_force)
    q, rows, limited = np.empty_like(reference.q), [], 0
    for k in range(len(reference.time)):
        measured = master.measure(np.array([float(servo.position) for servo in servos]))
        q[k] = plant.tree_positions
        rows.append((plant.position, measured, _efforts(servos, drives), plant.food_force))
        if watch is not None and watch(plant, rows[-1][2]):
            break
        position, velocity = reference.position[k], reference.velocity[k]
        offset = feedforward(k, forces[0])
        per_mille = none if offset is None else master.per_mille(offset, velocity)
        waiting.append((master.counts(position, velocity), per_mille))
        for servo, target, torque in zip(servos, *waiting.popleft(), strict=True):
            servo.command(target)
            servo.torque_offset = float(torque)
        for _ in range(steps):
            axes.advance()
            forces.append(plant.food_force)
            limited += sum(servo.limited for servo in servos)
    incisor, _ = FrameChain(plant.mechanism, 'incisor').poses(q[: len(rows)])
    angles, measured, efforts, bites = (np.array(column) for column in zip(*rows, strict=True))
    bite = np.linalg.norm(bites, axis=1)
    return Record(
        incisor - reference.incisor[: len(rows)], angles, measured, efforts, bite, limited
    )


def _servos(
    drives: Drives, simulation: Simulation, plant: MechanismPlant, gains: Gains, timing: Timing
) -> tuple[Axes, list[Servo]]:
    """Drives on the plant, in operation."""
    if tuple(drives.drives) != plant.joints:
        raise InputError(
            f'the drives are of {", ".join(drives.drives)}; in this order there should be '
            f'{", ".join(plant.joints)}'
        )
    axes = Axes(drives, simulation, plant)
    servos = list(axes.servos.values())
    for servo in servos:
        servo.position_gain, servo.velocity_gain = gains.position, gains.velocity
        servo.period = 1.0 / timing.rate
        servo.control = Control.POSITION
    return axes, servos


def _steps_per_cycle(timing: Timing, simulation: Simulation) -> int:
    steps = 1.0 / (timing.rate * simulation.step)
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
        raise InputError(
            f'a cycle of {1.0 / timing.rate:g} s is no whole number of steps of '
            f'{simulation.step:g} s'
        )
    return round(steps)


def _efforts(servos: list[Servo], drives: Drives) -> FloatArray:
    """N m at the joints, of the motors' torques."""
    return np.array(
        [
            servo.motor.torque * drive.motor.direction * drive.motor.gear_ratio
            for servo, drive in zip(servos, drives.drives.values(), strict=True)
        ]
    )
