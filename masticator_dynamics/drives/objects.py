# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object dictionary entries and bits of CiA 301 and CiA 402 that this package uses.

Data types are those of the EDS. Objects from 0x2000 are manufacturer-specific; the ones here are
those of the generic EDS, ``config/cia402_servo.eds``.
"""

from __future__ import annotations

import dataclasses
import enum


@dataclasses.dataclass(frozen=True)
class Object:
    """An entry of an object dictionary."""

    index: int
    subindex: int
    name: str

    @property
    def key(self) -> tuple[int, int]:
        """Index and subindex."""
        return self.index, self.subindex

    def __str__(self) -> str:
        """Text for messages: ``0x6072 max torque``, ``0x2001:01 position gain``."""
        place = f'0x{self.index:04X}'
        if self.subindex:
            place += f':{self.subindex:02X}'
        return f'{place} {self.name}'


# CiA 301
DEVICE_TYPE = Object(0x1000, 0, 'device type')
SYNC_PERIOD = Object(0x1006, 0, 'communication cycle period')  # µs
CONSUMER_HEARTBEAT = Object(0x1016, 1, 'consumer heartbeat time')  # node id << 16 | ms
PRODUCER_HEARTBEAT = Object(0x1017, 0, 'producer heartbeat time')  # ms
VENDOR_ID = Object(0x1018, 1, 'vendor id')
PRODUCT_CODE = Object(0x1018, 2, 'product code')

# Parameter and mapping records of PDO k are at these indices + k - 1.
RPDO_PARAMETERS, RPDO_MAPPING = 0x1400, 0x1600
TPDO_PARAMETERS, TPDO_MAPPING = 0x1800, 0x1A00
PDO_INVALID = 1 << 31  # in a COB-ID
EVERY_SYNC = 1  # transmission type

# CiA 402
ERROR_CODE = Object(0x603F, 0, 'error code')
CONTROL_WORD = Object(0x6040, 0, 'control word')
STATUS_WORD = Object(0x6041, 0, 'status word')
QUICK_STOP_OPTION = Object(0x605A, 0, 'quick stop option code')
HALT_OPTION = Object(0x605D, 0, 'halt option code')
FAULT_OPTION = Object(0x605E, 0, 'fault reaction option code')
CONNECTION_LOST_OPTION = Object(0x6007, 0, 'abort connection option code')
MODE = Object(0x6060, 0, 'modes of operation')
MODE_DISPLAY = Object(0x6061, 0, 'modes of operation display')
POSITION = Object(0x6064, 0, 'position actual value')
FOLLOWING_ERROR_WINDOW = Object(0x6065, 0, 'following error window')
FOLLOWING_ERROR_TIME = Object(0x6066, 0, 'following error time out')  # ms
VELOCITY = Object(0x606C, 0, 'velocity actual value')
TARGET_TORQUE = Object(0x6071, 0, 'target torque')  # per mille of rated torque
MAX_TORQUE = Object(0x6072, 0, 'max torque')
RATED_TORQUE = Object(0x6076, 0, 'motor rated torque')  # mN m
TORQUE = Object(0x6077, 0, 'torque actual value')
TARGET_POSITION = Object(0x607A, 0, 'target position')
HOME_OFFSET = Object(0x607C, 0, 'home offset')
MIN_POSITION_LIMIT = Object(0x607D, 1, 'min position limit')
MAX_POSITION_LIMIT = Object(0x607D, 2, 'max position limit')
MAX_MOTOR_SPEED = Object(0x6080, 0, 'max motor speed')
QUICK_STOP_DECELERATION = Object(0x6085, 0, 'quick stop deceleration')  # counts/s²
POLARITY = Object(0x607E, 0, 'polarity')
HOMING_METHOD = Object(0x6098, 0, 'homing method')
ENCODER_INCREMENTS = Object(0x608F, 1, 'encoder increments')  # in this many turns:
ENCODER_TURNS = Object(0x608F, 2, 'motor revolutions')
TORQUE_OFFSET = Object(0x60B2, 0, 'torque offset')
CYCLE_TIME = Object(0x60C2, 1, 'interpolation time period value')
CYCLE_TIME_INDEX = Object(0x60C2, 2, 'interpolation time index')
FOLLOWING_ERROR = Object(0x60F4, 0, 'following error actual value')
SUPPORTED_MODES = Object(0x6502, 0, 'supported drive modes')

# Of the generic EDS
POSITION_GAIN = Object(0x2001, 1, 'position gain')  # REAL32, N m/rad at the joint
VELOCITY_GAIN = Object(0x2001, 2, 'velocity gain')  # REAL32, N m s/rad at the joint
MOTOR_TEMPERATURE = Object(0x2002, 0, 'motor temperature')  # INTEGER16, 0.1 degrees Celsius

# Where a drive's zero is, and what a count and a per mille are: nobody may change these unnoticed.
ZERO_AND_SCALE = (
    HOME_OFFSET, HOMING_METHOD, POLARITY, RATED_TORQUE, ENCODER_INCREMENTS, ENCODER_TURNS,
    MIN_POSITION_LIMIT, MAX_POSITION_LIMIT, MAX_MOTOR_SPEED,
    Object(0x607B, 1, 'min position range limit'), Object(0x607B, 2, 'max position range limit'),
    Object(0x6091, 1, 'gear ratio: motor revolutions'),
    Object(0x6091, 2, 'gear ratio: shaft revolutions'),
    Object(0x6092, 1, 'feed constant: feed'), Object(0x6092, 2, 'feed constant: shaft revolutions'),
    Object(0x6093, 1, 'position factor: numerator'), Object(0x6093, 2, 'position factor: divisor'),
    Object(0x6073, 0, 'max current'), Object(0x6075, 0, 'motor rated current'),
    Object(0x6089, 0, 'position notation index'), Object(0x608A, 0, 'position dimension index'),
    Object(0x60A8, 0, 'SI unit of position'),
)  # fmt: skip


# Lowest COB-IDs; the node id is added.
EMERGENCY_COB, TPDO1_COB, RPDO1_COB, HEARTBEAT_COB = 0x80, 0x180, 0x200, 0x700
SDO_TO_MASTER_COB, SDO_TO_DRIVE_COB = 0x580, 0x600
NMT_COB, SYNC_COB, LSS_COB = 0x000, 0x080, 0x7E5


class Nmt(enum.IntEnum):
    """Commands of network management (CiA 301)."""

    START = 0x01
    STOP = 0x02
    PRE_OPERATIONAL = 0x80
    RESET_NODE = 0x81
    RESET_COMMUNICATION = 0x82


class NmtState(enum.IntEnum):
    """NMT states reported by a heartbeat (CiA 301)."""

    BOOT_UP = 0x00
    STOPPED = 0x04
    OPERATIONAL = 0x05
    PRE_OPERATIONAL = 0x7F


class Control(enum.IntFlag):
    """Bits of the control word, 0x6040."""

    SWITCH_ON = 0x0001
    ENABLE_VOLTAGE = 0x0002
    QUICK_STOP = 0x0004  # 0 requests the stop
    ENABLE_OPERATION = 0x0008
    START_HOMING = 0x0010  # in mode HOMING
    FAULT_RESET = 0x0080  # its rising edge


class StatusBit(enum.IntFlag):
    """Bits of the status word, 0x6041, apart from the state."""

    VOLTAGE_ENABLED = 0x0010
    WARNING = 0x0080
    REMOTE = 0x0200
    TARGET_REACHED = 0x0400
    INTERNAL_LIMIT = 0x0800
    FOLLOWS_COMMAND = 0x1000  # in the cyclic modes
    HOMING_ATTAINED = 0x1000  # in mode HOMING
    FOLLOWING_ERROR = 0x2000  # in cyclic synchronous position
    HOMING_ERROR = 0x2000  # in mode HOMING


class Mode(enum.IntEnum):
    """Modes of operation, 0x6060 and 0x6061; mode m is bit m - 1 of 0x6502."""

    HOMING = 6
    CYCLIC_SYNCHRONOUS_POSITION = 8
    CYCLIC_SYNCHRONOUS_TORQUE = 10


CIA_402_DEVICE = 402  # low 16 bits of the device type
SLOW_DOWN_AND_DISABLE = 2  # 0x605A, 0x605E: on the quick stop ramp, then torque-free
DISABLE_AT_ONCE = 0  # 0x605E
SLOW_DOWN_AND_HOLD = 1  # 0x605D
FAULT_SIGNAL = 1  # 0x6007: loss of the connection is a fault
HOME_IS_HERE = 37  # 0x6098
