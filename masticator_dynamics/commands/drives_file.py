# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands for a drives file: what follows from it, and drives on a bus without motors."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence

import click
import numpy as np

from masticator_dynamics.commands.terminal import Row, section
from masticator_dynamics.drives import real_time
from masticator_dynamics.drives.bring_up import load_dictionary
from masticator_dynamics.drives.can_bus import bus_title, open_bus
from masticator_dynamics.drives.configuration import Drives, bus_load, find_file, load_drives
from masticator_dynamics.drives.escalation import reaction_times
from masticator_dynamics.drives.joint_limits import DriveJointLimits, in_order
from masticator_dynamics.drives.scaling import Scaling
from masticator_dynamics.drives.simulator.simulation_file import load_simulation
from masticator_dynamics.drives.simulator.simulator import NAMES, DriveSimulator
from masticator_dynamics.mechanism import Mechanism


@click.command('check-drives')
@click.argument('file', default='drives.yaml')
@click.option(
    '--mechanism', default='masticator', show_default=True,
    help='Name or path of the mechanism whose actuated joints they turn.',
)  # fmt: skip
def check_drives(file: str, mechanism: str) -> None:
    """Validate a drives file and show what follows from it; no bus is needed.

    FILE is a path or a shipped file, by default drives.yaml. Shows the bus and its load, what one
    count and one per mille are at the joints, the limits that count (the narrower of drive and
    mechanism), and how soon all drives react to a fault at the latest. What is broken, in the file,
    an EDS or between drives and mechanism, is an error.
    """
    model = Mechanism.load(mechanism)
    drives = in_order(load_drives(file), model)
    for name, drive in drives.drives.items():
        load_dictionary(name, drive, drives.mode, find_file(file))
    limits = DriveJointLimits(drives, model)
    limits.check_motors(drives)
    reactions = [(fault, f'{1e3 * time:.1f} ms') for fault, time in reaction_times(drives).items()]
    sections = {
        f'Drives of {model.name}': _summary(file, drives),
        'Units at the joints': _units(drives, limits, model.effort_units),
        'Limits that count': _limits(limits, model.effort_units),
        'All drives have reacted, after': reactions,
    }
    click.echo('\n\n'.join(section(title, list(rows)) for title, rows in sections.items()))


def _summary(file: str, drives: Drives) -> Iterator[Row]:
    least, most = bus_load(drives)
    yield 'file', str(find_file(file))
    yield 'bus', bus_title(drives.bus).removeprefix('bus ')
    yield 'cycle', f'{drives.cycle_rate:g} Hz'
    yield 'mode', drives.mode
    yield 'bus load', f'{100 * least:.0f} to {100 * most:.0f} % of {drives.bus.bitrate} bit/s'
    yield 'positions led by', f'{1e3 * drives.lead:g} ms'
    yield 'efforts led by', f'{1e3 * drives.lead_of_effort:g} ms'


def _units(drives: Drives, limits: DriveJointLimits, efforts_in: Sequence[str]) -> Iterator[Row]:
    yield 'joint', 'node id', 'EDS', 'one count', 'one per mille', 'gains'
    scaling = Scaling([drive.motor for drive in drives.drives.values()])
    none, ones = np.zeros(len(limits.names)), np.ones(len(limits.names))
    counts = np.abs(scaling.position_from_counts(ones) - scaling.position_from_counts(none))
    efforts = np.abs(scaling.effort_from_per_mille(ones, none))
    for (name, drive), unit, effort, count, per_mille in zip(
        drives.drives.items(), limits.units, efforts_in, counts, efforts, strict=True
    ):
        gains = drive.gains
        gains_text = "the drive's own"
        if gains:
            gains_text = f'{gains.position:g} {effort}/{unit}, {gains.velocity:g} {effort} s/{unit}'
        yield (
            name, str(drive.node_id), drive.eds,
            f'{count:.3g} {unit}', f'{per_mille:.3g} {effort}', gains_text,
        )  # fmt: skip


def _limits(limits: DriveJointLimits, efforts_in: Sequence[str]) -> Iterator[Row]:
    yield 'joint', 'position', 'velocity', 'effort', 'effort rate', 'following error'
    rows = zip(limits.names, limits.units, efforts_in, strict=True)
    for k, (name, unit, effort) in enumerate(rows):
        yield (
            name,
            f'[{limits.lower[k]:.4g}, {limits.upper[k]:.4g}] {unit}',
            f'{limits.velocity[k]:.4g} {unit}/s',
            f'{limits.effort[k]:.4g} {effort}',
            f'{limits.effort_rate[k]:.4g} {effort}/s',
            f'{limits.following_error[k]:.4g} {unit}',
        )


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
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
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
            f'ended: {simulator.axes.time:.3f} s, {clock.late} of {clock.steps} steps late, '
            f'{clock.given_up:.3f} s given up'
        )


def _read_lines(simulator: DriveSimulator) -> None:
    real_time.request(real_time.SERVICE)
    for line in sys.stdin:
        if line.strip():
            simulator.post(line)


def _say(line: str) -> None:
    print(line, flush=True)
