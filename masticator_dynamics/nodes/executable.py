# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the executables in ``scripts/`` run: a node's module, whose imports a signal may end.

They hold signals back until Python gets here, where Ctrl-C is no stack trace any more.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> int:
    """Run the module that the first argument names; returns its exit code."""
    sys.argv[:2] = [sys.argv[1]]
    for number in _SIGNALS:
        signal.signal(number, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    module = importlib.import_module(f'masticator_dynamics.nodes.{sys.argv[0]}')
    code: int = module.main()
    return code


def _end(number: int, frame: FrameType | None) -> None:
    """Nothing has begun; imports take seconds where a computer is busy.

    That is how a node ends. What others wait for has not come when it is not waited for any more.
    """
    os._exit(0 if sys.argv[0].endswith('_node') else 1)


if __name__ == '__main__':
    code = main()
    from masticator_dynamics.nodes.common import process  # only now: it imports rclpy

    process.leave(code)
