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
from masticator_dynamics.evaluation.actuated_fit import ActuatedFit, gap
from masticator_dynamics.mechanism import Mechanism

# One drive is named when leaving out any other leaves a gap this many times wider.
_DISTINCT = 3.0
# The drive that is off is the one whose following error equals its error, within this fraction.
_SAME = 0.5
# Poses that a fit may solve: from home to anywhere in the range it takes half as many. Loops that
# are far open have no solution, and must not block the thread.
_POSES = 32


@dataclasses.dataclass(frozen=True)
class Suspect:
    """A drive that would explain the gap: how far off it is (rad or m), and the gap without it.

    Attributes
    ----------
    drive : str
    error : float
        Its measured position minus that of the closed mechanism that fits the others.
    residual : float
        Largest gap of the loops with all other drives as measured, m.
    """

    drive: str
    error: float
    residual: float


@dataclasses.dataclass(frozen=True)
class ReferenceCheck:
    """Outcome of a check.

    Attributes
    ----------
    closed : bool
        Whether the loops close within the tolerance.
    checkable : bool
        False if there are only as many drives as degrees of freedom: any angles close the loops.
    residual : float
        Largest gap of the loops, m; infinite if no closed configuration is near.
    suspects : tuple of Suspect
        When open: the drive that is off, or several if the angles cannot tell which of them it is;
        empty if no single drive explains the gap.
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
) -> ReferenceCheck:
    """Compare measured positions with the mechanism.

    Takes milliseconds, up to 50 if the loops are open; for the mechanism's own thread.

    Parameters
    ----------
    mechanism : Mechanism
    position : float array (n_u,)
        Measured, rad or m.
    tolerance : float
        Largest permitted gap of the loops, m.
    following_error : float array (n_u,), optional
        Commanded minus measured positions of moving drives. A stuck encoder also departs from its
        command, which tells it from other drives that explain the gap as well.
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
        return ReferenceCheck(True, checkable, residual, (), text)
    if not checkable:
        text = f'no closed configuration of {mechanism.name} has these positions'
        return ReferenceCheck(False, False, residual, (), text)
    suspects = _suspects(mechanism, position, tolerance)
    if following_error is not None:
        suspects = _off_their_commands(mechanism, suspects, following_error) or suspects
    suspects = _likeliest(suspects)
    amount = 'are far open' if np.isinf(residual) else f'stay open by {residual * 1e3:.3g} mm'
    text = f'the loops {amount} (tolerance {tolerance * 1e3:.3g} mm): {_name(mechanism, suspects)}'
    return ReferenceCheck(False, True, residual, suspects, text)


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
    """Drives without which the others agree within the tolerance, the likeliest first."""
    found = []
    for index in range(len(position)):
        used = np.arange(len(position)) != index
        suspect = _left_out(mechanism, position, used, index)
        if suspect is not None and suspect.residual <= tolerance:
            found.append(suspect)
    return tuple(sorted(found, key=lambda suspect: suspect.residual))


def _likeliest(suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """The first if it stands out, else all."""
    clear = len(suspects) > 1 and (
        suspects[1].residual > _DISTINCT * max(suspects[0].residual, 1e-9)
    )
    return suspects[:1] if clear else suspects


def _off_their_commands(
    mechanism: Mechanism, suspects: tuple[Suspect, ...], following_error: FloatArray
) -> tuple[Suspect, ...]:
    """Suspects whose following error matches their suspected error."""
    errors = dict(zip(mechanism.actuated, following_error, strict=True))
    return tuple(s for s in suspects if abs(errors[s.drive] + s.error) <= _SAME * abs(s.error))


def _left_out(
    mechanism: Mechanism, position: FloatArray, used: npt.NDArray[np.bool_], index: int
) -> Suspect | None:
    """Fit of all drives but one; None if there is no fit."""
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
