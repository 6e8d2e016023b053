# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A python-can bus as the drives file names it, or a clear reason why not."""

from __future__ import annotations

import can

from masticator_dynamics.drives.configuration import Bus


def open_bus(bus: Bus) -> can.BusABC:
    """Open a bus; the caller shuts it down.

    Raises
    ------
    DriveError
        The device is not there or down, the kernel has no SocketCAN, no multicast route.
    """
    raise NotImplementedError
