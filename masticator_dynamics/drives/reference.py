# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether measured angles close the loops, and if not, which drive is off and by how much.

With more drives than degrees of freedom the angles must agree with one another. Each drive in turn
is left out of the fit: the one without which the others agree is the one that is off.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.forward_kinematics import ActuatedFit, gap
from masticator_dynamics.mechanism import Mechanism

# One drive is named when without any other the gap is this many times wider than without it.
_DISTINCT = 3.0
# A drive that is off from its command by its error, up to this part, is the one that is off.
_SAME = 0.5
# Poses that a fit may solve: from home to anywhere in the range it takes half as many. What is far
# open finds none, and must not keep the thread.
_POSES = 32


@dataclasses.dataclass(frozen=True)
class Suspect:
    """A drive that would explain the gap: how far off it is (rad or m), what gap the others leave.

    Attributes
    ----------
    drive : str
    error : float
        Its measured position minus that of the closed mechanism that fits the others.
    residual : float
        m, largest gap of the loops when all others are as measured.
    """

    drive: str
    error: float
    residual: float


@dataclasses.dataclass(frozen=True)
class Reference:
    """Outcome of a check.

    Attributes
    ----------
    closed : bool
        The loops close within the tolerance.
    checkable : bool
        False where drives are as many as degrees of freedom: any angles close the loops then.
    residual : float
        m, largest gap of the loops; infinite when no closed configuration is near.
    suspects : tuple of Suspect
        When open: the drive that is off, or several when angles cannot tell which of them it is;
        empty when no single drive explains the gap.
    text : str
        A sentence.
    """

    closed: bool
    checkable: bool
    residual: float
    suspects: tuple[Suspect, ...]
    text: str


def check_reference(
    mechanism: Mechanism,
    position: FloatArray,
    tolerance: float,
    following_error: FloatArray | None = None,
) -> Reference:
    """Compare measured positions with the mechanism.

    Takes milliseconds, when the loops are open up to 50 of them; for the mechanism's own thread.

    Parameters
    ----------
    mechanism : Mechanism
    position : float array (n_u,)
        Measured, rad or m.
    tolerance : float
        m that loops may be open by.
    following_error : float array (n_u,), optional
        Commanded minus measured positions of drives that move. An encoder that sticks leaves its
        command, too, which tells it from others that explain the gap as well.
    """
    count, freedoms = len(mechanism.actuated), len(mechanism.independent)
    checkable = count > freedoms
    residual = _residual(mechanism, position)
    if residual <= tolerance:
        text = f'the loops close within {residual * 1e3:.3g} mm'
        if not checkable:
            text = (
                f'{count} drives for {freedoms} degrees of freedom: whether they are referenced '
                'cannot be told from their positions, which only have to be within range'
            )
        return Reference(True, checkable, residual, (), text)
    if not checkable:
        text = f'no closed configuration of {mechanism.name} has these positions'
        return Reference(False, False, residual, (), text)
    suspects = _suspects(mechanism, position, tolerance)
    if following_error is not None:
        suspects = _off_their_commands(mechanism, suspects, following_error) or suspects
    suspects = _likeliest(suspects)
    amount = 'are far open' if np.isinf(residual) else f'stay open by {residual * 1e3:.3g} mm'
    text = f'the loops {amount} (tolerance {tolerance * 1e3:.3g} mm): {_name(mechanism, suspects)}'
    return Reference(False, True, residual, suspects, text)


def _residual(mechanism: Mechanism, position: FloatArray) -> float:
    """Largest gap, m, when the closed mechanism fits positions best; infinite when none is near."""
    if not np.isfinite(position).all():
        return np.inf
    try:
        motion = mechanism.made(ActuatedFit).closest(position, _POSES)
    except MasticatorError:
        return np.inf
    return float(gap(mechanism, motion, position))


def _suspects(mechanism: Mechanism, position: FloatArray, tolerance: float) -> tuple[Suspect, ...]:
    """Those without which the others agree within the tolerance, the likeliest first."""
    found = []
    for index in range(len(position)):
        used = np.arange(len(position)) != index
        suspect = _left_out(mechanism, position, used, index)
        if suspect is not None and suspect.residual <= tolerance:
            found.append(suspect)
    return tuple(sorted(found, key=lambda suspect: suspect.residual))


def _likeliest(suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """The first when it stands out, else all."""
    clear = len(suspects) > 1 and (
        suspects[1].residual > _DISTINCT * max(suspects[0].residual, 1e-9)
    )
    return suspects[:1] if clear else suspects


def _off_their_commands(
    mechanism: Mechanism, suspects: tuple[Suspect, ...], following_error: FloatArray
) -> tuple[Suspect, ...]:
    """Those that are off from their commands by what they are said to be off."""
    errors = dict(zip(mechanism.actuated, following_error, strict=True))
    return tuple(s for s in suspects if abs(errors[s.drive] + s.error) <= _SAME * abs(s.error))


def _left_out(
    mechanism: Mechanism, position: FloatArray, used: npt.NDArray[np.bool_], index: int
) -> Suspect | None:
    """Fit of all but one; None when there is none."""
    try:
        motion = ActuatedFit(mechanism, used).closest(position, _POSES)
        others = np.where(used, position, motion.position)
        residual = gap(mechanism, motion, others)
    except MasticatorError:
        return None
    error = float(position[index] - motion.position[index])
    return Suspect(mechanism.actuated[index], error, residual)


def _name(mechanism: Mechanism, suspects: tuple[Suspect, ...]) -> str:
    if not suspects:
        return 'no single drive explains it; more than one is off'
    joints = {joint.name: joint for joint in mechanism.structure.tree.joints}
    each = [f'{s.drive} is off by {s.error:.3g} {joints[s.drive].unit}' for s in suspects]
    return each[0] if len(each) == 1 else 'either ' + ', or '.join(each)
