# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Active limits, and motions that give way to them: counted by row, reported at the end."""

from __future__ import annotations

import collections

import click
import numpy as np

from masticator_dynamics.commands.motion_file import MotionFile
from masticator_dynamics.limits.load_limits import BINDING, load_ranges
from masticator_dynamics.limits.shortfalls import Shortfall, largest_shortfalls
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.results import Effort


class LimitTally:
    """Counts the rows of a motion in which limits are active or the motion gives way to them."""

    def __init__(self, mechanism: Mechanism, motion: MotionFile):
        self._mechanism, self._motion = mechanism, motion
        self._bound, self._short = 0, 0
        self._loads: collections.Counter[str] = collections.Counter()
        self._largest: dict[str, tuple[Shortfall, int]] = {}  # by unit, with the row of the file

    def add(self, effort: Effort, first: int) -> None:
        """Count rows of a batch that started at row ``first``."""
        bound = np.zeros(len(effort.y), dtype=bool)
        for group in load_ranges(self._mechanism, effort, self._mechanism.load_limits):
            binding = group.signed_excess() >= -BINDING
            bound |= binding.any(axis=1)
            for name, rows in zip(group.names, binding.sum(axis=0).tolist(), strict=True):
                if rows:
                    self._loads[f'{name} {group.quantity}'] += rows
        self._bound += int(bound.sum())
        self._short += int(effort.shortfall.any(axis=1).sum())
        for largest in largest_shortfalls(self._mechanism, effort.shortfall):
            before = self._largest.get(largest.unit)
            if before is None or largest.value > before[0].value:
                self._largest[largest.unit] = largest, first + largest.row

    def report(self) -> None:
        """Say on standard error in how many rows limits are active, and how many gave way."""
        rows, table = len(self._motion.time), self._motion.table
        if self._bound:
            ((load, count),) = self._loads.most_common(1)
            self._warn(
                f'limits bind in {self._bound} of {rows} rows; most often: {load}, in {count}'
            )
        if self._short:
            largest = ', '.join(
                f'{shortfall} in {table.place(row).removeprefix(table.source + ": ")}'
                for shortfall, row in self._largest.values()
            )
            self._warn(f'the motion gives way in {self._short} of {rows} rows; most: {largest}')

    def _warn(self, text: str) -> None:
        click.echo(f'masticator: warning: {self._motion.table.source}: {text}', err=True)
