# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints whose positions count the other way or stand under another's name, efforts or not.

Driver and file disagree. No mistake of efforts looks so, since the links behind such a joint move
another way. They are looked for one joint, or pair of joints, at a time, where least squares would
leave much less, also than with such a mistake of the efforts alone.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.identification.least_squares import least_squares
from masticator_dynamics.identification.robot_log import RobotLog
from masticator_dynamics.identification.weighted_equations import Equations

_CLEARLY = 0.5  # of what is left: a joint is told where reading it otherwise leaves less


def misread_joint(
    joints: tuple[str, ...],
    log: RobotLog,
    training: Equations,
    equations_of: Callable[[RobotLog], Equations],
) -> str:
    """A sentence that begins with the joint, or the two, empty where there is none.

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
    changes = [*_changes(joints)]
    efforts_alone = [training, *(_with_efforts(training, change) for change, _, _ in changes)]
    least, sentence = _CLEARLY * min(map(_left, efforts_alone)), ''
    for change, told_of_both, told_of_positions in changes:
        position, effort = log.position @ change, log.effort @ change
        try:
            both = equations_of(dataclasses.replace(log, position=position, effort=effort))
        except MasticatorError:  # most joints of a closed loop
            continue
        positions = _with_efforts(both, change)  # twice is not at all
        for told, part in ((told_of_both, both), (told_of_positions, positions)):
            left = _left(part)
            if left < least:
                least, sentence = left, told
    return sentence


def _changes(joints: tuple[str, ...]) -> Iterator[tuple[FloatArray, str, str]]:
    """Matrix (n_u, n_u) that undoes a mistake, and what is said of it with efforts, and without."""
    same = np.eye(len(joints))
    for k, joint in enumerate(joints):
        yield (
            same - 2.0 * np.outer(same[k], same[k]),
            f'{joint}: positions and efforts of {joint} count the other way',
            f'{joint}: positions of {joint}, and not its efforts, count the other way',
        )
    for (a, first), (b, second) in itertools.combinations(enumerate(joints), 2):
        apart, both = same[a] - same[b], f'{first} and {second}'
        yield (
            same - np.outer(apart, apart),
            f'{both}: positions and efforts of {both} are swapped',
            f'{both}: positions of {both}, and not their efforts, are swapped',
        )


def _with_efforts(equations: Equations, change: FloatArray) -> Equations:
    """The same for other efforts."""
    more = equations.effort @ (change - np.eye(len(change)))
    force = equations.force + (equations.rates @ more[..., None])[..., 0]
    return dataclasses.replace(equations, force=force, effort=equations.effort + more)


def _left(equations: Equations) -> float:
    return equations.error(least_squares(equations))
