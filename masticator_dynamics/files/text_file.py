# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads files named by the user in bounded time and memory."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import re
import stat
from xml.etree import ElementTree

from masticator_dynamics.errors import DescriptionError

LARGEST_DESCRIPTION = 10_000_000  # bytes; a robot of a thousand links has one


def read_text(file: str | pathlib.Path, largest: int) -> str:
    """The text of a file.

    Raises
    ------
    OSError
        When it cannot be read, is larger than ``largest`` bytes, or is a device, some of which
        never end.
    UnicodeDecodeError
        When it is not UTF-8.
    """
    return read_bytes(file, largest).decode('utf-8')


def read_bytes(file: str | pathlib.Path, largest: int) -> bytes:
    """The content of a file or pipe; raises OSError as :func:`read_text` does."""
    with open(file, 'rb') as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, 'not a file but a device', str(file))
        content = stream.read(largest + 1)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f'larger than {largest * 1e-6:g} MB', str(file))
    return content


# The parser raises the latter two for encodings that it does not know.
NOT_XML = (ElementTree.ParseError, LookupError, ValueError)


def root_element(content: str | bytes, file: pathlib.Path, kind: str) -> ElementTree.Element:
    """The root element of an XML file, or of one that Gazebo and Drake read though it is none.

    Parameters
    ----------
    content : str or bytes
        What the file holds; the declaration of a text must not claim another encoding than UTF-8.
    file : pathlib.Path
        Name for messages.
    kind : str
        What the file should be, for messages.

    Raises
    ------
    DescriptionError
        When it is not XML.
    """
    content = content if isinstance(content, bytes) else content.encode()
    with contextlib.suppress(*NOT_XML):
        return ElementTree.fromstring(content)
    try:
        return ElementTree.fromstring(_mended(content))
    except NOT_XML as error:
        raise DescriptionError(file, '', f'{kind}: not XML: {error}') from error


# None of them looks far ahead: what is no XML may be anything.
_LATE = re.compile(rb'(\s+)(<\?xml[^>]*>)')
_HEAD = re.compile(rb'(?:\s|<\?[^>]*>)*<[\w:.-]+')
_TAG = re.compile(rb'<[A-Za-z_][^<>]*>')
_PREFIX = re.compile(rb'[<\s](?!xml)([A-Za-z_][\w.-]*):[A-Za-z_]')


def _mended(content: bytes) -> bytes:
    """XML without comments, which may hold ``--`` or come first, and with all prefixes declared.

    A prefix that is not declared stands for itself. Lines keep their numbers.
    """
    before, *others = content.split(b'<!--')
    ends = (other.partition(b'-->') for other in others)
    content = before + b''.join(b'\n' * comment.count(b'\n') + rest for comment, _, rest in ends)
    if late := _LATE.match(content):
        content = late[2] + late[1] + content[late.end() :]
    declared = set(re.findall(rb'xmlns:([\w.-]+)', content))
    used = {prefix for tag in _TAG.finditer(content) for prefix in _PREFIX.findall(tag[0])}
    head = _HEAD.match(content)
    if head is None:
        return content
    added = b''.join(b' xmlns:%b="%b"' % (name, name) for name in sorted(used - declared))
    return content[: head.end()] + added + content[head.end() :]
