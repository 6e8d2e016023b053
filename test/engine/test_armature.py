# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Armature of joints, driven or not: efforts, energy, inertia of motors, twin, MuJoCo."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import samples
from forward import Forward

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia.storage import fingerprint
from masticator_dynamics.commands.check import _massless
from masticator_dynamics.description import description_from_text, load_description
from masticator_dynamics.description.data import JointPhysics
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.flexible.flexible_model import FlexibleModel
from masticator_dynamics.interchange.mjcf_export import export_mjcf
from papers.formulations.pus_geometry import _PusReader

NAMES = ('five_bar', 'boom', 'masticator', 'rcid', 'trimule')


def amounts(name: str) -> np.ndarray:
    """Of every joint another, but of each third none; kg m^2 or kg."""
    count = len(samples.mechanism(name).tree_joints)
    unit = 1.0 if name == 'boom' else 0.01  # an excavator's
    return np.array([0.0 if k % 3 == 1 else unit * (2 + k % 5) for k in range(count)])


def heavy(name: str) -> Mechanism:
    """A mechanism with armature, which its limbs do not share alike."""
    description, mechanism = load_description(samples.file_of(name)), samples.mechanism(name)
    joints = {
        joint: dataclasses.replace(
            description.joints.get(joint, JointPhysics(damping=0.0, friction=0.0)),
            armature=float(amount),
        )
        for joint, amount in zip(mechanism.tree_joints, amounts(name), strict=True)
    }
    return Mechanism(dataclasses.replace(description, joints=joints))


@pytest.mark.parametrize('name', NAMES)
def test_motors_accelerate_it(name: str) -> None:
    """What motors supply beyond the bare mechanism is, by virtual work, J^T diag(A) q_ddot."""
    with_armature, bare, armature = heavy(name), samples.mechanism(name), amounts(name)
    for state in samples.states(name, 3, seed=61):
        given = state.y, state.y_dot, state.y_ddot
        effort, plain = with_armature.feedforward(*given), bare.feedforward(*given)
        motion = bare.solve(*given)
        expected = motion.tangent.T @ (armature * motion.a)
        jacobian = bare.jacobian_actuated_from_independent(motion)
        more = jacobian.T @ (bare.transmission_ratios * (effort.actuated - plain.actuated))
        assert more == pytest.approx(expected, rel=1e-8, abs=1e-10 * np.abs(plain.actuated).max())
        assert np.abs(expected).max() > 1e-4 * np.abs(plain.actuated).max()
        engine = with_armature.feedforward(*given, goal={'torque': 1.0})
        assert samples.relative_error(engine.actuated, effort.actuated) < 1e-9
        batch = with_armature.feedforward_batch(*(part[None] for part in given))
        assert samples.relative_error(batch.actuated[0], effort.actuated) < 1e-10
        assert effort.balance_residual < 1e-9 * max(np.abs(effort.actuated).max(), 1.0)


@pytest.mark.parametrize('name', ['five_bar', 'boom', 'masticator'])
def test_power_becomes_kinetic_energy_in_the_twin(name: str) -> None:
    mechanism, bare = heavy(name), samples.mechanism(name)
    twin, plain = Forward(mechanism), Forward(bare)
    for state in samples.states(name, 2, seed=62):
        effort = mechanism.feedforward(state.y, state.y_dot, state.y_ddot)
        found = twin(state.y, state.y_dot, effort.actuated).y_ddot
        limit = 1e-6 * np.abs(state.y_ddot).max()
        assert found == pytest.approx(state.y_ddot, rel=1e-6, abs=limit)
        without = plain(state.y, state.y_dot, effort.actuated).y_ddot
        assert np.abs(without - found).max() > 10 * limit
        motion = bare.solve(state.y)
        tangent = motion.tangent
        expected = bare.mass_matrix(motion) + tangent.T * amounts(name) @ tangent
        assert samples.relative_error(mechanism.mass_matrix(motion), expected, 0.0) < 1e-12
        energies = []
        for each in (twin, plain):
            each.run(np.concatenate([state.y, state.y_dot]), 0.0 * effort.actuated[None])
            energies.append(each.field('report')[0])
        rates = tangent @ state.y_dot
        more = 0.5 * float(amounts(name) @ rates**2)
        assert energies[0] - energies[1] == pytest.approx(more, rel=1e-9)


@pytest.mark.parametrize('name', ['five_bar', 'rcid', 'masticator'])
def test_inertia_in_actuated_space_has_its_energy(name: str) -> None:
    """For velocities that the loops allow, twice the energy is u_dot^T M_A u_dot."""
    mechanism, bare = heavy(name), samples.mechanism(name)
    for state in samples.states(name, 3, seed=63):
        motion = bare.solve(state.y, state.y_dot)
        rates = mechanism.transmission_ratios * motion.v[bare.tree_indices(bare.actuated)]
        more = mechanism.actuated_inertia(motion) - bare.actuated_inertia(motion)
        assert rates @ more @ rates == pytest.approx(float(amounts(name) @ motion.v**2), rel=1e-9)


@pytest.mark.parametrize('name', ['five_bar', 'boom', 'trimule'])
def test_mujoco_feels_the_same(name: str) -> None:
    """MuJoCo's mass matrix of the open tree, projected on the motions that the loops allow."""
    mujoco = pytest.importorskip('mujoco', reason='the outside check needs MuJoCo')
    mechanism, (state, *_) = heavy(name), samples.states(name, 1, seed=64)
    model = mujoco.MjModel.from_xml_string(export_mjcf(mechanism.description).text)
    data, motion = mujoco.MjData(model), mechanism.solve(state.y)
    at = [model.joint(joint).id for joint in mechanism.tree_joints]
    data.qpos[model.jnt_qposadr[at]] = motion.q
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    for column, unit in zip(mass, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, column, unit)
    of_joints = model.jnt_dofadr[at]
    expected = motion.tangent.T @ mass[np.ix_(of_joints, of_joints)] @ motion.tangent
    found = mechanism.mass_matrix(motion)
    assert samples.relative_error(found, expected, 0.0) < 2e-5  # MuJoCo needs 1 mg in bodies


def test_flexible_links_carry_it() -> None:
    description = load_description('rrr4')
    joints = [joint.name for joint in Mechanism(description).structure.tree.joints]
    own = {joint: JointPhysics(damping=0.0, friction=0.0, armature=0.02) for joint in joints}
    plain = FlexibleModel(description)
    loaded = FlexibleModel(dataclasses.replace(description, joints=own))
    state = plain.state(plain.home, plain.home[plain.arrays.free], np.ones(len(plain.free)))
    more = loaded.energies(state)[0] - plain.energies(state)[0]
    turning = [plain.coordinates.index(joint) for joint in joints]
    assert more == pytest.approx(0.5 * 0.02 * float(np.sum(state.v[turning] ** 2)), rel=1e-9)
    assert more > 0.01
    mass = [m.equations(state, np.zeros(len(state.q)))[0] for m in (loaded, plain)]
    null = plain.null_space(state.q)[turning]
    assert mass[0] - mass[1] == pytest.approx(0.02 * null.T @ null, rel=1e-9, abs=1e-12)


def test_its_key() -> None:
    file = samples.file_of('ladder')
    yaml, urdf = file.read_text(), file.with_suffix('.urdf').read_text()
    joint = load_description(file).tree.joints[0].name
    text = f'{yaml}\njoints: {{{joint}: {{armature: 0.25}}}}\n'
    read = description_from_text(file, text, urdf)
    assert read.joints == {joint: JointPhysics(damping=0.0, friction=0.0, armature=0.25)}
    with pytest.raises(DescriptionError, match=f'joints.{joint}.armature'):
        description_from_text(file, text.replace('0.25', '-0.25'), urdf)
    plain = description_from_text(file, yaml, urdf)
    assert fingerprint(plain) != fingerprint(read)
    with pytest.raises(DescriptionError, match=f'joints.{joint}: .* has a spring or armature'):
        _PusReader(read)


def test_a_joint_with_armature_is_not_without_mass() -> None:
    description = load_description(samples.file_of('five_bar'))
    nothing = {
        name: dataclasses.replace(link, mass=0.0, about_center=np.zeros((3, 3)))
        for name, link in description.tree.links.items()
    }
    tree = dataclasses.replace(description.tree, links=nothing)
    bare = dataclasses.replace(description, tree=tree, actuators={
        name: dataclasses.replace(actuator, rotor_inertia=0.0)
        for name, actuator in description.actuators.items()
    })  # fmt: skip
    assert list(_massless(Mechanism(bare)))
    motors = {name: JointPhysics(0.0, 0.0, 0.0, 0.0, armature=0.1) for name in bare.actuated}
    assert not list(_massless(Mechanism(dataclasses.replace(bare, joints=motors))))
