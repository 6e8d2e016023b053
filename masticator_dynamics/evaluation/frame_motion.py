# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Twists, accelerations and Jacobians of frames (Siciliano, Robotics, 2009, Sec. 3.1)."""

from __future__ import annotations

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.frames import FrameChain, frame_chain
from masticator_dynamics.evaluation.mass_and_bias import EquationsOfMotion, check_motion
from masticator_dynamics.evaluation.results import Effort, Evaluator, Motion


def jacobian(mechanism: Evaluator, motion: Motion | Effort, frame: str) -> FloatArray:
    """See :meth:`Mechanism.frame_jacobian`."""
    chain = _chain(mechanism, motion, frame)
    _, screws = chain.screws(motion.q)
    return chain.summed(screws, motion.tangent)


def jacobian_rate(mechanism: Evaluator, motion: Motion | Effort, frame: str) -> FloatArray:
    """See :meth:`Mechanism.frame_jacobian_rate`."""
    chain = _chain(mechanism, motion, frame)
    _, screws = chain.screws(motion.q)
    tangent_rate = mechanism.made(EquationsOfMotion).tangent_rate(motion)
    turned = chain.summed(chain.screw_rates(motion.q, motion.v), motion.tangent)
    return turned + chain.summed(screws, tangent_rate)


def twist(mechanism: Evaluator, motion: Motion | Effort, frame: str) -> FloatArray:
    """See :meth:`Mechanism.frame_twist`."""
    chain = _chain(mechanism, motion, frame)
    return chain.summed(chain.screws(motion.q)[1], motion.v[..., None])[..., 0]


def acceleration(mechanism: Evaluator, motion: Motion | Effort, frame: str) -> FloatArray:
    """See :meth:`Mechanism.frame_acceleration`."""
    chain = _chain(mechanism, motion, frame)
    moving = chain.summed(chain.screw_rates(motion.q, motion.v), motion.v[..., None])
    return (moving + chain.summed(chain.screws(motion.q)[1], motion.a[..., None]))[..., 0]


def _chain(mechanism: Evaluator, motion: Motion | Effort, frame: str) -> FrameChain:
    check_motion(mechanism, motion)
    return frame_chain(mechanism, frame)
