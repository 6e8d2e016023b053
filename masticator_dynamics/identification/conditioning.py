# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How far a motion is from singularities, and where it may have changed its branch there."""

from __future__ import annotations

import numpy as np

from masticator_dynamics.analysis.singularity import SingularityMeasures
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.evaluation.results import Effort, Motion
from masticator_dynamics.mechanism import Mechanism

_NEAR = 0.1  # of home's distance


class Conditioning:
    """How far poses are from singularities, over how far home is: at most 1, 0 where singular.

    Of both types of singularity, as ``analysis/singularity.py`` measures them.
    """

    def __init__(self, mechanism: Mechanism):
        self._measures = SingularityMeasures(mechanism)
        self._home = self._amounts(mechanism.solve_batch(mechanism.home.y[None]))[0]

    def of(self, motion: Motion | Effort) -> FloatArray:
        """The less of both (N,), for rows of a motion; 1 where home says nothing."""
        regular = np.where(self._home > 0.0, self._home, 1.0)
        shares = np.where(self._home > 0.0, self._amounts(motion) / regular, 1.0)
        return np.asarray(np.minimum(1.0, shares.min(axis=1)))

    def _amounts(self, motion: Motion | Effort) -> FloatArray:
        """For both types (N, 2); none of the second beyond such a singularity."""
        loops, actuation = self._measures.loops(motion), self._measures.actuation(motion)
        driven = np.where(actuation.side < 0, 0.0, actuation.type_2)
        return np.column_stack([loops.sines.min(axis=1, initial=1.0), driven])


def change_of_branch(mechanism: Mechanism, time: FloatArray, motion: Motion) -> str:
    """A sentence where a motion, as its motors tell it, may have changed its branch; or none.

    A mechanism leaves its branch through a singularity, and positions of motors say nothing of the
    side on which it goes on.

    Parameters
    ----------
    mechanism : Mechanism
    time : (N,) array
        s.
    motion : Motion
        At these times, on home's branch.
    """
    shares = Conditioning(mechanism).of(motion)
    k = int(np.argmin(shares))
    if shares[k] >= _NEAR:
        return ''
    first = int(np.argmax(shares < _NEAR))
    return (
        f'branch: the robot may have gone on another branch from {time[first]:.4g} s on: there it '
        f'is near a singularity (at {time[k]:.4g} s, {100.0 * shares[k]:.2g} % of the distance at '
        'home), and positions of motors do not tell on which side it went on. Record a motion that '
        'keeps away, as `masticator excite` makes it, or identify with a part of this one'
    )
