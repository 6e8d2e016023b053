# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Longest reaction times of the drives to faults, derived from the drives file."""

from __future__ import annotations

from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.escalation import step_time
from masticator_dynamics.drives.status_words import LOST_AFTER

# Cycles from when a fault can be known to when status words report the reaction: one until the next
# SYNC, one until drives take over the control word, one until they report, and the part of one that
# is spent waiting for answers to SYNC.
CYCLES = 3.6
# s that a loop check takes when it tries each drive in turn to find the one that is off.
_CHECK = 0.05
# s that a message or request from another process takes to arrive.
_MESSAGE = 0.005


def reaction_times(drives: Drives, loop_check_rate: float = 20.0) -> dict[str, float]:
    """Stated times, s, by fault, from its cause to the status words of all drives.

    When a drive is lost, the cause is its last sign of life; when the master is lost, its last
    heartbeat. A quick stop has begun by then; how long it takes depends on velocity and
    deceleration.
    """
    period = 1.0 / drives.cycle_rate
    react = CYCLES * period
    step = step_time(drives)
    return {
        'fault': react,
        'heartbeat': drives.heartbeat.timeout + react,
        'lost': (LOST_AFTER - 1) * period + react,
        'following error': react,
        # One check may find a PDO missing and leave it to the next.
        'loops': 2.0 / loop_check_rate + _CHECK + react,
        'limit': react,
        'time-out': drives.command_timeout + react,
        'emergency stop': _MESSAGE + react,
        'stop by SDO': step + react,
        # A stopped node reports once it is pre-operational, before the next measure.
        'stop by NMT': 3.0 * step + react,
        'stop by silence': 3.0 * step + drives.heartbeat.timeout + react,
        'process': drives.heartbeat.timeout + react,
    }
