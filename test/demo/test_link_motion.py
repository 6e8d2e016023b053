# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of links straight from the URDF, against Pinocchio."""

import numpy as np
import pytest

from masticator_dynamics.robot.acceptance.link_motion import LinkMotion

pytest.importorskip('pinocchio', reason='pin is not installed (extra test)')
from oracles.pinocchio_oracle import PinocchioOracle


@pytest.fixture(scope='module')
def oracle(mechanism):
    return PinocchioOracle(mechanism.description.file)


@pytest.fixture(scope='module')
def states(oracle):
    """Arbitrary joint values: loops need not be closed for energies and poses."""
    random = np.random.default_rng(1)
    count = len(oracle.joint_names)
    return random.uniform(-0.3, 0.3, (5, count)), random.uniform(-2.0, 2.0, (5, count))


def test_energy(mechanism, oracle, states):
    links = LinkMotion(mechanism.description, oracle.joint_names, *states)
    expected = [sum(oracle.energy(q, v)) for q, v in zip(*states, strict=True)]
    # Potentials may differ by a constant.
    assert np.diff(links.energy()) == pytest.approx(np.diff(expected), rel=1e-10, abs=1e-12)


def test_positions_and_velocities(mechanism, oracle, states):
    q, v = states
    links = LinkMotion(mechanism.description, oracle.joint_names, q, v)
    step = 1e-6
    for frame in ('incisor', 'coupler_5_tip', 'condyle_right'):
        for row in range(len(q)):
            position = oracle.frame_position(frame, q[row])
            assert links.origin[frame][row] == pytest.approx(position, abs=1e-12)
            ahead = oracle.frame_position(frame, q[row] + step * v[row])
            behind = oracle.frame_position(frame, q[row] - step * v[row])
            velocity = (ahead - behind) / (2.0 * step)
            assert links.velocity[frame][row] == pytest.approx(velocity, abs=1e-7)


def test_gap_is_seen(mechanism, oracle):
    """Components of a gap are in base axes; those of sockets are along normals as written."""
    motion = mechanism.solve([0.002, 0.0005, 0.01, 0.1])
    q = np.tile(motion.q, (3, 1))
    q[1, mechanism.tree_joints.index('crank_4')] += 1e-6
    q[2, mechanism.tree_joints.index('z')] += 1e-6
    gap = mechanism.largest_gap(q)
    assert gap[0] < 1e-14
    order = [mechanism.tree_joints.index(name) for name in oracle.joint_names]
    moved = [oracle.frame_position('coupler_4_tip', row[order]) for row in q[:2]]
    assert gap[1] == pytest.approx(np.abs(moved[1] - moved[0]).max(), rel=1e-6)
    assert gap[2] == pytest.approx(1e-6, rel=1e-3)
    assert [mechanism.largest_gap(row) for row in q] == pytest.approx(gap, rel=1e-12, abs=1e-16)
