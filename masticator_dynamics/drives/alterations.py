# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives that are no longer as they were set up, and why."""

from __future__ import annotations


class Alterations:
    """Alterations of each drive, counted: one that comes during a set-up outlives it.

    Parameters
    ----------
    count : int
        Number of drives.
    """

    def __init__(self, count: int):
        self._counts, self._settled = [0] * count, [0] * count
        self._reasons = [''] * count

    def note(self, index: int, reason: str) -> None:
        """Note that a drive has been altered, or may have been."""
        if not self.reason(index):  # what follows matters less
            self._reasons[index] = reason
        self._counts[index] += 1

    def reason(self, index: int) -> str:
        """Why a drive is altered; empty if it is not."""
        return self._reasons[index] if self._counts[index] != self._settled[index] else ''

    def counts(self) -> tuple[int, ...]:
        """Alterations of each drive so far: take them before a set-up, and settle them after it."""
        return tuple(self._counts)

    def settle(self, index: int, count: int) -> None:
        """Forget the first ``count`` alterations of a drive, which has been set up since."""
        self._settled[index] = count
