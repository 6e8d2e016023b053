# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A mouthful bitten at a force, on the twin: each bite is a goal of force control."""

from __future__ import annotations

from masticator_dynamics.control.force_control import ForceControl
from masticator_dynamics.control.force_goal import ForceGoal, State
from masticator_dynamics.control.pressing_path import PressingPath
from masticator_dynamics.errors import InputError, MasticatorError, SimulationError
from masticator_dynamics.robot.laboratory.mouthful import CycleWatch, Series, shown
from masticator_dynamics.robot.laboratory.protocol import ForceBite, Mouthful, Stop
from masticator_dynamics.robot.twin.food import Food
from masticator_dynamics.robot.twin.force_run import ForceSetting, PressingRobot, SimulatedSensor
from masticator_dynamics.robot.twin.study import StudySetting

CLEARANCE = 1e-3  # m, beyond the opening that brings the next bite


def open_gap(food: Food) -> float:
    """Of the teeth before a bite, m: so wide that the food of the next one gets in."""
    return food.renewal_gap + CLEARANCE


def force_goal(bite: ForceBite) -> ForceGoal:
    """One bite as force control takes it."""
    return ForceGoal(
        most=bite.level, duration=bite.controlled, relaxation=bite.relaxation,
        approach=bite.approach,
    )  # fmt: skip


def press(mouthful: Mouthful, setting: StudySetting, stop: Stop) -> Series:
    """Bite on the twin, with the gains of the drives file and a sensor of 0.2 N noise.

    Parameters
    ----------
    mouthful : Mouthful
        With ``motion.force``.
    setting : StudySetting
        Drives and model.
    stop : Stop
        What ends it early.
    """
    bite, watch = mouthful.motion.force, CycleWatch(stop)
    assert bite is not None
    pressed = _setting(mouthful, setting)
    path, timing = pressed.path(), pressed.timing
    robot = PressingRobot(pressed, path, timing.period)
    end = 'done'
    try:
        for _ in range(bite.repetitions):
            law = ForceControl(path, force_goal(bite), timing=timing)
            while law.state is not State.DONE and watch.end == 'done':
                now = robot.measure()
                watch(robot.plant, robot.drive_effort)
                robot.command(law.step(now, bite.wanted))
            end = watch.end
            if law.release is not None and not law.release.reason.wanted:
                end = f'{law.release.reason.value}: {law.release.text}'
            if end != 'done':
                break
    except SimulationError as error:
        end = str(error)
    return watch.series(setting.model.contacts, end)


def check_bites(setting: StudySetting, mouthful: Mouthful) -> None:
    """Refuse bites that the mechanism cannot make, before anything moves.

    Raises
    ------
    InputError
        Naming the mouthful, and what is exceeded.
    """
    try:
        path: PressingPath = _setting(mouthful, setting).path()
        assert mouthful.motion.force is not None
        path.refuse_beyond_motors(mouthful.motion.force.level, 1.0)
    except MasticatorError as error:
        raise InputError(f'{shown(mouthful)}: {error}') from error


def _setting(mouthful: Mouthful, setting: StudySetting) -> ForceSetting:
    """The robot, its mouth open; noise of the sensor differs from mouthful to mouthful."""
    food = mouthful.food
    return ForceSetting(
        setting.model, setting.drives, setting.simulation, food,
        clearance=open_gap(food) - food.thickness, plant=setting.plant,
        sensor=SimulatedSensor(seed=mouthful.number), friction=setting.friction,
        effort_goal='contact-force' if _pushing(setting) else 'torque',
    )  # fmt: skip


def _pushing(setting: StudySetting) -> bool:
    """Whether there are sockets that only push, which this choice of efforts leaves last."""
    return any(contact.force_range[0] == 0.0 for contact in setting.model.description.contacts)
