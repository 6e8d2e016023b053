# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Do six measured angles close the loops, and if not, which drive is off and by how much?"""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from masticator_dynamics import Mechanism
from masticator_dynamics.drives.setpoint_gate import check_reference
from masticator_dynamics.engine.evaluation.actuated_fit import ActuatedFit, gap

TOLERANCE = 1e-3
RESOLUTION = 2.0 * np.pi / 4096 / 4.8  # rad, of the encoder at the crank


POSES = st.tuples(
    st.floats(-0.002, 0.003), st.floats(-0.001, 0.001), st.floats(-0.03, 0.03),
    st.floats(0.0, 0.35),
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(pose=POSES, seed=st.integers(0, 99))
def test_angles_of_any_pose_close_the_loops(mechanism, pose, seed):
    angles = mechanism.solve(pose).position
    noise = RESOLUTION * np.random.default_rng(seed).uniform(-1.0, 1.0, 6)
    reference = check_reference(mechanism, angles + noise, TOLERANCE)
    assert reference.closed and not reference.suspects
    assert reference.text.startswith('the loops close within ')
    assert reference.residual < 0.05e-3


@settings(max_examples=25, deadline=None)
@given(
    pose=POSES, crank=st.integers(0, 5), amount=st.floats(0.15, 0.4), sign=st.sampled_from([-1, 1])
)
def test_a_drive_that_is_off_is_named_with_the_amount(mechanism, pose, crank, amount, sign):
    angles = mechanism.solve(pose).position.copy()
    angles[crank] += sign * amount
    reference = check_reference(mechanism, angles, TOLERANCE)
    if reference.residual <= TOLERANCE:
        assert amount < 0.25  # loops need not open by 1 mm for less
        return
    (suspect,) = reference.suspects
    assert suspect.drive == mechanism.actuated[crank]
    assert suspect.error == pytest.approx(sign * amount, abs=1e-6)
    (said,) = re.findall(rf'{suspect.drive} is off by (-?[.\d]+) rad', reference.text)
    assert float(said) == pytest.approx(sign * amount, abs=0.0006)  # rounded to three digits


def test_a_turn_of_the_motor_is_found_in_spite_of_quantised_angles(mechanism):
    """With a reference off by one motor turn, the loops cannot close at all."""
    noise = RESOLUTION * np.random.default_rng(0).uniform(-0.5, 0.5, 6)
    for crank in range(6):
        angles = mechanism.home.position + noise
        angles[crank] += 2.0 * np.pi / 4.8
        reference = check_reference(mechanism, angles, TOLERANCE)
        assert [s.drive for s in reference.suspects] == [mechanism.actuated[crank]]
        assert reference.suspects[0].error == pytest.approx(2.0 * np.pi / 4.8, abs=0.01)


def test_two_drives_that_are_off_are_not_blamed_on_one(mechanism):
    angles = mechanism.home.position + [0.3, 0.0, 0.0, -0.3, 0.0, 0.0]
    reference = check_reference(mechanism, angles, TOLERANCE)
    assert not reference.closed and not reference.suspects
    assert 'more than one is off' in reference.text


def test_one_redundant_drive_shows_that_but_not_which():
    mechanism = Mechanism.load('rrr4')  # four motors, three degrees of freedom
    angles = mechanism.home.position + [0.05, 0.0, 0.0, 0.0]
    reference = check_reference(mechanism, angles, TOLERANCE)
    assert not reference.closed
    assert {s.drive for s in reference.suspects} == set(mechanism.actuated)
    errors = {s.drive: s.error for s in reference.suspects}
    assert errors['motor_1'] == pytest.approx(0.05, abs=1e-9)
    assert reference.text.count(' or ') == 3


@pytest.mark.parametrize('name', ['rcid', 'rss6'])
def test_as_many_drives_as_freedoms_cannot_be_checked_and_that_is_said(name):
    mechanism = Mechanism.load(name)
    positions = mechanism.home.position.copy()
    positions[0] += 0.02
    reference = check_reference(mechanism, positions, TOLERANCE)
    assert reference.closed
    assert 'cannot be told from their positions' in reference.text


def test_positions_that_no_pose_has_are_told_where_nothing_else_can_be():
    mechanism = Mechanism.load('rss6')
    reference = check_reference(mechanism, mechanism.home.position + 3.0, TOLERANCE)
    assert not (reference.closed or reference.suspects)
    assert reference.text == 'no closed configuration of rss6 has these positions'


def test_a_position_that_is_no_number_closes_nothing(mechanism):
    positions = mechanism.home.position.copy()
    positions[2] = np.nan
    reference = check_reference(mechanism, positions, TOLERANCE)
    assert not reference.closed and np.isinf(reference.residual)


def test_an_encoder_that_sticks_is_told_from_others_by_its_command(mechanism):
    """All drives follow slightly late; slightly open loops fit more than one of them."""
    rng = np.random.default_rng(0)
    ambiguous = 0
    for trial in range(60):
        beta = 0.03 * (1.0 - np.cos(np.pi * rng.uniform(0.0, 2.0)))
        commanded = mechanism.solve(mechanism.home.y + [0.0, 0.0, 0.0, beta]).position
        late, crank, sign = rng.normal(0.0, 0.004, 6), trial % 6, rng.choice([-1.0, 1.0])
        for amount in np.arange(0.06, 0.4, 0.01):
            measured = commanded + late
            measured[crank] += sign * amount
            by_angles = check_reference(mechanism, measured, TOLERANCE)
            if not by_angles.closed:
                break
        (suspect,) = check_reference(mechanism, measured, TOLERANCE, commanded - measured).suspects
        assert suspect.drive == mechanism.actuated[crank]
        ambiguous += [s.drive for s in by_angles.suspects] != [suspect.drive]
    assert ambiguous > 5  # it is the commands that tell


def test_a_slipped_encoder_that_follows_its_command_is_named_by_angles(mechanism):
    measured = mechanism.home.position.copy()
    measured[2] += 0.3
    (suspect,) = check_reference(mechanism, measured, TOLERANCE, np.zeros(6)).suspects
    assert suspect.drive == 'crank_3'


@settings(max_examples=30, deadline=None)
@given(pose=POSES, crank=st.integers(0, 5), amount=st.floats(-0.2, 0.2))
def test_the_gap_is_that_of_the_closest_pose(mechanism, pose, crank, amount):
    """Machine code finds it, or else steps on floats, which are the second derivation."""
    position = mechanism.solve(mechanism.home.y + pose).position.copy()
    position[crank] += amount
    motion = ActuatedFit(mechanism).closest(position)
    residual = check_reference(mechanism, position, np.inf).residual
    assert residual == pytest.approx(gap(mechanism, motion, position), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize('amounts', [(1.31,), (2.5,), (2.0, -2.0, 1.5, -1.5, 2.5, -2.5)])
def test_loops_that_are_far_open_take_a_bounded_number_of_poses(monkeypatch, amounts):
    """Seven fits of 32 poses, some 0.15 ms each; without a bound there were ten thousand."""
    mechanism = Mechanism.load('masticator')
    solved, at_rest = [], mechanism.solver.at_rest
    monkeypatch.setattr(mechanism.solver, 'at_rest', lambda y: solved.append(0) or at_rest(y))
    position = mechanism.solve(mechanism.home.y + [0.003, 0.0, 0.0, 0.15]).position
    position = position + np.resize([*amounts, *np.zeros(6 - len(amounts))], 6)
    assert not check_reference(mechanism, position, 1e-3).closed
    assert len(solved) <= 7 * 32
