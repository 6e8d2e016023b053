# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mass matrix, bias and energies: against Pinocchio, power, inverse dynamics and differences."""

import pathlib

import numpy as np
import pytest
import samples
from processes import PYTHON, completed

from masticator_dynamics import Mechanism
from masticator_dynamics.errors import ActuationError, InputError, SingularityError

NOT_REDUNDANT = ('rss6', 'rcid', 'trimule', 'trimule_five_axis', 'five_bar', 'boom', 'ladder')


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_the_equations_hold_for_the_efforts_of_inverse_dynamics(name: str) -> None:
    mechanism = samples.mechanism(name)
    platform = mechanism.description.platform
    for state in samples.states(name, 10, seed=3201):
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        effort = mechanism.inverse_dynamics(motion, state.wrench)
        needed = mechanism.mass_matrix(motion) @ state.y_ddot + mechanism.bias(motion)
        loads = samples.motor_jacobian(mechanism, motion).T @ effort.actuated
        loads = loads + mechanism.frame_jacobian(motion, platform).T @ state.wrench
        assert samples.relative_error(needed, loads, 1e-6) < 1e-10
        # What the motion needs is also what the solution of an effort says it needs.
        assert np.array_equal(mechanism.bias(effort), mechanism.bias(motion))


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_forward_dynamics_gives_the_acceleration_of_inverse_dynamics_back(name: str) -> None:
    mechanism = samples.mechanism(name)
    states = samples.states(name, 10, seed=3202)
    for friction in (False, True):
        efforts = []
        for state in states:
            effort = mechanism.feedforward(*state, friction=friction).actuated
            found = mechanism.forward_dynamics(
                state.y, state.y_dot, effort, state.wrench, friction=friction
            )
            assert samples.relative_error(found, state.y_ddot) < 1e-10
            efforts.append(effort)
        Y, Y_dot, Y_ddot, W = (np.array(part) for part in zip(*states, strict=True))
        batch = mechanism.forward_dynamics_batch(Y, Y_dot, efforts, W, friction=friction)
        assert samples.relative_error(batch, Y_ddot) < 1e-10


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_energy_changes_by_the_power_of_motors_and_wrench(name: str) -> None:
    mechanism = samples.mechanism(name)
    platform = mechanism.description.platform
    for state in samples.states(name, 5, seed=3203):
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        effort = mechanism.inverse_dynamics(motion, state.wrench)
        power = effort.actuated @ (mechanism.transmission_ratios * motion.velocity)
        power += state.wrench @ mechanism.frame_twist(motion, platform)

        def energy(t: float, state=state) -> float:
            y = state.y + t * state.y_dot + 0.5 * t * t * state.y_ddot
            return sum(mechanism.energy(mechanism.solve(y, state.y_dot + t * state.y_ddot)))

        step = 2e-5
        rate = samples.five_point(energy, step)
        # An energy's last digit, divided by the step, is beyond 1e-9 where little power flows.
        floor = max(abs(power), 1e-6 * abs(energy(0.0)) / step, 1e-3)
        assert abs(rate - power) < 1e-9 * floor


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_mass_matrix_and_energies_against_pinocchio(name: str) -> None:
    mechanism, oracle = samples.mechanism(name), samples.oracle(name)
    joints = mechanism.description.joints
    order = [mechanism.tree_joints.index(joint) for joint in oracle.joint_names]
    differences = []
    for state in samples.states(name, 5, seed=3204):
        motion = mechanism.solve(state.y, state.y_dot)
        mass = mechanism.mass_matrix(motion)
        expected = oracle.mass_matrix_independent(state.y)
        assert samples.relative_error(mass, expected, 1e-12) < 1e-9
        assert np.array_equal(mass, mass.T)
        assert np.linalg.eigvalsh(mass)[0] > 0.0
        kinetic, potential = mechanism.energy(motion)
        expected_kinetic, weight = oracle.energy(motion.q[order], motion.v[order])
        assert kinetic == pytest.approx(expected_kinetic, rel=1e-9)
        assert kinetic == pytest.approx(0.5 * state.y_dot @ mass @ state.y_dot, rel=1e-12)
        bent = [
            0.5
            * joint.stiffness
            * (motion.q[mechanism.tree_joints.index(n)] - joint.reference) ** 2
            for n, joint in joints.items()
        ]
        differences.append(potential - weight - sum(bent))
    # Pinocchio also lifts what is fixed in the base: the two may differ by a constant.
    assert np.ptp(differences) < 1e-9 * max(np.abs(differences).max(), 1.0)


@pytest.mark.parametrize('name', samples.swept(samples.ALL))
def test_gravity_is_the_slope_of_the_potential_and_the_bias_at_rest(name: str) -> None:
    mechanism = samples.mechanism(name)
    state = samples.states(name, 1, seed=3205)[0]
    moving, still = mechanism.solve(state.y, state.y_dot), mechanism.solve(state.y)
    gravity = mechanism.gravity(moving)
    assert samples.relative_error(gravity, mechanism.bias(still), 1e-9) < 1e-11
    slopes = [
        samples.five_point(
            lambda h, d=d: mechanism.energy(mechanism.solve(state.y + h * d)).potential, 1e-4
        )
        for d in np.eye(len(state.y))
    ]
    assert samples.relative_error(gravity, slopes, 1e-3) < 1e-7
    # Twice the rates, four times what Coriolis and centrifugal forces are.
    twice = mechanism.bias(mechanism.solve(state.y, 2.0 * state.y_dot)) - gravity
    assert samples.relative_error(twice, 4.0 * (mechanism.bias(moving) - gravity), 1e-6) < 1e-9


@pytest.mark.parametrize('name', samples.swept(NOT_REDUNDANT))
def test_in_actuated_coordinates(name: str) -> None:
    mechanism = samples.mechanism(name)
    for state in samples.states(name, 5, seed=3206):
        motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
        accelerations = mechanism.transmission_ratios * motion.acceleration
        mass = mechanism.mass_matrix(motion, 'actuated')
        needed = mass @ accelerations + mechanism.bias(motion, 'actuated')
        expected = mechanism.inverse_dynamics(motion).actuated
        assert samples.relative_error(needed, expected, 1e-6) < 1e-9
        assert samples.relative_error(mass, mechanism.actuated_inertia(motion), 1e-9) < 1e-9
        at_rest = mechanism.feedforward(state.y).actuated
        gravity = mechanism.gravity(motion, 'actuated')
        assert samples.relative_error(gravity, at_rest, 1e-6) < 1e-9


def test_three_of_four_motors_are_coordinates_of_three_freedoms() -> None:
    mechanism = Mechanism.load('rrr4', actuators=['motor_1', 'motor_2', 'motor_3'])
    state = samples.states('rrr4', 1, seed=3207)[0]
    motion = mechanism.solve(state.y, state.y_dot, state.y_ddot)
    needed = mechanism.mass_matrix(motion, 'actuated') @ motion.acceleration[:3]
    needed += mechanism.bias(motion, 'actuated')
    expected = mechanism.inverse_dynamics(motion).actuated[:3]
    assert samples.relative_error(needed, expected, 1e-6) < 1e-9


@pytest.mark.parametrize('name', ['masticator', 'trimule', 'archetype excavator'])
def test_a_batch_is_its_rows(name: str) -> None:
    mechanism = samples.mechanism(name)
    states = samples.states(name, 11, seed=3208)
    Y, Y_dot, Y_ddot, W = (np.array(part) for part in zip(*states, strict=True))
    batch = mechanism.solve_batch(Y, Y_dot, Y_ddot)
    frame = mechanism.description.platform
    asks = (
        mechanism.mass_matrix, mechanism.bias, mechanism.gravity, mechanism.energy,
        mechanism.tangent_rate,
        *(
            lambda motion, ask=ask: ask(motion, frame)
            for ask in (
                mechanism.frame_jacobian, mechanism.frame_jacobian_rate, mechanism.frame_twist,
                mechanism.frame_acceleration, lambda m, f: mechanism.frame_pose(m, f).position,
                lambda m, f: mechanism.frame_pose(m, f).rotation,
            )
        ),
    )  # fmt: skip
    for ask in asks:
        whole = np.asarray(ask(batch))
        if ask == mechanism.energy:
            whole = whole.T
        assert len(whole) == len(Y)
        for k, state in enumerate(states):
            single = ask(mechanism.solve(state.y, state.y_dot, state.y_ddot))
            assert samples.relative_error(whole[k], single, 1e-9) < 1e-11
        part = np.asarray(ask(mechanism.solve_batch(Y[:1], Y_dot[:1], Y_ddot[:1])))
        if ask == mechanism.energy:
            part = part.T
        assert np.array_equal(part[0], whole[0])  # not even a digit depends on the others


def test_what_has_no_answer_is_refused() -> None:
    jaw, planar = samples.mechanism('masticator'), samples.mechanism('rrr4')
    with pytest.raises(InputError, match='the motion is of rrr4, not of masticator'):
        jaw.mass_matrix(planar.home)
    with pytest.raises(InputError, match="space is 'motors', expected one of independent, act"):
        jaw.bias(jaw.home, 'motors')  # type: ignore[arg-type]
    with pytest.raises(ActuationError, match='6 powered actuators, which control 4 of 4 degrees'):
        jaw.mass_matrix(jaw.home, 'actuated')
    weak = Mechanism.load('masticator', actuators=['crank_1', 'crank_2', 'crank_3'])
    with pytest.raises(ActuationError, match='3 powered actuators, which control 3 of 4 degrees'):
        weak.gravity(weak.home, 'actuated')
    zero = np.zeros(4)
    with pytest.raises(InputError, match=r'effort has shape \(5,\), needed is \(6,\)'):
        jaw.forward_dynamics(zero, zero, np.zeros(5))
    with pytest.raises(InputError, match='effort of crank_3 is nan, not a finite number'):
        jaw.forward_dynamics(zero, zero, [0.0, 0.0, np.nan, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match='row 2: wrench ty is inf, not a finite number'):
        jaw.forward_dynamics_batch(
            np.zeros((2, 4)), None, None, [[0.0] * 6, [0.0, 0.0, 0.0, 0.0, np.inf, 0.0]]
        )
    with pytest.raises(InputError, match=r'efforts has shape \(3, 6\), needed is \(2, 6\)'):
        jaw.forward_dynamics_batch(np.zeros((2, 4)), None, np.zeros((3, 6)))
    with pytest.raises(InputError, match='Y has shape'):
        jaw.forward_dynamics_batch(zero, None, None)
    with pytest.raises(ValueError, match='row 2: .*cannot close'):
        jaw.forward_dynamics_batch([zero, [0.2, 0.0, 0.0, 0.0]], None, None)
    with pytest.raises(InputError, match='too large'):
        jaw.forward_dynamics(zero, np.full(4, 1e200), np.zeros(6))
    with pytest.raises(InputError, match='Y is not given'):
        jaw.forward_dynamics_batch(None, None, None)


def test_no_rows_are_no_rows() -> None:
    jaw = samples.mechanism('masticator')
    assert jaw.forward_dynamics_batch(np.zeros((0, 4)), None, None).shape == (0, 4)
    nothing = jaw.solve_batch(np.zeros((0, 4)))
    assert jaw.mass_matrix(nothing).shape == (0, 4, 4)
    assert jaw.bias(nothing).shape == jaw.gravity(nothing).shape == (0, 4)
    assert jaw.energy(nothing).kinetic.shape == (0,)
    assert jaw.frame_jacobian_rate(nothing, 'incisor').shape == (0, 6, 4)
    assert jaw.inverse_kinematics_batch('incisor', np.zeros((0, 3))).shape == (0, 4)
    linkage = samples.mechanism('five_bar')
    derivatives = linkage.feedforward_derivatives_batch(np.zeros((0, 2)))
    assert derivatives.by_y.shape == (0, 2, 2) and derivatives.by_wrench.shape == (0, 2, 6)
    batch = linkage.parameter_batch([*linkage.parameters()][:1])
    efforts = batch.feedforward(batch.values[None], np.zeros((0, 2)))
    assert efforts.actuated.shape == (1, 0, 2) and efforts.closed.all()


def arm(folder: pathlib.Path, inertial: str = '', physics: str = '') -> Mechanism:
    """A single arm, 1 m long, that turns about y."""
    urdf = f"""<robot name="arm"><link name="base"/><link name="arm">{inertial}</link>
    <link name="tip"/>
    <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
    <joint name="end" type="fixed"><parent link="arm"/><child link="tip"/>
    <origin xyz="1 0 0"/></joint></robot>"""
    text = f"""schema: 1
name: arm
urdf: arm.urdf
base: base
platform: tip
gravity: [0.0, 0.0, -9.81]
independent: [shoulder]
actuated: [shoulder]
{physics}
"""
    (folder / 'arm.urdf').write_text(urdf)
    (folder / 'arm.yaml').write_text(text)
    return Mechanism.load(folder / 'arm.yaml')


def test_without_any_mass_there_is_no_acceleration(tmp_path: pathlib.Path) -> None:
    light = arm(tmp_path)
    assert light.mass_matrix(light.home) == 0.0
    with pytest.raises(SingularityError, match='mass matrix of shoulder is singular at shoulder'):
        light.forward_dynamics([0.1], [0.0], [1.0])


def test_a_pendulum_with_motor_and_spring_is_the_one_of_textbooks(tmp_path: pathlib.Path) -> None:
    inertial = """<inertial><origin xyz="0.4 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>"""
    physics = """actuators:
  shoulder: {transmission: {ratio: -10.0}, rotor_inertia: 1.0e-3}
joints:
  shoulder: {stiffness: 3.0, reference: 0.2}"""
    pendulum = arm(tmp_path, inertial, physics)
    angle, rate, effort, force = 0.5, 1.5, 0.7, 4.0
    motion = pendulum.solve([angle], [rate])
    mass = 0.05 + 2.0 * 0.4**2 + 1e-3 * 10.0**2
    # Turning about y takes the arm from x towards -z.
    held = -2.0 * 9.81 * 0.4 * np.cos(angle) + 3.0 * (angle - 0.2)
    assert pendulum.mass_matrix(motion) == pytest.approx(mass, rel=1e-14)
    assert pendulum.bias(motion) == pytest.approx(held, rel=1e-14)
    assert pendulum.gravity(motion) == pytest.approx(held, rel=1e-14)
    kinetic, potential = pendulum.energy(motion)
    assert kinetic == pytest.approx(0.5 * mass * rate**2, rel=1e-14)
    raised = -2.0 * 9.81 * 0.4 * np.sin(angle) + 1.5 * (angle - 0.2) ** 2
    assert potential == pytest.approx(raised, rel=1e-13)
    found = pendulum.forward_dynamics([angle], [rate], [effort], [0.0, 0.0, force, 0.0, 0.0, 0.0])
    expected = (-10.0 * effort - force * np.cos(angle) - held) / mass
    assert found == pytest.approx(expected, rel=1e-13)
    assert pendulum.mass_matrix(motion, 'actuated') == pytest.approx(mass / 100.0, rel=1e-13)
    assert pendulum.bias(motion, 'actuated') == pytest.approx(-held / 10.0, rel=1e-13)


def test_a_process_that_only_wants_torques_imports_none_of_it() -> None:
    late = ('mass_and_bias', 'accelerations', 'inverse_kinematics', 'casadi')
    late = (*late, 'equations_of_motion', 'pinocchio', 'forward_dynamics')
    code = (
        'import sys; from masticator_dynamics import Mechanism; m = Mechanism.load("rcid"); '
        f'm.feedforward(m.home.y).actuated; late = {late}; '
        'print([n for n in sys.modules if n.rpartition(".")[2] in late])'
    )
    run = completed(*PYTHON, '-c', code, check=True)
    assert run.stdout.strip() == '[]'
