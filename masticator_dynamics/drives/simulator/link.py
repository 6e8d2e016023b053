# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The link between a simulated drive and the bus, and what may go wrong there."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable

Send = Callable[[int, bytes], None]


class Link:
    """Passes on the frames that a drive sends.

    Parameters
    ----------
    send : callable
        Takes COB-ID and data.
    seed : int
        Seed of the random numbers that decide which frames are dropped.

    Attributes
    ----------
    off : bool
        Bus-off: nothing goes out or comes in.
    delay : float
        Time by which frames are held back, s.
    drop : float
        Share of frames lost, 0 to 1.
    """

    def __init__(self, send: Send, seed: int):
        self._send = send
        self._random = random.Random(seed)
        self._held: collections.deque[tuple[float, int, bytes]] = collections.deque()
        self.time = 0.0
        self.clear()

    def clear(self) -> None:
        """Clear all faults; frames held back go out when due."""
        self.off, self.delay, self.drop = False, 0.0, 0.0

    @property
    def holds(self) -> bool:
        """Whether frames are held back, to be released by `step`."""
        return bool(self._held)

    def send(self, cob_id: int, data: bytes) -> None:
        """Send a frame, hold it back or drop it."""
        if self.off or (self.drop and self._random.random() < self.drop):
            return
        if self.delay or self._held:
            self._held.append((self.time + self.delay, cob_id, data))
        else:
            self._send(cob_id, data)

    def step(self, time: float) -> None:
        """Release frames that were held back long enough."""
        self.time = time
        while self._held and self._held[0][0] <= time:
            _, cob_id, data = self._held.popleft()
            if not self.off:
                self._send(cob_id, data)
