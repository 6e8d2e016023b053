# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All drives on their bus: opened, checked and set up."""

from __future__ import annotations

import pathlib

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.objects import Object
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.engine.arrays import FloatArray


class DriveNetwork:
    """The drives of a file. Methods may be called from any thread but that of the exchange.

    Parameters
    ----------
    drives : Drives
    file : str or pathlib.Path
        Where they were read; EDS files are looked for beside it.

    Attributes
    ----------
    names : tuple of str
        Actuated joints, in the file's order.
    scaling : Scaling

    Raises
    ------
    DescriptionError
        An EDS is missing, cannot be read, or lacks an object that is needed.
    """

    names: tuple[str, ...]
    scaling: Scaling

    def __init__(self, drives: Drives, file: str | pathlib.Path):
        raise NotImplementedError

    def connect(self) -> None:
        """Open the bus and set all drives up; they end operational (NMT) and torque-free.

        Raises
        ------
        DriveError
            Naming drive, node id and object.
        """

    def close(self) -> None:
        """Leave the drives pre-operational, torque-free, and close the bus."""

    def read(self, drive: str, entry: Object) -> int | float:
        """Value of an object of a drive, by SDO (blocks; raises `DriveError`)."""
        raise NotImplementedError

    def write(self, drive: str, entry: Object, value: int | float) -> None:
        """Write an object of a drive by SDO and read it back (blocks; raises `DriveError`)."""

    def fault(self, drive: str) -> str:
        """What 0x603F says, in words (blocks; raises `DriveError`)."""
        raise NotImplementedError

    def temperatures(self) -> FloatArray:
        """Motor temperatures (n,), degrees Celsius, read about once a second; NaN: unknown."""
        raise NotImplementedError

    def begin_homing(self, home: FloatArray) -> None:
        """Homing mode; Goal.HOMING then makes the present joint positions ``home`` (n,), rad."""

    def end_homing(self) -> None:
        """Cyclic mode again."""
