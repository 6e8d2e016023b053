# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a launch: nothing that it has started or written outlives it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pathlib
import shutil
import signal
import tempfile
from typing import Any

from launch.substitutions import LaunchConfiguration


def ending_with_launch() -> list[Any]:
    """The ``prefix`` of a process that the kernel tells to end when this one has ended.

    On SIGTERM, `ros2 launch` ends without ending what it has started.
    """
    own = 'setpriv --pdeathsig TERM ' if shutil.which('setpriv') else ''
    return [own, LaunchConfiguration('launch-prefix', default='')]


def temporary_file(content: str, suffix: str) -> pathlib.Path:
    """A file for a program that takes no text; removed at the end of this process."""
    handle, name = tempfile.mkstemp(suffix=suffix)
    with os.fdopen(handle, 'w', encoding='utf-8') as file:
        file.write(content)
    return pathlib.Path(name)


@functools.cache
def use_temporary_folder() -> None:
    """Put temporary files of this process, those of `launch` too, where its end removes them."""
    folder = tempfile.tempdir = tempfile.mkdtemp(prefix='masticator_dynamics_')
    remove = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(remove)

    def end(number: int, _: object) -> None:
        remove()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with contextlib.suppress(ValueError):  # not the main thread: whose it is takes care
            signal.signal(signal.SIGTERM, end)
