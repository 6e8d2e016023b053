# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a drive must have and is given at startup, before it may exchange PDOs.

Its EDS must describe the objects that are needed; they are checked in the drive, and written.
"""

from __future__ import annotations

import configparser
import io
import logging
import pathlib
import struct
import time

import canopen
import numpy as np
from canopen.objectdictionary import ODVariable, datatypes
from canopen.objectdictionary.eds import import_eds

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.configuration import Drive, Drives, find_file
from masticator_dynamics.drives.modes import MODES
from masticator_dynamics.drives.objects import Mode, Object
from masticator_dynamics.drives.sdo import SdoChannel
from masticator_dynamics.errors import DescriptionError, DriveError
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_bytes

# Objects in PDOs from the drive and their types.
FROM_DRIVE = {
    objects.STATUS_WORD: datatypes.UNSIGNED16,
    objects.POSITION: datatypes.INTEGER32,
    objects.TORQUE: datatypes.INTEGER16,
}
_NEEDED = (
    objects.DEVICE_TYPE, objects.CONSUMER_HEARTBEAT, objects.PRODUCER_HEARTBEAT,
    objects.CONNECTION_LOST_OPTION, objects.QUICK_STOP_OPTION, objects.MODE, objects.MODE_DISPLAY,
    objects.MAX_TORQUE, objects.RATED_TORQUE, objects.SUPPORTED_MODES,
)  # fmt: skip
_SUBINDICES = 254
# It warns of every object whose type it does not know; those that matter are checked here.
logging.getLogger('canopen.objectdictionary.eds').setLevel(logging.ERROR)
_GAINS = {
    objects.POSITION_GAIN: datatypes.REAL32,
    objects.VELOCITY_GAIN: datatypes.REAL32,
}


def load_dictionary(
    name: str, drive: Drive, mode: str, file: str | pathlib.Path
) -> canopen.ObjectDictionary:
    """Read the EDS of a drive, and check that it has what is needed.

    Parameters
    ----------
    mode : str
        As in the drives file.
    file : str or pathlib.Path
        The drives file; the EDS may be next to it.

    Raises
    ------
    DescriptionError
        As `read_eds`, or the EDS lacks an object that is needed.
    """
    dictionary, path = read_eds(name, drive, file)
    needed: dict[Object, int | None] = dict.fromkeys(_NEEDED)
    mapped = FROM_DRIVE | MODES[mode].entries
    for entry, data_type in (needed | mapped | (_GAINS if drive.gains else {})).items():
        fault = _fault(dictionary, entry, data_type, entry in mapped)
        if fault:
            raise DescriptionError(file, f'drives.{name}.eds', f'{path}: {entry} {fault}')
    return dictionary


def read_eds(
    name: str, drive: Drive, file: str | pathlib.Path
) -> tuple[canopen.ObjectDictionary, pathlib.Path]:
    """Read the EDS of a drive; return where it is, too. Parameters as for `load_dictionary`.

    Raises
    ------
    DescriptionError
        The EDS is missing or invalid.
    """
    key = f'drives.{name}.eds'
    path = find_file(drive.eds, pathlib.Path(file))
    if not path.is_file():
        raise DescriptionError(file, key, f'there is no file {drive.eds}')
    try:
        content = io.BytesIO(read_bytes(path, LARGEST_DESCRIPTION))
        text = io.TextIOWrapper(content, encoding='latin-1')  # of CiA 306
        _check_size(text)
        text.seek(0)
        return import_eds(text, drive.node_id), path
    except Exception as error:  # canopen's parser raises many types
        reason = ' '.join(str(error).split()) or type(error).__name__
        raise DescriptionError(file, key, f'{path} is no EDS: {reason}') from error


def _check_size(eds: io.TextIOBase) -> None:
    """Refuse more entries than there are subindices: canopen would count to any number.

    Raises
    ------
    ValueError
        Naming the number, or the section.
    """
    parser = configparser.RawConfigParser(inline_comment_prefixes=(';',))  # as canopen reads it
    parser.read_file(eds)
    for name, section in parser.items():
        subindex = name.casefold().partition('sub')[2]
        if len(subindex) > 2:
            raise ValueError(f'[{name}]: a subindex has two digits')
        number = section.get('NrOfEntries', '0')
        if int(number) > _SUBINDICES:
            raise ValueError(f'NrOfEntries is {number}, above {_SUBINDICES}')


def _fault(
    dictionary: canopen.ObjectDictionary, entry: Object, data_type: int | None, mapped: bool
) -> str:
    variable = dictionary.get_variable(entry.index, entry.subindex)
    if variable is None:
        return 'is missing'
    if data_type is not None and variable.data_type != data_type:
        return f'has data type 0x{variable.data_type:04X}, needed is 0x{data_type:04X}'
    if mapped and not variable.pdo_mappable:
        return 'cannot be mapped into a PDO'
    return ''


def tells_temperature(dictionary: canopen.ObjectDictionary) -> bool:
    """Whether the manufacturer-specific object 0x2002 is what it is in the generic EDS."""
    variable = dictionary.get_variable(
        objects.MOTOR_TEMPERATURE.index, objects.MOTOR_TEMPERATURE.subindex
    )
    return (
        variable is not None
        and variable.data_type == datatypes.INTEGER16
        and 'temperature' in variable.name.lower()
    )


def pdo_layout(entries: dict[Object, int]) -> struct.Struct:
    """Layout of a PDO into which these objects are mapped."""
    formats = (ODVariable.STRUCT_TYPES[data_type].format for data_type in entries.values())
    return struct.Struct('<' + ''.join(code.lstrip('<') for code in formats))


_MODE_CHANGE = 2.0  # s


def check_identity(channel: SdoChannel, vendor: int, product: int, mode: str) -> None:
    """Check that a drive matches its EDS (0: any), is of CiA 402, and supports the mode.

    Parameters
    ----------
    channel : SdoChannel
        To the drive.
    vendor, product : int
        From its EDS.
    mode : str
        Mode of operation, a key of ``MODES``.

    Raises
    ------
    DriveError
    """
    profile = int(channel.read(objects.DEVICE_TYPE)) & 0xFFFF
    if profile != objects.CIA_402_DEVICE:
        raise DriveError(channel.title, f'is no CiA 402 drive but a device of CiA {profile}')
    for entry, expected in ((objects.VENDOR_ID, vendor), (objects.PRODUCT_CODE, product)):
        if vendor and expected and channel.has(entry) and channel.read(entry) != expected:
            value = int(channel.read(entry))
            raise DriveError(
                channel.title, f'{entry} is 0x{value:08X}, its EDS is for 0x{expected:08X}'
            )
    needed = MODES[mode].code
    if not int(channel.read(objects.SUPPORTED_MODES)) >> (needed - 1) & 1:
        words = needed.name.lower().replace('_', ' ')
        raise DriveError(channel.title, f'does not support {words} (mode {needed:d})')


def set_up(channel: SdoChannel, drive: Drive, drives: Drives) -> None:
    """Make a drive torque-free and write all of its settings.

    Parameters
    ----------
    channel : SdoChannel
        To the drive.
    drive : Drive
        Its entry in the drives file.
    drives : Drives
        Settings for all drives.

    Raises
    ------
    DriveError
        The drive's rated torque or encoder differs, or it refuses or alters what is written.
    """
    channel.command(objects.CONTROL_WORD, 0)
    channel.keep_zero_and_scale()
    _check_rated_torque(channel, drive)
    _check_encoder(channel, drive)
    watch(channel, drives, True)
    channel.write(objects.PRODUCER_HEARTBEAT, round(1000.0 * drives.heartbeat.period))
    _set_reactions(channel, drive)
    channel.write(objects.MAX_TORQUE, largest_per_mille(drive))
    if drive.gains is not None:
        channel.write(objects.POSITION_GAIN, drive.gains.position)
        channel.write(objects.VELOCITY_GAIN, drive.gains.velocity)
    _set_cycle_time(channel, drives.cycle_rate)
    _set_pdos(channel, drive.node_id, drives.mode)
    set_mode(channel, drives.sends.code)


def watch(channel: SdoChannel, drives: Drives, on: bool) -> None:
    """Make a drive monitor the master's heartbeat and SYNC, or not (raises `DriveError`).

    Monitoring begins with the first of each that the drive receives.

    Parameters
    ----------
    channel : SdoChannel
        To the drive.
    drives : Drives
        Gives the periods.
    on : bool
        Whether to monitor.
    """
    heartbeat = drives.heartbeat
    limit = heartbeat.master << 16 | round(1000.0 * heartbeat.timeout)
    channel.write(objects.CONSUMER_HEARTBEAT, limit if on else 0)
    channel.write_where_present(objects.SYNC_PERIOD, round(1e6 / drives.cycle_rate) if on else 0)


def set_mode(channel: SdoChannel, mode: Mode) -> None:
    """Change the mode of operation and wait until the drive is in it (raises `DriveError`)."""
    channel.expected.pop(objects.MODE_DISPLAY, None)
    channel.command(objects.MODE, mode)
    end = time.monotonic() + _MODE_CHANGE
    while channel.read(objects.MODE_DISPLAY) != mode:
        if time.monotonic() > end:
            display = int(channel.read(objects.MODE_DISPLAY))
            raise DriveError(
                channel.title, f'{objects.MODE_DISPLAY} stays {display}, asked for was {mode:d}'
            )
    channel.expect(objects.MODE_DISPLAY, mode)


def largest_per_mille(drive: Drive) -> int:
    """Peak torque in per mille of rated torque: 0x6072, and the largest that is sent."""
    return int(1000.0 * drive.motor.peak_torque / drive.motor.rated_torque + 1e-9)


def cycle_time(rate: float) -> tuple[int, int] | None:
    """0x60C2 for a rate in Hz: (value, index), a period of value * 10**index s; None: none fits."""
    for index in range(-3, -7, -1):
        value = round(10.0**-index / rate)
        if 1 <= value <= 255 and abs(value * 10.0**index * rate - 1.0) < 1e-3:
            return value, index
    return None


def _check_rated_torque(channel: SdoChannel, drive: Drive) -> None:
    motor = drive.motor
    rated_torque = channel.read(objects.RATED_TORQUE) * motor.rated_torque_unit
    # Rounding in the drive leaves an error of up to half a unit.
    if abs(rated_torque - motor.rated_torque) > 0.501 * motor.rated_torque_unit:
        raise DriveError(
            channel.title,
            f'{objects.RATED_TORQUE} is {rated_torque:g} N m, the drives file says '
            f'{motor.rated_torque:g} N m',
        )


def _check_encoder(channel: SdoChannel, drive: Drive) -> None:
    if not (channel.has(objects.ENCODER_INCREMENTS) and channel.has(objects.ENCODER_TURNS)):
        return
    increments, turns = (
        int(channel.read(entry)) for entry in (objects.ENCODER_INCREMENTS, objects.ENCODER_TURNS)
    )
    if increments != drive.motor.counts_per_turn * turns:
        raise DriveError(
            channel.title,
            f'{objects.ENCODER_INCREMENTS} are {increments} in {turns} turns, the drives file '
            f'says {drive.motor.counts_per_turn} per turn',
        )


def _set_reactions(channel: SdoChannel, drive: Drive) -> None:
    counts = drive.motor.counts_per_turn * drive.motor.gear_ratio / (2.0 * np.pi)
    channel.write(objects.QUICK_STOP_OPTION, objects.SLOW_DOWN_AND_DISABLE)
    channel.write_where_present(objects.HALT_OPTION, objects.SLOW_DOWN_AND_HOLD)
    channel.write_where_present(objects.FAULT_OPTION, objects.DISABLE_AT_ONCE)
    channel.write(objects.CONNECTION_LOST_OPTION, objects.FAULT_SIGNAL)
    deceleration = round(drive.limits.deceleration * counts)
    channel.write_where_present(objects.QUICK_STOP_DECELERATION, deceleration)
    window = round(drive.limits.following_error * counts)
    channel.write_where_present(objects.FOLLOWING_ERROR_WINDOW, window)


def _set_cycle_time(channel: SdoChannel, rate: float) -> None:
    if not channel.has(objects.CYCLE_TIME):
        return
    time_and_index = cycle_time(rate)
    if time_and_index is None:
        raise DriveError(channel.title, f'{objects.CYCLE_TIME} cannot express {rate:g} Hz')
    channel.write(objects.CYCLE_TIME, time_and_index[0])
    channel.write(objects.CYCLE_TIME_INDEX, time_and_index[1])


def _set_pdos(channel: SdoChannel, node_id: int, mode: str) -> None:
    """One PDO each way with every SYNC, and no others: there is no room for more."""
    for number in range(2, 5):
        for parameters, lowest in (
            (objects.RPDO_PARAMETERS, 0x200),
            (objects.TPDO_PARAMETERS, 0x180),
        ):
            cob = _record(parameters + number - 1, 1, 'COB-ID')
            if channel.has(cob):
                unused = lowest + 0x100 * (number - 1) + node_id
                channel.write(cob, objects.PDO_INVALID | unused)
    for parameters, mapping, lowest, entries in (
        (objects.TPDO_PARAMETERS, objects.TPDO_MAPPING, objects.TPDO1_COB, FROM_DRIVE),
        (objects.RPDO_PARAMETERS, objects.RPDO_MAPPING, objects.RPDO1_COB, MODES[mode].entries),
    ):
        _map_pdo(channel, parameters, mapping, lowest + node_id, entries)


def _map_pdo(
    channel: SdoChannel, parameters: int, mapping: int, cob: int, entries: dict[Object, int]
) -> None:
    """Map a PDO in the order that CiA 301 prescribes: invalid, empty, entries, number, valid."""
    cob_id, transmission = _record(parameters, 1, 'COB-ID'), _record(parameters, 2, 'type')
    number = _record(mapping, 0, 'number of mapped objects')
    channel.write(cob_id, objects.PDO_INVALID | cob)
    channel.write(number, 0)
    count = 0
    for count, (entry, data_type) in enumerate(entries.items(), start=1):
        bits = 8 * pdo_layout({entry: data_type}).size
        value = entry.index << 16 | entry.subindex << 8 | bits
        channel.write(_record(mapping, count, f'mapped object {count}'), value)
    channel.write(number, count)
    channel.write(transmission, objects.EVERY_SYNC)
    channel.write(cob_id, cob)


def _record(index: int, subindex: int, name: str) -> Object:
    return Object(index, subindex, f'PDO {name}')
