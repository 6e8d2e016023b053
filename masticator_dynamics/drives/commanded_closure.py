# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether commanded positions close the loops, in every cycle.

Redundant drives pull against one another when their positions do not agree: the torque of each is
the position gain times the error that is left when the closed mechanism fits them best (the
redundant equations: two for six cranks with four degrees of freedom). One Gauss-Newton step from
the previous cycle's configuration finds it, and is linear where that is enough: a cycle's motion
is small.
"""

from __future__ import annotations

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, as_slice
from masticator_dynamics.evaluation.actuated_fit import ActuatedFit
from masticator_dynamics.mechanism import Mechanism

# rad or m that joints may be from where the mechanism was linearised: the error is less than the
# square of this, times the ratio by which a crank turns others.
_LINEAR = 0.02
_LEAST = 1e-9


class CommandedClosure:
    """Follows commanded positions with the closed mechanism.

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

    def begin(self, position: FloatArray) -> None:
        """Start near positions (n_u,); takes some milliseconds (raises `ReachError`)."""
        if self.redundant:
            motion = self._fit.closest(position)
            self._given, self._row = motion.given(), motion.row()

    def error(self, position: FloatArray) -> FloatArray:
        """Error of positions (n_u,) at each joint when the closed mechanism fits them best.

        In rad or m; zero where no drive is redundant.
        """
        if not self.redundant:
            return self.latest
        step, self.latest = self._fit.linear(self._row, position)
        if np.abs(position - self._row[self._position]).max() > _LINEAR:
            given, row = self._mechanism.solver.at_rest(self._given[: len(step)] + step)
            if not row.item(0):  # else the loops cannot close there, and the linear answer counts
                self._given, self._row = given, row
                self.latest = self._fit.linear(row, position)[1]
        return self.latest

    def off(self) -> tuple[int, float]:
        """The joint that best explains the latest error, and how far it is off, rad or m."""
        remainders, error = self._fit.remainders(self._row), self.latest
        squares = np.maximum((remainders * remainders).sum(axis=0), _LEAST**2)
        amounts = error @ remainders / squares
        left = np.linalg.norm(error[:, None] - remainders * amounts, axis=0)
        k = int(np.argmin(left))
        return k, float(amounts[k])
