# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sections torques, parasitic, coupling-course and friction: symmetry, power and closed loops."""

import dataclasses

import numpy as np
import pytest

from masticator_dynamics.engine.evaluation.frames import FrameChain
from papers.comparison import coupling_course, friction, parasitic, torques
from papers.comparison.goal_indices import GOALS
from papers.comparison.inputs import POSE

SWAP = [1, 0, 3, 2, 5, 4]
SIGNS = np.array([1, 1, -1, -1, -1, -1.0])
MIRROR = np.array([1, -1, -1, 1.0])  # x, y, alpha, beta
WRENCH = np.array([1, -1, 1, -1, 1, -1.0])


def rows(table) -> dict:
    return {row[0]: row[1:] for row in table.rows}


def mirrored(inputs):
    motion = inputs.motion
    return inputs.having(
        dataclasses.replace(
            motion, y=motion.y * MIRROR, y_dot=motion.y_dot * MIRROR,
            y_ddot=motion.y_ddot * MIRROR, wrench=motion.wrench * WRENCH,
        )
    )  # fmt: skip


def test_the_mirror_image_of_chewing_has_mirrored_torques(chewing) -> None:
    found, image = torques.chewing_torques(chewing), torques.chewing_torques(mirrored(chewing))
    for case in (torques.LEFT, torques.STILL, torques.FREE):
        # But for the mandible's products of inertia with y, 26.57 and 88.60 g mm².
        assert image[case] == pytest.approx((found[case] * SIGNS)[:, SWAP], abs=1e-6)


def test_the_right_molar_is_the_mirrored_point(chewing) -> None:
    """Chewing right is the mirror image of chewing left with motion and force mirrored."""
    motion = chewing.motion
    left = torques.chewing_torques(chewing)
    still = chewing.having(
        dataclasses.replace(motion, y=0 * motion.y, y_dot=0 * motion.y, y_ddot=0 * motion.y)
    )
    # At home, the moment of a force at the mirrored point is known by hand.
    point, force = np.array([0.057, -0.025, -0.030]), motion.wrench[:, :3]
    wrench = np.hstack([force, np.cross(np.broadcast_to(point, force.shape), force)])
    by_hand = chewing.masticator.feedforward_batch(0 * motion.y, W=wrench).actuated
    assert torques.chewing_torques(still)[torques.RIGHT] == pytest.approx(by_hand, abs=1e-12)
    assert not np.allclose(left[torques.RIGHT], left[torques.LEFT], atol=1e-3)


def test_rss6_never_does_with_less(chewing) -> None:
    found = torques.chewing_torques(chewing)
    norm = {case: np.linalg.norm(values, axis=1) for case, values in found.items()}
    assert np.all(norm[torques.FREE] >= norm[torques.LEFT] - 1e-12)


def test_right_molar_needs_the_built_in_bite(chewing) -> None:
    own = chewing.having(dataclasses.replace(chewing.motion, built_in=False))
    assert torques.RIGHT not in torques.chewing_torques(own)
    assert len(torques.compare(own)) == 2


def test_likeness_is_a_correlation_of_magnitudes() -> None:
    wave = np.sin(np.linspace(0.0, 7.0, 50))
    assert torques._likeness(wave, -3.0 * wave) == pytest.approx(1.0)
    assert torques._likeness(np.ones(50), wave) == 0.0


def test_gamma_of_the_closed_loops_has_a_minus(chewing) -> None:
    found = rows(parasitic.compare(chewing)[2])
    (largest,) = found['gamma, largest']
    assert found['gamma with p1 c(beta) - c(alpha) s(beta) off by'][0] < 1e-12
    assert found['theta_3 of S1 Eq. 7 off by'][0] < 1e-12
    assert found['gamma of S0 Eq. 5 off by'][0] > 0.05 * largest
    assert found['gamma of S1 Eq. 65 off by'][0] > largest  # even its sign is wrong


def test_cranks_of_symmetric_motions_are_symmetric(moving) -> None:
    y = np.array([[0.001, 0.0, 0.0, 0.02], [0.002, 0.0, 0.0, 0.05], [0.0, 0.0, 0.0, 0.08]])
    inputs = moving(y, y_dot=y, y_ddot=y)
    for row in parasitic.compare(inputs)[1].rows:
        assert row[1:] == pytest.approx([0.0] * 3, abs=1e-8)


def test_chewing_on_the_other_side_swaps_the_indices_of_each_pair(chewing) -> None:
    here, there = (
        rows(coupling_course.compare(inputs)[0]) for inputs in (chewing, mirrored(chewing))
    )
    for name, values in here.items():
        if 'likeness' not in name and 'correlation' not in name:
            swapped = np.array(values)[SWAP]
            assert there[name] == pytest.approx(swapped, rel=1e-3, abs=1e-9), name
    assert here['masticator, change by the bite'] == (0.0,) * 6


@pytest.mark.parametrize('goal', GOALS.values())
def test_the_power_of_the_condyles_friction_comes_from_the_motors(chewing, goal) -> None:
    """P_i tau_i minus the cranks' own friction must supply the power lost in the sockets."""
    motion, masticator = chewing.motion, chewing.masticator
    effort = friction._effort(chewing, motion, goal)
    share = friction.friction_shares(chewing, motion, effort)
    cranks = masticator.tree_indices(masticator.actuated)
    feeding = (share * effort.actuated - effort.friction) * effort.v[:, cranks]
    taken = np.zeros(len(motion.time))
    for k, name in enumerate(friction.CONDYLES):
        jacobian = FrameChain(masticator, name).jacobians(effort.q, effort.tangent)[1]
        speed = np.einsum('nij,nj->ni', jacobian, motion.y_dot)
        taken -= np.sum(effort.contact_friction[:, k] * speed, axis=1)
    assert np.all(taken >= 0.0) and taken.max() > 1e-8
    assert feeding.sum(axis=1) == pytest.approx(taken, abs=1e-11)


def test_constraint_forces_are_told_crank_by_crank(chewing) -> None:
    contacts, shares, feet, moments = friction.compare(chewing)
    found = rows(feet)
    along = np.array([found[f'F_S along {axis}, largest'] for axis in 'XYZ'])
    norm = np.array(found['F_S, largest norm'])
    assert np.all(norm <= np.linalg.norm(along, axis=0) + 1e-12) and np.all(
        norm >= along.max(axis=0)
    )
    ratio = rows(moments)
    assert np.array(ratio['torque / M^C']) == pytest.approx(
        np.array(ratio['torque, largest']) / np.array(ratio['M^C, largest norm'])
    )
    assert rows(contacts)['F_Z, greatest, N'] >= rows(contacts)['F_Z, least, N']
    assert POSE[:3] == ('x', 'y', 'z')
    assert 'G3, torque changes sign, times' in rows(shares)


def test_a_mandible_that_stays_has_numbers_too(moving) -> None:
    inputs = moving(np.zeros((2, 4)))
    for section in (torques, parasitic, coupling_course, friction):
        for table in section.compare(inputs):
            numbers = [cell for row in table.rows for cell in row[1:] if isinstance(cell, float)]
            assert np.isfinite(numbers).all(), table.title
