# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check during motion that the loops close: with an encoder that slips or sticks they do not."""

from __future__ import annotations

from masticator_dynamics.drives.drive_cycle import Goal
from masticator_dynamics.drives.drive_report import MOVING
from masticator_dynamics.drives.encoder_reference import check_reference
from masticator_dynamics.drives.findings import Finding
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.drives.watching_threads import WatchingThread
from masticator_dynamics.mechanism import Mechanism


class LoopCheck:
    """Checks measured positions in a thread of its own, at its own rate.

    Parameters
    ----------
    supervisor : Supervisor
        Stops all drives when the loops do not close.
    mechanism : Mechanism
        Used only by this thread.
    tolerance : float
        Largest permitted gap of the loops, m.
    rate : float
        Checks per second, Hz; 0: never.
    """

    def __init__(self, supervisor: Supervisor, mechanism: Mechanism, tolerance: float, rate: float):
        self._supervisor, self._mechanism = supervisor, mechanism
        self._tolerance = tolerance
        pause = 1.0 / rate if rate > 0.0 else None
        thread = WatchingThread(
            'loop check', self.check, pause, supervisor.deadlines, supervisor.stop
        )
        self.start, self.stop = thread.start, thread.stop

    def check(self) -> None:
        """Check once, if drives are enabled.

        Positions from different instants do not close the loops of a moving mechanism: nothing is
        checked in a cycle in which not all drives have reported theirs.
        """
        report = self._supervisor.report()
        feedback = report.feedback
        if report.phase not in MOVING or feedback is None or not feedback.fresh.all():
            return
        reference = check_reference(
            self._mechanism, feedback.position, self._tolerance, report.following_error
        )
        if not reference.closed:
            drive = reference.suspects[0].drive if len(reference.suspects) == 1 else 'loops'
            self._supervisor.stop(Finding(drive, 'loops', reference.text, Goal.TORQUE_FREE))
