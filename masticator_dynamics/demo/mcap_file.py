# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a run in an MCAP file, byte for byte as they were on the wire."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from masticator_dynamics.demo.message_definitions import complete_definition


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
