# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings as rosbag2 writes them, without ROS: MCAP files, and what a bag's folder says of one.

A folder with such a file and its ``metadata.yaml`` is a bag for ``ros2 bag info`` and ``play``.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from masticator_dynamics.files.bag import Event
from masticator_dynamics.files.message_types import definition, to_bytes, type_hash
from masticator_dynamics.files.tables import replacing

_VERSION = 9  # of metadata: that of ROS 2 Jazzy
_QOS, _HASH = 'offered_qos_profiles', 'topic_type_hash'  # names of rosbag2 in channels
_FOREVER = {'sec': 9223372036, 'nsec': 854775807}  # RMW_DURATION_INFINITE


def offered_qos(reliability: str = 'reliable', durability: str = 'volatile') -> dict[str, Any]:
    """Quality of service of a publisher in the words of rosbag2; what nobody limits is infinite."""
    return {
        'history': 'unknown', 'depth': 0,
        'reliability': reliability.lower(), 'durability': durability.lower(),
        'deadline': _FOREVER, 'lifespan': _FOREVER, 'liveliness': 'automatic',
        'liveliness_lease_duration': _FOREVER, 'avoid_ros_namespace_conventions': False,
    }  # fmt: skip


def write_mcap(
    file: pathlib.Path,
    datatypes: Mapping[str, str],
    events: Iterable[Event],
    metadata: Mapping[str, Mapping[str, str]] | None = None,
    qos: Mapping[str, Sequence[dict[str, Any]]] | None = None,
) -> None:
    """Write messages.

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
    qos : mapping of sequence, optional
        What publishers offered, by topic (:func:`offered_qos`); by default reliable and volatile.

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
            offered = list((qos or {}).get(topic) or [offered_qos()])
            about = {_QOS: _yaml(offered), _HASH: type_hash(datatype)}
            channels[topic] = writer.register_channel(topic, 'cdr', schemas[datatype], about)
        for event in sorted(events, key=lambda event: event.log_time):
            content = event.content
            if not isinstance(content, bytes):
                content = to_bytes(content, datatypes[event.topic])
            times = event.log_time, content, event.publish_time
            writer.add_message(channels[event.topic], *times, event.sequence)
        writer.finish()


def bag_metadata(file: pathlib.Path) -> str:
    """Text of the ``metadata.yaml`` that makes a bag of the folder of an MCAP file."""
    from mcap.reader import make_reader

    with open(file, 'rb') as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None and summary.statistics is not None  # it has been finished
    counts = summary.statistics
    start, end = counts.message_start_time, counts.message_end_time
    span = {
        'duration': {'nanoseconds': end - start},
        'starting_time': {'nanoseconds_since_epoch': start},
        'message_count': counts.message_count,
    }
    topics = [
        {
            'topic_metadata': {
                'name': channel.topic,
                'type': summary.schemas[channel.schema_id].name,
                'serialization_format': channel.message_encoding,
                _QOS: yaml.safe_load(channel.metadata[_QOS]),
                'type_description_hash': channel.metadata[_HASH],
            },
            'message_count': counts.channel_message_counts.get(number, 0),
        }
        for number, channel in summary.channels.items()
    ]
    return _yaml({'rosbag2_bagfile_information': {
        'version': _VERSION, 'storage_identifier': 'mcap', **span,
        'topics_with_message_count': topics, 'compression_format': '', 'compression_mode': '',
        'relative_file_paths': [file.name], 'files': [{'path': file.name, **span}],
        'custom_data': None, 'ros_distro': 'jazzy',
    }})  # fmt: skip


def _yaml(content: Any) -> str:
    # As a copy without shared parts: other readers need not know anchors.
    return str(yaml.safe_dump(json.loads(json.dumps(content)), sort_keys=False))
