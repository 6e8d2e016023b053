# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lateness of node ``dynamics`` at 1 kHz while trajectories of up to 8 MB come.

``python -m benchmark.large_trajectories [ROUNDS]`` sends 1000 points, 1 MB and 8 MB in turns, and
nothing for comparison. A cycle should not be later than 1 ms while 1000 points are read, checked
and followed, and up to 2 ms per megabyte for more. The time that a virtual machine's host took away
is shown: no priority helps against it.
"""

from __future__ import annotations

import os
import sys

import rclpy

from benchmark.node_loop import RATE, Listener, node, show, stolen
from masticator_dynamics import Mechanism

TURNS = {'nothing': 0.0, '1000 points': 10.0, '1 MB': 72.0, '8 MB': 590.0}  # s of motion
_WINDOW = 4096 / RATE + 1.5  # s, after which diagnostics know nothing of what was before


def turn(listener: Listener, seconds: float) -> dict[str, float]:
    """Send a motion that lasts so long; largest lateness, us, until it is followed, and after."""
    listener.listen(_WINDOW)
    listener.latest, begin, answered, size = 0.0, stolen(), listener.answered, 0
    if seconds:
        size = listener.chew(seconds)
        while listener.answered == answered:
            listener.listen(0.5)
    listener.listen(_WINDOW)
    return {'kB': 1e-3 * size, 'max': listener.latest, 'stolen': 1e3 * (stolen() - begin)}


def main() -> None:
    """Print a line for each turn."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    rclpy.init()
    print(f'Node dynamics at {RATE} Hz: latest cycle in us while a message of so many kB comes')
    with node('FIFO'):
        listener = Listener(Mechanism.load('masticator'), biting=False)
        try:
            while not listener.values:
                listener.listen(0.2)
            listener.chew(600.0)
            for _ in range(rounds):
                for name, seconds in TURNS.items():
                    show(name, turn(listener, seconds))
        finally:
            listener.close()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
