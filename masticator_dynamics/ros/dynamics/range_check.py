# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A motion evaluated over its whole time, and the refusal of what leaves a range."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import LimitError, MasticatorError
from masticator_dynamics.evaluation.goals import Goal
from masticator_dynamics.limits.load_limits import LoadLimits
from masticator_dynamics.limits.ranges import SLACK, ranged
from masticator_dynamics.motion import MotionPath


@dataclasses.dataclass(frozen=True)
class SampledMotion:
    """Actuated motion and efforts (N, n_u) without external wrench, and tree motion (N, n_q)."""

    times: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    effort: FloatArray
    q: FloatArray
    v: FloatArray

    def rows(self, index: FloatArray) -> SampledMotion:
        """Some of the samples."""
        return SampledMotion(*(getattr(self, f.name)[index] for f in dataclasses.fields(self)))


def sample_motion(
    mechanism: Mechanism,
    path: MotionPath,
    times: FloatArray,
    *,
    goal: Goal = 'torque',
    friction: bool = False,
    limits: LoadLimits | bool = False,
) -> SampledMotion:
    """Evaluate a path.

    Parameters
    ----------
    mechanism : Mechanism
        What moves.
    path : MotionPath
        Of its independent coordinates.
    times : (N,) array
        Sampling times, s.
    goal, friction, limits
        As for :meth:`Mechanism.feedforward`.

    Raises
    ------
    ReachError, SingularityError, ActuationError, LimitError
        Naming the time; the last only if limits are given and no efforts keep within them.
    """
    try:
        batch = mechanism.feedforward_batch(
            *path.sample(times), goal=goal, friction=friction, limits=limits
        )
    except MasticatorError as error:
        raise type(error)(f'at {times[error.row or 0]:.6g} s: {error.without_row}') from None
    return SampledMotion(
        times, batch.position, batch.velocity, batch.acceleration, batch.actuated, batch.q, batch.v
    )


def check_ranges(
    mechanism: Mechanism, motion: SampledMotion, effort_limit_scale: float | None
) -> None:
    """Refuse a motion that leaves a range of joints, sockets or efforts.

    Parameters
    ----------
    mechanism : Mechanism
        Whose ranges are checked.
    motion : SampledMotion
        What to check.
    effort_limit_scale : float or None
        Of the range of efforts; None: efforts are not checked.

    Raises
    ------
    LimitError
        Naming the joint or contact, the largest excess and its time.
    """
    effort = None if effort_limit_scale is None else motion.effort
    for group in ranged(mechanism, motion.q, motion.v, effort, effort_limit_scale or 0.0):
        beyond = group.beyond()
        if not (beyond <= SLACK).all():  # NaN is refused, too
            row, index = divmod(int(np.argmax(beyond)), beyond.shape[1])
            raise LimitError(f'at {motion.times[row]:.6g} s: {group.violation(index, row)}')
