# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints whose positions count the other way, with their efforts or without them.

Driver and file disagree. No mistake of efforts looks so, since the links behind such a joint move
another way. It is looked for by turning one joint at a time, where least squares would leave much
less, also than with the other sign of one motor's efforts alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.identification.least_squares import least_squares
from masticator_dynamics.identification.robot_log import RobotLog
from masticator_dynamics.identification.weighted_equations import Equations

_CLEARLY = 0.5  # of what is left: a joint is told where turning it leaves less


def turned_joint(
    joints: tuple[str, ...],
    log: RobotLog,
    training: Equations,
    equations_of: Callable[[RobotLog], Equations],
) -> str:
    """A sentence that begins with the joint, empty where there is none.

    Parameters
    ----------
    joints : tuple of str
        Actuated ones (n_u,).
    log : RobotLog
        As it was recorded.
    training : Equations
        Of it.
    equations_of : callable
        Equations of a recording; raises MasticatorError where the robot cannot move so.
    """
    signs = [training, *(_with_other_sign(training, k) for k in range(len(joints)))]
    least, sentence = _CLEARLY * min(map(_left, signs)), ''
    for k, joint in enumerate(joints):
        sign = np.where(np.arange(len(joints)) == k, -1.0, 1.0)
        turned = dataclasses.replace(log, position=sign * log.position, effort=sign * log.effort)
        try:
            whole = equations_of(turned)
        except MasticatorError:  # most joints of a closed loop
            continue
        for what, part in (
            (f'positions and efforts of {joint} count', whole),
            (f'positions of {joint}, and not its efforts, count', _with_other_sign(whole, k)),
        ):
            left = _left(part)
            if left < least:
                least, sentence = left, f'{joint}: {what} the other way'
    return sentence


def _with_other_sign(equations: Equations, motor: int) -> Equations:
    """The same for efforts of one motor of the other sign."""
    share = equations.rates[:, :, motor] * equations.effort[:, motor, None]
    return dataclasses.replace(equations, force=equations.force - 2.0 * share)


def _left(equations: Equations) -> float:
    return equations.error(least_squares(equations))
