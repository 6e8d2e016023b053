# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings: ROS 2 messages in MCAP files, byte for byte as they were on the wire."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.tables import replacing

_PRIMITIVE = re.compile(r'(bool|byte|char|u?int(8|16|32|64)|float(32|64)|w?string)(<=\d+)?')
_SEPARATOR = '=' * 80


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
        CDR when written, the decoded message when read.
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


def write_mcap(file: pathlib.Path, datatypes: Mapping[str, str], events: Iterable[Event]) -> None:
    """Write serialised messages.

    Parameters
    ----------
    file : pathlib.Path
        Written completely, or not at all.
    datatypes : mapping
        Message type of every topic.
    events : iterable of Event
        Serialised messages, in any order.
    """
    from mcap.writer import Writer

    with replacing(file, binary=True) as stream:
        writer = Writer(stream)
        writer.start(profile='ros2', library='masticator_dynamics')
        schemas: dict[str, int] = {}
        channels = {}
        for topic, datatype in datatypes.items():
            if datatype not in schemas:
                text = complete_definition(datatype).encode()
                schemas[datatype] = writer.register_schema(datatype, 'ros2msg', text)
            channels[topic] = writer.register_channel(topic, 'cdr', schemas[datatype])
        for event in sorted(events, key=lambda event: event.log_time):
            times = event.log_time, event.content, event.publish_time
            writer.add_message(channels[event.topic], *times, event.sequence)
        writer.finish()


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
    from mcap_ros2.decoder import DecoderFactory

    factory = DecoderFactory()
    schemas: dict[int, Schema] = {}
    channels: dict[int, tuple[str, Any]] = {}
    for record in StreamReader(stream, validate_crcs=True, record_size_limit=largest).records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            decode = factory.decoder_for(record.message_encoding, schemas.get(record.schema_id))
            channels[record.id] = record.topic, decode
        elif isinstance(record, Message) and channels[record.channel_id][1]:
            topic, decode = channels[record.channel_id]
            times = record.log_time, record.publish_time, record.sequence
            event = Event(topic, *times, decode(record.data))
            found.events.setdefault(topic, []).append(event)
        elif isinstance(record, Metadata):
            found.metadata[record.name] = record.metadata


def complete_definition(datatype: str, read: Callable[[str], str] | None = None) -> str:
    """Text of a message and of all messages in it, as in MCAP schemas of ROS 2.

    Parameters
    ----------
    datatype : str
        For example ``sensor_msgs/msg/JointState``.
    read : callable, optional
        Returns the text of one message by its name; by default its installed .msg file.

    Raises
    ------
    InputError
        When a .msg file is not installed.
    """
    read = read or installed_definition
    texts = {datatype: read(datatype)}
    waiting = [datatype]
    while waiting:
        current = waiting.pop(0)
        for part in _parts(texts[current], package=current.split('/')[0]):
            if part not in texts:
                texts[part] = read(part)
                waiting.append(part)
    first, *others = texts.items()
    sections = [f'{_SEPARATOR}\nMSG: {_short(name)}\n{text}' for name, text in others]
    return '\n'.join([first[1], *sections])


def installed_definition(datatype: str) -> str:
    """Text of the .msg file of one message, from a ROS installation or this environment."""
    package, _, name = datatype.split('/')
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    for prefix in (*prefixes, sys.prefix):
        file = pathlib.Path(prefix) / 'share' / package / 'msg' / f'{name}.msg'
        if file.is_file():
            return file.read_text(encoding='utf-8')
    raise InputError(f'the definition of {datatype} is not installed (ROS package {package})')


def _parts(text: str, package: str) -> list[str]:
    """Messages that are fields of a message, in order."""
    parts = []
    for line in text.splitlines():
        words = line.split('#')[0].split()
        if len(words) < 2 or _PRIMITIVE.fullmatch(field := re.sub(r'\[.*\]', '', words[0])):
            continue
        owner, _, name = field.rpartition('/')
        parts.append(f'{owner.removesuffix("/msg") or package}/msg/{name}')
    return parts


def _short(datatype: str) -> str:
    return datatype.replace('/msg/', '/')
