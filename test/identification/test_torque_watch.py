# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What torques of motors show of their own errors, by the principle of virtual work."""

import numpy as np
import pytest
import samples

from masticator_dynamics.identification.bite_observer import BiteObserver
from masticator_dynamics.identification.torque_watch import TorqueWatch

PERIOD, COUNT, STEP = 0.004, 3e-4, 4e-4
OPEN = np.array([0.001, 0.0005, 0.01, 0.1])


def posed(name, offset=0.0):
    """A mechanism, a pose, and the rates of its motors per rate of its coordinates."""
    mechanism = samples.mechanism(name)
    motion = mechanism.solve(mechanism.home.y + offset)
    return mechanism, motion, motion.tangent[mechanism.actuated_rows]


def pressed(mechanism, tangent, effort, seconds=15.0):
    watch = TorqueWatch(mechanism, COUNT, STEP)
    for _ in range(round(seconds / PERIOD)):
        watch.press(effort, tangent, PERIOD)
    return watch.errors()


@pytest.mark.parametrize(('name', 'offset'), [('masticator', OPEN), ('rrr4', 0.0)])
def test_what_does_no_work_in_any_motion_presses_and_nothing_else_does(name, offset) -> None:
    mechanism, _, tangent = posed(name, offset)
    motors, freedoms = tangent.shape
    rng = np.random.default_rng(5)
    presses = np.linalg.svd(tangent)[0][:, freedoms:] @ rng.normal(size=motors - freedoms)
    assert np.abs(presses @ tangent).max() < 1e-9 < np.linalg.norm(presses)
    moves = tangent @ rng.normal(size=freedoms)
    assert pressed(mechanism, tangent, moves).pressing < 1e-9
    both = pressed(mechanism, tangent, moves + presses)
    assert both.pressing == pytest.approx(np.linalg.norm(presses), rel=1e-6)
    assert both.load == pytest.approx(np.linalg.norm(moves + presses), rel=1e-6)


@pytest.mark.parametrize('motor', range(6))
def test_one_torque_that_is_off_is_told_by_its_amount(motor) -> None:
    mechanism, motion, tangent = posed('masticator', OPEN)
    holding = mechanism.feedforward(motion.y).actuated
    errors = pressed(mechanism, tangent, holding + 0.04 * np.eye(6)[motor])
    assert errors.alone[motor] == pytest.approx(0.04, rel=1e-3)
    assert errors.explains[motor] == pytest.approx(1.0, abs=1e-3) == errors.explains.max()
    assert (errors.explains <= 1.0).all()


def test_without_redundant_motors_nothing_presses() -> None:
    mechanism, _, tangent = posed('rss6')
    errors = pressed(mechanism, tangent, np.ones(len(mechanism.actuated)))
    assert errors.pressing == 0.0 and not errors.pressed.any()
    assert not errors.fault(mechanism.actuated, 0.01)


def rested(seconds, offset=0.0, jitter=0.0):
    """A watch of a masticator that holds its home; counts, and efforts that are off."""
    mechanism, motion, _ = posed('masticator')
    watch, effort = TorqueWatch(mechanism, COUNT, STEP), mechanism.feedforward(motion.y).actuated
    for k in range(round(seconds / PERIOD)):
        position = motion.position + jitter * COUNT * (k % 2)
        watch.rest(k * PERIOD, position, effort + offset, motion)
    return watch


def test_the_first_standstill_tells_zeros() -> None:
    offset = np.array([0.01, -0.02, 0.0, 0.03, 0.0, -0.005])
    before = rested(0.4, offset).errors()
    assert not before.measured and (before.zero == 10.0 * STEP).all()
    after = rested(0.6, offset, jitter=1.0).errors()
    assert after.measured and after.zero == pytest.approx(offset, abs=1e-12)
    assert after.fault(samples.mechanism('masticator').actuated, 0.025).startswith(
        'crank_4 told +0.03'
    )
    assert not after.fault(samples.mechanism('masticator').actuated, 0.035)


def test_who_moves_does_not_stand_still() -> None:
    assert not rested(2.0, jitter=5.0).measured


def test_zeros_outlast_a_gap_and_not_a_new_beginning() -> None:
    mechanism, motion, _ = posed('masticator')
    observer = BiteObserver(mechanism, 'molar_left')
    effort = mechanism.feedforward(motion.y).actuated + 0.01

    def hold(begin, count):
        steps = [
            observer.step(begin + k * PERIOD, motion.position, effort, motion) for k in range(count)
        ]
        return steps[-1].torque_errors

    assert hold(0.0, 150).measured
    assert hold(5.0, 20).zero == pytest.approx(np.full(6, 0.01), abs=1e-12)
    observer.reset()
    assert not hold(6.0, 20).measured


def test_what_cannot_be_seen_is_said() -> None:
    said = BiteObserver(samples.mechanism('masticator'), 'molar_left').not_seen
    assert 'of 6 torques, 2 combinations press' in said and 'and 1 move' in said
    assert 'an error in the 3 others looks like food' in said


def test_an_error_like_a_force_is_not_seen() -> None:
    """Efforts of a force at the molar, of least norm, press nowhere: they are its very picture."""
    mechanism, motion, tangent = posed('masticator', OPEN)
    wrench = mechanism.wrench_on_platform(
        motion, np.array([0.0, 0.0, -5.0]), np.zeros(3), 'molar_left', 'molar_left'
    )
    bitten = mechanism.feedforward(motion.y, wrench=wrench).actuated
    assert pressed(mechanism, tangent, bitten).pressing < 1e-9
