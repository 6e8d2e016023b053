# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Choices that a description needs and imported files omit: motors and held joints."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.linalg

from masticator_dynamics.description.urdf import MOVING_TYPES
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.interchange.freedoms import freedoms
from masticator_dynamics.interchange.pose_search import LoopKinematics, close
from masticator_dynamics.interchange.robot_model import ImportedMotor, RobotModel

_AT_STOP = 1e-3  # rad or m
_NEAR_REST = 0.3  # rad or m: a spring that rests farther from the closed pose counts as soft


def require_moving(model: RobotModel, key: str, names: Sequence[str]) -> None:
    """Refuse names of joints that do not exist or do not move.

    Parameters
    ----------
    model : RobotModel
        The robot as read.
    key : str
        Key or option that names them, for the message.
    names : sequence of str
        Joints that must exist and move.
    """
    moving = [joint.name for joint in model.joints if joint.type in MOVING_TYPES]
    for name in names:
        if name not in moving:
            likely = difflib.get_close_matches(name, moving, n=1)
            meant = f'; is {likely[0]!r} meant?' if likely else f'; there are: {", ".join(moving)}'
            raise DescriptionError(model.file, key, f'moving joint {name!r} does not exist{meant}')


def choose_motors(model: RobotModel, names: Sequence[str]) -> None:
    """Put motors on joints by name, if any are named."""
    require_moving(model, 'actuated', names)
    if names:
        model.motors = {name: model.motors.get(name, ImportedMotor()) for name in names}


def hold_stiff_springs(model: RobotModel) -> None:
    """Hold joints without motors whose springs rest near the pose where the search starts.

    A joint stays free if holding it would block another, or if the weight of what it carries would
    wind its spring up as far as one that rests elsewhere.
    """
    stuck = _immobile(model) if model.springs else set()
    weights = _weights(model) if model.springs else {}
    for name, spring in list(model.springs.items()):
        start = model.guess.get(name, 0.0)
        sag = weights[name] / spring.stiffness
        if name in model.motors or max(abs(spring.reference - start), abs(sag)) >= _NEAR_REST:
            continue
        trial = copy.deepcopy(model)
        trial.lock(name, spring.reference)
        blocked = _immobile(trial) - stuck
        if blocked:
            reason = f'stays free: held, it would block {", ".join(sorted(blocked))}'
            model.notes.append(f'joint {name} with its spring {reason}')
        else:
            lock(model, name, {name: spring.reference}, 'it has a spring and no motor')


def hold_pressed_joints(model: RobotModel, positions: Mapping[str, float]) -> None:
    """Hold joints without motors that springs press against their stops."""
    while True:
        kinematics = LoopKinematics(model)
        q = np.array([positions[name] for name in kinematics.names])
        driven = [kinematics.names.index(name) for name in model.motors]
        if not driven or not model.springs:
            return
        motions, _ = freedoms(kinematics, q)
        idle = motions @ scipy.linalg.null_space(motions[driven], rcond=1e-6)
        effort = np.zeros(len(q))
        for name, spring in model.springs.items():
            joint = kinematics.names.index(name)
            effort[joint] = spring.stiffness * (spring.reference - q[joint])
        # Where the springs would move joints that no motor holds.
        yields = idle @ (idle.T @ effort)
        pressed = (yields > 0.0) & (q > kinematics.upper - _AT_STOP)
        pressed |= (yields < 0.0) & (q < kinematics.lower + _AT_STOP)
        pressed &= np.abs(yields) > 1e-6 * np.abs(effort).max(initial=0.0)
        if not pressed.any():
            return
        name = kinematics.names[int(np.argmax(np.where(pressed, np.abs(yields), 0.0)))]
        lock(model, name, positions, 'a spring presses it against its stop')


def _weights(model: RobotModel) -> dict[str, float]:
    """Effort, N m or N, of the weight of all that each joint carries, where the search starts."""
    kinematics = LoopKinematics(model)
    poses, effort = kinematics.tree.poses(kinematics.guess()), np.zeros(len(kinematics.names))
    for body, inertia in enumerate(kinematics.tree.inertias):
        center = poses.point(body, inertia.center_of_mass)
        effort += inertia.mass * np.array(model.gravity) @ poses.point_jacobian(body, center)
    return dict(zip(kinematics.names, effort.tolist(), strict=True))


def _immobile(model: RobotModel) -> set[str]:
    """Joints that the loops keep from moving."""
    kinematics = LoopKinematics(model)
    q, _ = close(kinematics, kinematics.guess())
    motions, _ = freedoms(kinematics, q)
    rows = np.linalg.norm(motions, axis=1)
    return {name for name, row in zip(kinematics.names, rows, strict=True) if row < 1e-5}


def lock(model: RobotModel, name: str, positions: Mapping[str, float], reason: str) -> None:
    """Make a joint fixed, and note it.

    Parameters
    ----------
    model : RobotModel
        Modified in place.
    name : str
        The joint.
    positions : mapping
        Joint positions, m and rad, by name.
    reason : str
        For the note.
    """
    unit = model.joint(name).unit
    model.notes.append(f'joint {name} is held at {positions[name]:.6g} {unit}: {reason}')
    model.lock(name, positions[name])
