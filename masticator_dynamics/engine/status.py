# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Outcome of an evaluation, as a number; ``failures.py`` puts it into words."""

CLOSED, OUT_OF_REACH, SINGULAR, OTHER_BRANCH = 0, 1, 2, 3
NOT_FINITE, NOT_ACTUATED, OVERFLOW = 4, 5, 6
JAMMED = 7  # no pattern of contact signs is consistent with friction

WEAK_ACTUATION = 1e-6  # relative; below it a direction of motion has no actuator


class RefusedError(Exception):
    """An evaluation on floats that has no answer.

    Parameters
    ----------
    status, block, amount
        As at the start of a row of answers; also attributes.
    """

    def __init__(self, status: int, block: int = -1, amount: float = 0.0):
        super().__init__(status, block, amount)
        self.status, self.block, self.amount = status, block, amount


# First number of what machine code computes: 0 where it hands a row over, 1 where the row counts,
# and this where it counts but coordinates or motors are outside their ranges, or an error is due.
OUTSIDE_RANGES = 2.0
