# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of ROS 2 topics: bags of rosbag2, or single files of one; no ROS is needed.

Files are MCAP or SQLite (``.db3``), whole or compressed (zstd), with messages compressed or not.
What a file is, is told by its first bytes. Bags before ROS 2 Iron hold no definitions of types:
they are then those of Jazzy.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import importlib
import io
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import IO, Any, NamedTuple

import yaml

from masticator_dynamics.errors import InputError
from masticator_dynamics.files.message_types import decoder

METADATA = 'metadata.yaml'
_SUFFIXES = ('.mcap', '.db3', '.zstd', '.zst')
_OFTEN = 10_000  # messages from one word on progress to the next
_MCAP, _SQLITE, _ZSTD, _ROS1 = b'\x89MCAP', b'SQLite format 3\0', b'\x28\xb5\x2f\xfd', b'#ROSBAG V'

Progress = Callable[[float, float], None]


@dataclasses.dataclass(frozen=True)
class Event:
    """A message that was sent or received."""

    topic: str
    log_time: int  # when the player sent it or its middleware received it, ns since 1970
    publish_time: int  # when the publisher handed it to the middleware, ns since 1970
    sequence: int  # the publisher's count, 0 where unknown
    content: Any  # bytes: CDR as it was on the wire, or a message


@dataclasses.dataclass(frozen=True)
class Recording:
    """Content of a recording."""

    source: str  # name in messages
    # Decoded messages of every topic, in the order of their log time.
    events: dict[str, list[Event]]
    datatypes: dict[str, str]  # types of all topics, those included whose messages were not decoded
    metadata: dict[str, dict[str, str]]  # of MCAP files, by name
    # A sentence on how much is there if it is truncated or damaged, or a file of it is missing.
    cut: str


class _Message(NamedTuple):
    """A message as it stands in a file; encoding and definition are those of its type."""

    topic: str
    datatype: str
    encoding: str
    definition: str
    times: tuple[int, int, int]  # log and publish time, and the publisher's count
    content: bytes
    share: float  # of the file, up to and with this message


def is_bag(path: str | pathlib.Path) -> bool:
    """Whether something is a recording of topics, or by its name should be one."""
    path = pathlib.Path(path)
    if path.suffix in _SUFFIXES:
        return True
    if path.is_dir():
        return bool(_parts(path)) or (path / METADATA).exists()
    with contextlib.suppress(OSError):
        return path.is_file() and _begins(path) != b''
    return False


def read_bag(path: pathlib.Path, datatypes: Collection[str] | None = None) -> Recording:
    """Read a recording; a truncated or damaged one is read as far as it is sound.

    Parameters
    ----------
    path : pathlib.Path
        Folder or file.
    datatypes : collection of str, optional
        Messages of other types are not decoded.

    Raises
    ------
    InputError
        When it is no recording, or holds no message.
    """
    events: dict[str, list[Event]] = {}
    recording = read_messages(
        path, lambda event: events.setdefault(event.topic, []).append(event), datatypes
    )
    for sorted_events in events.values():
        sorted_events.sort(key=lambda event: event.log_time)
    return dataclasses.replace(recording, events=events)


def read_messages(
    path: pathlib.Path,
    take: Callable[[Event], None],
    datatypes: Collection[str] | None = None,
    progress: Progress = lambda done, size: None,
) -> Recording:
    """Read a recording message by message, however long it is; what is returned has no events.

    Parameters
    ----------
    path : pathlib.Path
        Folder or file.
    take : callable
        Called with each message that is decoded, in the order of the files.
    datatypes : collection of str, optional
        Messages of other types are not decoded.
    progress : callable
        Called now and then with what was read and what there is, in any unit.

    Raises
    ------
    InputError
        As :func:`read_bag`.
    """
    recording = Recording(str(path), {}, {}, {}, '')
    faults: list[tuple[pathlib.Path, Exception]] = []
    there, files = _Span(), _files(path, faults)
    for number, file in enumerate(files):
        try:
            with contextlib.ExitStack() as stack:
                # The parser of definitions prints what it raises.
                stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
                whole = _whole(file, stack)
                for event, share in _events(whole, recording, datatypes):
                    take(event)
                    there.add(event.log_time)
                    if there.count % _OFTEN == 0:
                        progress(number + share, float(len(files)))
        except (InputError, ModuleNotFoundError):
            raise
        except Exception as error:  # readers of MCAP raise what their parts raise
            faults.append((file, error))
    if faults:
        return dataclasses.replace(recording, cut=_cut(there, *faults[0]))
    if not (there.count or datatypes):
        raise InputError(f'{path}: there are no messages in it')
    return recording


@dataclasses.dataclass
class _Span:
    """How many messages there are, and from when to when, ns."""

    count: int = 0
    first: int = 0
    last: int = 0

    def add(self, log_time: int) -> None:
        self.first = min(self.first, log_time) if self.count else log_time
        self.last = max(self.last, log_time)
        self.count += 1


def _cut(there: _Span, file: pathlib.Path, error: Exception) -> str:
    """A sentence on what is there; raises InputError if nothing is."""
    from mcap.stream_reader import CRCValidationError

    if not there.count:
        reason = ' '.join(str(error).split()) or 'it ends before its first message'
        raise InputError(f'{file}: not a recording: {reason}') from error
    how = 'ends in the middle, without its end mark'
    if isinstance(error, CRCValidationError | sqlite3.Error):
        how = 'is damaged'
    elif isinstance(error, FileNotFoundError):
        how = f'{error}; what else is there'
    return f'{file}: it {how}: {1e-9 * (there.last - there.first):.2f} s, {there.count} messages'


def _files(path: pathlib.Path, faults: list[tuple[pathlib.Path, Exception]]) -> list[pathlib.Path]:
    """Files of a recording; those that its metadata name and that are missing become faults."""
    if not path.is_dir():
        if path.exists() and not path.is_file():  # a pipe would keep its reader waiting
            raise InputError(f'{path}: not a recording but a folder, a pipe or a device')
        return [path]
    named = _named(path)
    if any(file.exists() for file in named):  # otherwise files were renamed
        for file in named:
            if not file.exists():
                faults.append((file, FileNotFoundError(f'is named in {METADATA} and missing')))
        return [file for file in named if file.exists()]
    files = _parts(path)
    if not files:
        raise InputError(
            f'{path}: not a recording: a folder without files {", ".join(_SUFFIXES[:2])}'
        )
    for file in _between(files):
        faults.append((file, FileNotFoundError('is missing between the others')))
    return files


def _between(files: Sequence[pathlib.Path]) -> list[pathlib.Path]:
    """Parts of split recordings that are missing by their numbers, ``NAME_2.mcap`` and so on."""
    missing, numbers = [], collections.defaultdict[tuple[str, str], set[int]](set)
    for file in files:
        if part := re.fullmatch(r'(.*_)(0|[1-9]\d{0,3})(\..*)', file.name):
            numbers[part[1], part[3]].add(int(part[2]))
    for (before, after), there in numbers.items():
        absent = sorted(set(range(min(there), max(there))) - there) if len(there) > 1 else []
        missing += [files[0].parent / f'{before}{number}{after}' for number in absent]
    return missing


def _named(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files that the metadata of a bag name; empty without sound metadata."""
    try:
        text = (folder / METADATA).read_text(encoding='utf-8')
        names = yaml.safe_load(text)['rosbag2_bagfile_information']['relative_file_paths']
        return [folder / pathlib.PurePosixPath(str(name)).name for name in names]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, KeyError, TypeError):
        return []


def _parts(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(f for f in folder.iterdir() if f.suffix in _SUFFIXES and f.is_file())


def _begins(file: pathlib.Path) -> bytes:
    """Which kind of file this is: the bytes that it begins with."""
    with open(file, 'rb') as stream:
        start = stream.read(len(_SQLITE))
    return next((mark for mark in (_MCAP, _SQLITE, _ZSTD, _ROS1) if start.startswith(mark)), b'')


def _whole(file: pathlib.Path, stack: contextlib.ExitStack) -> pathlib.Path:
    """The file, or a copy that is not compressed and goes with the stack."""
    if _begins(file) != _ZSTD:
        return file
    copy = stack.enter_context(tempfile.NamedTemporaryFile())
    with _zstd().open(file, 'rb') as stream:
        shutil.copyfileobj(stream, copy)
    copy.flush()
    return pathlib.Path(copy.name)


def _zstd() -> Any:
    name = 'compression.zstd' if sys.version_info >= (3, 14) else 'backports.zstd'
    return importlib.import_module(name)


def _events(
    file: pathlib.Path, recording: Recording, datatypes: Collection[str] | None
) -> Iterator[tuple[Event, float]]:
    """All messages that can be decoded, each with the share of the file that was read.

    What else is said in the file is added to the recording.
    """
    kind = _begins(file)
    if kind == _ROS1:
        raise InputError(
            f'{recording.source}: a bag of ROS 1; `rosbags-convert --src {recording.source} --dst '
            'FOLDER` makes one of ROS 2'
        )
    read = _of_sqlite if kind == _SQLITE else _of_mcap
    for message in read(file, recording, datatypes):
        decode = decoder(message.datatype, message.encoding, message.definition)
        if decode is None:
            continue
        content = message.content
        if content[:4] == _ZSTD:  # CDR begins otherwise
            content = _zstd().decompress(content)
        yield Event(message.topic, *message.times, decode(content)), message.share


def _of_mcap(
    file: pathlib.Path, recording: Recording, datatypes: Collection[str] | None
) -> Iterator[_Message]:
    from mcap.records import Channel, Message, Metadata, Schema
    from mcap.stream_reader import StreamReader

    schemas: dict[int, tuple[str, str, str]] = {}  # name, encoding and text
    channels: dict[int, Channel] = {}
    stream: IO[bytes]
    with open(file, 'rb') as stream:
        largest = file.stat().st_size  # of a record
        for record in StreamReader(stream, validate_crcs=True, record_size_limit=largest).records:
            if isinstance(record, Schema):
                schemas[record.id] = record.name, record.encoding, record.data.decode()
            elif isinstance(record, Channel):
                channels[record.id] = record
                if record.schema_id in schemas:
                    recording.datatypes[record.topic] = schemas[record.schema_id][0]
            elif isinstance(record, Metadata):
                recording.metadata[record.name] = record.metadata
            elif isinstance(record, Message):
                channel = channels[record.channel_id]
                texts = schemas.get(channel.schema_id)
                if texts is None or channel.message_encoding != 'cdr':
                    continue
                if datatypes is None or texts[0] in datatypes:
                    times = record.log_time, record.publish_time, record.sequence
                    share = stream.tell() / largest
                    yield _Message(channel.topic, *texts, times, record.data, share)


def _of_sqlite(
    file: pathlib.Path, recording: Recording, datatypes: Collection[str] | None
) -> Iterator[_Message]:
    with contextlib.closing(
        sqlite3.connect(f'{file.resolve().as_uri()}?mode=ro', uri=True)
    ) as base:
        tables = {name for (name,) in base.execute('SELECT name FROM sqlite_master')}
        if not {'topics', 'messages'} <= tables:
            raise InputError(f'{recording.source}: a database, but none of rosbag2')
        texts: dict[str, tuple[str, str]] = {}
        if 'message_definitions' in tables:  # since ROS 2 Iron
            texts = {
                name: (encoding, text)
                for name, encoding, text in base.execute(
                    'SELECT topic_type, encoding, encoded_message_definition '
                    'FROM message_definitions'
                )
            }
        topics = {
            number: kind for number, *kind in base.execute('SELECT id, name, type FROM topics')
        }
        recording.datatypes.update(topics.values())
        wanted = [n for n, (_, kind) in topics.items() if datatypes is None or kind in datatypes]
        last = 1
        with contextlib.suppress(sqlite3.Error):  # of a damaged one
            last = base.execute('SELECT max(rowid) FROM messages').fetchone()[0] or 1
        # Without ORDER BY the index, which may be damaged, is not needed.
        for row, number, time, content in base.execute(
            'SELECT rowid, topic_id, timestamp, data FROM messages '
            f'WHERE topic_id IN ({", ".join(map(str, wanted))})'
        ):
            topic, datatype = topics[number]
            texts_of_it = texts.get(datatype, ('', ''))
            times = time, time, 0
            yield _Message(topic, datatype, *texts_of_it, times, content, row / last)
