# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contents of a drives file (YAML, schema 1) as data types that validate themselves."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pydantic

from masticator_dynamics.drives.modes import MODES, DriveMode
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.yaml_file import (
    Count,
    Finite,
    NotNegative,
    Positive,
    Strict,
    checked,
    read_mapping,
)

Settings = TypeVar('Settings', bound=Strict)


# Lowest and highest value by key, and why the range is no wider.
RANGES: dict[str, list[Any]] = read_mapping(share_directory() / 'config' / 'drive_ranges.yaml')


def out_of_range(settings: Any, keys: str) -> tuple[str, str] | None:
    """The first key (below ``keys``) whose number is not sane, and why; None when all are.

    Parameters
    ----------
    settings : Drives or Drive
        Keys that it does not have are skipped.
    keys : str
        Prefix of the key that is reported.
    """
    for path, (low, high, reason) in RANGES.items():
        value = settings
        for name in path.split('.'):
            value = getattr(value, name, None)
        if value is not None and not low <= value <= high:
            return f'{keys}{path}', f'{value:g} is not from {low:g} to {high:g}: {reason}'
    return None


if TYPE_CHECKING:
    Share = float
    NodeId = int
    Port = int
else:
    Share = pydantic.confloat(gt=0.0, le=1.0, allow_inf_nan=False)
    NodeId = pydantic.conint(ge=1, le=127)
    Port = pydantic.conint(ge=1, le=65535)

_LONGEST_STOP = 0.3  # s; no drive gives torque 0.5 s after a stop began
_LARGEST_TORQUE = 32.767  # of rated torque: the most that 16 bits of per mille can hold
# Bits on the wire of a frame without data and of each byte, interframe space included; the second
# pair includes the most bits that stuffing can add.
_LEAST_FRAME, _LEAST_BYTE = 47, 8
_MOST_FRAME, _MOST_BYTE = 55, 10


class Bus(Strict):
    """How to reach the bus, in python-can's terms."""

    interface: Literal['socketcan', 'virtual', 'udp_multicast'] = 'socketcan'
    channel: str = pydantic.Field('can0', description='device, name, or multicast address')
    port: Port = pydantic.Field(43113, description='of udp_multicast; one for each robot')
    bitrate: Count = pydantic.Field(1_000_000, description='bit/s, for the bus load')


class Heartbeat(Strict):
    """Heartbeats of the drives and of the master; a drive that loses the master's goes to fault."""

    period: Positive = pydantic.Field(0.05, description='s, between two of them')
    timeout: Positive = pydantic.Field(0.15, description='s without one that count as loss')
    master: NodeId = pydantic.Field(126, description='node id of this side')


class MotorFriction(Strict):
    """Friction of motor and gear, at the motor shaft."""

    coulomb: NotNegative = pydantic.Field(0.0, description='N m')
    viscous: NotNegative = pydantic.Field(0.0, description='N m s/rad')

    def times(self, factor: float) -> MotorFriction:
        """So many times the friction."""
        return MotorFriction(coulomb=factor * self.coulomb, viscous=factor * self.viscous)


class Motor(Strict):
    """A motor, from the winding to the joint."""

    rated_torque: Positive = pydantic.Field(description='N m, of the motor; what 0x6076 says')
    rated_torque_unit: Positive = pydantic.Field(
        0.001, description='N m, of one unit of 0x6076; other than 0.001 in some drives'
    )
    peak_torque: Positive = pydantic.Field(description='N m, of the motor; for 0x6072')
    rotor_inertia: NotNegative = pydantic.Field(0.0, description='kg m^2, of the motor')
    gear_ratio: Positive = pydantic.Field(description='turns of the motor per turn of the joint')
    efficiency: Share = pydantic.Field(1.0, description='of the gear, driving and driven')
    friction: MotorFriction = MotorFriction()
    counts_per_turn: Count = pydantic.Field(description='of the encoder, per turn of the motor')
    direction: Literal[1, -1] = pydantic.Field(
        1, description='-1: the motor turns against the positive sense of the joint'
    )
    zero: Finite = pydantic.Field(0.0, description='rad, joint position at count 0')
    absolute: bool = pydantic.Field(
        False,
        description='encoder keeps its position without power; false: home is needed after every '
        'start of the drive',
    )


class Gains(Strict):
    """Gains of the drive's own position loop, at the joint; written to it at startup."""

    position: NotNegative = pydantic.Field(description='N m/rad')
    velocity: NotNegative = pydantic.Field(description='N m s/rad')


class DriveLimits(Strict):
    """Limits on what a drive is sent; the mechanism's position and effort ranges apply, too."""

    position_margin: NotNegative = pydantic.Field(0.02, description='rad, inside the joint range')
    velocity: Positive = pydantic.Field(description='rad/s, of the joint')
    effort: Positive = pydantic.Field(description='N m, at the joint')
    effort_rate: Positive = pydantic.Field(description='N m/s, at the joint')
    following_error: Positive = pydantic.Field(description='rad, of the joint')
    acceleration: Positive = pydantic.Field(
        2000.0, description='rad/s², of the joint: change of the step from setpoint to setpoint'
    )
    deceleration: Positive = pydantic.Field(300.0, description='rad/s², of the joint, quick stop')
    temperature: Finite = pydantic.Field(80.0, description='degrees Celsius')


class Drive(Strict):
    """One servo drive, its motor and its limits."""

    node_id: NodeId
    eds: str = pydantic.Field('cia402_servo.eds', description='beside the drives file, or shipped')
    motor: Motor
    measured_torque: Literal['instant', 'mean'] = pydantic.Field(
        'instant',
        description='what 0x6077 tells: the torque at SYNC, or its mean since the SYNC before',
    )
    gains: Gains | None = pydantic.Field(None, description='null: the drive keeps its own')
    limits: DriveLimits


if TYPE_CHECKING:
    ModeName = str
else:
    ModeName = Literal[tuple(MODES)]


class Drives(Strict):
    """All drives of a robot."""

    schema_: Literal[1] = pydantic.Field(alias='schema')
    bus: Bus = Bus()
    cycle_rate: Positive = pydantic.Field(500.0, description='Hz, of SYNC')
    mode: ModeName = pydantic.Field(
        next(iter(MODES)), description='; '.join(f'{m.name}: {m.meaning}' for m in MODES.values())
    )
    heartbeat: Heartbeat = Heartbeat()
    command_timeout: Positive = pydantic.Field(
        0.1, description='s without a command after which all drives stop quickly'
    )
    command_lead: NotNegative | None = pydantic.Field(
        None,
        description='s by which positions are led with their velocity: the way to the drive; '
        'null: two cycles',
    )
    effort_lead: NotNegative | None = pydantic.Field(
        None,
        description='s by which efforts are led with their rate, to the middle of the cycle in '
        'which drives give them; 0: they are sent as they come; null: a cycle and a half in mode '
        'position, 0 in mode effort',
    )
    velocity_filter: NotNegative = pydantic.Field(
        0.005, description='s, time constant of the filter on measured velocity'
    )
    closure_tolerance: Positive = pydantic.Field(
        0.001, description='m that loops may be open by when the drives are enabled'
    )
    command_closure: Positive = pydantic.Field(
        0.01,
        description='rad (or m) of each joint that commanded positions may leave when the closed '
        'mechanism fits them best; times the position gain that is the torque with which drives '
        'pull against one another',
    )
    drives: dict[str, Drive] = pydantic.Field(description='by actuated joint')

    @property
    def sends(self) -> DriveMode:
        """What is sent in every cycle, by the mode."""
        return MODES[self.mode]

    @property
    def lead(self) -> float:
        """Time from a SYNC until the setpoint sent after it is reached, s; see ``command_lead``."""
        return 2.0 / self.cycle_rate if self.command_lead is None else self.command_lead

    @property
    def lead_of_effort(self) -> float:
        """Time from a SYNC to the middle of the cycle that applies an effort sent after it, s.

        0 where efforts are not led; see ``effort_lead``. Efforts without positions may come from a
        controller, whose loop a lead would change.
        """
        if self.effort_lead is not None:
            return self.effort_lead
        return 1.5 / self.cycle_rate if self.sends.positions else 0.0


def changed(settings: Settings, /, **fields: Any) -> Settings:
    """The same settings with some fields changed, validated again.

    Raises
    ------
    pydantic.ValidationError
        For invalid fields.
    """
    values = dict(settings) | fields
    if 'schema_' in values:
        values['schema'] = values.pop('schema_')
    return type(settings)(**values)


def bus_load(drives: Drives) -> tuple[float, float]:
    """Least and greatest share of the bit rate that cyclic frames take, due to bit stuffing."""

    def bits(frame: int, byte: int) -> int:
        one_drive = 2 * frame + (8 + drives.sends.size) * byte
        return frame + len(drives.drives) * one_drive

    per_bit = drives.cycle_rate / drives.bus.bitrate
    return bits(_LEAST_FRAME, _LEAST_BYTE) * per_bit, bits(_MOST_FRAME, _MOST_BYTE) * per_bit


def load_drives(path: str | pathlib.Path) -> Drives:
    """Read and check a drives file.

    Parameters
    ----------
    path : str or pathlib.Path
        A file, or the name of one shipped in ``config/`` (``drives.yaml``).

    Raises
    ------
    DescriptionError
        Naming file, key and reason.
    """
    drives = checked(Drives, read_mapping(find_file(path)), path)
    _check(path, drives)
    return drives


def find_file(path: str | pathlib.Path, beside: pathlib.Path | None = None) -> pathlib.Path:
    """Find a file as given, next to another, or among those shipped; else return it as given."""
    named_file = pathlib.Path(path)
    shipped = share_directory() / 'config' / named_file
    candidates = [named_file, *([beside.parent / named_file] if beside else []), shipped]
    return next((file for file in candidates if os.path.isfile(file)), named_file)  # of any name


def _check(path: str | pathlib.Path, drives: Drives) -> None:
    """Check what no single field can."""

    def refuse(key: str, reason: str) -> None:
        raise DescriptionError(path, key, reason)

    if not drives.drives:
        refuse('drives', 'is empty')
    for settings, prefix in (
        (drives, ''),
        *((drive, f'drives.{name}.') for name, drive in drives.drives.items()),
    ):
        insane = out_of_range(settings, prefix)
        if insane:
            refuse(*insane)
    heartbeat = drives.heartbeat
    if not heartbeat.period < heartbeat.timeout:
        refuse(
            'heartbeat.timeout',
            f'{heartbeat.timeout:g} s is not longer than the period of {heartbeat.period:g} s',
        )
    if heartbeat.period < 1.0 / drives.cycle_rate:
        refuse('heartbeat.period', f'{heartbeat.period:g} s is shorter than a cycle')
    load, _ = bus_load(drives)
    if load > 1.0:
        refuse(
            'cycle_rate',
            f'{drives.cycle_rate:g} Hz would fill at least {100.0 * load:.0f} % of the '
            f"bus's {drives.bus.bitrate} bit/s",
        )
    owner = {heartbeat.master: 'heartbeat.master'}
    for name, drive in drives.drives.items():
        key = f'drives.{name}'
        if drive.node_id in owner:
            refuse(f'{key}.node_id', f'{drive.node_id} is also that of {owner[drive.node_id]}')
        owner[drive.node_id] = name
        _check_torques(drive, key, refuse)
        _check_stop(drive, key, refuse)


def _check_torques(drive: Drive, key: str, refuse: Callable[[str, str], None]) -> None:
    motor, limits = drive.motor, drive.limits
    if not motor.rated_torque <= motor.peak_torque <= _LARGEST_TORQUE * motor.rated_torque:
        refuse(
            f'{key}.motor.peak_torque',
            f'{motor.peak_torque:g} N m is not within 1 and {_LARGEST_TORQUE:g} times '
            f'rated_torque {motor.rated_torque:g} N m',
        )
    largest = motor.peak_torque * motor.gear_ratio * motor.efficiency
    if limits.effort > largest:
        refuse(
            f'{key}.limits.effort',
            f"{limits.effort:g} N m is beyond the drive's {largest:g} N m "
            '(peak_torque * gear_ratio * efficiency)',
        )


def _check_stop(drive: Drive, key: str, refuse: Callable[[str, str], None]) -> None:
    velocity, deceleration = drive.limits.velocity, drive.limits.deceleration
    if velocity > _LONGEST_STOP * deceleration:
        refuse(
            f'{key}.limits.deceleration',
            f'{deceleration:g} rad/s^2 takes {velocity / deceleration:.3g} s from {velocity:g} '
            f'rad/s; a quick stop may take {_LONGEST_STOP:g} s',
        )
