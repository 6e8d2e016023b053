# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The mechanism over time: energy, order of the integration, rest at the stops."""

from collections.abc import Callable

import numpy as np
import pytest
import samples

from masticator_dynamics.errors import InputError, SimulationError
from masticator_dynamics.motion import chewing_stroke
from masticator_dynamics.robot.twin import Food, MechanismPlant, Stops

Efforts = Callable[[float], samples.Array]

# Gains at the actuated joints that keep a mechanism in its box, N m/rad, N/m and the rates'.
HOLD = {
    'masticator': (3.0, 0.01), 'rss6': (3.0, 0.01), 'rcid': (2000.0, 20.0),
    'rrr4': (2.0, 0.01), 'trimule': (50.0, 5.0),
}  # fmt: skip


@pytest.mark.parametrize('name', HOLD)
def test_energy_balances_with_the_work_of_the_efforts(name: str) -> None:
    """Efforts held constant over a step do work exactly over the joints' motion in it."""
    mechanism, box = samples.mechanism(name), samples.BOXES[name]
    middle = (box.lower + box.upper) / 2.0
    aim, (stiff, damp) = mechanism.solve(middle).position, HOLD[name]
    static = mechanism.feedforward(middle).actuated
    start = np.array([middle, 0.2 * box.rates])
    plant = MechanismPlant(mechanism, step=1e-3, stops=False, start=start, longest_substep=1e-4)
    swing = 0.3 * np.abs(static).max() + 0.01
    total, work, peak, exchanged = sum(plant.energy), 0.0, 0.0, 0.0
    for k in range(2100):
        push = swing * np.sin(2.0 * np.pi * (1.0 + np.arange(len(aim))) * k * 1e-3)
        efforts = static + push - stiff * (plant.position - aim) - damp * plant.velocity
        before = plant.position
        plant.advance(efforts)
        done = float(efforts @ (mechanism.transmission_ratios * (plant.position - before)))
        work, exchanged = work + done, exchanged + abs(done)
        peak = max(peak, plant.energy[0])
    assert plant.time == pytest.approx(2.1)
    assert peak > 0.0 and exchanged > peak
    assert abs(sum(plant.energy) - total - work) < 1e-6 * peak


def test_kinetic_and_potential_energy_are_pinocchios() -> None:
    mechanism, oracle = samples.mechanism('masticator'), samples.oracle('masticator')
    for state in samples.states('masticator', 5, seed=1211):
        start = np.array([state.y, state.y_dot])
        plant = MechanismPlant(mechanism, stops=False, start=start)
        motion = oracle.solve(state.y, state.y_dot)
        kinetic, potential = oracle.energy(motion.q, motion.v)
        assert plant.energy == pytest.approx((kinetic, potential), rel=1e-9)


def stroke_error(step: float, substeps: int, held: bool) -> float:
    """Distance of the twin from a chewing stroke under its feedforward, after a part of it."""
    mechanism = samples.mechanism('masticator')
    path = chewing_stroke(strokes=1)
    begin, end = 0.1, 0.34

    def efforts(time: float) -> samples.Array:
        return np.array(mechanism.feedforward(*path(time)).actuated)

    start = np.array(path(begin)[:2])
    plant = MechanismPlant(
        mechanism, step=step, stops=False, start=start, longest_substep=step / substeps
    )
    assert plant.substeps == substeps
    for k in range(round((end - begin) / step)):
        time = begin + k * step
        if held:
            plant.advance(efforts(time))
        else:
            inside = time + np.linspace(0.0, step, 2 * substeps + 1)
            plant.advance(np.array([efforts(t) for t in inside]))
    return float(np.abs(plant.state[0] - path(end)[0]).max())


def test_feedforward_reproduces_the_stroke_with_fourth_order() -> None:
    coarse, fine = stroke_error(8e-3, 2, False), stroke_error(8e-3, 4, False)
    finest = stroke_error(8e-3, 8, False)
    assert 3.6 < np.log2(coarse / fine) < 4.4
    assert 3.6 < np.log2(fine / finest) < 4.4
    assert finest < 1e-8


def test_held_efforts_are_of_first_order() -> None:
    coarse, fine, finest = (stroke_error(step, 4, True) for step in (4e-3, 2e-3, 1e-3))
    assert 0.7 < np.log2(coarse / fine) < 1.3
    assert 0.8 < np.log2(fine / finest) < 1.2


@pytest.mark.parametrize('friction', [False, True])
def test_torque_free_jaw_comes_to_rest_at_the_stops(friction: bool) -> None:
    mechanism = samples.mechanism('masticator')
    plant = MechanismPlant(mechanism, step=2e-3, friction=friction)
    heights = {f: mechanism.frame_pose(mechanism.home, f).position[2] for f in Stops().teeth}
    start, peak, kinetic = sum(plant.energy), 0.0, []
    for k in range(2500):
        plant.advance(np.zeros(6))
        kinetic.append(plant.energy[0])
        peak = max(peak, sum(plant.energy) - start)
        if k % 5:
            continue
        motion = mechanism.solve(plant.state[0])
        deep = [v for v in mechanism.range_violations(motion) if v.quantity != 'velocity']
        for violation in deep:
            excess = max(violation.lower - violation.value, violation.value - violation.upper)
            assert excess < (1e-3 if violation.unit == 'm' else 2e-2), violation
        for frame, height in heights.items():
            assert mechanism.frame_pose(motion, frame).position[2] < height + 1e-4
    assert plant.state[0][3] > 0.15, 'gravity opens the jaw'
    assert peak < 1e-6, 'stops give no energy'
    assert max(kinetic) > 0.01
    # Without friction only the stops take energy, and the jaw slides on in the sockets for long.
    assert max(kinetic[-200:]) < (1e-6 if friction else 1e-2) * max(kinetic)
    assert sum(plant.energy) < start - 0.02


def test_a_fixture_holds_the_jaw_until_the_first_effort() -> None:
    plant = MechanismPlant(samples.mechanism('masticator'), in_fixture=True)
    start = plant.position
    for _ in range(50):
        plant.advance(np.zeros(6))
    assert plant.time == 0.0 and np.array_equal(plant.position, start)
    plant.advance(np.full(6, 1e-3))
    for _ in range(50):
        plant.advance(np.zeros(6))
    assert plant.time == pytest.approx(0.051)
    assert np.abs(plant.position - start).max() > 1e-4  # it hangs


def test_a_state_that_cannot_be_is_refused_and_left() -> None:
    plant = MechanismPlant(samples.mechanism('masticator'), step=2e-3, stops=False)
    before = None
    with pytest.raises(SimulationError, match='cannot go on after .* s: limb_'):
        for _ in range(5000):
            before = plant.state
            plant.advance(np.full(6, 3.0))
    assert before is not None
    assert np.isfinite(np.concatenate(plant.state)).all()
    assert np.isfinite(plant.position).all() and np.isfinite(plant.energy).all()


def test_bad_input_is_named() -> None:
    mechanism = samples.mechanism('masticator')
    for words, match in (
        ({'step': 0.0}, 'step'),
        ({'step': float('nan')}, 'step'),
        ({'start': np.zeros(3)}, 'start has shape'),
        ({'start': [0.0, 0.0, 0.0, np.inf]}, 'not finite'),
        ({'start': [0.0, 0.0, 0.03, 0.0]}, 'molar_.* inside its stop'),
    ):
        with pytest.raises(InputError, match=match):
            MechanismPlant(mechanism, **words)
    with pytest.raises(InputError, match='frequency'):
        Stops(frequency=-1.0)
    with pytest.raises(SimulationError, match='cannot close'):
        MechanismPlant(mechanism, start=[0.2, 0.0, 0.0, 0.0], stops=False)
    plant = MechanismPlant(mechanism)
    for efforts in (np.zeros(5), np.full(6, np.nan), np.zeros((2, 6)), 'fast'):
        with pytest.raises(InputError, match='efforts'):
            plant.advance(efforts)
    food = Food(
        thickness=0.01, stiffness=1e4, yield_force=30.0, break_compression=1.0, renewal_gap=0.012
    )
    with pytest.raises(InputError, match='molar_left'):
        MechanismPlant(samples.mechanism('rcid'), food=food)


def test_one_step_is_the_same_in_one_call_or_many() -> None:
    mechanism = samples.mechanism('masticator')
    whole = MechanismPlant(mechanism, step=1e-3, friction=True)
    parts = MechanismPlant(mechanism, step=2.5e-4, friction=True)
    efforts = np.linspace(-0.05, 0.05, 6)
    whole.advance(efforts)
    for _ in range(4):
        parts.advance(efforts)
    assert np.array_equal(np.concatenate(whole.state), np.concatenate(parts.state))
    assert np.array_equal(whole.position, parts.position)
