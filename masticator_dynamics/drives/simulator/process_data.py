# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Process data of a simulated drive, sent and taken with SYNC (CiA 301)."""

from __future__ import annotations

import math
from collections.abc import Callable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.simulator.device import Device
from masticator_dynamics.drives.simulator.error_log import ErrorLog
from masticator_dynamics.drives.simulator.link import Link
from masticator_dynamics.drives.simulator.pdo import Pdo
from masticator_dynamics.drives.simulator.simulated_dictionary import ObjectDictionary, Value

SYNC_LOST, RPDO_TOO_SHORT = 0x8700, 0x8210
_MISSED = 50  # missing SYNCs in a row that count as a loss
_PDOS = 4


class ProcessData:
    """All PDOs of a drive.

    TPDOs are sampled and sent at every SYNC, before the RPDOs that waited for it are taken. 50
    missing SYNCs in a row count as a lost connection (0x6007) if 0x1006 is set.

    Parameters
    ----------
    objects : ObjectDictionary
    device : Device
    errors : ErrorLog
    link : Link
    rerouted : callable
        Called when COB-IDs changed.

    Attributes
    ----------
    receiving : list of Pdo
        Valid RPDOs.
    """

    def __init__(
        self,
        objects: ObjectDictionary,
        device: Device,
        errors: ErrorLog,
        link: Link,
        rerouted: Callable[[], None],
    ):
        self._objects, self._device, self._errors, self._link = objects, device, errors, link
        self._rerouted = rerouted
        self._running, self._time, self._sync_time = False, 0.0, math.inf
        objects.writers[names.SYNC_PERIOD.key] = self._set_sync_period
        self._set_sync_period(objects.get(*names.SYNC_PERIOD.key))
        self._pdos: list[Pdo] = []
        for parameters, mapping, transmit in (
            (names.RPDO_PARAMETERS, names.RPDO_MAPPING, False),
            (names.TPDO_PARAMETERS, names.TPDO_MAPPING, True),
        ):
            for k in range(_PDOS):
                if {(parameters + k, 1), (parameters + k, 2), (mapping + k, 0)} <= set(
                    objects.entries
                ):
                    pdo = Pdo(objects, parameters + k, mapping + k, transmit, self._sort)
                    self._pdos.append(pdo)
        self._sort()

    def restart(self) -> None:
        """Take all stored parameters."""
        self._set_sync_period(self._objects.get(*names.SYNC_PERIOD.key))
        for pdo in self._pdos:
            pdo.restart()
        self._sort()

    def run(self, running: bool) -> None:
        """Enter or leave NMT state operational."""
        if running and not self._running:
            self._sync_time = math.inf
            for pdo in self._pdos:
                pdo.waiting = None
        self._running = running

    def sync(self) -> None:
        """Take a SYNC."""
        if not self._running:
            return
        self._sync_time = self._time
        if SYNC_LOST in self._errors:
            self._device.regain_connection(SYNC_LOST)
        for pdo in self._sending:
            self._link.send(pdo.cob_id, pdo.values())
        for pdo in self.receiving:
            if pdo.waiting is not None:
                pdo.deliver(pdo.waiting)
                pdo.waiting = None

    def take(self, pdo: Pdo, data: bytes) -> None:
        """Take the data of an RPDO."""
        if not self._running:
            return
        if len(data) < pdo.size:
            self._errors.signal(RPDO_TOO_SHORT)
            return
        if RPDO_TOO_SHORT in self._errors:
            self._device.regain_connection(RPDO_TOO_SHORT)
        pdo.waiting = data

    def step(self, time: float) -> None:
        """Check whether SYNC is due."""
        self._time = time
        if self._running and time - self._sync_time > self._sync_limit:
            self._sync_time = math.inf
            self._device.lose_connection(SYNC_LOST)

    def _set_sync_period(self, value: Value) -> None:
        self._sync_time = math.inf  # monitoring begins with the next SYNC
        self._sync_limit = _MISSED * 1e-6 * float(value) or math.inf

    def _sort(self) -> None:
        """Find the valid PDOs again."""
        self._sending = [pdo for pdo in self._pdos if pdo.valid and pdo.transmit]
        self.receiving = [pdo for pdo in self._pdos if pdo.valid and not pdo.transmit]
        self._rerouted()
