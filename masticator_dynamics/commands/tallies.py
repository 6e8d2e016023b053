# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Violated ranges, active limits and motions that give way: counted by row, reported at the end."""

from __future__ import annotations

import collections

import numpy as np

from masticator_dynamics.commands.terminal import warn
from masticator_dynamics.errors import LimitError
from masticator_dynamics.evaluation.results import Effort
from masticator_dynamics.limits.load_limits import (
    BINDING,
    Shortfall,
    largest_shortfalls,
    load_ranges,
)
from masticator_dynamics.limits.ranges import RangeSurvey, survey_ranges
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.motion.motion_file import MotionFile


class RangeTally:
    """Counts the rows of a motion that leave a range of a joint, socket or motor."""

    def __init__(self, mechanism: Mechanism, motion: MotionFile):
        self._mechanism, self._motion = mechanism, motion
        self._count, self._worst_row = 0, 0
        self._worst: RangeSurvey | None = None

    def add(self, effort: Effort, first: int) -> None:
        """Count rows of a batch that started at row ``first``."""
        survey = survey_ranges(self._mechanism, effort)
        self._count += int(survey.outside.sum())
        if survey.worst_row is not None and (
            self._worst is None or survey.excess > self._worst.excess
        ):
            self._worst, self._worst_row = survey, first + survey.worst_row

    def report(self, strict: bool) -> None:
        """Say on standard error how many rows leave a range, or refuse them if strict.

        Raises
        ------
        LimitError
            If strict.
        """
        if self._worst is None:
            return
        rows, source = len(self._motion.time), self._motion.table.source
        line = (
            f'{source}: {self._count} of {rows} rows outside ranges; worst: '
            f'{_place(self._motion, self._worst_row)}, {self._worst.worst}'
        )
        if strict:
            raise LimitError(line)
        warn(line)


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
        rows = len(self._motion.time)
        if self._bound:
            ((load, count),) = self._loads.most_common(1)
            self._warn(
                f'limits bind in {self._bound} of {rows} rows; most often: {load}, in {count}'
            )
        if self._short:
            largest = ', '.join(
                f'{shortfall} in {_place(self._motion, row)}'
                for shortfall, row in self._largest.values()
            )
            self._warn(f'the motion gives way in {self._short} of {rows} rows; most: {largest}')

    def _warn(self, text: str) -> None:
        warn(f'{self._motion.table.source}: {text}')


def _place(motion: MotionFile, row: int) -> str:
    """A row of the file, without the file's name."""
    return motion.table.place(row).removeprefix(motion.table.source + ': ')
