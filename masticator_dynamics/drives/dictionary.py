# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object dictionaries from EDS files, and checks that they contain what is needed."""

from __future__ import annotations

import configparser
import io
import logging
import pathlib
import struct

import canopen
from canopen.objectdictionary import ODVariable, datatypes
from canopen.objectdictionary.eds import import_eds

from masticator_dynamics.drives import objects
from masticator_dynamics.drives.configuration import Drive, find_file
from masticator_dynamics.drives.objects import Object
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_bytes

# Objects in PDOs and their types; those to the drive by mode.
FROM_DRIVE = {
    objects.STATUS_WORD: datatypes.UNSIGNED16,
    objects.POSITION: datatypes.INTEGER32,
    objects.TORQUE: datatypes.INTEGER16,
}
TO_DRIVE = {
    'position': {
        objects.CONTROL_WORD: datatypes.UNSIGNED16,
        objects.TARGET_POSITION: datatypes.INTEGER32,
        objects.TORQUE_OFFSET: datatypes.INTEGER16,
    },
    'effort': {
        objects.CONTROL_WORD: datatypes.UNSIGNED16,
        objects.TARGET_TORQUE: datatypes.INTEGER16,
    },
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
    name : str
        Name of the drive.
    drive : Drive
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
    mapped = FROM_DRIVE | TO_DRIVE[mode]
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
    """Refuse arrays of more entries than there are subindices: canopen would count to any number.

    Raises
    ------
    ValueError
        Naming the number.
    """
    parser = configparser.RawConfigParser(inline_comment_prefixes=(';',))  # as canopen reads it
    parser.read_file(eds)
    for section in parser.values():
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
    return struct.Struct('<' + ''.join(one.lstrip('<') for one in formats))
