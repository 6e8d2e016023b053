# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From efforts to accelerations, against the inverse dynamics and Pinocchio."""

import pathlib

import numpy as np
import pytest
import samples
from forward import JUMP, Forward

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.traced.simulation_data import Regularisation
from masticator_dynamics.errors import ActuationError, InputError, ReachError

NAMES = ('masticator', 'rss6', 'rcid', 'rrr4', 'trimule', 'five_bar', 'boom', 'ladder')


@pytest.mark.parametrize('name', NAMES)
def test_undoes_inverse_dynamics(name: str) -> None:
    mechanism = samples.mechanism(name)
    dynamics = Forward(mechanism)
    for state in samples.states(name, 20, seed=1201):
        effort = mechanism.feedforward(*state)
        found = dynamics(state.y, state.y_dot, effort.actuated, state.wrench)
        assert samples.relative_error(found.y_ddot, state.y_ddot) < 1e-9
        assert samples.relative_error(dynamics.tree('a'), effort.a) < 1e-9
        assert samples.relative_error(found.contact, effort.contact) < 1e-9
        assert found.balance_residual < 1e-8 * max(np.abs(effort.actuated).max(), 1.0)


def with_friction(folder: pathlib.Path, transition: float) -> Mechanism:
    """The masticator with realistic bearing friction and a transition velocity."""
    text = (samples.SHIPPED / 'masticator.yaml').read_text(encoding='utf-8')
    assert text.count('{coulomb: 0.02, viscous: 3.0e-5}') == 2
    assert text.count('radius: 0.015, viscous: 4.5e-10') == 6
    text = text.replace(
        '{coulomb: 0.02, viscous: 3.0e-5}',
        f'{{coulomb: 0.1, viscous: 0.3, transition_velocity: {transition}}}',
    )
    text = text.replace(
        'coulomb: 0.02, radius: 0.015, viscous: 4.5e-10',
        f'coulomb: 0.1, radius: 0.015, viscous: 2.0e-4, transition_velocity: {transition}',
    ).replace('../../urdf', f'{samples.ROOT}/urdf')
    file = folder / f'friction_{transition}.yaml'
    file.write_text(text, encoding='utf-8')
    return Mechanism.load(file)


@pytest.mark.parametrize('transition', [0.0, 0.02])
@pytest.mark.parametrize('goal', samples.swept(['torque', 'contact-force'], ['torque']))
def test_undoes_inverse_dynamics_with_friction(
    transition: float, goal: str, tmp_path: pathlib.Path
) -> None:
    mechanism = with_friction(tmp_path, transition)
    dynamics = Forward(mechanism, friction=JUMP)
    for state in samples.states('masticator', 20, seed=1202):
        effort = mechanism.feedforward(*state, goal=goal, friction=True)
        found = dynamics(state.y, state.y_dot, effort.actuated, state.wrench)
        assert samples.relative_error(found.y_ddot, state.y_ddot) < 1e-9
        assert samples.relative_error(found.contact, effort.contact) < 1e-9
        assert samples.relative_error(found.friction, effort.friction) < 1e-9
        assert samples.relative_error(found.contact_friction, effort.contact_friction) < 1e-9
        assert np.abs(effort.friction).max() > 1e-3


def test_friction_as_shipped_is_undone_and_matters() -> None:
    mechanism = samples.mechanism('masticator')
    rubbing, free = Forward(mechanism, friction=JUMP), Forward(mechanism)
    for state in samples.states('masticator', 20, seed=1203):
        effort = mechanism.feedforward(*state, friction=True)
        given = (state.y, state.y_dot, effort.actuated, state.wrench)
        assert samples.relative_error(rubbing(*given).y_ddot, state.y_ddot) < 1e-9
        assert samples.relative_error(free(*given).y_ddot, state.y_ddot) > 1e-3


def test_regularised_friction_grows_with_velocity_and_never_beyond_its_law() -> None:
    mechanism = samples.mechanism('masticator')
    soft, jump = (
        Forward(mechanism, friction=True),
        Forward(mechanism, friction=JUMP),
    )
    state = samples.states('masticator', 1, seed=1204)[0]
    effort = mechanism.feedforward(state.y, wrench=state.wrench).actuated
    at_rest = soft(state.y, np.zeros(4), effort, state.wrench)
    assert not at_rest.friction.any() and not at_rest.contact_friction.any()
    slow = soft(state.y, 1e-3 * state.y_dot, effort, state.wrench)
    fast = soft(state.y, 1e3 * state.y_dot, effort, state.wrench)
    assert np.all(np.abs(slow.friction) < 0.2 * np.abs(fast.friction) + 1e-9)
    held = jump(state.y, 1e3 * state.y_dot, effort, state.wrench)
    assert samples.relative_error(fast.friction, held.friction, 1e-9) < 1e-2


def test_regularised_friction_undoes_inverse_dynamics_where_the_description_has_the_same(
    tmp_path: pathlib.Path,
) -> None:
    mechanism = with_friction(tmp_path, Regularisation().turning)
    dynamics = Forward(mechanism, friction=True)
    for state in samples.states('masticator', 20, seed=1202):
        slow = 0.1 * state.y_dot
        effort = mechanism.feedforward(state.y, slow, state.y_ddot, state.wrench, friction=True)
        found = dynamics(state.y, slow, effort.actuated, state.wrench)
        assert samples.relative_error(found.y_ddot, state.y_ddot) < 1e-9


@pytest.mark.parametrize(('velocities', 'missing'), [(1.0, 0.29), (2.0, 0.11), (5.0, 0.02)])
def test_what_regularised_friction_lacks_is_what_the_manual_says(velocities, missing) -> None:
    mechanism = samples.mechanism('masticator')
    soft, jump = (Forward(mechanism, friction=kind) for kind in (True, JUMP))
    for state in samples.states('masticator', 5, seed=1206):
        rate = mechanism.feedforward(state.y, state.y_dot).velocity[2]
        y_dot = state.y_dot * velocities * Regularisation().turning / abs(rate)
        found = [f(state.y, y_dot, np.zeros(6), state.wrench).friction[2] for f in (soft, jump)]
        # The bearing's load changes a little with the friction of all the others.
        assert 1.0 - found[0] / found[1] == pytest.approx(missing, abs=0.012)


def test_friction_too_strong_is_refused(tmp_path: pathlib.Path) -> None:
    text = (samples.SHIPPED / 'masticator.yaml').read_text(encoding='utf-8')
    text = text.replace('{coulomb: 0.02, viscous: 3.0e-5}', '{coulomb: 40.0}')
    file = tmp_path / 'jammed.yaml'
    file.write_text(text.replace('../../urdf', f'{samples.ROOT}/urdf'), encoding='utf-8')
    dynamics = Forward(Mechanism.load(file), friction=True)
    with pytest.raises(ActuationError, match='jams'):
        dynamics(np.zeros(4), np.array([0.05, 0.0, 0.0, 0.0]), np.ones(6))


@pytest.mark.parametrize('name', ['masticator', 'rcid', 'trimule'])
def test_agrees_with_pinocchio(name: str) -> None:
    """Mass matrix by composite bodies; acceleration from it and the oracle's own bias."""
    mechanism, oracle = samples.mechanism(name), samples.oracle(name)
    dynamics = Forward(mechanism)
    rng = np.random.default_rng(1205)
    for state in samples.states(name, 5, seed=1205):
        mass = oracle.mass_matrix_independent(state.y)
        ours = mechanism.mass_matrix(mechanism.solve(state.y))
        assert samples.relative_error(ours, mass, 1e-6) < 1e-9
        efforts = rng.uniform(-1.0, 1.0, len(mechanism.actuated))
        at_zero = oracle.inverse_dynamics(state.y, state.y_dot, 0.0 * state.y, state.wrench)
        transposed = (oracle._motor_rows @ at_zero.motion.motion_map).T
        bias = transposed @ at_zero.actuated  # what motors must supply to keep y_ddot = 0
        expected = np.linalg.solve(mass, transposed @ efforts - bias)
        found = dynamics(state.y, state.y_dot, efforts, state.wrench)
        assert samples.relative_error(found.y_ddot, expected) < 1e-9


def test_states_that_cannot_be_evaluated_are_named() -> None:
    dynamics = Forward(samples.mechanism('masticator'))
    zero = np.zeros(4)
    with pytest.raises(ReachError, match='cannot close'):
        dynamics(np.array([0.2, 0.0, 0.0, 0.0]), zero, np.zeros(6))
    with pytest.raises(InputError, match='too large'):
        dynamics(zero, np.full(4, 1e200), np.zeros(6))


def test_results_do_not_depend_on_calls_before() -> None:
    mechanism = samples.mechanism('masticator')
    dynamics = Forward(mechanism, friction=True)
    one, two = samples.states('masticator', 2, seed=1206)
    efforts = np.linspace(-0.3, 0.3, 6)
    first = dynamics(one.y, one.y_dot, efforts, one.wrench)
    dynamics(two.y, two.y_dot, -efforts, two.wrench)
    mechanism.feedforward(*two, friction=True)
    again = dynamics(one.y, one.y_dot, efforts, one.wrench)
    assert np.array_equal(first.y_ddot, again.y_ddot)
    assert np.array_equal(first.friction, again.friction)
