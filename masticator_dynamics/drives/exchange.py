# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One SYNC, and one PDO from and to each drive, in every cycle.

While the exchange thread runs, only it receives: PDOs are answered without a hand-over between
threads, and everything else (heartbeats, EMCY, answers to SDO requests from other threads) is
passed on to canopen from here.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable

import can
import canopen
import numpy as np

from masticator_dynamics.drives import objects, real_time
from masticator_dynamics.drives.can_bus import (
    BUS_ERRORS,
    data_frame,
    error_frame_words,
    is_data_frame,
)
from masticator_dynamics.drives.can_frames import DriveFrames
from masticator_dynamics.drives.drive_cycle import Cycle, DriveGoal, Emergency, Feedback, Setpoint
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.real_time import Longest, Statistics

_SWITCH = 0.00005  # s; how long another thread may hold Python's lock
_NAP = 0.25  # of a period after SYNC: drives need longer, and waking for each PDO costs more
_ANSWER = 0.6  # of a period; later PDOs count as missed (at 500 Hz they take 0.5 of it)
_LATEST = 0.5  # of a period; a later cycle is skipped, so that two do not follow closely
_RELEASE = 5  # cycles in which drives are told to be torque-free at the end
_STALE = 256  # frames; more than can be waiting when a cycle begins


class CyclicExchange(real_time.Worker):
    """Calls ``cycle(feedback)`` at ``cycle_rate`` in a thread of its own.

    All drives are made torque-free when it ends. If the cycle raises, it ends, and with it the
    master's heartbeat, which this thread sends: the drives go to fault.

    Parameters
    ----------
    network : DriveNetwork
        Connected.
    cycle : callable
        Returns a `Setpoint` for a `Feedback`, within a fraction of a period.
    failed : callable, optional
        Called with what ended the exchange, in its thread.

    Attributes
    ----------
    network : DriveNetwork
    failure : Exception or None
        What ended the exchange.
    late : Longest
        Delays of the cycles, s.
    statistics : Statistics
        Counts and times so far.
    """

    def __init__(
        self,
        network: DriveNetwork,
        cycle: Cycle,
        failed: Callable[[Exception], None] = lambda error: None,
    ):
        drives = network.drives
        self._period = 1.0 / drives.cycle_rate
        super().__init__('drives', self._run, real_time.EXCHANGE, self._period)
        self.failure: Exception | None = None
        self.late = Longest()
        self.network = network
        self._cycle, self._failed = cycle, failed
        self._frames = DriveFrames(drives, network.scaling)
        self.statistics = Statistics()
        self._sync = data_frame(objects.SYNC_COB)
        self._heartbeat = data_frame(
            objects.HEARTBEAT_COB + drives.heartbeat.master, bytes((objects.NmtState.OPERATIONAL,))
        )
        self._heartbeat_due = 0.0
        self._silent = False
        self._error = ''
        self._canopen: canopen.Network
        self._bus: can.BusABC
        self._pass_on: can.Listener

    def start(self) -> None:
        """Begin; returns at once."""
        sys.setswitchinterval(min(_SWITCH, sys.getswitchinterval()))
        self.failure, self._silent = None, False
        # Positions from before a pause may no longer be true.
        self._frames = DriveFrames(self.network.drives, self.network.scaling)
        super().start()

    def _run(self) -> None:
        with self.network.receiving_by_caller() as network:
            assert network.bus is not None
            self._canopen, self._bus = network, network.bus
            self._pass_on = canopen.network.MessageListener(network)
            try:
                self._repeat(self._cycle, None)
            except Exception as error:  # whatever it was, the drives must stop
                self.failure = error
                self._failed(error)
            self._repeat(self._release, _RELEASE)

    def _release(self, feedback: Feedback) -> Setpoint:
        return Setpoint(DriveGoal.TORQUE_FREE, feedback.position, feedback.effort)

    def _repeat(self, cycle: Cycle, count: int | None) -> None:
        """Run cycles at absolute times: one that takes longer does not delay the next."""
        due = time.monotonic() + self._period
        while count != 0 if count is not None else not self.ended.is_set():
            self._receive_waiting()  # now, not between when SYNC is due and when it is sent
            self._sleep_until(due)
            late = time.monotonic() - due
            self.late.add(late)
            if late > _LATEST * self._period:
                left_out = math.ceil(late / self._period - _LATEST)
                self.statistics.skipped += left_out
                due += left_out * self._period
                continue
            self._run_cycle(cycle, due)
            due += self._period
            count = None if count is None else count - 1

    def _run_cycle(self, cycle: Cycle, due: float) -> None:
        frames = self._frames
        self._receive_waiting()
        silent = self._silent
        if not silent:
            self._send((self._sync,))
        begin = time.monotonic()
        frames.sampled(begin)
        self._sleep_until(begin + _NAP * self._period)
        answered = self._collect(begin + _ANSWER * self._period)
        feedback = self._feedback(begin, begin - due)
        setpoint = cycle(feedback)
        self._send(frames.to_drives(setpoint, feedback))
        for index, action in setpoint.actions:
            request = frames.action(index, action, setpoint.goal)
            self.network.others.sent(request.arbitration_id, bytes(request.data))
            self._send((request,))
        self._silent = setpoint.silent
        if not silent and begin >= self._heartbeat_due:
            self._send((self._heartbeat,))
            self._heartbeat_due = begin + self.network.drives.heartbeat.period
        self.statistics.add(begin - due, answered - begin, time.monotonic() - begin)

    def _feedback(self, begin: float, lateness: float) -> Feedback:
        waiting = self.network.emergencies
        emergencies: tuple[Emergency, ...] = ()
        if waiting:
            emergencies = tuple([waiting.popleft() for _ in range(len(waiting))])
        # A heartbeat that came after SYNC has no age yet.
        age = np.maximum(begin - self.network.heard, 0.0)
        others = self.network.others.found()
        restarted = tuple(self.network.booted)
        feedback = self._frames.feedback(age, emergencies, self._error, lateness, others, restarted)
        if self._error and feedback.fresh.any():  # reported at least once, and the bus works again
            self._error = ''
        return feedback

    def _collect(self, end: float) -> float:
        """Receive until all drives have answered this SYNC; return when the last one did."""
        frames = self._frames
        while frames.outstanding:
            remaining = end - time.monotonic()
            if remaining <= 0.0:
                return math.inf
            self._receive(remaining)
        return time.monotonic()

    def _receive_waiting(self) -> None:
        """Receive what is waiting, which must not be taken for answers to the next SYNC."""
        for _ in range(_STALE):
            if not self._receive(0.0):
                return

    def _sleep_until(self, due: float) -> None:
        """Sleep; frames that arrive meanwhile wait, since waking for each one costs more."""
        remaining = due - time.monotonic()
        if remaining > 0.0:
            time.sleep(remaining)

    def _receive(self, timeout: float) -> bool:
        """Wait for one frame and pass it on; return whether one came."""
        try:
            message = self._bus.recv(timeout)
        except BUS_ERRORS as error:
            self._error = f'cannot receive: {error}'
            time.sleep(timeout)  # else it would fail again at once
            return False
        if message is None:
            return False
        if self._frames.take_answer(message):
            return True
        if message.is_error_frame:
            self._error = error_frame_words(message) or self._error
        elif is_data_frame(message):
            believed = self.network.others.take(message)
            if not self._frames.take(message, believed) and believed:
                self._pass_on(message)
        return True

    def _send(self, messages: Iterable[can.Message]) -> None:
        send = self._bus.send
        with self._canopen.send_lock:
            for message in messages:
                try:
                    send(message)
                except BUS_ERRORS as error:
                    self._error = f'cannot send: {error}'
