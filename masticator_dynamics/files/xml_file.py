# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parses XML files; errors name the file."""

from __future__ import annotations

import pathlib
from xml.etree import ElementTree

from masticator_dynamics.errors import DescriptionError

# The parser raises the latter two for encodings that it does not know.
NOT_XML = (ElementTree.ParseError, LookupError, ValueError)


def root_element(content: str | bytes, file: pathlib.Path, kind: str) -> ElementTree.Element:
    """The root element of an XML file.

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
    try:
        return ElementTree.fromstring(content if isinstance(content, bytes) else content.encode())
    except NOT_XML as error:
        raise DescriptionError(file, '', f'{kind}: not XML: {error}') from error
