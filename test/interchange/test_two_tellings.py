# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gaps are told twice, as the importer measures them and as the engine does: both mean the same."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
import small_robots

from masticator_dynamics import Mechanism
from masticator_dynamics.description.closures import COUPLING
from masticator_dynamics.engine.closed_home import extent
from masticator_dynamics.engine.closure_equations import all_constraints
from masticator_dynamics.engine.descent import Loops
from masticator_dynamics.interchange.pose_search import LoopKinematics, close
from masticator_dynamics.interchange.robot_model import Frame, JointCoupling, Loop, RobotModel

RANK = 1e-6  # of the largest: directions in which a gap does not change


def importers_view(mechanism: Mechanism) -> LoopKinematics:
    """What an importer would have read."""
    description = mechanism.description
    tree = description.tree
    model = RobotModel(
        pathlib.Path('x'), mechanism.name, tree.root, dict(tree.links), list(tree.joints)
    )
    for closure in description.closures:
        if closure.kind is COUPLING:
            coupling = JointCoupling(closure.name, str(closure.joint), closure.of, closure.offset)
            model.couplings.append(coupling)
            continue
        first, second = (Frame.of(link) for link in closure.frames)
        loop = Loop(closure.name, closure.kind, first, second)
        for dimension in closure.kind.dimensions:  # a rack's, too, that no file has
            object.__setattr__(loop, dimension, getattr(closure, dimension))
        model.loops.append(loop)
    return LoopKinematics(model)


def engines_view(mechanism: Mechanism, kinematics: LoopKinematics) -> Loops:
    """The engine's equations, in the same order of joints, with all that others say twice."""
    tree = kinematics.tree
    constraints = tuple(all_constraints(mechanism.description, tree))
    return Loops(tree, constraints, extent(tree, constraints, np.zeros(len(tree.joints))))


def step(gaps: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The shortest that closes all loops to first order, whatever the equations' scales."""
    return np.asarray(np.linalg.lstsq(rates, gaps, rcond=RANK)[0])


@pytest.mark.parametrize('kind', small_robots.CLOSURES)
def test_both_close_loops_alike(kind: str, tmp_path: pathlib.Path) -> None:
    """A little beside closed poses away from home, both lead back to the same pose."""
    mechanism = Mechanism.load(small_robots.CLOSURES[kind](tmp_path))
    kinematics = importers_view(mechanism)
    loops = engines_view(mechanism, kinematics)
    home = dict(zip(mechanism.tree_joints, mechanism.home.q.tolist(), strict=True))
    start, rng = np.array([home[name] for name in kinematics.names]), np.random.default_rng(5)
    for _ in range(3):
        closed, gap = close(kinematics, start + 0.05 * rng.uniform(-1.0, 1.0, len(start)))
        assert gap < 1e-9 and np.abs(loops.gaps(closed)).max() < 1e-9
        q = closed + 1e-5 * rng.uniform(-1.0, 1.0, len(start))
        theirs = kinematics.gaps(q)
        rates = loops.jacobian(q) * loops.units()[:, None] / loops.joint_units
        ours, expected = step(loops.gaps(q), rates), step(theirs.values, theirs.rates)
        assert np.abs(expected).max() > 1e-7
        assert ours == pytest.approx(expected, abs=1e-3 * np.abs(expected).max())
        # And each leads where the other sees no gap, but for second order.
        assert np.abs(kinematics.gaps(q - ours).values).max() < 1e-3 * np.abs(theirs.values).max()
