# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled and where compiled code is kept.

numba's file cache looks only at the file of the cached function, so an edit of a callee in another
file would go unnoticed, and it wants to write beside the sources, which a robot's read-only
install forbids. The cache therefore lives in the user's cache directory, in a folder named by a
hash of all engine sources (and by numba itself per processor type).
"""

import hashlib
import os
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import platformdirs

Function = TypeVar('Function', bound=Callable[..., Any])

# Contraction to fused multiply-add and reciprocals only: NaN and infinity keep their meaning.
# Nothing is allocated inside, so nothing needs reference counts (_nrt).
OPTIONS = {'_nrt': False, 'error_model': 'numpy', 'fastmath': {'contract', 'nsz', 'arcp'}}


def kernel(function: Function) -> Function:
    """Compile a function that only other kernels call, into its caller.

    Passing dozens of array descriptors from call to call would cost more than the arithmetic.
    """
    return numba.njit(forceinline=True, **OPTIONS)(function)


def leaf(function: Function) -> Function:
    """Compile a function of few arguments, called from many kernels, on its own."""
    return numba.njit(**OPTIONS)(function)


def entry_point(function: Function) -> Function:
    """Compile a function that Python calls, and keep the machine code on disk."""
    return kept_in(cache_directory(), function, **OPTIONS)


def kept_in(directory: pathlib.Path, function: Function, **options: Any) -> Function:
    """Compile a function that Python calls, and keep the machine code in a folder."""
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(directory)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = previous


def cache_directory() -> pathlib.Path:
    """First writable place for compiled code; ``NUMBA_CACHE_DIR`` has precedence."""
    chosen = os.environ.get('NUMBA_CACHE_DIR')
    home = pathlib.Path(chosen) if chosen else platformdirs.user_cache_path('masticator_dynamics')
    fallback = pathlib.Path(tempfile.gettempdir()) / f'masticator_dynamics-{os.getuid()}'
    for base in (home, fallback):
        directory = base / _sources_hash()
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return directory
    return fallback  # numba then compiles on every start and says so


def _sources_hash() -> str:
    digest = hashlib.sha256()
    package = pathlib.Path(__file__).parents[1]
    for source in sorted([*package.glob('engine/*.py'), *package.glob('actuation/*.py')]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
