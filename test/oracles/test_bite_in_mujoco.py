# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The observer on a jaw that MuJoCo moves: it shares no equation of motion with us."""

import functools

import numpy as np
import pytest
import samples

mujoco = pytest.importorskip('mujoco', reason='mujoco is not installed')

from masticator_dynamics.identification.bite_observer import (  # noqa: E402
    BiteObserver,
    MotorFriction,
    ObserverSettings,
)
from masticator_dynamics.interchange.mjcf_export import export_mjcf  # noqa: E402

STEP, EVERY, SECONDS, POINT = 5e-4, 8, 4.0, 'molar_left'  # 250 Hz
COULOMB, VISCOUS = 0.006, 3e-4  # of each motor, at the joint: N m, N m s/rad
BITE = 30.0  # N


@functools.cache
def quiet():
    """The masticator without friction of its own: MuJoCo has no friction that depends on loads."""
    model = samples.mechanism('masticator')
    rubbing = [n for n in model.parameters(friction=True) if n.endswith(('coulomb', 'viscous'))]
    return model.with_parameters(dict.fromkeys(rubbing, 0.0))


def motion(time):
    """A teardrop of the jaw: y, y_dot, y_ddot."""
    w = 2.0 * np.pi * 1.2
    s, c = np.sin(w * time), np.cos(w * time)
    open_, side = np.array([-0.0008, 0.0, 0.0, 0.06]), np.array([0.0, 0.001, 0.02, 0.0])
    return (
        np.outer(1.5 - c, open_) + np.outer(s, side),
        w * (np.outer(s, open_) + np.outer(c, side)),
        w * w * (np.outer(c, open_) - np.outer(s, side)),
    )


@functools.cache
def recorded(bite):
    """Time, measured positions and torques of the motors, and the force on the jaw."""
    ours = quiet()
    model = mujoco.MjModel.from_xml_string(
        export_mjcf(samples.mechanism('masticator').description).text
    )
    model.opt.timestep, model.jnt_limited[:] = STEP, 0
    dofs = [model.joint(name).dofadr[0] for name in ours.actuated]
    model.dof_frictionloss[:], model.dof_damping[:] = 0.0, 0.0
    model.dof_frictionloss[dofs], model.dof_damping[dofs] = COULOMB, VISCOUS
    model.dof_solref[dofs] = [0.002, 1.0]
    model.dof_solimp[dofs] = [0.999, 0.9999, 0.001, 0.5, 2.0]
    data = mujoco.MjData(model)
    time = np.arange(0.0, SECONDS, STEP)
    wanted = ours.feedforward_batch(*motion(time))
    places = {name: model.joint(name).qposadr[0] for name in ours.tree_joints}
    data.qpos[list(places.values())] = wanted.q[0]
    for name, v in zip(ours.tree_joints, wanted.v[0], strict=True):
        data.qvel[model.joint(name).dofadr[0]] = v
    cranks, inputs = (
        [places[n] for n in ours.actuated],
        [model.actuator(n).id for n in ours.actuated],
    )
    mujoco.mj_forward(model, data)
    jaw = model.joint(ours.tree_joints[ours.structure.tree.frames[POINT].body]).bodyid[0]
    at = ours.frame_chain(POINT).poses(wanted.q[0])[0]
    offset = data.xmat[jaw].reshape(3, 3).T @ (at - data.xpos[jaw])
    rows = []
    share = np.maximum(0.0, -np.sin(2.0 * np.pi * 1.2 * time)) ** 2
    for k in range(len(time)):
        position, velocity = data.qpos[cranks], data.qvel[dofs]
        effort = wanted.actuated[k] + 8.0 * (wanted.position[k] - position)
        effort += 0.04 * (wanted.velocity[k] - velocity)
        effort += COULOMB * np.tanh(wanted.velocity[k] / 0.05) + VISCOUS * wanted.velocity[k]
        force = bite * share[k] * np.array([0.15, 0.1, -1.0])
        if k % EVERY == 0:
            rows.append((time[k], position.copy(), effort, force))
        data.ctrl[inputs] = effort
        data.qfrc_applied[:] = 0.0
        point = data.xpos[jaw] + data.xmat[jaw].reshape(3, 3) @ offset
        mujoco.mj_applyFT(model, data, force, np.zeros(3), point, jaw, data.qfrc_applied)
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos[places['beta']] - wanted.q[-1][ours.tree_joints.index('beta')]) < 0.01
    return rows


def observed(bite, settings, friction=1.0):
    observer = BiteObserver(
        quiet(), POINT, settings,
        MotorFriction(np.full(6, COULOMB * friction), np.full(6, VISCOUS * friction)),
    )  # fmt: skip
    found, forces = [], []
    for time, position, effort, force in recorded(bite):
        position = np.round(position / settings.count) * settings.count
        effort = np.round(effort / settings.torque_step) * settings.torque_step
        estimate = observer.step(time, position, effort)
        found.append(estimate)
        forces.append(force)
    first = round(1.0 / (STEP * EVERY))
    return found[2 + first :], np.array(forces)[1 + first : -1]


def rms(values):
    return float(np.sqrt(np.mean(np.sum(np.atleast_2d(values.T) ** 2, axis=0))))


@pytest.mark.parametrize('bite', [0.0, BITE])
def test_a_bite_in_another_simulator(bite) -> None:
    settings = ObserverSettings(friction_error=0.1, least_force=2.0)
    estimates, force = observed(bite, settings)
    off = np.array([e.force for e in estimates]) - force
    assert rms(off[:, 2]) < 0.3 and rms(off) < 0.6
    assert (np.abs(off) < np.array([e.bound for e in estimates])).mean() > 0.93
    assert not any(e.model_fault(settings) for e in estimates)
    # Sockets here have play: where their load changes sides, they knock with up to 1.5 N.
    assert bool(bite) == any(e.contact for e in estimates)


@pytest.mark.parametrize('bite', [0.0, BITE])
def test_friction_of_the_motors_thirty_percent_wrong(bite) -> None:
    settings = ObserverSettings(friction_error=0.3, least_force=2.0)
    estimates, force = observed(bite, settings, friction=1.0 / 1.3)
    off = np.array([e.force for e in estimates]) - force
    assert rms(off[:, 2]) < 0.6 and rms(off) < 1.2
    assert (np.abs(off) < np.array([e.bound for e in estimates])).mean() > 0.9
    assert estimates[-1].friction_excess == pytest.approx(0.3, abs=0.1)
    if not bite:
        assert not any(e.contact for e in estimates)
