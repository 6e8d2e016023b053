# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Objects read by SDO alongside the cycle: temperatures, and what was written."""

from __future__ import annotations

import itertools

import numpy as np

from masticator_dynamics.drives.drive_cycle import Goal
from masticator_dynamics.drives.findings import Finding
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.drives.watching_threads import WatchingThread
from masticator_dynamics.errors import DriveError

_PAUSE = 0.025  # s between two objects: 1 % of 1 Mbit/s
_KINDS = ('object', 'mode', 'object', 'temperature')
_SILENT = 3  # reads in a row that a drive may leave unanswered


class SlowReading:
    """Reads one object of one drive at a time; one that has changed stops all drives.

    One in four reads is the mode of operation and one a temperature, for each drive in turn.

    Parameters
    ----------
    network : DriveNetwork
    supervisor : Supervisor
    """

    def __init__(self, network: DriveNetwork, supervisor: Supervisor):
        self._network, self._supervisor = network, supervisor
        self._count = len(network.names)
        self._temperature = np.full(self._count, np.nan)
        self._kinds = itertools.cycle(_KINDS)
        self._turns = {kind: itertools.count() for kind in _KINDS}
        self._unanswered = [0] * self._count
        self._thread = WatchingThread('slow reading', self.look, _PAUSE, supervisor.deadlines,
                                supervisor.stop)  # fmt: skip
        self.start, self.stop = self._thread.start, self._thread.stop

    def look(self) -> None:
        """Read one object."""
        kind = next(self._kinds)
        turn = next(self._turns[kind])
        number, k = divmod(turn, self._count)
        try:
            if kind == 'temperature':
                self._read_temperature(k)
            else:
                self._compare(k, None if kind == 'mode' else number)
            self._unanswered[k] = 0
        except DriveError as error:
            self._silent(k, error)

    def _read_temperature(self, k: int) -> None:
        try:
            self._temperature[k] = self._network.temperature(k)
        except DriveError:
            self._temperature[k] = np.nan
            raise
        finally:
            self._supervisor.set_temperature(self._temperature.copy())

    def _compare(self, k: int, number: int | None) -> None:
        """Check the mode of a drive, or one of the objects that were written."""
        difference = self._network.difference(k, number)
        if difference and self._supervisor.enabled:
            name = self._network.names[k]
            self._supervisor.stop(
                Finding(
                    name, 'configuration', f'{difference}; ~/reset sets it up', Goal.TORQUE_FREE
                )
            )

    def _silent(self, k: int, error: DriveError) -> None:
        """Ignore a lost frame; do not trust a drive that cannot be read for long."""
        self._unanswered[k] += 1
        if self._unanswered[k] == _SILENT and self._supervisor.enabled:
            name = self._network.names[k]
            self._supervisor.stop(Finding(name, 'unread', str(error), Goal.STOPPED))
