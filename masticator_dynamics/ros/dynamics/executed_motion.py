# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commanded motion as a function of time: hold home, move, hold the end."""

from __future__ import annotations

import dataclasses
import threading

import numpy.typing as npt

from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.motion import MotionPath

State = tuple[FloatArray, FloatArray, FloatArray]

_KEPT = 1_000_000_000  # ns; how long replaced motions are remembered, for messages stamped late


@dataclasses.dataclass(frozen=True)
class Piece:
    """A path that begins at ``start`` (ns) and is followed until a later piece starts."""

    start: int
    path: MotionPath

    def state(self, time: int) -> State:
        """Position, velocity and acceleration at a time in ns."""
        return self.path(self.path.start + (time - self.start) * 1e-9)

    @property
    def end(self) -> int:
        """When the path comes to rest, ns."""
        return self.start + round((self.path.end - self.path.start) * 1e9)


class ExecutedMotion:
    """Schedule of paths; from its start on, each replaces what was there.

    Times are integer nanoseconds: seconds since 1970 as a double only resolve 0.2 µs. Reading is
    safe from any thread, since a schedule is never modified but replaced as a whole.

    Parameters
    ----------
    home : (n_y,) array_like
        Held until the first path starts.
    """

    def __init__(self, home: npt.ArrayLike):
        self._exchange = threading.Lock()
        self._pieces: tuple[Piece, ...] = (Piece(0, MotionPath.constant(home)),)
        self._moved = False

    @property
    def schedule(self) -> tuple[Piece, ...]:
        """The pieces in order of their starts; the first has always been valid."""
        return self._pieces

    def state(self, time: int) -> State:
        """Independent position, velocity and acceleration (n_y,) each at a time in ns."""
        return piece_at(self._pieces, time).state(time)

    def mode(self, time: int) -> str:
        """``hold home``, ``running``, ``hold last``."""
        piece = piece_at(self._pieces, time)
        if piece.start < time < piece.end:
            return 'running'
        return 'hold last' if self._moved or piece is not self._pieces[0] else 'hold home'

    def settled(self, time: int) -> bool:
        """Whether nothing moves from a time (ns) on."""
        return all(piece.end <= time for piece in self._pieces)

    def replace(self, piece: Piece, expected: tuple[Piece, ...], now: int) -> bool:
        """Follow another path from its start on, if the schedule is still the expected one.

        Parameters
        ----------
        piece : Piece
            What to follow, and from when on.
        expected : tuple of Piece
            The schedule that the path was prepared for.
        now : int
            Time of the clock, ns; pieces long past are dropped.

        Returns
        -------
        bool
            False, with nothing changed, when the schedule has changed in the meantime: the path
            then starts from a state that may no longer be the mechanism's.
        """
        with self._exchange:
            if self._pieces is not expected:
                return False
            before = [earlier for earlier in expected if earlier.start < piece.start]
            while len(before) > 1 and before[1].start < now - _KEPT:
                del before[0]
                self._moved = True
            self._pieces = (*before, piece)
            return True

    def hold(self, time: int, position: npt.ArrayLike | None = None) -> None:
        """From a time (ns) on hold a position, by default that of the motion at that time."""
        with self._exchange:
            if position is None:
                if len(self._pieces) == 1 and self.mode(time) == 'hold home':
                    return
                position = self.state(time)[0]
            self._pieces = (Piece(time, MotionPath.constant(position)),)
            self._moved = True

    def shift(self, delta: int) -> None:
        """Shift the whole schedule in time (ns) after the clock itself has jumped."""
        with self._exchange:
            self._pieces = tuple(Piece(p.start + delta, p.path) for p in self._pieces)


def piece_at(schedule: tuple[Piece, ...], time: int) -> Piece:
    """Which piece of a schedule is followed at a time in ns."""
    for piece in reversed(schedule):
        if piece.start <= time:
            return piece
    return schedule[0]
