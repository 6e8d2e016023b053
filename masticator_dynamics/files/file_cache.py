# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A cache of files made once and kept between processes, in folders private to the user.

A file is named by a hash of everything it depends on, so a stale one is never looked up. A file
that is damaged, made under another name or not this user's is never loaded, but made again, with a
warning.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import pathlib
import stat
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from masticator_dynamics.files.code_cache import alone, code_folder, ordinary_priority

_MAGIC = b'masticator kept 2\n'
_DIGEST = hashlib.sha256


def cached(
    folder: str,
    name: str,
    make: Callable[[], bytes],
    holds: Callable[[bytes], bool] = lambda contents: True,
) -> bytes:
    """Contents of a cached file, made if it is missing or ``holds`` finds it out of date.

    One process makes it while others that need it wait. The file is written under another name
    first, so that a truncated one is never seen.

    Parameters
    ----------
    folder, name : str
        The file's folder in the cache, and its name.
    make : callable
        Makes the contents when no file has them.
    holds : callable
        Tells whether contents that were found may be used.
    """
    place = code_folder(folder)
    if place is None:
        with ordinary_priority():
            return make()
    file = place / name
    if (contents := _read(file)) is not None and holds(contents):
        return contents
    with alone(file):
        contents = _read(file)
        if contents is None or not holds(contents):
            contents = make()
            _write(file, contents)
    return contents


def _read(file: pathlib.Path) -> bytes | None:
    try:
        # A pipe would keep its reader waiting.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(file, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        _tell(file, error.strerror or str(error))
        return None
    try:
        contents, why = _checked(descriptor, file.name)
    except OSError as error:
        contents, why = None, error.strerror or str(error)
    finally:
        os.close(descriptor)
    if contents is None:
        _tell(file, why)
    return contents


def _checked(descriptor: int, name: str) -> tuple[bytes | None, str]:
    """Contents of an open file, or why they are not used."""
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        return None, f'it belongs to user {status.st_uid}'
    if not stat.S_ISREG(status.st_mode):
        return None, 'it is not a file'
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return None, 'others can write it'
    with open(descriptor, 'rb', closefd=False) as opened:
        contents = opened.read()
    start = len(_heading(name, b''))
    code = contents[start:]
    if contents[:start] != _heading(name, code):
        return None, 'it is damaged'
    return code, ''


def _heading(name: str, code: bytes) -> bytes:
    """What a file of this name begins with: a digest by which damaged and foreign ones are told."""
    return _MAGIC + _DIGEST(name.encode() + b'\n' + code).digest()


def _tell(file: pathlib.Path, why: str) -> None:
    warnings.warn(f'{file} is not used and made anew: {why}', RuntimeWarning, stacklevel=4)


def _write(file: pathlib.Path, code: bytes) -> None:
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=file.name, dir=file.parent)
        with open(descriptor, 'wb') as opened:
            opened.write(_heading(file.name, code) + code)
        os.replace(temporary, file)
    except OSError as error:
        if temporary is not None:
            pathlib.Path(temporary).unlink(missing_ok=True)
        warnings.warn(f'{file} cannot be kept: {error.strerror}', RuntimeWarning, stacklevel=3)


@functools.cache
def sources(*folders: str) -> bytes:
    """Digest of the sources in folders of the package, on which their output depends."""
    digest = _DIGEST()
    package = pathlib.Path(__file__).parents[1]
    for file in sorted(file for folder in folders for file in package.glob(f'{folder}/*.py')):
        digest.update(file.read_bytes())
    return digest.digest()


def key_of(*parts: Any) -> str:
    """A key for anything made of dataclasses, containers, arrays, numbers and texts."""
    digest = _DIGEST(_MAGIC)  # files of another format have other names
    _feed(digest, parts)
    return digest.hexdigest()[:32]


def _feed(digest: Any, part: Any) -> None:
    if dataclasses.is_dataclass(part):
        digest.update(type(part).__name__.encode())
        part = [(f.name, getattr(part, f.name)) for f in dataclasses.fields(part)]
    if isinstance(part, dict):
        part = list(part.items())
    if isinstance(part, np.ndarray):
        digest.update(repr((part.shape, part.dtype.str)).encode() + part.tobytes())
    elif isinstance(part, tuple | list):
        digest.update(f'({len(part)}'.encode())
        for item in part:
            _feed(digest, item)
    else:
        # float.__repr__ is exact.
        digest.update(f'{type(part).__name__}:{part!r};'.encode())
