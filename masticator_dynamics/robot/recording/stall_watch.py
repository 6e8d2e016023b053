# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sees when the computer itself stands still: a process whose threads go before all others.

The host of a virtual machine takes its processors away for milliseconds, often without counting
them as stolen. Run as a module, this prints a line for each time that one of its threads, one for
each processor, woke too late: when it last ran and when it woke, s since 1970. Nothing
imports it: Python warns of modules that are imported and run.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from masticator_dynamics.drives import real_time

SHORTEST = 0.001  # s
_PERIOD = 0.001  # s
_PRIORITY = 60  # above whatever takes part


def main() -> None:
    """Watch until the process is ended."""
    for processor in getattr(os, 'sched_getaffinity', lambda process: ())(0):  # Linux alone
        threading.Thread(target=_watch, args=(processor,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback among the lines
    signal.pause()


def _watch(processor: int) -> None:
    os.sched_setaffinity(0, (processor,))
    if not real_time.request(_PRIORITY):
        return  # lateness would say how busy the computer is
    last = time.time()
    while True:
        time.sleep(_PERIOD)
        now = time.time()
        if now - last > _PERIOD + SHORTEST:
            os.write(1, f'{last:.6f} {now:.6f}\n'.encode())  # at once, unlike what threads print
        last = now


if __name__ == '__main__':
    main()
