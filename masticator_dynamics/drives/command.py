# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A command for all drives, built from names and numbers in any order, and how numbers go on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from masticator_dynamics.drives.modes import MODES
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import InputError

_MOST = 4  # a message may name this many times as many joints as there are


class NotFiniteError(InputError):
    """A command with NaN or infinity, like the first ones from ros2_control."""


class Command(NamedTuple):
    """What all joints are to do, in actuated order, (n,)."""

    position: FloatArray | None  # of the joints, rad
    velocity: FloatArray | None  # rad/s
    effort: FloatArray | None  # N m
    time: float  # when it arrived, s of ``time.monotonic()``
    # On its sender's clock, s; only differences between stamps count. ``time`` without a stamp.
    stamp: float
    age: float = 0.0  # time from its stamp to its arrival, s; 0 without a stamp


class CommandReader:
    """Matches names to joints; the match is remembered.

    Parameters
    ----------
    joints : sequence of str
        In actuated order.
    mode : str
        Of the drives: one that commands positions needs these, others efforts.
    """

    def __init__(self, joints: Sequence[str], mode: str):
        self._joints, self._mode = tuple(joints), MODES[mode]
        self._names: tuple[str, ...] = self._joints
        self._order: list[int] | None = None  # None: already in order

    def read(
        self,
        names: Sequence[str],
        position: Sequence[float] | FloatArray,
        velocity: Sequence[float] | FloatArray,
        effort: Sequence[float] | FloatArray,
        time: float,
        stamp: float | None = None,
        age: float = 0.0,
    ) -> Command:
        """Command from the fields of a joint state; empty fields count as not given.

        Velocities that are all NaN also count as not given, as do such efforts next to positions:
        a controller that claims only positions leaves them NaN.

        Parameters
        ----------
        names : sequence of str
            Joints, in any order.
        position, velocity, effort : sequence of float
            Of the joints; rad, rad/s, N m.
        time : float
            When the command arrived, s on the monotonic clock.
        stamp : float, optional
            From its header, s; `time` by default.
        age : float
            Its age on arrival, s.

        Raises
        ------
        InputError
            For joints missing, unknown or named twice, and for a wrong number of values.
        NotFiniteError
            For NaN and infinity.
        """
        self._match(names)
        positions = self._row('positions', position)
        velocities = _unless_all_nan(self._row('velocities', velocity))
        efforts = self._row('efforts', effort)
        if self._mode.positions:
            efforts = _unless_all_nan(efforts)
            self._need('positions', positions)
        else:
            positions = _unless_all_nan(positions)
            self._need('efforts', efforts)
        for what, row in (('position', positions), ('velocity', velocities), ('effort', efforts)):
            if row is not None and not all(map(math.isfinite, row.tolist())):
                worst = int(np.flatnonzero(~np.isfinite(row))[0])
                raise NotFiniteError(f'{what} of {self._joints[worst]} is {row[worst]}')
        return Command(positions, velocities, efforts, time, time if stamp is None else stamp, age)

    def _match(self, names: Sequence[str]) -> None:
        if len(names) > _MOST * len(self._joints):  # not worth checking each
            raise InputError(f'command is for {len(names)} joints, needed are {len(self._joints)}')
        joints = tuple(names)
        if joints == self._names:
            return
        twice = [name for name in joints if joints.count(name) > 1]
        missing = [name for name in self._joints if name not in joints]
        unknown = [name for name in joints if name not in self._joints]
        if twice:
            raise InputError(f'{twice[0]} is named {joints.count(twice[0])} times')
        if missing:
            raise InputError(
                f'command is for {len(joints)} joints, needed are {len(self._joints)}; '
                f'missing: {", ".join(missing)}'
            )
        if unknown:
            raise InputError(f'unknown joints: {", ".join(unknown)}')
        order = [joints.index(name) for name in self._joints]
        self._names = joints
        self._order = None if order == list(range(len(order))) else order

    def _row(self, what: str, values: Sequence[float] | FloatArray) -> FloatArray | None:
        if not len(values):
            return None
        if len(values) != len(self._joints):
            raise InputError(f'there are {len(values)} {what} for {len(self._joints)} joints')
        row = np.array(values, dtype=float)
        return row if self._order is None else row[self._order]

    def _need(self, what: str, row: FloatArray | None) -> None:
        if row is None:
            raise InputError(f'there are no {what}; the drives are in {self._mode.name} mode')


def _unless_all_nan(row: FloatArray | None) -> FloatArray | None:
    return None if row is None or all(map(math.isnan, row.tolist())) else row


class Trend(NamedTuple):
    """The newest row (n,) and its rates over the latest two steps, per s."""

    stamp: float  # s
    values: FloatArray  # (n,)
    rate: FloatArray  # (n,)
    rate_before: FloatArray  # (n,)

    @classmethod
    def begin(cls, stamp: float, values: FloatArray) -> Trend:
        """Trend of a first row, whose rates are zero."""
        none = np.zeros(len(values))
        return cls(stamp, values, none, none)

    def then(self, stamp: float, values: FloatArray, longest: float) -> Trend:
        """Trend with another row; if more than ``longest`` s apart, that is a first row again.

        Parameters
        ----------
        stamp : float
            Time of the row, s.
        values : (n,) array
            The row.
        longest : float
            Time above which two rows do not give a rate, s.
        """
        between = stamp - self.stamp
        if abs(between) > longest:  # before: the clock was set back
            return Trend.begin(stamp, values)
        if between <= 0.0:  # the same instant: only the row is new
            return Trend(self.stamp, values, self.rate, self.rate_before)
        return Trend(stamp, values, (values - self.values) / between, self.rate)

    def ahead(self, time: float) -> FloatArray:
        """The row extrapolated by a time, s.

        The smaller of the two rates is used, or none if they differ in sign: a step does not
        overshoot, and half of a measurement's noise is left out.
        """
        rate, before = self.rate, self.rate_before
        rising = np.maximum(np.minimum(rate, before), 0.0)
        falling = np.minimum(np.maximum(rate, before), 0.0)
        return self.values + time * (rising + falling)
