# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which efforts are sent along with a commanded motion."""

from __future__ import annotations

import enum

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.evaluation.frames import wrenches_on_platform
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.twin.control_chain import CommandedMotion, Feedforward


class Kind(enum.Enum):
    """From none to everything known; values are labels for tables."""

    NONE = 'PD alone'
    GRAVITY = 'PD + gravity'
    BARE = 'full, friction of the drives not known'
    FULL = 'PD + full feedforward'
    FRICTION = 'PD + full feedforward with friction'


def feedforward(
    kind: Kind, mechanism: Mechanism, reference: CommandedMotion, bitten: str
) -> Feedforward:
    """Efforts (n_u,) at the joints, N m, for a cycle and the food's force (3,), N, base axes.

    Gravity is that of the commanded pose at rest. Full efforts are those of the dynamics node:
    inverse dynamics of the commanded motion with the force, which acts where the bitten tooth is
    commanded to be. "With friction" means that of the mechanism. Friction of motors and gears is
    not an effort at the joints: the drive layer adds it, in all runs with efforts but one.

    Parameters
    ----------
    kind : Kind
        How much is known.
    mechanism : Mechanism
        What is commanded to move.
    reference : CommandedMotion
        The commanded motion.
    bitten : str
        URDF link at whose origin the force acts.
    """
    if kind is Kind.NONE:
        return lambda cycle, force: None
    if kind is Kind.GRAVITY:
        gravity = mechanism.feedforward_batch(reference.y).actuated
        return lambda cycle, force: gravity[cycle]
    friction = kind is Kind.FRICTION

    def full(cycle: int, force: FloatArray) -> FloatArray:
        given = np.concatenate([force, np.zeros(3)])
        wrench = wrenches_on_platform(mechanism, reference.q[cycle], given, point=bitten)
        y, y_dot, y_ddot = reference.y[cycle], reference.y_dot[cycle], reference.y_ddot[cycle]
        return mechanism.feedforward(y, y_dot, y_ddot, wrench, friction=friction).actuated

    return full
