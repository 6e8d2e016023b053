# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Force control in virtual time: one goal on the simulated robot, with its drives and a sensor."""

from __future__ import annotations

import dataclasses
import math
from collections import deque

import numpy as np

from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import (
    Commanded,
    ForceBounds,
    ForceGoal,
    ForceSensor,
    LoopTiming,
    Measured,
    Reference,
    Release,
    State,
)
from masticator_dynamics.control.pressing_path import PressingPath, Servos
from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.simulator.simulation_file import SimulationSettings
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.traced.effort_goals import Goal
from masticator_dynamics.engine.traced.stops_and_food import (
    AXIS,
    BODY,
    LAW,
    LOWER,
    POINT,
    UPPER,
    push,
)
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.chewing import opened_pose
from masticator_dynamics.robot.twin.control_chain import DYNAMICS_PERIOD, DriveChain
from masticator_dynamics.robot.twin.food import Food
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant
from masticator_dynamics.robot.twin.stops import Stops, pack_stops

_FULL = 0.98  # of an effort's limit: no more closing
_AFTER = 0.05  # s that are recorded after the end


@dataclasses.dataclass(frozen=True)
class SimulatedSensor:
    """A force sensor at the tooth, and what may be wrong with it."""

    noise: float = 0.2  # standard deviation, N
    late: float = 0.002  # age of a reading when it comes, s
    # Time from which on it says nothing, or always the same, s.
    silent: float = math.inf
    stuck: float = math.inf
    factor: float = 1.0  # by which it is wrong: -1 is the other sign
    seed: int = 1  # of the noise


@dataclasses.dataclass(frozen=True)
class ForceSetting:
    """A robot that presses: what is known of it, what it is, and what lies between its teeth."""

    known: Mechanism  # by which efforts are computed
    drives: Drives
    simulation: SimulationSettings  # of the drives and motors as they are
    food: Food  # the tooth is that which it lies under
    clearance: float = 0.001  # between tooth and food at the start, m
    plant: Mechanism | None = None  # what moves; by default as known
    sensor: SimulatedSensor = SimulatedSensor()
    effort_goal: Goal = 'torque'  # how redundant motors share the load
    delay: int = 1  # cycles until drives take a command
    joints_late: float = 0.0  # age of measured joints when they come, s
    friction: bool = True  # whether contacts and cranks have friction
    beyond: float = 0.0005  # travel past occlusion that may be commanded, m

    @property
    def servos(self) -> Servos:
        """Gains and limits of the drives."""
        drives = list(self.drives.drives.values())
        return Servos(
            np.array([drive.gains.position if drive.gains else math.nan for drive in drives]),
            np.array([drive.limits.velocity for drive in drives]),
            np.array([drive.limits.acceleration for drive in drives]),
            1.0 / self.drives.cycle_rate,
        )

    @property
    def timing(self) -> LoopTiming:
        """Of a control cycle of 2 ms with these drives."""
        return LoopTiming.of_drives(DYNAMICS_PERIOD, self.servos.period)

    @property
    def gap(self) -> float:
        """Of the teeth at the start, m."""
        return self.food.thickness + self.clearance

    def path(self) -> PressingPath:
        """The tooth's way to occlusion and a little beyond."""
        start = opened_pose(self.known, self.food.frame, self.gap)
        return PressingPath(
            self.known, self.food.frame, [0.0, 0.0, 1.0], start, self.gap + self.beyond,
            self.servos, towards=self.known.home.y,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ForceRecord:
    """What happened. Rows of cycles, and finer ones at every step of the simulation."""

    # (N,): s, N, N, N/m; commanded and measured travel, m; commanded velocity, m/s.
    time: FloatArray
    wanted: FloatArray
    felt: FloatArray
    stiffness: FloatArray
    travel: FloatArray
    measured: FloatArray
    speed: FloatArray
    states: tuple[State, ...]
    condyles: FloatArray  # (N, n_c): normal forces, N
    effort: FloatArray  # (N, n_u): N m
    # (M,): s; true force on the tooth, N; true gap, m.
    fine_time: FloatArray
    force: FloatArray
    gap: FloatArray
    release: Release | None
    limited: int  # steps of a servo in which its torque was clipped

    def began(self, state: State) -> float:
        """When a state began, s; NaN: never."""
        return next(
            (float(t) for t, s in zip(self.time, self.states, strict=True) if s is state), math.nan
        )

    @property
    def controlled(self) -> tuple[FloatArray, FloatArray]:
        """Time since force control began (M,), s, and true force (M,), N, while it lasted."""
        start, end = self.began(State.FORCE), self.began(State.RELEASE)
        end = self.time[-1] if math.isnan(end) else end
        inside = (self.fine_time >= start) & (self.fine_time <= end)
        return self.fine_time[inside] - start, self.force[inside]


class PressingRobot:
    """The robot of a setting in virtual time, one cycle of the control at a time.

    Attributes
    ----------
    plant : MechanismPlant
    effort, drive_effort : array, shape (n_u,)
        As commanded, and as the drives measure them, without losses, N m.
    limited : bool
        Whether an effort of the cycle before was at its limit.
    fine : list
        Time (s), true force on the tooth (N) and gap (m) at every step of the simulation.
    """

    def __init__(self, setting: ForceSetting, path: PressingPath, period: float):
        self._setting, self._path = setting, path
        plant = setting.plant or setting.known
        start = path.state(0.0, 0.0, 0.0)[0]
        self.plant = MechanismPlant(
            plant, step=setting.simulation.step, friction=setting.friction, food=setting.food,
            start=start,
        )  # fmt: skip
        gains = next(iter(setting.drives.drives.values())).gains
        assert gains is not None
        self._chain = DriveChain(
            self.plant, setting.drives, setting.simulation, gains, setting.delay
        )
        self._every = round(1.0 / (setting.drives.cycle_rate * period))
        self._steps = round(period / setting.simulation.step)
        self._teeth = _Teeth(self.plant)
        late = round(setting.sensor.late / setting.simulation.step)
        self._forces = deque([0.0] * (late + 1), maxlen=late + 1)
        self._noise = np.random.default_rng(setting.sensor.seed)
        self._limit = np.array([drive.limits.effort for drive in setting.drives.drives.values()])
        self._cycles, self._period = 0, period
        self._near, self._stuck, self._stamp = 0.0, math.nan, -math.inf
        self._joints = deque[tuple[float, FloatArray]]()  # measured, from the newest that came on
        self.limited = False
        self.drive_effort = np.zeros(len(plant.actuated))
        self.effort = np.zeros(len(plant.actuated))
        self.fine: list[tuple[float, float, float]] = []

    @property
    def time(self) -> float:
        """Since the start, s."""
        return self._cycles * self._period

    @property
    def clipped(self) -> int:
        """Steps of a servo in which its torque was clipped."""
        return self._chain.limited

    @property
    def contact_forces(self) -> FloatArray:
        """Normal forces (n_c,) of the condyles, N."""
        contacts = self._setting.known.description.contacts
        return np.asarray(self.plant.contact * [c.force_per_multiplier for c in contacts])

    def measure(self) -> Measured:
        """What the cycle that begins now knows."""
        sensor, time = self._setting.sensor, self.time
        if self._cycles % self._every == 0:
            self._measured, self.drive_effort = self._chain.measure()
            self._joints.append((time, self._measured.copy()))
        came = time - self._setting.joints_late + 1e-9
        while len(self._joints) > 1 and self._joints[1][0] <= came:
            self._joints.popleft()
        taken, positions = self._joints[0]
        age = time - taken
        self._near = self._path.measured(positions, self._near)
        force = sensor.factor * self._forces[0] + sensor.noise * self._noise.standard_normal()
        if time >= sensor.stuck:
            self._stuck = force if math.isnan(self._stuck) else self._stuck
            force = self._stuck
        if time < sensor.silent:
            self._stamp = time - sensor.late
        return Measured(time, self._near, age, force, self._stamp, limited=self.limited)

    def command(self, wanted: Commanded) -> None:
        """Move on by a cycle."""
        travel, velocity, acceleration, force = wanted
        y, y_dot, y_ddot = self._path.state(travel, velocity, acceleration)
        wrench = self._path.wrench(travel, force)
        effort = self._setting.known.feedforward(
            y, y_dot, y_ddot, wrench, goal=self._setting.effort_goal
        )
        self.effort = effort.actuated.copy()
        self.limited = bool((np.abs(self.effort) > _FULL * self._limit).any())
        if self._cycles % self._every == 0:
            time = self.time
            command = Command(effort.position, effort.velocity, effort.actuated, time, time)
            self._chain.command(command, self._measured)
        for _ in range(self._steps):
            self._chain.advance()
            force = float(-self.plant.food_force[2]) + self._teeth.force()
            self._forces.append(force)
            self.fine.append((len(self.fine) * self.plant.step, force, self.plant.food_gap))
        self._cycles += 1


class _Teeth:
    """The upper teeth, which a sensor feels, too: the law of the plant's stops, on floats."""

    def __init__(self, plant: MechanismPlant):
        self._plant, mechanism = plant, plant.mechanism
        points = pack_stops(Stops(), mechanism, mechanism.mass_matrix(mechanism.home)).points
        self._rows = [row for row in points if row[AXIS] == 2 and np.isneginf(row[LOWER])]

    def force(self) -> float:
        """Of the upper teeth on all lower ones, N."""
        if self._plant.food_gap > 1e-3:
            return 0.0
        mechanism, (y, y_dot) = self._plant.mechanism, self._plant.state
        motion = mechanism.solve(y, y_dot)
        poses = mechanism.structure.tree.poses(motion.q)
        total = 0.0
        for row in self._rows:
            point = poses.point(int(row[BODY]), row[POINT : POINT + 3])
            rate = float(poses.point_jacobian(int(row[BODY]), point)[2] @ motion.v)
            depth = float(point[2]) - row[UPPER]
            if depth > 0.0:
                total += float(push(row[LAW] * depth, depth, rate, row[LAW:]))
        return float(total)


def press(
    setting: ForceSetting,
    goal: ForceGoal,
    reference: Reference,
    *,
    bounds: ForceBounds | None = None,
    sensor: ForceSensor | None = None,
    timing: LoopTiming | None = None,
    longest: float = 4.0,
    control: type[ForceControl] = ForceControl,
) -> ForceRecord:
    """Run a goal until it is done, or a time is over, s.

    Parameters
    ----------
    setting : ForceSetting
    goal : ForceGoal
    reference : callable
        Wanted force, N, by the time since force control began, s.
    bounds, sensor, timing
        Of the law; default: those of the shipped robot.
    longest : float
        s.
    control : type
        The law.
    """
    timing = timing or setting.timing
    path = setting.path()
    law = control(path, goal, bounds, sensor, timing)
    robot = PressingRobot(setting, path, timing.period)
    rows, states, left = [], [], round(_AFTER / timing.period)
    while robot.time < longest and left > 0:
        now = robot.measure()
        commanded = law.step(now, reference)
        rows.append((
            now.time, law.wanted, now.force, law.stiffness.upper, commanded.travel, now.travel,
            commanded.velocity, *robot.contact_forces, *robot.effort,
        ))  # fmt: skip
        states.append(law.state)
        robot.command(commanded)
        left -= law.state is State.DONE
    table = np.array(rows)
    efforts = table.shape[1] - len(robot.effort)
    time, wanted, felt, stiffness, travel, measured, speed = table[:, :7].T
    fine_time, force, gap = np.array(robot.fine).T
    return ForceRecord(
        time, wanted, felt, stiffness, travel, measured, speed, tuple(states),
        table[:, 7:efforts], table[:, efforts:], fine_time, force, gap, law.release,
        robot.clipped,
    )  # fmt: skip
