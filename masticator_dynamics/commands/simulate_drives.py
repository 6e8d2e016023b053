# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator simulate-drives``: servo drives on a bus, without motors."""

from __future__ import annotations

import signal
import sys
import threading
import types

import click

from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.can_bus import bus_title, open_bus
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.drives.simulator.faults import NAMES
from masticator_dynamics.drives.simulator.simulation_file import load_simulation
from masticator_dynamics.drives.simulator.simulator import DriveSimulator


@click.command('simulate-drives', epilog=f'Faults: {", ".join(NAMES)}.')
@click.option(
    '--drives', 'drives_file', metavar='FILE', default='drives.yaml', show_default=True,
    help='Drives and their bus (YAML).',
)  # fmt: skip
@click.option(
    '--simulation', 'simulation_file', metavar='FILE', default='simulated_drives.yaml',
    show_default=True, help='What the motors are made of (YAML).',
)  # fmt: skip
def simulate_drives(drives_file: str, simulation_file: str) -> None:
    """Simulate CiA 402 servo drives on a CAN bus, with motors that turn freely.

    Runs in real time until it is interrupted. A line on standard input makes a fault: its name, a
    drive or 'all', and a number where it has one ('drop crank_3 0.5'); each is answered by a line
    on standard output. 'clear' ends what was made.
    """
    drives = load_drives(drives_file)
    simulation = load_simulation(simulation_file, drives)
    stop = threading.Event()

    def end(number: int, frame: types.FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    with open_bus(drives.bus) as bus:
        simulator = DriveSimulator(
            drives, simulation, bus, file=drives_file, answer=_say,
            report=lambda line: click.echo(line, err=True),
        )  # fmt: skip
        threading.Thread(target=_read_lines, args=(simulator,), daemon=True).start()
        _say(f'ready: {len(simulator.slaves)} drives on {bus_title(drives.bus)}')
        simulator.run(lambda: not stop.is_set())
        clock = simulator.real_time
        _say(
            f'ended: {simulator.time:.3f} s, {clock.late} of {clock.steps} steps late, '
            f'{clock.given_up:.3f} s given up'
        )


def _read_lines(simulator: DriveSimulator) -> None:
    real_time.request(real_time.SERVICE)
    for line in sys.stdin:
        if line.strip():
            simulator.post(line)


def _say(line: str) -> None:
    print(line, flush=True)
