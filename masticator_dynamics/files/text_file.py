# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reads files named by the user in bounded time and memory."""

from __future__ import annotations

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
    """The root element of an XML file; prefixes that are not declared stand for themselves.

    Gazebo and Drake read such files, too.

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
    try:
        return ElementTree.fromstring(_declared(content))
    except NOT_XML as error:
        raise DescriptionError(file, '', f'{kind}: not XML: {error}') from error


_ROOT = re.compile(rb'(?:\s|<\?.*?\?>|<!--.*?-->)*<[\w:.-]+', re.DOTALL)
_PREFIX = re.compile(rb'[<\s](?!xml)([A-Za-z_][\w.-]*):[A-Za-z_][\w.-]*(?=[^<]*>)')


def _declared(content: bytes) -> bytes:
    """An XML file in which all prefixes of elements and attributes are declared."""
    root = _ROOT.match(content)
    missing = {p for p in _PREFIX.findall(content) if b'xmlns:' + p not in content}
    if root is None or not missing:
        return content
    added = b''.join(b' xmlns:%b="%b"' % (prefix, prefix) for prefix in sorted(missing))
    return content[: root.end()] + added + content[root.end() :]
