# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Threads that watch the drives beside their cycle: closed loops, and what was set up."""

from __future__ import annotations

import itertools

import numpy as np

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.drive_cycle import DriveGoal
from masticator_dynamics.drives.drive_faults import Finding
from masticator_dynamics.drives.loop_closure import check_reference
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.phases import MOVING
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.errors import DriveError
from masticator_dynamics.mechanism import Mechanism

PATIENCE = 0.8  # s that a monitoring thread may take beyond its pause


class WatchingThread(real_time.Worker):
    """A thread that looks repeatedly, whatever goes wrong; its own errors stop the drives.

    Parameters
    ----------
    name : str
        Name in messages.
    pause : float, optional
        Time between two looks, s; None: never look.
    supervisor : Supervisor
        Stops the drives, and knows when the next look is overdue.
    """

    def __init__(self, name: str, pause: float | None, supervisor: Supervisor):
        super().__init__(name, self._run, real_time.SERVICE)
        self._title, self._pause, self._supervisor = name, pause, supervisor

    def look(self) -> None:
        """Look once."""
        raise NotImplementedError

    def start(self) -> None:
        """Begin."""
        if self._pause is not None:
            self._supervisor.deadlines.begin(self._title, self._pause + PATIENCE)
            super().start()

    def stop(self) -> None:
        """End; may be called more than once."""
        self._supervisor.deadlines.end(self._title)
        super().stop()

    def _run(self) -> None:
        while not self.ended.wait(self._pause):  # missed looks are not made up for
            try:
                self.look()
            except Exception as error:  # it must go on, and nobody else would report this
                text = f'failed: {type(error).__name__}: {error}'
                self._supervisor.stop(Finding(self._title, 'watch', text, DriveGoal.STOPPED))
            self._supervisor.deadlines.looked(self._title)


class LoopCheck(WatchingThread):
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
        super().__init__('loop check', 1.0 / rate if rate > 0.0 else None, supervisor)
        self._mechanism, self._tolerance = mechanism, tolerance

    def look(self) -> None:
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
            self._supervisor.stop(Finding(drive, 'loops', reference.text, DriveGoal.TORQUE_FREE))


_PAUSE = 0.025  # s between two objects: 1 % of 1 Mbit/s
_KINDS = ('object', 'mode', 'object', 'temperature')
_SILENT = 3  # reads in a row that a drive may leave unanswered


class SlowReading(WatchingThread):
    """Reads one object of one drive at a time; one that has changed stops all drives.

    One in four reads is the mode of operation and one a temperature, for each drive in turn.
    """

    def __init__(self, network: DriveNetwork, supervisor: Supervisor):
        super().__init__('slow reading', _PAUSE, supervisor)
        self._network, self._count = network, len(network.names)
        self._temperature = np.full(self._count, np.nan)
        self._kinds = itertools.cycle(_KINDS)
        self._turns = {kind: itertools.count() for kind in _KINDS}
        self._unanswered = [0] * self._count

    def look(self) -> None:
        """Read one object."""
        kind = next(self._kinds)
        turn = next(self._turns[kind])
        number, k = divmod(turn, self._count)
        try:
            if kind == 'temperature':
                self._read_temperature(k)
            else:
                self._compare(k, None if kind == 'mode' else number)
            self._unanswered[k] = 0
        except DriveError as error:
            self._silent(k, error)

    def _read_temperature(self, k: int) -> None:
        try:
            self._temperature[k] = self._network.temperature(k)
        except DriveError:
            self._temperature[k] = np.nan
            raise
        finally:
            self._supervisor.set_temperature(self._temperature.copy())

    def _compare(self, k: int, number: int | None) -> None:
        """Check the mode of a drive, or one of the objects that were written."""
        difference = self._network.difference(k, number)
        if difference and self._supervisor.enabled:
            name = self._network.names[k]
            self._supervisor.stop(
                Finding(
                    name,
                    'configuration',
                    f'{difference}; ~/reset sets it up',
                    DriveGoal.TORQUE_FREE,
                )
            )

    def _silent(self, k: int, error: DriveError) -> None:
        """Ignore a lost frame; do not trust a drive that cannot be read for long."""
        self._unanswered[k] += 1
        if self._unanswered[k] == _SILENT and self._supervisor.enabled:
            name = self._network.names[k]
            self._supervisor.stop(Finding(name, 'unread', str(error), DriveGoal.STOPPED))
