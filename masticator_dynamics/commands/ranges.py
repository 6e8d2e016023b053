# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Violated ranges: counted while a motion is evaluated, reported in one line at the end."""

from __future__ import annotations

import click

from masticator_dynamics.commands.motion_file import MotionFile
from masticator_dynamics.errors import LimitError
from masticator_dynamics.limits.ranges import RangeSurvey, survey_ranges
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.results import Effort


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
            f'{self._motion.table.place(self._worst_row).removeprefix(source + ": ")}, '
            f'{self._worst.worst}'
        )
        if strict:
            raise LimitError(line)
        click.echo(f'masticator: warning: {line}', err=True)
