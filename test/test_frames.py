# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Batches of frame poses and of wrenches in frames, against other computations."""

import numpy as np
import pytest
from oracles.pinocchio_oracle import PinocchioOracle

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation import frames
from masticator_dynamics.errors import InputError


@pytest.fixture(scope='module', params=['masticator', 'rcid'])
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return Mechanism.load(request.param)


def poses(mechanism: Mechanism, count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return mechanism.home.y + rng.uniform(-2e-3, 2e-3, (count, len(mechanism.independent)))


def test_every_frame_is_where_pinocchio_has_it(mechanism: Mechanism) -> None:
    oracle = PinocchioOracle(mechanism.description.file)
    y = poses(mechanism, 2)
    q = mechanism.feedforward_batch(y).q
    for frame in mechanism.frames:
        positions, rotations = frames.frame_poses(mechanism, q, frame)
        assert positions.shape == (2, 3)
        assert rotations.shape == (2, 3, 3)
        for row in range(2):
            position, rotation = oracle.frame_pose(frame, oracle.solve(y[row]).q)
            np.testing.assert_allclose(positions[row], position, atol=1e-12)
            np.testing.assert_allclose(rotations[row], rotation, atol=1e-12)


def test_one_motion_is_a_row_of_many(mechanism: Mechanism) -> None:
    q = mechanism.feedforward_batch(poses(mechanism, 3)).q
    frame = mechanism.description.platform
    positions, rotations = frames.frame_poses(mechanism, q, frame)
    position, rotation = frames.frame_poses(mechanism, q[1], frame)
    np.testing.assert_array_equal(position, positions[1])
    np.testing.assert_array_equal(rotation, rotations[1])


@pytest.mark.parametrize('axes', [None, 'incisor', 'maxilla'])
@pytest.mark.parametrize('point', [None, 'molar_left', 'incisor'])
def test_a_wrench_has_the_same_power_wherever_it_is_given(
    axes: str | None, point: str | None
) -> None:
    mechanism = Mechanism.load('masticator')
    rng = np.random.default_rng(4)
    y = rng.uniform([-1e-3, -1e-3, -0.02, 0.0], [1e-3, 1e-3, 0.02, 0.1], (5, 4))
    given = rng.normal(size=(5, 6))
    q = mechanism.feedforward_batch(y).q
    wrenches = frames.wrenches_on_platform(mechanism, q, given, axes, point)
    for row in range(5):
        motion = mechanism.solve(y[row])
        rotation = mechanism.frame_pose(motion, axes or 'maxilla').rotation
        at_point = mechanism.frame_jacobian(motion, point or 'mandible')
        at_origin = mechanism.frame_jacobian(motion, 'mandible')
        in_base = np.concatenate([rotation @ given[row, :3], rotation @ given[row, 3:]])
        np.testing.assert_allclose(
            at_origin.T @ wrenches[row], at_point.T @ in_base, rtol=1e-12, atol=1e-13
        )
        single = mechanism.wrench_on_platform(motion, given[row, :3], given[row, 3:], axes, point)
        np.testing.assert_allclose(single, wrenches[row], atol=1e-13)


def test_an_unknown_frame_is_refused_naming_the_known(mechanism: Mechanism) -> None:
    with pytest.raises(InputError, match=f"no frame 'jaw'; there are: .*{mechanism.frames[-1]}"):
        frames.frame_poses(mechanism, mechanism.home.q, 'jaw')
