# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All simulated drives on one bus, in real time or stepped without a clock, and their faults.

A fault is injected by a line such as ``drop crank_3 0.5``.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import queue
import time
from collections.abc import Callable

import can

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.bring_up import read_eds
from masticator_dynamics.drives.can_bus import bus_title, data_frame, is_data_frame
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.objects import SYNC_COB, NmtState
from masticator_dynamics.drives.real_time import Longest
from masticator_dynamics.drives.simulator.servo import Axes, Plant
from masticator_dynamics.drives.simulator.simulated_dictionary import entries_of
from masticator_dynamics.drives.simulator.simulation_file import SimulationSettings
from masticator_dynamics.drives.simulator.slave import Handler, Link, Slave
from masticator_dynamics.errors import DriveError, InputError

# If behind by more than this (s), time is given up instead of caught up.
_FORGIVEN = 0.05
_REPORTS = 1.0  # s between two reports of that
# Share of the distance between SYNC and the middle of a step that is corrected each time.
_PULL = 0.05
# Frames taken at a time before the plant takes its turn.
_BURST = 200
# Steps made together when the bus is silent: waking for each costs as much as the step.
_TOGETHER = 4
# Steps by which they are made later than they could be: SYNC, in the middle of one, is first, and
# one waking does for both.
_LATER = 0.75
_ROUNDING = 1e-6  # of a step
_EARLY = 2.0  # steps before SYNC is expected, from which on frames are waited for
_PUNCTUAL = 0.004  # s; if further behind, frames do not wait for their step
_SILENT = 0.5  # s without a frame, after which the master counts as gone
_BURST_TIME = 0.0002  # s after a frame in which no other is looked for


@dataclasses.dataclass
class RealTime:
    """How well the clock was kept."""

    steps: int = 0  # made
    late: int = 0  # steps that began more than a step too late
    # Time for which the plant stood still because the machine was too slow, s.
    given_up: float = 0.0
    behind: Longest = dataclasses.field(default_factory=Longest)  # delays of the steps, s
    # Time for which the kernel kept steps waiting despite their priority, s.
    held_back: real_time.HeldBack = dataclasses.field(default_factory=real_time.HeldBack)


class DriveSimulator:
    """Simulated drives of a drives file.

    Parameters
    ----------
    bus : can.BusABC
        An open bus; its owner shuts it down.
    plant : Plant, optional
        Default: free-running motors.
    file : str or pathlib.Path
        The drives file; EDS files are looked for next to it.
    answer : callable
        Called with a line in answer to every line given to :meth:`post`.
    report : callable
        Called with a line when time is given up.

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
        simulation: SimulationSettings,
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
        self._start = math.nan  # clock time of the plant's time 0; NaN when stepped
        # For a later step; stamped on the monotonic clock.
        self._next: can.Message | None = None
        self._due = -math.inf  # when slaves have something to do, s
        # Steps and clock at the latest SYNC, and the clock until which frames wait, s.
        self._anchor, self._synced, self._awake = 0, math.nan, -math.inf
        self.slaves: dict[str, Slave] = {}
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._frames: dict[int, can.Message] = {}  # sent before, by COB-ID: making one takes long
        self._routes: dict[int, list[tuple[Link, Handler]]] | None = None
        # COB-IDs of PDOs, which do nothing before SYNC; with SYNC, after which slaves need no look.
        self._waiting: set[int] = set()
        self._unseen: set[int] = set()
        for joint, drive in drives.drives.items():
            self.slaves[joint] = Slave(
                drive,
                simulation.drives[joint],
                entries_of(*read_eds(joint, drive, file)),
                self.axes.servos[joint],
                Link(self._send, drive.node_id, lambda: self.axes.time),
                self._change,
            )
        self._links = [slave.link for slave in self.slaves.values()]
        for slave in self.slaves.values():
            slave.boot()

    @property
    def behind(self) -> float:
        """How far (s) plant time is behind the clock, in :meth:`run`."""
        return time.monotonic() - (self._start + self.axes.time)

    @property
    def in_use(self) -> bool:
        """Whether a master uses the drives: some are operational, and frames arrive."""
        return self._operational and not self.abandoned

    @property
    def abandoned(self) -> bool:
        """Whether drives are operational, but frames from a master have ceased."""
        return self._operational and time.monotonic() - self._heard > _SILENT

    @property
    def _operational(self) -> bool:
        return any(slave.nmt is NmtState.OPERATIONAL for slave in self.slaves.values())

    def age(self, now: float) -> float:
        """Age (s) of the plant's state at a given time; down to minus half a step.

        Frames that arrive during a step take effect at its beginning. On the senders' clock, the
        state at the beginning is therefore that of the step's middle, where SYNC arrives.
        """
        return now - (self._start + self.axes.time) - 0.5 * self.axes.plant.step

    def inject(self, line: str) -> None:
        """Do what a line says: fault, drive or ``all``, and a number if the fault takes one.

        Raises
        ------
        InputError
            The line is not understood; nothing was done.
        """
        words, slaves = line.split(), self.slaves
        name = words[0] if words else ''
        if name not in NAMES:
            raise InputError(f'{name!r} is none of {", ".join(NAMES)}')
        numbered = name in _NUMBERED
        if len(words) != 2 + numbered:
            number = f' and {_NUMBERED[name][1]}' if numbered else ''
            raise InputError(f'{name} needs a drive (or {ALL}){number}: {line.strip()!r}')
        if words[1] != ALL and words[1] not in slaves:
            raise InputError(f'there is no drive {words[1]}, only {", ".join(slaves)}')
        chosen, self._due = (
            list(slaves.values()) if words[1] == ALL else [slaves[words[1]]],
            -math.inf,
        )
        if not numbered:
            for slave in chosen:
                _PLAIN[name](slave)
            return
        function, what, low, high = _NUMBERED[name]
        value = _number(words[2])
        if not low <= value <= high or (name in _WHOLE and value != int(value)):
            raise InputError(f'{words[2]!r} is not {what} from {low:g} to {high:g}')
        for slave in chosen:
            function(slave, value)

    def post(self, line: str) -> None:
        """Queue a line for execution before the next step, from any thread."""
        self._lines.put(line)

    def step(self, most: int = 1) -> None:
        """Take waiting frames, then advance by a step, whatever the clock says.

        Or by up to ``most``, as far as no drive has anything to do meanwhile.
        """
        self._poll()
        while not self._lines.empty():
            self._act(self._lines.get())
        if most > 1:
            most = max(min(most, self._undisturbed()), 1)
        made, now = self.axes.advance(most), self.axes.time
        if now >= self._due or self.axes.asks:
            self._due = min(slave.step(now) for slave in self.slaves.values())
        self.real_time.steps += made

    def _undisturbed(self) -> int:
        """Steps until a frame that has arrived, or a slave, has its turn."""
        now, length = self.axes.time, self.axes.plant.step
        steps = min(max(self._due - now, 0.0) / length, float(_TOGETHER))
        if self._next is not None:
            before = (self._next.timestamp - self._start - now) / length - 1.0
            steps = min(steps, before)
        return math.ceil(steps - _ROUNDING)

    def advance(self, duration: float) -> None:
        """Step for a duration of plant time, s."""
        for _ in range(round(duration / self.axes.plant.step)):
            self.step()

    def run(self, go_on: Callable[[], bool]) -> None:
        """Keep up with the clock while ``go_on`` returns true, in real time where permitted.

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
        finally:
            self.real_time.held_back.end()

    def _run(self, go_on: Callable[[], bool]) -> None:
        length = self.axes.plant.step
        self._start = time.monotonic() - self.axes.time
        while go_on():
            behind, remaining = self.behind, self._remaining
            overdue = behind - (remaining + _LATER) * length
            if behind >= length and (overdue >= 0.0 or self._next is not None):
                self._count(overdue, length)
                self.step(min(int(behind / length), remaining))
                self._awake = -math.inf
            elif self._next is not None:
                message, self._next = self._next, None
                self._receive(message)
                if not time.monotonic() < self._awake:
                    self._rest(length)
            elif (waiting := self._awake - time.monotonic()) > 0.0:
                time.sleep(min(-overdue, waiting))
            elif self._look(-overdue) and self._next is None:
                self._rest(length)

    @property
    def _remaining(self) -> int:
        """Number of steps to make at a time; frames held back go out with their step."""
        if any([link.held for link in self._links]):
            return 1
        return _TOGETHER - (self.real_time.steps - self._anchor) % _TOGETHER

    def _count(self, overdue: float, length: float) -> None:
        """Note how late a step is, s, and give up time that cannot be caught up."""
        self.real_time.late += overdue > length
        self.real_time.behind.add(overdue)
        if overdue > _FORGIVEN:
            self._start += overdue
            self._give_up(overdue)

    def _rest(self, length: float) -> None:
        """Let other frames of a burst arrive: waking for each costs more than taking it."""
        remaining = length - self.behind
        if remaining > 0.0:
            time.sleep(min(remaining, _BURST_TIME))
        self._poll()

    def _follow_sync(self, arrival: float) -> None:
        """Shift the steps slowly until SYNC arrives in the middle of one, as drives do.

        If it arrived close to the end of a step, targets would sometimes be taken a step late.
        """
        step = self.axes.plant.step
        # If time was given up, SYNC may have arrived long ago.
        phase = min(max(arrival - self._start - self.axes.time, 0.0), step)
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
        """Take the frames that arrived before the end of the step that is due.

        A simulator that was delayed catches up step by step: frames take effect in the step in
        which they arrived, or motors would run ahead of their time. After a long delay, frames are
        nevertheless answered at once.
        """
        for _ in range(_BURST):
            if self._next is None and not self._look(0.0):
                return
            message = self._next
            if message is None:
                continue
            end = self._start + self.axes.time + self.axes.plant.step
            if end < message.timestamp and self.behind < _PUNCTUAL:
                return
            self._next = None
            self._receive(message)

    def _look(self, seconds: float) -> bool:
        """Wait for a frame; return whether one came. One that does nothing yet is taken at once."""
        message = self._bus.recv(seconds)
        if message is None:
            return False
        if message.arbitration_id in self._waiting:
            self._receive(message)
        else:
            # Its stamp is on the wall clock.
            now = time.monotonic()
            message.timestamp = min(now, now - time.time() + message.timestamp)
            self._next = message
        return True

    def _receive(self, message: can.Message) -> None:
        if not is_data_frame(message):
            return
        if message.arbitration_id == SYNC_COB:
            now, before = message.timestamp, self._synced
            self._follow_sync(now)
            # Until the next steps only setpoints come, which are for the next SYNC.
            self._awake = now + (now - before) - _EARLY * self.axes.plant.step
            self._anchor, self._synced = self.real_time.steps, now
        self._take(message)

    def _take(self, message: can.Message) -> None:
        if self._routes is None:
            self._routes = self._find_routes()
        routes = self._routes.get(message.arbitration_id, ())
        if routes:
            self._heard = time.monotonic()
            if message.arbitration_id not in self._unseen:
                self._due = -math.inf
        for link, handler in routes:
            if not link.off:
                handler(bytes(message.data))

    def _change(self) -> None:
        """Find the routes of frames again, and when slaves have something to do."""
        self._routes, self._due = None, -math.inf

    def _find_routes(self) -> dict[int, list[tuple[Link, Handler]]]:
        routes: dict[int, list[tuple[Link, Handler]]] = {}
        at_once, seen = set[int](), set[int]()
        for slave in self.slaves.values():
            of_slave = slave.routes()
            other = of_slave.keys() - {pdo.cob_id for pdo in slave.process_data.receiving}
            at_once |= other
            seen |= other - {slave.sync_cob}
            for cob_id, handler in of_slave.items():
                routes.setdefault(cob_id, []).append((slave.link, handler))
        self._waiting, self._unseen = routes.keys() - at_once, routes.keys() - seen
        return routes

    def _send(self, cob_id: int, data: bytes) -> None:
        frame = self._frames.get(cob_id)
        if frame is None or frame.dlc != len(data):
            frame = self._frames[cob_id] = data_frame(cob_id, data)
        frame.data[:] = data
        self._bus.send(frame)


ALL = 'all'
_HOTTER = 5.0  # K above the limit
_LARGEST_CODE = 0xFFFF
_WATCHES_NOTHING = 4  # depth of deafness


def _clear(slave: Slave) -> None:
    """Clear all injected faults; a drive in fault stays so until it is reset."""
    slave.heartbeats.silent = False
    slave.added_heat, slave.deaf, slave.device.watches = 0.0, 0, True
    slave.servo.stuck = 0.0
    slave.come_back()
    slave.link.clear()


def _deafen(slave: Slave, depth: float) -> None:
    """To PDOs (1), control words by SDO (2) or NMT (3), or no longer monitor anything (4)."""
    slave.deaf, slave.device.watches = int(depth), depth < _WATCHES_NOTHING


_PLAIN: dict[str, Callable[[Slave], object]] = {
    'heartbeat': lambda slave: setattr(slave.heartbeats, 'silent', True),
    'bus-off': Slave.go_bus_off,
    'over-temperature': lambda slave: slave.overheat(_HOTTER),
    'stuck-encoder': lambda slave: setattr(slave.servo, 'stuck', 1.0),
    'clear': _clear,
}
# Faults with a number: what it is, and its range.
_NUMBERED: dict[str, tuple[Callable[[Slave, float], object], str, float, float]] = {
    'delay': (lambda slave, time: setattr(slave.link, 'delay', time), 'a time in s', 0.0, 60.0),
    'drop': (lambda slave, share: setattr(slave.link, 'drop', share), 'a share', 0.0, 1.0),
    'fault': (lambda slave, code: slave.device.fault(int(code)), 'an error code', 1, _LARGEST_CODE),
    'deaf': (_deafen, 'a depth', 1, _WATCHES_NOTHING),
}
_WHOLE = ('fault', 'deaf')
NAMES = (*_PLAIN, *_NUMBERED)


def _number(text: str) -> float:
    """A decimal number, or an integer in any Python notation; NaN for anything else."""
    for convert in (float, lambda word: float(int(word, 0))):
        try:
            return convert(text)
        except (ValueError, OverflowError):
            continue
    return math.nan
