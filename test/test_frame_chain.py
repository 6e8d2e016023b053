# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches of frame positions against single motions and finite differences."""

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.frames import FrameChain, check_frame


@pytest.mark.parametrize('frame', ['incisor', 'condyle_left', 'coupler_3_tip', 'maxilla'])
def test_agrees_with_single_motions_and_finite_differences(mechanism, frame):
    rng = np.random.default_rng(0)
    poses = rng.uniform(-1, 1, (5, 4)) * [2e-3, 2e-3, 0.02, 0.05] + [0, 0, 0, 0.06]
    motions = [mechanism.solve(y) for y in poses]
    chain = FrameChain(mechanism, frame)
    positions, jacobians = chain.jacobians(
        np.array([m.q for m in motions]), np.array([m.tangent for m in motions])
    )
    step = 1e-6
    for y, motion, position, jacobian in zip(poses, motions, positions, jacobians, strict=True):
        assert np.allclose(position, mechanism.frame_pose(motion, frame).position, atol=1e-15)
        for k, delta in enumerate(step * np.eye(4)):
            ahead, behind = (
                mechanism.frame_pose(mechanism.solve(y + d), frame).position
                for d in (delta, -delta)
            )
            assert np.allclose(jacobian[:, k], (ahead - behind) / (2 * step), atol=1e-8)


@pytest.mark.parametrize('name', ['masticator', 'rcid', 'trimule'])
def test_every_frame_is_where_the_whole_tree_has_it(name):
    mechanism = Mechanism.load(name)
    motion = mechanism.solve(mechanism.home.y + 1e-3 * np.arange(len(mechanism.independent)))
    for frame in mechanism.frames:
        position, rotation = FrameChain(mechanism, frame).poses(motion.q)
        wanted = mechanism.frame_pose(motion, frame)
        assert rotation == pytest.approx(wanted.rotation, abs=1e-14)
        assert position == pytest.approx(wanted.position, abs=1e-15)


@pytest.mark.parametrize('angle', [99.0, 101.0, 1e9, -1e17, 1e200])
def test_angles_of_any_size(mechanism, angle):
    tree = mechanism.structure.tree
    q = mechanism.home.q + angle * np.array([j.type != 'prismatic' for j in tree.joints])
    _, rotation = FrameChain(mechanism, 'coupler_3_tip').poses(np.array([mechanism.home.q, q]))
    end = check_frame(mechanism, 'coupler_3_tip')
    wanted = tree.poses(q).rotations[end.body] @ end.rotation
    assert rotation[1] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize('name', ['masticator', 'trimule'])
def test_plain_numbers_are_the_same_pose(name):
    """By machine code in place; angles that are too large for it go the other way."""
    mechanism = Mechanism.load(name)
    row = mechanism.home.row()
    places = mechanism.slices['q']
    rng = np.random.default_rng(5)
    for frame in mechanism.frames:
        chain = mechanism.frame_chain(frame)
        for size in (1.0, 1e9):
            row[places] += size * rng.normal(size=places.stop - places.start)
            position, rotation = chain.in_numbers(row)
            positions, rotations = chain.poses(row[places])
            np.testing.assert_allclose(position, positions, rtol=1e-12, atol=1e-12 * size)
            np.testing.assert_allclose(rotation, rotations, rtol=0.0, atol=1e-12)
        row = mechanism.home.row()
