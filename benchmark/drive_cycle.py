# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of a drive cycle: exchange and supervision of six drives on a bus between processes."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.exchange import CyclicExchange
from masticator_dynamics.drives.network import DriveNetwork
from masticator_dynamics.drives.real_time import Statistics
from masticator_dynamics.drives.supervisor import Supervisor
from masticator_dynamics.mechanism import Mechanism
from masticator_dynamics.robot.recording.nodes import free_port, on_simulated_bus

SECONDS = 5.0


def time_drive_cycle(directory: pathlib.Path) -> Statistics:
    """Run the drives of ``config/drives.yaml``, simulated in another process, at their rate.

    Raises
    ------
    MasticatorError
        If the machine has no bus between processes.
    """
    file = directory / 'drives.yaml'
    file.write_text(on_simulated_bus('drives.yaml', free_port()), encoding='utf-8')
    drives = load_drives(file)
    with _simulated(file):
        network = DriveNetwork(drives, file)
        network.connect()
        exchange = CyclicExchange(network, Supervisor(drives, Mechanism.load('masticator')))
        exchange.start()
        time.sleep(SECONDS)
        exchange.stop()
        network.close()
    return exchange.statistics


@contextlib.contextmanager
def _simulated(file: pathlib.Path) -> Iterator[None]:
    """Simulate drives with freely turning motors in another process."""
    arguments = [
        sys.executable,
        '-m',
        'masticator_dynamics',
        'simulate-drives',
        '--drives',
        str(file),
    ]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            if not process.stdout.readline().startswith(b'ready'):
                raise SystemExit('the simulated drives did not start')
            yield
        finally:
            process.terminate()
