# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether positions of the drives close the loops: measured ones, and commanded ones every cycle.

With more drives than degrees of freedom the angles must agree with one another: where measured ones
do not, each drive in turn is left out of the fit, and the one without which the others agree is the
one that is off.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from masticator_dynamics.drives.drive_cycle import DriveGoal
from masticator_dynamics.drives.drive_faults import Finding
from masticator_dynamics.drives.joint_limits import DriveJointLimits
from masticator_dynamics.engine.arrays import FloatArray, as_slice, within
from masticator_dynamics.engine.evaluation.actuated_fit import ActuatedFit, gap, quick_pose
from masticator_dynamics.errors import MasticatorError
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
    """A drive that would explain the gap: how far off it is (rad or m), and the gap without it."""

    drive: str
    error: float  # its measured position minus that of the closed mechanism that fits the others
    residual: float  # largest gap of the loops with all other drives as measured, m


@dataclasses.dataclass(frozen=True)
class ReferenceCheck:
    """Outcome of a check."""

    closed: bool  # whether the loops close within the tolerance
    residual: float  # largest gap of the loops, m; infinite if no closed configuration is near
    # When open: the drive that is off, or several if the angles cannot tell which of them it is;
    # empty if no single drive explains the gap.
    suspects: tuple[Suspect, ...]
    text: str  # a sentence


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
        return ReferenceCheck(True, residual, (), text)
    if not checkable:
        text = f'no closed configuration of {mechanism.name} has these positions'
        return ReferenceCheck(False, residual, (), text)
    suspects = _suspects(mechanism, position, tolerance)
    if following_error is not None:
        suspects = _off_their_commands(mechanism, suspects, following_error) or suspects
    suspects = _likeliest(suspects)
    amount = 'are far open' if np.isinf(residual) else f'stay open by {residual * 1e3:.3g} mm'
    text = f'the loops {amount} (tolerance {tolerance * 1e3:.3g} mm): {_name(mechanism, suspects)}'
    return ReferenceCheck(False, residual, suspects, text)


def _residual(mechanism: Mechanism, position: FloatArray) -> float:
    """Largest gap, m, when the closed mechanism fits positions best; infinite when none is near."""
    if not np.isfinite(position).all():
        return np.inf
    quick = quick_pose(mechanism, position, np.inf)
    if quick is not None:
        return quick[1]
    try:
        motion = mechanism.made(ActuatedFit).closest(position, _POSES)
    except MasticatorError:
        return np.inf
    return float(gap(mechanism, motion, position))


def _suspects(mechanism: Mechanism, position: FloatArray, tolerance: float) -> tuple[Suspect, ...]:
    """Drives without which the others agree within the tolerance, the likeliest first."""
    suspects = []
    for index in range(len(position)):
        used = np.arange(len(position)) != index
        suspect = _left_out(mechanism, position, used, index)
        if suspect is not None and suspect.residual <= tolerance:
            suspects.append(suspect)
    return tuple(sorted(suspects, key=lambda suspect: suspect.residual))


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


# rad or m that joints may be from where the mechanism was linearised: the error is less than the
# square of this, times the ratio by which a crank turns others.
_LINEAR = 0.02
_LEAST = 1e-9


class CommandedClosure:
    """Follows commanded positions with the closed mechanism.

    Redundant drives pull against one another when their positions do not agree: the torque of each
    is the position gain times the error that is left when the closed mechanism fits them best (the
    redundant equations: two for six cranks with four degrees of freedom). One Gauss-Newton step
    from the previous cycle's configuration finds it, and is linear where that is enough: a cycle's
    motion is small.

    Parameters
    ----------
    mechanism : Mechanism
        Used only by the cycle thread.

    Attributes
    ----------
    redundant : bool
        False if any positions close the loops.
    latest : float array (n_u,)
        The error that was found last.
    """

    def __init__(self, mechanism: Mechanism):
        self.redundant = len(mechanism.actuated) > len(mechanism.independent)
        self._mechanism, self._fit = mechanism, ActuatedFit(mechanism)
        # Also loads the machine code, which would hold up the cycle that needs it first for 5 ms.
        self._given, self._row = mechanism.solver.at_rest(mechanism.home.y)
        self._position = as_slice(mechanism.slices['q'].start + mechanism.actuated_rows)
        self.latest = np.zeros(len(mechanism.actuated))
        self._linearise(self._given, self._row)

    def begin(self, position: FloatArray) -> None:
        """Start near positions (n_u,); takes some milliseconds (raises `ReachError`)."""
        if self.redundant:
            motion = self._fit.closest(position)
            self._linearise(motion.given(), motion.row())

    def _linearise(self, given: FloatArray, row: FloatArray) -> None:
        """Take a configuration, in whose neighbourhood the error is a matrix times the distance."""
        self._given, self._row = given, row
        self._at, self._remainders = row[self._position], self._fit.remainders(row)

    def error(self, position: FloatArray) -> FloatArray:
        """Error of positions (n_u,) at each joint when the closed mechanism fits them best.

        In rad or m; zero where no drive is redundant.
        """
        if not self.redundant:
            return self.latest
        distance = position - self._at
        if not within(distance, _LINEAR):
            step = self._fit.step(self._row, distance)
            given, row = self._mechanism.solver.at_rest(self._given[: len(step)] + step)
            if not row.item(0):  # else the loops cannot close there, and the linear answer counts
                self._linearise(given, row)
                distance = position - self._at
        self.latest = self._remainders @ distance
        return self.latest

    def off(self) -> tuple[int, float]:
        """The joint that best explains the latest error, and how far it is off, rad or m."""
        remainders, error = self._remainders, self.latest
        squares = np.maximum((remainders * remainders).sum(axis=0), _LEAST**2)
        amounts = error @ remainders / squares
        gaps_without = np.linalg.norm(error[:, None] - remainders * amounts, axis=0)
        k = int(np.argmin(gaps_without))
        return k, float(amounts[k])


def opening(limits: DriveJointLimits, closure: CommandedClosure, tolerance: float) -> Finding:
    """What is wrong with the positions that the closure looked at last, beyond the tolerance.

    Parameters
    ----------
    limits : DriveJointLimits
        For names and units.
    closure : CommandedClosure
        Has looked at the positions.
    tolerance : float
        For the message: by how much they may be off, m or rad.
    """
    k, amount = closure.off()
    unit, gap = limits.units[k], np.abs(closure.latest).max()
    text = (
        f'commanded positions do not close the loops: it is off by {amount:.3g} {unit}, which '
        f'would leave {gap:.3g} {unit} (command_closure {tolerance:g})'
    )
    return Finding(limits.names[k], 'commanded closure', text, DriveGoal.STOPPED)
