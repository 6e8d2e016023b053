# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a run in closed loop is made of, and the drives file for it."""

from __future__ import annotations

import dataclasses
import pathlib

import yaml

from masticator_dynamics.drives.simulated_bus import free_port, on_simulated_bus
from masticator_dynamics.errors import InputError

DYNAMICS_RATE = 500.0  # Hz, of the dynamics node and of what the twin publishes
_RATES = (50.0, 500.0)  # Hz
_STEPS_PER_SECOND = 2000  # of the simulated servos; a cycle must be a whole number of them


@dataclasses.dataclass(frozen=True)
class Setting:
    """Of all passes of a demo.

    Attributes
    ----------
    rate : float
        Hz, cycles of the drives.
    food : str
        Name of a shipped food, or path.
    drives : str
        Drives file, as for node `servo_drives`; the bus is replaced by one of this machine.
    twin_drives : str
        The same for the twin: a robot that is not as its file says. Empty: as ``drives``.
    commands : float
        Hz, of node dynamics and of what the twin publishes.

    Raises
    ------
    InputError
        For a rate that the drives cannot have.
    """

    rate: float = 250.0
    food: str = 'soft'
    drives: str = 'drives.yaml'
    twin_drives: str = ''
    commands: float = DYNAMICS_RATE

    def __post_init__(self) -> None:
        """Refuse a rate that cannot be."""
        low, high = _RATES
        steps = _STEPS_PER_SECOND / self.rate if self.rate > 0.0 else 0.5
        if not low <= self.rate <= high or abs(steps - round(steps)) > 1e-9:
            raise InputError(
                f'the drives cannot run at {self.rate:g} Hz: {low:g} to {high:g} Hz with a period '
                f'of whole half milliseconds, such as 250 or 500'
            )

    def write_drives(self, folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
        """Drives files of node `servo_drives` and of the twin, on a bus of their own."""
        port = free_port()
        files = folder / 'drives.yaml', folder / 'twin_drives.yaml'
        for file, source in zip(files, (self.drives, self.twin_drives or self.drives), strict=True):
            content = yaml.safe_load(on_simulated_bus(source, port))
            content['cycle_rate'] = self.rate
            file.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')
        return files
