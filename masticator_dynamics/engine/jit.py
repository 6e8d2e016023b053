# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled and where compiled code is kept.

numba's file cache looks only at the file of the cached function, so an edit of a callee in another
file would go unnoticed, and it wants to write beside the sources, which a robot's read-only
install forbids. The cache therefore lives in the user's cache directory, in a private folder named
by a hash of all engine sources (and by numba itself per processor type).
"""

import hashlib
import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba

from masticator_dynamics.code_cache import code_folder

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


def kept_in(directory: pathlib.Path | None, function: Function, **options: Any) -> Function:
    """Compile a function that Python calls, and keep the machine code in a folder, if any."""
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(directory or '')
    try:
        return numba.njit(cache=directory is not None, **options)(function)
    finally:
        numba.config.CACHE_DIR = previous


def cache_directory() -> pathlib.Path | None:
    """Where the engine's compiled code is kept; see `masticator_dynamics.code_cache`."""
    return code_folder(sources_hash())


def sources_hash() -> str:
    """Name of the folder: all sources whose code is compiled into each other."""
    digest = hashlib.sha256()
    package = pathlib.Path(__file__).parents[1]
    for source in sorted([*package.glob('engine/*.py'), *package.glob('actuation/*.py')]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
