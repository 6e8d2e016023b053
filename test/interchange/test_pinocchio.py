# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Models for Pinocchio and its second opinion, against the oracle's model and wrong robots."""

import dataclasses

import linkages
import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.errors import InputError
from masticator_dynamics.interchange import second_opinion

pin = samples.pinocchio()


@pytest.mark.parametrize('name', samples.ALL)
def test_the_model_is_the_one_that_pinocchio_reads_from_the_urdf(name: str) -> None:
    mechanism, oracle = samples.mechanism(name), samples.oracle(name)
    model = mechanism.to_pinocchio().model
    assert tuple(model.names)[1:] == mechanism.tree_joints
    data = model.createData()
    order = [oracle.joint_names.index(joint) for joint in mechanism.tree_joints]
    rng = np.random.default_rng(3501)
    for _ in range(5):  # any positions: the loops need not be closed
        q, v, a = rng.normal(size=(3, len(order)))
        efforts = pin.rnea(model, data, q, v, a)
        turned = np.zeros((3, len(order)))
        turned[:, order] = q, v, a
        other = oracle._configuration(turned[0])
        expected = pin.rnea(oracle.model, oracle.data, other, turned[1], turned[2])
        expected = (expected + oracle._rotor_inertia * turned[2])[order]
        # Pinocchio's rnea knows armatures of its model.
        assert samples.relative_error(efforts, expected) < 1e-10
        pin.framesForwardKinematics(model, data, q)
        for link in mechanism.frames:
            pose = data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
            position, rotation = oracle.frame_pose(link, turned[0])
            assert np.abs(pose.translation - position).max() < 1e-12
            assert np.abs(pose.rotation - rotation).max() < 1e-12


@pytest.mark.parametrize('name', ['rss6', 'rcid', 'archetype stewart'])
def test_its_constrained_dynamics_accelerate_as_ours(name: str) -> None:
    mechanism = samples.mechanism(name)
    model, constraints, left_out = mechanism.to_pinocchio()
    assert not left_out and set(constraints) == set(mechanism.closures)
    data, models = model.createData(), pin.StdVec_RigidConstraintModel()
    datas = pin.StdVec_RigidConstraintData()
    for constraint in constraints.values():
        models.append(constraint)
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    exact = pin.ProximalSettings(1e-14, 1e-10, 100)
    for state in samples.states(name, 3, seed=3502):
        motion = mechanism.solve(state.y, state.y_dot)
        effort = np.linspace(-0.3, 0.5, len(mechanism.actuated))
        supplied = np.zeros(model.nv)
        supplied[mechanism.actuated_rows] = mechanism.transmission_ratios * effort
        found = pin.constraintDynamics(
            model, data, motion.q, motion.v, supplied, models, datas, exact
        )
        expected = mechanism.forward_dynamics(state.y, state.y_dot, effort)
        assert samples.relative_error(found[mechanism.independent_rows], expected) < 1e-6


def test_what_pinocchio_has_no_constraint_for_is_named() -> None:
    assert samples.mechanism('masticator').to_pinocchio().left_out == (
        'condyle_left', 'condyle_right',
    )  # fmt: skip


@pytest.mark.parametrize('name', samples.ALL)
def test_the_second_opinion_agrees(name: str) -> None:
    mechanism = samples.mechanism(name)
    opinion = second_opinion.SecondOpinion(mechanism.description, mechanism.tree_joints)
    for state in samples.states(name, 4, seed=3503):
        found = opinion.of(mechanism.feedforward(*state), mechanism.driving)
        assert found.gap < 1e-10 and found.velocity < 1e-10
        assert found.acceleration < 1e-5 and found.effort < 1e-8


def test_one_joint(tmp_path) -> None:
    arm = linkages.Part('arm', 'ground', axis=(0.0, 1.0, 0.0), mass=0.8, center=(0.1, 0.0, 0.05))
    file = linkages.write(
        tmp_path, [arm], independent=['arm_joint'], actuated=['arm_joint'], platform='arm'
    )
    assert main(['check', str(file), '--pinocchio']) == 0


def changed_urdf(description, old: str, new: str):
    assert old in description.urdf_xml
    return dataclasses.replace(description, urdf_xml=description.urdf_xml.replace(old, new))


def test_the_second_opinion_finds_what_is_wrong() -> None:
    jaw = samples.mechanism('masticator')
    state = samples.states('masticator', 1, seed=3504)[0]
    effort, true = jaw.feedforward(*state), jaw.description
    heavier = changed_urdf(true, '<mass value="0.34022"/>', '<mass value="0.35"/>')
    first, *others = true.closures
    swapped = (dataclasses.replace(first, frames=(first.frames[0], others[0].frames[1])), *others)
    plane, other = true.contacts
    tilted = (dataclasses.replace(plane, normal=(1.2, 0.0, 1.0)), other)
    driven = dict(true.actuators)
    driven['crank_1'] = dataclasses.replace(driven['crank_1'], rotor_inertia=1e-3)
    for description, field in (
        (heavier, 'effort'),
        (dataclasses.replace(true, gravity=(0.0, 0.0, 9.8)), 'effort'),
        (dataclasses.replace(true, closures=swapped), 'gap'),
        (dataclasses.replace(true, contacts=tilted), 'velocity'),
        (dataclasses.replace(true, actuators=driven), 'effort'),
    ):
        found = second_opinion.SecondOpinion(description, jaw.tree_joints).of(effort, jaw.driving)
        assert getattr(found, field) > 1e-4, field


def test_check_shows_ten_states_and_fails_where_pinocchio_differs(monkeypatch, capsys) -> None:
    assert main(['check', 'rcid', '--pinocchio']) == 0
    shown = capsys.readouterr().out
    assert shown.count('  agrees\n') == 10 and 'agrees in 10 of 10 states' in shown

    def wrong(self, effort, driving):
        return second_opinion.Disagreement(0.0, 0.0, 0.0, 0.02)

    monkeypatch.setattr(second_opinion.SecondOpinion, 'of', wrong)
    assert main(['check', 'rcid', '--pinocchio']) == 1
    shown = capsys.readouterr()
    assert 'rcid: Pinocchio differs in effort by 0.02 at x = ' in shown.err
    assert 'agrees in 0 of 10 states' in shown.out


def test_what_to_install_is_said(monkeypatch) -> None:
    monkeypatch.setitem(__import__('sys').modules, 'pinocchio', None)
    with pytest.raises(InputError, match=r'Pinocchio need the Python package pinocchio.*\[pinocch'):
        Mechanism.load('rcid').to_pinocchio()
