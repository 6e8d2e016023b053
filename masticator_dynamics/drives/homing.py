# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which drives know their position: incremental encoders start at 0 wherever they are.

If home is all zeros, six zeros close the loops, so the positions themselves cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Feedback
from masticator_dynamics.drives.state_machine import BoolArray, homed
from masticator_dynamics.engine.arrays import FloatArray

_COUNTS, _LEAST = 2.0, 1e-3  # counts, or rad, that a drive may be off home after homing


class Homing:
    """Drives that have been homed since they were switched on.

    Parameters
    ----------
    drives : Drives
    home : float array (n,)
        Joint positions that homing leads to, rad or m.
    units : tuple of str
        Units of those positions.

    Attributes
    ----------
    known : bool array (n,)
        Drives that know their position.
    """

    def __init__(self, drives: Drives, home: FloatArray, units: tuple[str, ...]):
        motors = [drive.motor for drive in drives.drives.values()]
        self._names, self._home, self._units = tuple(drives.drives), home, units
        self._target = home
        self._absolute = np.array([motor.absolute for motor in motors])
        counts = np.array([motor.counts_per_turn * motor.gear_ratio for motor in motors])
        self._tolerance = np.maximum(_COUNTS * 2.0 * np.pi / counts, _LEAST)
        self.known: BoolArray = self._absolute.copy()
        self._reached = self._absolute & False

    def forget(self, names: Iterable[str], altered: bool = False) -> None:
        """Forget the homing of drives that may have been without power.

        If their zeros may have been ``altered``, too, that of absolute encoders is also forgotten.
        """
        for name in names:
            index = self._names.index(name)
            self.known[index] &= self._absolute[index] and not altered

    def begin(self, target: FloatArray | None = None) -> None:
        """Note that all drives are being homed, to positions (n,) or home; none has been yet."""
        self._target = self._home if target is None else target
        self.known, self._reached = self._absolute & False, self._absolute & False

    def take(self, feedback: Feedback) -> BoolArray:
        """Which drives (n,) have reported that they are homed, and were at home then."""
        near = np.abs(feedback.position - self._target) <= self._tolerance
        self._reached = self._reached | (homed(feedback) & near)
        self.known = self.known | self._reached
        return self._reached

    def why_not(self, feedback: Feedback, index: int) -> str:
        """Why a drive is not homed."""
        if not homed(feedback)[index]:
            return 'not homed'
        unit = self._units[index]
        return (
            f'says that it is homed but measures {feedback.position[index]:.4g} {unit} instead of '
            f'{self._target[index]:.4g} {unit} (0x607C with the other sign?)'
        )

    def missing(self) -> str:
        """Which drives have to be homed; empty if none."""
        names = [self._names[k] for k in np.flatnonzero(~self.known)]
        if not names:
            return ''
        verb, pronoun = ('is', 'it was') if len(names) == 1 else ('are', 'they were')
        return f'{", ".join(names)} {verb} not homed since {pronoun} switched on: service ~/home'
