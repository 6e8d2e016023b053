# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What drives can be told in every cycle: one object for each ``mode`` of a drives file.

Objects that a mode needs are in ``objects.py``; simulated drives (``simulator/device.py``) are told
what it does once more, on purpose.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.objects import Mode, Object

# Data types of CiA 301, and their sizes in bytes.
INTEGER16, INTEGER32, UNSIGNED16 = 0x03, 0x04, 0x06
_SIZES = {INTEGER16: 2, INTEGER32: 4, UNSIGNED16: 2}


@dataclasses.dataclass(frozen=True)
class DriveMode:
    """A mode of operation of CiA 402, and what is sent in it."""

    name: str
    meaning: str
    code: Mode
    target: Object | None  # of positions; None: efforts alone are commanded
    torque: Object | None  # carries the effort

    @property
    def positions(self) -> bool:
        """Whether positions are commanded, which a loop in the drive then holds."""
        return self.target is not None

    @property
    def entries(self) -> dict[Object, int]:
        """Objects in the PDO to the drive, in their order, and their data types."""
        types = (
            (objects.CONTROL_WORD, UNSIGNED16), (self.target, INTEGER32), (self.torque, INTEGER16)
        )  # fmt: skip
        return {entry: data_type for entry, data_type in types if entry is not None}

    @functools.cached_property
    def sent(self) -> Callable[[tuple[int, int, int]], tuple[int, ...]]:
        """Chooses their values from a control word, counts and per mille."""
        parts = objects.CONTROL_WORD, self.target, self.torque
        first, *others = (k for k, entry in enumerate(parts) if entry is not None)
        return operator.itemgetter(first, *others)

    @property
    def size(self) -> int:
        """Bytes of that PDO."""
        return sum(_SIZES[data_type] for data_type in self.entries.values())


MODES = {
    mode.name: mode
    for mode in (
        DriveMode(
            'position', 'cyclic synchronous position with torque offset',
            Mode.CYCLIC_SYNCHRONOUS_POSITION, objects.TARGET_POSITION, objects.TORQUE_OFFSET,
        ),
        DriveMode(
            'effort', 'cyclic synchronous torque',
            Mode.CYCLIC_SYNCHRONOUS_TORQUE, None, objects.TARGET_TORQUE,
        ),
    )
}  # fmt: skip
