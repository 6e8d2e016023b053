# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A twin with numbers that its files do not have, what its recording tells, and what that is worth.

Rows for the study of feedforward: numbers of the file, numbers identified from what the drives
measure while the twin follows an exciting motion, and the true ones; then the food's force as a
sensor has it, and as the observer tells it from the motors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from masticator_dynamics.drives.configuration import Drives, MotorFriction, changed
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError
from masticator_dynamics.identification.bite_observer import BiteObserver, measured_by
from masticator_dynamics.identification.excitation import exciting_motion
from masticator_dynamics.identification.identify import identify
from masticator_dynamics.identification.robot_log import RobotLog
from masticator_dynamics.identification.written import with_drive_friction
from masticator_dynamics.robot.twin.control_chain import (
    CommandedMotion,
    ControlKind,
    Felt,
    feedforward,
    follow,
)
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant
from masticator_dynamics.robot.twin.stops import TEETH
from masticator_dynamics.robot.twin.study import Case, StudySetting, with_friction

INERTIA, FRICTION = 0.2, 0.5  # parts by which numbers differ at most
_LEARNT = 0.75  # of the recording; the rest is held out
_SMOOTH = 5  # cycles that a velocity is measured over
_UNSURE = 0.1  # of friction, after identification


def with_own_numbers(setting: StudySetting, seed: int) -> StudySetting:
    """The same files for another robot: masses, and friction of motors, cranks and sockets differ.

    Parameters
    ----------
    seed : int
        The same seed gives the same robot.
    """
    rng, model = np.random.default_rng(seed), setting.model

    def factor(part: float) -> float:
        return float(1.0 + part * rng.uniform(-1.0, 1.0))

    parameters = model.parameters(friction=True)
    links = {
        name.removesuffix('.mass'): factor(INERTIA) for name in parameters if name.endswith('.mass')
    }
    owners = {n: n.rpartition('.')[0] for n in parameters}
    values = {n: x * links[owners[n]] for n, x in parameters.items() if owners[n] in links}
    values |= {n: x * factor(FRICTION) for n, x in parameters.items() if n.endswith('.coulomb')}
    drives = {}
    for name, drive in setting.simulation.drives.items():
        law = {kind: part * factor(FRICTION) for kind, part in dict(drive.friction).items()}
        drives[name] = changed(drive, friction=MotorFriction(**law))
    simulation = changed(setting.simulation, drives=drives)
    return dataclasses.replace(setting, plant=model.with_parameters(values), simulation=simulation)


def with_true_numbers(setting: StudySetting) -> StudySetting:
    """What is known is what is simulated."""
    laws = {name: drive.friction for name, drive in setting.simulation.drives.items()}
    plant = setting.plant or setting.model
    return dataclasses.replace(setting, model=plant, drives=with_friction(setting.drives, laws))


def with_identified_numbers(setting: StudySetting, log: RobotLog) -> StudySetting:
    """What is known is what a recording of the robot tells."""
    drives, end = setting.drives, round(_LEARNT * len(log.time))
    motors = Scaling([drive.motor for drive in drives.drives.values()])
    description = with_drive_friction(setting.model.description, drives)
    parts = log.part(slice(0, end)), log.part(slice(end, None))
    values = identify(description, *parts, motors=motors).values
    laws = {}
    for joint, drive in drives.drives.items():
        law, ratio = drive.motor.friction, drive.motor.gear_ratio
        laws[joint] = MotorFriction(
            coulomb=values.get(f'{joint}.friction', law.coulomb * ratio) / ratio,
            viscous=values.get(f'{joint}.damping', law.viscous * ratio**2) / ratio**2,
        )
    parameters = setting.model.parameters(friction=True)
    model = setting.model.with_parameters({n: x for n, x in values.items() if n in parameters})
    return dataclasses.replace(setting, model=model, drives=with_friction(drives, laws))


def recorded(setting: StudySetting, duration: float = 20.0, tries: int = 10) -> RobotLog:
    """What drives measure while the robot follows an exciting motion by the numbers known so far.

    Parameters
    ----------
    setting : StudySetting
        Whose food is left out.
    duration : float
        s.
    tries : int
        Exciting motions to choose from.
    """
    model, drives = setting.model, setting.drives
    teeth = [link for link in TEETH if link in model.frames]
    motion = exciting_motion(model, duration, rate=drives.cycle_rate, tries=tries, below=teeth)
    reference = CommandedMotion.at(model, motion)
    plant = MechanismPlant(
        setting.plant or model, step=setting.simulation.step, friction=setting.friction,
        start=reference.y[0],
    )  # fmt: skip
    sent = feedforward(ControlKind.FRICTION, model, reference, model.description.platform)
    record = follow(
        reference, sent, plant, drives, setting.simulation, setting.gains, setting.delays
    )
    velocity = np.gradient(record.measured, 1.0 / drives.cycle_rate, axis=0)
    velocity = np.array(
        [np.convolve(v, np.full(_SMOOTH, 1.0 / _SMOOTH), 'same') for v in velocity.T]
    )
    return RobotLog(
        'twin', motion.time, record.measured, behind_gears(drives, record.effort, velocity.T), None
    )


def behind_gears(drives: Drives, effort: FloatArray, velocity: FloatArray) -> FloatArray:
    """Efforts as the drive layer tells them: behind gears without friction.

    Parameters
    ----------
    effort, velocity : arrays, shape (..., n_u)
        Of motors times gear ratio, N m; of joints, rad/s.
    """
    scaling = Scaling([drive.motor for drive in drives.drives.values()])
    lossless = np.zeros_like(velocity)
    return scaling.effort_from_per_mille(scaling.per_mille_from_effort(effort, lossless), velocity)


class ObservedBite:
    """The food's force as the observer tells it; for one run."""

    def __init__(self, setting: StudySetting):
        if setting.food is None:
            raise InputError('nothing is eaten: no bite to observe')
        self._drives, (settings, motors) = setting.drives, measured_by(setting.drives)
        settings = dataclasses.replace(settings, friction_error=_UNSURE)
        self._observer = BiteObserver(setting.model, setting.food.frame, settings, motors)
        self._before: FloatArray | None = None

    def __call__(self, time: float, position: FloatArray, effort: FloatArray) -> FloatArray:
        """As :data:`~masticator_dynamics.robot.twin.control_chain.Felt`."""
        before = position if self._before is None else self._before
        velocity = (position - before) * self._drives.cycle_rate
        self._before = position
        estimate = self._observer.step(time, position, behind_gears(self._drives, effort, velocity))
        return np.zeros(3) if estimate is None else estimate.guarded(self._observer.settings)


def not_felt(setting: StudySetting) -> Felt:
    """No force, whatever there is."""
    return lambda time, position, effort: np.zeros(3)


def cases(setting: StudySetting, seed: int) -> Iterator[Case]:
    """Rows of the study for a robot with numbers of its own."""
    robot = with_own_numbers(setting, seed)
    identified = with_identified_numbers(robot, recorded(robot))
    kind = ControlKind.FRICTION
    yield Case('file', 'own numbers; drives as in the file', robot, kind)
    yield Case('identified', 'own numbers, identified', identified, kind)
    yield Case('true', 'own numbers, true', with_true_numbers(robot), kind)
    yield Case('unfelt', 'identified; bite not felt', identified, kind, not_felt)
    yield Case('observed', 'identified; bite by the observer', identified, kind, ObservedBite)
