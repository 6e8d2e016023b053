# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Types of ROS 2 messages, and messages from bytes, without a ROS installation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from masticator_dynamics.errors import InputError


@functools.cache
def _jazzy() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def message_type(datatype: str) -> Any:
    """Class of a message such as ``sensor_msgs/msg/JointState``.

    Raises
    ------
    InputError
        If ROS 2 Jazzy does not have it.
    """
    kind = _jazzy().types.get(datatype)
    if kind is None:
        raise InputError(f'{datatype} is no message of ROS 2 Jazzy')
    return kind


def definition(datatype: str) -> str:
    """Text of a message and of all messages in it, as recordings have it; raises InputError."""
    message_type(datatype)
    text: str = _jazzy().generate_msgdef(datatype, ros_version=2)[0]
    return text


def type_hash(datatype: str) -> str:
    """Hash of a type by which ROS 2 tells whether two sides mean the same; raises InputError."""
    message_type(datatype)
    return str(_jazzy().hash_rihs01(datatype))


def to_bytes(message: Any, datatype: str) -> bytes:
    """CDR, as messages are on the wire."""
    return bytes(_jazzy().serialize_cdr(message, datatype))


@functools.lru_cache(maxsize=64)  # recordings of an experiment have the same definitions
def decoder(datatype: str, encoding: str = '', text: str = '') -> Callable[[bytes], Any] | None:
    """Makes messages of CDR.

    Parameters
    ----------
    encoding, text : str
        Of a definition: ``ros2msg`` or ``ros2idl``. Without one: the type of ROS 2 Jazzy.

    Returns
    -------
    callable or None
        None for a type that nobody defines, and for definitions of other kinds.
    """
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    if text and encoding not in ('ros2msg', 'ros2idl'):
        return None
    if text:
        store = get_typestore(Stores.EMPTY)
        is_idl = encoding == 'ros2idl'
        store.register(get_types_from_idl(text) if is_idl else get_types_from_msg(text, datatype))
    elif datatype in _jazzy().types:
        store = _jazzy()
    else:
        return None
    kind = store.get_msgdef(datatype)

    def decode(content: bytes) -> Any:
        read = kind.deserialize_cdr_le if content[1] & 1 else kind.deserialize_cdr_be
        try:
            # `deserialize_cdr` refuses what Fast DDS leaves behind a message: room not used.
            return read(content[4:], 0, kind.cls, store)[0]
        except Exception as error:  # generated code raises what the content makes it raise
            raise ValueError(f'a message is no {datatype}: {error}') from error

    return decode
