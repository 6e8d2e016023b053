# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulated drive as a CANopen slave: NMT states, which part takes which frames, its objects."""

from __future__ import annotations

import collections
import functools
import math
import random
from collections.abc import Callable
from typing import Any

from canopen.objectdictionary import ODVariable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.configuration import Drive
from masticator_dynamics.drives.objects import Mode, Nmt, NmtState
from masticator_dynamics.drives.simulator.device import HOLD, Device, ErrorLog, Heartbeats
from masticator_dynamics.drives.simulator.process_data import Pdo, ProcessData
from masticator_dynamics.drives.simulator.servo import Servo, ServoTask
from masticator_dynamics.drives.simulator.simulated_dictionary import (
    BAD_VALUE,
    AbortError,
    Key,
    ObjectDictionary,
    SdoServer,
    Value,
)
from masticator_dynamics.drives.simulator.simulation_file import SimulatedDrive

Send = Callable[[int, bytes], None]


class Link:
    """Passes on the frames that a drive sends.

    Parameters
    ----------
    send : callable
        Takes COB-ID and data.
    seed : int
        Seed of the random numbers that decide which frames are dropped.
    clock : callable
        The simulated time, s.

    Attributes
    ----------
    off : bool
        Bus-off: nothing goes out or comes in.
    delay : float
        Time by which frames are held back, s.
    drop : float
        Share of frames lost, 0 to 1.
    held : deque
        Frames held back, to be released by `step`.
    """

    def __init__(self, send: Send, seed: int, clock: Callable[[], float]):
        self._send, self.clock = send, clock
        self._random = random.Random(seed)
        self.held: collections.deque[tuple[float, int, bytes]] = collections.deque()
        self.clear()

    def clear(self) -> None:
        """Clear all faults; frames held back go out when due."""
        self.off, self.delay, self.drop = False, 0.0, 0.0

    def send(self, cob_id: int, data: bytes) -> None:
        """Send a frame, hold it back or drop it."""
        if self.off or (self.drop and self._random.random() < self.drop):
            return
        if self.delay or self.held:
            self.held.append((self.clock() + self.delay, cob_id, data))
        else:
            self._send(cob_id, data)

    def step(self, time: float) -> None:
        """Release frames that were held back long enough."""
        while self.held and self.held[0][0] <= time:
            _, cob_id, data = self.held.popleft()
            if not self.off:
                self._send(cob_id, data)


HEARTBEAT_LOST, BUS_OFF, NMT_STOPPED = 0x8130, 0x8140, 0x8100
_SYNC_COB_ID = (0x1005, 0)
_SDO_REQUEST, _SDO_RESPONSE = 0x600, 0x580
_COMMUNICATION = 0x1FFF  # last index of the communication profile
_CONTROL_WORD_BY_SDO = bytes((0x2B, 0x40, 0x60))
_DEAF_TO_PDO, _DEAF_TO_SDO, _DEAF_TO_NMT = 1, 2, 3
_TALKING = (NmtState.PRE_OPERATIONAL, NmtState.OPERATIONAL)

Handler = Callable[[bytes], None]


class Slave:
    """One drive on the bus.

    Parameters
    ----------
    entries : dict of ODVariable
        From the EDS.
    link : Link
        Takes the frames that the drive sends.
    changed : callable
        Called when :meth:`routes` have changed, or when something is due sooner than :meth:`step`
        said.

    Attributes
    ----------
    added_heat : float
        Temperature added to the motor's own (an injected fault), K.
    deaf : int
        What is not heard (an injected fault): 1 PDOs; 2 also control words by SDO; 3 also NMT.
    """

    def __init__(
        self,
        drive: Drive,
        simulated: SimulatedDrive,
        entries: dict[Key, ODVariable],
        servo: Servo,
        link: Link,
        changed: Callable[[], None],
    ):
        self.node_id, self.servo, self.link = drive.node_id, servo, link
        self.temperature_limit, self.added_heat = simulated.temperature_limit, 0.0
        self.nmt, self.deaf = NmtState.BOOT_UP, 0
        self.objects = objects = ObjectDictionary(entries, defaults(drive, simulated))
        self.errors = ErrorLog(objects, self._send_emergency)
        self.device = Device(
            objects, servo, self.errors, self.temperature, simulated.temperature_limit
        )
        self._apply = connect(objects, self.device, servo, self.temperature)
        objects.writers[_SYNC_COB_ID] = self._set_sync
        self._sdo = SdoServer(objects)
        self.process_data = ProcessData(
            objects, self.device, self.errors, link.send, changed, link.clock
        )
        self.heartbeats = Heartbeats(
            objects,
            self._send_heartbeat,
            lost=lambda: self.device.lose_connection(HEARTBEAT_LOST),
            found_again=lambda: self.device.regain_connection(HEARTBEAT_LOST),
            changed=changed,
            clock=link.clock,
        )
        self._changed = changed
        self._apply()

    def temperature(self) -> float:
        """Motor temperature, degrees Celsius."""
        return self.servo.temperature + self.added_heat

    @property
    def sync_cob(self) -> int:
        """COB-ID of SYNC."""
        return self.objects.get(*_SYNC_COB_ID, names.SYNC_COB) & 0x7FF

    def routes(self) -> dict[int, Handler]:
        """Handlers of frames, by COB-ID."""
        routes: dict[int, Handler] = {
            names.NMT_COB: self._take_nmt,
            self.sync_cob: self._take_sync,
            _SDO_REQUEST + self.node_id: self._take_sdo,
        }
        if self.heartbeats.node:
            node = self.heartbeats.node
            routes[names.HEARTBEAT_COB + node] = lambda data: self.heartbeats.hear()
        for pdo in self.process_data.receiving:
            routes[pdo.cob_id] = functools.partial(self._take_pdo, pdo)
        return routes

    def boot(self) -> None:
        """Announce the drive on the bus."""
        self._enter(NmtState.BOOT_UP)
        self._send_heartbeat()
        self._enter(NmtState.PRE_OPERATIONAL)

    def step(self, time: float) -> float:
        """Check after a step of the servo: reactions, and frames that are due.

        Returns when to check again, s, if no frame comes and the servo does not ask for it.
        """
        self.link.step(time)
        self.device.step()
        due = min(self.heartbeats.step(time), self.process_data.step(time))
        return time if self.link.held or self.link.delay or self.added_heat else due

    def overheat(self, beyond: float) -> None:
        """Have a motor that is hotter than the limit (an injected fault), by some K."""
        self.added_heat = self.temperature_limit + beyond - self.servo.temperature

    def go_bus_off(self) -> None:
        """Leave the bus."""
        if not self.link.off:
            self.link.off = True
            self.device.lose_connection(BUS_OFF)

    def come_back(self) -> None:
        """Recover from bus-off, and report it."""
        if self.link.off:
            self.link.off = False
            self.errors.repeat(BUS_OFF)
            self.device.regain_connection(BUS_OFF)

    def _enter(self, state: NmtState) -> None:
        self.nmt = state
        self.process_data.run(state is NmtState.OPERATIONAL)

    def _take_pdo(self, pdo: Pdo, data: bytes) -> None:
        if self.deaf < _DEAF_TO_PDO:
            self.process_data.take(pdo, data)

    def _take_nmt(self, data: bytes) -> None:
        if self.deaf >= _DEAF_TO_NMT or len(data) < 2 or data[1] not in (0, self.node_id):
            return
        command = data[0]
        if command == Nmt.START:
            self._enter(NmtState.OPERATIONAL)
            self.device.regain_connection(NMT_STOPPED)
        elif command == Nmt.STOP:
            self._leave_operation()
            self._enter(NmtState.STOPPED)
        elif command == Nmt.PRE_OPERATIONAL:
            self._enter(NmtState.PRE_OPERATIONAL)
        elif command == Nmt.RESET_NODE:
            self.errors.forget()
            self.servo.forget_reference()
            self.device.restart()
            self._reset(0xFFFF)
        elif command == Nmt.RESET_COMMUNICATION:
            self._leave_operation()
            self._reset(_COMMUNICATION)

    def _leave_operation(self) -> None:
        """React as to a lost connection, unless the drive is torque-free anyway."""
        if self.servo.control is not ServoTask.OFF:
            self.device.lose_connection(NMT_STOPPED)

    def _reset(self, last: int) -> None:
        """Restore defaults up to an index, and boot."""
        self.objects.reset(last)
        self.process_data.restart()
        self.heartbeats.restart()
        if last > _COMMUNICATION:
            self._apply()
        self._changed()
        self.boot()

    def _take_sync(self, data: bytes) -> None:
        self.servo.sample()
        self.process_data.sync()

    def _take_sdo(self, data: bytes) -> None:
        if self.deaf >= _DEAF_TO_SDO and data.startswith(_CONTROL_WORD_BY_SDO):
            return
        if self.nmt in _TALKING:
            answer = self._sdo.answer(data)
            if answer:
                self.link.send(_SDO_RESPONSE + self.node_id, answer)

    def _send_heartbeat(self) -> None:
        self.link.send(names.HEARTBEAT_COB + self.node_id, bytes([self.nmt]))

    def _send_emergency(self, data: bytes) -> None:
        if self.nmt in _TALKING:
            self.link.send(names.EMERGENCY_COB + self.node_id, data)

    def _set_sync(self, value: Value) -> None:
        assert isinstance(value, int)
        if value & 0xFFFFF800 or not value & 0x7FF:  # only a consumer, with 11 bits
            raise AbortError(BAD_VALUE)
        self.objects.values[_SYNC_COB_ID] = value
        self._changed()


_NONE = 0xFFFFFFFF  # a limit that means none
_POSITION_DEMAND, _ENCODER = 0x6062, 0x608F
_OPTIONS = {
    names.QUICK_STOP_OPTION: (names.SLOW_DOWN_AND_DISABLE, HOLD),
    names.FAULT_OPTION: (names.DISABLE_AT_ONCE, names.SLOW_DOWN_AND_DISABLE),
    names.CONNECTION_LOST_OPTION: (0, names.FAULT_SIGNAL),
    names.HOMING_METHOD: (0, 35, 37),
    names.MODE: (
        0,
        Mode.HOMING,
        Mode.CYCLIC_SYNCHRONOUS_POSITION,
        Mode.CYCLIC_SYNCHRONOUS_TORQUE,
    ),
}


def defaults(drive: Drive, simulated: SimulatedDrive) -> dict[Key, Value]:
    """Values that a drive with this motor reports at power-up."""
    motor = drive.motor
    return {
        (0x1018, 4): drive.node_id,
        names.RATED_TORQUE.key: round(1000.0 * motor.rated_torque),
        names.MAX_TORQUE.key: round(1000.0 * motor.peak_torque / motor.rated_torque),
        (_ENCODER, 1): motor.counts_per_turn,
        names.POSITION_GAIN.key: simulated.gains.position,
        names.VELOCITY_GAIN.key: simulated.gains.velocity,
    }


def connect(
    objects: ObjectDictionary,
    device: Device,
    servo: Servo,
    temperature: Callable[[], float],
) -> Callable[[], None]:
    """Connect objects to what they stand for; those missing from the EDS are never asked for.

    Returns a function that passes stored values on to the servo, as after power-up.

    Parameters
    ----------
    temperature : callable
        Motor temperature, degrees Celsius.
    """
    readers: dict[Key, Callable[[], Value]] = {
        names.STATUS_WORD.key: lambda: device.status,
        names.MODE_DISPLAY.key: lambda: device.mode,
        (_POSITION_DEMAND, 0): lambda: _integer(servo.demand),
        names.POSITION.key: lambda: _integer(servo.position),
        names.VELOCITY.key: lambda: _integer(servo.velocity),
        names.TORQUE.key: lambda: _integer(servo.torque, 16),
        names.FOLLOWING_ERROR.key: lambda: _integer(servo.following_error),
        names.MOTOR_TEMPERATURE.key: lambda: _integer(10.0 * temperature(), 16),
    }
    numbers = _numbers(servo)
    writers: dict[Key, Callable[[Value], None]] = {
        names.CONTROL_WORD.key: lambda value: device.control(int(value)),
        names.MODE.key: lambda value: device.set_mode(int(value)),
        names.TARGET_POSITION.key: lambda value: servo.command(float(value)),
        **numbers,
    }
    objects.readers.update(readers)
    objects.writers.update(writers)
    for option, accepted in _OPTIONS.items():
        key = option.key
        objects.writers[key] = _only(accepted, objects.writers.get(key))
    for key in (names.CYCLE_TIME.key, names.CYCLE_TIME_INDEX.key):
        objects.writers[key] = _period(objects, servo, key)

    def apply() -> None:
        for key in (*numbers, names.CYCLE_TIME.key):
            if key in objects.entries:
                objects.put(key, objects.values[key])

    return apply


def _numbers(servo: Servo) -> dict[Key, Callable[[Value], None]]:
    """Objects that stand for a number of the servo: key, attribute, conversion."""
    table: list[tuple[names.Object, str, Callable[[Any], float]]] = [
        (names.POSITION_GAIN, 'position_gain', float),
        (names.VELOCITY_GAIN, 'velocity_gain', float),
        (names.TARGET_TORQUE, 'target_torque', float),
        (names.TORQUE_OFFSET, 'torque_offset', float),
        (names.MAX_TORQUE, 'max_torque', float),
        (names.FOLLOWING_ERROR_WINDOW, 'following_window', lambda n: math.inf if n == _NONE else n),
        (names.FOLLOWING_ERROR_TIME, 'following_time', lambda value: value * 1e-3),
    ]

    def setter(name: str, convert: Callable[[Any], float]) -> Callable[[Value], None]:
        return lambda value: setattr(servo, name, convert(value))

    return {entry.key: setter(name, convert) for entry, name, convert in table}


def _only(
    accepted: tuple[int, ...], then: Callable[[Value], None] | None
) -> Callable[[Value], None]:
    """A writer that refuses all but the accepted values."""

    def write(value: Value) -> None:
        if value not in accepted:
            raise AbortError(BAD_VALUE)
        if then:
            then(value)

    return write


def _period(objects: ObjectDictionary, servo: Servo, key: Key) -> Callable[[Value], None]:
    """A writer of one half of 0x60C2, value * 10**index in s."""

    def write(value: Value) -> None:
        halves = {
            names.CYCLE_TIME.key: objects.get(*names.CYCLE_TIME.key, 1),
            names.CYCLE_TIME_INDEX.key: objects.get(*names.CYCLE_TIME_INDEX.key, -3),
        }
        halves[key] = int(value)
        number, exponent = halves.values()
        servo.period = max(number * 10.0**exponent, servo.step)

    return write


def _integer(value: float, bits: int = 32) -> int:
    """The nearest integer that this many bits can hold."""
    number, largest = math.floor(value + 0.5), (1 << bits - 1) - 1
    return number if -largest <= number <= largest else max(min(number, largest), -largest - 1)
