# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One SYNC, one PDO from and one to each drive, cycle by cycle."""

from __future__ import annotations

import dataclasses

from masticator_dynamics.drives.cycle import Cycle
from masticator_dynamics.drives.network import DriveNetwork


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Of the exchange since its start; times in s, over the last 4096 cycles.

    Attributes
    ----------
    cycles, skipped : int
        Run, and left out because they were more than half a period late.
    lateness_mean, lateness_p99, lateness_max : float
        From when SYNC was due to when it was sent.
    answer_median, answer_p99, answer_max : float
        From SYNC to the last of the drives' PDOs.
    lost : tuple of int
        PDOs that did not come in their cycle, by drive.
    late : tuple of int
        Those of them that came afterwards.
    """

    cycles: int
    skipped: int
    lateness_mean: float
    lateness_p99: float
    lateness_max: float
    answer_median: float
    answer_p99: float
    answer_max: float
    lost: tuple[int, ...]
    late: tuple[int, ...]


class CyclicExchange:
    """Calls ``cycle(feedback)`` at ``cycle_rate`` in a thread of its own.

    When the cycle raises, all drives are made torque-free and the exchange ends; the master's
    heartbeat, which this thread sends, ends with it.

    Parameters
    ----------
    network : DriveNetwork
        Connected.
    cycle : callable
        `Feedback` to `Setpoint`.

    Attributes
    ----------
    failure : Exception or None
        What ended the exchange.
    """

    failure: Exception | None

    def __init__(self, network: DriveNetwork, cycle: Cycle):
        raise NotImplementedError

    def start(self) -> None:
        """Begin; returns at once."""

    def stop(self) -> None:
        """Make all drives torque-free and end."""

    @property
    def statistics(self) -> Statistics:
        """Counts and times so far."""
        raise NotImplementedError
