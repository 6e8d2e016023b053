# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A thread that passes frames on while no cyclic exchange does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import can

from masticator_dynamics.drives import real_time

# What python-can raises when a bus breaks; some interfaces raise ValueError for a closed socket.
BUS_ERRORS = (can.CanError, OSError, ValueError)
_LOOK = 0.05  # s; how soon the thread notices that it is to end


class Receiver:
    """Receives from a bus; outlives its errors, unlike python-can's notifier.

    Parameters
    ----------
    bus : can.BusABC
    take : callable
        Called with each frame, in the receiver's thread.
    """

    def __init__(self, bus: can.BusABC, take: Callable[[can.Message], None]):
        self._bus, self._take = bus, take
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name='receiver', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; frames that come from now on stay on the bus."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        real_time.request(real_time.SERVICE)
        while not self._stopped.is_set():
            try:
                message = self._bus.recv(_LOOK)
            except BUS_ERRORS:  # whoever waits for an answer will report that none came
                time.sleep(_LOOK)
                continue
            if message is not None:
                self._take(message)
