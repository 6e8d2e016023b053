# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What `export-mjcf` writes moves in MuJoCo as the twin does, dry friction included."""

import dataclasses
import functools
import re

import numpy as np
import pytest

mujoco = pytest.importorskip('mujoco', reason='mujoco is not installed')

from identification.robots import chewing  # noqa: E402
from scipy.interpolate import CubicSpline  # noqa: E402

from masticator_dynamics import Mechanism  # noqa: E402
from masticator_dynamics.description import load_description  # noqa: E402
from masticator_dynamics.description.contacts import ContactFriction  # noqa: E402
from masticator_dynamics.description.data import JointPhysics  # noqa: E402
from masticator_dynamics.interchange.mjcf_export import export_mjcf  # noqa: E402
from masticator_dynamics.robot.twin.mechanism_plant import MechanismPlant  # noqa: E402
from oracles.mujoco_plant import RATE, STEP  # noqa: E402

DRY, VISCOUS = 0.006, 3e-4  # N m, N m s/rad of the cranks
GAINS = 2.0, 0.02  # N m/rad, N m s/rad: weak, so that friction shows


@functools.cache
def rubbing():
    """The jaw with friction that MuJoCo has, too: of cranks, the same under any load."""
    found = load_description('masticator')
    joints = {joint: JointPhysics(damping=VISCOUS, friction=DRY) for joint in found.actuated}
    none = ContactFriction()
    contacts = [dataclasses.replace(contact, friction=none) for contact in found.contacts]
    motors = {
        joint: dataclasses.replace(motor, friction=type(motor.friction)())
        for joint, motor in found.actuators.items()
    }
    return dataclasses.replace(found, joints=joints, contacts=tuple(contacts), actuators=motors)


def errors(position, velocity, push):
    """Of cranks (N, 6) from the strokes that they should follow, where ``push`` moves a plant."""
    rows = chewing(2.0)
    wanted = Mechanism(rubbing()).feedforward_batch(*rows)  # knows nothing of friction
    course = CubicSpline(np.arange(rows.shape[1]) / RATE, np.array(wanted.position))
    sent = CubicSpline(np.arange(rows.shape[1]) / RATE, np.array(wanted.actuated))
    found = []
    for time in np.arange(0.0, 1.98, STEP):
        error = course(time) - position()
        found.append(error)
        push(sent(time) + GAINS[0] * error + GAINS[1] * (course(time, 1) - velocity()))
    return np.array(found)


@functools.cache
def by_the_twin():
    plant = MechanismPlant(Mechanism(rubbing()), step=STEP, friction=True, stops=False)
    return errors(lambda: plant.position, lambda: plant.velocity, plant.advance)


def by_mujoco(text):
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    joints = [model.joint(name) for name in rubbing().actuated]
    places, dofs = ([int(x[0]) for x in ids] for ids in (
        [j.qposadr for j in joints], [j.dofadr for j in joints]))  # fmt: skip

    def push(effort):
        data.ctrl[:] = effort
        mujoco.mj_step(model, data)

    return errors(lambda: data.qpos[places], lambda: data.qvel[dofs], push)


def apart(text):
    """By how much tracking errors in MuJoCo differ from those of the twin, as a part of these."""
    ours = by_the_twin()
    return float(np.sqrt(((by_mujoco(text) - ours) ** 2).sum() / (ours**2).sum()))


def test_the_exported_plant_moves_as_the_twin_does() -> None:
    text = export_mjcf(rubbing()).text
    soft = re.sub(r' sol(ref|imp)friction="[^"]*"', '', text)
    assert soft != text
    print(f'apart by {apart(text):.3f}, with the default of MuJoCo by {apart(soft):.3f}')
    assert apart(text) < 0.05 < apart(soft)


def test_exported_dry_friction_holds_what_is_below_it() -> None:
    found = load_description('masticator')
    joints = {j: JointPhysics(damping=0.0, friction=0.006) for j in found.actuated}
    still = dataclasses.replace(found, joints=joints, gravity=(0.0, 0.0, 0.0))
    model = mujoco.MjModel.from_xml_string(export_mjcf(still).text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    before = data.qpos.copy()
    data.ctrl[:] = 0.8 * 0.006 * np.array([1.0, -1.0] * 3)
    for _ in range(400):
        mujoco.mj_step(model, data)
    rows = [model.joint(name).qposadr[0] for name in found.actuated]
    assert np.abs(data.qpos - before)[rows].max() < 1e-3  # MuJoCo's default: 0.27
