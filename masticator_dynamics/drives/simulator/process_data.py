# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When a simulated drive sends and takes process data: SYNC, change, and the clock (CiA 301)."""

from __future__ import annotations

import math
from collections.abc import Callable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.simulator.device import Device
from masticator_dynamics.drives.simulator.dictionary import ObjectDictionary, Value
from masticator_dynamics.drives.simulator.error_log import ErrorLog
from masticator_dynamics.drives.simulator.link import Link
from masticator_dynamics.drives.simulator.pdo import Pdo

SYNC_LOST, RPDO_TOO_SHORT, RPDO_LOST = 0x8700, 0x8210, 0x8250
_MISSED = 50  # missing SYNCs in a row that count as a loss
_PDOS = 4


class ProcessData:
    """All PDOs of a drive.

    TPDOs of types 1 to 240 are sampled and sent at SYNC, before the RPDOs that waited for it are
    taken; type 0 is sent at a SYNC after a change; 254 and 255 after a change, but not before the
    inhibit time, and when the event timer expires. An RPDO whose event timer expires, or 50 missing
    SYNCs in a row if 0x1006 is set, count as a lost connection (0x6007).

    Parameters
    ----------
    objects : ObjectDictionary
    device : Device
    errors : ErrorLog
    link : Link
    rerouted : callable
        Called when COB-IDs changed.
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

    @property
    def receiving(self) -> list[Pdo]:
        """Valid RPDOs."""
        return [pdo for pdo in self._pdos if pdo.valid and not pdo.transmit]

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
                pdo.clear()
        self._running = running

    def sync(self) -> None:
        """Take a SYNC."""
        if not self._running:
            return
        self._sync_time = self._time
        if SYNC_LOST in self._errors:
            self._device.regain_connection(SYNC_LOST)
        for pdo in self._at_sync_out:
            pdo.syncs += 1
            if pdo.syncs >= pdo.type:
                data = pdo.values()
                if pdo.type or data != pdo.last:
                    self._send(pdo, data)
        for pdo in self._at_sync_in:
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
        pdo.last_time = self._time
        for code in (RPDO_TOO_SHORT, RPDO_LOST):
            if code in self._errors:
                self._device.regain_connection(code)
        if pdo.synchronous:
            pdo.waiting = data
        else:
            pdo.deliver(data)

    def step(self, time: float) -> None:
        """Send and check what is due."""
        self._time = time
        if not self._running:
            return
        for pdo in self._by_itself:
            since = time - pdo.last_time
            due = math.isinf(pdo.last_time) or 0.0 < pdo.event_time <= since
            if due or since >= pdo.inhibit_time:
                data = pdo.values()
                if due or data != pdo.last:
                    self._send(pdo, data)
        for pdo in self._awaited:
            if time - pdo.last_time > pdo.event_time:
                pdo.last_time = math.inf
                self._device.lose_connection(RPDO_LOST)
        if time - self._sync_time > self._sync_limit:
            self._sync_time = math.inf
            self._device.lose_connection(SYNC_LOST)

    def _set_sync_period(self, value: Value) -> None:
        self._sync_time = math.inf  # monitoring begins with the next SYNC
        self._sync_limit = _MISSED * 1e-6 * float(value) or math.inf

    def _send(self, pdo: Pdo, data: bytes) -> None:
        pdo.last, pdo.last_time, pdo.syncs = data, self._time, 0
        self._link.send(pdo.cob_id, data)

    def _sort(self) -> None:
        """Sort the PDOs again by what they wait for."""
        for pdo in self._pdos:
            pdo.look()
        valid = [pdo for pdo in self._pdos if pdo.valid]
        self._at_sync_out = [pdo for pdo in valid if pdo.transmit and pdo.synchronous]
        self._at_sync_in = [pdo for pdo in valid if not pdo.transmit and pdo.synchronous]
        self._by_itself = [pdo for pdo in valid if pdo.transmit and not pdo.synchronous]
        self._awaited = [pdo for pdo in valid if not pdo.transmit and pdo.event_time]
        self._rerouted()
