# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Losses of gears and stiction, against the laws in numpy, power, Pinocchio, and differences."""

from __future__ import annotations

import ctypes
import dataclasses
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import samples
from forward import JUMP, Forward

from masticator_dynamics import Mechanism
from masticator_dynamics.description import load_description
from masticator_dynamics.description.data import JointPhysics, MechanismDescription, Transmission
from masticator_dynamics.engine.traced import c_files
from masticator_dynamics.errors import DescriptionError, InputError, LimitError
from masticator_dynamics.limits.load_limits import LoadLimits

NAMES = ('five_bar', 'boom', 'masticator', 'rrr4')  # the last two with redundant motors
LOSS, OVER, MORE, NEAR = 0.2, 0.05, 0.7, 0.3


def rubbing(name: str, loss: float | None = LOSS, more: float | None = MORE) -> Mechanism:
    """Gears of every other motor lose, and every other joint has friction and stiction.

    The first motor turns the other way than its joint.
    """
    description = load_description(samples.file_of(name))
    actuators = {
        joint: dataclasses.replace(
            motor,
            transmission=motor.transmission if k else Transmission(-motor.ratio),
            friction=dataclasses.replace(
                motor.friction, gear_loss=None if k % 2 else loss, transition_velocity=OVER
            ),
        )
        for k, (joint, motor) in enumerate(description.actuators.items())
    }
    law = JointPhysics(
        damping=0.1, friction=0.4, transition_velocity=OVER, stiction=more, stiction_velocity=NEAR
    )
    moving = [joint.name for joint in description.tree.joints if joint.moves]
    physics = dict.fromkeys(moving[::2], law)
    return Mechanism(dataclasses.replace(description, actuators=actuators, joints=physics))


def sense(rate: samples.Array) -> samples.Array:
    return rate / np.sqrt(rate**2 + OVER**2)


def lost(mechanism: Mechanism) -> samples.Array:
    """Losses of the motors' gears (n_u,)."""
    motors = [mechanism.description.actuators[name] for name in mechanism.actuated]
    return np.array([motor.friction.gear_loss or 0.0 for motor in motors])


@pytest.mark.parametrize('name', NAMES)
def test_gears_take_their_part_of_what_the_motors_pass_on(name: str) -> None:
    """Of the efforts that the same robot needs with gears that lose nothing."""
    with_gears, without = rubbing(name), rubbing(name, loss=None)
    for state in samples.states(name, 4, seed=71):
        effort, ideal = (m.feedforward(*state, friction=True) for m in (with_gears, without))
        passed_on = ideal.actuated - ideal.friction
        taken = lost(with_gears) * np.abs(passed_on) * sense(ideal.velocity)
        taken *= np.sign(with_gears.transmission_ratios)
        assert np.abs(taken).max() > 1e-3
        assert samples.relative_error(effort.friction, ideal.friction + taken) < 1e-9
        assert samples.relative_error(effort.actuated, ideal.actuated + taken) < 1e-9
        motion = effort.velocity * with_gears.transmission_ratios
        assert (effort.friction * motion >= 0.0).all(), 'friction takes power'


@pytest.mark.parametrize('name', ['five_bar', 'boom', 'rrr4'])
def test_stiction_is_paid_for_by_the_motors(name: str) -> None:
    sticking, smooth = rubbing(name, loss=None), rubbing(name, loss=None, more=None)
    for state in samples.states(name, 4, seed=72):
        effort, less = (m.feedforward(*state, friction=True) for m in (sticking, smooth))
        rates = dict(zip(sticking.tree_joints, effort.v, strict=True))
        power = sum(
            MORE / (1.0 + (rates[j] / NEAR) ** 2) * sense(rates[j]) * rates[j]
            for j in sticking.description.joints
        )
        # Of what moves the mechanism: redundant motors may choose other efforts, too.
        more = effort.actuated - effort.friction - less.actuated + less.friction
        assert more @ (effort.velocity * sticking.transmission_ratios) == pytest.approx(power)


@pytest.mark.parametrize('name', NAMES)
def test_forward_dynamics_undoes_it(name: str) -> None:
    mechanism = rubbing(name)
    dynamics = Forward(mechanism, friction=JUMP)
    for state in samples.states(name, 6, seed=73):
        effort = mechanism.feedforward(*state, friction=True)
        found = dynamics(state.y, state.y_dot, effort.actuated, state.wrench)
        assert samples.relative_error(found.y_ddot, state.y_ddot) < 1e-9
        assert samples.relative_error(found.friction, effort.friction) < 1e-9


@pytest.mark.parametrize('name', NAMES)
def test_derivatives_against_differences(name: str) -> None:
    mechanism = rubbing(name)
    state = samples.states(name, 1, seed=74)[0]
    slopes = mechanism.feedforward_derivatives(*state, friction=True)
    steps = [0.1 * part for part in samples.states(name, 1, seed=75)[0]]
    along = (
        slopes.by_y @ steps[0] + slopes.by_y_dot @ steps[1] + slopes.by_y_ddot @ steps[2]
        + slopes.by_wrench @ steps[3]
    )  # fmt: skip

    def moved(t: float) -> list[samples.Array]:
        return [part + t * step for part, step in zip(state, steps, strict=True)]

    def efforts(t: float) -> samples.Array:
        return np.array(mechanism.feedforward(*moved(t), friction=True).actuated)

    assert samples.relative_error(along, samples.five_point(efforts, 1e-4)) < 1e-5
    effort = mechanism.feedforward(*state, friction=True).actuated
    slopes = mechanism.forward_dynamics_derivatives(
        state.y, state.y_dot, effort, state.wrench, friction=True
    )
    along = slopes.by_y_dot @ steps[1] + slopes.by_effort @ effort

    def accelerations(t: float) -> samples.Array:
        y_dot = state.y_dot + t * steps[1]
        given = state.y, y_dot, (1.0 + t) * effort, state.wrench
        return np.array(mechanism.forward_dynamics(*given, friction=True))

    assert samples.relative_error(along, samples.five_point(accelerations, 1e-4)) < 1e-5


@pytest.mark.parametrize('name', NAMES)
def test_columns_of_the_regressor_are_the_efforts(name: str) -> None:
    mechanism = rubbing(name)
    y, y_dot, y_ddot, wrench = (
        np.array(rows) for rows in zip(*samples.states(name, 5, seed=76), strict=True)
    )
    effort = mechanism.feedforward_batch(y, y_dot, y_ddot, friction=True)
    columns = mechanism.regressor(effort, friction=True)
    values = mechanism.parameters(friction=True)
    found = columns.generalized @ np.array([values[name] for name in columns.names])
    ratios = mechanism.transmission_ratios[:, None]
    rates = np.swapaxes(effort.tangent[:, mechanism.actuated_rows] * ratios, -1, -2)
    given = (rates @ np.array(effort.actuated)[..., None])[..., 0]
    assert samples.relative_error(found, given) < 1e-9


def test_an_open_chain_against_pinocchio() -> None:
    """Efforts of Pinocchio's tree, and the laws in numpy."""
    pin = samples.pinocchio()
    mechanism = rubbing('boom')
    model = mechanism.to_pinocchio().model
    data = model.createData()
    for state in samples.states('boom', 3, seed=77):
        effort = mechanism.feedforward(state.y, state.y_dot, state.y_ddot, friction=True)
        needed = pin.rnea(model, data, effort.q, effort.v, effort.a)
        for name, law in mechanism.description.joints.items():
            k = mechanism.tree_joints.index(name)
            dry = law.friction + MORE / (1.0 + (effort.v[k] / NEAR) ** 2)
            needed[k] += law.damping * effort.v[k] + dry * sense(effort.v[k])
        generalized = effort.tangent.T @ needed
        passed_on = effort.actuated - effort.friction
        supplied = effort.tangent[mechanism.actuated_rows].T @ (
            mechanism.transmission_ratios * passed_on
        )
        assert samples.relative_error(supplied, generalized) < 1e-8


@pytest.mark.parametrize('name', ['five_bar', 'rrr4'])
def test_limits_are_those_of_the_whole_effort(name: str) -> None:
    mechanism = rubbing(name)
    none, count = [np.empty(0)] * 2, len(mechanism.actuated)
    for state in samples.states(name, 3, seed=78):
        free = np.abs(mechanism.feedforward(*state, friction=True).actuated)
        far = [np.full(count, np.inf)] * 3
        wide, narrow = (LoadLimits(part * free, *far, *none) for part in (1.01, 0.9))
        effort = mechanism.feedforward(*state, friction=True, limits=wide)
        assert samples.relative_error(np.abs(effort.actuated), free) < 1e-6
        if count == len(mechanism.independent):
            with pytest.raises(LimitError):
                mechanism.feedforward(*state, friction=True, limits=narrow)
        else:
            tight = LoadLimits(np.full(count, 0.97 * free.max()), *far, *none)
            effort = mechanism.feedforward(*state, friction=True, limits=tight)
            assert np.abs(effort.actuated).max() < 0.97 * free.max() * (1.0 + 1e-6)
            again = mechanism.forward_dynamics(
                state.y, state.y_dot, effort.actuated, state.wrench, friction=True
            )
            assert samples.relative_error(again, state.y_ddot) < 0.05, 'drives the motion'


def _saved(mechanism: Mechanism, folder: pathlib.Path) -> MechanismDescription:
    mechanism.save(folder / 'saved.yaml')
    return load_description(folder / 'saved.yaml')


def test_they_are_written_and_read(tmp_path: pathlib.Path) -> None:
    before, after = rubbing('rrr4').description, _saved(rubbing('rrr4'), tmp_path)
    assert after.actuators == before.actuators
    assert after.joints == before.joints


def test_other_numbers_are_those_of_another_file() -> None:
    changed = rubbing('rrr4').with_parameters(
        {n: 0.5 * x for n, x in rubbing('rrr4').parameters(friction=True).items()
         if n.endswith(('gear_loss', 'stiction'))}
    )  # fmt: skip
    same = rubbing('rrr4', 0.5 * LOSS, 0.5 * MORE)
    for state in samples.states('rrr4', 3, seed=79):
        efforts = [m.feedforward(*state, friction=True).actuated for m in (changed, same)]
        assert samples.relative_error(*efforts) < 1e-9


@pytest.mark.parametrize(
    ('old', 'new', 'said'),
    [
        ('gear_loss: 0.2', 'gear_loss: 1.0', 'gear_loss'),
        ('gear_loss: 0.2', 'gear_loss: -0.1', 'gear_loss'),
        ('stiction_velocity: 0.3', 'stiction_velocity: 0.0', 'stiction needs one, above 0'),
        ('stiction: 0.7', 'stiction: -0.7', 'stiction'),
    ],
)
def test_what_cannot_be_is_refused(old: str, new: str, said: str, tmp_path: pathlib.Path) -> None:
    _saved(rubbing('rrr4'), tmp_path)
    file = tmp_path / 'saved.yaml'
    text = file.read_text(encoding='utf-8')
    assert old in text
    file.write_text(text.replace(old, new), encoding='utf-8')
    with pytest.raises(DescriptionError, match=said):
        load_description(file)


def test_a_gear_that_takes_all_is_no_parameter() -> None:
    mechanism = rubbing('rrr4')
    name = next(n for n in mechanism.parameters(friction=True) if n.endswith('gear_loss'))
    with pytest.raises(InputError, match='less than 1 is needed'):
        mechanism.with_parameters({name: 1.0})


def test_c_code_answers_the_same(tmp_path: pathlib.Path) -> None:
    compiler = shutil.which('cc') or pytest.skip('there is no C compiler')
    mechanism = rubbing('five_bar')
    files = c_files.c_files(mechanism.description, mechanism.structure, friction=True)
    for file, text in files.items():
        (tmp_path / file).write_text(text, encoding='utf-8')
    c_name, library = c_files.identifier(mechanism.name), tmp_path / 'library.so'
    source = tmp_path / f'{c_name}.c'
    subprocess.run([compiler, '-O0', '-shared', '-fPIC', '-o', library, source, '-lm'], check=True)
    function = getattr(ctypes.CDLL(str(library)), f'{c_name}_inverse_dynamics')
    for state in samples.states('five_bar', 3, seed=80):
        arrays = [np.array(part) for part in (*state, np.zeros(len(mechanism.actuated)))]
        assert function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays)) == 0
        expected = mechanism.feedforward(*state, friction=True).actuated
        assert np.abs(arrays[-1] - expected).max() <= 1e-12 * np.abs(expected).max()
