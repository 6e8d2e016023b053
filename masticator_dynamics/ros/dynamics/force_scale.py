# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How large efforts and forces are drawn: by the limits of motors and the size of the mechanism.

Chewing takes some hundredths of what motors and sockets can do. That both are seen, lengths grow
with the cube root: an eighth of the limit is drawn half as long as the limit.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import MasticatorError

LONGEST = 1.0  # arrow, of a force at its reference, in sizes of the mechanism


@dataclasses.dataclass
class Reference:
    """The amount that is drawn in full length: a limit or, without one, the largest so far."""

    limit: float  # infinite: there is none
    _largest: float = 0.0

    def share(self, amount: float) -> float:
        """An amount in relation to the reference; above 1 beyond a limit."""
        if math.isfinite(self.limit):
            return amount / self.limit
        self._largest = max(self._largest, amount)
        return amount / self._largest if self._largest > 0.0 else 0.0


def drawn_length(share: float) -> float:
    """Length as a part of the full one; what is beyond a limit gets no longer."""
    return math.cbrt(min(share, 1.0))


@dataclasses.dataclass(frozen=True)
class ForceScale:
    """References for the forces (N) and torques (N m) on a mechanism's links."""

    force: Reference
    torque: Reference

    @classmethod
    def of(cls, mechanism: Mechanism) -> ForceScale:
        """What contacts may carry or, if it is less, what takes a motor at home to its limit.

        A force on the platform for each axis of the base, and a torque; one that the mechanism
        cannot exert limits nothing. Each stands for the other, at the size of the mechanism, where
        there is none.
        """
        forces, torques = np.split(_capacities(mechanism), 2)
        ranges = [contact.force_range for contact in mechanism.description.contacts]
        contacts = [abs(bound) for bounds in ranges for bound in bounds if bound is not None]
        force = _least(np.array([*contacts, *forces]))
        torque, extent = _least(torques), mechanism.structure.extent()
        return cls(
            Reference(force if math.isfinite(force) else torque / extent),
            Reference(torque if math.isfinite(torque) else force * extent),
        )


def effort_limits(mechanism: Mechanism, efforts: FloatArray, scale: float) -> FloatArray:
    """Limits (n_u,) of the motors in the directions of efforts (n_u,); infinite if there are none.

    A motor that may not act in a direction has the limit of the other.
    """
    lowest, highest = (np.abs(bound) for bound in mechanism.effort_range)
    limits = np.where(efforts < 0.0, lowest, highest)
    return scale * np.where(limits > 0.0, limits, np.maximum(lowest, highest))


def _capacities(mechanism: Mechanism) -> FloatArray:
    """Force (N) and torque (N m) along each axis (6,) that take the first motor to its limit."""
    home = mechanism.home.y
    amounts = np.full(6, np.inf)
    try:
        rest = mechanism.feedforward(home).actuated
        for axis, wrench in enumerate(np.eye(6)):
            efforts = mechanism.feedforward(home, wrench=wrench).actuated - rest
            limits = effort_limits(mechanism, efforts, 1.0)
            felt = np.abs(efforts) > 1e-9 * np.abs(efforts).max(initial=0.0)
            felt &= np.abs(efforts) > 1e-12
            amounts[axis] = (limits[felt] / np.abs(efforts[felt])).min(initial=np.inf)
    except MasticatorError:  # an effort that cannot be computed limits no drawing
        pass
    return amounts


def _least(amounts: FloatArray) -> float:
    amounts = amounts[np.isfinite(amounts) & (amounts > 0.0)]
    return float(amounts.min(initial=np.inf))
