# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All simulated drives on one bus, in real time or stepped without a clock."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import queue
import time
from collections.abc import Callable

import can

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.can_bus import bus_title
from masticator_dynamics.drives.configuration import Drives, find_file
from masticator_dynamics.drives.objects import SYNC_COB, NmtState
from masticator_dynamics.drives.simulator import faults
from masticator_dynamics.drives.simulator.axes import Axes
from masticator_dynamics.drives.simulator.dictionary import load_eds
from masticator_dynamics.drives.simulator.link import Link
from masticator_dynamics.drives.simulator.plant import Plant
from masticator_dynamics.drives.simulator.simulation_file import Simulation
from masticator_dynamics.drives.simulator.slave import Handler, Slave
from masticator_dynamics.drives.timing import Longest
from masticator_dynamics.errors import DriveError, InputError

# Behind by more than this, time is given up instead of made good (s).
_FORGIVEN = 0.05
_REPORTS = 1.0  # s between two reports of that
# Of the distance between SYNC and the middle of a step, the part that is made up for each time.
_PULL = 0.05
# Frames taken at a time before the plant has its turn.
_BURST = 200
# Steps made together when nothing comes on the bus: to wake for each costs as much as the step.
_TOGETHER = 4
_PUNCTUAL = 0.004  # s; more behind than this, frames do not wait for their step
_SILENT = 0.5  # s without a frame, after which the master has gone
_BURST_TIME = 0.0002  # s, after a frame, in which no other is looked for


@dataclasses.dataclass
class RealTime:
    """How well the clock was kept.

    Attributes
    ----------
    steps, late : int
        Steps made, and those that began more than a step after they were due at the latest.
    given_up : float
        s that the plant stood still because the machine was too slow.
    behind : Longest
        s by which steps came late.
    held_back : HeldBack
        s for which the kernel kept them waiting, though they were urgent.
    """

    steps: int = 0
    late: int = 0
    given_up: float = 0.0
    behind: Longest = dataclasses.field(default_factory=Longest)
    held_back: real_time.HeldBack = dataclasses.field(default_factory=real_time.HeldBack)


class DriveSimulator:
    """Simulated drives of a drives file.

    Parameters
    ----------
    drives : Drives
    simulation : Simulation
    bus : can.BusABC
        Opened; shut down by its owner.
    plant : Plant, optional
        Default: motors that turn freely.
    file : str or pathlib.Path
        The drives file; EDS files are looked for beside it.
    answer : callable
        Takes a line for every line handed to :meth:`post`.
    report : callable
        Takes a line when time is given up.

    Attributes
    ----------
    axes : Axes
        Servos and plant.
    slaves : dict of Slave
        By joint.
    real_time : RealTime

    Raises
    ------
    DescriptionError, InputError
        An EDS, or the plant, does not fit.
    """

    def __init__(
        self,
        drives: Drives,
        simulation: Simulation,
        bus: can.BusABC,
        plant: Plant | None = None,
        file: str | pathlib.Path = '',
        answer: Callable[[str], None] = lambda line: None,
        report: Callable[[str], None] = lambda line: None,
    ):
        self._bus, self._title = bus, bus_title(drives.bus)
        self._answer, self._report = answer, report
        self.axes = Axes(drives, simulation, plant)
        self.real_time = RealTime()
        self._reported = self._heard = -math.inf
        self._start = math.nan  # of the plant's time, on the clock; none when stepped
        self._next: can.Message | None = None  # of a later step
        self.slaves: dict[str, Slave] = {}
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._routes: dict[int, list[tuple[Link, Handler]]] | None = None
        for joint, drive in drives.drives.items():
            path = find_file(drive.eds, pathlib.Path(file))
            self.slaves[joint] = Slave(
                drive,
                simulation.drives[joint],
                load_eds(path, drive.node_id),
                self.axes.servos[joint],
                Link(self._send, seed=drive.node_id),
                self._reroute,
            )
        for slave in self.slaves.values():
            slave.boot()

    @property
    def time(self) -> float:
        """Of the plant, s."""
        return self.axes.time

    @property
    def behind(self) -> float:
        """How long ago (s) it was the plant's time, in :meth:`run`."""
        return time.monotonic() - (self._start + self.time)

    @property
    def in_use(self) -> bool:
        """Whether a master works with the drives: some are operational, and frames come."""
        return self._operational and not self.abandoned

    @property
    def abandoned(self) -> bool:
        """Whether drives are operational, but nothing comes from a master any more."""
        return self._operational and time.monotonic() - self._heard > _SILENT

    @property
    def _operational(self) -> bool:
        return any(slave.nmt is NmtState.OPERATIONAL for slave in self.slaves.values())

    def age(self, now: float) -> float:
        """How old (s) the plant's state is at a time; below zero by half a step at most.

        What comes during a step is taken at its beginning. On the clock of those who send, the
        state at the beginning is therefore that of the step's middle, where SYNC comes.
        """
        return now - (self._start + self.time) - 0.5 * self.axes.plant.step

    def inject(self, line: str) -> None:
        """Make a fault at once; see :mod:`~masticator_dynamics.drives.simulator.faults`."""
        faults.inject(self.slaves, line)

    def post(self, line: str) -> None:
        """Have a line acted on before the next step, from any thread."""
        self._lines.put(line)

    def step(self) -> None:
        """Take what is on the bus, then move on by a step, whatever the clock says."""
        self._poll()
        while not self._lines.empty():
            self._act(self._lines.get())
        self.axes.advance()
        now = self.axes.time
        for slave in self.slaves.values():
            slave.step(now)
        self.real_time.steps += 1

    def advance(self, duration: float) -> None:
        """Step for so long, in the plant's time."""
        for _ in range(round(duration / self.axes.plant.step)):
            self.step()

    def run(self, go_on: Callable[[], bool]) -> None:
        """Keep up with the clock for as long as told, as a real-time thread where permitted.

        Raises
        ------
        DriveError
            The bus cannot be read or written any more.
        """
        try:
            with real_time.requested(real_time.SIMULATOR) as granted:
                if granted:
                    self.real_time.held_back.begin()
                self._run(go_on)
        except can.CanError as error:
            raise DriveError(self._title, ' '.join(str(error).split())) from error

    def _run(self, go_on: Callable[[], bool]) -> None:
        length = self.axes.plant.step
        self._start = time.monotonic() - self.time
        while go_on():
            behind, together = self.behind, self._together
            overdue = behind - (together - self.real_time.steps % together) * length
            if behind >= length and (overdue >= 0.0 or self._next is not None):
                self._count(overdue, length)
                self.step()
            elif self._next is not None:
                message, self._next = self._next, None
                self._receive(message)
                self._rest(length)
            else:
                self._next = self._bus.recv(-overdue)

    @property
    def _together(self) -> int:
        """How many steps are made at a time; frames that are held back go out with their step."""
        return 1 if any(slave.link.holds for slave in self.slaves.values()) else _TOGETHER

    def _count(self, overdue: float, length: float) -> None:
        """Note how late a step is, s, and forgive what cannot be made good."""
        self.real_time.late += overdue > length
        self.real_time.behind.add(overdue)
        if overdue > _FORGIVEN:
            self._start += overdue
            self._give_up(overdue)

    def _rest(self, length: float) -> None:
        """Let other frames of a burst come: to wake for each costs more than to take it."""
        remaining = length - self.behind
        if remaining > 0.0:
            time.sleep(min(remaining, _BURST_TIME))
        self._poll()

    def _follow_sync(self, arrival: float) -> None:
        """Shift the steps, slowly, until SYNC comes in the middle of one, as drives do.

        Where it comes close to the end of a step, targets would sometimes be taken a step late.
        """
        step = self.axes.plant.step
        # Where time was given up, SYNC may have come long ago.
        phase = min(max(arrival - self._start - self.time, 0.0), step)
        self._start += _PULL * (phase - 0.5 * step)

    def _give_up(self, late: float) -> None:
        clock = self.real_time
        clock.given_up += late
        if time.monotonic() - self._reported > _REPORTS:
            self._reported = time.monotonic()
            self._report(f'too slow: the plant stood still for {clock.given_up:.2f} s so far')

    def _act(self, line: str) -> None:
        try:
            self.inject(line)
        except InputError as error:
            self._answer(f'error: {error}')
        else:
            self._answer(f'ok: {" ".join(line.split())}')

    def _poll(self) -> None:
        """Take what has come until the end of the step that is due.

        A simulator that was kept from running makes up for it step by step: what came meanwhile is
        for the step in which it came, or motors would run ahead of their time. Where it was kept
        for long, those who wait for answers have them at once all the same.
        """
        for _ in range(_BURST):
            message = self._next or self._bus.recv(0.0)
            self._next = None
            if message is None:
                return
            end = self._start + self.time + self.axes.plant.step
            if end < _arrival(message) and self.behind < _PUNCTUAL:
                self._next = message
                return
            self._receive(message)

    def _receive(self, message: can.Message) -> None:
        if message.arbitration_id == SYNC_COB:
            self._follow_sync(_arrival(message))
        self._take(message)

    def _take(self, message: can.Message) -> None:
        if message.is_extended_id or message.is_remote_frame or message.is_error_frame:
            return
        if self._routes is None:
            self._routes = self._find_routes()
        routes = self._routes.get(message.arbitration_id, ())
        if routes:
            self._heard = time.monotonic()
        for link, handler in routes:
            if not link.off:
                handler(bytes(message.data))

    def _reroute(self) -> None:
        self._routes = None

    def _find_routes(self) -> dict[int, list[tuple[Link, Handler]]]:
        routes: dict[int, list[tuple[Link, Handler]]] = {}
        for slave in self.slaves.values():
            for cob_id, handler in slave.routes().items():
                routes.setdefault(cob_id, []).append((slave.link, handler))
        return routes

    def _send(self, cob_id: int, data: bytes) -> None:
        self._bus.send(can.Message(arbitration_id=cob_id, data=data, is_extended_id=False))


def _arrival(message: can.Message) -> float:
    """When a frame came, on the monotonic clock; stamps of frames are of the other one."""
    now = time.monotonic()
    return min(now, now - time.time() + message.timestamp)
