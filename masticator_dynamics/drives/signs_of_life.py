# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What drives send of themselves: heartbeats, boot-up and emergency messages.

Error codes of EMCY messages and of 0x603F are those of CiA 301 and CiA 402-2 (IEC 61800-7-201).
"""

from __future__ import annotations

import collections
import time

import canopen
import numpy as np

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.configuration import Drives
from masticator_dynamics.drives.drive_cycle import Emergency
from masticator_dynamics.drives.objects import NmtState
from masticator_dynamics.engine.arrays import FloatArray

_GROUPS = {
    0x00: 'no error', 0x10: 'generic error',
    0x20: 'current', 0x21: 'current, input side', 0x22: 'current inside the drive',
    0x23: 'current, output side',
    0x30: 'voltage', 0x31: 'mains voltage', 0x32: 'voltage inside the drive',
    0x33: 'output voltage',
    0x40: 'temperature', 0x41: 'ambient temperature', 0x42: 'temperature of the device',
    0x43: 'temperature of the drive', 0x44: 'temperature of the supply',
    0x50: 'device hardware', 0x51: 'supply hardware', 0x52: 'control hardware',
    0x53: 'operating unit', 0x54: 'power section', 0x55: 'memory',
    0x60: 'device software', 0x61: 'internal software', 0x62: 'user software', 0x63: 'data set',
    0x70: 'additional modules', 0x71: 'power module', 0x72: 'measurement circuit',
    0x73: 'sensor', 0x74: 'computation circuit', 0x75: 'communication module',
    0x76: 'data storage',
    0x80: 'monitoring', 0x81: 'communication', 0x82: 'protocol error', 0x83: 'torque control',
    0x84: 'velocity controller', 0x85: 'position controller', 0x86: 'positioning controller',
    0x87: 'synchronisation controller', 0x88: 'winding controller',
    0x89: 'process data monitoring', 0x8A: 'control monitoring',
    0x90: 'external error', 0xF0: 'additional functions', 0xFF: 'specific to the device',
}  # fmt: skip
_CODES = {
    0x2110: 'short circuit or earth leakage, input side', 0x2120: 'earth leakage, input side',
    0x2130: 'short circuit, input side',
    0x2213: 'overcurrent in ramp function', 0x2214: 'overcurrent in the sequence',
    0x2220: 'continuous overcurrent inside the drive',
    0x2230: 'short circuit or earth leakage inside the drive',
    0x2240: 'earth leakage inside the drive', 0x2250: 'short circuit inside the drive',
    0x2310: 'continuous overcurrent', 0x2320: 'short circuit or earth leakage, motor side',
    0x2330: 'earth leakage, motor side', 0x2340: 'short circuit, motor side',
    0x2350: 'load level fault (I²t, thermal state)', 0x2351: 'load level warning (I²t)',
    0x3110: 'mains over-voltage', 0x3120: 'mains under-voltage', 0x3130: 'phase failure',
    0x3210: 'DC link over-voltage', 0x3220: 'DC link under-voltage', 0x3230: 'load error',
    0x3310: 'output over-voltage', 0x3320: 'armature circuit',
    0x3321: 'armature circuit interrupted', 0x3330: 'field circuit',
    0x4110: 'excess ambient temperature', 0x4120: 'too low ambient temperature',
    0x4210: 'excess temperature of the device', 0x4220: 'too low temperature of the device',
    0x4310: 'excess temperature of the drive', 0x4320: 'too low temperature of the drive',
    0x5110: 'supply voltage low', 0x5410: 'output stages', 0x5420: 'chopper',
    0x5510: 'RAM', 0x5520: 'program memory', 0x5530: 'non-volatile memory',
    0x6010: 'software reset by the watchdog', 0x6310: 'loss of parameters',
    0x6320: 'parameter error',
    0x7110: 'brake chopper', 0x7120: 'motor', 0x7121: 'motor blocked',
    0x7122: 'motor error or wrong commutation', 0x7123: 'motor tilted',
    0x7301: 'tachometer fault', 0x7302: 'tachometer of wrong polarity',
    0x7303: 'resolver 1 fault', 0x7304: 'resolver 2 fault',
    0x7305: 'incremental sensor 1 fault', 0x7306: 'incremental sensor 2 fault',
    0x7310: 'speed sensor', 0x7320: 'position sensor',
    0x8110: 'CAN overrun, messages lost', 0x8120: 'CAN in error passive mode',
    0x8130: 'life guard or heartbeat error', 0x8140: 'recovered from bus-off',
    0x8150: 'CAN-ID collision',
    0x8210: 'PDO not processed, too short', 0x8220: 'PDO too long',
    0x8230: 'multiplexed PDO for an object that is not there',
    0x8240: 'SYNC of unexpected length', 0x8250: 'PDO timeout',
    0x8311: 'excess torque', 0x8312: 'difficult start-up', 0x8313: 'standstill torque',
    0x8321: 'insufficient torque', 0x8331: 'torque fault',
    0x8611: 'following error', 0x8612: 'reference limit',
    0xF001: 'deceleration', 0xF002: 'sub-synchronous run', 0xF003: 'stroke operation',
    0xF004: 'control',
}  # fmt: skip


def emergency_words(code: int) -> str:
    """Meaning of an error code, as precise as the standards: ``following error (0x8611)``.

    Codes not in the tables are named by their group.
    """
    group = _GROUPS.get(code >> 8) or _GROUPS.get(code >> 8 & 0xF0) or 'unknown error'
    return f'{_CODES.get(code, group)} (0x{code:04X})'


_NMT_STATES = frozenset(NmtState)


class SignsOfLife:
    """The newest of each drive, by its index.

    Parameters
    ----------
    drives : Drives

    Attributes
    ----------
    emergencies : deque of Emergency
        Newest last; the reader removes them.
    heard : array (n,)
        Time of each drive's last heartbeat, s of ``time.monotonic()``; -inf before the first.
    nmt_states : list of int
        The state it reported (`objects.NmtState`); -1 before the first.
    booted : set of int
        Indices of drives that have restarted since they were set up.
    """

    def __init__(self, drives: Drives):
        self._drives = drives.drives
        self.emergencies: collections.deque[Emergency] = collections.deque(maxlen=1000)
        self.heard: FloatArray = np.full(len(self._drives), -np.inf)
        self.nmt_states = [-1] * len(self._drives)
        self.booted: set[int] = set()

    def listen(self, network: canopen.Network) -> None:
        """Begin anew, on a bus."""
        self.heard[:] = -np.inf
        self.emergencies.clear()
        self.booted.clear()
        for index, (name, drive) in enumerate(self._drives.items()):
            # canopen's own listener keeps all messages forever, and raises for short ones.
            network.unsubscribe(objects.EMERGENCY_COB + drive.node_id)
            network.subscribe(objects.EMERGENCY_COB + drive.node_id, self._emergency_listener(name))
            network.subscribe(
                objects.HEARTBEAT_COB + drive.node_id, self._heartbeat_listener(index)
            )

    def _emergency_listener(self, name: str) -> canopen.network.Callback:
        def take(_: int, data: bytearray, __: float) -> None:
            if len(data) < 2:  # too short to say what is wrong
                return
            code, register = int.from_bytes(data[:2], 'little'), (*data, 0)[2]
            self.emergencies.append(Emergency(name, code, register, emergency_words(code)))

        return take

    def _heartbeat_listener(self, index: int) -> canopen.network.Callback:
        def take(_: int, data: bytearray, __: float) -> None:
            state = data[0] & 0x7F if len(data) == 1 else -1
            if state not in _NMT_STATES:  # no heartbeat, and no sign of life
                return
            self.heard[index] = time.monotonic()
            self.nmt_states[index] = state
            if state == NmtState.BOOT_UP:
                self.booted.add(index)

        return take
