# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Caches descriptions between processes: expanding and checking files dominates start-up."""

from __future__ import annotations

import hashlib
import json
import pathlib
import pickle
import re
import sys
import time
from collections.abc import Mapping

import numpy as np

from masticator_dynamics.description import data
from masticator_dynamics.files.file_cache import cached, key_of, sources
from masticator_dynamics.files.text_file import LARGEST_DESCRIPTION, read_bytes

# What makes xacro depend on more than the files that it reports as read.
_MORE = re.compile(rb'\$\((?!arg |dirname)|xacro:include[^>]*([*?[]|optional)')


def description(file: pathlib.Path, arguments: Mapping[str, str]) -> data.MechanismDescription:
    """A description, from the cache, or read now and cached.

    Its key is the mechanism file's path and content, arguments and versions; the other files that
    it was read from are checked for changes at every use.

    Parameters
    ----------
    file : pathlib.Path
        The mechanism's YAML file.
    arguments : mapping
        Arguments of its xacro file, by name.
    """
    try:
        content = _content(file)
    except OSError:
        return _read(file, arguments)[0]
    name = key_of(
        sources('description', 'files'), sys.version, np.__version__, str(file.absolute()),
        str(file), content, sorted(arguments.items()),
    )  # fmt: skip
    read_now = None

    def make() -> bytes:
        nonlocal read_now
        started = time.time()
        read_now, files = _read(file, arguments)
        return _digests(files, started) + b'\n' + pickle.dumps(read_now)

    contents = cached('descriptions', f'{name}.pickle', make, _holds)
    if read_now is None:
        # As safe as the machine code kept beside it: nobody but this user can have written it.
        read_now = pickle.loads(contents.split(b'\n', 1)[1])
    return read_now


def _read(
    file: pathlib.Path, arguments: Mapping[str, str]
) -> tuple[data.MechanismDescription, list[pathlib.Path]]:
    # Imported here: the checks take longer to import than everything else.
    from masticator_dynamics.description import reading

    return reading.of_files(file, arguments)


def _content(file: pathlib.Path) -> bytes:
    if not file.is_file():  # a pipe can be read only once
        raise FileNotFoundError
    return read_bytes(file, LARGEST_DESCRIPTION)


def _digests(files: list[pathlib.Path], started: float) -> bytes:
    """Digests of all files, by name; empty if more than their content matters, or they change."""
    try:
        contents = {str(file.absolute()): _content(file) for file in files}
        changed = any(file.stat().st_mtime >= started for file in files)
    except OSError:
        return b'{}'
    if changed or any(map(_MORE.search, contents.values())):
        return b'{}'
    return json.dumps({file: _digest(content) for file, content in contents.items()}).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _holds(contents: bytes) -> bool:
    """Whether all files that a description was read from are unchanged."""
    digests = json.loads(contents.split(b'\n', 1)[0])
    try:
        return bool(digests) and all(
            _digest(_content(pathlib.Path(file))) == digest for file, digest in digests.items()
        )
    except OSError:
        return False
