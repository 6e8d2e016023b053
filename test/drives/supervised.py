# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Supervisor, ideal drives and a sender of commands."""

import numpy as np

from drives.ideal_drives import PERIOD, IdealDrives
from masticator_dynamics.drives.command import Command
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.supervisor import Supervisor

DRIVES = load_drives('drives.yaml')
LIMITS = DRIVES.drives['crank_1'].limits


def _open(drive):
    limits = type(LIMITS)(**dict(drive.limits) | {'acceleration': 1e9})
    return type(drive)(**dict(drive) | {'limits': limits})


WIDE_OPEN = {
    'command_closure': 100.0,
    'drives': {name: _open(drive) for name, drive in DRIVES.drives.items()},
}


class Bench:
    """Supervisor, ideal drives, and a sender of commands.

    Unless ``strict``, the gate is wide open: one crank may be commanded alone, and at once.
    """

    def __init__(self, mechanism, enabled=True, homed=True, strict=False, **changes):
        fields = {k: v for k, v in dict(DRIVES).items() if k != 'schema_'}
        if not strict:
            fields |= WIDE_OPEN
        drives = type(DRIVES)(schema=1, **fields | changes)
        self.supervisor = Supervisor(drives, mechanism)
        self.home = mechanism.home.position
        self.bound = mechanism.effort_limits
        self.drives = IdealDrives(self.supervisor, self.home)
        self.drives.cycle(3)
        self.goal = self.home.copy()
        if homed:
            self.drives.find_home()
        if enabled:
            self.drives.enable()

    def command(self, position=None, velocity=None, effort=None, age=0.0, stamp=None):
        """A command that arrives now."""
        now = self.drives.time + 0.5 * PERIOD
        position = self.goal if position is None else position
        return Command(
            np.array(position, dtype=float),
            None if velocity is None else np.array(velocity, dtype=float),
            None if effort is None else np.array(effort, dtype=float),
            now, 5000.0 + now if stamp is None else stamp, age,
        )  # fmt: skip

    def send(self, *args, **kwargs):
        """Send a command and run a cycle."""
        self.supervisor.submit(self.command(*args, **kwargs))
        return self.drives.cycle()

    @property
    def report(self):
        return self.supervisor.report()

    def off(self, crank, amount):
        """Home, except for one crank."""
        position = self.home.copy()
        position[crank - 1] += amount
        return position


def array(crank, value, other, dtype=float):
    row = np.full(6, other, dtype=dtype)
    row[crank - 1] = value
    return row
