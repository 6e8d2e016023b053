# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the executables in ``scripts/`` run: a node's module, whose import a signal may end.

They block signals until Python gets here, where Ctrl-C no longer leads to a stack trace.
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
    """End at once: nothing has begun, and imports take seconds on a busy computer.

    A node then ends well; a process that others wait for ends without success.
    """
    os._exit(0 if sys.argv[0].endswith('_node') else 1)


if __name__ == '__main__':
    code = main()
    from masticator_dynamics.nodes.common import process  # not before: it imports rclpy

    process.leave(code)
