# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics in machine code against the path for rows it hands over, and a time step."""

from __future__ import annotations

import numpy as np
import pytest
import samples
from forward import Forward

from masticator_dynamics.engine.traced import simulation
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.robot.twin import MechanismPlant, Stops, load_food

AGREEMENT = 1e-12  # of the largest


def without_code(dynamics: Forward, *names: str) -> Forward:
    """The same object without these libraries of machine code."""
    for name in names:
        setattr(dynamics._code, name, None)
    return dynamics


SIMULATED = 'masticator', 'five_bar', 'trimule'


@pytest.mark.parametrize('name', samples.swept(SIMULATED, ['masticator']))
@pytest.mark.parametrize('friction', [False, True])
def test_what_machine_code_hands_over_is_computed_alike(name: str, friction: bool) -> None:
    mechanism = samples.mechanism(name)
    quick = Forward(mechanism, friction=friction)
    at_positions = without_code(Forward(mechanism, friction=friction), 'code')
    floats = without_code(Forward(mechanism, friction=friction), 'code', 'code_at_positions')
    assert quick._code.code is not None
    rng = np.random.default_rng(1301)
    for state in samples.states(name, 3, seed=1301):
        given = state.y, state.y_dot, rng.normal(size=len(mechanism.actuated)), state.wrench
        expected = quick(*given)
        for other in (at_positions, floats):
            found = other(*given)
            for field in ('y_ddot', 'contact', 'friction', 'contact_friction'):
                value, true = getattr(found, field), getattr(expected, field)
                assert samples.relative_error(value, true) < AGREEMENT, field
            assert samples.relative_error(other.tree('a'), quick.tree('a')) < AGREEMENT
            energies, mass = quick.field('report')[:2], quick.field('mass')
            assert samples.relative_error(other.field('report')[:2], energies) < AGREEMENT
            assert samples.relative_error(other.field('mass'), mass) < AGREEMENT


def pressed(ahead: float) -> MechanismPlant:
    """The jaw with its whole environment: in food, at stops of joints and sockets."""
    mechanism = samples.mechanism('masticator')
    stops = Stops(lever=0.9)  # limbs are at theirs, too
    plant = MechanismPlant(
        mechanism, step=ahead, friction=True, stops=stops, food=load_food('soft'),
        start=np.array([[0.0005, 0.0, 0.0, 0.02], [0.01, 0.02, 0.3, -0.4]]),
    )  # fmt: skip
    plant._food[:4] = 0.0, 0.0, 1.0, 0.9
    return plant


def test_a_step_of_machine_code_is_that_of_floats() -> None:
    """The same source, run by Python, with loops closed by the engine."""
    effort, ahead = np.linspace(-0.2, 0.3, 6), 2e-4
    quick, slow = pressed(ahead), pressed(ahead)
    without_code(slow._dynamics, 'code', 'code_at_positions')
    for plant in (quick, slow):
        plant.advance(effort)
    assert quick.food_force[2] < -1.0
    for field in ('food_force', 'bite_wrench', 'acceleration', 'energy', 'contact', 'position'):
        value, true = getattr(slow, field), getattr(quick, field)
        assert samples.relative_error(value, true) < AGREEMENT, field
    assert samples.relative_error(slow.state[1], quick.state[1]) < AGREEMENT
    assert slow._food == pytest.approx(quick._food, rel=1e-12)


def test_a_step_is_runge_kuttas() -> None:
    """An oscillating point mass, y'' = -y + effort, with the same effort in every stage."""

    def rates(given: list[float]) -> list[float]:
        y, _, effort, *_ = given
        return [1.0, effort - y]

    length, (y, y_dot) = 0.1, (0.3, -0.2)
    sizes = [1, 1, 0, 1, 0, 6, 1]
    given = [y, y_dot, 0.0, 0.0, 0.0, *[0.0] * 6]
    counted, *found = simulation.step(rates, given, sizes, length)
    # To fourth order the step of a linear equation is its exponential series.
    matrix, term, exponential = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.eye(2), np.eye(2)
    for k in range(1, 5):
        term = term @ matrix * length / k
        exponential = exponential + term
    assert counted == 1.0
    assert found == pytest.approx(exponential @ [y, y_dot], rel=1e-14)


def test_what_cannot_be_leaves_state_and_food_as_they_were() -> None:
    plant = pressed(2e-4)
    before, food = plant.state, plant._food.copy()
    with pytest.raises(MasticatorError, match='cannot go on'):
        plant.advance(np.full(6, 1e9))
    assert np.array_equal(before, plant.state) and np.array_equal(food, plant._food)
    assert np.array_equal(plant._state, np.concatenate(plant.state))
