# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The CiA 402 side of a simulated drive: state machine, modes, errors, and heartbeats (CiA 301)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from masticator_dynamics.drives import objects as names
from masticator_dynamics.drives.objects import (
    CONSUMER_HEARTBEAT,
    PRODUCER_HEARTBEAT,
    Mode,
    Object,
    StatusBit,
)
from masticator_dynamics.drives.objects import Control as Bit
from masticator_dynamics.drives.simulator.servo import Servo, ServoTask
from masticator_dynamics.drives.simulator.simulated_dictionary import ObjectDictionary, Value
from masticator_dynamics.drives.state_machine import State

_GENERIC = 0x01
# Bits of the error register, by the first digits of a code.
_REGISTER = {0x2: 0x02, 0x3: 0x04, 0x4: 0x08, 0x81: 0x10, 0x82: 0x10, 0x8: 0x20, 0xFF: 0x80}


class ErrorLog:
    """Present errors.

    Parameters
    ----------
    send : callable
        Takes the eight bytes of an EMCY message.
    """

    def __init__(self, objects: ObjectDictionary, send: Callable[[bytes], None]):
        self._send = send
        self._present: dict[int, None] = {}
        objects.readers[0x1001, 0] = lambda: self.register
        objects.readers[names.ERROR_CODE.key] = lambda: self.code

    @property
    def register(self) -> int:
        """Error register, 0x1001."""
        register = 0
        for code in self._present:
            register |= _GENERIC | _REGISTER.get(code >> 8, _REGISTER.get(code >> 12, 0))
        return register

    @property
    def code(self) -> int:
        """The newest present error; 0: none."""
        return next(reversed(self._present), 0)

    def __contains__(self, code: int) -> bool:
        """Whether an error is present."""
        return code in self._present

    def signal(self, code: int) -> None:
        """Report an error, only once while it is present."""
        if code in self._present:
            return
        self._present[code] = None
        self._send(struct.pack('<HB5x', code, self.register))

    def repeat(self, code: int) -> None:
        """Send an error again that could not be heard."""
        if code in self._present:
            self._send(struct.pack('<HB5x', code, self.register))

    def end(self, *codes: int) -> None:
        """Report that errors are over; all of them if no codes are given."""
        gone = codes or tuple(self._present)
        if not any(code in self._present for code in gone):
            return
        for code in gone:
            self._present.pop(code, None)
        self._send(struct.pack('<HB5x', 0, self.register))

    def forget(self) -> None:
        """Power up: no errors."""
        self._present.clear()


_CONSUMER, _PRODUCER = CONSUMER_HEARTBEAT.key, PRODUCER_HEARTBEAT.key


class Heartbeats:
    """Produces by 0x1017; consumes one node's by 0x1016:01, starting with its first.

    Parameters
    ----------
    send : callable
        Sends a heartbeat.
    lost, found : callable
        Called when that heartbeat is lost, and when it is back.
    changed : callable
        Called when the node listened to has changed, or when a heartbeat is due.
    clock : callable
        The simulated time, s.

    Attributes
    ----------
    node : int
        Node that is listened to; 0: none.
    silent : bool
        Nothing is sent (an injected fault).
    """

    def __init__(
        self,
        objects: ObjectDictionary,
        send: Callable[[], None],
        lost: Callable[[], None],
        found_again: Callable[[], None],
        changed: Callable[[], None],
        clock: Callable[[], float],
    ):
        self._objects, self._send, self._changed = objects, send, changed
        self._lost, self._found = lost, found_again
        self.silent = False
        self._clock, self._next, self._is_lost = clock, 0.0, False
        objects.writers[_PRODUCER] = self._set_period
        objects.writers[_CONSUMER] = self._set_consumer
        self.restart()

    def restart(self) -> None:
        """Take the stored settings; no node has been heard."""
        self._set_period(self._objects.get(*_PRODUCER))
        self._listen(self._objects.get(*_CONSUMER))

    def hear(self) -> None:
        """Take a heartbeat."""
        if self._is_lost:
            self._found()
        self._heard, self._is_lost = self._clock(), False

    def step(self, time: float) -> float:
        """Send and check what is due; returns when something is due next, s."""
        if self._period and time >= self._next:
            self._next = max(self._next + self._period, time)
            if not self.silent:
                self._send()
        if time - self._heard > self._limit:
            self._heard, self._is_lost = math.inf, True
            self._lost()
        return min(self._next if self._period else math.inf, self._heard + self._limit)

    def _set_period(self, value: Value) -> None:
        self._period = float(value) * 1e-3
        self._next = self._clock()
        self._changed()

    def _listen(self, value: int) -> None:
        """Listen to a node from its next heartbeat on: node id << 16 | ms."""
        node, milliseconds = value >> 16 & 0x7F, value & 0xFFFF
        self.node = node if milliseconds else 0
        self._limit, self._heard, self._is_lost = milliseconds * 1e-3, math.inf, False

    def _set_consumer(self, value: Value) -> None:
        self._listen(int(value))
        self._changed()


# The command in a control word is that of the first bit that is missing.
_WITHOUT = {
    Bit.ENABLE_VOLTAGE: 'disable voltage',
    Bit.QUICK_STOP: 'quick stop',
    Bit.SWITCH_ON: 'shutdown',
    Bit.ENABLE_OPERATION: 'switch on',
}
# Where each command leads, by the standard's figure; others have no effect.
LEADS_TO = {
    State.SWITCH_ON_DISABLED: {'shutdown': State.READY_TO_SWITCH_ON},
    State.READY_TO_SWITCH_ON: {
        'switch on': State.SWITCHED_ON,
        'enable operation': State.SWITCHED_ON,  # and on from there
        'quick stop': State.SWITCH_ON_DISABLED,
        'disable voltage': State.SWITCH_ON_DISABLED,
    },
    State.SWITCHED_ON: {
        'enable operation': State.OPERATION_ENABLED,
        'shutdown': State.READY_TO_SWITCH_ON,
        'quick stop': State.SWITCH_ON_DISABLED,
        'disable voltage': State.SWITCH_ON_DISABLED,
    },
    State.OPERATION_ENABLED: {
        'switch on': State.SWITCHED_ON,
        'shutdown': State.READY_TO_SWITCH_ON,
        'disable voltage': State.SWITCH_ON_DISABLED,
        'quick stop': State.QUICK_STOP_ACTIVE,
    },
    State.QUICK_STOP_ACTIVE: {
        'disable voltage': State.SWITCH_ON_DISABLED,
        'enable operation': State.OPERATION_ENABLED,  # if it holds, by 0x605A
    },
}


FOLLOWING_ERROR, TOO_HOT = 0x8611, 0x4310
HOLD = 6  # 0x605A: slow down, and hold until enabled again
_WARNING = 10.0  # K below the limit
# Current, voltage, hardware, sensors: faults with which a drive cannot slow down.
_SEVERE = (0x2, 0x3, 0x5, 0x7)


# Bits of the status word, as integers.
_ALWAYS = int(StatusBit.VOLTAGE_ENABLED | StatusBit.REMOTE)
_HOT, _INTERNAL_LIMIT = int(StatusBit.WARNING), int(StatusBit.INTERNAL_LIMIT)
_TARGET_REACHED, _FOLLOWS = int(StatusBit.TARGET_REACHED), int(StatusBit.FOLLOWS_COMMAND)
_HOMING_ATTAINED, _HOMING_ERROR = int(StatusBit.HOMING_ATTAINED), int(StatusBit.HOMING_ERROR)
_FOLLOWING_FAILS = int(StatusBit.FOLLOWING_ERROR)
_FOLLOWING = (ServoTask.POSITION, ServoTask.TORQUE)
_CONTROLS = {
    Mode.CYCLIC_SYNCHRONOUS_POSITION: ServoTask.POSITION,
    Mode.CYCLIC_SYNCHRONOUS_TORQUE: ServoTask.TORQUE,
}


class Device:
    """State machine of a drive and the option codes that affect it.

    A quick stop slows down; a drive with option 2 is then torque-free, one with 6 holds.

    Parameters
    ----------
    temperature : callable
        Motor temperature, degrees Celsius.
    temperature_limit : float
        Degrees Celsius.

    Attributes
    ----------
    state : State
    homed : bool or None
        Result of homing; None: not started in this mode.
    watches : bool
        False: communication errors have no effect (an injected fault).
    """

    def __init__(
        self,
        objects: ObjectDictionary,
        servo: Servo,
        errors: ErrorLog,
        temperature: Callable[[], float],
        temperature_limit: float,
    ):
        self._objects, self._servo, self._errors = objects, servo, errors
        self._temperature, self._limit = temperature, temperature_limit
        self.watches = True
        self.state = State.SWITCH_ON_DISABLED
        self.restart()

    def restart(self) -> None:
        """Power up."""
        self._word, self._option = 0, 0
        self._seen_in: State | None = None
        self._after: State | None = None  # entered at standstill
        self.mode = 0
        self.homed: bool | None = None
        self._go(State.SWITCH_ON_DISABLED)

    def control(self, word: int) -> None:
        """Take a control word, 0x6040."""
        if word == self._word and self.state is self._seen_in:
            return  # already handled, and nothing has changed since
        rising, self._word = word & ~self._word, word
        self._take(word, rising)
        self._seen_in = self.state

    def _take(self, word: int, rising: int) -> None:
        if self.state is State.FAULT:
            if rising & Bit.FAULT_RESET:
                self._acknowledge()
            return
        if self.state is State.FAULT_REACTION_ACTIVE:
            return
        if self.mode == Mode.HOMING and rising & Bit.START_HOMING:
            self._home()
        self._command(word)

    def set_mode(self, mode: int) -> None:
        """Take a mode of operation, 0x6060."""
        if mode != self.mode:
            self.mode, self.homed = mode, None
            self._operate()

    def step(self) -> None:
        """Check after a step of the servo."""
        servo = self._servo
        if self._temperature() > self._limit:
            self.fault(TOO_HOT)
        if servo.control is ServoTask.OFF:
            return
        if servo.following_failed:
            self.fault(FOLLOWING_ERROR)
        elif servo.stopped and self._after:
            self._go(self._after)

    def fault(self, code: int) -> None:
        """Go to fault, via the fault reaction, 0x605E."""
        self._errors.signal(code)
        if self.state in (State.FAULT, State.FAULT_REACTION_ACTIVE):
            return
        option = self._code(names.FAULT_OPTION, 2)
        self.state = State.FAULT_REACTION_ACTIVE
        if self._servo.control is ServoTask.OFF or option == 0 or code >> 12 in _SEVERE:
            self._go(State.FAULT)
        else:
            self._slow_down(State.FAULT)

    def lose_connection(self, code: int) -> None:
        """React to a communication error as 0x6007 says."""
        if not self.watches:
            return
        if self._code(names.CONNECTION_LOST_OPTION, 1):
            self.fault(code)
        else:
            self._errors.signal(code)

    def regain_connection(self, code: int) -> None:
        """End a communication error; one that led to a fault stays until it is reset."""
        if self.state not in (State.FAULT, State.FAULT_REACTION_ACTIVE):
            self._errors.end(code)

    @property
    def status(self) -> int:
        """Status word, 0x6041."""
        servo, word = self._servo, self.state.bits | _ALWAYS
        if self._temperature() > self._limit - _WARNING:
            word |= _HOT
        if servo.control is not ServoTask.OFF and servo.limited:
            word |= _INTERNAL_LIMIT
        if self.mode == Mode.HOMING:
            word |= _TARGET_REACHED
            if self.homed is not None:
                word |= _HOMING_ATTAINED if self.homed else _HOMING_ERROR
        elif servo.stopped:
            word |= _TARGET_REACHED
        elif servo.control in _FOLLOWING:
            word |= _FOLLOWS
            if servo.following_failing:
                word |= _FOLLOWING_FAILS
        return word

    def _code(self, option: Object, otherwise: int) -> int:
        return self._objects.get(option.index, option.subindex, otherwise)

    def _command(self, word: int) -> None:
        missing = (command for bit, command in _WITHOUT.items() if not word & bit)
        command, before = next(missing, 'enable operation'), self.state
        after = LEADS_TO.get(before, {}).get(command)
        again = before is State.QUICK_STOP_ACTIVE and after is State.OPERATION_ENABLED
        if after is None or (again and self._option != HOLD):
            return
        self._go(after)
        if after is State.SWITCHED_ON and command == 'enable operation':
            self._go(State.OPERATION_ENABLED)

    def _go(self, state: State) -> None:
        """Enter a state."""
        self._after, self.state = None, state
        if state is State.QUICK_STOP_ACTIVE:
            self._option = self._code(names.QUICK_STOP_OPTION, names.SLOW_DOWN_AND_DISABLE)
            self._slow_down(None if self._option == HOLD else State.SWITCH_ON_DISABLED)
        elif state is State.OPERATION_ENABLED:
            self._operate()
        else:
            self._servo.control = ServoTask.OFF

    def _operate(self) -> None:
        """Do what operation enabled means in this mode."""
        if self.state is not State.OPERATION_ENABLED:
            return
        control = _CONTROLS.get(Mode(self.mode)) if self.mode else None
        if control is None:
            self._slow_down(None)
        else:
            self._servo.control = control

    def _slow_down(self, after: State | None) -> None:
        self._after = after
        self._servo.deceleration = float(self._code(names.QUICK_STOP_DECELERATION, 1_000_000))
        self._servo.control = ServoTask.STOP

    def _acknowledge(self) -> None:
        if self._temperature() > self._limit:
            return
        self._errors.end()
        self._go(State.SWITCH_ON_DISABLED)

    def _home(self) -> None:
        """Home by method 35 or 37: home is the present position. The power stage may be off."""
        self.homed = self._code(names.HOMING_METHOD, 0) in (35, 37)
        if self.homed:
            self._servo.reference(self._code(names.HOME_OFFSET, 0))
