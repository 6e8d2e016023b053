# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a run in an MCAP file, byte for byte as they were on the wire."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from masticator_dynamics.errors import InputError

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


def write_mcap(file: pathlib.Path, datatypes: Mapping[str, str], events: Iterable[Event]) -> None:
    """Write serialised messages; `datatypes` gives the message type of every topic.

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

    draft = file.with_name(file.name + '.part')
    with open(draft, 'wb') as stream:
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
            writer.add_message(
                channels[event.topic],
                event.log_time,
                event.content,
                event.publish_time,
                event.sequence,
            )
        writer.finish()
    os.replace(draft, file)


def read_mcap(file: pathlib.Path) -> dict[str, list[Event]]:
    """Decoded messages of every topic, in the order of their log time."""
    from mcap.reader import SeekingReader
    from mcap_ros2.decoder import DecoderFactory

    events: dict[str, list[Event]] = {}
    # The parser of definitions prints what it raises.
    with open(file, 'rb') as stream, contextlib.redirect_stderr(io.StringIO()):
        largest, decoders = file.stat().st_size, [DecoderFactory()]
        reader = SeekingReader(stream, decoder_factories=decoders, record_size_limit=largest)
        for _, channel, message, content in reader.iter_decoded_messages():
            event = Event(
                channel.topic, message.log_time, message.publish_time, message.sequence, content
            )
            events.setdefault(channel.topic, []).append(event)
    return events


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
