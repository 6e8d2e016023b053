# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where the twin's compiled code is kept: beside the engine's, by a hash of the twin's kernels."""

import hashlib
import pathlib

from masticator_dynamics.code_cache import code_folder
from masticator_dynamics.engine import jit
from masticator_dynamics.engine.jit import Function


def entry_point(function: Function) -> Function:
    """Compile a function that Python calls, and keep the machine code on disk."""
    return jit.kept_in(cache_directory(), function, **jit.OPTIONS)


def cache_directory() -> pathlib.Path | None:
    """A folder in that of the engine: an edit of either is noticed by what is kept in it.

    One of the twin does not compile the engine anew, and files without kernels do not count.
    """
    digest = hashlib.sha256()
    for source in sorted(pathlib.Path(__file__).parent.glob('*.py')):
        content = source.read_bytes()
        if b'\n@kernel\n' in content or b'\n@entry_point\n' in content:
            digest.update(content)
    return code_folder(f'{jit.sources_hash()}/twin-{digest.hexdigest()[:16]}')
