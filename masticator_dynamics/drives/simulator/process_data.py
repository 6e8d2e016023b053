# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""PDOs of a simulated drive: their mapping, and data sent and taken with SYNC (CiA 301)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.objects import EVERY_SYNC, PDO_INVALID
from masticator_dynamics.drives.simulator.device import Device, ErrorLog
from masticator_dynamics.drives.simulator.simulated_dictionary import (
    BAD_VALUE,
    NOT_MAPPABLE,
    NOT_NOW,
    PDO_TOO_LONG,
    AbortError,
    Key,
    ObjectDictionary,
    Value,
    format_of,
    size_of,
)

_COB_ID, _TYPE = 1, 2
_MOST_MAPPED = 8


class Pdo:
    """Parameters and mapping of a PDO as objects that follow the rules of CiA 301.

    Parameters
    ----------
    parameters, mapping : int
        Indices of the two records.
    transmit : bool
        TPDO or RPDO.
    changed : callable
        Called after the PDO became valid or invalid.

    Attributes
    ----------
    valid : bool
    cob_id : int
    keys : list of (index, subindex)
        Mapped objects.
    packing : struct.Struct
        Their layout.
    waiting : bytes or None
        Data of an RPDO that waits for SYNC.
    """

    def __init__(
        self,
        objects: ObjectDictionary,
        parameters: int,
        mapping: int,
        transmit: bool,
        changed: Callable[[], None],
    ):
        self._objects, self.transmit, self._changed = objects, transmit, changed
        self._parameters, self._mapping = parameters, mapping
        writers = objects.writers
        writers[parameters, _COB_ID] = self._set_cob_id
        writers[parameters, _TYPE] = self._set_type
        writers[mapping, 0] = self._set_count
        for number in range(1, _MOST_MAPPED + 1):
            writers[mapping, number] = self._set_mapped
        self.restart()

    def restart(self) -> None:
        """Take the stored parameters."""
        stored = self._objects.get(self._parameters, _COB_ID, PDO_INVALID)
        self.cob_id = stored & 0x7FF
        try:
            self.packing, self.keys = self._pack(self._objects.get(self._mapping, 0))
        except AbortError:  # an EDS may map by default what it does not allow to be mapped
            self.packing, self.keys = self._pack(0)
        self.valid = not stored & PDO_INVALID and bool(self.keys)
        self.waiting: bytes | None = None

    def values(self) -> bytes:
        """Present data of a TPDO."""
        return self.packing.pack(*[read() for read in self._readers])

    def deliver(self, data: bytes) -> None:
        """Write the data of an RPDO to the mapped objects, except for values they refuse."""
        values, writers = self._objects.values, self._objects.writers
        for key, value in zip(self.keys, self.packing.unpack_from(data), strict=True):
            try:
                if key in writers:
                    writers[key](value)
                values[key] = value
            except AbortError:
                continue

    @property
    def _exists(self) -> bool:
        return not self._objects.get(self._parameters, _COB_ID, PDO_INVALID) & PDO_INVALID

    def _set_cob_id(self, value: Value) -> None:
        assert isinstance(value, int)
        wanted = not value & PDO_INVALID
        identifier = value & 0x3FFFFFFF
        if identifier > 0x7FF or (self._exists and wanted and identifier != self.cob_id):
            raise AbortError(BAD_VALUE)
        self.cob_id = identifier
        self.valid = wanted and bool(self.keys)
        self.waiting = None
        self._objects.values[self._parameters, _COB_ID] = value  # whoever is notified sees it
        self._changed()

    def _set_type(self, value: Value) -> None:
        if value != EVERY_SYNC:
            raise AbortError(BAD_VALUE)

    def _set_mapped(self, value: Value) -> None:
        assert isinstance(value, int)
        if self._exists or self._objects.get(self._mapping, 0):
            raise AbortError(NOT_NOW)
        self._check(value)

    def _set_count(self, value: Value) -> None:
        assert isinstance(value, int)
        if self._exists:
            raise AbortError(NOT_NOW)
        if value > _MOST_MAPPED:
            raise AbortError(BAD_VALUE)
        self.packing, self.keys = self._pack(value)

    def _check(self, mapped: int) -> Key:
        key, bits = (mapped >> 16, mapped >> 8 & 0xFF), mapped & 0xFF
        entry = self._objects.find(key)
        allowed = entry.readable if self.transmit else entry.writable
        if not entry.pdo_mappable or not allowed or 8 * size_of(entry) != bits:
            raise AbortError(NOT_MAPPABLE)
        return key

    def _pack(self, count: int) -> tuple[struct.Struct, list[Key]]:
        objects = self._objects
        keys = [self._check(objects.get(self._mapping, i)) for i in range(1, count + 1)]
        packing = struct.Struct('<' + ''.join(format_of(objects.find(key)) for key in keys))
        if packing.size > 8:
            raise AbortError(PDO_TOO_LONG)
        self._readers = [objects.reader(key) for key in keys]
        return packing, keys


SYNC_LOST, RPDO_TOO_SHORT = 0x8700, 0x8210
_MISSED = 50  # missing SYNCs in a row that count as a loss
_PDOS = 4


class ProcessData:
    """All PDOs of a drive.

    TPDOs are sampled and sent at every SYNC, before the RPDOs that waited for it are taken. 50
    missing SYNCs in a row count as a lost connection (0x6007) if 0x1006 is set.

    Parameters
    ----------
    send : callable
        Sends a frame: COB-ID and data.
    changed : callable
        Called when COB-IDs changed, or SYNC begins to be monitored.
    clock : callable
        The simulated time, s.

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
        send: Callable[[int, bytes], None],
        changed: Callable[[], None],
        clock: Callable[[], float],
    ):
        self._objects, self._device, self._errors, self._send = objects, device, errors, send
        self._changed = changed
        self._clock, self._running, self._sync_time = clock, False, math.inf
        objects.writers[names.SYNC_PERIOD.key] = self._set_sync_period
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
        self.restart()

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
        if self._sync_time == math.inf:
            self._changed()
        self._sync_time = self._clock()
        if SYNC_LOST in self._errors:
            self._device.regain_connection(SYNC_LOST)
        for pdo in self._sending:
            self._send(pdo.cob_id, pdo.values())
        for pdo in self.receiving:
            if pdo.waiting is not None:
                pdo.deliver(pdo.waiting)
                pdo.waiting = None

    def take(self, pdo: Pdo, data: bytes) -> None:
        """Take the data of an RPDO."""
        if not self._running:
            return
        if len(data) < pdo.packing.size:
            self._errors.signal(RPDO_TOO_SHORT)
            return
        if RPDO_TOO_SHORT in self._errors:
            self._device.regain_connection(RPDO_TOO_SHORT)
        pdo.waiting = data

    def step(self, time: float) -> float:
        """Check whether SYNC is due; returns when it is, s."""
        if self._running and time - self._sync_time > self._sync_limit:
            self._sync_time = math.inf
            self._device.lose_connection(SYNC_LOST)
        return self._sync_time + self._sync_limit

    def _set_sync_period(self, value: Value) -> None:
        self._sync_time = math.inf  # monitoring begins with the next SYNC
        self._sync_limit = _MISSED * 1e-6 * float(value) or math.inf

    def _sort(self) -> None:
        """Find the valid PDOs again."""
        self._sending = [pdo for pdo in self._pdos if pdo.valid and pdo.transmit]
        self.receiving = [pdo for pdo in self._pdos if pdo.valid and not pdo.transmit]
        self._changed()
