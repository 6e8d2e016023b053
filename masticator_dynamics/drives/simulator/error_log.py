# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of a simulated drive: error register and EMCY messages (CiA 301)."""

from __future__ import annotations

import struct
from collections.abc import Callable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.simulator.simulated_dictionary import ObjectDictionary

_GENERIC = 0x01
# Bits of the error register, by the first digits of a code.
_REGISTER = {0x2: 0x02, 0x3: 0x04, 0x4: 0x08, 0x81: 0x10, 0x82: 0x10, 0x8: 0x20, 0xFF: 0x80}


class ErrorLog:
    """Present errors.

    Parameters
    ----------
    objects : ObjectDictionary
    send : callable
        Takes the eight bytes of an EMCY message.
    """

    def __init__(self, objects: ObjectDictionary, send: Callable[[bytes], None]):
        self._send = send
        self._present: dict[int, None] = {}
        objects.readers[0x1001, 0] = lambda: self.register
        objects.readers[names.ERROR_CODE.key] = lambda: self.code

    @property
    def register(self) -> int:
        """Error register, 0x1001."""
        register = 0
        for code in self._present:
            register |= _GENERIC | _REGISTER.get(code >> 8, _REGISTER.get(code >> 12, 0))
        return register

    @property
    def code(self) -> int:
        """The newest present error; 0: none."""
        return next(reversed(self._present), 0)

    def __contains__(self, code: int) -> bool:
        """Whether an error is present."""
        return code in self._present

    def signal(self, code: int) -> None:
        """Report an error, only once while it is present."""
        if code in self._present:
            return
        self._present[code] = None
        self._send(struct.pack('<HB5x', code, self.register))

    def repeat(self, code: int) -> None:
        """Send an error again that could not be heard."""
        if code in self._present:
            self._send(struct.pack('<HB5x', code, self.register))

    def end(self, *codes: int) -> None:
        """Report that errors are over; all of them if no codes are given."""
        gone = codes or tuple(self._present)
        if not any(code in self._present for code in gone):
            return
        for code in gone:
            self._present.pop(code, None)
        self._send(struct.pack('<HB5x', 0, self.register))

    def forget(self) -> None:
        """Power up: no errors."""
        self._present.clear()
