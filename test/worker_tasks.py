# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Functions that tests of workers call: other processes must find them by module and name."""

import os
import pathlib
import signal
import time

from masticator_dynamics.errors import InputError


def square(x: int) -> int:
    return x * x


def dies_once(x: int, folder: str) -> int:
    """Number 3 kills its process the first time that it is called."""
    if x == 3:
        try:
            (pathlib.Path(folder) / 'died').touch(exist_ok=False)
        except FileExistsError:
            return x * x
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def dies_always(x: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return x


def refuses(x: int) -> int:
    raise InputError(f'{x} is refused')


def waits(folder: str) -> None:
    """Leave the process's number, and go on for ten minutes."""
    pathlib.Path(folder, str(os.getpid())).touch()
    time.sleep(600.0)
