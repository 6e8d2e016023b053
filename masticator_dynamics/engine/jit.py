# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled, when they are first called, and where compiled code is kept.

Importing numba takes longer than most processes compute, and those that only call machine code of
their own mechanism never need it; so kernels remain :class:`Kernel` objects until called.

numba's file cache looks only at the file of the cached function, so an edit of a callee in another
file would go unnoticed, and it writes next to the sources, which a robot's read-only
install forbids. The cache therefore lives in the user's cache directory, in a private folder named
by a hash of all engine sources (and by numba itself per processor type).
"""

from __future__ import annotations

import functools
import hashlib
import pathlib
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from masticator_dynamics.files.code_cache import CompiledOnce, code_folder, tell_of_compiling
from masticator_dynamics.interrupt import held_back

Function = TypeVar('Function', bound=Callable[..., Any])

# Contraction to fused multiply-add and reciprocals only: NaN and infinity keep their meaning.
# Kernels allocate nothing, so nothing needs reference counts (_nrt).
OPTIONS: dict[str, Any] = {
    '_nrt': False,
    'error_model': 'numpy',
    'fastmath': {'contract', 'nsz', 'arcp'},
}


class Kernel:
    """A function that numba compiles when it is first called, and those that it calls.

    Parameters
    ----------
    function : callable
    folder : callable or None
        Gives the folder in which its machine code is kept; None, or None from it: nowhere.
    options
        Of ``numba.njit``.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        folder: Callable[[], pathlib.Path | None] | None,
        **options: Any,
    ):
        functools.update_wrapper(self, function)
        self._function, self._folder, self._options = function, folder, options

    def __call__(self, *arguments: Any) -> Any:
        """Compile if necessary, and run."""
        return self.compiled(*arguments)

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        """The function as compiled by numba."""
        import numba

        tell_of_compiling()
        self._replace_callees()
        folder = self._folder() if self._folder is not None else None
        previous = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder or '')
        try:
            made = numba.njit(cache=folder is not None, **self._options)(self._function)
        finally:
            numba.config.CACHE_DIR = previous
        if not numba.config.DISABLE_JIT:
            made.compile = held_back()(made.compile)
            if folder is not None:
                made._cache = CompiledOnce(made._cache)
        return cast(Callable[..., Any], made)

    def _replace_callees(self) -> None:
        """Replace kernels by compiled functions where numba looks up callees."""
        known, names = self._function.__globals__, _names(self._function.__code__)
        modules = [known[n] for n in names if isinstance(known.get(n), types.ModuleType)]
        for place in (known, *(module.__dict__ for module in modules)):
            for name in names:
                if isinstance(callee := place.get(name), Kernel):
                    place[name] = callee.compiled


def _names(code: types.CodeType) -> set[str]:
    """Names of globals and attributes in a function and those nested in it."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def leaf(function: Function) -> Function:
    """Compile a function that other kernels call."""
    return cast(Function, Kernel(function, None, **OPTIONS))


def entry_point(function: Function) -> Function:
    """Compile a function that Python calls, and keep the machine code on disk."""
    return cast(Function, Kernel(function, cache_directory, **OPTIONS))


def kept_in(directory: pathlib.Path | None, function: Function, **options: Any) -> Function:
    """Compile a function that Python calls, and keep the machine code in a folder, if any."""
    return cast(Function, Kernel(function, lambda: directory, **options))


def cache_directory() -> pathlib.Path | None:
    """Where the engine's compiled code is kept; see `masticator_dynamics.files.code_cache`."""
    # Its name depends on all sources whose code is compiled into each other.
    digest = hashlib.sha256()
    package = pathlib.Path(__file__).parents[1]
    for source in sorted([*package.glob('engine/*.py'), *package.glob('limits/*.py')]):
        digest.update(source.read_bytes())
    return code_folder(digest.hexdigest()[:16])
