# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How well a pass followed the motion, and whether its numbers are consistent."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, rms
from masticator_dynamics.evaluation.frames import FrameChain
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.acceptance.run_evaluation import fit_bite
from masticator_dynamics.robot.recording.closed_loop import ClosedLoop
from masticator_dynamics.robot.recording.record import ClosedLoopRecord
from masticator_dynamics.robot.recording.script import Script

CLOSURE_STEP = 0.01  # s between measured angles that are fitted


@dataclasses.dataclass(frozen=True)
class Tracking:
    """How a motion was followed; K rows of the true joint states during it.

    Attributes
    ----------
    time : (K,) array
        s from the start of the motion.
    commanded, actual : (K, 3) array
        Incisor, m, base axes.
    closure_time, closure : (M,) array
        Largest gap of the loops when the measured angles are fitted, m.
    effort_error : float
        Largest difference of feedforward efforts from those that motion and bite force need, N m.
    """

    time: FloatArray
    commanded: FloatArray
    actual: FloatArray
    closure_time: FloatArray
    closure: FloatArray
    effort_error: float

    @property
    def error(self) -> FloatArray:
        """Distance (K,) of the incisor from its commanded position at that time, m."""
        return np.asarray(np.linalg.norm(self.actual - self.commanded, axis=1))

    @property
    def rms(self) -> float:
        """RMS of the error, m."""
        return rms(self.error)

    @property
    def largest(self) -> float:
        """Largest error, m."""
        return float(self.error.max())


def track(mechanism: Mechanism, script: Script, record: ClosedLoopRecord) -> Tracking:
    """Compare a pass with the motion that was played.

    Parameters
    ----------
    mechanism, script, record
        What moved, what was played, what was recorded of one pass.
    """
    truth = record.truth.during(script.duration)
    measured = record.drives.during(script.duration)
    chain = FrameChain(mechanism, 'incisor')
    commanded, _ = chain.poses(mechanism.feedforward_batch(*script.path.sample(truth.stamps)).q)
    actual, _ = chain.poses(truth.position[:, truth.columns(mechanism.tree_joints)])
    every = max(1, round(CLOSURE_STEP * len(measured.stamps) / script.duration))
    angles = measured.position[::every, measured.columns(mechanism.actuated)]
    fitted = mechanism.forward_kinematics_batch(angles, np.inf)
    rows = script.path.sample(record.feedforward.stamps)
    expected = mechanism.feedforward_batch(*rows)
    error, _, _ = fit_bite(mechanism, record.feedforward, record.bite, rows, expected)
    return Tracking(
        truth.stamps,
        commanded,
        actual,
        measured.stamps[::every],
        fitted.closure_residual,
        float(error.max()),
    )


@dataclasses.dataclass(frozen=True)
class Pass:
    """A recorded pass and its tracking."""

    record: ClosedLoopRecord
    tracking: Tracking


@dataclasses.dataclass(frozen=True)
class LoopRun:
    """A run in closed loop: what moved, what was played, on what loop, and what came of it.

    Attributes
    ----------
    forward, alone : Pass
        With feedforward efforts and, if there is such a pass, with PD control alone.
    """

    mechanism: Mechanism
    script: Script
    loop: ClosedLoop
    forward: Pass
    alone: Pass | None
