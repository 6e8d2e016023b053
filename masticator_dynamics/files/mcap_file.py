# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: ROS 2 messages in MCAP files, written and read without a ROS installation."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import replacing


@dataclasses.dataclass(frozen=True)
class Event:
    """A message that was sent or received.

    Attributes
    ----------
    topic : str
    log_time : int
        When the player sent it or its middleware received it, ns since 1970.
    publish_time : int
        When the publisher handed it to the middleware, ns since 1970.
    sequence : int
        The publisher's count, 0 where unknown.
    content : bytes or Any
        CDR as it was on the wire, or a message.
    """

    topic: str
    log_time: int
    publish_time: int
    sequence: int
    content: Any


@dataclasses.dataclass(frozen=True)
class Recording:
    """Content of an MCAP file.

    Attributes
    ----------
    events : dict of list of Event
        Decoded messages of every topic, in the order of their log time.
    metadata : dict of dict
        By name.
    cut : str
        A sentence on how much is there if the file is truncated or damaged.
    """

    events: dict[str, list[Event]]
    metadata: dict[str, dict[str, str]]
    cut: str


def write_mcap(
    file: pathlib.Path,
    datatypes: Mapping[str, str],
    events: Iterable[Event],
    metadata: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Write messages; no ROS installation is needed.

    Parameters
    ----------
    file : pathlib.Path
        Written completely, or not at all.
    datatypes : mapping
        Message type of every topic.
    events : iterable of Event
        In any order.
    metadata : mapping of mapping, optional
        By name.

    Raises
    ------
    InputError
        For a message type that ROS 2 Jazzy does not have.
    """
    from mcap.writer import Writer

    with replacing(file, binary=True) as stream:
        writer = Writer(stream)
        writer.start(profile='ros2', library='masticator_dynamics')
        for name, texts in (metadata or {}).items():
            writer.add_metadata(name, dict(texts))
        schemas: dict[str, int] = {}
        channels = {}
        for topic, datatype in datatypes.items():
            if datatype not in schemas:
                text = definition(datatype).encode()
                schemas[datatype] = writer.register_schema(datatype, 'ros2msg', text)
            channels[topic] = writer.register_channel(topic, 'cdr', schemas[datatype])
        for event in sorted(events, key=lambda event: event.log_time):
            content = event.content
            if not isinstance(content, bytes):
                content = bytes(_jazzy().serialize_cdr(content, datatypes[event.topic]))
            times = event.log_time, content, event.publish_time
            writer.add_message(channels[event.topic], *times, event.sequence)
        writer.finish()


@functools.cache
def _jazzy() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def message_type(datatype: str) -> Any:
    """Class of a message such as ``sensor_msgs/msg/JointState``; needs no ROS installation.

    Raises
    ------
    InputError
        If ROS 2 Jazzy does not have it.
    """
    found = _jazzy().types.get(datatype)
    if found is None:
        raise InputError(f'{datatype} is no message of ROS 2 Jazzy')
    return found


def definition(datatype: str) -> str:
    """Text of a message and of all messages in it, as in MCAP schemas of ROS 2."""
    message_type(datatype)
    text: str = _jazzy().generate_msgdef(datatype, ros_version=2)[0]
    return text


def read_mcap(file: pathlib.Path) -> Recording:
    """Read a recording; a truncated or damaged one is read as far as it is sound.

    Raises
    ------
    InputError
        When it is no recording, or holds no message.
    """
    from mcap.stream_reader import CRCValidationError

    if file.exists() and not file.is_file():  # a pipe would keep its reader waiting
        raise InputError(f'{file}: not a recording but a folder, a pipe or a device')
    found = Recording({}, {}, '')
    try:
        # The parser of definitions prints what it raises.
        with open(file, 'rb') as stream, contextlib.redirect_stderr(io.StringIO()):
            _collect(stream, file.stat().st_size, found)
    except Exception as error:  # readers of MCAP raise what their parts raise
        if not found.events:
            reason = ' '.join(str(error).split()) or 'it ends before its first message'
            raise InputError(f'{file}: not a recording: {reason}') from error
        times = [event.log_time for events in found.events.values() for event in events]
        span = 1e-9 * (max(times) - min(times))
        how = 'ends in the middle, without its end mark'
        if isinstance(error, CRCValidationError):
            how = 'is damaged'
        cut = f'{file}: it {how}: {span:.2f} s, {len(times)} messages'
        found = dataclasses.replace(found, cut=cut)
    if not found.events:
        raise InputError(f'{file}: there are no messages in it')
    for events in found.events.values():
        events.sort(key=lambda event: event.log_time)
    return found


def _collect(stream: IO[bytes], largest: int, found: Recording) -> None:
    """Fill in all messages that can be decoded, and metadata; records have a largest size."""
    from mcap.records import Channel, Message, Metadata, Schema
    from mcap.stream_reader import StreamReader

    schemas: dict[int, Schema] = {}
    channels: dict[int, tuple[str, Any]] = {}
    for record in StreamReader(stream, validate_crcs=True, record_size_limit=largest).records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            schema = schemas.get(record.schema_id)
            decode = None
            if schema and record.message_encoding == 'cdr':
                decode = _decoder(schema.encoding, schema.name, schema.data)
            channels[record.id] = record.topic, decode
        elif isinstance(record, Message) and channels[record.channel_id][1]:
            topic, decode = channels[record.channel_id]
            times = record.log_time, record.publish_time, record.sequence
            event = Event(topic, *times, decode(record.data))
            found.events.setdefault(topic, []).append(event)
        elif isinstance(record, Metadata):
            found.metadata[record.name] = record.metadata


@functools.lru_cache(maxsize=64)  # recordings of an experiment have the same definitions
def _decoder(encoding: str, name: str, text: bytes) -> Callable[[bytes], Any] | None:
    """Makes messages of CDR by the definition in the file; None for other kinds of definition."""
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    if encoding not in ('ros2msg', 'ros2idl'):
        return None
    store, is_idl = get_typestore(Stores.EMPTY), encoding == 'ros2idl'
    store.register(
        get_types_from_idl(text.decode()) if is_idl else get_types_from_msg(text.decode(), name)
    )
    kind = store.get_msgdef(name)

    def decode(content: bytes) -> Any:
        read = kind.deserialize_cdr_le if content[1] & 1 else kind.deserialize_cdr_be
        try:
            # `deserialize_cdr` refuses what Fast DDS leaves behind a message: room not used.
            return read(content[4:], 0, kind.cls, store)[0]
        except Exception as error:  # generated code raises what the content makes it raise
            raise ValueError(f'a message is no {name}: {error}') from error

    return decode
