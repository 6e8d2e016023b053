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
from typing import NoReturn

from masticator_dynamics.interrupt import SIGNALS

_ELSEWHERE = {'twin_node': 'robot.twin.twin_node'}  # nodes of outer wings


def module_of(executable: str) -> str:
    """Module of an executable such as ``dynamics_node``."""
    return f'masticator_dynamics.{_ELSEWHERE.get(executable, f"ros.{executable}")}'


def main() -> NoReturn:
    """Run the node of the module that the first argument names."""
    sys.argv[:2] = [sys.argv[1]]
    # A node that is told to end while it starts ends well, a process that others wait for does not.
    early = 0 if sys.argv[0].endswith('_node') else 1
    for number in SIGNALS:
        # Nothing has begun, and imports take seconds on a busy computer: end at once.
        signal.signal(number, lambda *_: os._exit(early))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    module = importlib.import_module(module_of(sys.argv[0]))
    if hasattr(module, 'main'):  # a program of somebody else, prepared
        sys.exit(module.main())
    from masticator_dynamics.ros.common import process  # not before: it imports rclpy

    sys.exit(process.run(module.make_node, early=early))


if __name__ == '__main__':
    main()
